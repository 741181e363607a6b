//! Evaluates one node in a search: the checks, the fit and the scores.

use std::sync::Arc;

use super::compiled::CompiledGroup;
use super::feasible::{self, CLASS_INELIGIBLE};
use super::metrics::{GenericScores, ScoreParts, Tally};
use super::volumes::VolumeChecks;
use super::{Random, RankedNode, SelectOptions, Stack, preempt, rank};
use crate::working_plan::WorkingPlan;
use encamp_model::Node;
use encamp_state::{AllocEntry, NodeEntry, Verdicts};

/// One option that passed feasibility and fit, with its score.
pub(crate) struct Ranked {
    node: Arc<NodeEntry>,
    fitted: rank::Fitted,
    /// The mean of its scores.
    pub score: f64,
}

impl Ranked {
    /// Its score, and who has to go.
    pub(crate) fn outcome(self) -> (f64, Vec<Arc<AllocEntry>>) {
        (self.score, self.fitted.preempted)
    }
}

/// One search's fixed inputs.
pub(crate) struct Search<'a> {
    /// The group's number in the current job.
    pub number: usize,
    /// The group, prepared.
    pub group: Arc<CompiledGroup>,
    /// The options of the caller.
    pub options: &'a SelectOptions<'a>,
    /// May evict.
    pub preempt: bool,
    /// The group's volumes, if it asks for any.
    pub volumes: Option<VolumeChecks>,
    /// Which nodes suit the group, constraints and devices aside.
    pub verdicts: Option<Arc<Verdicts>>,
}

impl Stack {
    /// The dimension that a node lacks, as far as its summary and what is known about its class tell. `None`: it is to be
    /// visited.
    pub(super) fn surely_exhausted(&self, slot: u32, plan: &WorkingPlan, search: &Search) -> Option<&'static str> {
        let (current, group) = (self.current.as_ref()?, &*search.group);
        let state = &current.groups[search.number];
        let distinct = current.distinct_hosts || group.distinct_hosts;
        let every_node_alike = !distinct && current.distinct.is_empty() && state.distinct.is_empty();
        let ports = if group.simple { 0 } else { group.late_default? };
        if !every_node_alike || search.volumes.is_some() || plan.touches(slot) {
            return None;
        }
        let class = self.index.class_of(slot);
        let suits = !current.escaped()
            && !group.escaped
            && self.classes.job(class) == Some(true)
            && self.classes.group(state.class_number, class) == Some(true);
        let summary = self.state.node_summary(slot).filter(|s| suits && s.class_holds())?;
        let dimension = summary.lacks(&group.usage, ports)?;
        (!search.preempt || self.lacks_victims(slot, group)).then_some(dimension)
    }

    /// Whether a node surely lacks room even if all of lower priority is evicted. The job's own allocations on a node take
    /// no room there when victims are chosen.
    fn lacks_victims(&self, slot: u32, group: &CompiledGroup) -> bool {
        let (Some(current), Some(node)) = (&self.current, self.state.node_at(slot)) else { return false };
        if self.is_system() || current.runs_on(slot) {
            return false;
        }
        let Some([cpu, memory, disk]) = node.by_priority.sum(|p| preempt::outranks(current.job.priority, p)) else {
            return false;
        };
        let (has, used, ask) = (&node.info, &node.usage, &group.usage);
        let lacks = |ask: i64, has: i64, used: i64, more: i64| has.saturating_sub(used).saturating_add(more) < ask;
        lacks(ask.cpu, has.cpu, used.cpu, cpu)
            || lacks(ask.memory, has.memory, used.memory, memory)
            || lacks(ask.disk, has.disk, used.disk, disk)
    }

    /// All checks before ranking (`docs/spec/scheduling.md §5.3, 6.8, 6.9`).
    pub(super) fn feasible(
        &mut self,
        entry: &NodeEntry,
        plan: &WorkingPlan,
        search: &mut Search,
        tally: &mut Tally,
    ) -> bool {
        if !self.job_accepts(entry, tally) {
            return false;
        }
        let (class, given) = (self.index.class_of(entry.slot), self.index.node_class_of(entry.slot));
        let group = &*search.group;
        let Some(current) = self.current.as_mut() else { return false };
        let holds = entry.info.class_holds;
        let class_number = current.groups[search.number].class_number;
        let group_verdict = if group.escaped { None } else { self.classes.group(class_number, class) };
        match group_verdict {
            Some(false) => {
                tally.filter_text(given, CLASS_INELIGIBLE);
                return false;
            }
            Some(true) => {}
            None => {
                let constraints = &current.groups[search.number].constraints;
                // The record of a node is decoded when it is read: this is not read if the rest suffices.
                let node = || -> &Node { &entry.node };
                let failing = |node: &_| constraints.failing(|| node, class, holds).map(|c| c.text.clone());
                let unconstrained = |n: &_| feasible::group_refuses(group, |_| None, &self.network, n).is_none();
                let verdicts = search.verdicts.as_ref();
                let (slot, traits) = (entry.slot as usize, entry.info.traits);
                let suits = verdicts.is_some_and(|v| v.holds_alike(slot, traits, || unconstrained(node())));
                let refusal = if suits {
                    constraints.failing(node, class, holds).map(|c| c.text.clone().into())
                } else {
                    feasible::group_refuses(group, failing, &self.network, node())
                };
                if !group.escaped {
                    self.classes.set_group(class_number, class, refusal.is_none());
                }
                if let Some(reason) = refusal {
                    tally.filter(given, reason);
                    return false;
                }
            }
        }
        if let Some(reason) = search.volumes.as_mut().and_then(|v| v.refuses(&self.state, plan, entry)) {
            tally.filter(given, reason);
            return false;
        }
        self.distinct(entry, plan, search, tally)
    }

    /// The job's constraints, which are remembered for each class of nodes.
    #[inline]
    fn job_accepts(&mut self, entry: &NodeEntry, tally: &mut Tally) -> bool {
        let (class, given) = (self.index.class_of(entry.slot), self.index.node_class_of(entry.slot));
        let Some(current) = self.current.as_mut() else { return false };
        let escaped = current.escaped();
        let verdict = if escaped { None } else { self.classes.job(class) };
        if verdict == Some(false) {
            tally.filter_text(given, CLASS_INELIGIBLE);
            return false;
        }
        if let Some(c) = current.constraints.failing(|| &entry.node, class, entry.info.class_holds) {
            tally.filter_text(given, &c.text);
            if !escaped {
                self.classes.set_job(class, false);
            }
            return false;
        }
        if !escaped && verdict.is_none() {
            self.classes.set_job(class, true);
        }
        true
    }

    fn distinct(&mut self, entry: &NodeEntry, plan: &WorkingPlan, search: &Search, tally: &mut Tally) -> bool {
        let (group, system) = (&*search.group, self.is_system());
        let given = self.index.node_class_of(entry.slot);
        let Some(current) = self.current.as_mut() else { return false };
        if !system && (current.distinct_hosts || group.distinct_hosts) {
            let of_group = if current.distinct_hosts { None } else { Some(group.name.as_str()) };
            if current.has_own(plan, entry, of_group) {
                tally.filter_text(given, "distinct_hosts");
                return false;
            }
        }
        let class = self.index.class_of(entry.slot);
        let mut sets = current.distinct.iter_mut().chain(&mut current.groups[search.number].distinct);
        if let Some(reason) = sets.find_map(|s| s.refuses(entry, class)) {
            tally.filter(given, reason.into());
            return false;
        }
        true
    }

    /// Fit and scores (`docs/spec/scheduling.md §7`).
    pub(super) fn rank(
        &mut self,
        entry: &Arc<NodeEntry>,
        plan: &mut WorkingPlan,
        search: &Search,
        tally: &mut Tally,
        random: &mut Random,
    ) -> Option<Ranked> {
        plan.refresh(entry);
        let system = self.is_system();
        let current = self.current.as_mut()?;
        let group = &*search.group;
        let terms = rank::Terms {
            asker: preempt::Asker { job: &current.job },
            preempt: search.preempt,
            spread: current.spread_algorithm,
        };
        let fitted = match rank::fit_group(group, entry, plan, &terms, random) {
            Ok(f) => f,
            Err(rank::Refusal::Exhausted(dimension)) => {
                tally.exhaust(self.index.node_class_of(entry.slot), dimension);
                return None;
            }
            Err(rank::Refusal::Unreported) => return None,
        };
        let mut mean = Mean::default();
        mean.add(fitted.score);
        fitted.device_score.into_iter().for_each(|s| mean.add(s));
        let mut parts = ScoreParts { binpack: fitted.score, devices: fitted.device_score, generic: None };
        if !system {
            let own = current.count_own(plan, entry, &group.name);
            let anti_affinity = if own > 0 { -((own + 1) as f64) / group.count as f64 } else { 0.0 };
            if own > 0 {
                mean.add(anti_affinity);
            }
            let penalty = if search.options.penalty_nodes.iter().any(|id| *id == entry.node.id()) { -1.0 } else { 0.0 };
            if penalty != 0.0 {
                mean.add(penalty);
            }
            let g = &mut current.groups[search.number];
            let mut affinity = 0.0;
            if !group.affinities.is_empty() {
                affinity = g.affinity(entry, self.index.class_of(entry.slot));
                mean.add(affinity);
            }
            let spread = g.spreads.score(entry, self.index.class_of(entry.slot), &mut self.spread_totals);
            if spread != 0.0 {
                mean.add(spread);
            }
            let preemption = (!fitted.preempted.is_empty()).then(|| preempt::score(&fitted.preempted));
            preemption.into_iter().for_each(|p| mean.add(p));
            parts.generic = Some(GenericScores { anti_affinity, penalty, affinity, spread, preemption });
        }
        let score = mean.value();
        tally.score(entry.slot, score, parts);
        Some(Ranked { node: entry.clone(), fitted, score })
    }

    /// Gives the chosen node's ports to the placement, where that was put off until the choice.
    pub(super) fn settle(
        &self,
        chosen: Ranked,
        plan: &WorkingPlan,
        search: &Search,
        random: &mut Random,
    ) -> Option<RankedNode> {
        let Ranked { node, fitted, score } = chosen;
        let resources = match fitted.resources {
            Some(r) => r,
            None => rank::assign_late(&search.group, &node, plan, random)?,
        };
        Some(RankedNode { node, resources, preempted: fitted.preempted, score })
    }
}

/// The mean of the scores that enter (`docs/spec/scheduling.md §7.9`).
#[derive(Default)]
struct Mean {
    sum: f64,
    count: u32,
}

impl Mean {
    fn add(&mut self, v: f64) {
        self.sum += v;
        self.count += 1;
    }

    fn value(&self) -> f64 {
        self.sum / f64::from(self.count)
    }
}
