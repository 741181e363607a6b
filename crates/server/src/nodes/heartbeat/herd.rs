//! Nodes that fall silent together are written together. One node is marked at once; when many follow each other, each
//! writing waits the longer the more nodes the one before had. Thousands of lost nodes then cost some dozens of log
//! entries, and the evaluations of a job that they make come in some dozens of bursts, of which two are scheduled each
//! (`docs/spec/server.md §5.4`).

use encamp_model::SECOND;

/// How much longer the next writing waits for each node of this one.
const PER_NODE: i64 = SECOND / 5;
/// The longest wait.
const LONGEST: i64 = 5 * SECOND;

/// Nodes whose time is over and who are not written yet. Times are Unix nanoseconds.
#[derive(Debug, Default)]
pub(crate) struct Herd {
    waiting: Vec<String>,
    /// When nodes were taken last.
    taken: i64,
    /// How long to wait after that.
    wait: i64,
}

impl Herd {
    /// Adds nodes whose timers fired; gives those to be written now.
    pub(crate) fn take(&mut self, fired: Vec<String>, now: i64) -> Vec<String> {
        self.waiting.extend(fired);
        let since = now.saturating_sub(self.taken);
        if self.waiting.is_empty() || (0..self.wait).contains(&since) {
            return Vec::new();
        }
        let count = i64::try_from(self.waiting.len()).unwrap_or(i64::MAX);
        let calm = since > 2 * LONGEST;
        let before = if calm { 0 } else { self.wait };
        // A herd that thins out is still one.
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
        let mut herd = Herd::default();
        for t in 1..100 {
            assert_eq!(herd.take(named(t..t + 1), t as i64 * SECOND / 10).len(), 1);
            assert!(herd.take(vec![], t as i64 * SECOND / 10).is_empty());
        }
    }

    #[test]
    fn a_rack_waits_less_than_a_second_and_nobody_is_forgotten() {
        let mut herd = Herd::default();
        assert_eq!(herd.take(named(0..3), SECOND), named(0..3));
        assert!(herd.take(named(3..4), SECOND + 1).is_empty());
        assert_eq!(herd.take(vec![], SECOND + 3 * PER_NODE), named(3..4));
        // The clock was set back.
        assert_eq!(herd.take(named(4..6), 0), named(4..6));
        assert_eq!(herd.take(named(6..7), 20 * SECOND), named(6..7), "long after");
        assert_eq!(herd.take(named(7..8), 20 * SECOND + 1), named(7..8));
    }

    #[test]
    fn thousands_are_written_in_dozens_of_entries() {
        let mut herd = Herd::default();
        let (mut entries, mut nodes, mut oldest_wait) = (0, 0, 0);
        let mut first_waiting = None;
        // 25 nodes each second, for 200 seconds.
        for tick in 0..2100_i64 {
            let now = tick * SECOND / 10;
            let fired = if tick < 2000 && tick % 2 == 0 { named(0..5) } else { vec![] };
            if !fired.is_empty() {
                first_waiting.get_or_insert(now);
            }
            let taken = herd.take(fired, now);
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
