//! Routing of evaluations: how a write changes the broker and the blocked evaluations (`docs/spec/server.md §3.4`), and
//! how a new leader fills them (`§2.2`). No I/O.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::evals::blocked::{BlockedEvals, Released};
use crate::evals::broker::Broker;
use crate::fsm::{Applied, Change};
use encamp_model::{EvalStatus, Evaluation};
use encamp_ops::Operation;
use encamp_state::StateStore;

/// Updates the blocked evaluations after a write. Returns the evaluations to enqueue in the broker ([`take_over`]).
/// `now` is in Unix nanoseconds.
pub fn entail(op: &Operation, applied: &Applied, index: u64, now: i64, blocked: &mut BlockedEvals) -> Released {
    let mut released = Vec::new();
    // A plan only marks its evaluation: a worker still holds it and will report its outcome. As a blocked evaluation it
    // would be compared with others by its outdated state.
    let planned = match op {
        Operation::PlanResults(p) => p.eval_id.as_str(),
        _ => "",
    };
    for u in &applied.unblocks {
        released.extend(blocked.unblock_class(&u.class, index, now));
        if let Some(node) = &u.node {
            released.extend(blocked.unblock_node(node, now));
        }
    }
    if matches!(op, Operation::CsiVolumeRegister { .. }) {
        let registered = applied.changes.iter().filter_map(|c| match c {
            Change::CsiVolume(v) => Some(format!("csi-volume:{}:{}", v.namespace, v.id)),
            _ => None,
        });
        let keys: Vec<String> = registered.collect();
        released.extend(blocked.unblock_resources(&keys, index, now));
    }
    for e in written(applied) {
        if e.id == planned {
            continue;
        }
        match e.status {
            EvalStatus::Pending => {
                blocked.untrack(&e.id, now);
                released.push((e.clone(), None));
            }
            EvalStatus::Blocked => released.extend(blocked.block(e.clone(), None, now)),
            // `docs/spec/server.md §3.4` untracks the blocked evaluations of a job when one of its evaluations
            // succeeds. The store cancels them in the same entry.
            EvalStatus::Complete | EvalStatus::Failed | EvalStatus::Canceled => blocked.untrack(&e.id, now),
            EvalStatus::Unset | EvalStatus::Other(_) => {}
        }
    }
    // A purged job frees capacity, which unblocks its own blocked evaluations, and ends them.
    let over: BTreeSet<&str> = written(applied).filter(|e| e.terminal()).map(|e| e.id.as_str()).collect();
    released.retain(|(e, _)| !over.contains(e.id.as_str()));
    released
}

/// The evaluations that a write wrote, in order. Of several records of one evaluation the last counts.
fn written(applied: &Applied) -> impl Iterator<Item = &Arc<Evaluation>> {
    let mut seen = BTreeSet::new();
    let evals = applied.changes.iter().rev().filter_map(|c| if let Change::Eval(e) = c { Some(e) } else { None });
    let mut last: Vec<&Arc<Evaluation>> = evals.filter(|e| seen.insert(e.id.as_str())).collect();
    last.reverse();
    last.into_iter()
}

/// The evaluations that a write ended, whatever it wrote about them behind that.
pub fn ended(applied: &Applied) -> impl Iterator<Item = &Evaluation> {
    applied.changes.iter().filter_map(|c| match c {
        Change::Eval(e) if e.terminal() => Some(&**e),
        _ => None,
    })
}

/// Enqueues the evaluations that a write unblocked. Evaluations that the write ended and follow-ups that are not needed
/// any more are dropped: a blocked evaluation may be queued or in flight when another evaluation of its job ends it.
pub fn take_over(applied: &Applied, released: Released, now: i64, broker: &mut Broker) {
    // Without a ready one, the newest that waits takes its place, and the others are cancelled: none of these may be one
    // that has ended.
    let (_, rest) = broker.drop_pending(ended(applied));
    for e in rest {
        broker.drop_ready(&e.id);
    }
    for e in ended(applied).chain(applied.dropped_evals.iter().map(|e| &**e)) {
        broker.drop_waiting(&e.id);
    }
    broker.enqueue_all(released, now);
}

/// Fills a broker that was just enabled from the store.
pub fn refill(store: &StateStore, now: i64, broker: &mut Broker) {
    restore(store, to_refill(store), now, broker);
}

/// The evaluations that a broker that was just enabled gets from the store, in order. Blocked evaluations are evaluated
/// again: an unblocked one that no worker has finished is still blocked in the store, and what became available before
/// is recorded nowhere.
pub(crate) fn to_refill(store: &StateStore) -> impl Iterator<Item = &Arc<Evaluation>> {
    store.evals_by_create().filter(|e| waits(e))
}

fn waits(eval: &Evaluation) -> bool {
    matches!(eval.status, EvalStatus::Pending | EvalStatus::Blocked)
}

/// Adds a part of these evaluations to the broker, as they are in the newest state: some may have ended meanwhile.
pub(crate) fn restore<'e>(
    newest: &StateStore,
    part: impl Iterator<Item = &'e Arc<Evaluation>>,
    now: i64,
    broker: &mut Broker,
) {
    for eval in part.filter_map(|e| newest.eval(&e.id)).filter(|e| waits(e)) {
        broker.restore(eval.clone(), now);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::fsm::{self, Limits};
    use crate::tests::job;
    use encamp_model::{Allocation, ClientStatus, DesiredStatus, HOUR, JobKey, JobType, Time};
    use encamp_ops::{JobDeregister, JobRegister, PlanResults, Reply};

    const NOW: i64 = 1_700_000_000_000_000_000;

    fn eval(id: &str, priority: i64, status: EvalStatus, snapshot_index: u64) -> Evaluation {
        let (id, namespace, job_id) = (id.into(), "default".into(), "web".into());
        let r#type = JobType::Service;
        Evaluation { id, namespace, job_id, r#type, status, priority, snapshot_index, ..Default::default() }
    }

    struct World {
        store: StateStore,
        index: u64,
        broker: Broker,
        blocked: BlockedEvals,
    }

    impl World {
        fn new() -> World {
            let (mut broker, mut blocked) = (Broker::new(), BlockedEvals::default());
            broker.set_enabled(true);
            blocked.set_enabled(true, NOW);
            World { store: StateStore::new(), index: 0, broker, blocked }
        }

        fn write(&mut self, op: Operation) {
            self.index += 1;
            let applied = fsm::apply(&mut self.store, self.index, &op, Limits::default());
            assert!(!matches!(applied.reply, Reply::Refused(_)), "{:?}", applied.reply);
            let released = entail(&op, &applied, self.index, NOW, &mut self.blocked);
            take_over(&applied, released, NOW, &mut self.broker);
        }

        fn register(&mut self, eval: Option<Evaluation>) {
            let job = Arc::new(job("web", self.index as i64));
            let register = JobRegister { job, eval, submission: None, enforce_index: None, now: NOW };
            self.write(Operation::JobRegister(Box::new(register)));
        }

        fn evals(&mut self, evals: Vec<Evaluation>) {
            self.write(Operation::EvalUpdate { evals });
        }

        fn take(&mut self) -> Option<String> {
            let taken = self.broker.dequeue(&[JobType::Service], NOW, 0, || "t".into());
            taken.expect("enabled").map(|d| d.eval.id.to_string())
        }

        fn new_leader(&mut self) {
            (self.broker, self.blocked) = (Broker::new(), BlockedEvals::default());
            self.broker.set_enabled(true);
            self.blocked.set_enabled(true, NOW);
            refill(&self.store, NOW, &mut self.broker);
        }
    }

    #[test]
    fn a_purge_drops_the_queued_evaluation_of_its_job() {
        let mut w = World::new();
        w.register(Some(eval("first", 50, EvalStatus::Pending, 0)));
        let purge = JobDeregister {
            job: JobKey::new("default", "web"),
            purge: true,
            no_shutdown_delay: false,
            eval: Some(eval("stop", 50, EvalStatus::Pending, 0)),
            submit_time: NOW,
        };
        w.write(Operation::JobDeregister(Box::new(purge)));
        assert_eq!(w.store.eval("first").map(|e| &e.status), Some(&EvalStatus::Complete));
        assert_eq!((w.take().as_deref(), w.take()), (Some("stop"), None));
    }

    #[test]
    fn a_purge_drops_the_delayed_evaluation_of_its_job() {
        let mut w = World::new();
        w.register(None);
        let wait_until = Time::from_unix_nanos(NOW + HOUR);
        w.evals(vec![Evaluation { wait_until, ..eval("later", 50, EvalStatus::Pending, 0) }]);
        assert_eq!(w.broker.stats().delayed, 1);
        let job = JobKey::new("default", "web");
        let purge = JobDeregister { job, purge: true, no_shutdown_delay: false, eval: None, submit_time: NOW };
        w.write(Operation::JobDeregister(Box::new(purge)));
        assert_eq!(w.store.eval("later").map(|e| &e.status), Some(&EvalStatus::Complete));
        assert_eq!((w.broker.stats().delayed, w.broker.stats().waiting), (0, 0));
    }

    #[test]
    fn a_plan_of_an_evaluation_that_has_ended_leaves_blocked_ones_tracked() {
        let mut w = World::new();
        w.register(Some(eval("first", 50, EvalStatus::Pending, 0)));
        // As if its job were purged and registered again while a worker holds the evaluation.
        w.evals(vec![eval("first", 50, EvalStatus::Complete, 1)]);
        w.evals(vec![eval("blocked", 50, EvalStatus::Blocked, 1)]);
        w.write(Operation::PlanResults(Box::new(PlanResults { eval_id: "first".into(), ..Default::default() })));
        assert_eq!(w.store.eval("blocked").map(|e| &e.status), Some(&EvalStatus::Blocked));
        assert_eq!(w.blocked.stats().blocked, 1);
        w.evals(vec![eval("second", 50, EvalStatus::Complete, 2)]);
        assert_eq!(w.store.eval("blocked").map(|e| &e.status), Some(&EvalStatus::Canceled));
        assert_eq!(w.blocked.stats().blocked, 0);
    }

    #[test]
    fn a_blocked_evaluation_with_a_plan_is_no_duplicate() {
        let mut w = World::new();
        w.register(Some(eval("first", 50, EvalStatus::Pending, 0)));
        w.evals(vec![eval("older", 50, EvalStatus::Blocked, 1)]);
        // The older evaluation is unblocked and scheduled; another one of the job is blocked meanwhile.
        assert_eq!(w.blocked.unblock_class("any", 9, NOW).len(), 1);
        w.evals(vec![eval("newer", 50, EvalStatus::Blocked, 9)]);
        w.write(Operation::PlanResults(Box::new(PlanResults { eval_id: "older".into(), ..Default::default() })));
        assert!(w.blocked.take_duplicates().is_empty());
        w.blocked.block(Arc::new(eval("older", 50, EvalStatus::Blocked, 10)), None, NOW);
        let duplicates: Vec<String> = w.blocked.take_duplicates().iter().map(|e| e.id.to_string()).collect();
        assert_eq!((duplicates, w.blocked.stats().blocked), (vec!["newer".to_string()], 1));
    }

    /// Numbers that a seed determines.
    struct Dice(u64);

    impl Dice {
        fn below(&mut self, n: u64) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from((self.0 >> 33) % n).unwrap_or(0)
        }
    }

    /// The next status of an evaluation.
    fn next(dice: &mut Dice, now: Option<&EvalStatus>) -> EvalStatus {
        use EvalStatus::{Blocked, Canceled, Complete, Failed, Pending};
        let choices = match now {
            None => [Pending, Blocked, Complete],
            Some(Pending) => [Complete, Failed, Canceled],
            Some(Blocked) => [Blocked, Complete, Canceled],
            Some(_) => [Pending, Complete, Blocked],
        };
        choices[dice.below(3)].clone()
    }

    /// Several evaluations of one job in one update: each is written as if it were alone, in the order of the list, so
    /// that a successful one cancels the blocked ones before it and not those behind it.
    #[test]
    fn updates_of_several_evaluations_of_a_job_are_written_in_order() {
        let ids = ["a", "b", "c", "d"];
        for seed in 0..2000 {
            let mut dice = Dice(seed);
            let (mut w, mut alone) = (World::new(), World::new());
            let mut model: BTreeMap<String, EvalStatus> = BTreeMap::new();
            let mut duplicates = BTreeSet::new();
            w.register(None);
            alone.register(None);
            for _ in 0..3 {
                let mut list = Vec::new();
                for _ in 0..=dice.below(4) {
                    let id = ids[dice.below(4)];
                    let status = next(&mut dice, model.get(id));
                    if status == EvalStatus::Complete {
                        let others = model.iter_mut().filter(|(other, s)| *other != id && **s == EvalStatus::Blocked);
                        others.for_each(|(_, s)| *s = EvalStatus::Canceled);
                    }
                    model.insert(id.into(), status.clone());
                    list.push(eval(id, 50, status, 1));
                }
                list.iter().for_each(|e| alone.evals(vec![e.clone()]));
                w.evals(list);
                duplicates.extend(w.blocked.take_duplicates().iter().map(|e| e.id.to_string()));
            }
            let stored = |w: &World| -> BTreeMap<String, EvalStatus> {
                w.store.evals_by_create().map(|e| (e.id.to_string(), e.status.clone())).collect()
            };
            assert_eq!(stored(&w), model, "seed {seed}");
            assert_eq!(stored(&alone), model, "seed {seed}");
            let job = |w: &World| w.store.state().job("default", "web").map(|j| j.status.clone());
            assert_eq!(job(&w), job(&alone), "seed {seed}");

            // What is blocked is tracked; what is pending is dequeued or superseded by a newer one.
            let blocked: BTreeSet<&String> =
                model.iter().filter(|(_, s)| **s == EvalStatus::Blocked).map(|(id, _)| id).collect();
            let known = w.blocked.stats().blocked + blocked.iter().filter(|id| duplicates.contains(**id)).count();
            assert!(known >= blocked.len() && (!blocked.is_empty() || known == 0), "seed {seed}: {known} {model:?}");
            let mut queued = BTreeSet::new();
            while let Some(id) = w.take() {
                w.broker.ack(&id, "t", NOW).expect("ours");
                queued.insert(id);
            }
            // What another evaluation has superseded may end before it is cancelled.
            let superseded = w.broker.take_cancelable(9);
            queued.extend(
                superseded.iter().filter(|e| model[e.id.as_str()] == EvalStatus::Pending).map(|e| e.id.to_string()),
            );
            let pending = model.iter().filter(|(_, s)| **s == EvalStatus::Pending).map(|(id, _)| id.clone());
            assert_eq!(queued, pending.collect(), "seed {seed}: {model:?}");
        }
    }

    #[test]
    fn a_new_leader_evaluates_blocked_evaluations_again() {
        let mut w = World::new();
        w.register(Some(eval("first", 50, EvalStatus::Pending, 0)));
        w.evals(vec![eval("first", 50, EvalStatus::Complete, 1)]);
        w.evals(vec![eval("blocked", 50, EvalStatus::Blocked, 1)]);
        w.evals(vec![eval("next", 50, EvalStatus::Pending, 0)]);
        // Capacity becomes available, and the leader changes before a worker finishes the evaluation.
        assert_eq!(w.blocked.unblock_class("any", 9, NOW).len(), 1);
        w.new_leader();
        assert_eq!((w.take().as_deref(), w.take()), (Some("blocked"), None));
        // The capacity is insufficient: from here on, the new leader tracks the evaluation.
        let blocked = eval("blocked", 50, EvalStatus::Blocked, 9);
        assert!(w.blocked.block(Arc::new(blocked), Some("t".into()), NOW).is_empty());
        w.broker.ack("blocked", "t", NOW).expect("ours");
        assert_eq!((w.take().as_deref(), w.take(), w.blocked.stats().blocked), (Some("next"), None, 1));
    }

    #[test]
    fn a_purge_that_frees_capacity_does_not_unblock_the_blocked_evaluation_it_ends() {
        let mut w = World::new();
        let node = crate::tests::node("n1");
        w.store.put_node(Arc::new(node));
        w.register(Some(eval("first", 50, EvalStatus::Pending, 0)));
        let alloc = Allocation {
            id: "a".into(),
            namespace: "default".into(),
            job_id: "web".into(),
            node_id: "n1".into(),
            client_status: ClientStatus::Running,
            desired_status: DesiredStatus::Run,
            ..Default::default()
        };
        w.store.put_allocs(vec![Arc::new(alloc)]);
        w.evals(vec![eval("blocked", 80, EvalStatus::Blocked, 1)]);
        assert_eq!((w.take().as_deref(), w.blocked.stats().blocked), (Some("first"), 1));
        let purge = JobDeregister {
            job: JobKey::new("default", "web"),
            purge: true,
            no_shutdown_delay: false,
            eval: Some(eval("purge", 50, EvalStatus::Pending, 0)),
            submit_time: NOW,
        };
        w.write(Operation::JobDeregister(Box::new(purge)));
        assert_eq!(w.store.eval("blocked").map(|e| &e.status), Some(&EvalStatus::Complete));
        // The job is registered again. Only an evaluation that has not ended is retained.
        w.register(Some(eval("newest", 30, EvalStatus::Pending, 0)));
        w.broker.ack("first", "t", NOW).expect("ours");
        assert_eq!((w.take().as_deref(), w.blocked.stats().blocked), (Some("purge"), 0));
    }

    #[test]
    fn a_blocked_evaluation_that_ends_in_flight_does_not_replace_a_newer_one() {
        let mut w = World::new();
        w.register(Some(eval("first", 50, EvalStatus::Pending, 0)));
        assert_eq!(w.take().as_deref(), Some("first"));
        w.evals(vec![eval("blocked", 80, EvalStatus::Blocked, 1)]);
        let unblocked = w.store.eval("blocked").cloned().expect("stored");
        w.broker.enqueue(unblocked, None, NOW);
        w.register(Some(eval("newest", 30, EvalStatus::Pending, 0)));
        // The first evaluation succeeds, which cancels the blocked one in the store.
        w.evals(vec![eval("first", 50, EvalStatus::Complete, 2)]);
        assert_eq!(w.store.eval("blocked").map(|e| &e.status), Some(&EvalStatus::Canceled));
        w.broker.ack("first", "t", NOW).expect("ours");
        assert_eq!((w.broker.stats().cancelable, w.take().as_deref()), (0, Some("newest")));
    }
}
