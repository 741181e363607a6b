//! Servers and clients in one thread, with a clock that only moves to the next event.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Cause, End, Evicted, GroupStep, MOST_EVALUATIONS, Need, Rollout, RolloutError, Step};
use crate::evals::blocked::BlockedEvals;
use crate::evals::broker::{Broker, Delivery};
use crate::evals::{eval_lifecycle, reapers};
use crate::fsm::{self, Limits};
use crate::leadership::loops::deployments::Deployments;
use crate::leadership::loops::driver::Machine;
use crate::pipeline::applier;
use encamp_jobspec::admission::spec_changed;
use encamp_model::*;
use encamp_ops::{DeploymentPromotion, JobRegister, Operation, Reply};
use encamp_plan::evaluate::{Made, evaluate};
use encamp_state::{AllocEntry, State, StateStore};

/// Cancelable evaluations that are written at a time.
const MOST_CANCELLED: usize = 1_000;
const SCHEDULERS: [JobType; 4] = [JobType::Service, JobType::Batch, JobType::System, JobType::Sysbatch];

/// The state of a simulation.
pub(super) struct Simulation {
    store: StateStore,
    broker: Broker,
    blocked: BlockedEvals,
    watcher: Deployments,
    made: Made,
    job: Arc<Job>,
    key: JobKey,
    /// Jobs whose evaluations are processed: the job, and those that lose allocations to it.
    followed: BTreeSet<JobKey>,
    start: i64,
    now: i64,
    /// Allocations that plans wrote and clients have not acted upon yet.
    written: BTreeSet<String>,
    /// When allocations become healthy.
    health: BTreeMap<i64, BTreeSet<String>>,
    cause: Cause,
    steps: Vec<Step>,
    lowest: BTreeMap<String, usize>,
    before: Need,
    peak: Need,
    unplaced: bool,
    evaluations: usize,
    /// More evaluations than that are not made.
    most_evaluations: usize,
    manual_health: bool,
}

impl Simulation {
    /// A copy of a state in which the job is not registered yet. `made`: the IDs of new objects.
    pub(super) fn new(state: &State, job: &Arc<Job>, now: i64, made: Made) -> Simulation {
        let key = job.key();
        let mut state = state.clone();
        let others: Vec<String> = state
            .deployments()
            .filter(|d| d.active() && (&d.namespace, &d.job_id) != (&key.namespace, &key.id))
            .map(|d| d.id.clone())
            .collect();
        for id in others {
            state.remove_deployment(&id);
        }
        let (mut broker, mut blocked) = (Broker::new(), BlockedEvals::new());
        broker.set_enabled(true);
        blocked.set_enabled(true, now);
        let mut simulation = Simulation {
            store: StateStore::of_state(state),
            broker,
            blocked,
            watcher: Deployments::default(),
            made,
            job: job.clone(),
            followed: [key.clone()].into(),
            key,
            start: now,
            now,
            written: BTreeSet::new(),
            health: BTreeMap::new(),
            cause: Cause::Registration,
            steps: Vec::new(),
            lowest: BTreeMap::new(),
            before: Need::default(),
            peak: Need::default(),
            unplaced: false,
            evaluations: 0,
            most_evaluations: MOST_EVALUATIONS,
            manual_health: false,
        };
        simulation.before = simulation.need();
        simulation.peak = simulation.before;
        simulation.note_serving();
        simulation
    }

    /// The same, with at most so many evaluations.
    pub(super) fn within(self, most_evaluations: usize) -> Simulation {
        Simulation { most_evaluations, ..self }
    }

    /// Predicts the rollout.
    pub(super) fn run(mut self) -> Result<Rollout, RolloutError> {
        self.follow()?;
        Ok(self.finish())
    }

    /// Registers the job and follows what happens until nothing does any more.
    pub(super) fn follow(&mut self) -> Result<(), RolloutError> {
        self.store.add_built_ins(1);
        // Some snapshots hold no namespaces.
        if self.store.state().namespace(&self.key.namespace).is_none() {
            let namespaces = vec![Namespace { name: self.key.namespace.clone(), ..Namespace::default() }];
            self.apply(&Operation::NamespaceUpsert { namespaces })?;
        }
        if self.job.is_template() {
            // It is launched, not scheduled.
            return Ok(());
        }
        let id = self.made.id();
        let eval = Evaluation::pending(&self.job, EvalTrigger::JobRegister, self.now, id);
        let stored = self.store.state().job(&self.key.namespace, &self.key.id);
        if stored.is_some_and(|old| !spec_changed(old, &self.job)) {
            self.apply(&Operation::EvalUpdate { evals: vec![eval] })?;
        } else {
            let (job, now) = (self.job.clone(), self.now);
            let register = JobRegister { job, eval: Some(eval), submission: None, enforce_index: None, now };
            self.apply(&Operation::JobRegister(Box::new(register)))?;
        }
        loop {
            self.settle()?;
            if self.ended() {
                return Ok(());
            }
            if self.waits_for_promotion() && self.promote()? {
                continue;
            }
            let Some(next) = self.next_event() else { return Ok(()) };
            self.now = self.now.max(next);
            self.cause = Cause::Capacity;
            self.become_healthy()?;
        }
    }

    /// The state that the rollout leaves.
    #[cfg(test)]
    pub(super) fn state(&self) -> State {
        State::clone(self.store.state())
    }

    fn apply(&mut self, op: &Operation) -> Result<(), RolloutError> {
        let index = self.store.latest_index().max(self.store.state().index) + 1;
        let applied = fsm::apply(&mut self.store, index, op, Limits::default());
        if let Reply::Refused(refusal) = applied.reply {
            return Err(RolloutError::Refused(refusal));
        }
        let mut released = eval_lifecycle::entail(op, &applied, index, self.now, &mut self.blocked);
        released.retain(|(e, _)| self.followed.contains(&e.job_key()));
        eval_lifecycle::take_over(&applied, released, self.now, &mut self.broker);
        Ok(())
    }

    /// Lets servers and clients work until all of them wait.
    fn settle(&mut self) -> Result<(), RolloutError> {
        loop {
            self.broker.tick(self.now);
            let token = || "simulation".to_string();
            if let Ok(Some(delivery)) = self.broker.dequeue(&SCHEDULERS, self.now, 0, token) {
                self.process(&delivery)?;
                continue;
            }
            if self.clients_act()? {
                continue;
            }
            let made = &mut self.made;
            let work = self.watcher.look(&self.store, self.now, &mut || made.id());
            if work.is_empty() {
                return Ok(());
            }
            for op in &work {
                self.cause = match op {
                    Operation::DeploymentPromotion(_) => Cause::Promotion,
                    Operation::DeploymentStatus(change) if change.job.is_some() => Cause::Rollback,
                    _ => Cause::Health,
                };
                self.apply(op)?;
            }
        }
    }

    /// Processes an evaluation as a worker, the plan applier and the reapers do.
    fn process(&mut self, delivery: &Delivery) -> Result<(), RolloutError> {
        self.evaluations += 1;
        if self.evaluations > self.most_evaluations {
            return Err(RolloutError::Endless(self.most_evaluations));
        }
        let seen = self.store.latest_index().max(self.store.state().index);
        let eval = self.store.eval(&delivery.eval.id).unwrap_or(&delivery.eval).clone();
        let answer = evaluate(&self.store.state().snapshot(), &eval, self.now, &mut self.made)?;
        let own = eval.job_key() == self.key;
        let unplaced: BTreeMap<String, i64> = answer
            .updates
            .iter()
            .flat_map(|e| e.failed_tg_allocs.iter().map(|(group, metric)| (group.clone(), metric.failures())))
            .collect();
        for plan in &answer.plans {
            self.carry_out(plan, own, &unplaced)?;
        }
        if own {
            self.unplaced = !unplaced.is_empty();
        }
        let mut evals = answer.updates;
        evals.extend(answer.created);
        evals.iter_mut().for_each(|e| e.snapshot_index = seen);
        if !evals.is_empty() {
            self.apply(&Operation::EvalUpdate { evals })?;
        }
        // The token is the one of this delivery, which has no deadline before the clock moves.
        let _ = self.broker.ack(&eval.id, &delivery.token, self.now);
        let redundant = self.broker.take_cancelable(MOST_CANCELLED);
        if !redundant.is_empty() {
            self.apply(&reapers::cancelled(&redundant, self.now))?;
        }
        let evals = reapers::duplicates(&self.blocked.take_duplicates(), self.now);
        if !evals.is_empty() {
            self.apply(&Operation::EvalUpdate { evals })?;
        }
        Ok(())
    }

    fn carry_out(&mut self, plan: &Plan, own: bool, unplaced: &BTreeMap<String, i64>) -> Result<(), RolloutError> {
        let (checked, _) = applier::judge(&self.store, plan);
        let made = &mut self.made;
        let results = applier::entry(&self.store, plan, &checked, Vec::new(), self.now, &mut || made.id());
        let mut step =
            Step { at: self.now - self.start, cause: self.cause, groups: BTreeMap::new(), evicted: Vec::new() };
        let known = |id: &str| self.store.state().alloc(id).is_some();
        for a in &results.placements {
            let group = step.groups.entry(a.task_group.to_string()).or_default();
            match known(&a.id) {
                true => group.updated += 1,
                false => {
                    group.placed += 1;
                    group.canaries += usize::from(a.is_canary());
                }
            }
        }
        for stop in &results.stops {
            if let Some(entry) = self.store.state().alloc(&stop.id) {
                step.groups.entry(entry.alloc.task_group.to_string()).or_default().stopped += 1;
            }
        }
        for (group, count) in unplaced {
            step.groups.entry(group.clone()).or_default().unplaced = *count;
        }
        let mut evicted: BTreeMap<JobKey, usize> = BTreeMap::new();
        for (id, _) in &results.victims {
            if let Some(entry) = self.store.state().alloc(id) {
                *evicted.entry(entry.alloc.job_key()).or_default() += 1;
            }
        }
        self.followed.extend(evicted.keys().cloned());
        let evicted = evicted.into_iter();
        step.evicted = evicted
            .map(|(job, allocations)| Evicted { namespace: job.namespace, job_id: job.id, allocations })
            .collect();
        self.written.extend(results.placements.iter().map(|a| a.id.to_string()));
        self.written.extend(results.stops.iter().map(|s| s.id.clone()));
        self.written.extend(results.victims.iter().map(|(id, _)| id.clone()));
        self.apply(&Operation::PlanResults(Box::new(results)))?;
        if !own {
            return Ok(());
        }
        self.peak = larger(self.peak, self.need());
        self.note_serving();
        for (name, counts) in self.running() {
            if let Some(group) = step.groups.get_mut(&name) {
                (group.old, group.healthy, group.starting) = (counts.old, counts.healthy, counts.starting);
            }
        }
        step.groups.retain(|_, group| group.changes());
        if !step.groups.is_empty() || !step.evicted.is_empty() {
            self.steps.push(step);
        }
        Ok(())
    }

    /// Clients start and stop allocations, and begin to watch the health of new ones. Returns whether they had to.
    fn clients_act(&mut self) -> Result<bool, RolloutError> {
        let mut allocs = Vec::new();
        for id in std::mem::take(&mut self.written) {
            let Some(a) = self.store.state().alloc(&id).map(|e| e.alloc.clone()) else { continue };
            let watched = !a.deployment_id.is_empty() && a.health().is_none();
            if a.desired_status != DesiredStatus::Run {
                if !a.client_terminal() {
                    allocs.push(reported(&a, ClientStatus::Complete, None));
                }
                continue;
            }
            if a.client_status == ClientStatus::Pending {
                allocs.push(reported(&a, ClientStatus::Running, None));
            }
            let update = a.job.as_ref().and_then(|j| j.lookup_group(&a.task_group)).and_then(|g| g.update.as_ref());
            if let Some(update) = update.filter(|_| watched) {
                self.manual_health |= update.health_check == "manual";
                let at = self.now.saturating_add(update.min_healthy_time.max(0));
                self.health.entry(at).or_default().insert(id);
            }
        }
        if allocs.is_empty() {
            return Ok(false);
        }
        let now = self.now;
        self.apply(&Operation::AllocClientUpdate { allocs, evals: Vec::new(), now })?;
        Ok(true)
    }

    /// Clients report the allocations that are healthy by now.
    fn become_healthy(&mut self) -> Result<(), RolloutError> {
        let later = self.health.split_off(&self.now.saturating_add(1));
        let due = std::mem::replace(&mut self.health, later);
        let state = self.store.state();
        let running = |id: &String| {
            let a = &state.alloc(id)?.alloc;
            (a.desired_status == DesiredStatus::Run && !a.terminal())
                .then(|| reported(a, ClientStatus::Running, Some(true)))
        };
        let mut allocs: Vec<Arc<Allocation>> = due.values().flatten().filter_map(running).collect();
        if allocs.is_empty() {
            return Ok(());
        }
        for a in &mut allocs {
            if let Some(status) = &mut Arc::make_mut(a).deployment_status {
                status.timestamp = Time::from_unix_nanos(self.now);
            }
        }
        self.cause = Cause::Health;
        let now = self.now;
        self.apply(&Operation::AllocClientUpdate { allocs, evals: Vec::new(), now })
    }

    fn deployment(&self) -> Option<Arc<Deployment>> {
        let d = self.store.state().latest_deployment(&self.key.namespace, &self.key.id)?;
        let version = self.store.state().job(&self.key.namespace, &self.key.id)?.version;
        (d.job_version == version || !d.active()).then_some(d).filter(|d| d.create_time >= self.start)
    }

    /// Whether the deployment has ended, and everything that follows from it.
    fn ended(&self) -> bool {
        self.deployment().is_some_and(|d| !d.active()) && !self.broker.has_ready()
    }

    /// Whether nothing but an operator can make progress.
    fn waits_for_promotion(&self) -> bool {
        self.health.is_empty() && self.deployment().is_some_and(|d| d.active() && d.requires_promotion())
    }

    /// Promotes the canaries as an operator would. Returns whether they could be.
    fn promote(&mut self) -> Result<bool, RolloutError> {
        let Some(d) = self.deployment() else { return Ok(false) };
        let job = self.store.state().job(&self.key.namespace, &self.key.id).cloned();
        let Some(job) = job else { return Ok(false) };
        let id = self.made.id();
        let eval = crate::jobs::rollout::evaluation(&d, &job, self.now, id);
        let promotion = DeploymentPromotion { id: d.id.clone(), groups: None, eval: Some(eval), now: self.now };
        let before = std::mem::replace(&mut self.cause, Cause::ManualPromotion);
        match self.apply(&Operation::DeploymentPromotion(Box::new(promotion))) {
            Ok(()) => Ok(true),
            Err(RolloutError::Refused(_)) => {
                self.cause = before;
                Ok(false)
            }
            Err(e) => Err(e),
        }
    }

    fn next_event(&self) -> Option<i64> {
        let healthy = self.health.keys().next().copied();
        let delayed = self.broker.delayed().map(|(_, at)| at).min();
        [healthy, self.watcher.next(), delayed].into_iter().flatten().min()
    }

    /// The allocations of the job that hold resources.
    fn live(&self) -> impl Iterator<Item = Arc<AllocEntry>> {
        let allocs = self.store.state().allocs_of_job(&self.key.namespace, &self.key.id);
        allocs.into_iter().filter(|a| !a.alloc.client_terminal())
    }

    fn need(&self) -> Need {
        self.live().fold(Need::default(), |sum, a| Need {
            allocations: sum.allocations + 1,
            cpu: sum.cpu.saturating_add(a.usage.cpu),
            memory: sum.memory.saturating_add(a.usage.memory),
        })
    }

    /// What runs of each group.
    fn running(&self) -> BTreeMap<String, GroupStep> {
        let version = self.store.state().job(&self.key.namespace, &self.key.id).map(|j| (j.create_index, j.version));
        let mut groups: BTreeMap<String, GroupStep> = BTreeMap::new();
        for entry in self.live().filter(|a| a.alloc.desired_status == DesiredStatus::Run) {
            let a = &entry.alloc;
            let group = groups.entry(a.task_group.to_string()).or_default();
            let new = a.job.as_ref().map(|j| (j.create_index, j.version)) == version;
            let ran = a.create_time < self.start;
            match (new, a.deployment_id.is_empty() || a.health() == Some(true)) {
                (false, _) => group.old += 1,
                (true, true) => group.healthy += 1,
                // It was updated in place, and serves all the time.
                (true, false) if ran => group.healthy += 1,
                (true, false) => group.starting += 1,
            }
        }
        groups
    }

    fn note_serving(&mut self) {
        let running = self.running();
        let known = self.store.state().job(&self.key.namespace, &self.key.id).is_some();
        for group in self.job.task_groups.iter().filter(|_| known) {
            let serving = running.get(&group.name).map_or(0, GroupStep::serving);
            let lowest = self.lowest.entry(group.name.clone()).or_insert(serving);
            *lowest = (*lowest).min(serving);
        }
    }

    /// How many allocations a group is to have: that of a system job has one on each node that takes it.
    fn count(&self, group: &TaskGroup) -> i64 {
        if !matches!(self.job.r#type, JobType::System | JobType::Sysbatch) {
            return group.count;
        }
        let steps = self.steps.iter().filter_map(|s| s.groups.get(&group.name));
        steps.map(GroupStep::running).max().and_then(|n| i64::try_from(n).ok()).unwrap_or(0)
    }

    pub(super) fn finish(self) -> Rollout {
        let deployment = self.deployment();
        let end = match &deployment {
            Some(d) => match d.status {
                DeploymentStatus::Successful => End::Complete,
                DeploymentStatus::Failed | DeploymentStatus::Cancelled => End::Failed(d.status_description.clone()),
                _ if self.unplaced => End::Unplaced,
                _ => End::Waiting(d.status_description.clone()),
            },
            None if self.unplaced => End::Unplaced,
            None => End::Complete,
        };
        Rollout {
            end,
            duration: self.now - self.start,
            deployment: deployment.is_some(),
            counts: self.job.task_groups.iter().map(|g| (g.name.clone(), self.count(g))).collect(),
            steps: self.steps,
            lowest: self.lowest,
            before: self.before,
            peak: self.peak,
            manual_health: self.manual_health,
        }
    }
}

/// What a client reports about an allocation.
fn reported(a: &Allocation, client_status: ClientStatus, healthy: Option<bool>) -> Arc<Allocation> {
    let mut reported = a.clone();
    reported.client_status = client_status;
    if healthy.is_some() {
        reported.deployment_status.get_or_insert_default().healthy = healthy;
    }
    Arc::new(reported)
}

fn larger(a: Need, b: Need) -> Need {
    Need { allocations: a.allocations.max(b.allocations), cpu: a.cpu.max(b.cpu), memory: a.memory.max(b.memory) }
}
