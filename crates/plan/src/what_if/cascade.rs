//! Processes evaluations one after the other on the evolving state, until there are none left.
//!
//! As on a server: the highest priority first, one evaluation per job at a time; a plan is applied before the next one
//! is made; jobs with preempted allocations are evaluated again; blocked jobs are evaluated again when there is new
//! capacity. Delayed evaluations run at their time, when nothing else is left.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::drain;
use super::edit::{Edited, JobKey, Trigger, Triggers};
use super::futile::Futile;
use super::waiting::{absent_system_jobs, short_jobs};
use crate::apply;
use crate::demand::stable;
use crate::evaluate::{Answer, Limits, Made, evaluate_until};
use encamp_model::*;
use encamp_scheduler::plan_check::{check, rejections};
use encamp_scheduler::{ScheduleError, descriptions};
use encamp_state::{Id, State};

/// Most rejections of servers that are named.
const MOST_REJECTIONS: usize = 8;

/// More evaluations than that are not made.
const MOST_EVALUATIONS: usize = 50_000;
/// How often a job is evaluated once more because its last plan changed something.
const MOST_REPEATS: usize = 4;

/// The facts that are known about a state beforehand, where many changes of it are followed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known {
    /// Jobs whose evaluations do the same whatever is placed, as long as nothing of them is evicted and, where they
    /// lack capacity, no node gains any.
    pub quiet: Arc<BTreeMap<JobKey, Quiet>>,
    /// Those of them of which this is not true of the change that is followed.
    pub stirred: BTreeSet<JobKey>,
    /// Service and batch jobs of which an evaluation finds nothing to do; nor does it once all that they lose is
    /// replaced.
    pub settled: Arc<BTreeSet<JobKey>>,
    /// Jobs that wait for capacity.
    pub waiting: Option<Arc<BTreeSet<JobKey>>>,
    /// When to end although something is left to be done, and the order of candidates.
    pub limits: Limits,
    /// Evaluations that surely place nothing are left out; metrics of what is unplaced may be those of an earlier one.
    pub leaves_out_futile: bool,
}

/// The effect of every evaluation of a job besides stopping allocations on nodes that are down.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Quiet {
    /// IDs that it takes.
    pub ids: u64,
    /// It writes the deployment.
    pub writes: bool,
    /// Unplaced groups.
    pub failed: BTreeMap<String, AllocMetric>,
}

/// The state that evolves, and what is still to be done.
pub(crate) struct Cascade {
    state: State,
    now: i64,
    /// When the first evaluation was made.
    began: i64,
    made: Made,
    queue: BTreeMap<(Reverse<i64>, u64), Evaluation>,
    /// Jobs in the queue.
    queued: BTreeSet<JobKey>,
    number: u64,
    /// Follow-up evaluations that wait for their time.
    delayed: Vec<Evaluation>,
    /// Jobs whose last plan changed something, and how often that was.
    changed: BTreeMap<JobKey, usize>,
    to_repeat: BTreeSet<JobKey>,
    /// Groups with unplaced allocations after the last evaluation, by job.
    pub(super) failed: BTreeMap<JobKey, BTreeMap<String, AllocMetric>>,
    /// Jobs that were evaluated for a reason other than new capacity.
    pub(super) affected: BTreeSet<JobKey>,
    /// Jobs that waited for capacity before; read when first asked for.
    waited: Option<Arc<BTreeSet<JobKey>>>,
    /// Ready nodes on which room came up since the last look.
    freed: BTreeSet<String>,
    gained: bool,
    /// All allocations that plans wrote.
    pub(crate) touched: BTreeSet<Id>,
    pub(super) evaluations: usize,
    errors: BTreeSet<String>,
    /// Which nodes would reject what, in words.
    rejections: BTreeSet<String>,
    unsettled: bool,
    quiet: Arc<BTreeMap<JobKey, Quiet>>,
    stirred: BTreeSet<JobKey>,
    settled: Arc<BTreeSet<JobKey>>,
    /// Settled jobs that have replaced all they lost: another evaluation finds nothing to do.
    pub(super) whole: BTreeSet<JobKey>,
    /// Settled jobs that have replaced what they can: another evaluation finds something to do only if a node gains room.
    pub(super) finished: BTreeSet<JobKey>,
    /// Nodes that went down.
    down: BTreeSet<String>,
    /// What ran on them, by job and node: many nodes go down with a datacenter, and each quiet job looks for its own.
    lost: BTreeMap<JobKey, BTreeMap<String, Vec<Id>>>,
    /// A ready node has more room than at the beginning.
    gave_room: bool,
    /// The facts known beforehand do not hold any more: nothing of this cascade is of use.
    pub(super) misled: bool,
    limits: Limits,
    /// Evaluations that found no node, if such are left out.
    futile: Option<Futile>,
    /// It was asked to end: evaluations are left.
    pub(super) cut: bool,
}

impl Cascade {
    /// Follows what the changes set off at `now`.
    pub(crate) fn run(before: &State, edited: Edited, known: &Known, now: i64) -> Cascade {
        Cascade::run_with(before, edited, known, now, Made::new(1))
    }

    /// The same with IDs and ports of one's own.
    pub(crate) fn run_with(before: &State, edited: Edited, known: &Known, now: i64, made: Made) -> Cascade {
        let mut c = Cascade {
            state: edited.state,
            now,
            made,
            queue: BTreeMap::new(),
            queued: BTreeSet::new(),
            number: 0,
            delayed: Vec::new(),
            changed: BTreeMap::new(),
            to_repeat: BTreeSet::new(),
            failed: BTreeMap::new(),
            affected: BTreeSet::new(),
            waited: known.waiting.clone(),
            freed: BTreeSet::new(),
            gained: edited.gained,
            touched: BTreeSet::new(),
            evaluations: 0,
            errors: BTreeSet::new(),
            rejections: BTreeSet::new(),
            unsettled: false,
            quiet: known.quiet.clone(),
            stirred: known.stirred.clone(),
            began: now,
            settled: known.settled.clone(),
            whole: BTreeSet::new(),
            finished: BTreeSet::new(),
            lost: if known.quiet.is_empty() { BTreeMap::new() } else { lost(before, &edited.down) },
            down: edited.down,
            gave_room: edited.gained,
            misled: false,
            limits: known.limits.clone(),
            futile: known.leaves_out_futile.then(Futile::default),
            cut: false,
        };
        c.enqueue_all(&edited.triggers);
        loop {
            while let Some((_, eval)) = c.queue.pop_first() {
                if c.evaluations >= MOST_EVALUATIONS {
                    c.unsettled = true;
                    return c;
                }
                c.queued.remove(&job_of(&eval));
                c.cut = c.cut || c.limits.stop.now();
                if !c.cut {
                    c.process(before, &eval);
                }
                if c.misled || c.cut {
                    return c;
                }
            }
            if !(c.try_waiting(before) || c.repeat() || c.drain(&edited.draining) || c.wait()) {
                return c;
            }
        }
    }

    /// The state in the end.
    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// The state in the end.
    pub(crate) fn into_state(self) -> State {
        self.state
    }

    /// The state in the end, and what the next run goes on with.
    pub(crate) fn into_parts(self) -> (State, Made) {
        (self.state, self.made)
    }

    /// Groups with unplaced allocations after the last evaluation, by job.
    pub(crate) fn failed(&self) -> &BTreeMap<JobKey, BTreeMap<String, AllocMetric>> {
        &self.failed
    }

    /// All allocations that plans wrote.
    pub(crate) fn touched(&self) -> impl Iterator<Item = &Id> {
        self.touched.iter()
    }

    /// The errors, as text.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut out: Vec<String> = self.errors.iter().cloned().collect();
        out.extend(self.rejections.iter().take(MOST_REJECTIONS).cloned());
        let more = self.rejections.len().saturating_sub(MOST_REJECTIONS);
        if more > 0 {
            out.push(format!("Servers would reject parts of {more} more plans"));
        }
        if self.unsettled {
            out.push(format!("Stopped after {MOST_EVALUATIONS} evaluations: the cluster was still changing"));
        }
        out
    }

    fn enqueue_all(&mut self, triggers: &Triggers) {
        for (key, t) in triggers {
            self.affected.insert(key.clone());
            self.enqueue(key, t);
        }
    }

    fn enqueue(&mut self, key: &JobKey, t: &Trigger) {
        let job = self.state.job(&key.0, &key.1);
        let eval = Evaluation {
            id: self.made.id().into(),
            namespace: Text::from(&key.0),
            priority: t.priority,
            r#type: t.r#type.clone(),
            triggered_by: t.reason.clone(),
            job_id: Text::from(&key.1),
            job_modify_index: job.map_or(0, |j| j.modify_index),
            status: EvalStatus::Pending,
            create_time: self.now,
            modify_time: self.now,
            ..Default::default()
        };
        self.push(eval);
    }

    fn push(&mut self, eval: Evaluation) {
        // A second evaluation of a job would find nothing to do.
        if self.queued.insert(job_of(&eval)) {
            self.number += 1;
            self.queue.insert((Reverse(eval.priority), self.number), eval);
        }
    }

    fn process(&mut self, before: &State, eval: &Evaluation) {
        self.evaluations += 1;
        let key = job_of(eval);
        if !self.stirred.contains(&key)
            && let Some(quiet) = self.quiet.clone().get(&key)
        {
            // Missing allocations may be placed now, and delayed ones may be due.
            if (!self.gave_room || quiet.failed.is_empty()) && self.now == self.began {
                return self.process_quietly(&key, quiet);
            }
            self.stir(&key);
            if self.misled {
                return;
            }
        }
        if self.whole.contains(&key) {
            return;
        }
        if let Some(ids) = self.futile.as_mut().and_then(|f| f.again(&self.state, &key, self.now)) {
            self.made.skip(ids);
            return;
        }
        let limits = self.limits.clone();
        let (given, drawn) = (self.made.given(), self.made.drawn());
        let answer = match evaluate_until(&self.state.snapshot(), eval, self.now, &mut self.made, &limits) {
            Ok(answer) => answer,
            Err(ScheduleError::Stopped) => {
                self.cut = true;
                return;
            }
            Err(e) => {
                self.errors.insert(format!(
                    "Job {} of namespace {} was left as it is: {e}",
                    quoted(&key.1),
                    quoted(&key.0)
                ));
                return;
            }
        };
        let whole = self.settled.contains(&key) && self.replaces_all(before, &key, &answer);
        let later = answer.created.iter().any(|e| !e.wait_until.is_zero());
        let changes_nothing = !later && answer.plans.is_empty() && self.made.drawn() == drawn;
        self.note_futility(&key, &answer, changes_nothing, self.made.given() - given);
        let rejected = self.apply_plans(&key, &answer);
        if whole && rejected.is_empty() {
            self.whole.insert(key.clone());
        }
        if rejected.is_empty() && !later && self.settled.contains(&key) {
            self.finished.insert(key.clone());
        }
        self.note_rejections(&key, rejected);
        self.delayed.extend(answer.created.into_iter().filter(|e| !e.wait_until.is_zero()));
    }

    /// Notes whether another evaluation, which would take this many IDs, surely places nothing.
    fn note_futility(&mut self, key: &JobKey, answer: &Answer, changes_nothing: bool, ids: u64) {
        let Some(futile) = &mut self.futile else { return };
        let mut failed = answer.updates.iter().flat_map(|e| e.failed_tg_allocs.keys()).peekable();
        let complete = answer.updates.iter().all(|e| e.status == EvalStatus::Complete);
        if changes_nothing && complete && failed.peek().is_some() {
            futile.note(&self.state, key, (ids, self.now), failed);
        } else {
            futile.forget(key);
        }
    }

    /// Carries out what servers accept of the plans. Returns what they reject.
    fn apply_plans(&mut self, key: &JobKey, answer: &Answer) -> Vec<PlanRejection> {
        let mut rejected: Vec<PlanRejection> = Vec::new();
        for plan in &answer.plans {
            let checked = check(&self.state, plan);
            if checked.rejected.is_empty() {
                self.carry_out(key, plan);
                continue;
            }
            rejected.extend(rejections(&self.state, &plan.node_allocation, &checked.rejected));
            self.carry_out(key, &checked.accepted(plan));
        }
        for e in &answer.updates {
            if e.failed_tg_allocs.is_empty() {
                self.failed.remove(key);
            } else {
                self.failed.insert(key.clone(), e.failed_tg_allocs.clone());
            }
        }
        rejected
    }

    /// Whether an evaluation only places as many new allocations of each group as are stopped because their nodes are
    /// down, of the same version of the job.
    fn replaces_all(&self, before: &State, (namespace, id): &JobKey, answer: &Answer) -> bool {
        let [plan] = answer.plans.as_slice() else { return false };
        let done = |e: &Evaluation| e.failed_tg_allocs.is_empty() && e.status == EvalStatus::Complete;
        let deploys = plan.deployment.is_some() || !plan.deployment_updates.is_empty();
        if !answer.created.is_empty()
            || !answer.updates.iter().all(done)
            || deploys
            || !plan.node_preemptions.is_empty()
        {
            return false;
        }
        let mut missing: BTreeMap<&str, i64> = BTreeMap::new();
        let Some(job) = before.job(namespace, id) else { return false };
        for a in plan.node_update.values().flatten() {
            let ran = before.alloc(&a.id).is_some_and(|e| stable(before, job, &e.alloc));
            if a.client_status != ClientStatus::Lost || !self.down.contains(&*a.node_id) || !ran {
                return false;
            }
            *missing.entry(&a.task_group).or_default() += 1;
        }
        for a in plan.node_allocation.values().flatten() {
            if self.state.alloc(&a.id).is_some() {
                return false;
            }
            *missing.entry(&a.task_group).or_default() -= 1;
        }
        missing.values().all(|n| *n == 0)
    }

    /// From now on a job is evaluated. What was done for it until then left the state as evaluations would have, unless
    /// these write a deployment.
    fn stir(&mut self, key: &JobKey) {
        if let Some(quiet) = self.quiet.get(key) {
            self.misled |= quiet.writes && !self.stirred.contains(key);
            self.stirred.insert(key.clone());
        }
    }

    /// Does what an evaluation of a job would do that is known beforehand.
    fn process_quietly(&mut self, key: &JobKey, quiet: &Quiet) {
        self.made.skip(quiet.ids);
        if quiet.failed.is_empty() {
            self.failed.remove(key);
        } else {
            self.failed.insert(key.clone(), quiet.failed.clone());
        }
        let mut plan = Plan::default();
        for (node, ids) in self.lost.get(key).into_iter().flatten() {
            let allocs = ids.iter().filter_map(|id| self.state.alloc_at(id)).map(|e| &e.alloc);
            let lost: Vec<Arc<Allocation>> = allocs.filter(|a| !a.terminal()).map(|a| Arc::new(stopped(a))).collect();
            if !lost.is_empty() {
                plan.node_update.insert(node.clone(), lost);
            }
        }
        if !plan.node_update.is_empty() {
            self.carry_out(key, &plan);
        } else if quiet.writes {
            self.state.index += 1;
            self.to_repeat.insert(key.clone());
        }
    }

    /// Allocations that servers reject stay unplaced, for the reason that the node gives.
    fn note_rejections(&mut self, key: &JobKey, rejected: Vec<PlanRejection>) {
        for r in rejected {
            self.rejections.insert(format!("Servers would reject a plan of job {}: {}", quoted(&key.1), r));
            for (group, n) in &r.task_groups {
                let failed = self.failed.entry(key.clone()).or_default();
                let metric = failed
                    .entry(group.clone())
                    .or_insert_with(|| AllocMetric { coalesced_failures: -1, ..AllocMetric::default() });
                metric.coalesced_failures = metric.coalesced_failures.saturating_add_unsigned(*n);
                metric.nodes_evaluated += 1;
                metric.nodes_exhausted += 1;
                *metric.dimension_exhausted.entry(r.reason.clone()).or_default() += 1;
            }
        }
    }

    fn carry_out(&mut self, key: &JobKey, plan: &Plan) {
        let lists = [&plan.node_update, &plan.node_allocation, &plan.node_preemptions];
        let written = lists.into_iter().flat_map(|l| l.values().flatten());
        self.touched.extend(written.map(|a| Id::new(&a.id)));
        let leaving = plan.node_update.iter().chain(&plan.node_preemptions).filter(|(_, list)| !list.is_empty());
        let ready = |id: &&String| self.state.node(id).is_some_and(|n| n.node.ready());
        self.freed.extend(leaving.map(|(node, _)| node).filter(ready).cloned());
        self.gave_room = self.gave_room || gives_room(&self.state, plan);
        if let Some(futile) = &mut self.futile {
            futile.gain(&self.state, plan);
        }
        apply::write(&mut self.state, plan, self.now);
        if !plan.is_no_op() {
            self.to_repeat.insert(key.clone());
        }
        let victims: BTreeSet<JobKey> =
            plan.node_preemptions.values().flatten().map(|a| (a.namespace.to_string(), a.job_id.to_string())).collect();
        for victim in victims {
            self.stir(&victim);
            if let Some(futile) = &mut self.futile {
                futile.forget(&victim);
            }
            let Some(job) = self.state.job(&victim.0, &victim.1) else { continue };
            let trigger =
                Trigger { reason: EvalTrigger::Preemption, r#type: job.r#type.clone(), priority: job.priority };
            self.affected.insert(victim.clone());
            self.whole.remove(&victim);
            self.finished.remove(&victim);
            self.enqueue(&victim, &trigger);
        }
    }

    /// Lets jobs that wait for capacity try again if there is new capacity.
    fn try_waiting(&mut self, before: &State) -> bool {
        if !std::mem::take(&mut self.gained) && self.freed.is_empty() {
            return false;
        }
        let freed = std::mem::take(&mut self.freed);
        let waited = self.waited.get_or_insert_with(|| Arc::new(short_jobs(before)));
        let mut keys: BTreeSet<JobKey> = self.failed.keys().chain(waited.iter()).cloned().collect();
        keys.extend(absent_system_jobs(&self.state, &freed));
        for key in keys {
            let Some(job) = self.state.job(&key.0, &key.1).filter(|j| !j.stop) else { continue };
            let trigger =
                Trigger { reason: EvalTrigger::QueuedAllocs, r#type: job.r#type.clone(), priority: job.priority };
            self.enqueue(&key, &trigger);
        }
        !self.queue.is_empty()
    }

    /// Evaluates jobs again whose last plan changed something: some changes are put off to the next evaluation.
    fn repeat(&mut self) -> bool {
        for key in std::mem::take(&mut self.to_repeat) {
            let times = self.changed.entry(key.clone()).or_default();
            *times += 1;
            if *times > MOST_REPEATS {
                continue;
            }
            let Some(job) = self.state.job(&key.0, &key.1).filter(|j| !j.stop) else { continue };
            let trigger =
                Trigger { reason: EvalTrigger::DeploymentWatcher, r#type: job.r#type.clone(), priority: job.priority };
            self.enqueue(&key, &trigger);
        }
        !self.queue.is_empty()
    }

    fn drain(&mut self, draining: &BTreeSet<String>) -> bool {
        let (marked, triggers) = drain::next(&self.state, draining);
        if marked.is_empty() {
            return false;
        }
        self.touched.extend(marked.iter().map(|a| Id::new(&a.id)));
        self.state.upsert_allocs(marked);
        self.changed.clear();
        self.enqueue_all(&triggers);
        true
    }

    /// Lets time pass until the next delayed evaluation.
    fn wait(&mut self) -> bool {
        let due = |e: &Evaluation| e.wait_until.unix_nanos().unwrap_or(0);
        let Some(next) = self.delayed.iter().map(due).min() else { return false };
        // A moment later: waiting times that end exactly now are over.
        self.now = self.now.max(next.saturating_add(1));
        let (ready, later) = std::mem::take(&mut self.delayed).into_iter().partition(|e| due(e) < self.now);
        self.delayed = later;
        self.changed.clear();
        let ready: Vec<Evaluation> = ready;
        for eval in ready {
            self.push(Evaluation { status: EvalStatus::Pending, ..eval });
        }
        !self.queue.is_empty() || self.wait()
    }
}

/// The allocations on nodes that went down, by job and node.
fn lost(before: &State, down: &BTreeSet<String>) -> BTreeMap<JobKey, BTreeMap<String, Vec<Id>>> {
    let mut lost: BTreeMap<JobKey, BTreeMap<String, Vec<Id>>> = BTreeMap::new();
    for node in down.iter().filter_map(|id| before.node(id)) {
        for a in node.allocs.iter().map(|e| &e.alloc).filter(|a| !a.terminal()) {
            let of_job = lost.entry((a.namespace.to_string(), a.job_id.to_string())).or_default();
            of_job.entry(node.node.id.clone()).or_default().push(Id::new(&a.id));
        }
    }
    lost
}

/// An allocation as a plan stops it because its node is down.
fn stopped(a: &Allocation) -> Allocation {
    Allocation {
        client_status: ClientStatus::Lost,
        desired_status: DesiredStatus::Stop,
        desired_description: descriptions::LOST.into(),
        ..a.clone()
    }
}

/// Whether a ready node may have more room once a plan is applied.
fn gives_room(state: &State, plan: &Plan) -> bool {
    let ready = |id: &str| state.node(id).is_some_and(|n| n.node.ready());
    let leaving = plan.node_update.iter().chain(&plan.node_preemptions).filter(|(id, _)| ready(id));
    let mut held = leaving.flat_map(|(_, list)| list).filter_map(|a| state.alloc(&a.id)).map(|e| &e.alloc);
    let differs = |a: &Allocation, old: &Allocation| {
        a.client_terminal() || a.node_id != old.node_id || a.allocated_resources != old.allocated_resources
    };
    let written = plan.node_allocation.values().flatten();
    let mut updated = written.filter_map(|a| Some((a, &state.alloc(&a.id)?.alloc)));
    held.any(|a| !a.client_terminal())
        || updated.any(|(a, old)| !old.client_terminal() && ready(&old.node_id) && differs(a, old))
}

fn job_of(eval: &Evaluation) -> JobKey {
    (eval.namespace.to_string(), eval.job_id.to_string())
}
