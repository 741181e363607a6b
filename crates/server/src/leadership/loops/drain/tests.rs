//! Complete drains on a store without a server.

use super::rules::tests::*;
use super::*;
use crate::fsm::{self, Limits};

struct World {
    store: StateStore,
    drainer: Drainer,
    ids: u64,
    now: i64,
}

impl World {
    fn new(jobs: &[&Arc<Job>], allocs: Vec<Allocation>) -> World {
        World { store: store(jobs, allocs), drainer: Drainer::default(), ids: 0, now: 1000 * SECOND }
    }

    fn drain(&mut self, node: &str, deadline: i64, ignore_system_jobs: bool) {
        let mut n = Node::clone(&self.store.state().node(node).unwrap().node);
        n.drain_strategy = Some(DrainStrategy {
            deadline,
            ignore_system_jobs,
            force_deadline: if deadline > 0 { Time::from_unix_nanos(self.now + deadline) } else { Time::ZERO },
            started_at: Time::from_unix_nanos(self.now),
        });
        n.drain = true;
        n.scheduling_eligibility = NodeEligibility::Ineligible;
        self.store.put_node(Arc::new(n));
    }

    /// Runs the drainer, applies its operations and returns them.
    fn look(&mut self) -> Vec<Operation> {
        let ids = &mut self.ids;
        let work = self.drainer.look(&self.store, self.now, &mut || {
            *ids += 1;
            format!("e{ids}")
        });
        for op in &work {
            let index = self.store.latest_index() + 1;
            let applied = fsm::apply(&mut self.store, index, op, Limits::default());
            assert_eq!(applied.reply, encamp_ops::Reply::Done);
        }
        work
    }

    /// Advances the clock until the drainer is due again.
    fn sleep(&mut self) -> i64 {
        let next = self.drainer.next().unwrap();
        let passed = next - self.now;
        self.now = next;
        passed
    }

    fn set(&mut self, change: impl FnOnce(&mut Allocation), id: &str) {
        let mut a = Allocation::clone(&self.store.state().alloc(id).unwrap().alloc);
        change(&mut a);
        self.store.put_allocs(vec![Arc::new(a)]);
    }

    fn end(&mut self, id: &str) {
        self.set(|a| (a.desired_status, a.client_status) = (DesiredStatus::Stop, ClientStatus::Complete), id);
    }

    fn node(&self) -> Arc<Node> {
        self.store.state().node(DRAINING).unwrap().node.clone()
    }
}

fn transition(op: &Operation) -> Option<(&BTreeMap<String, DesiredTransition>, &Vec<Evaluation>)> {
    match op {
        Operation::AllocTransition { transitions, evals } => Some((transitions, evals)),
        _ => None,
    }
}

/// The IDs of the marked allocations, and whether they are stopped without replacement.
fn marks(work: &[Operation]) -> Vec<(&str, bool)> {
    let all = work.iter().filter_map(transition).flat_map(|(t, _)| t);
    all.inspect(|(_, t)| assert!(t.should_migrate()))
        .map(|(id, t)| (id.as_str(), t.migrate_disable_placement()))
        .collect()
}

/// Job, type and trigger of the evaluations.
fn evals(work: &[Operation]) -> Vec<(&str, JobType, EvalTrigger)> {
    let all = work.iter().filter_map(transition).flat_map(|(_, e)| e);
    all.map(|e| (e.job_id.as_str(), e.r#type.clone(), e.triggered_by.clone())).collect()
}

#[test]
fn e13_a_drain_with_a_deadline() {
    let (web, long) = (job("web", JobType::Service, 1, 1), job("long", JobType::Batch, 1, 0));
    let mut w = World::new(&[&web, &long], vec![healthy(alloc("a", &web, DRAINING)), alloc("b", &long, DRAINING)]);
    assert_eq!((w.look().len(), w.drainer.next(), w.drainer.keys().len()), (0, None, 1));
    w.drain(DRAINING, 10 * SECOND, false);
    assert!(w.look().is_empty(), "marks are batched");
    assert!(w.drainer.keys().contains(&WatchKey::OfJob(Table::Allocs, row_key("default", "web"))));
    assert!(w.drainer.keys().contains(&WatchKey::OfNode(DRAINING.into())));
    assert!(w.look().is_empty(), "allocations are chosen only once");
    assert_eq!(w.sleep(), SECOND);
    let work = w.look();
    assert_eq!(marks(&work), [("a", false)]);
    assert_eq!(evals(&work), [("web", JobType::Service, EvalTrigger::NodeDrain)]);
    w.end("a");
    assert!(w.look().is_empty(), "the batch job keeps running");
    assert_eq!(w.sleep(), 9 * SECOND);
    let work = w.look();
    assert_eq!(marks(&work), [("b", true)]);
    assert_eq!(evals(&work), [("long", JobType::Batch, EvalTrigger::NodeDrain)]);
    let node = w.node();
    assert!(node.drain_strategy.is_none() && node.scheduling_eligibility == NodeEligibility::Ineligible);
    let event = node.events.last().unwrap();
    assert_eq!((event.message.as_str(), event.subsystem.as_str()), ("Node drain complete", "Drain"));
    assert_eq!(event.details, [("deadline_reached".to_string(), "true".to_string())].into());
    assert_eq!(node.last_drain.as_ref().unwrap().status, DrainStatus::Complete);
    assert_eq!((w.look().len(), w.drainer.next()), (0, None));
}

#[test]
fn an_empty_node_is_done_at_once() {
    let mut w = World::new(&[], vec![]);
    w.drain(DRAINING, 0, false);
    assert_eq!(w.look().len(), 1);
    assert!(w.node().drain_strategy.is_none());
    assert!(w.node().events.last().unwrap().details.is_empty(), "no deadline was reached");
}

#[test]
fn cancelled_drains_do_not_complete() {
    let mut w = World::new(&[], vec![]);
    w.drain(DRAINING, 0, false);
    let late = w.drainer.look(&w.store, w.now, &mut || unreachable!());
    let cancelled = NodeDrain {
        nodes: [(DRAINING.to_string(), DrainUpdate::default())].into(),
        events: BTreeMap::new(),
        updated_at: w.now,
    };
    let apply = |w: &mut World, op: &Operation| {
        let index = w.store.latest_index() + 1;
        fsm::apply(&mut w.store, index, op, Limits::default());
    };
    apply(&mut w, &Operation::NodeDrain(cancelled));
    let before = w.node();
    assert_eq!(before.last_drain.as_ref().unwrap().status, DrainStatus::Canceled);
    assert_eq!(late.len(), 1);
    apply(&mut w, &late[0]);
    assert_eq!(w.node(), before);
}

#[test]
fn a_forced_drain_does_not_wait() {
    let (web, y) = (job("web", JobType::Service, 3, 1), job("y", JobType::System, 1, 0));
    let allocs = || vec![alloc("a", &web, DRAINING), alloc("s", &y, DRAINING), alloc("z", &web, "n2")];
    for ignore in [true, false] {
        let mut w = World::new(&[&web, &y], allocs());
        w.drain("n2", 3 * SECOND, false);
        w.drain(DRAINING, -1, ignore);
        let work = w.look();
        let all = [("a", false), ("s", false)];
        assert_eq!(marks(&work), all[..if ignore { 1 } else { 2 }], "the deadlines of other nodes do not count");
        assert!(w.node().drain_strategy.is_none());
        assert!(w.store.state().node("n2").unwrap().node.drain_strategy.is_some());
    }
}

#[test]
fn an_infinite_drain_ends_when_the_last_allocation_does() {
    let (sb, y) = (job("sb", JobType::Sysbatch, 1, 0), job("y", JobType::System, 1, 0));
    let mut w = World::new(&[&sb, &y], vec![alloc("a", &sb, DRAINING), alloc("s", &y, DRAINING)]);
    w.drain(DRAINING, 0, false);
    assert_eq!((w.look().len(), w.drainer.next()), (0, None));
    w.end("a");
    let work = w.look();
    assert_eq!(marks(&work), [("s", false)], "system allocations leave last, without a wait");
    assert!(w.node().drain_strategy.is_none());
}

#[test]
fn allocations_leave_as_replacements_become_healthy() {
    let web = job("web", JobType::Service, 2, 1);
    let fine = |id: &str, node: &str| healthy(alloc(id, &web, node));
    let mut w = World::new(&[&web], vec![fine("a", DRAINING), fine("b", DRAINING)]);
    w.drain(DRAINING, 0, false);
    w.look();
    w.sleep();
    assert_eq!(marks(&w.look()), [("a", false)]);
    w.end("a");
    w.store.put_allocs(vec![Arc::new(alloc("a2", &web, "n2"))]);
    assert!(w.look().is_empty() && w.drainer.next().is_none(), "the replacement has to be healthy first");
    w.set(|a| *a = healthy(a.clone()), "a2");
    assert!(w.look().is_empty());
    w.sleep();
    assert_eq!(marks(&w.look()), [("b", false)]);
    w.end("b");
    w.look();
    assert!(w.node().drain_strategy.is_none());
}

#[test]
fn decisions_are_made_again_after_a_failed_write() {
    let web = job("web", JobType::Service, 1, 1);
    let mut w = World::new(&[&web], vec![healthy(alloc("a", &web, DRAINING))]);
    w.drain(DRAINING, 0, false);
    w.look();
    w.sleep();
    let work = w.drainer.look(&w.store, w.now, &mut || "e".into());
    assert_eq!(marks(&work), [("a", false)]);
    w.drainer.failed();
    w.look();
    w.sleep();
    assert_eq!(marks(&w.look()), [("a", false)]);
    // When a drain is cancelled meanwhile, its chosen allocations are dropped.
    let mut w = World::new(&[&web], vec![healthy(alloc("a", &web, DRAINING))]);
    w.drain(DRAINING, 0, false);
    w.look();
    let mut n = Node::clone(&w.node());
    n.drain_strategy = None;
    w.store.put_node(Arc::new(n));
    w.now += 2 * SECOND;
    assert!(w.look().is_empty() && w.drainer.next().is_none());
}

#[test]
fn entries_have_a_size() {
    let (a, b, c) =
        (job("a", JobType::Service, 1, 1), job("b", JobType::Service, 1, 1), job("c", JobType::Batch, 1, 1));
    let s = store(&[&a, &b, &c], vec![]);
    let of = |j: &Arc<Job>, n: usize| -> Vec<Arc<Allocation>> {
        (0..n).map(|i| Arc::new(alloc(&format!("{}{i}", j.id), j, DRAINING))).collect()
    };
    let all: Vec<_> = [of(&b, 2), of(&a, 2), of(&c, 7)].concat();
    let mut n = 0;
    let work = marking(&s, all, 3, 5, &mut || {
        n += 1;
        n.to_string()
    });
    let size = |op| (marks(std::slice::from_ref(op)).len(), evals(std::slice::from_ref(op)).len());
    assert_eq!(work.iter().map(size).collect::<Vec<_>>(), [(2, 1), (2, 1), (3, 0), (3, 0), (1, 1)]);
    assert_eq!(marks(&work).iter().filter(|(_, stopped)| *stopped).count(), 7);
}
