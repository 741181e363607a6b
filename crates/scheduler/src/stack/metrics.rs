//! The counters of a search and the metrics made from them (`docs/spec/scheduling.md §10`).

use std::borrow::Cow;
use std::collections::BTreeMap;

use encamp_model::{AllocMetric, NodeScoreMeta, Scores};
use encamp_state::State;

/// How many scored nodes are kept.
const TOP: usize = 5;

/// Counters of one search. Nodes are counted by the numbers of their node classes in the node index.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    evaluated: i64,
    filtered: i64,
    exhausted: i64,
    class_filtered: Vec<i64>,
    class_exhausted: Vec<i64>,
    constraint_filtered: Texts,
    dimension_exhausted: Texts,
    top: TopScores,
}

/// How often each text was given: there are few of them, and most are given many times.
#[derive(Debug, Clone, Default)]
struct Texts(Vec<(Cow<'static, str>, i64)>);

impl Texts {
    fn count(&mut self, text: &str) -> Option<&mut i64> {
        let same = |known: &str| std::ptr::eq(known, text) || known == text;
        self.0.iter_mut().find(|(known, _)| same(known)).map(|(_, n)| n)
    }

    fn bump(&mut self, text: Cow<'static, str>) {
        match self.count(&text) {
            Some(n) => *n += 1,
            None => self.0.push((text, 1)),
        }
    }

    fn bump_text(&mut self, text: &str) {
        match self.count(text) {
            Some(n) => *n += 1,
            None => self.0.push((Cow::Owned(text.to_string()), 1)),
        }
    }

    fn into_map(self) -> BTreeMap<String, i64> {
        self.0.into_iter().map(|(text, n)| (text.into_owned(), n)).collect()
    }
}

fn bump_class(counts: &mut Vec<i64>, class: usize) {
    if counts.len() <= class {
        counts.resize(class + 1, 0);
    }
    counts[class] += 1;
}

/// The counts by name, of nodes with a class.
fn by_name(counts: &[i64], names: &[String]) -> BTreeMap<String, i64> {
    let counted = names.iter().zip(counts).filter(|(name, n)| !name.is_empty() && **n > 0);
    counted.map(|(name, n)| (name.clone(), *n)).collect()
}

impl Tally {
    /// A node was drawn.
    pub(crate) fn evaluate(&mut self) {
        self.evaluated += 1;
    }

    /// A node of a node class can't run the group.
    pub(crate) fn filter(&mut self, class: usize, reason: Cow<'static, str>) {
        self.filtered += 1;
        bump_class(&mut self.class_filtered, class);
        self.constraint_filtered.bump(reason);
    }

    /// A node can't run it for a constraint whose text is borrowed.
    pub(crate) fn filter_text(&mut self, class: usize, reason: &str) {
        self.filtered += 1;
        bump_class(&mut self.class_filtered, class);
        self.constraint_filtered.bump_text(reason);
    }

    /// A node has too little of something.
    pub(crate) fn exhaust(&mut self, class: usize, dimension: Cow<'static, str>) {
        self.exhausted += 1;
        bump_class(&mut self.class_exhausted, class);
        self.dimension_exhausted.bump(dimension);
    }

    /// The node in that slot was scored.
    pub(crate) fn score(&mut self, slot: u32, norm_score: f64, parts: ScoreParts) {
        self.top.offer(Scored { slot, norm_score, parts });
    }

    /// The metrics, without what only the caller knows.
    pub(crate) fn into_metric(self, state: &State) -> AllocMetric {
        let classes = state.node_index().node_classes();
        AllocMetric {
            nodes_evaluated: self.evaluated,
            nodes_filtered: self.filtered,
            nodes_exhausted: self.exhausted,
            class_filtered: by_name(&self.class_filtered, classes),
            class_exhausted: by_name(&self.class_exhausted, classes),
            constraint_filtered: self.constraint_filtered.into_map(),
            dimension_exhausted: self.dimension_exhausted.into_map(),
            score_meta_data: self.top.into_sorted().into_iter().filter_map(|s| s.meta(state)).collect(),
            ..Default::default()
        }
    }
}

/// The scores of a node by scorer.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ScoreParts {
    /// Fit score.
    pub binpack: f64,
    /// Device score, if any device affinity has a weight.
    pub devices: Option<f64>,
    /// Metrics of service and batch jobs only.
    pub generic: Option<GenericScores>,
}

/// The scores that only service and batch jobs have.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct GenericScores {
    /// Other allocations of the group on the node.
    pub anti_affinity: f64,
    /// The allocation failed there before.
    pub penalty: f64,
    /// Affinities.
    pub affinity: f64,
    /// Spreads; 0 does not show.
    pub spread: f64,
    /// The allocations to evict, if any.
    pub preemption: Option<f64>,
}

/// A node with its scores.
#[derive(Debug, Clone, Copy)]
struct Scored {
    slot: u32,
    norm_score: f64,
    parts: ScoreParts,
}

impl Scored {
    fn meta(&self, state: &State) -> Option<NodeScoreMeta> {
        let ScoreParts { binpack, devices, generic } = self.parts;
        let mut s = Scores(Vec::with_capacity(if generic.is_some() { 7 } else { 2 }));
        s.set("binpack", binpack);
        devices.into_iter().for_each(|d| s.set("devices", d));
        if let Some(g) = generic {
            s.set("job-anti-affinity", g.anti_affinity);
            s.set("node-reschedule-penalty", g.penalty);
            s.set("node-affinity", g.affinity);
            if g.spread != 0.0 {
                s.set("allocation-spread", g.spread);
            }
            g.preemption.into_iter().for_each(|p| s.set("preemption", p));
        }
        let node_id = state.node_at(self.slot)?.node.id().to_string();
        Some(NodeScoreMeta { node_id, scores: s, norm_score: self.norm_score })
    }
}

/// The best nodes: a min-heap whose layout decides the order of equal scores.
#[derive(Debug, Clone, Default)]
struct TopScores {
    heap: Vec<Scored>,
}

impl TopScores {
    fn less(&self, a: usize, b: usize) -> bool {
        self.heap[a].norm_score < self.heap[b].norm_score
    }

    fn offer(&mut self, entry: Scored) {
        let full = self.heap.len() == TOP;
        if full && self.heap[0].norm_score.partial_cmp(&entry.norm_score) != Some(std::cmp::Ordering::Less) {
            return;
        }
        if full {
            self.heap[0] = entry;
            self.sift_down(self.heap.len());
            return;
        }
        if self.heap.capacity() == 0 {
            self.heap.reserve_exact(TOP);
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
    fn into_sorted(mut self) -> Vec<Scored> {
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
            for c in names.bytes() {
                top.offer(Scored { slot: u32::from(c), norm_score: 1.0, parts: ScoreParts::default() });
            }
            top.into_sorted().into_iter().filter_map(|s| char::from_u32(s.slot)).collect()
        };
        assert_eq!(order("ABCDE"), "BCDEA");
        assert_eq!(order("ABCD"), "BCDA");
    }
}
