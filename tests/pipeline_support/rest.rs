//! Everything comes to rest, and what holds then.

use std::collections::BTreeMap;
use std::sync::Arc;

use encamp_model::*;
use encamp_scheduler::NodeOrder;

use super::Verdict;
use super::events::{report_of, revive};
use super::world::World;
use crate::property_support::apply::{Terms, run};

/// Rounds it may take.
const MOST_ROUNDS: usize = 600;
/// How often what was refused because of conflicts is tried again: conflicts end when nobody else is at work.
const RETRIES: usize = 3;

impl World {
    /// Nothing happens any more but what has to, until that is done.
    pub fn come_to_rest(&mut self) -> Verdict {
        self.calm = true;
        // Updates of allocations whose node is away are refused until it comes back (`docs/reliability.md`).
        let away = self.store.state().nodes().filter(|n| n.node.status == "disconnected");
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
        Err(format!("no rest: {:?}, next {:?}", self.broker.stats(), self.next_deadline()))
    }

    fn check_rest(&mut self) -> Verdict {
        self.check_evals()?;
        let jobs: Vec<Arc<Job>> = self.store.state().jobs().map(|j| j.current.clone()).collect();
        for job in jobs {
            if self.refused(&job) {
                self.tally.add("jobs refused for good", 1);
                continue;
            }
            self.check_twins(&job).map_err(|e| format!("at rest, job {}: {e}", job.id))?;
            self.check_places(&job).map_err(|e| format!("at rest, job {}: {e}", job.id))?;
            self.check_settled(&job).map_err(|e| format!("at rest, job {}: {e}", job.id))?;
        }
        Ok(())
    }

    /// Plans that their nodes refuse every time leave a job as it is.
    fn refused(&self, job: &Job) -> bool {
        let mut evals = self.store.evals_of_job(&job.namespace, &job.id);
        evals.any(|e| e.status == "blocked" && e.triggered_by == "max-plan-attempts")
    }

    /// Nothing is left on nodes that are down or gone but what may come back.
    fn check_places(&self, job: &Job) -> Verdict {
        let state = self.store.state();
        for a in state.allocs_of_job(&job.namespace, &job.id).iter().map(|e| &e.alloc) {
            let gone = state.node(&a.node_id).is_none_or(|n| n.node.status == "down");
            if gone && !a.terminal() && a.client_status != client_status::UNKNOWN && job.r#type != "sysbatch" {
                return Err(format!("allocation {} is on a node that is gone", a.id));
            }
        }
        Ok(())
    }

    /// Every evaluation came to an end, or waits for room; the blocked ones are those that are tracked.
    fn check_evals(&self) -> Verdict {
        let mut blocked: BTreeMap<(&str, &str, &str), &str> = BTreeMap::new();
        for e in self.store.evals_from("") {
            if e.status != "blocked" {
                if !e.terminal() {
                    return Err(format!("at rest, evaluation {} of {} is {}", e.id, e.job_id, e.status));
                }
                continue;
            }
            if let Some(other) = blocked.insert((&e.namespace, &e.job_id, &e.node_id), &e.id) {
                return Err(format!("at rest, evaluations {other} and {} of {} are blocked", e.id, e.job_id));
            }
        }
        let tracked = self.blocked.stats().blocked;
        if tracked != blocked.len() {
            return Err(format!("at rest, {tracked} blocked evaluations are tracked, {} stored", blocked.len()));
        }
        Ok(())
    }

    /// No name is taken twice, but by canaries and by those that may come back.
    fn check_twins(&self, job: &Job) -> Verdict {
        let everywhere = matches!(job.r#type.as_str(), "system" | "sysbatch");
        // Canaries take names that are in use (`docs/spec/reconciliation.md §5.9`), and stay when they are promoted.
        if job.task_groups.iter().filter_map(|g| g.update.as_ref()).any(|u| u.canary > 0) {
            return Ok(());
        }
        // A batch allocation whose node is away is updated in place although it was to become unknown, and so is live
        // beside its replacement once the node is back (`docs/reliability.md`).
        if job.r#type == "batch" && job.task_groups.iter().any(|g| g.disconnect.is_some()) {
            return Ok(());
        }
        // What a failed deployment began stays half done.
        if self.store.state().deployments_of_job(&job.namespace, &job.id).iter().any(|d| d.status == "failed") {
            return Ok(());
        }
        let mut names: BTreeMap<(String, String), String> = BTreeMap::new();
        for a in self.store.state().allocs_of_job(&job.namespace, &job.id).iter().map(|e| &e.alloc) {
            if a.terminal() || a.is_canary() || a.client_status == client_status::UNKNOWN {
                continue;
            }
            let key = (a.name.clone(), if everywhere { a.node_id.clone() } else { String::new() });
            if let Some(other) = names.insert(key, a.id.clone()) {
                return Err(format!("{} is live as {other} and as {}", a.name, a.id));
            }
        }
        Ok(())
    }

    /// Looked at again, a job needs nothing: no evaluation was lost, and none waits although there is room.
    fn check_settled(&mut self, job: &Arc<Job>) -> Verdict {
        let eval = Evaluation {
            job_modify_index: job.modify_index,
            ..Evaluation::pending(job, "job-register", self.now, self.id())
        };
        let terms = Terms { now: self.now, seed: self.random.number(), order: NodeOrder::Shuffle };
        let outcome = run(&self.store.state().snapshot(), &eval, &terms)?;
        let waits = self.store.evals_of_job(&job.namespace, &job.id).any(|e| e.status == "blocked");
        self.tally.add(if waits { "blocked jobs" } else { "settled jobs" }, 1);
        // Jobs of the system are placed and stopped in turns (`docs/spec/reconciliation.md §9.2`), and sysbatch jobs
        // are not looked at when nodes come and go (`docs/spec/server.md §9.6`). Deployments hold changes back until
        // the next evaluation after their end (`§6.4`).
        let deployed = !self.store.state().deployments_of_job(&job.namespace, &job.id).is_empty();
        if deployed || self.forgotten(job) || self.drained(job) || matches!(job.r#type.as_str(), "system" | "sysbatch")
        {
            return Ok(());
        }
        let (state, plan) = (self.store.state(), &outcome.plan);
        let noted = |a: &Allocation| waits && state.alloc(&a.id).is_some() || self.noted_again(a);
        let stops = plan.node_update.values().flatten().any(|a| !self.noted_again(a));
        let places = plan.node_allocation.values().flatten().any(|a| !noted(a));
        // Priorities change without anybody being told.
        let evicts = !plan.node_preemptions.is_empty();
        if (stops || places) && !(waits && evicts) {
            return Err(format!("something is left to do (blocked: {waits}): {}", outcome.sketch(state)));
        }
        if !outcome.failed().is_empty() && !waits {
            return Err(format!("there is no room, and nothing waits for it: {}", outcome.sketch(state)));
        }
        Ok(())
    }

    /// What a drain takes of a batch job is not replaced (`docs/spec/server.md §12`), but by the next evaluation of the
    /// job.
    fn drained(&self, job: &Job) -> bool {
        let allocs = self.store.state().allocs_of_job(&job.namespace, &job.id);
        allocs.iter().any(|e| e.alloc.desired_transition.migrate_disable_placement())
    }

    /// A delayed evaluation names follow-ups that it does not make (`docs/spec/reconciliation.md §3.3` Q2).
    fn forgotten(&self, job: &Job) -> bool {
        let allocs = self.store.state().allocs_of_job(&job.namespace, &job.id);
        let follow_ups = allocs.iter().map(|e| &e.alloc.followup_eval_id).filter(|id| !id.is_empty());
        follow_ups.into_iter().any(|id| self.store.eval(id).is_none())
    }

    /// What is over and is written once more (`docs/spec/reconciliation.md §5.4, §8.5`).
    fn noted_again(&self, a: &Allocation) -> bool {
        self.store.state().alloc(&a.id).is_some_and(|e| e.phase.client_terminal())
    }
}
