//! Finds a node for every placement (`docs/spec/reconciliation.md §8`).

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::{Attempt, Generic};
use crate::ScheduleError;
use crate::candidates::{ReadyNodes, ready_nodes};
use crate::common::{add_exhausted_resources, new_alloc};
use crate::descriptions;
use crate::reconcile::{NameIndex, Placement, Results};
use crate::reschedule::tracker_of_replacement;
use crate::stack::{RankedNode, SelectOptions, Selection};
use encamp_model::*;
use encamp_state::NodeEntry;

/// State shared by the entries of one evaluation.
struct Round {
    /// The current job.
    job: Arc<Job>,
    ready: ReadyNodes,
    /// Deployment new allocations belong to.
    deployment: String,
    names: BTreeMap<String, NameIndex>,
    preemption: bool,
    /// The job's deployments, newest version first, once an older version is looked for.
    deployments: Option<Vec<Arc<Deployment>>>,
}

impl Attempt {
    pub(super) fn place_all(&mut self, g: &mut Generic, results: Results) -> Result<(), ScheduleError> {
        let Some(job) = self.job.clone() else { return Ok(()) };
        if results.destructive.is_empty() && results.place.is_empty() {
            self.queued = job.task_groups.iter().map(|tg| (tg.name.clone(), 0)).collect();
            return Ok(());
        }
        if self.stopped() {
            return Ok(());
        }
        for p in results.destructive.iter().chain(&results.place) {
            match self.queued.get_mut(&*p.group) {
                Some(n) => *n += 1,
                None => {
                    self.queued.insert(p.group.to_string(), 1);
                }
            }
        }
        let ready = ready_nodes(&g.state, &job.datacenters, &job.node_pool);
        self.stack.set_nodes(g.visiting_order(&ready)?);
        // The flag goes by the job's own type, and by the global configuration alone.
        let preemption = g.state.scheduler_config.as_ref().is_none_or(|c| {
            let c = &c.preemption_config;
            if job.r#type == JobType::Batch { c.batch_scheduler_enabled } else { c.service_scheduler_enabled }
        });
        let deployment = self.deployment.as_ref().filter(|d| d.active()).map(|d| d.id.clone()).unwrap_or_default();
        let mut round = Round { job, ready, deployment, names: results.names, preemption, deployments: None };
        for p in results.destructive {
            self.place(g, &mut round, p, true)?;
        }
        for p in results.place {
            self.place(g, &mut round, p, false)?;
        }
        Ok(())
    }

    /// Places one entry (`docs/spec/reconciliation.md §8.1`).
    fn place(
        &mut self,
        g: &mut Generic,
        round: &mut Round,
        p: Placement,
        destructive: bool,
    ) -> Result<(), ScheduleError> {
        if (g.ctx.stop)() {
            return Err(ScheduleError::Stopped);
        }
        let older = if p.downgrade { older_version(g, round, &p) } else { None };
        if let Some((_, deployment)) = &older {
            round.deployment = deployment.clone();
        }
        let older = older.map(|(job, _)| job);
        let job = older.clone().unwrap_or_else(|| round.job.clone());
        let Some(tg) = job.lookup_group(&p.group) else { return Ok(()) };
        if let Some(metrics) = self.failed.get_mut(&*p.group) {
            metrics.coalesced_failures += 1;
            add_exhausted_resources(metrics, tg);
            return Ok(());
        }
        let other_nodes = if let Some(older) = &older { self.search_for(older, g, round)? } else { None };
        let preferred = preferred_node(g, &round.job, tg, &p);
        if destructive && let Some(previous) = &p.previous {
            self.plan.append_stop(previous, descriptions::UPDATING, ClientStatus::Unset, "");
        }
        let penalty = penalty_nodes(p.previous.as_deref());
        let options = SelectOptions {
            alloc_name: &p.name,
            preferred: preferred.as_ref(),
            penalty_nodes: &penalty,
            preempt: false,
        };
        let mut started = (g.ctx.stopwatch)();
        let Selection { mut option, mut metrics } = self.stack.select(&mut self.plan, tg, &options, g.ctx.random);
        if option.is_none() && round.preemption {
            let options = SelectOptions { preempt: true, ..options };
            started = (g.ctx.stopwatch)();
            Selection { option, metrics } = self.stack.select(&mut self.plan, tg, &options, g.ctx.random);
        }
        metrics.allocation_time = (g.ctx.stopwatch)().saturating_sub(started);
        let ready = other_nodes.as_ref().unwrap_or(&round.ready);
        metrics.nodes_available = Some(ready.available.clone());
        metrics.nodes_in_pool = ready.in_pool;
        metrics.node_pool = job.node_pool.clone();
        if older.is_some() {
            self.stack.set_job(&round.job);
            if other_nodes.is_some() {
                self.stack.set_nodes(g.visiting_order(&round.ready)?);
            }
        }
        match option {
            Some(option) => self.found(g, round, p, (tg, &job, older), option, metrics),
            None => self.not_found(p, tg, destructive, metrics),
        }
        Ok(())
    }

    /// Makes the next search one for an older version of the job. Returns its candidates if they are others.
    fn search_for(
        &mut self,
        older: &Arc<Job>,
        g: &mut Generic,
        round: &Round,
    ) -> Result<Option<ReadyNodes>, ScheduleError> {
        let others =
            (!same_candidates(older, &round.job)).then(|| ready_nodes(&g.state, &older.datacenters, &older.node_pool));
        self.stack.set_job(older);
        if let Some(ready) = &others {
            self.stack.set_nodes(g.visiting_order(ready)?);
        }
        Ok(others)
    }

    /// Plans the new allocation (`docs/spec/reconciliation.md §8.2`).
    fn found(
        &mut self,
        g: &mut Generic,
        round: &mut Round,
        p: Placement,
        (tg, job, older): (&TaskGroup, &Job, Option<Arc<Job>>),
        option: RankedNode,
        metrics: AllocMetric,
    ) {
        let mut name = p.name;
        if let Some(names) = round.names.get_mut(&*p.group) {
            names.make_unique(&mut name);
        }
        let mut a = new_alloc(&g.eval, job, tg, &name, &option, metrics, g.ctx);
        a.deployment_id = Text::from(&round.deployment);
        if let Some(previous) = &p.previous {
            a.previous_allocation = Text::from(&previous.id);
            if p.reschedule {
                let tracker = tracker_of_replacement(previous, g.ctx.now);
                let note = noted(previous, &tracker.last_reschedule);
                a.reschedule_tracker = Some(Box::new(tracker));
                // The record in the plan becomes the annotated allocation, without the fields of a stop
                // (`docs/spec/reconciliation.md §6.6` Q1).
                if !self.plan.replace_stop(note.clone()) {
                    self.plan.replace_alloc(note);
                }
            }
        }
        if p.canary && self.deployment.is_some() {
            a.deployment_status = Some(Box::new(AllocDeploymentStatus { canary: true, ..Default::default() }));
        }
        if !option.preempted.is_empty() {
            for v in &option.preempted {
                self.plan.append_preempted(&v.alloc, &a.id);
                self.annotations.preempted_allocs.push(v.alloc.stub());
            }
            a.preempted_allocations = option.preempted.iter().map(|v| Text::from(&v.alloc.id)).collect();
            if let Some(d) = self.annotations.desired_tg_updates.get_mut(&*p.group) {
                d.preemptions += option.preempted.len() as u64;
            }
        }
        self.plan.append_alloc(a, older);
    }

    /// Notes the failure, and leaves in place what a destructive update or a reschedule would have replaced
    /// (`docs/spec/reconciliation.md §8.5`).
    fn not_found(&mut self, p: Placement, tg: &TaskGroup, destructive: bool, mut metrics: AllocMetric) {
        add_exhausted_resources(&mut metrics, tg);
        self.failed.insert(p.group.to_string(), metrics);
        let Some(previous) = p.previous else { return };
        if destructive {
            self.plan.pop_stop(&previous);
        } else if p.reschedule {
            let note = noted(&previous, "no placement");
            self.plan.pop_stop(&previous);
            if !self.plan.replace_alloc(note.clone()) {
                self.plan.append_alloc(Arc::unwrap_or_clone(note), self.job.clone());
            }
        }
    }
}

/// The allocation with the outcome of its replacement in its tracker.
fn noted(a: &Allocation, outcome: &str) -> Arc<Allocation> {
    let mut a = a.clone();
    a.reschedule_tracker.get_or_insert_default().last_reschedule = outcome.into();
    Arc::new(a)
}

/// The job version, with its deployment, that a stable allocation is replaced with while canaries wait
/// (`docs/spec/reconciliation.md §8.4`).
fn older_version(g: &Generic, round: &mut Round, p: &Placement) -> Option<(Arc<Job>, String)> {
    let (state, job) = (&g.state, &round.job);
    let deployments = round.deployments.get_or_insert_with(|| {
        let mut list = state.deployments_of_job(&job.namespace, &job.id);
        list.retain(|d| d.job_create_index == job.create_index);
        list.sort_by_key(|d| std::cmp::Reverse(d.job_version));
        list
    });
    let stable = deployments.iter().find(|d| {
        let s = d.task_groups.get(&*p.group).and_then(|s| s.as_ref());
        s.is_some_and(|s| s.promoted || s.desired_canaries == 0)
    });
    let version = |v: u64| state.job_version(&job.namespace, &job.id, v).cloned();
    let (found, deployment) = match stable {
        Some(d) => (version(d.job_version)?, d.id.clone()),
        None => (version(p.min_version).filter(|j| j.update.is_empty())?, String::new()),
    };
    (found.version >= p.min_version && found.lookup_group(&p.group).is_some()).then_some((found, deployment))
}

/// Whether two versions of a job have the same candidate nodes.
fn same_candidates(a: &Job, b: &Job) -> bool {
    let set = |j: &Job| j.datacenters.iter().cloned().collect::<HashSet<String>>();
    a.node_pool == b.node_pool && (a.datacenters == b.datacenters || set(a) == set(b))
}

/// The node of the previous allocation, if its disk is to be kept and the node can still be used.
fn preferred_node(g: &Generic, job: &Job, tg: &TaskGroup, p: &Placement) -> Option<Arc<NodeEntry>> {
    let previous = p.previous.as_ref()?;
    let old = previous.job.as_ref()?;
    let keeps_disk = tg.ephemeral_disk.as_ref().is_some_and(|d| d.sticky || d.migrate);
    if !keeps_disk || old.node_pool != job.node_pool || old.datacenters != job.datacenters {
        return None;
    }
    g.state.node(&previous.node_id).filter(|n| n.node.ready()).cloned()
}

/// Nodes on which the allocation failed before.
fn penalty_nodes(previous: Option<&Allocation>) -> Vec<Text> {
    let Some(a) = previous else { return Vec::new() };
    let failed = (a.client_status == ClientStatus::Failed).then(|| a.node_id.clone());
    let events = a.reschedule_tracker.iter().flat_map(|t| t.events.iter().flatten());
    failed.into_iter().chain(events.map(|e| e.prev_node_id.clone())).collect()
}
