//! Runs evaluations, and applies plans as the plan applier and the clients would (`spec/reconciliation.md §11.4`).

use std::collections::BTreeMap;
use std::sync::Arc;

use encamp::model::random::Random;
use encamp::model::*;
use encamp::scheduler::{self, Context, NodeOrder, PlanResult, Planner};
use encamp::state::{Snapshot, State};

/// What one evaluation came to.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// The plan, empty if none was submitted.
    pub plan: Plan,
    /// The evaluation with its final status.
    pub updated: Vec<Evaluation>,
    /// Follow-up and blocked evaluations.
    pub created: Vec<Evaluation>,
    /// Evaluations handed back to the blocked queue.
    pub reblocked: Vec<Evaluation>,
}

impl Outcome {
    /// Groups for which no node was found.
    pub fn failed(&self) -> Vec<String> {
        self.updated.iter().chain(&self.reblocked).flat_map(|e| e.failed_tg_allocs.keys().cloned()).collect()
    }

    /// All new and changed allocations.
    pub fn planned(&self) -> impl Iterator<Item = &Arc<Allocation>> {
        self.plan.node_allocation.values().flatten()
    }

    /// The outcome in a few lines, for whoever looks into a failed case.
    pub fn sketch(&self, before: &State) -> String {
        let mut out = String::new();
        let lists = [
            ("stop", &self.plan.node_update),
            ("evict", &self.plan.node_preemptions),
            ("plan", &self.plan.node_allocation),
        ];
        for (word, lists) in lists {
            for a in lists.values().flatten() {
                let old = before.alloc(&a.id).map(|e| &e.alloc);
                let was = old.map_or("new".to_string(), |o| {
                    format!("was {} {} v{:?}", o.desired_status, o.client_status, o.job_version())
                });
                out += &format!(
                    "\n  {word} {} {} on {} ({was}) {} {} {:?} previous {:?} follow-up {:?}",
                    a.name,
                    a.id,
                    a.node_id,
                    a.desired_status,
                    a.client_status,
                    a.desired_description,
                    a.previous_allocation,
                    a.followup_eval_id
                );
            }
        }
        for e in self.updated.iter().chain(&self.reblocked).chain(&self.created) {
            let failed: Vec<String> = e
                .failed_tg_allocs
                .iter()
                .map(|(g, m)| format!("{g}: {:?} {:?}", m.constraint_filtered, m.dimension_exhausted))
                .collect();
            out += &format!(
                "\n  evaluation {} {} {} failed {failed:?} queued {:?}",
                e.id, e.status, e.triggered_by, e.queued_allocations
            );
        }
        out += &format!("\n  deployment {:?} {:?}", self.plan.deployment, self.plan.deployment_updates);
        out
    }

    /// The allocations that `before` does not have.
    pub fn placed<'a>(&'a self, before: &'a State) -> impl Iterator<Item = &'a Arc<Allocation>> {
        self.planned().filter(|a| before.alloc(&a.id).is_none())
    }
}

struct Recorder(Outcome);

impl Planner for Recorder {
    fn submit_plan(&mut self, plan: Plan) -> Result<PlanResult, String> {
        let result = PlanResult::accepted(plan.clone());
        self.0.plan = plan;
        Ok(result)
    }

    fn update_eval(&mut self, eval: Evaluation) {
        self.0.updated.push(eval);
    }

    fn create_eval(&mut self, eval: Evaluation) {
        self.0.created.push(eval);
    }

    fn reblock_eval(&mut self, eval: Evaluation) {
        self.0.reblocked.push(eval);
    }
}

/// What a run takes from outside besides the state.
#[derive(Clone)]
pub struct Terms {
    /// Unix nanoseconds.
    pub now: i64,
    /// Seed of the dynamic ports, and prefix of new IDs.
    pub seed: u64,
    /// The order of nodes.
    pub order: NodeOrder,
}

/// Processes an evaluation; its plan is accepted in full.
pub fn run(state: &Snapshot, eval: &Evaluation, terms: &Terms) -> Result<Outcome, String> {
    let mut last_id = 0u64;
    let prefix = terms.seed & 0xffff_ffff;
    let mut new_id = || {
        last_id += 1;
        format!("{prefix:08x}-0000-4000-8000-{last_id:012x}")
    };
    let mut ports = Random::new(terms.seed, "ports");
    let mut random = |n: u64| ports.below(n);
    let mut ctx = Context { now: terms.now, order: terms.order.clone(), new_id: &mut new_id, random: &mut random };
    let mut recorder = Recorder(Outcome::default());
    scheduler::process(state, eval, &mut ctx, &mut recorder)?;
    Ok(recorder.0)
}

/// Applies a plan to the state: new allocations run, stopped and evicted ones are complete.
pub fn apply(state: &State, plan: &Plan, now: i64) -> State {
    let mut next = state.clone();
    let index = state.index + 1;
    if let Some(d) = &plan.deployment {
        next.upsert_deployment(Arc::new(merged_deployment(state, d, index)));
    }
    for u in &plan.deployment_updates {
        let Some(d) = next.deployment(&u.deployment_id).filter(|d| d.active()) else { break };
        let mut d = Deployment::clone(d);
        (d.status, d.status_description, d.modify_index) = (u.status.clone(), u.status_description.clone(), index);
        next.upsert_deployment(Arc::new(d));
    }
    let mut written: BTreeMap<&str, Allocation> = BTreeMap::new();
    // One allocation may be planned twice: as unknown and updated in place.
    let current = |written: &BTreeMap<&str, Allocation>, id: &str| -> Option<Allocation> {
        written.get(id).cloned().or_else(|| state.alloc(id).map(|e| Allocation::clone(&e.alloc)))
    };
    for a in plan.node_allocation.values().flatten() {
        let alloc = match current(&written, &a.id) {
            None => new_alloc(a, plan, index, now),
            Some(old) => updated_alloc(a, &old, plan, index, now),
        };
        if state.alloc(&a.id).is_none() {
            count_in_deployment(&mut next, &alloc, index);
            if let Some(mut previous) = current(&written, &a.previous_allocation) {
                previous.next_allocation = a.id.clone();
                written.insert(&a.previous_allocation, previous);
            }
        }
        written.insert(&a.id, alloc);
    }
    for a in plan.node_update.values().flatten() {
        if let Some(stored) = current(&written, &a.id) {
            written.insert(&a.id, stopped_alloc(stored, a, index, now));
        }
    }
    for v in plan.node_preemptions.values().flatten() {
        if let Some(mut stored) = current(&written, &v.id) {
            stored.preempted_by_allocation = v.preempted_by_allocation.clone();
            written.insert(&v.id, stopped_alloc(stored, v, index, now));
        }
    }
    next.upsert_allocs(written.into_values().map(Arc::new));
    next.index = next.index.max(index);
    next
}

/// What clients and the store count stays as it is stored.
fn merged_deployment(state: &State, d: &Deployment, index: u64) -> Deployment {
    let mut d = d.clone();
    d.modify_index = index;
    match state.deployment(&d.id) {
        None => d.create_index = index,
        Some(old) => {
            d.create_index = old.create_index;
            for (name, s) in &mut d.task_groups {
                if let (Some(s), Some(Some(old))) = (s.as_mut(), old.task_groups.get(name)) {
                    s.healthy_allocs = old.healthy_allocs;
                    s.unhealthy_allocs = old.unhealthy_allocs;
                    s.placed_allocs = old.placed_allocs;
                }
            }
        }
    }
    d
}

fn count_in_deployment(next: &mut State, a: &Allocation, index: u64) {
    let Some(d) = next.deployment(&a.deployment_id) else { return };
    let mut d = Deployment::clone(d);
    if let Some(Some(s)) = d.task_groups.get_mut(&a.task_group) {
        s.placed_allocs += 1;
        if a.is_canary() && !s.placed_canaries.contains(&a.id) {
            s.placed_canaries.push(a.id.clone());
        }
    }
    d.modify_index = index;
    next.upsert_deployment(Arc::new(d));
}

fn new_alloc(a: &Allocation, plan: &Plan, index: u64, now: i64) -> Allocation {
    let running = TaskState { state: "running".into(), started_at: Time::from_unix_nanos(now), ..Default::default() };
    let tasks = a.allocated_resources.iter().flat_map(|r| r.tasks.keys());
    Allocation {
        job: a.job.clone().or_else(|| plan.job.clone()),
        client_status: client_status::RUNNING.into(),
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
    let told = matches!(a.client_status.as_str(), client_status::LOST | client_status::UNKNOWN);
    let from = if told { a } else { old };
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

/// `told`: the stop or eviction as planned. The client is done with it at once.
fn stopped_alloc(stored: Allocation, told: &Allocation, index: u64, now: i64) -> Allocation {
    let mut a = stored;
    if told.client_status == client_status::LOST {
        a.client_status = client_status::LOST.into();
    }
    if !a.client_terminal() {
        a.client_status = client_status::COMPLETE.into();
    }
    a.desired_status =
        if told.desired_status == desired_status::EVICT { desired_status::EVICT } else { desired_status::STOP }.into();
    a.desired_description = told.desired_description.clone();
    if !told.followup_eval_id.is_empty() {
        a.followup_eval_id = told.followup_eval_id.clone();
    }
    a.alloc_states.clear();
    (a.modify_index, a.alloc_modify_index, a.modify_time) = (index, index, now);
    a
}
