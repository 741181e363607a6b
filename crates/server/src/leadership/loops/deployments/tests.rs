//! Complete deployments on a store without a server.

use super::*;
use crate::fsm::{self, Limits};
use encamp_ops::Reply;

const START: i64 = 1000 * SECOND;
const MINUTES: i64 = 600 * SECOND;

struct World {
    store: StateStore,
    machine: Deployments,
    now: i64,
    ids: u64,
}

fn job(version: u64, priority: i64, stable: bool, auto_revert: bool, reschedules: bool) -> Arc<Job> {
    let group = TaskGroup {
        name: "g".into(),
        count: 2,
        update: Some(UpdateStrategy { auto_revert, max_parallel: 1, ..Default::default() }),
        reschedule_policy: Some(ReschedulePolicy { unlimited: reschedules, ..Default::default() }),
        ..Default::default()
    };
    Arc::new(Job {
        id: "web".into(),
        namespace: "default".into(),
        r#type: JobType::Service,
        priority,
        version,
        stable,
        task_groups: vec![group],
        create_index: 2,
        modify_index: 2 + version,
        job_modify_index: 2 + version,
        ..Default::default()
    })
}

fn group(total: i64, canaries: i64) -> DeploymentState {
    DeploymentState {
        desired_total: total,
        desired_canaries: canaries,
        auto_promote: true,
        auto_revert: true,
        progress_deadline: MINUTES,
        require_progress_by: Time::from_unix_nanos(START + MINUTES),
        ..Default::default()
    }
}

fn deployment(id: &str, groups: Vec<(&str, DeploymentState)>) -> Deployment {
    Deployment {
        id: id.into(),
        namespace: "default".into(),
        job_id: "web".into(),
        job_version: 1,
        status: DeploymentStatus::Running,
        task_groups: groups.into_iter().map(|(name, g)| (name.to_string(), Some(g))).collect(),
        create_index: 5,
        modify_index: 5,
        ..Default::default()
    }
}

impl World {
    fn new(jobs: &[Arc<Job>], d: Deployment) -> World {
        let mut store = StateStore::new();
        jobs.iter().for_each(|j| store.put_job(j.clone()));
        store.put_deployment(Arc::new(d));
        store.set_index(Table::Deployment, 10);
        let planned = Evaluation {
            id: "planned".into(),
            namespace: "default".into(),
            job_id: "web".into(),
            status: EvalStatus::Canceled,
            ..Default::default()
        };
        store.put_eval(Arc::new(planned));
        World { store, machine: Deployments::default(), now: START, ids: 0 }
    }

    /// Writes a running allocation of the newest version like the plan applier, then its health as reported by its
    /// node.
    fn alloc(&mut self, id: &str, canary: bool, health: Option<bool>) {
        let job = self.store.state().job("default", "web").unwrap().clone();
        let status = canary.then(|| AllocDeploymentStatus { canary, ..Default::default() });
        let placed = Allocation {
            id: id.into(),
            namespace: "default".into(),
            job_id: "web".into(),
            task_group: "g".into(),
            node_id: "n".into(),
            deployment_id: "d".into(),
            desired_status: DesiredStatus::Run,
            client_status: ClientStatus::Pending,
            deployment_status: status.map(Box::new),
            job: Some(job),
            modify_time: self.now,
            ..Default::default()
        };
        let placements = vec![Arc::new(placed)];
        self.apply(&Operation::PlanResults(Box::new(encamp_ops::PlanResults {
            eval_id: "planned".into(),
            placements,
            now: self.now,
            ..Default::default()
        })));
        if health.is_some() {
            self.report(id, ClientStatus::Running, health);
        }
    }

    fn report(&mut self, id: &str, client_status: ClientStatus, health: Option<bool>) {
        let timestamp = Time::from_unix_nanos(self.now);
        let status = health.map(|_| AllocDeploymentStatus { healthy: health, timestamp, ..Default::default() });
        let deployment_status = status.map(Box::new);
        let update = Allocation { id: id.into(), client_status, deployment_status, ..Default::default() };
        self.apply(&Operation::AllocClientUpdate { allocs: vec![Arc::new(update)], evals: vec![], now: self.now });
    }

    fn apply(&mut self, op: &Operation) {
        let index = self.store.latest_index() + 1;
        let applied = fsm::apply(&mut self.store, index, op, Limits::default());
        assert_eq!(applied.reply, Reply::Done, "{op:?}");
    }

    fn look_only(&mut self) -> Vec<Operation> {
        let ids = &mut self.ids;
        self.machine.look(&self.store, self.now, &mut || {
            *ids += 1;
            format!("e{ids}")
        })
    }

    fn look(&mut self) -> Vec<Operation> {
        let work = self.look_only();
        work.iter().for_each(|op| self.apply(op));
        work
    }

    fn sleep(&mut self) -> i64 {
        let next = self.machine.next().unwrap();
        let passed = next - self.now;
        self.now = next;
        passed
    }

    fn deployment(&self) -> Arc<Deployment> {
        self.store.state().deployment("d").unwrap().clone()
    }

    fn change(&mut self, change: impl FnOnce(&mut Deployment)) {
        let mut d = Deployment::clone(&self.deployment());
        d.modify_index = self.store.latest_index() + 1;
        self.store.set_index(Table::Deployment, d.modify_index);
        change(&mut d);
        self.store.put_deployment(Arc::new(d));
    }

    fn state(&self) -> (DeploymentStatus, String) {
        let d = self.deployment();
        (d.status.clone(), d.status_description.clone())
    }
}

fn failed(text: &str) -> (DeploymentStatus, String) {
    (DeploymentStatus::Failed, text.into())
}

#[test]
fn health_becomes_one_evaluation() {
    let mut w = World::new(&[job(1, 50, false, true, false)], deployment("d", vec![("g", group(4, 0))]));
    w.alloc("a", false, None);
    assert!(w.look().is_empty());
    assert_eq!(w.sleep(), MINUTES, "only the deadline is due");
    w.now = START;
    assert!(w.machine.keys().contains(&WatchKey::OfDeployment("d".into())));
    w.report("a", ClientStatus::Running, Some(true));
    assert!(w.look().is_empty());
    w.now += SECOND / 2;
    w.alloc("b", false, Some(true));
    assert!(w.look().is_empty());
    assert_eq!(w.sleep(), SECOND / 4 * 3, "a second for the deployment, a quarter for all");
    let work = w.look();
    let [Operation::AllocTransition { transitions, evals }] = work.as_slice() else { panic!("{work:?}") };
    assert!(transitions.is_empty());
    let e = &evals[0];
    assert_eq!((evals.len(), &e.triggered_by, e.deployment_id.as_str()), (1, &EvalTrigger::DeploymentWatcher, "d"));
    assert_eq!((e.priority, &e.r#type, &e.status), (50, &JobType::Service, &EvalStatus::Pending));
    assert!(w.look().is_empty(), "the evaluation will see the health of all allocations");
    assert_eq!(w.machine.next(), Some(START + SECOND / 2 + MINUTES), "health moved the deadline");
}

#[test]
fn evaluations_that_saw_the_health_suffice() {
    let d = || deployment("d", vec![("g", group(4, 0))]);
    for (status, snapshot, create, wanted) in [
        (EvalStatus::Complete, 0, 90, false),
        (EvalStatus::Complete, 90, 5, false),
        (EvalStatus::Complete, 3, 90, true),
        (EvalStatus::Canceled, 0, 90, true),
    ] {
        let what = format!("{status} {snapshot} {create}");
        let mut w = World::new(&[job(1, 50, false, true, false)], d());
        w.alloc("a", false, Some(true));
        let eval = Evaluation {
            id: "e".into(),
            namespace: "default".into(),
            job_id: "web".into(),
            status,
            snapshot_index: snapshot,
            create_index: create,
            ..Default::default()
        };
        w.store.put_eval(Arc::new(eval));
        w.look();
        w.now += 2 * SECOND;
        assert_eq!(w.look().len(), usize::from(wanted), "{what}");
    }
}

#[test]
fn unhealthy_allocations_are_replaced_while_they_may_be() {
    let mut w = World::new(&[job(1, 50, false, true, true)], deployment("d", vec![("g", group(4, 0))]));
    w.alloc("a", false, Some(false));
    w.look();
    w.sleep();
    let work = w.look();
    let [Operation::AllocTransition { transitions, evals }] = work.as_slice() else { panic!("{work:?}") };
    assert!(transitions["a"].should_reschedule() && evals.len() == 1);
    assert!(w.store.state().alloc("a").unwrap().alloc.desired_transition.should_reschedule());
    assert!(w.look().is_empty(), "marked once");
    assert_eq!(w.state().0, DeploymentStatus::Running);
    // Without a policy that allows rescheduling, the deployment fails.
    let mut w = World::new(&[job(1, 50, false, true, false)], deployment("d", vec![("g", group(4, 0))]));
    w.alloc("a", false, Some(false));
    assert_eq!(w.look().len(), 1);
    assert_eq!(w.state(), failed("Failed due to unhealthy allocations - no stable job version to auto revert to"));
    assert!(w.look().is_empty() && w.machine.next().is_none() && w.machine.keys().len() == 1);
    // A group without `auto_revert`.
    let d = deployment("d", vec![("g", DeploymentState { auto_revert: false, ..group(4, 0) })]);
    let mut w = World::new(&[job(0, 40, true, true, false), job(1, 50, false, true, false)], d);
    w.alloc("a", false, Some(false));
    w.look();
    assert_eq!(w.state(), failed("Failed due to unhealthy allocations"));
}

#[test]
fn e14_auto_revert() {
    let now_or_never = || DeploymentState { progress_deadline: 0, require_progress_by: Time::ZERO, ..group(2, 0) };
    let d = deployment("d", vec![("g", now_or_never())]);
    let mut w = World::new(&[job(0, 40, true, true, true), job(1, 50, false, true, true)], d);
    w.alloc("a", false, Some(false));
    let work = w.look();
    let [Operation::DeploymentStatus(s)] = work.as_slice() else { panic!("{work:?}") };
    let eval = s.eval.as_ref().map(|e| (e.deployment_id.as_str(), &e.triggered_by));
    assert_eq!(eval, Some(("d", &EvalTrigger::DeploymentWatcher)));
    assert_eq!(w.state(), failed("Failed due to unhealthy allocations - rolling back to job version 0"));
    let current = w.store.state().job("default", "web").unwrap().clone();
    assert_eq!((current.version, current.priority, current.stable), (2, 40, true));
    // The deployment of the version that was reverted to fails too.
    w.change(|d| {
        (d.status, d.job_version) = (DeploymentStatus::Running, 2);
        d.task_groups = [("g".to_string(), Some(now_or_never()))].into();
    });
    w.machine = Deployments::default();
    w.alloc("b", false, Some(false));
    w.look();
    let why = "not rolling back to stable job version 2 as current job has same specification";
    assert_eq!(w.state(), failed(&format!("Failed due to unhealthy allocations - {why}")));
    assert_eq!(w.store.state().job("default", "web").unwrap().version, 2);
}

#[test]
fn canaries_are_promoted() {
    let jobs = [job(1, 50, false, true, false)];
    let mut w = World::new(&jobs, deployment("d", vec![("g", group(4, 2)), ("plain", DeploymentState::default())]));
    w.alloc("a", true, Some(true));
    w.alloc("b", true, None);
    assert!(w.look().is_empty());
    w.report("b", ClientStatus::Running, Some(true));
    let work = w.look();
    let [Operation::DeploymentPromotion(p)] = work.as_slice() else { panic!("{work:?}") };
    assert!(p.groups.is_none() && p.eval.is_some() && p.now == w.now);
    assert!(w.deployment().task_groups["g"].as_ref().unwrap().promoted);
    assert!(w.look().is_empty());

    type Change = fn(&mut DeploymentState);
    let cases: [(&str, Change); 3] = [
        ("no auto_promote", |g| g.auto_promote = false),
        ("too many", |g| g.desired_canaries = 1),
        ("too few", |g| g.desired_canaries = 3),
    ];
    for (what, change) in cases {
        let mut g = group(4, 2);
        change(&mut g);
        let mut w = World::new(&jobs, deployment("d", vec![("g", g)]));
        w.alloc("a", true, Some(true));
        w.alloc("b", true, Some(true));
        assert!(w.look().is_empty(), "{what}");
    }
    // All groups with canaries, or none.
    let mut w = World::new(&jobs, deployment("d", vec![("g", group(4, 1)), ("h", group(1, 1))]));
    w.alloc("a", true, Some(true));
    assert!(w.look().is_empty());
    // A paused deployment is not promoted.
    let d = Deployment { status: DeploymentStatus::Paused, ..deployment("d", vec![("g", group(4, 1))]) };
    let mut w = World::new(&jobs, d);
    w.alloc("a", true, Some(true));
    assert!(w.look().is_empty());
}

#[test]
fn progress_has_a_deadline() {
    let jobs = [job(0, 40, true, true, true), job(1, 50, false, true, true)];
    let mut w = World::new(&jobs, deployment("d", vec![("g", group(2, 0))]));
    assert!(w.look().is_empty());
    assert_eq!(w.sleep(), MINUTES);
    let lost = w.look_only();
    assert_eq!(lost.len(), 1);
    w.machine.failed();
    let again = w.look();
    assert_eq!(again.len(), 1, "the decision is made again after a failed write");
    assert_eq!(w.state(), failed("Failed due to progress deadline - rolling back to job version 0"));
    // `auto_revert` of the job is decisive.
    let jobs = [job(0, 40, true, false, true), job(1, 50, false, false, true)];
    let mut w = World::new(&jobs, deployment("d", vec![("g", group(2, 0))]));
    w.look();
    w.sleep();
    w.look();
    assert_eq!(w.state(), failed("Failed due to progress deadline"));
}

#[test]
fn waiting_for_a_promotion_is_no_failure() {
    let by_hand = DeploymentState { auto_promote: false, ..group(2, 1) };
    let mut w = World::new(&[job(1, 50, false, true, false)], deployment("d", vec![("g", by_hand)]));
    w.alloc("a", true, Some(true));
    w.look();
    w.now = w.machine.next().unwrap();
    w.look();
    w.now = START + MINUTES;
    assert!(w.look().is_empty());
    assert_eq!((w.state().0, w.machine.next()), (DeploymentStatus::Running, None), "a deadline passes only once");
    w.report("a", ClientStatus::Failed, Some(false));
    w.look();
    let text = "Failed due to progress deadline - no stable job version to auto revert to";
    assert_eq!(w.state(), failed(text), "later failures are attributed to the deadline");
}

#[test]
fn deadlines_of_groups_that_are_done_do_not_count() {
    let jobs = [job(1, 50, false, true, false)];
    let mut w = World::new(&jobs, deployment("d", vec![("g", group(1, 0))]));
    w.alloc("a", false, Some(true));
    w.look();
    w.sleep();
    assert_eq!(w.look().len(), 1);
    assert_eq!(w.machine.next(), None);
    // An allocation that terminated has to be replaced in time.
    w.report("a", ClientStatus::Failed, None);
    w.look();
    assert_eq!(w.machine.next(), Some(START + MINUTES));
    // A paused deployment has no deadline.
    let d = Deployment { status: DeploymentStatus::Paused, ..deployment("d", vec![("g", group(1, 0))]) };
    let mut w = World::new(&jobs, d);
    w.look();
    w.sleep();
    assert_eq!((w.look().len(), w.machine.next()), (0, None));
    w.change(|d| {
        d.status = DeploymentStatus::Running;
        d.task_groups = [("g".to_string(), Some(group(1, 0)))].into();
        let later = Time::from_unix_nanos(START + 2 * MINUTES);
        d.task_groups.values_mut().flatten().for_each(|g| g.require_progress_by = later);
    });
    assert!(w.look().is_empty());
    assert_eq!(w.sleep(), MINUTES);
    w.look();
    assert_eq!(w.state().0, DeploymentStatus::Failed);
}

#[test]
fn deployments_share_an_entry() {
    let mut w = World::new(&[job(1, 50, false, true, false)], deployment("d", vec![("g", group(4, 0))]));
    w.alloc("a", false, Some(true));
    w.look();
    // Another deployment follows a tenth of a second later, a third one too late.
    for (id, after) in [("d2", SECOND / 10), ("d3", SECOND / 2)] {
        w.now = START + after;
        w.store.put_deployment(Arc::new(deployment(id, vec![("g", group(4, 0))])));
        w.alloc(&format!("of-{id}"), false, None);
        let mut a = Allocation::clone(&w.store.state().alloc(&format!("of-{id}")).unwrap().alloc);
        a.deployment_id = id.into();
        a.modify_index += 1;
        let healthy = AllocDeploymentStatus { healthy: Some(true), modify_index: 99, ..Default::default() };
        a.deployment_status = Some(Box::new(healthy));
        w.store.put_allocs(vec![Arc::new(a)]);
        assert!(w.look().is_empty());
    }
    assert_eq!(w.sleep(), SECOND / 4 * 3);
    let work = w.look_only();
    let [Operation::AllocTransition { evals, .. }] = work.as_slice() else { panic!("{work:?}") };
    assert_eq!(evals.iter().map(|e| e.deployment_id.as_str()).collect::<Vec<_>>(), ["d", "d2"]);
    assert_eq!(w.machine.next(), Some(START + SECOND / 4 * 7));
    // A deployment that ended meanwhile needs no evaluation.
    let mut d3 = Deployment::clone(w.store.state().deployment("d3").unwrap());
    d3.status = DeploymentStatus::Cancelled;
    w.store.put_deployment(Arc::new(d3));
    w.now += SECOND;
    assert!(w.look_only().is_empty());
}
