//! Applies a plan to a state: what the plan applier writes (`docs/spec/reconciliation.md §11.4`, `docs/spec/server.md
//! §7.6, §7.8`) and the status that clients would then report.
//!
//! Only the fields that scheduling reads are written. New allocations are running with unknown health, so deployments
//! make no progress; stopped and evicted allocations are complete at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use encamp_model::random::Random;
use encamp_model::*;
use encamp_state::State;

/// The state after a plan was accepted in full and its allocations were started and stopped, at `now` (Unix
/// nanoseconds).
pub fn apply(state: &State, plan: &Plan, now: i64) -> State {
    let mut next = state.clone();
    write(&mut next, plan, now);
    next
}

/// [`apply`] to the state itself. Rows that no other state shares are changed where they are.
pub fn write(state: &mut State, plan: &Plan, now: i64) {
    let index = state.index + 1;
    if let Some(d) = &plan.deployment {
        state.upsert_deployment(Arc::new(merged_deployment(state, d, index)));
    }
    for u in &plan.deployment_updates {
        // The first one that is refused ends the list.
        let Some(d) = state.deployment(&u.deployment_id).filter(|d| d.active()) else { break };
        let mut d = Deployment::clone(d);
        (d.status, d.status_description, d.modify_index) = (u.status.clone(), u.status_description.clone(), index);
        state.upsert_deployment(Arc::new(d));
    }
    let mut written = Written::default();
    for a in plan.node_allocation.values().flatten() {
        let new = state.alloc(&a.id).is_none();
        let alloc = match written.take(state, &a.id) {
            None if unwanted(state, a) => continue,
            None => new_alloc(a, plan, index, now),
            Some(old) => updated_alloc(a, &old, plan, index, now),
        };
        if new {
            count_in_deployment(state, &alloc, index);
            claim_volumes(state, &alloc, index);
            if let Some(mut previous) = written.take(state, &a.previous_allocation) {
                (previous.next_allocation, previous.modify_index) = (Text::from(&a.id), index);
                written.put(previous);
            }
        }
        written.put(alloc);
    }
    for a in plan.node_update.values().flatten() {
        if let Some(stored) = written.take(state, &a.id) {
            written.put(stopped_alloc(stored, a, index, now));
        }
    }
    for v in plan.node_preemptions.values().flatten() {
        if let Some(mut stored) = written.take(state, &v.id) {
            stored.preempted_by_allocation = v.preempted_by_allocation.clone();
            written.put(stopped_alloc(stored, v, index, now));
        }
    }
    state.upsert_allocs(written.0.into_values());
    state.index = state.index.max(index);
}

/// Allocations as the plan leaves them: one may be planned twice, as unknown and updated in place.
#[derive(Default)]
struct Written(BTreeMap<String, Arc<Allocation>>);

impl Written {
    /// An allocation as it is so far, to be put back.
    fn take(&mut self, state: &State, id: &str) -> Option<Allocation> {
        let stored = || state.alloc(id).map(|e| Allocation::clone(&e.alloc));
        self.0.remove(id).map(Arc::unwrap_or_clone).or_else(stored)
    }

    fn put(&mut self, alloc: Allocation) {
        self.0.insert(alloc.id.to_string(), Arc::new(alloc));
    }
}

/// New allocations of jobs that are gone or stopped are skipped.
fn unwanted(state: &State, a: &Allocation) -> bool {
    state.job(&a.namespace, &a.job_id).is_none_or(|j| j.stop)
}

/// The deployment of a plan as it is to be stored. Figures that clients and the store count stay as they are stored; so
/// do groups that the plan does not name.
pub fn merged_deployment(state: &State, d: &Deployment, index: u64) -> Deployment {
    let mut d = d.clone();
    d.modify_index = index;
    let Some(old) = state.deployment(&d.id) else {
        d.create_index = index;
        return d;
    };
    d.create_index = old.create_index;
    for (name, old) in &old.task_groups {
        match (d.task_groups.get_mut(name), old) {
            (Some(Some(s)), Some(old)) => {
                s.healthy_allocs = old.healthy_allocs;
                s.unhealthy_allocs = old.unhealthy_allocs;
                s.placed_allocs = old.placed_allocs;
                s.require_progress_by = old.require_progress_by;
            }
            (Some(_), _) => {}
            (None, old) => drop(d.task_groups.insert(name.clone(), old.clone())),
        }
    }
    d
}

fn count_in_deployment(state: &mut State, a: &Allocation, index: u64) {
    let Some(d) = state.deployment(&a.deployment_id) else { return };
    let mut d = Deployment::clone(d);
    if let Some(Some(s)) = d.task_groups.get_mut(&*a.task_group) {
        s.placed_allocs += 1;
        if a.is_canary() && !s.placed_canaries.iter().any(|id| *id == a.id) {
            s.placed_canaries.push(a.id.to_string());
        }
    }
    d.modify_index = index;
    state.upsert_deployment(Arc::new(d));
}

fn claim_volumes(state: &mut State, a: &Allocation, index: u64) {
    for claim in volume_claims(state, a, index) {
        state.upsert_host_volume_claim(Arc::new(claim));
    }
}

/// Sticky dynamic host volumes of a group.
fn kept_volumes(group: &TaskGroup) -> impl Iterator<Item = &VolumeRequest> {
    group.volumes.iter().flat_map(|v| v.values()).filter(|r| r.sticky && r.r#type == "host")
}

/// Whether an allocation may make [`volume_claims`].
pub fn keeps_volumes(a: &Allocation) -> bool {
    a.group().is_some_and(|g| kept_volumes(g).next().is_some())
}

/// The claims a new allocation makes on dynamic host volumes that its group wants to keep, as far as they are new.
pub fn volume_claims(state: &State, a: &Allocation, index: u64) -> Vec<TaskGroupHostVolumeClaim> {
    let mut claims: Vec<TaskGroupHostVolumeClaim> = Vec::new();
    let Some(group) = a.group() else { return claims };
    for request in kept_volumes(group) {
        let suffix = a.name.rfind('[').filter(|_| request.per_alloc).and_then(|i| a.name.get(i..)).unwrap_or_default();
        let source = format!("{}{suffix}", request.source);
        let Some(volume) = state.node(&a.node_id).and_then(|n| n.node.host_volumes.get(&source)).cloned() else {
            continue;
        };
        let same = |c: &TaskGroupHostVolumeClaim| {
            c.volume_id == volume.id
                && (&*c.namespace, &*c.job_id, &*c.task_group_name) == (&*a.namespace, &*a.job_id, &*a.task_group)
        };
        let known = state.host_volume_claims().any(|c| same(c)) || claims.iter().any(same);
        if volume.id.is_empty() || known {
            continue;
        }
        claims.push(TaskGroupHostVolumeClaim {
            // The same on every server.
            id: Random::new(index, &format!("{}/{}", a.id, volume.id)).uuid(),
            namespace: a.namespace.to_string(),
            job_id: a.job_id.to_string(),
            task_group_name: a.task_group.to_string(),
            alloc_id: a.id.to_string(),
            volume_id: volume.id,
            volume_name: source,
            create_index: index,
            modify_index: index,
        });
    }
    claims
}

fn new_alloc(a: &Allocation, plan: &Plan, index: u64, now: i64) -> Allocation {
    let running =
        TaskState { state: TaskStatus::Running, started_at: Time::from_unix_nanos(now), ..Default::default() };
    let tasks = a.allocated_resources.iter().flat_map(|r| r.tasks.keys());
    Allocation {
        job: a.job.clone().or_else(|| plan.job.clone()),
        client_status: ClientStatus::Running,
        task_states: tasks.map(|t| (t.clone(), running.clone())).collect(),
        create_index: index,
        modify_index: index,
        alloc_modify_index: index,
        create_time: now,
        modify_time: now,
        ..a.clone()
    }
}

fn updated_alloc(a: &Allocation, old: &Allocation, plan: &Plan, index: u64, now: i64) -> Allocation {
    let job = match &a.job {
        Some(job) => Some(job.clone()),
        None if a.terminal() => old.job.clone(),
        None => plan.job.clone(),
    };
    let reported = matches!(a.client_status, ClientStatus::Lost | ClientStatus::Unknown);
    let from = if reported { a } else { old };
    Allocation {
        job,
        client_status: from.client_status.clone(),
        client_description: from.client_description.clone(),
        task_states: old.task_states.clone(),
        next_allocation: old.next_allocation.clone(),
        create_index: old.create_index,
        modify_index: index,
        alloc_modify_index: index,
        modify_time: now,
        ..a.clone()
    }
}

/// `planned`: the stop or eviction as planned. The client is done with it at once.
fn stopped_alloc(stored: Allocation, planned: &Allocation, index: u64, now: i64) -> Allocation {
    let mut a = stored;
    if planned.client_status == ClientStatus::Lost {
        a.client_status = ClientStatus::Lost;
    }
    if !a.client_terminal() {
        a.client_status = ClientStatus::Complete;
    }
    a.desired_status =
        if planned.desired_status == DesiredStatus::Evict { DesiredStatus::Evict } else { DesiredStatus::Stop };
    a.desired_description = planned.desired_description.clone();
    if !planned.followup_eval_id.is_empty() {
        a.followup_eval_id = planned.followup_eval_id.clone();
    }
    a.alloc_states = ThinVec::new();
    (a.modify_index, a.alloc_modify_index, a.modify_time) = (index, index, now);
    a
}
