//! Nodes that repeatedly reject plans become ineligible for scheduling (`docs/spec/server.md §7.7`).

use std::collections::{HashMap, VecDeque};

use crate::settings::RejectionSettings;
use encamp_model::MINUTE;
use encamp_model::token_bucket::TokenBucket;

/// Maximum number of nodes that are tracked.
const MOST_NODES: usize = 50;
/// Maximum number of nodes that can become ineligible at once.
const BURST: f64 = 10.0;
/// Nanoseconds until one more node can become ineligible: 5 in 30 minutes.
const REFILL: i64 = 6 * MINUTE;
/// Subsystem of the event that is added to a node that becomes ineligible.
pub(crate) const EVENT_SUBSYSTEM: &str = "Scheduler";
/// Message of that event.
pub(crate) const EVENT_MESSAGE: &str = "Node marked as ineligible for scheduling due to multiple plan rejections, see \
                                 plan_rejection_tracker in the configuration of the servers";

#[derive(Debug, Default)]
struct Rejections {
    times: VecDeque<i64>,
    used: u64,
}

/// Counts rejections by node and reports nodes with too many of them. Times are Unix nanoseconds.
#[derive(Debug)]
pub(crate) struct RejectionTracker {
    settings: RejectionSettings,
    nodes: HashMap<String, Rejections>,
    /// Limits how many nodes become ineligible.
    rate: TokenBucket,
    uses: u64,
}

impl RejectionTracker {
    /// A tracker without any rejections.
    pub(crate) fn new(settings: RejectionSettings) -> RejectionTracker {
        RejectionTracker { settings, nodes: HashMap::new(), rate: TokenBucket::every(REFILL, BURST), uses: 0 }
    }

    /// Records a rejection for a node. Returns whether the node is to become ineligible.
    pub(crate) fn add(&mut self, node_id: &str, now: i64) -> bool {
        if !self.settings.enabled {
            return false;
        }
        self.uses += 1;
        if !self.nodes.contains_key(node_id) && self.nodes.len() >= MOST_NODES {
            let oldest = self.nodes.iter().min_by_key(|(_, r)| r.used).map(|(id, _)| id.clone());
            oldest.and_then(|id| self.nodes.remove(&id));
        }
        let start = now.saturating_sub(self.settings.node_window);
        let node = self.nodes.entry(node_id.to_string()).or_default();
        node.used = self.uses;
        node.times.push_back(now);
        while node.times.front().is_some_and(|t| *t < start) {
            node.times.pop_front();
        }
        // Entries beyond the threshold carry no information.
        while node.times.len() > self.settings.node_threshold.max(1) {
            node.times.pop_front();
        }
        node.times.len() >= self.settings.node_threshold && self.rate.try_take(now)
    }

    /// Current rejection counts by node (gauge `plan.rejection_tracker.node_score`).
    pub(crate) fn scores(&self, now: i64) -> impl Iterator<Item = (&str, usize)> {
        let start = now.saturating_sub(self.settings.node_window);
        self.nodes.iter().map(move |(id, r)| (id.as_str(), r.times.iter().filter(|t| **t >= start).count()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_model::SECOND;

    fn tracker(node_threshold: usize) -> RejectionTracker {
        RejectionTracker::new(RejectionSettings { enabled: true, node_threshold, node_window: 5 * MINUTE })
    }

    #[test]
    fn the_window_ends_and_its_boundary_counts() {
        let mut t = tracker(3);
        assert!(!t.add("n", 0) && !t.add("n", MINUTE));
        assert!(t.add("n", 5 * MINUTE), "0 still counts");
        assert!(t.add("n", 5 * MINUTE + SECOND), "and those before keep counting");
        assert!(!t.add("n", 30 * MINUTE));
        assert_eq!(t.scores(30 * MINUTE).collect::<Vec<_>>(), [("n", 1)]);
        assert_eq!(t.scores(36 * MINUTE).collect::<Vec<_>>(), [("n", 0)]);
    }

    #[test]
    fn scores_are_not_cut_short_below_the_threshold() {
        let mut t = tracker(100);
        assert_eq!((0..99).filter(|i| t.add("n", *i)).count(), 0);
        assert_eq!(t.scores(99).collect::<Vec<_>>(), [("n", 99)]);
        assert!(t.add("n", 99));
    }

    #[test]
    fn few_nodes_at_a_time() {
        let mut t = tracker(1);
        let out = |t: &mut RejectionTracker, now| (0..20).filter(|i| t.add(&format!("n{i}"), now)).count();
        assert_eq!(out(&mut t, 0), 10);
        assert_eq!(out(&mut t, 5 * MINUTE), 0);
        assert_eq!(out(&mut t, 6 * MINUTE), 1);
        assert_eq!(out(&mut t, 36 * MINUTE), 5);
        assert_eq!(out(&mut t, 1000 * MINUTE), 10);
    }

    #[test]
    fn fifty_nodes_are_remembered() {
        let mut t = tracker(2);
        for i in 0..50 {
            assert!(!t.add(&format!("n{i}"), 0));
        }
        assert!(t.add("n0", 1));
        assert!(!t.add("new", 2));
        assert!(t.add("n0", 3), "recently used");
        assert!(!t.add("n1", 4), "evicted");
    }

    #[test]
    fn disabled_by_default() {
        let mut t = RejectionTracker::new(RejectionSettings::default());
        assert!((0..1000).all(|i| !t.add("n", i)));
        assert_eq!(t.scores(0).count(), 0);
        RejectionSettings::default().check().unwrap();
        let bad = RejectionSettings { node_threshold: 0, ..RejectionSettings::default() };
        assert!(bad.check().unwrap_err().to_string().contains("node_threshold"));
        let bad = RejectionSettings { node_window: 0, ..RejectionSettings::default() };
        assert!(bad.check().unwrap_err().to_string().contains("node_window"));
    }
}
