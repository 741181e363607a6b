//! Drain deadlines (`docs/spec/server.md §12.2`, `§12.4`).

use encamp_model::{DrainStrategy, SECOND};

/// Deadlines less than this after the earliest one are handled together with it.
const COALESCE: i64 = 5 * SECOND;

/// The deadline of a drain in Unix nanoseconds: `i64::MIN` for a forced drain, `None` for a drain without a deadline.
pub fn deadline(strategy: &DrainStrategy) -> Option<i64> {
    match strategy.deadline {
        ..0 => Some(i64::MIN),
        0 => None,
        after => {
            let started = || Some(strategy.started_at.unix_nanos()?.saturating_add(after));
            strategy.force_deadline.unix_nanos().or_else(started)
        }
    }
}

/// Returns the nodes that are due, and the next deadline. Nodes with close deadlines wait for the latest among them, so
/// a node may be up to five seconds late; forced drains never wait.
pub fn due<'a>(deadlines: impl IntoIterator<Item = (&'a str, i64)>, now: i64) -> (Vec<&'a str>, Option<i64>) {
    let mut rest: Vec<(i64, &str)> = deadlines.into_iter().map(|(node, at)| (at, node)).collect();
    rest.sort_unstable();
    let mut due = Vec::new();
    let mut rest = rest.as_slice();
    while let Some((first, node)) = rest.first() {
        if *first == i64::MIN {
            due.push(*node);
            rest = rest.get(1..).unwrap_or_default();
            continue;
        }
        let (together, others) = rest.split_at(rest.partition_point(|(at, _)| at.saturating_sub(*first) < COALESCE));
        let at = together.last().map_or(*first, |(at, _)| *at);
        if at > now {
            return (due, Some(at));
        }
        due.extend(together.iter().map(|(_, node)| *node));
        rest = others;
    }
    (due, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_model::Time;

    const S: i64 = SECOND;

    #[test]
    fn deadlines() {
        let strategy = |deadline, force| DrainStrategy {
            deadline,
            force_deadline: force,
            started_at: Time::from_unix_nanos(100),
            ..Default::default()
        };
        assert_eq!(deadline(&strategy(-1, Time::ZERO)), Some(i64::MIN));
        assert_eq!(deadline(&strategy(0, Time::ZERO)), None);
        assert_eq!(deadline(&strategy(7, Time::from_unix_nanos(300))), Some(300));
        assert_eq!(deadline(&strategy(7, Time::ZERO)), Some(107));
    }

    #[test]
    fn close_ones_are_handled_together() {
        let all = [("a", 100 * S), ("b", 104 * S), ("c", 105 * S), ("d", 111 * S)];
        let at = |now| due(all, now * S);
        assert_eq!(at(100), (vec![], Some(104 * S)), "the earliest waits for the latest");
        assert_eq!(at(104), (vec!["a", "b"], Some(105 * S)), "five seconds later is not close");
        assert_eq!(at(105), (vec!["a", "b", "c"], Some(111 * S)));
        assert_eq!(at(200), (vec!["a", "b", "c", "d"], None));
        assert_eq!(due([], 0), (vec![], None));
    }

    #[test]
    fn forced_drains_do_not_wait() {
        assert_eq!(due([("a", 3 * S), ("now", i64::MIN), ("b", 4 * S)], 0), (vec!["now"], Some(4 * S)));
        assert_eq!(due([("now", i64::MIN), ("early", i64::MIN + 1)], i64::MIN), (vec!["now"], Some(i64::MIN + 1)));
    }
}
