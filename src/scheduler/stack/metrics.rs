//! What a search counts while it looks at nodes, and the metrics it turns into (`spec/scheduling.md §10`).

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::model::{AllocMetric, Node, NodeScoreMeta, Scores};

/// How many scored nodes are kept.
const TOP: usize = 5;

/// Counters of one search.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    evaluated: i64,
    filtered: i64,
    exhausted: i64,
    class_filtered: BTreeMap<String, i64>,
    class_exhausted: BTreeMap<String, i64>,
    constraint_filtered: BTreeMap<Cow<'static, str>, i64>,
    dimension_exhausted: BTreeMap<Cow<'static, str>, i64>,
    top: TopScores,
}

fn bump<K: Ord>(m: &mut BTreeMap<K, i64>, key: K) {
    *m.entry(key).or_default() += 1;
}

fn bump_class(m: &mut BTreeMap<String, i64>, node: &Node) {
    if node.node_class.is_empty() {
        return;
    }
    match m.get_mut(&node.node_class) {
        Some(n) => *n += 1,
        None => {
            m.insert(node.node_class.clone(), 1);
        }
    }
}

impl Tally {
    /// A node was drawn.
    pub fn evaluate(&mut self) {
        self.evaluated += 1;
    }

    /// A node can't run the group.
    pub fn filter(&mut self, node: &Node, reason: Cow<'static, str>) {
        self.filtered += 1;
        bump_class(&mut self.class_filtered, node);
        bump(&mut self.constraint_filtered, reason);
    }

    /// A node can't run it for a constraint whose text is borrowed.
    pub fn filter_text(&mut self, node: &Node, reason: &str) {
        self.filtered += 1;
        bump_class(&mut self.class_filtered, node);
        match self.constraint_filtered.get_mut(reason) {
            Some(n) => *n += 1,
            None => {
                self.constraint_filtered.insert(Cow::Owned(reason.to_string()), 1);
            }
        }
    }

    /// A node has too little of something.
    pub fn exhaust(&mut self, node: &Node, dimension: Cow<'static, str>) {
        self.exhausted += 1;
        bump_class(&mut self.class_exhausted, node);
        bump(&mut self.dimension_exhausted, dimension);
    }

    /// A node was scored.
    pub fn score(&mut self, node: &Node, norm_score: f64, scores: impl FnOnce() -> Scores) {
        self.top.offer(node, norm_score, scores);
    }

    /// The metrics, without what only the caller knows.
    pub fn into_metric(self) -> AllocMetric {
        let owned = |m: BTreeMap<Cow<'static, str>, i64>| m.into_iter().map(|(k, v)| (k.into_owned(), v)).collect();
        AllocMetric {
            nodes_evaluated: self.evaluated,
            nodes_filtered: self.filtered,
            nodes_exhausted: self.exhausted,
            class_filtered: self.class_filtered,
            class_exhausted: self.class_exhausted,
            constraint_filtered: owned(self.constraint_filtered),
            dimension_exhausted: owned(self.dimension_exhausted),
            score_meta_data: self.top.into_sorted(),
            ..Default::default()
        }
    }
}

/// The best nodes: a min-heap whose layout decides the order of equal scores.
#[derive(Debug, Clone, Default)]
struct TopScores {
    heap: Vec<NodeScoreMeta>,
}

impl TopScores {
    fn less(&self, a: usize, b: usize) -> bool {
        self.heap[a].norm_score < self.heap[b].norm_score
    }

    fn offer(&mut self, node: &Node, norm_score: f64, scores: impl FnOnce() -> Scores) {
        let full = self.heap.len() == TOP;
        if full && self.heap[0].norm_score.partial_cmp(&norm_score) != Some(std::cmp::Ordering::Less) {
            return;
        }
        let entry = NodeScoreMeta { node_id: node.id.clone(), scores: scores(), norm_score };
        if full {
            self.heap[0] = entry;
            self.sift_down(self.heap.len());
            return;
        }
        self.heap.push(entry);
        let mut i = self.heap.len() - 1;
        while i > 0 && self.less(i, (i - 1) / 2) {
            self.heap.swap(i, (i - 1) / 2);
            i = (i - 1) / 2;
        }
    }

    fn sift_down(&mut self, len: usize) {
        let mut i = 0;
        loop {
            let (left, right) = (2 * i + 1, 2 * i + 2);
            if left >= len {
                return;
            }
            let child = if right < len && self.less(right, left) { right } else { left };
            if !self.less(child, i) {
                return;
            }
            self.heap.swap(i, child);
            i = child;
        }
    }

    /// Best first.
    fn into_sorted(mut self) -> Vec<NodeScoreMeta> {
        for last in (1..self.heap.len()).rev() {
            self.heap.swap(0, last);
            self.sift_down(last);
        }
        self.heap
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_scores_come_out_in_heap_order() {
        let order = |names: &str| -> String {
            let mut top = TopScores::default();
            for c in names.chars() {
                let node = Node { id: c.to_string(), ..Default::default() };
                top.offer(&node, 1.0, Scores::default);
            }
            top.into_sorted().into_iter().map(|s| s.node_id).collect()
        };
        assert_eq!(order("ABCDE"), "BCDEA");
        assert_eq!(order("ABCD"), "BCDA");
    }
}
