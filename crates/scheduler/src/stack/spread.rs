//! Spread scoring (`docs/spec/scheduling.md §7.8`).

use std::collections::BTreeMap;

use super::property::{OTHERS, PropertySet};
use crate::working_plan::WorkingPlan;
use encamp_model::{Job, Spread, TaskGroup};
use encamp_state::{NodeEntry, State};

/// The desired spread over one attribute.
#[derive(Debug, Clone, Default)]
struct Detail {
    weight: f64,
    /// Wanted count per value; empty means spread evenly.
    desired: BTreeMap<String, f64>,
}

/// The spreads that concern one group.
#[derive(Debug, Clone, Default)]
pub(crate) struct GroupSpreads {
    sets: Vec<PropertySet>,
    /// By set: what is wanted for its attribute.
    details: Vec<Detail>,
    /// By set and number of a value: the wanted count.
    wanted: Vec<Vec<Option<f64>>>,
}

/// The totals of the full evaluation: the sum of weights never shrinks, the lowest boost is remembered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SpreadTotals {
    weights: f64,
    lowest: f64,
}

impl Default for SpreadTotals {
    fn default() -> Self {
        SpreadTotals { weights: 0.0, lowest: -1.0 }
    }
}

impl GroupSpreads {
    /// The job's spreads, then the group's. Adds their weights to the evaluation's sum.
    pub(crate) fn new(state: &State, job: &Job, group: &TaskGroup, totals: &mut SpreadTotals) -> GroupSpreads {
        let mut out = GroupSpreads::default();
        let mut details: BTreeMap<&str, Detail> = BTreeMap::new();
        for s in job.spreads.iter().chain(&group.spreads) {
            let explicit = s.spread_target.iter().map(|t| t.value.clone()).collect();
            out.sets.push(PropertySet::new(state, job, Some(&group.name), &s.attribute, explicit));
        }
        // The job's details win over the group's for the same attribute.
        for s in group.spreads.iter().chain(&job.spreads) {
            details.insert(&s.attribute, Detail::new(s, group.count));
            totals.weights += s.weight as f64;
        }
        out.details = out.sets.iter().map(|s| details.get(s.attribute.as_str()).cloned().unwrap_or_default()).collect();
        out.wanted = vec![Vec::new(); out.sets.len()];
        out
    }

    /// Whether there is nothing to spread by.
    pub(crate) fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// Counts the plan's changes.
    pub(crate) fn update(&mut self, state: &State, plan: &WorkingPlan) {
        for s in &mut self.sets {
            s.update(state, plan);
        }
    }

    /// The score of a node of that computed class; 0 is not reported.
    pub(crate) fn score(&mut self, entry: &NodeEntry, class: usize, totals: &mut SpreadTotals) -> f64 {
        let sets = self.sets.iter_mut().zip(&self.details).zip(&mut self.wanted);
        sets.map(|((set, detail), wanted)| boost(set, detail, wanted, entry, class, totals)).sum()
    }
}

/// The contribution of one spread to the score of a node.
fn boost(
    set: &mut PropertySet,
    detail: &Detail,
    wanted: &mut Vec<Option<f64>>,
    entry: &NodeEntry,
    class: usize,
    totals: &mut SpreadTotals,
) -> f64 {
    let Some(value) = set.value(entry, class) else { return -1.0 };
    if detail.desired.is_empty() {
        return even(set, value);
    }
    for v in wanted.len()..set.value_count() {
        wanted.push(detail.desired.get(set.text(v)).or_else(|| detail.desired.get(OTHERS)).copied());
    }
    let used = set.combined_with_others(value).unwrap_or(0) as f64 + 1.0;
    let Some(desired) = wanted[value] else { return -1.0 };
    if desired == 0.0 {
        return totals.lowest;
    }
    let boost = (desired - used) / desired * (detail.weight / totals.weights);
    totals.lowest = totals.lowest.min(boost);
    boost
}

impl Detail {
    fn new(s: &Spread, count: i64) -> Detail {
        let count = count as f64;
        // Summed up in the order of the targets: a rest that is only rounding counts too.
        let (mut desired, mut sum) = (BTreeMap::new(), 0.0);
        for t in &s.spread_target {
            let wanted = t.percent as f64 / 100.0 * count;
            desired.insert(t.value.clone(), wanted);
            sum += wanted;
        }
        if sum > 0.0 && sum < count {
            desired.insert(OTHERS.into(), count - sum);
        }
        Detail { weight: s.weight as f64, desired }
    }
}

/// The boost of a value when all values should have the same count. The node's own value is looked up even where the
/// set counts it among the others.
fn even(set: &PropertySet, value: usize) -> f64 {
    let Some((min, max)) = set.extremes() else { return 0.0 };
    let current = set.combined(value).unwrap_or(0);
    let delta = if min == 0 { -1.0 } else { (min - current) as f64 / min as f64 };
    if current != min {
        delta
    } else if min == max {
        -1.0
    } else if min == 0 {
        1.0
    } else {
        (max - min) as f64 / min as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_model::SpreadTarget;

    #[test]
    fn the_rest_is_what_the_sum_in_target_order_leaves() {
        let rest = |targets: &[(&str, u64)], count: i64| {
            let spread_target =
                targets.iter().map(|(v, p)| SpreadTarget { value: v.to_string(), percent: *p }).collect();
            let detail = Detail::new(&Spread { spread_target, ..Default::default() }, count);
            detail.desired.get(OTHERS).copied()
        };
        assert_eq!(rest(&[("r1", 70), ("r2", 20)], 10), Some(1.0));
        assert!(rest(&[("r1", 70), ("r2", 20), ("r3", 10)], 4).is_some_and(|r| r > 0.0 && r < 1e-12));
        assert_eq!(rest(&[("r3", 10), ("r2", 20), ("r1", 70)], 4), None);
        assert_eq!(rest(&[("r1", 0)], 4), None);
    }
}
