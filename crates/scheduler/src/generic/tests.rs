//! The loop around plans: rejections, progress, no-ops and delayed evaluations (`docs/spec/reconciliation.md §3`).

use super::*;
use crate::{PlanResult, ScheduleError, SubmitError};
use encamp_state::State;

const NOW: i64 = 1_000_000 * SECOND;

fn job() -> Job {
    let policy = ReschedulePolicy { delay: 30 * SECOND, unlimited: true, ..Default::default() };
    let task = Task {
        name: "t".into(),
        driver: "exec".into(),
        resources: Some(Resources { cpu: 100, memory_mb: 100, ..Default::default() }),
        ..Default::default()
    };
    let group = TaskGroup {
        name: "g".into(),
        count: 2,
        tasks: vec![task],
        reschedule_policy: Some(policy),
        ephemeral_disk: Some(EphemeralDisk::default()),
        ..Default::default()
    };
    Job {
        id: "web".into(),
        namespace: "default".into(),
        r#type: JobType::Service,
        priority: 50,
        datacenters: vec!["*".into()],
        node_pool: "default".into(),
        task_groups: vec![group],
        ..Default::default()
    }
}

fn node(id: &str) -> Node {
    let topology = Topology { cores: vec![Core { base_speed: 1000, ..Default::default() }], ..Default::default() };
    let resources = NodeResources {
        processors: NodeProcessorResources { topology: Some(topology) },
        memory: NodeMemoryResources { memory_mb: 1000 },
        disk: NodeDiskResources { disk_mb: 1000 },
        networks: vec![NetworkResource { mode: "host".into(), ..Default::default() }],
        ..Default::default()
    };
    let driver = DriverInfo { detected: true, healthy: true, ..Default::default() };
    Node {
        id: id.into(),
        datacenter: "dc1".into(),
        node_pool: "default".into(),
        status: NodeStatus::Ready,
        scheduling_eligibility: NodeEligibility::Eligible,
        node_resources: Some(resources.into()),
        drivers: [("exec".to_string(), driver)].into(),
        ..Default::default()
    }
}

fn state() -> State {
    let mut s = State::new();
    s.upsert_job(Arc::new(job()));
    s.upsert_node(Arc::new(node("n1")));
    s
}

fn eval() -> Evaluation {
    Evaluation {
        id: "00000000-0000-0000-0000-000000000001".into(),
        namespace: "default".into(),
        priority: 50,
        r#type: JobType::Service,
        triggered_by: EvalTrigger::JobRegister,
        job_id: "web".into(),
        status: EvalStatus::Pending,
        ..Default::default()
    }
}

/// The results of the plans, in order; further plans are accepted.
#[derive(Clone, Copy)]
enum Fate {
    Rejected,
    /// Accepted in part, with newer state.
    Partly,
    /// Accepted in part, without newer state.
    Lost,
}

struct Recorder {
    state: Snapshot,
    fates: Vec<Fate>,
    plans: Vec<Plan>,
    created: Vec<Evaluation>,
    updated: Vec<Evaluation>,
}

impl Planner for Recorder {
    fn submit_plan(&mut self, plan: Plan) -> Result<PlanResult, SubmitError> {
        let refresh = Some(self.state.clone());
        let result = match self.fates.get(self.plans.len()) {
            None => PlanResult::accepted(plan.clone()),
            Some(Fate::Rejected) => PlanResult { refresh, ..Default::default() },
            Some(Fate::Partly) => PlanResult { refresh, ..PlanResult::accepted(plan.clone()) },
            Some(Fate::Lost) => PlanResult::default(),
        };
        self.plans.push(plan);
        Ok(result)
    }

    fn update_eval(&mut self, eval: Evaluation) {
        self.updated.push(eval);
    }

    fn create_eval(&mut self, eval: Evaluation) {
        self.created.push(eval);
    }

    fn reblock_eval(&mut self, _: Evaluation) {}
}

fn run(state: State, eval: &Evaluation, fates: &[Fate]) -> (Recorder, Result<(), ScheduleError>) {
    let state = state.snapshot();
    let mut recorder =
        Recorder { state: state.clone(), fates: fates.to_vec(), plans: vec![], created: vec![], updated: vec![] };
    let mut ids = 0;
    let mut new_id = || {
        ids += 1;
        format!("new{ids}")
    };
    let mut random = |_| 0;
    let mut ctx = Context {
        now: NOW,
        order: NodeOrder::Shuffle,
        new_id: &mut new_id,
        random: &mut random,
        stopwatch: &mut || 0,
        stop: &|| false,
    };
    let result = process(&state, eval, &mut ctx, &mut recorder);
    (recorder, result)
}

fn failed_alloc() -> Allocation {
    Allocation {
        id: "a0".into(),
        namespace: "default".into(),
        name: "web.g[0]".into(),
        node_id: "n1".into(),
        job_id: "web".into(),
        task_group: "g".into(),
        job: Some(Arc::new(job())),
        desired_status: DesiredStatus::Run,
        client_status: ClientStatus::Failed,
        modify_time: NOW,
        ..Default::default()
    }
}

#[test]
fn accepted_plans_complete_the_evaluation() {
    let (r, result) = run(state(), &eval(), &[]);
    result.unwrap();
    let placed: Vec<&str> = r.plans[0].node_allocation["n1"].iter().map(|a| a.name.as_str()).collect();
    assert_eq!(placed, ["web.g[0]", "web.g[1]"]);
    assert_eq!((r.plans.len(), &r.updated[0].status), (1, &EvalStatus::Complete));
    assert_eq!(r.updated[0].queued_allocations, [("g".to_string(), 0)].into());
}

#[test]
fn rejections_in_a_row_end_the_evaluation() {
    let (r, result) = run(state(), &eval(), &[Fate::Rejected; 9]);
    result.unwrap();
    assert_eq!(r.plans.len(), 5);
    assert_eq!(r.updated[0].status_description, "maximum attempts reached (5)");
    assert_eq!(r.created[0].triggered_by, EvalTrigger::MaxPlanAttempts);
    assert_eq!(r.updated[0].blocked_eval, r.created[0].id);

    let mut batch = eval();
    batch.r#type = JobType::Batch;
    assert_eq!(run(state(), &batch, &[Fate::Rejected; 9]).0.plans.len(), 2);
}

#[test]
fn progress_starts_the_count_of_attempts_anew() {
    let mut fates = vec![Fate::Rejected; 4];
    fates.push(Fate::Partly);
    fates.extend([Fate::Rejected; 4]);
    let (r, result) = run(state(), &eval(), &fates);
    result.unwrap();
    assert_eq!(r.plans.len(), 10);
    assert_eq!(r.updated[0].status, EvalStatus::Complete);
}

#[test]
fn a_partial_commit_needs_newer_state() {
    let (r, result) = run(state(), &eval(), &[Fate::Lost]);
    assert!(matches!(result, Err(ScheduleError::NoRefresh)), "{result:?}");
    assert!(r.updated.is_empty());
}

#[test]
fn plans_that_change_nothing_are_submitted_for_their_annotations_alone() {
    let mut stopped = job();
    stopped.stop = true;
    for annotate in [false, true] {
        let mut s = State::new();
        s.upsert_job(Arc::new(stopped.clone()));
        let e = Evaluation { annotate_plan: annotate, ..eval() };
        let (r, _) = run(s, &e, &[]);
        assert_eq!(r.plans.len(), usize::from(annotate));
        assert!(r.plans.iter().all(|p| p.annotations.is_some()));
        assert_eq!(r.updated[0].status, EvalStatus::Complete);
    }
}

#[test]
fn delayed_evaluations_do_not_create_follow_ups() {
    for (wait_until, created) in [(Time::ZERO, 1), (Time::from_unix_nanos(NOW), 0)] {
        let mut s = state();
        s.upsert_allocs([Arc::new(failed_alloc())]);
        let (r, _) = run(s, &Evaluation { wait_until, ..eval() }, &[]);
        assert_eq!(r.created.len(), created);
        // The allocation carries the ID of a follow-up either way (`docs/spec/reconciliation.md §3.3` Q2).
        let noted = r.plans[0].node_allocation["n1"].iter().find(|a| a.id == "a0").unwrap();
        assert!(!noted.followup_eval_id.is_empty());
        assert_eq!(r.updated[0].next_eval.is_empty(), created == 0);
    }
}
