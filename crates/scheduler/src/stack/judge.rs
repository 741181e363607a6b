//! The full evaluation of one node: the search's own checks, without the results it caches per class.

use std::sync::Arc;

use super::feasible;
use super::metrics::Tally;
use super::visit::Search;
use super::{Random, SelectOptions, Stack};
use crate::constraint::FoundValue;
use crate::working_plan::WorkingPlan;
use encamp_model::{Scores, TaskGroup};
use encamp_state::{AllocEntry, NodeEntry};

/// The verdict of a group's search for a node.
#[derive(Debug, Clone)]
pub enum Judgement {
    /// It can't run the group.
    Filtered {
        /// As metrics name the reason.
        reason: String,
        /// What the node has of the attributes that the reason names.
        found: FoundValue,
    },
    /// It has too little of something.
    Exhausted {
        /// As metrics name it.
        dimension: String,
        /// MHz or MB that are asked for and free, for `cpu`, `memory` and `disk`.
        amounts: Option<(i64, i64)>,
    },
    /// It is passed over without a trace.
    PassedOver,
    /// It can take an allocation.
    Fits {
        /// The mean of the scores that enter.
        score: f64,
        /// Its scores by scorer.
        scores: Scores,
        /// The allocations to evict.
        victims: Vec<Arc<AllocEntry>>,
    },
}

impl Stack {
    /// Judges nodes one by one for a group of the current job, as a search would that has seen nothing yet. `preempt`:
    /// what does not fit may evict others.
    pub fn judge(
        &mut self,
        nodes: &[Arc<NodeEntry>],
        group: &TaskGroup,
        plan: &mut WorkingPlan,
        preempt: bool,
        random: &mut Random,
    ) -> Vec<Judgement> {
        let Some(number) = self.prepare(plan, group) else { return Vec::new() };
        let Some(current) = self.current.as_mut() else { return Vec::new() };
        let verdicts = current.groups[number].verdicts(&self.network, &self.index);
        let compiled = current.groups[number].compiled.clone();
        let options = SelectOptions::default();
        let volumes = self.volume_checks(plan, group, &options);
        let mut search = Search { number, options: &options, preempt, volumes, group: compiled, verdicts };
        nodes.iter().map(|node| self.judge_one(node, plan, &mut search, random)).collect()
    }

    fn judge_one(
        &mut self,
        node: &Arc<NodeEntry>,
        plan: &mut WorkingPlan,
        search: &mut Search,
        random: &mut Random,
    ) -> Judgement {
        self.classes.clear();
        let mut tally = Tally::default();
        let feasible = self.feasible(node, plan, search, &mut tally);
        let ranked = if feasible { self.rank(node, plan, search, &mut tally, random) } else { None };
        let metric = tally.into_metric(&self.state);
        if let Some(ranked) = ranked {
            let scores = metric.score_meta_data.into_iter().next().map(|s| s.scores).unwrap_or_default();
            let (score, victims) = ranked.outcome();
            return Judgement::Fits { score, scores, victims };
        }
        if let Some((dimension, _)) = metric.dimension_exhausted.into_iter().next() {
            let amounts = amounts(&dimension, node, plan, search);
            return Judgement::Exhausted { dimension, amounts };
        }
        match metric.constraint_filtered.into_iter().next() {
            Some((reason, _)) => Judgement::Filtered { found: self.found(node, search.number, &reason), reason },
            None => Judgement::PassedOver,
        }
    }

    /// What the node has of the attributes of the constraint with that text, or the drivers it lacks.
    fn found(&self, node: &NodeEntry, number: usize, reason: &str) -> FoundValue {
        let Some(current) = self.current.as_ref() else { return FoundValue::NotRead };
        if reason == feasible::MISSING_DRIVERS {
            let missing =
                current.groups[number].compiled.drivers.iter().filter(|d| !feasible::has_driver(&node.node, d));
            return FoundValue::Value(missing.map(|d| format!("no {d}")).collect::<Vec<_>>().join(", "));
        }
        let mut checks = current.constraints.checks().chain(current.groups[number].constraints.checks());
        checks.find(|c| c.text == reason).map_or(FoundValue::NotRead, |c| c.found(&node.node))
    }
}

fn amounts(dimension: &str, node: &NodeEntry, plan: &WorkingPlan, search: &Search) -> Option<(i64, i64)> {
    let (ask, usage, info) = (&search.group.usage, plan.usage_of(node), &node.info);
    match dimension {
        "cpu" => Some((ask.cpu, info.cpu.saturating_sub(usage.cpu))),
        "memory" => Some((ask.memory, info.memory.saturating_sub(usage.memory))),
        "disk" => Some((ask.disk, info.disk.saturating_sub(usage.disk))),
        _ => None,
    }
}
