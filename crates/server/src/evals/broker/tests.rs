//! The worked examples E1 to E5 of `docs/spec/server.md §25`, and the edge cases of `§4`.

use super::*;
use encamp_model::{EvalStatus, Time};

const ALL: [JobType; 2] = [JobType::Service, JobType::Batch];
const SERVICE: QueueName = QueueName::Scheduler(JobType::Service);

fn eval(id: &str, job: &str, priority: i64, index: u64) -> Evaluation {
    Evaluation {
        id: id.into(),
        namespace: "default".into(),
        job_id: job.into(),
        priority,
        r#type: JobType::Service,
        status: EvalStatus::Pending,
        create_index: index,
        modify_index: index,
        ..Evaluation::default()
    }
}

fn enabled() -> Broker {
    let mut b = Broker::new();
    b.set_enabled(true);
    b
}

fn put(b: &mut Broker, e: Evaluation, now: i64) {
    b.enqueue(Arc::new(e), None, now);
}

fn take(b: &mut Broker, schedulers: &[JobType], token: &str, now: i64) -> Option<Delivery> {
    b.dequeue(schedulers, now, 0, || token.to_string()).unwrap()
}

fn id_of(d: Option<Delivery>) -> String {
    d.map(|d| d.eval.id.to_string()).unwrap_or_default()
}

fn ids(evals: &[Arc<Evaluation>]) -> Vec<&str> {
    evals.iter().map(|e| e.id.as_str()).collect()
}

#[test]
fn e1_of_a_burst_for_one_job_the_first_and_the_newest_run() {
    let mut b = enabled();
    for n in 1..=20 {
        put(&mut b, eval(&format!("a{n}"), "j", 50, 100 + n), 0);
    }
    assert_eq!((b.stats().ready, b.stats().pending), (1, 19));
    assert!(b.has_ready());
    assert_eq!(id_of(take(&mut b, &ALL, "t", 0)), "a1");
    let s = b.stats();
    assert_eq!((s.ready, s.unacked, s.pending), (0, 1, 19));
    assert!(!b.has_ready());
    assert_eq!(s.by_queue[&SERVICE], QueueStats { ready: 0, unacked: 1 });

    b.ack("a1", "t", SECOND).unwrap();
    let s = b.stats();
    assert_eq!((s.ready, s.unacked, s.pending, s.cancelable), (1, 0, 0, 18));
    let batch = b.take_cancelable(CANCEL_BATCH);
    assert_eq!(ids(&batch), (2..=19).map(|n| format!("a{n}")).collect::<Vec<_>>());
    assert!(b.take_cancelable(CANCEL_BATCH).is_empty());

    assert_eq!(id_of(take(&mut b, &ALL, "u", SECOND)), "a20");
    b.ack("a20", "u", SECOND).unwrap();
    assert_eq!(b.stats(), Stats { by_queue: [(SERVICE, QueueStats::default())].into(), ..Stats::default() });
    assert_eq!(b.next_deadline(), None);
    assert!(b.known.is_empty() && b.jobs.is_empty(), "nothing is retained of acked evaluations");
}

#[test]
fn ended_evaluations_are_not_retained_for_their_priority() {
    let mut b = enabled();
    put(&mut b, eval("a", "j", 50, 100), 0);
    take(&mut b, &ALL, "t", 0);
    for (id, priority, index) in [("blocked", 80, 90), ("old", 30, 110), ("new", 30, 120)] {
        put(&mut b, eval(id, "j", priority, index), 0);
    }
    let ended = ["blocked", "a", "unknown"].map(|id| eval(id, "j", 1, 1));
    assert_eq!(b.drop_pending(&ended), (1, vec![]));
    assert_eq!(b.drop_pending(&ended), (0, vec![]));
    assert_eq!(b.stats().pending, 2);
    b.ack("a", "t", 1).unwrap();
    assert_eq!(ids(&b.take_cancelable(10)), ["old"]);
    let ended = [eval("new", "j", 1, 1)];
    assert_eq!(b.drop_pending(&ended), (0, vec![&ended[0]]), "it is ready");
    assert_eq!(id_of(take(&mut b, &ALL, "u", 1)), "new");
}

#[test]
fn without_shedding_every_one_of_a_burst_runs() {
    let mut b = enabled();
    b.set_shedding(false);
    b.set_enabled(false);
    b.set_enabled(true);
    for n in 1..=5 {
        put(&mut b, eval(&format!("a{n}"), "j", 50, 100 + n), 0);
    }
    for (n, want) in ["a1", "a5", "a4", "a3", "a2"].into_iter().enumerate() {
        assert_eq!((b.stats().ready, b.stats().pending), (1, 4 - n));
        assert_eq!(id_of(take(&mut b, &ALL, "t", 0)), want);
        b.ack(want, "t", SECOND).unwrap();
        assert_eq!(b.stats().cancelable, 0);
    }
    assert!(b.known.is_empty() && b.jobs.is_empty());
}

#[test]
fn e2_priority_goes_before_age() {
    let mut b = enabled();
    put(&mut b, eval("x", "j", 50, 100), 0);
    take(&mut b, &ALL, "t", 0);
    for (id, priority, index) in [("p1", 50, 110), ("p2", 80, 105), ("p3", 80, 107)] {
        put(&mut b, eval(id, "j", priority, index), 0);
    }
    b.ack("x", "t", 1).unwrap();
    assert_eq!(ids(&b.take_cancelable(10)), ["p1", "p2"]);
    assert_eq!(id_of(take(&mut b, &ALL, "u", 1)), "p3");
}

#[test]
fn e3_an_evaluation_unblocked_while_outstanding_is_enqueued_after_the_ack() {
    let mut b = enabled();
    put(&mut b, eval("b", "j", 50, 100), 0);
    take(&mut b, &ALL, "t", 0);
    let again = Evaluation { modify_index: 120, ..eval("b", "j", 50, 100) };
    b.enqueue(Arc::new(again.clone()), Some("other"), 1);
    b.enqueue(Arc::new(again.clone()), Some("t"), 1);
    b.ack("b", "t", 2).unwrap();
    let d = take(&mut b, &ALL, "u", 2).unwrap();
    assert_eq!((d.eval.modify_index, d.deliveries), (120, 1));

    b.enqueue(Arc::new(again), Some("u"), 3);
    b.nack("b", "u", 4).unwrap();
    assert_eq!(b.stats().waiting, 1);
    b.tick(4 + INITIAL_NACK_DELAY);
    assert_eq!(take(&mut b, &ALL, "v", 4 + INITIAL_NACK_DELAY).unwrap().deliveries, 2);
    b.ack("b", "v", 4 + INITIAL_NACK_DELAY).unwrap();
    assert!(b.known.is_empty(), "the nack dropped the evaluation to be enqueued");
}

#[test]
fn e4_a_crashed_worker_loses_its_evaluation() {
    let mut b = enabled();
    put(&mut b, eval("a", "j", 50, 1), 0);
    take(&mut b, &ALL, "t", 0);
    assert_eq!(b.next_deadline(), Some(60 * SECOND));
    assert!(b.tick(60 * SECOND - 1).is_empty());
    assert_eq!(b.ack("a", "t", 60 * SECOND).unwrap_err(), BrokerError::TooLate, "the timer has fired");
    let lost = b.tick(60 * SECOND);
    assert_eq!((lost.len(), lost[0].ending, lost[0].process), (1, Ending::TimedOut, 60 * SECOND));
    assert_eq!(b.ack("a", "t", 60 * SECOND).unwrap_err(), BrokerError::NotFound);
    assert_eq!(b.next_deadline(), Some(61 * SECOND));
    b.tick(61 * SECOND);
    assert_eq!(id_of(take(&mut b, &ALL, "u", 61 * SECOND)), "a");
    assert_eq!(b.ack("a", "t", 62 * SECOND).unwrap_err(), BrokerError::WrongToken);
    b.ack("a", "u", 62 * SECOND).unwrap();
}

#[test]
fn e5_jobs_of_one_name_in_two_namespaces_run_side_by_side() {
    let mut b = enabled();
    put(&mut b, eval("a", "j", 50, 1), 0);
    put(&mut b, Evaluation { namespace: "other".into(), ..eval("b", "j", 60, 2) }, 0);
    assert_eq!(b.stats().ready, 2);
    assert_eq!(id_of(take(&mut b, &ALL, "t", 0)), "b");
    assert_eq!(id_of(take(&mut b, &ALL, "u", 0)), "a");
}

#[test]
fn an_evaluation_that_always_fails_ends_in_the_failed_queue() {
    let mut b = enabled();
    put(&mut b, eval("a", "j", 50, 1), 0);
    put(&mut b, eval("b", "j", 50, 2), 0);
    let mut now = 0;
    for (n, delay) in [(1, SECOND), (2, 20 * SECOND)] {
        let d = take(&mut b, &ALL, "t", now).unwrap();
        assert_eq!((d.eval.id.as_str(), d.deliveries), ("a", n));
        b.nack("a", "t", now).unwrap();
        assert_eq!(b.next_deadline(), Some(now + delay));
        assert_eq!(b.stats().pending, 1, "the job's slot stays held");
        assert_eq!(id_of(take(&mut b, &ALL, "t", now)), "");
        now += delay;
        b.tick(now);
    }
    take(&mut b, &ALL, "t", now);
    b.nack("a", "t", now).unwrap();
    assert_eq!(b.stats().by_queue[&QueueName::Failed], QueueStats { ready: 1, unacked: 0 });
    assert_eq!(id_of(take(&mut b, &ALL, "t", now)), "");
    // The reaper's write fails once: the evaluation is ready again at once.
    b.dequeue_failed(now, || "r".into()).unwrap();
    assert_eq!(b.stats().by_queue[&QueueName::Failed], QueueStats { ready: 0, unacked: 1 });
    now += NACK_TIMEOUT;
    b.tick(now);
    assert_eq!(b.stats().by_queue[&QueueName::Failed], QueueStats { ready: 1, unacked: 0 });
    assert_eq!(b.stats().by_queue[&SERVICE], QueueStats::default());
    b.dequeue_failed(now, || "r".into()).unwrap();
    b.ack("a", "r", now).unwrap();
    assert_eq!(id_of(take(&mut b, &ALL, "t", now)), "b");
}

#[test]
fn delayed_evaluations_do_not_hold_their_job() {
    let mut b = enabled();
    put(&mut b, Evaluation { wait: 5 * SECOND, ..eval("w", "j", 50, 1) }, 0);
    put(&mut b, Evaluation { wait_until: Time::from_unix_nanos(7 * SECOND), ..eval("d", "j", 50, 2) }, 0);
    put(&mut b, Evaluation { wait_until: Time::from_unix_nanos(-1), ..eval("past", "j2", 90, 3) }, 0);
    put(&mut b, eval("a", "j", 50, 4), 0);
    let s = b.stats();
    assert_eq!((s.ready, s.waiting, s.delayed), (2, 2, 1));
    assert_eq!(b.delayed().map(|(e, due)| (e.id.as_str(), due)).collect::<Vec<_>>(), [("d", 7 * SECOND)]);
    assert_eq!(id_of(take(&mut b, &ALL, "t", 0)), "past");
    assert_eq!(id_of(take(&mut b, &ALL, "u", 0)), "a");
    assert_eq!(b.next_deadline(), Some(5 * SECOND));
    b.tick(5 * SECOND);
    assert_eq!((b.stats().pending, b.stats().waiting), (1, 1));
    assert!(b.drop_waiting("d") && !b.drop_waiting("d") && !b.drop_waiting("w") && !b.drop_waiting("a"));
    assert_eq!((b.stats().waiting, b.stats().delayed), (0, 0));
    b.ack("a", "u", 6 * SECOND).unwrap();
    let d = take(&mut b, &ALL, "v", 8 * SECOND).unwrap();
    assert_eq!((d.eval.id.as_str(), d.wait), ("w", Some(3 * SECOND)), "the delay is not part of the waiting time");
}

#[test]
fn times_of_the_machines_clock_are_those_of_the_broker_plus_a_difference() {
    let mut b = enabled();
    let waits = |id: &str, until| Evaluation { wait_until: Time::from_unix_nanos(until), ..eval(id, id, 50, 1) };
    b.set_wall_ahead(100 * SECOND);
    put(&mut b, waits("later", 107 * SECOND), 0);
    put(&mut b, waits("past", 99 * SECOND), 0);
    assert_eq!((b.stats().ready, b.stats().waiting), (1, 1));
    assert_eq!(b.next_deadline(), Some(7 * SECOND));
    // The machine's clock is set back: the delay of the one is not changed, the other's is counted from the new time.
    b.set_wall_ahead(0);
    put(&mut b, waits("new", 9 * SECOND), 2 * SECOND);
    b.tick(7 * SECOND);
    assert_eq!((b.stats().ready, b.next_deadline()), (2, Some(9 * SECOND)));
}

#[test]
fn the_highest_priority_of_all_named_queues_is_dequeued_first() {
    let mut b = enabled();
    let batch = |id: &str, priority, index| Evaluation { r#type: JobType::Batch, ..eval(id, id, priority, index) };
    put(&mut b, eval("s80", "s80", 80, 1), 0);
    put(&mut b, eval("s20", "s20", 20, 2), 0);
    put(&mut b, batch("b50", 50, 3), 0);
    put(&mut b, Evaluation { r#type: JobType::Core, ..eval("gc", "gc", 32767, 0) }, 0);
    let signals = b.take_signals().iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(signals, ["_core", "batch", "service"]);
    assert!(b.take_signals().is_empty());
    assert_eq!(id_of(take(&mut b, &ALL, "1", 0)), "s80");
    assert_eq!(id_of(take(&mut b, &ALL, "2", 0)), "b50");
    assert_eq!(id_of(take(&mut b, &[JobType::Batch], "3", 0)), "");
    assert_eq!(id_of(take(&mut b, &ALL, "3", 0)), "s20");
    assert_eq!(id_of(take(&mut b, &[JobType::Core], "4", 0)), "gc");
    // With equal priorities, the queue is picked at random; within a queue, the oldest evaluation is first.
    for choice in 0..4 {
        let mut b = enabled();
        put(&mut b, eval("s2", "s2", 50, 2), 0);
        put(&mut b, eval("s1", "s1", 50, 1), 0);
        put(&mut b, batch("b", 50, 3), 0);
        let d = b.dequeue(&ALL, 0, choice, String::new).unwrap();
        assert_eq!(id_of(d), if choice % 2 == 0 { "s1" } else { "b" });
    }
}

#[test]
fn nack_timers_are_reset_paused_and_resumed() {
    let mut b = enabled();
    put(&mut b, eval("a", "j", 50, 1), 0);
    assert_eq!(b.reset("a", "t", 0).unwrap_err().to_string(), "evaluation is not outstanding");
    assert_eq!(b.pause("x", "t", 0).unwrap_err().to_string(), "evaluation is not outstanding");
    take(&mut b, &ALL, "t", 0);
    assert_eq!(b.outstanding("a"), Some("t"));
    assert_eq!(b.outstanding("x"), None);
    assert_eq!(b.reset("a", "u", 0).unwrap_err().to_string(), "evaluation token does not match");
    assert_eq!(b.resume("a", "u", 0).unwrap_err().to_string(), "evaluation token does not match");
    b.reset("a", "t", 10 * SECOND).unwrap();
    assert_eq!(b.next_deadline(), Some(70 * SECOND));
    b.pause("a", "t", 20 * SECOND).unwrap();
    assert_eq!(b.next_deadline(), None);
    assert!(b.tick(1000 * SECOND).is_empty());
    b.resume("a", "t", 1000 * SECOND).unwrap();
    assert_eq!(b.next_deadline(), Some(1060 * SECOND));
    assert_eq!(b.pause("a", "t", 1060 * SECOND).unwrap_err().to_string(), "evaluation nack timeout reached");
    assert_eq!(b.reset("a", "t", 1060 * SECOND).unwrap_err(), BrokerError::NackTimeoutReached);
    b.resume("a", "t", 1060 * SECOND).unwrap();
    assert_eq!(b.tick(1060 * SECOND).len(), 1, "resuming does not revive");
    assert_eq!(b.nack("a", "t", 1060 * SECOND).unwrap_err().to_string(), "Evaluation ID not found");
}

#[test]
fn disabled_means_empty() {
    let mut b = Broker::new();
    put(&mut b, eval("a", "j", 50, 1), 0);
    b.put_back(vec![Arc::new(eval("a", "j", 50, 1))]);
    assert_eq!(b.stats(), Stats::default());
    assert_eq!(b.dequeue(&ALL, 0, 0, String::new).unwrap_err().to_string(), "eval broker disabled");
    b.set_enabled(true);
    put(&mut b, eval("a", "j", 50, 1), 0);
    take(&mut b, &ALL, "t", 0);
    b.set_enabled(false);
    b.set_enabled(true);
    assert_eq!((b.stats(), b.next_deadline()), (Stats::default(), None));
    assert_eq!(b.ack("a", "t", 1).unwrap_err(), BrokerError::NotFound);
}

#[test]
fn cancelled_batches_come_back_when_they_could_not_be_written() {
    let mut b = enabled();
    for n in 0..6 {
        put(&mut b, eval(&format!("a{n}"), "j", 50, n), 0);
    }
    let core = Evaluation { r#type: JobType::Core, ..eval("core", "j", 50, 0) };
    put(&mut b, core, 0);
    take(&mut b, &ALL, "t", 0);
    b.ack("a0", "t", 0).unwrap();
    assert_eq!(b.stats().cancelable, 5);
    let batch = b.take_cancelable(2);
    assert_eq!(ids(&batch), ["a1", "a2"]);
    // Meanwhile one of them was enqueued again: it must not be cancelled any more.
    put(&mut b, eval("a2", "j", 50, 2), 0);
    b.put_back(batch);
    assert_eq!(b.stats().cancelable, 4);
    assert_eq!(ids(&b.take_cancelable(10)), ["a1", "a3", "a4"], "core evaluations are never stored");
    assert_eq!(b.stats().cancelable, 0);
}

#[test]
fn metrics_know_waiting_processing_and_responding() {
    let mut b = enabled();
    put(&mut b, eval("a", "j", 50, 1), 5);
    b.restore(Arc::new(eval("r", "k", 10, 1)), 5);
    assert_eq!(take(&mut b, &ALL, "t", 12).unwrap().wait, Some(7));
    let f = b.ack("a", "t", 20).unwrap();
    assert_eq!((f.process, f.response, f.ending), (8, Some(15), Ending::Acked));
    assert_eq!(take(&mut b, &ALL, "u", 30).unwrap().wait, None);
    let f = b.nack("r", "u", 31).unwrap();
    assert_eq!((f.process, f.response, f.ending), (1, None, Ending::Nacked));
}

#[test]
fn requests_are_checked() {
    assert_eq!(check_request(&[], 1).unwrap_err().to_string(), "dequeue requires at least one scheduler type");
    assert_eq!(
        check_request(&ALL, 2).unwrap_err().to_string(),
        "dequeue disallowed: calling scheduler version is 2; leader version is 1"
    );
    check_request(&ALL, SCHEDULER_VERSION).unwrap();
    let (a, b) = (eval("a", "j", 1, 7), eval("b", "j", 1, 9));
    assert_eq!((wait_index(&a, [&b]), wait_index(&b, [&a]), wait_index(&a, [])), (9, 9, 7));
}

/// 50,000 evaluations of 10 jobs: two evaluations of each job run, the others are cancelled in batches.
#[test]
fn a_flood_is_shed() {
    let mut b = enabled();
    let evals = (0..50_000u64).map(|n| (Arc::new(eval(&format!("e{n}"), &format!("j{}", n % 10), 50, n)), None));
    b.enqueue_all(evals, 0);
    let (mut processed, mut cancelled, mut entries) = (0, 0, 0);
    while let Some(d) = take(&mut b, &ALL, "t", 1) {
        b.ack(&d.eval.id, "t", 1).unwrap();
        processed += 1;
    }
    loop {
        let batch = b.take_cancelable(CANCEL_BATCH);
        if batch.is_empty() {
            break;
        }
        cancelled += batch.len();
        entries += 1;
    }
    assert_eq!((processed, cancelled, entries), (20, 49_980, 7));
}
