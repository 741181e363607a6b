//! The worked example E10 of `docs/spec/server.md §25`, and a comparison of the wheel with a plain map.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use encamp_model::SECOND;

fn with_timers(n: usize) -> Heartbeats {
    let mut h = Heartbeats::new(HeartbeatSettings::default());
    h.start((0..n).map(|i| format!("n{i}")), 0);
    h
}

#[test]
fn e10_the_more_nodes_the_rarer_their_heartbeats() {
    let mut h = with_timers(2000);
    assert_eq!(h.active(), 2000);
    let ttl = h.reset("n7", 0, (15 * SECOND).unsigned_abs()).unwrap();
    assert_eq!(ttl, 55 * SECOND);
    assert!(h.expired(65 * SECOND - 1).is_empty());
    assert_eq!(h.expired(65 * SECOND), ["n7"]);
    assert_eq!(h.active(), 1999);
    assert_eq!(h.expired(300 * SECOND).len(), 1999);
    let s = HeartbeatSettings::default();
    for (n, base) in [(1, 10), (100, 10), (500, 10), (501, 10), (5000, 100), (100_000, 2000)] {
        let base = if n == 501 { 10_020_000_000 } else { base * SECOND };
        assert_eq!(s.ttl(n, 0), base, "{n}");
        assert_eq!(s.ttl(n, base.unsigned_abs() - 1), 2 * base - 1, "{n}");
        assert_eq!(s.ttl(n, base.unsigned_abs()), base, "{n}");
    }
    for odd in [0.0, -1.0, f64::NAN] {
        assert_eq!(HeartbeatSettings { max_per_second: odd, ..s }.ttl(5, 0), 10 * SECOND, "{odd}");
    }
    let none = HeartbeatSettings { min_ttl: 0, ..s };
    assert_eq!(none.ttl(0, 7), 0);
}

#[test]
fn only_the_leader_has_timers() {
    let mut h = Heartbeats::new(HeartbeatSettings::default());
    assert_eq!(h.reset("n", 0, 0).unwrap_err().to_string(), "failed to reset heartbeat since server is not leader");
    h.start(["a", "b"], 0);
    assert_eq!(h.next_deadline(), Some(300 * SECOND));
    assert!(h.contains("a") && h.remove("a") && !h.remove("a") && !h.contains("a"));
    h.reset("c", 0, 0).unwrap();
    assert_eq!(h.next_deadline(), Some(20 * SECOND));
    assert_eq!(h.expired(1000 * SECOND), ["c", "b"]);
    assert_eq!((h.active(), h.next_deadline()), (0, None));
    h.reset("c", 0, 0).unwrap();
    h.stop();
    assert_eq!((h.active(), h.next_deadline()), (0, None));
    assert_eq!(h.reset("c", 0, 0), Err(NotLeader));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn the_wheel_fires_exactly_when_a_map_would(
        steps in proptest::collection::vec((0u8..10, 0u8..12, any::<u32>()), 1..150)
    ) {
        let (mut wheel, mut naive) = (Wheel::default(), BTreeMap::<String, i64>::new());
        let mut now = 1_700_000_000 * SECOND;
        for (op, node, amount) in steps {
            let name = format!("n{node}");
            match op {
                0..=5 => {
                    // From milliseconds to an hour, sometimes in the past.
                    let scale = [1_000, 100_000, 1_000_000][usize::from(op % 3)];
                    let deadline = now + i64::from(amount) * scale / 1000 - if op == 0 { SECOND } else { 0 };
                    wheel.set(&name, deadline, now);
                    naive.insert(name, deadline);
                }
                6 => prop_assert_eq!(wheel.remove(&name), naive.remove(&name).is_some()),
                _ => {
                    now += match op {
                        7 => i64::from(amount) / 40,
                        8 => i64::from(amount) * 100,
                        _ if amount % 16 == 0 => i64::from(amount) * 1000,
                        // The machine's clock was set back.
                        _ => -i64::from(amount % 4) * SECOND,
                    };
                    let mut due: Vec<(i64, String)> =
                        naive.iter().filter(|(_, d)| **d <= now).map(|(n, d)| (*d, n.clone())).collect();
                    due.sort();
                    naive.retain(|_, d| *d > now);
                    let due: Vec<String> = due.into_iter().map(|(_, n)| n).collect();
                    prop_assert_eq!(wheel.expired(now), due);
                }
            }
            prop_assert_eq!(wheel.len(), naive.len());
            let first = naive.values().min().copied();
            let next = wheel.next_deadline();
            prop_assert_eq!(next.is_some(), first.is_some());
            prop_assert!(next <= first, "{:?} is later than {:?}", next, first);
        }
        // Following the times of the wheel finds every timer in a bounded number of steps.
        let mut looks = 0;
        while let Some(next) = wheel.next_deadline() {
            now = now.max(next);
            let mut fired = wheel.expired(now);
            for name in fired.drain(..) {
                prop_assert!(naive.remove(&name).is_some_and(|d| d <= now));
            }
            looks += 1;
            prop_assert!(looks < 20_000, "the wheel does not terminate");
        }
        prop_assert!(naive.is_empty());
    }
}
