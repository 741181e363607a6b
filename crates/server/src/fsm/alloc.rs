//! Allocations: counters updated with every write, allocation updates of clients, transitions
//! (`docs/spec/server.md §7.8`, `§11`, `§13.5`).

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::txn::Txn;
use super::{csi_plugin, eval, status, summary};
use encamp_model::*;
use encamp_ops::Refusal;
use encamp_state::{Id, IdHash};

/// Allocations to be written: each may be changed several times in one entry.
pub(crate) struct Writes<'t, 's> {
    /// The transaction.
    pub txn: &'t mut Txn<'s>,
    pending: Vec<Arc<Allocation>>,
    positions: HashMap<Id, usize, IdHash>,
    /// By namespace and job ID; `None` for jobs without a summary.
    summaries: BTreeMap<(Id, Id), Option<JobSummary>>,
    deployments: BTreeMap<String, Deployment>,
    jobs: Kept,
}

/// Namespaces and IDs of jobs, and whether the last written allocation of each keeps it running.
pub(crate) type Kept = BTreeMap<(Id, Id), bool>;

impl<'t, 's> Writes<'t, 's> {
    /// An empty set of writes.
    pub(crate) fn new(txn: &'t mut Txn<'s>) -> Writes<'t, 's> {
        Writes {
            txn,
            pending: Vec::new(),
            positions: HashMap::default(),
            summaries: BTreeMap::new(),
            deployments: BTreeMap::new(),
            jobs: BTreeMap::new(),
        }
    }

    /// The allocation with pending writes, else as it is stored.
    pub(crate) fn current(&self, id: &str) -> Option<&Arc<Allocation>> {
        let id = Id::new(id);
        match self.positions.get(&id) {
            Some(i) => self.pending.get(*i),
            None => self.txn.store.state().alloc_at(&id).map(|e| &e.alloc),
        }
    }

    /// Adds an allocation in its new state, and updates the counters.
    pub(crate) fn write(&mut self, new: Allocation) {
        let old = self.current(&new.id).cloned();
        self.write_after(old.as_deref(), new);
    }

    /// The same, if the current state is known.
    pub(crate) fn write_after(&mut self, old: Option<&Allocation>, mut new: Allocation) {
        self.count_in_deployment(old, &mut new);
        let key = (Id::new(&new.namespace), Id::new(&new.job_id));
        let stored = || self.txn.store.summary(&new.namespace, &new.job_id).map(|s| JobSummary::clone(s));
        if let Some(s) = self.summaries.entry(key.clone()).or_insert_with(stored) {
            summary::count(s, old, &new);
        }
        if !new.previous_allocation.is_empty() {
            self.link_previous(&new);
        }
        if new.client_terminal() {
            self.txn.remove_services_of(&new.id);
            csi_plugin::alloc_ended(self.txn, &new);
        }
        self.jobs.insert(key, !new.terminal());
        self.put(new);
    }

    fn put(&mut self, alloc: Allocation) {
        match self.positions.entry(Id::new(&alloc.id)) {
            Entry::Occupied(at) => self.pending[*at.get()] = Arc::new(alloc),
            Entry::Vacant(at) => {
                at.insert(self.pending.len());
                self.pending.push(Arc::new(alloc));
            }
        }
    }

    /// Records the ID of the new allocation in the allocation that it replaces.
    fn link_previous(&mut self, new: &Allocation) {
        let index = self.txn.index;
        let Some(previous) = self.current(&new.previous_allocation) else { return };
        let mut previous = Allocation::clone(previous);
        previous.next_allocation = new.id.clone();
        previous.modify_index = index;
        self.put(previous);
    }

    /// Updates the counters of the deployment (`docs/spec/server.md §13.5`).
    fn count_in_deployment(&mut self, old: Option<&Allocation>, new: &mut Allocation) {
        if new.deployment_id.is_empty() {
            return;
        }
        if !self.deployments.contains_key(&new.deployment_id) {
            let Some(d) = self.txn.store.state().deployment(&new.deployment_id) else { return };
            self.deployments.insert(d.id.clone(), Deployment::clone(d));
        }
        let Some(deployment) = self.deployments.get_mut(&new.deployment_id) else { return };
        let Some(Some(group)) = deployment.task_groups.get_mut(&new.task_group) else { return };
        let placed = old.is_none_or(|o| o.deployment_id != new.deployment_id);
        let health = (if placed { None } else { old.and_then(Allocation::health) }, new.health());
        let (mut healthy, mut unhealthy) = (0, 0);
        match health {
            (None, Some(true)) => healthy = 1,
            (None, Some(false)) => unhealthy = 1,
            (Some(true), Some(false)) => (healthy, unhealthy) = (-1, 1),
            _ => {}
        }
        let canary = new.is_canary() && !group.placed_canaries.contains(&new.id);
        if !placed && healthy == 0 && unhealthy == 0 && !canary {
            return;
        }
        if (healthy != 0 || unhealthy != 0)
            && let Some(status) = &mut new.deployment_status
        {
            status.modify_index = self.txn.index;
        }
        if group.progress_deadline > 0 {
            let until = |from: i64| Time::from_unix_nanos(from.saturating_add(group.progress_deadline));
            if placed && group.placed_allocs == 0 && group.require_progress_by.is_zero() {
                group.require_progress_by = until(new.modify_time);
            }
            let timestamp = new.deployment_status.as_ref().and_then(|s| s.timestamp.unix_nanos());
            if let Some(at) = timestamp.filter(|_| healthy != 0) {
                group.require_progress_by = group.require_progress_by.max(until(at));
            }
        }
        group.placed_allocs += i64::from(placed);
        group.healthy_allocs += healthy;
        group.unhealthy_allocs += unhealthy;
        if canary {
            group.placed_canaries.push(new.id.clone());
        }
        deployment.modify_index = self.txn.index;
        deployment.modify_time = new.modify_time;
    }

    /// Writes everything. Returns the affected jobs, and whether the last allocation of each keeps it running.
    pub(crate) fn finish(self) -> Kept {
        let Writes { txn, pending, summaries, deployments, jobs, .. } = self;
        txn.put_allocs(pending);
        for d in deployments.into_values() {
            if d.modify_index == txn.index {
                txn.put_deployment(d);
            }
        }
        summaries.into_values().flatten().for_each(|s| txn.put_summary(s));
        for (namespace, id) in jobs.keys() {
            csi_plugin::follow_allocs(txn, &namespace.to_string(), &id.to_string());
        }
        jobs
    }
}

/// Allocation updates of clients (`docs/spec/server.md §11`).
pub(crate) fn client_update(
    txn: &mut Txn,
    updates: &[Arc<Allocation>],
    evals: &[Evaluation],
    now: i64,
) -> Result<(), Refusal> {
    let index = txn.index;
    let mut nodes: BTreeMap<Id, bool> = BTreeMap::new();
    let mut reconnected: Vec<Arc<Allocation>> = Vec::new();
    let mut writes = Writes::new(txn);
    for update in updates {
        let Some(old) = writes.current(&update.id).cloned().filter(|old| !outdated(old, update)) else { continue };
        let mut new = Allocation::clone(&old);
        if old.client_status == ClientStatus::Unknown
            && update.client_status != ClientStatus::Unknown
            && !old.followup_eval_id.is_empty()
        {
            reconnected.push(old.clone());
            new.followup_eval_id.clear();
        }
        new.client_status = update.client_status.clone();
        new.client_description = update.client_description.clone();
        new.task_states = update.task_states.clone();
        new.network_status = update.network_status.clone();
        take_health(&mut new, update, index);
        new.modify_time = now;
        new.modify_index = index;
        let freed = nodes.entry(Id::new(&new.node_id)).or_default();
        *freed |= matches!(new.client_status, ClientStatus::Complete | ClientStatus::Failed);
        writes.write_after(Some(&old), new);
    }
    let jobs = writes.finish();
    reconnected.iter().for_each(|a| cancel_followup(txn, a, now));
    let nodes: Vec<(String, bool)> = nodes.into_iter().map(|(id, freed)| (id.to_string(), freed)).collect();
    for (id, _) in &nodes {
        if let Some(n) = txn.store.state().node(id) {
            let mut node = Node::clone(&n.node);
            node.last_alloc_update_index = index;
            txn.put_node_record(node);
        }
    }
    nodes.iter().filter(|(_, freed)| *freed).for_each(|(id, _)| txn.unblock(id));
    eval::update(txn, evals)?;
    for (namespace, job) in jobs.into_keys() {
        status::refresh(txn, &namespace.to_string(), &job.to_string(), None, false);
    }
    Ok(())
}

/// Whether an update is older than the stored one: a server that was partitioned may forward an update late, after the
/// client sent a newer one to another server. A terminal allocation does not run again, and the last event of a task
/// does not precede others.
fn outdated(stored: &Allocation, reported: &Allocation) -> bool {
    let ended = matches!(stored.client_status, ClientStatus::Complete | ClientStatus::Failed);
    let behind = |(task, reported): (String, TaskState)| {
        let (newest, stored) = (reported.events.stamps().last(), stored.task_states.get(&task));
        newest.zip(stored).is_some_and(|(newest, stored)| {
            stored.events.stamps().last() != Some(newest.clone()) && stored.events.stamps().any(|e| e == newest)
        })
    };
    (ended && !reported.client_terminal()) || reported.task_states.iter().any(behind)
}

/// Health is decided by the client: takes the full status if none is stored yet, else a new or changed verdict.
fn take_health(new: &mut Allocation, update: &Allocation, index: u64) {
    let Some(reported) = &update.deployment_status else { return };
    match &mut new.deployment_status {
        None => {
            let mut reported = reported.clone();
            reported.modify_index = index;
            new.deployment_status = Some(reported);
        }
        Some(stored) if reported.healthy.is_some() && stored.healthy != reported.healthy => {
            stored.healthy = reported.healthy;
            stored.timestamp = reported.timestamp;
            stored.modify_index = index;
        }
        Some(_) => {}
    }
}

/// Cancels the follow-up evaluation of an allocation that reconnected, unless other allocations need it.
fn cancel_followup(txn: &mut Txn, back: &Allocation, now: i64) {
    let id = &back.followup_eval_id;
    let others = txn.store.state().allocs_of_job(&back.namespace, &back.job_id);
    if others.iter().any(|a| a.alloc.id != back.id && !a.phase.terminal() && a.alloc.followup_eval_id == *id) {
        return;
    }
    let Some(eval) = txn.store.eval(id).filter(|e| !e.terminal()) else { return };
    let mut eval = Evaluation::clone(eval);
    txn.dropped_evals.push(Arc::new(eval.clone()));
    eval.status = EvalStatus::Canceled;
    eval.status_description = "allocs reconnected".into();
    eval.modify_index = txn.index;
    eval.modify_time = now;
    txn.put_eval(Arc::new(eval));
}

/// Merges transition flags: set flags are taken over, others are not changed.
pub(crate) fn merge_transition(into: &mut DesiredTransition, from: &DesiredTransition) {
    into.migrate = from.migrate.or(into.migrate);
    into.reschedule = from.reschedule.or(into.reschedule);
    into.force_reschedule = from.force_reschedule.or(into.force_reschedule);
    into.no_shutdown_delay = from.no_shutdown_delay.or(into.no_shutdown_delay);
    into.migrate_disable_placement = from.migrate_disable_placement.or(into.migrate_disable_placement);
}

/// Writes transitions only; allocations that do not exist are skipped.
pub(crate) fn put_transitions(txn: &mut Txn, transitions: &BTreeMap<String, DesiredTransition>) {
    let index = txn.index;
    let changed = transitions.iter().filter_map(|(id, t)| {
        let mut a = Allocation::clone(&txn.store.state().alloc(id)?.alloc);
        merge_transition(&mut a.desired_transition, t);
        (a.modify_index, a.alloc_modify_index) = (index, index);
        Some(Arc::new(a))
    });
    let changed: Vec<_> = changed.collect();
    txn.put_allocs(changed);
}

/// Sets the desired transitions of allocations together with the evaluations for them. Job statuses are not changed.
pub(crate) fn transition(
    txn: &mut Txn,
    transitions: &BTreeMap<String, DesiredTransition>,
    evals: &[Evaluation],
) -> Result<(), Refusal> {
    put_transitions(txn, transitions);
    eval::write(txn, evals);
    Ok(())
}

/// Updates the statuses of jobs after a plan: the last written allocation of a job decides whether it is running.
pub(crate) fn statuses_after_plan(txn: &mut Txn, jobs: Kept) {
    for ((namespace, job), runs) in jobs {
        status::refresh(txn, &namespace.to_string(), &job.to_string(), runs.then_some(JobStatus::Running), false);
    }
}
