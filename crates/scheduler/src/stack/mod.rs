//! One search for a node (`docs/spec/scheduling.md`): takes candidates, returns the best node and the resources it
//! offers.
//!
//! - [`Stack`]: the search. It lives as long as one attempt at an evaluation and holds the state that the searches
//!   share: the class cache, the position in the list of nodes, counts of spreads. [`current`]: the job it places.
//!   `visit`: one node.
//! - [`compiled`]: jobs and groups prepared for many nodes. [`feasible`]: whether a node can run a group at all;
//!   [`volumes`], [`property`]: the checks that depend on the plan. [`rank`]: the resources a node offers; [`network`],
//!   [`devices`]: ports and devices; [`preempt`]: the allocations to evict. [`spread`]: the spread score. [`metrics`]:
//!   the counters. `by_class`: cached feasibility of classes. [`Judgement`]: the full evaluation of one node, for
//!   explanations.

mod by_class;
mod compiled;
mod current;
mod devices;
mod feasible;
mod judge;
mod metrics;
mod network;
mod preempt;
mod property;
mod rank;
mod spread;
#[cfg(test)]
mod tests;
mod visit;
mod volumes;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub use compiled::CompiledGroup;
use current::CurrentJob;
pub use feasible::CLASS_INELIGIBLE;
use feasible::{ClassCache, NetworkCheck};
pub use judge::Judgement;
use metrics::Tally;
pub use preempt::{PRIORITY_DELTA, outranks};
use spread::SpreadTotals;
use visit::{Ranked, Search};
use volumes::VolumeChecks;

use super::working_plan::WorkingPlan;
use encamp_model::*;
use encamp_state::{AllocEntry, NodeEntry, NodeIndex, Snapshot};

/// Uniform random numbers below the argument.
pub type Random<'a> = dyn FnMut(u64) -> u64 + 'a;

/// The default number of nodes that are scored when the job has affinities or spreads.
const DEFAULT_NODE_LIMIT: u64 = 100;
/// How many options with a score of zero or less are held back.
const MAX_SKIPPED: usize = 3;

/// Which job types a stack serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StackKind {
    /// Looks at about log2(n) nodes.
    Service,
    /// Looks at two nodes.
    Batch,
    /// One node at a time.
    System,
    /// One node at a time.
    SysBatch,
}

/// The options of a search besides the group.
#[derive(Debug, Clone, Copy, Default)]
pub struct SelectOptions<'a> {
    /// Name of the allocation to be, for per-allocation volumes.
    pub alloc_name: &'a str,
    /// A node to try before all others.
    pub preferred: Option<&'a Arc<NodeEntry>>,
    /// Nodes on which the allocation failed before.
    pub penalty_nodes: &'a [Text],
    /// May evict lower priority allocations. System stacks decide by the scheduler configuration instead.
    pub preempt: bool,
}

/// The node a search chose, and what it gives.
#[derive(Debug, Clone)]
pub struct RankedNode {
    /// The node.
    pub node: Arc<NodeEntry>,
    /// Resources of the new allocation.
    pub resources: Arc<AllocatedResources>,
    /// Allocations to evict, in the order in which they are reported.
    pub preempted: Vec<Arc<AllocEntry>>,
    /// The score that won.
    pub score: f64,
}

/// The result of one search.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// The node, if one fits.
    pub option: Option<RankedNode>,
    /// The search metrics. The caller fills in the nodes available, the nodes in the pool and the pool's name.
    pub metrics: AllocMetric,
}

/// The search for nodes of one attempt at an evaluation.
pub struct Stack {
    kind: StackKind,
    state: Snapshot,
    index: Arc<NodeIndex>,
    /// Slots of the candidates in the order in which they are visited.
    nodes: Vec<u32>,
    offset: usize,
    seen: usize,
    limit: usize,
    current: Option<CurrentJob>,
    classes: ClassCache,
    missing_resources: BTreeSet<String>,
    network: NetworkCheck,
    spread_totals: SpreadTotals,
}

impl Stack {
    /// A stack without job and nodes.
    pub fn new(kind: StackKind, state: Snapshot) -> Stack {
        Stack {
            kind,
            index: state.node_index().clone(),
            classes: ClassCache::new(state.node_index().classes().len()),
            state,
            nodes: Vec::new(),
            offset: 0,
            seen: 0,
            limit: 2,
            current: None,
            missing_resources: BTreeSet::new(),
            network: NetworkCheck::default(),
            spread_totals: SpreadTotals::default(),
        }
    }

    fn is_system(&self) -> bool {
        matches!(self.kind, StackKind::System | StackKind::SysBatch)
    }

    /// Whether the scheduler configuration lets jobs of this kind evict others; without one everybody may.
    pub(crate) fn preemption_enabled(&self) -> bool {
        self.state.scheduler_config.as_ref().is_none_or(|c| match self.kind {
            StackKind::Service => c.preemption_config.service_scheduler_enabled,
            StackKind::Batch => c.preemption_config.batch_scheduler_enabled,
            StackKind::System => c.preemption_config.system_scheduler_enabled,
            StackKind::SysBatch => c.preemption_config.sys_batch_scheduler_enabled,
        })
    }

    /// Sets the job; nothing happens if its version is the one already set (`docs/spec/scheduling.md §4.1`). The
    /// scheduler configuration is merged with that of the job's pool (`§9`).
    pub fn set_job(&mut self, job: &Arc<Job>) {
        if self.current.as_ref().is_some_and(|c| c.job.version == job.version) {
            return;
        }
        self.current = Some(CurrentJob::new(&self.state, job, self.is_system()));
    }

    /// Sets the candidates in the order in which they are visited; the place in the list and the limit restart.
    pub fn set_nodes(&mut self, slots: Vec<u32>) {
        self.nodes = slots;
        self.restart();
    }

    /// Sets exactly one candidate.
    pub(crate) fn set_node(&mut self, node: &NodeEntry) {
        self.nodes.clear();
        self.nodes.push(node.slot);
        self.restart();
    }

    fn restart(&mut self) {
        self.offset = 0;
        self.limit = match self.kind {
            StackKind::Service if !self.nodes.is_empty() => 2.max(ceil_log2(self.nodes.len())),
            _ => 2,
        };
    }

    /// Whether the job or any of its groups, placed or not, depends on more than computed classes
    /// (`docs/spec/scheduling.md §5.2, 5.4`).
    pub fn escaped(&self) -> bool {
        self.current.as_ref().is_some_and(|c| c.escaped() || c.job.task_groups.iter().any(compiled::escaped))
    }

    /// The verdicts per computed class so far.
    pub fn class_eligibility(&self) -> BTreeMap<String, bool> {
        self.classes.eligibility(self.index.classes())
    }

    /// Things other than nodes that were missing, sorted.
    pub fn missing_non_node_resources(&self) -> Vec<String> {
        self.missing_resources.iter().cloned().collect()
    }

    /// Looks for the best node for a group (`docs/spec/scheduling.md §4.1`). Without a job nothing is found.
    pub fn select(
        &mut self,
        plan: &mut WorkingPlan,
        group: &TaskGroup,
        options: &SelectOptions,
        random: &mut Random,
    ) -> Selection {
        if let Some(preferred) = options.preferred {
            let all = std::mem::replace(&mut self.nodes, vec![preferred.slot]);
            self.offset = 0;
            let found = self.search(plan, group, &SelectOptions { preferred: None, ..*options }, random);
            self.nodes = all;
            self.offset = 0;
            if found.option.is_some() {
                return found;
            }
        }
        self.search(plan, group, options, random)
    }

    fn search(
        &mut self,
        plan: &mut WorkingPlan,
        group: &TaskGroup,
        options: &SelectOptions,
        random: &mut Random,
    ) -> Selection {
        let Some(number) = self.prepare(plan, group) else { return Selection::default() };
        let Some(current) = self.current.as_mut() else { return Selection::default() };
        let verdicts = current.groups[number].verdicts(&self.network, &self.index);
        let compiled = current.groups[number].compiled.clone();
        let preempt = if self.is_system() { self.preemption_enabled() } else { options.preempt };
        let volumes = self.volume_checks(plan, group, options);
        let mut search = Search { number, options, preempt, volumes, group: compiled, verdicts };
        let mut tally = Tally::default();
        self.seen = 0;
        let best = if self.is_system() {
            self.next_ranked(plan, &mut search, &mut tally, random)
        } else {
            self.best(plan, &mut search, &mut tally, random)
        };
        let option = best.and_then(|b| self.settle(b, plan, &search, random));
        Selection { option, metrics: tally.into_metric(&self.state) }
    }

    /// Loads the group: compiles it once, brings counts up to date, widens the limit. Returns its number.
    fn prepare(&mut self, plan: &WorkingPlan, group: &TaskGroup) -> Option<usize> {
        let system = self.is_system();
        if system {
            self.classes.clear();
            self.missing_resources.clear();
        }
        let current = self.current.as_mut()?;
        let number = current.number(&self.state, group, &mut self.spread_totals);
        let g = &mut current.groups[number];
        g.class_number = self.classes.group_number(&g.compiled.name);
        self.network.set_group(&g.compiled);
        current.distinct.iter_mut().for_each(|s| s.update(&self.state, plan));
        g.distinct.iter_mut().for_each(|s| s.update(&self.state, plan));
        if !system {
            g.spreads.update(&self.state, plan);
            if !g.spreads.is_empty() || !g.compiled.affinities.is_empty() {
                let config = self.state.scheduler_config.as_ref();
                let configured = config.map_or(0, |c| c.node_limit_for_feasibility_checks);
                let limit = if configured == 0 { DEFAULT_NODE_LIMIT } else { configured };
                self.limit = usize::try_from(limit.max(u64::try_from(group.count).unwrap_or(0))).unwrap_or(usize::MAX);
            }
        }
        Some(number)
    }

    fn volume_checks(
        &mut self,
        plan: &WorkingPlan,
        group: &TaskGroup,
        options: &SelectOptions,
    ) -> Option<VolumeChecks> {
        group.volumes.as_ref().filter(|v| !v.is_empty())?;
        let job = &self.current.as_ref()?.job;
        let checks = VolumeChecks::new(&self.state, plan, job, group, options.alloc_name);
        self.missing_resources.extend(checks.missing_resources());
        Some(checks)
    }

    /// The limit stage and the choice of the best (`docs/spec/scheduling.md §7.10`).
    fn best(
        &mut self,
        plan: &mut WorkingPlan,
        search: &mut Search,
        tally: &mut Tally,
        random: &mut Random,
    ) -> Option<Ranked> {
        let mut skipped: Vec<Ranked> = Vec::new();
        let mut held_back = 0;
        let mut best: Option<Ranked> = None;
        for _ in 0..self.limit {
            let mut option = self.next_ranked(plan, search, tally, random);
            while held_back < MAX_SKIPPED && option.as_ref().is_some_and(|o| o.score <= 0.0) {
                held_back += 1;
                skipped.extend(option);
                option = self.next_ranked(plan, search, tally, random);
            }
            if option.is_none() && !skipped.is_empty() {
                option = Some(skipped.remove(0));
            }
            let Some(option) = option else { break };
            if best.as_ref().is_none_or(|b| option.score > b.score) {
                best = Some(option);
            }
        }
        best
    }

    /// Draws nodes until one can take the group.
    fn next_ranked(
        &mut self,
        plan: &mut WorkingPlan,
        search: &mut Search,
        tally: &mut Tally,
        random: &mut Random,
    ) -> Option<Ranked> {
        let state = self.state.clone();
        while self.seen < self.nodes.len() {
            if self.offset >= self.nodes.len() {
                self.offset = 0;
            }
            let slot = self.nodes[self.offset];
            self.offset += 1;
            self.seen += 1;
            tally.evaluate();
            if let Some(dimension) = self.surely_exhausted(slot, plan, search) {
                tally.exhaust(self.index.node_class_of(slot), dimension.into());
                continue;
            }
            let Some(entry) = state.node_at(slot) else { continue };
            if !self.feasible(entry, plan, search, tally) {
                continue;
            }
            if let Some(r) = self.rank(entry, plan, search, tally, random) {
                return Some(r);
            }
        }
        None
    }
}

/// The smallest k with 2^k >= n, for n > 0.
fn ceil_log2(n: usize) -> usize {
    n.next_power_of_two().trailing_zeros() as usize
}
