//! The plan applier (`docs/spec/server.md §7.3-7.6`): one thread on the leader. While one plan is being committed, the
//! next one is checked against the optimistic state, which contains the in-flight plans. They are added to it when there
//! is a next one: a single worker waits for its plan, and the state then has it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::fsm;
use crate::keyring::KEY_WAIT;
use crate::leading::Leading;
use crate::other_agents::plan_codec;
use crate::pipeline::rejection::{self, RejectionTracker};
use crate::queues::pipeline_error::PipelineError;
use crate::queues::{PendingPlan, PlanAnswer};
use encamp_host::ids;
use encamp_host::threads::{self, Instant};
use encamp_model::*;
use encamp_ops::{Operation, PlanResults, PlannedStop, Reply};
use encamp_scheduler::plan_check::{self, Checked};
use encamp_state::{StateStore, Table};

/// Maximum time to wait for the state that a plan was made on.
const STATE_WAIT: Duration = Duration::from_secs(10);
/// How long the applier waits for a plan before it checks whether it has to stop.
const IDLE: Duration = Duration::from_millis(500);

/// How often the metrics about nodes that reject plans are updated.
const SCORES: Duration = Duration::from_secs(1);

/// Maximum age of the optimistic state: it contains plans only, not the other writes since it was taken.
const AHEAD_AT_MOST: Duration = Duration::from_millis(100);

/// The index of a finished commit; `None` if the commit failed.
type Ended = Option<u64>;

/// The applier's state.
pub(crate) struct Applier {
    server: Leading,
    /// The optimistic state: the store with the in-flight plans applied, apart from those in `to_add`.
    ahead: Option<StateStore>,
    /// In-flight plans that are not in the optimistic state yet, in their order.
    to_add: Vec<Arc<Operation>>,
    /// When the optimistic state was taken from the store.
    taken: Instant,
    restored: u64,
    in_flight: usize,
    /// The highest index of a committed plan.
    previous: u64,
    tracker: RejectionTracker,
    /// When the metrics about nodes that reject plans were last updated.
    scored: Instant,
    /// Whether the applier has waited for the first root key.
    waited: bool,
    ended: (UnboundedSender<Ended>, UnboundedReceiver<Ended>),
}

impl Applier {
    fn new(server: Leading) -> Applier {
        let tracker = RejectionTracker::new(server.settings().rejection);
        Applier {
            server,
            ahead: None,
            to_add: Vec::new(),
            taken: Instant::now(),
            restored: 0,
            in_flight: 0,
            previous: 0,
            tracker,
            scored: Instant::now(),
            waited: false,
            ended: unbounded_channel(),
        }
    }

    /// Runs the applier until the server stops.
    pub(crate) fn run(server: Leading) {
        let mut applier = Applier::new(server);
        while !applier.server.queues().stopping() {
            if let Some(pending) = applier.server.queues().next_plan(IDLE) {
                applier.handle(pending);
            }
            applier.report_scores();
        }
    }

    /// Updates the metrics that count recent plan rejections by node.
    fn report_scores(&mut self) {
        if self.scored.elapsed() < SCORES {
            return;
        }
        self.scored = Instant::now();
        for (node, score) in self.tracker.scores(ids::now()) {
            let labels = [("node_id", node)];
            self.server.metrics().gauge("nomad.plan.rejection_tracker.node_score", score as f64, &labels);
        }
    }

    fn handle(&mut self, pending: PendingPlan) {
        while let Ok(ended) = self.ended.1.try_recv() {
            self.note(ended);
        }
        let metrics = self.server.metrics().clone();
        let signing = metrics.timer("nomad.plan.sign_identities");
        let signing_key = self.signing_key(&pending);
        drop(signing);
        metrics.sample("nomad.plan.outstanding_apply", self.in_flight as f64, &[]);
        let mut up_to_date = false;
        loop {
            if let Err(error) = self.catch_up(pending.snapshot_index) {
                answer(&pending, Err(error));
                return;
            }
            let Some(ahead) = &self.ahead else { return };
            let timer = metrics.timer("nomad.plan.evaluate");
            let (checked, mut refresh) = judge(ahead, &pending.plan);
            drop(timer);
            if refresh != 0 {
                // The conflict may come from an in-flight plan, whose index is not known until it is committed, or it
                // may be gone without the optimistic state knowing. A rejection would then only make the scheduler
                // submit the same plan until its attempts are used up.
                if !up_to_date {
                    up_to_date = self.wait_for_fewer(1);
                    self.forget_ahead();
                    continue;
                }
                refresh = refresh.max(self.previous);
            }
            let ineligible = self.track(&pending, &checked);
            if checked.is_no_op() && ineligible.is_empty() {
                answer(&pending, Ok(PlanAnswer::new(checked, refresh, 0)));
                return;
            }
            if self.wait_for_fewer(self.server.settings().plan_pipeline.max(1)) {
                self.commit(pending, checked, refresh, ineligible, signing_key);
                return;
            }
            // The previous plan was not committed, so the state this plan was checked against never existed.
        }
    }

    /// The ID of the key that signs the identities of the placed allocations; empty if there is no key. Nothing is
    /// signed here.
    fn signing_key(&mut self, pending: &PendingPlan) -> String {
        let keyring = self.server.keyring();
        if keyring.active_id().is_none() && !self.waited && !pending.plan.node_allocation.is_empty() {
            self.waited = true;
            threads::block_on(self.server.runtime(), keyring.wait_active(KEY_WAIT));
        }
        keyring.active_id().map_or_else(String::new, |id| id.to_string())
    }

    /// Forgets the optimistic state: the next plan is checked against the store, once no plan is in flight.
    fn forget_ahead(&mut self) {
        self.ahead = None;
        // There is a value per plan: that of a plan which was not added is zero.
        for _ in self.to_add.drain(..) {
            self.server.metrics().time("nomad.plan.optimistic_apply", Duration::ZERO, &[]);
        }
    }

    fn note(&mut self, ended: Ended) {
        self.in_flight = self.in_flight.saturating_sub(1);
        match ended {
            Some(index) if index > self.previous => {
                self.previous = index;
                if self.in_flight == 0 {
                    self.forget_ahead();
                }
            }
            Some(_) => {}
            None => self.forget_ahead(),
        }
    }

    /// Waits until fewer than `than` plans are in flight. Returns false if one of them failed.
    fn wait_for_fewer(&mut self, than: usize) -> bool {
        while self.in_flight >= than {
            match threads::receive(&mut self.ended.1) {
                Some(ended) => {
                    let failed = ended.is_none();
                    let kept = self.ahead.take();
                    self.note(ended);
                    if failed {
                        return false;
                    }
                    // The result of the check stays valid: the optimistic state contained the finished plan.
                    self.ahead = kept;
                }
                None => return false,
            }
        }
        true
    }

    /// Prepares a state to check against that is not older than the plan's snapshot.
    fn catch_up(&mut self, snapshot_index: u64) -> Result<(), PipelineError> {
        // The store was restored since, or the optimistic state is too old.
        if self.restored != self.server.store().restored() || self.taken.elapsed() > AHEAD_AT_MOST {
            self.forget_ahead();
        }
        if self.ahead.is_some() && !self.add_in_flight() {
            self.forget_ahead();
        }
        // A new state would not contain the in-flight plans.
        while self.ahead.is_none() && self.in_flight > 0 {
            let Some(ended) = threads::receive(&mut self.ended.1) else { break };
            self.note(ended);
        }
        let least = self.previous.max(snapshot_index);
        if self.in_flight == 0 && self.ahead.as_ref().is_some_and(|s| s.latest_index() < least) {
            self.forget_ahead();
        }
        if self.ahead.is_some() {
            return Ok(());
        }
        let started = Instant::now();
        let there = self.server.wait_for_index(least, STATE_WAIT);
        self.server.metrics().time("nomad.plan.wait_for_index", started.elapsed(), &[]);
        if !there {
            return Err(PipelineError::Late { seconds: STATE_WAIT.as_secs(), index: least });
        }
        self.restored = self.server.store().restored();
        self.ahead = Some(StateStore::clone(&self.server.snapshot()));
        self.taken = Instant::now();
        Ok(())
    }

    /// Adds the in-flight plans to the optimistic state that it lacks. Returns false if the state machine refuses one there:
    /// it may rest on a write after that state, such as the one of its evaluation, and be accepted when it is committed.
    fn add_in_flight(&mut self) -> bool {
        let Some(ahead) = &mut self.ahead else { return false };
        let limits = self.server.limits();
        let mut added = true;
        for op in self.to_add.drain(..) {
            let _timer = self.server.metrics().timer("nomad.plan.optimistic_apply");
            let next = ahead.latest_index().max(self.server.store().applied_index()) + 1;
            added &= !matches!(fsm::apply(ahead, next, &op, limits).reply, Reply::Refused(_));
        }
        added
    }

    /// The nodes that have now rejected too many plans, with the events to add to them.
    fn track(&mut self, pending: &PendingPlan, checked: &Checked) -> Vec<(String, NodeEvent)> {
        let now = ids::now();
        let mut out = Vec::new();
        for (node, reason) in &checked.rejected {
            let job = pending.plan.job.as_ref();
            let namespace = job.map_or("", |j| j.namespace.as_str());
            tracing::info!(
                target: "nomad.planner",
                node_id = node.as_str(), reason = reason.as_str(), eval_id = pending.plan.eval_id.as_str(), namespace,
                "plan for node rejected, refer to https://developer.hashicorp.com/nomad/s/port-plan-failure for more information"
            );
            self.server.metrics().count("nomad.plan.node_rejected", 1, &[("node_id", node)]);
            if self.tracker.add(node, now) {
                out.push((node.clone(), NodeEvent::new(rejection::EVENT_SUBSYSTEM, rejection::EVENT_MESSAGE, now)));
            }
        }
        out
    }

    fn commit(
        &mut self,
        pending: PendingPlan,
        checked: Checked,
        refresh: u64,
        ineligible: Vec<(String, NodeEvent)>,
        signing_key_id: String,
    ) {
        let Some(ahead) = &self.ahead else { return };
        let metrics = self.server.metrics().clone();
        let dispatch = metrics.timer("nomad.plan.raft_dispatch");
        let mut results = entry(ahead, &pending.plan, &checked, ineligible, ids::now(), &mut ids::uuid);
        results.signing_key_id = signing_key_id;
        let op = Arc::new(Operation::PlanResults(Box::new(results)));
        drop(dispatch);
        self.to_add.push(op.clone());
        self.in_flight += 1;
        let (server, ended) = (self.server.clone(), self.ended.0.clone());
        let handle = self.server.runtime().clone();
        handle.spawn(async move {
            let started = Instant::now();
            let result = server.commit_shared(op).await;
            server.metrics().time("nomad.plan.apply", started.elapsed(), &[]);
            let index = result.as_ref().ok().map(|(index, _)| *index);
            let _ = ended.send(index);
            let outcome = result.map(|(index, _)| PlanAnswer::new(checked, refresh, index));
            answer(&pending, outcome.map_err(PipelineError::Call));
        });
    }
}

fn answer(pending: &PendingPlan, result: Result<PlanAnswer, PipelineError>) {
    let _ = pending.answer.try_send(result);
}

/// Checks a plan against a state. Returns the accepted parts and, if some were rejected, the index of the state to
/// schedule on again, else 0.
pub fn judge(store: &StateStore, plan: &Plan) -> (Checked, u64) {
    #[cfg(not(test))]
    let checked = plan_check::check(store.state(), plan);
    #[cfg(test)]
    let checked = if crate::deterministic::sim::has(crate::deterministic::sim::Bug::UncheckedPlan) {
        crate::deterministic::bugs::unchecked(plan)
    } else {
        plan_check::check(store.state(), plan)
    };
    let newest = store.index_of(Table::Nodes).max(store.index_of(Table::Allocs));
    let refresh = if checked.rejected.is_empty() { 0 } else { newest };
    (checked, refresh)
}

/// Builds the log entry for the accepted parts of a plan (`docs/spec/server.md §7.5`).
pub fn entry(
    store: &StateStore,
    plan: &Plan,
    checked: &Checked,
    ineligible_nodes: Vec<(String, NodeEvent)>,
    now: i64,
    new_id: &mut dyn FnMut() -> String,
) -> PlanResults {
    let stop = |a: &Arc<Allocation>| PlannedStop {
        id: a.id.to_string(),
        desired_description: a.desired_description.to_string(),
        client_status: a.client_status.clone(),
        followup_eval_id: a.followup_eval_id.to_string(),
    };
    let same_job = |a: &Allocation| match (&a.job, &plan.job) {
        (Some(a), Some(b)) => plan_codec::same_version(a, b),
        _ => false,
    };
    let placement = |a: &Arc<Allocation>| {
        if same_job(a) { Arc::new(Allocation { job: None, ..Allocation::clone(a) }) } else { a.clone() }
    };
    let victims: Vec<&Arc<Allocation>> = checked.node_preemptions.values().flatten().collect();
    PlanResults {
        eval_id: plan.eval_id.clone(),
        job: plan.job.as_ref().map(|j| plan_codec::planned_for(store.state(), j).unwrap_or(j).clone()),
        stops: checked.node_update.values().flatten().map(stop).collect(),
        victims: victims.iter().map(|a| (a.id.to_string(), a.preempted_by_allocation.to_string())).collect(),
        placements: checked.node_allocation.values().flatten().map(placement).collect(),
        deployment: checked.deployment.clone(),
        deployment_updates: checked.deployment_updates.clone(),
        ineligible_nodes,
        preemption_evals: preemption_evals(store, &victims, now, new_id),
        // Set by the applier.
        signing_key_id: String::new(),
        now,
    }
}

/// Builds one evaluation for each job that loses allocations and still exists.
fn preemption_evals(
    store: &StateStore,
    victims: &[&Arc<Allocation>],
    now: i64,
    new_id: &mut dyn FnMut() -> String,
) -> Vec<Evaluation> {
    let stored = victims.iter().filter_map(|a| store.state().alloc(&a.id));
    let jobs: BTreeSet<(&str, &str)> = stored.map(|e| (e.alloc.namespace.as_str(), e.alloc.job_id.as_str())).collect();
    let jobs = jobs.into_iter().filter_map(|(namespace, id)| store.state().job(namespace, id));
    jobs.map(|job| Evaluation::pending(job, EvalTrigger::Preemption, now, new_id())).collect()
}

#[cfg(test)]
mod tests {
    use futures_util::future::{join_all, maybe_done};
    use tokio::sync::mpsc;

    use super::*;
    use crate::Server;
    use crate::nodes::node_rpc;
    use crate::tests::{Dir, job, node, put_job, start};

    const NODE: &str = "11111111-0000-4000-8000-000000000001";

    /// A plan that needs a part of the node's 1,000 MHz.
    fn plan(job: &Arc<Job>, eval_id: &str, cpu_shares: i64) -> Plan {
        let cpu = AllocatedCpuResources { cpu_shares, ..Default::default() };
        let task = AllocatedTaskResources { cpu, ..Default::default() };
        let resources =
            AllocatedResources { tasks: [("t".to_string(), task)].into_iter().collect(), ..Default::default() };
        let alloc = Allocation {
            id: ids::uuid().into(),
            namespace: "default".into(),
            job_id: Text::from(&job.id),
            job: Some(job.clone()),
            task_group: "g".into(),
            node_id: NODE.into(),
            desired_status: DesiredStatus::Run,
            client_status: ClientStatus::Pending,
            allocated_resources: Some(Arc::new(resources)),
            ..Default::default()
        };
        let node_allocation = [(NODE.to_string(), vec![Arc::new(alloc)])].into_iter().collect();
        Plan { eval_id: eval_id.into(), job: Some(job.clone()), node_allocation, ..Default::default() }
    }

    /// A server with one node and one job; returns the job and an evaluation as well.
    async fn begun(dir: &Dir) -> (Server, Arc<Job>, String) {
        let server = start(dir, &ids::uuid()).await;
        node_rpc::register(&server, node(NODE), "").await.unwrap();
        node_rpc::update_status(&server, NODE, &"secret".into(), "", NodeStatus::Ready).await.unwrap();
        put_job(&server, job("web", 1)).await;
        let job = server.snapshot().state().job("default", "web").cloned().unwrap();
        let eval = Evaluation { id: ids::uuid().into(), status: EvalStatus::Complete, ..Default::default() };
        let eval_id = eval.id.to_string();
        server.commit(Operation::EvalUpdate { evals: vec![eval] }).await.unwrap();
        (server, job, eval_id)
    }

    /// Submits plans behind other writes, so that they are in flight together and get higher indexes than the applier
    /// can predict.
    async fn submitted(server: &Server, plans: Vec<Plan>) -> Vec<Result<PlanAnswer, PipelineError>> {
        let mut applier = Applier::new(Leading::clone(server));
        applier.catch_up(0).unwrap();
        submitted_to(server, applier, plans).await
    }

    async fn submitted_to(
        server: &Server,
        mut applier: Applier,
        plans: Vec<Plan>,
    ) -> Vec<Result<PlanAnswer, PipelineError>> {
        let write = |n| Box::pin(maybe_done(put_job(server, job(&format!("other-{n}"), 1))));
        let mut writes: Vec<_> = (0..50).map(write).collect();
        let mut in_flight = 0;
        for write in &mut writes {
            // One poll of each: a poll of them together would poll again what is woken, and could see all of them end.
            in_flight += usize::from(futures_util::poll!(write).is_pending());
        }
        assert!(in_flight > 0);
        let handle = move |plan| {
            let (answer, receiver) = mpsc::channel(1);
            applier.handle(PendingPlan { plan, snapshot_index: 0, answer, in_flight: Arc::default() });
            receiver
        };
        let applied = std::thread::spawn(move || plans.into_iter().map(handle).collect::<Vec<_>>());
        let received = tokio::task::spawn_blocking(|| {
            applied.join().unwrap().into_iter().map(|mut receiver| receiver.blocking_recv().unwrap()).collect()
        });
        tokio::join!(async { received.await.unwrap() }, join_all(writes)).0
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_rejected_plan_gets_a_refresh_index_that_includes_the_conflict() {
        let dir = Dir::new();
        let (server, job, eval) = begun(&dir).await;
        let outcomes = submitted(&server, vec![plan(&job, &eval, 600), plan(&job, &eval, 600)]).await;
        let [Ok(first), Ok(second)] = &outcomes[..] else { panic!("{outcomes:?}") };
        assert!(first.index != 0 && first.refresh_index == 0);
        assert!(second.index == 0 && second.refresh_index >= first.index, "{second:?}, {}", first.index);
        server.shutdown().await;
    }

    /// The optimistic state does not know the evaluation of the first plan.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_plan_of_a_newer_evaluation_is_not_forgotten_while_it_is_in_flight() {
        let dir = Dir::new();
        let (server, job, eval) = begun(&dir).await;
        let mut applier = Applier::new(Leading::clone(&server));
        applier.catch_up(0).unwrap();
        let newer = Evaluation { id: ids::uuid().into(), status: EvalStatus::Complete, ..Default::default() };
        let first = plan(&job, newer.id.as_str(), 600);
        server.commit(Operation::EvalUpdate { evals: vec![newer] }).await.unwrap();
        let outcomes = submitted_to(&server, applier, vec![first, plan(&job, &eval, 600)]).await;
        let [Ok(first), Ok(second)] = &outcomes[..] else { panic!("{outcomes:?}") };
        assert!(first.index != 0 && second.index == 0 && second.refresh_index >= first.index, "{first:?} {second:?}");
        server.shutdown().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_failed_plan_does_not_hide_an_in_flight_plan() {
        let dir = Dir::new();
        let (server, job, eval) = begun(&dir).await;
        let unknown = plan(&job, &ids::uuid(), 100);
        let outcomes = submitted(&server, vec![plan(&job, &eval, 600), unknown, plan(&job, &eval, 600)]).await;
        let [Ok(first), Err(why), Ok(last)] = &outcomes[..] else { panic!("{outcomes:?}") };
        assert!(first.index != 0 && why.to_string().contains("does not exist"), "{first:?} {why}");
        assert!(last.index == 0 && last.refresh_index >= first.index, "{last:?}, {}", first.index);
        server.shutdown().await;
    }
}
