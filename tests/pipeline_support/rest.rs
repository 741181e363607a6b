//! Runs the pipeline until it has settled, and checks the final state.

use std::collections::BTreeMap;
use std::sync::Arc;

use encamp_model::*;
use encamp_scheduler::NodeOrder;

use super::Verdict;
use super::events::{report_of, revive};
use super::world::World;
use crate::property_support::apply::{Terms, run};

/// Maximum number of rounds to settle.
const MOST_ROUNDS: usize = 600;
/// How often rejected plans are retried: conflicts end when no other worker is active.
const RETRIES: usize = 3;

impl World {
    /// Processes all necessary work, without further events, until the pipeline has settled.
    pub fn come_to_rest(&mut self) -> Verdict {
        self.calm = true;
        // Allocation updates of disconnected nodes are refused until the node returns (`docs/dev/reliability.md`).
        let away = self.store.state().nodes().filter(|n| n.node.status == NodeStatus::Disconnected);
        for id in away.map(|n| n.node.id.clone()).collect::<Vec<_>>() {
            revive(self, &id);
        }
        let mut retries = 0;
        for _ in 0..MOST_ROUNDS {
            let before = self.index;
            while self.work() {}
            self.reap();
            self.look();
            let nodes: Vec<String> = self.store.state().nodes().map(|n| n.node.id.clone()).collect();
            for id in nodes {
                report_of(self, &id);
            }
            if let Some(broken) = &self.broken {
                return Err(broken.clone());
            }
            if self.index != before || self.broker.stats().ready > 0 {
                continue;
            }
            match self.next_deadline() {
                Some(t) => self.pass((t - self.now).max(1)),
                None if retries < RETRIES => {
                    retries += 1;
                    self.pass(MINUTE);
                }
                None => return self.check_rest(),
            }
        }
        Err(format!("not settled: {:?}, next {:?}", self.broker.stats(), self.next_deadline()))
    }

    fn check_rest(&mut self) -> Verdict {
        self.check_evals()?;
        let jobs: Vec<Arc<Job>> = self.store.state().jobs().map(|j| j.current.clone()).collect();
        for job in jobs {
            if self.refused(&job) {
                self.tally.add("jobs refused for good", 1);
                continue;
            }
            self.check_twins(&job).map_err(|e| format!("settled, job {}: {e}", job.id))?;
            self.check_places(&job).map_err(|e| format!("settled, job {}: {e}", job.id))?;
            self.check_settled(&job).map_err(|e| format!("settled, job {}: {e}", job.id))?;
        }
        Ok(())
    }

    /// A job whose plans are always rejected by nodes stays unchanged.
    fn refused(&self, job: &Job) -> bool {
        let mut evals = self.store.evals_of_job(&job.namespace, &job.id);
        evals.any(|e| e.status == EvalStatus::Blocked && e.triggered_by == EvalTrigger::MaxPlanAttempts)
    }

    /// Nodes that are down or removed have no allocations except those that may reconnect.
    fn check_places(&self, job: &Job) -> Verdict {
        let state = self.store.state();
        for a in state.allocs_of_job(&job.namespace, &job.id).iter().map(|e| &e.alloc) {
            let gone = state.node(&a.node_id).is_none_or(|n| n.node.status == NodeStatus::Down);
            if gone && !a.terminal() && a.client_status != ClientStatus::Unknown && job.r#type != JobType::Sysbatch {
                return Err(format!("allocation {} is on a node that is gone", a.id));
            }
        }
        Ok(())
    }

    /// Every evaluation is terminal or blocked; the stored blocked evaluations are exactly the tracked ones.
    fn check_evals(&self) -> Verdict {
        let mut blocked: BTreeMap<(&str, &str, &str), &str> = BTreeMap::new();
        for e in self.store.evals_from("") {
            if e.status != EvalStatus::Blocked {
                if !e.terminal() {
                    return Err(format!("settled, evaluation {} of {} is {}", e.id, e.job_id, e.status));
                }
                continue;
            }
            if let Some(other) = blocked.insert((&e.namespace, &e.job_id, &e.node_id), &e.id) {
                return Err(format!("settled, evaluations {other} and {} of {} are blocked", e.id, e.job_id));
            }
        }
        let tracked = self.blocked.stats().blocked;
        if tracked != blocked.len() {
            return Err(format!("settled, {tracked} blocked evaluations are tracked, {} stored", blocked.len()));
        }
        Ok(())
    }

    /// No allocation name is used twice, except by canaries and by allocations that may reconnect.
    fn check_twins(&self, job: &Job) -> Verdict {
        let everywhere = matches!(job.r#type, JobType::System | JobType::Sysbatch);
        // Canaries use names that are in use (`docs/spec/reconciliation.md §5.9`), and retain them when they are
        // promoted.
        if job.task_groups.iter().filter_map(|g| g.update.as_ref()).any(|u| u.canary > 0) {
            return Ok(());
        }
        // A batch allocation on a disconnected node is updated in place although it was to become unknown, and is
        // therefore live next to its replacement when the node returns (`docs/dev/reliability.md`).
        if job.r#type == JobType::Batch && job.task_groups.iter().any(|g| g.disconnect.is_some()) {
            return Ok(());
        }
        // Changes started by a failed deployment stay incomplete.
        if self
            .store
            .state()
            .deployments_of_job(&job.namespace, &job.id)
            .iter()
            .any(|d| d.status == DeploymentStatus::Failed)
        {
            return Ok(());
        }
        let mut names: BTreeMap<(String, String), String> = BTreeMap::new();
        for a in self.store.state().allocs_of_job(&job.namespace, &job.id).iter().map(|e| &e.alloc) {
            if a.terminal() || a.is_canary() || a.client_status == ClientStatus::Unknown {
                continue;
            }
            let key = (a.name.to_string(), if everywhere { a.node_id.to_string() } else { String::new() });
            if let Some(other) = names.insert(key, a.id.to_string()) {
                return Err(format!("{} is live as {other} and as {}", a.name, a.id));
            }
        }
        Ok(())
    }

    /// When evaluated again, a job needs no change: no evaluation was lost, and none is blocked although there is
    /// capacity.
    fn check_settled(&mut self, job: &Arc<Job>) -> Verdict {
        let eval = Evaluation {
            job_modify_index: job.modify_index,
            ..Evaluation::pending(job, EvalTrigger::JobRegister, self.now, self.id())
        };
        let terms = Terms { now: self.now, seed: self.random.number(), order: NodeOrder::Shuffle };
        let outcome = run(&self.store.state().snapshot(), &eval, &terms)?;
        let waits = self.store.evals_of_job(&job.namespace, &job.id).any(|e| e.status == EvalStatus::Blocked);
        self.tally.add(if waits { "blocked jobs" } else { "settled jobs" }, 1);
        // System jobs are placed and stopped in turns (`docs/spec/reconciliation.md §9.2`), and sysbatch jobs are not
        // evaluated when nodes change (`docs/spec/server.md §9.6`). Deployments hold changes back until the next
        // evaluation after their end (`docs/spec/reconciliation.md §6.4`).
        let deployed = !self.store.state().deployments_of_job(&job.namespace, &job.id).is_empty();
        if deployed
            || self.forgotten(job)
            || self.drained(job)
            || matches!(job.r#type, JobType::System | JobType::Sysbatch)
        {
            return Ok(());
        }
        let (state, plan) = (self.store.state(), &outcome.plan);
        let noted = |a: &Allocation| waits && state.alloc(&a.id).is_some() || self.noted_again(a);
        let stops = plan.node_update.values().flatten().any(|a| !self.noted_again(a) && !self.lost_twice(a));
        let places = plan.node_allocation.values().flatten().any(|a| !noted(a));
        // Changes of priorities create no evaluations.
        let evicts = !plan.node_preemptions.is_empty();
        if (stops || places) && !(waits && evicts) {
            return Err(format!("the plan is not empty (blocked: {waits}): {}", outcome.sketch(state)));
        }
        if !outcome.failed().is_empty() && !waits {
            return Err(format!(
                "there is insufficient capacity, and no evaluation is blocked: {}",
                outcome.sketch(state)
            ));
        }
        Ok(())
    }

    /// Allocations of a batch job stopped by a drain are not replaced (`docs/spec/server.md §12`) until the next
    /// evaluation of the job.
    fn drained(&self, job: &Job) -> bool {
        let allocs = self.store.state().allocs_of_job(&job.namespace, &job.id);
        allocs.iter().any(|e| e.alloc.desired_transition.migrate_disable_placement())
    }

    /// A delayed evaluation names follow-ups that it does not create (`docs/spec/reconciliation.md §3.3` Q2).
    fn forgotten(&self, job: &Job) -> bool {
        let allocs = self.store.state().allocs_of_job(&job.namespace, &job.id);
        let follow_ups = allocs.iter().map(|e| &e.alloc.followup_eval_id).filter(|id| !id.is_empty());
        follow_ups.into_iter().any(|id| self.store.eval(id).is_none())
    }

    /// An allocation that was to migrate when its node was down already is stopped like on a running node, and only the
    /// next evaluation of its job says that it is lost (`docs/spec/reconciliation.md §4, §5.4`): nothing causes one. An
    /// allocation that was stopped before its node was down has one, the evaluation of the node.
    fn lost_twice(&self, a: &Allocation) -> bool {
        let Some(stored) = self.store.state().alloc(&a.id).map(|e| &e.alloc) else { return false };
        let late = self.store.state().node(&a.node_id).is_none_or(|n| {
            n.node.status == NodeStatus::Down && n.node.last_missed_heartbeat_index < stored.modify_index
        });
        let stopped = stored.server_terminal() && stored.desired_transition.should_migrate();
        a.client_status == ClientStatus::Lost && stopped && late
    }

    /// Terminal allocations that are written once more (`docs/spec/reconciliation.md §5.4, §8.5`).
    fn noted_again(&self, a: &Allocation) -> bool {
        self.store.state().alloc(&a.id).is_some_and(|e| e.phase.client_terminal())
    }
}
