//! Batches nodes whose heartbeats expire together. A single node is marked at once; if many nodes expire in succession,
//! the delay of a batch grows with the number of nodes in the previous one. Thousands of lost nodes therefore cost some
//! dozens of log entries, and the evaluations that they create for a job arrive in some dozens of bursts, of which two
//! evaluations each are scheduled (`docs/spec/server.md §5.4`).

use encamp_model::SECOND;

/// How much longer the next batch waits for each node of the current one.
const PER_NODE: i64 = SECOND / 5;
/// The longest delay.
const LONGEST: i64 = 5 * SECOND;

/// Nodes whose heartbeat timers expired and whose status has not been written yet. Times are Unix nanoseconds.
#[derive(Debug, Default)]
pub(crate) struct ExpiredNodes {
    waiting: Vec<String>,
    /// When the last batch was taken.
    taken: i64,
    /// The delay after that.
    wait: i64,
}

impl ExpiredNodes {
    /// Adds nodes whose timers fired. Returns the nodes to be written now.
    pub(crate) fn take(&mut self, fired: Vec<String>, now: i64) -> Vec<String> {
        self.waiting.extend(fired);
        let since = now.saturating_sub(self.taken);
        if self.waiting.is_empty() || (0..self.wait).contains(&since) {
            return Vec::new();
        }
        let count = i64::try_from(self.waiting.len()).unwrap_or(i64::MAX);
        let calm = since > 2 * LONGEST;
        let before = if calm { 0 } else { self.wait };
        // A decreasing rate of lost nodes still needs batches.
        self.wait = if count > 1 { count.saturating_mul(PER_NODE).max(before).min(LONGEST) } else { before / 2 };
        self.taken = now;
        std::mem::take(&mut self.waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(numbers: std::ops::Range<usize>) -> Vec<String> {
        numbers.map(|n| format!("n{n}")).collect()
    }

    #[test]
    fn single_nodes_do_not_wait() {
        let mut expired = ExpiredNodes::default();
        for t in 1..100 {
            assert_eq!(expired.take(named(t..t + 1), t as i64 * SECOND / 10).len(), 1);
            assert!(expired.take(vec![], t as i64 * SECOND / 10).is_empty());
        }
    }

    #[test]
    fn a_rack_waits_less_than_a_second_and_no_node_is_forgotten() {
        let mut expired = ExpiredNodes::default();
        assert_eq!(expired.take(named(0..3), SECOND), named(0..3));
        assert!(expired.take(named(3..4), SECOND + 1).is_empty());
        assert_eq!(expired.take(vec![], SECOND + 3 * PER_NODE), named(3..4));
        // The clock was set back.
        assert_eq!(expired.take(named(4..6), 0), named(4..6));
        assert_eq!(expired.take(named(6..7), 20 * SECOND), named(6..7), "long after");
        assert_eq!(expired.take(named(7..8), 20 * SECOND + 1), named(7..8));
    }

    #[test]
    fn thousands_are_written_in_dozens_of_entries() {
        let mut expired = ExpiredNodes::default();
        let (mut entries, mut nodes, mut oldest_wait) = (0, 0, 0);
        let mut first_waiting = None;
        // 25 nodes each second, for 200 seconds.
        for tick in 0..2100_i64 {
            let now = tick * SECOND / 10;
            let fired = if tick < 2000 && tick % 2 == 0 { named(0..5) } else { vec![] };
            if !fired.is_empty() {
                first_waiting.get_or_insert(now);
            }
            let taken = expired.take(fired, now);
            if !taken.is_empty() {
                entries += 1;
                nodes += taken.len();
                oldest_wait = oldest_wait.max(now - first_waiting.take().unwrap_or(now));
            }
        }
        assert_eq!(nodes, 5000);
        assert!(entries < 60, "{entries}");
        assert!(oldest_wait <= LONGEST, "{oldest_wait}");
    }
}
