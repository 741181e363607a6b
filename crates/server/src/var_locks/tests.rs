use super::*;
use encamp_model::VariableLock;

fn variable(path: &str, lock: &str, ttl: i64, delay: i64) -> VariableEncrypted {
    let lock = VariableLock { id: lock.into(), ttl: ttl * SECOND, lock_delay: delay * SECOND };
    VariableEncrypted {
        namespace: "ns".into(),
        path: path.into(),
        lock: Some(lock).filter(|l| !l.id.is_empty()),
        ..Default::default()
    }
}

fn key(path: &str) -> Key {
    ("ns".into(), path.into())
}

fn lost(path: &str, lock: &str) -> Lost {
    Lost { key: key(path), lock_id: lock.into() }
}

fn started() -> LockTimers {
    let mut timers = LockTimers::default();
    timers.start([], 0);
    timers
}

#[test]
fn a_lock_expires_after_twice_its_ttl_and_is_released_after_its_delay() {
    let mut t = started();
    t.written(&variable("a", "1", 10, 5), true, 0);
    assert_eq!((t.counts(), t.next_deadline()), ((1, 0), Some(20 * SECOND)));
    assert_eq!(t.expired(20 * SECOND - 1), []);
    assert_eq!((t.expired(20 * SECOND), t.counts()), (vec![], (0, 1)));
    assert!(!t.renew(&key("a"), "1", 20 * SECOND), "it is too late");
    assert_eq!(t.expired(25 * SECOND - 1), []);
    assert_eq!(t.expired(25 * SECOND), [lost("a", "1")]);
    assert!(t.is_ending(&lost("a", "1")));
    assert_eq!((t.expired(99 * SECOND), t.next_deadline()), (vec![], None), "once");
    t.written(&variable("a", "", 0, 0), false, 26 * SECOND);
    assert!(!t.is_ending(&lost("a", "1")) && t.counts() == (0, 0));
}

#[test]
fn renewing_restarts_the_ttl() {
    let mut t = started();
    t.written(&variable("a", "1", 10, 0), true, 0);
    assert!(t.renew(&key("a"), "1", 15 * SECOND));
    assert_eq!(t.next_deadline(), Some(35 * SECOND));
    assert!(!t.renew(&key("a"), "2", 16 * SECOND) && !t.renew(&key("b"), "1", 16 * SECOND));
    assert!(!t.renew(&key("a"), "1", 35 * SECOND), "due, although not yet processed");
    assert_eq!(t.expired(35 * SECOND), [lost("a", "1")], "without a delay at once");
}

#[test]
fn writes_of_the_holder_keep_the_ttl_and_acquiring_restarts_it() {
    let mut t = started();
    t.written(&variable("a", "1", 10, 5), true, 0);
    t.written(&variable("a", "1", 10, 5), false, 9 * SECOND);
    assert_eq!(t.next_deadline(), Some(20 * SECOND));
    t.written(&variable("a", "1", 30, 5), true, 9 * SECOND);
    assert_eq!(t.next_deadline(), Some(69 * SECOND));
    // Expired, and acquired again by the same holder before it was released.
    assert_eq!(t.expired(69 * SECOND), []);
    assert_eq!(t.expired(74 * SECOND), [lost("a", "1")]);
    t.written(&variable("a", "1", 10, 5), true, 75 * SECOND);
    assert!(!t.is_ending(&lost("a", "1")), "held again");
    t.written(&variable("a", "2", 10, 5), false, 76 * SECOND);
    assert_eq!((t.counts(), t.next_deadline()), ((1, 0), Some(96 * SECOND)), "another lock");
    t.remove(&key("a"));
    assert_eq!((t.counts(), t.next_deadline()), ((0, 0), None));
}

#[test]
fn releasing_is_retried_with_growing_delays() {
    let mut t = started();
    t.written(&variable("a", "1", 10, 0), true, 0);
    let mut now = 20 * SECOND;
    for wait in [10, 20, 40, 80, 160, 320, 640, 640] {
        assert_eq!(t.expired(now), [lost("a", "1")]);
        t.failed(&lost("a", "1"), now);
        now += wait * SECOND;
        assert_eq!(t.next_deadline(), Some(now));
        assert_eq!(t.expired(now - 1), []);
    }
    t.failed(&lost("a", "2"), now);
    assert_eq!(t.next_deadline(), Some(now), "another lock did not fail");
}

#[test]
fn leaders_restart_all_timers_and_others_have_none() {
    let mut t = LockTimers::default();
    t.written(&variable("a", "1", 10, 5), true, 0);
    assert_eq!(t.counts(), (0, 0));
    t.start([&variable("a", "1", 10, 5), &variable("b", "", 0, 0), &variable("c", "3", 20, 5)], 100 * SECOND);
    assert_eq!((t.counts(), t.next_deadline()), ((2, 0), Some(120 * SECOND)));
    t.stop();
    assert_eq!((t.counts(), t.next_deadline(), t.expired(i64::MAX)), ((0, 0), None, vec![]));
    assert!(!t.renew(&key("a"), "1", 0));
}
