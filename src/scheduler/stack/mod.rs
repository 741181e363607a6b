//! One search for a node (`spec/scheduling.md`): candidates in, the best node with what it gives the allocation out.
//!
//! - [`Stack`]: the search. Lives as long as one attempt at an evaluation and keeps what the searches share: the class
//!   cache, the place in the list of nodes, counts of spreads.
//! - [`compiled`]: jobs and groups prepared for many nodes. [`feasible`]: can a node run it at all; [`volumes`],
//!   [`property`]: the checks that depend on the plan. [`rank`]: what a node gives; [`network`], [`devices`]: ports and
//!   devices; [`preempt`]: whom to evict. [`spread`]: the spread score. [`metrics`]: what was looked at.

mod compiled;
mod devices;
mod feasible;
mod metrics;
mod network;
mod preempt;
mod property;
mod rank;
mod spread;
#[cfg(test)]
mod tests;
mod volumes;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use compiled::CompiledGroup;
use feasible::{CLASS_INELIGIBLE, ClassCache, NetworkCheck};
use metrics::Tally;
use property::DistinctProperty;
use spread::{GroupSpreads, SpreadTotals};
use volumes::VolumeChecks;

use super::constraint::Check;
use super::working_plan::WorkingPlan;
use crate::model::*;
use crate::state::{AllocEntry, NodeEntry, Snapshot};

/// Uniform random numbers below the argument.
pub type Random<'a> = dyn FnMut(u64) -> u64 + 'a;

/// How many nodes are looked at when affinities or spreads are in play and nothing else is configured.
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

/// What a search is for besides the group.
#[derive(Debug, Clone, Copy, Default)]
pub struct SelectOptions<'a> {
    /// Name of the allocation to be, for per-allocation volumes.
    pub alloc_name: &'a str,
    /// A node to try before all others.
    pub preferred: Option<&'a Arc<NodeEntry>>,
    /// Nodes on which the allocation failed before.
    pub penalty_nodes: &'a [String],
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
    /// What was looked at. Nodes available, nodes in pool and the pool's name are the caller's to fill.
    pub metrics: AllocMetric,
}

/// A candidate with the number of its class.
#[derive(Debug, Clone)]
struct Candidate {
    entry: Arc<NodeEntry>,
    class: usize,
}

/// What a stored allocation of the job ID counts for on its node.
#[derive(Debug, Clone)]
struct Own {
    group: String,
    same_namespace: bool,
}

/// The job being placed, prepared.
struct CurrentJob {
    job: Arc<Job>,
    constraints: Vec<Check>,
    distinct_hosts: bool,
    groups: HashMap<String, Arc<CompiledGroup>>,
    /// Stored allocations of the job ID by node, client-terminal ones left out.
    own: HashMap<String, Vec<Own>>,
    distinct: Option<Vec<DistinctProperty>>,
    group_distinct: HashMap<String, Vec<DistinctProperty>>,
    spreads: HashMap<String, GroupSpreads>,
    spread_algorithm: bool,
    oversubscription: bool,
}

/// The search for nodes of one attempt at an evaluation.
pub struct Stack {
    kind: StackKind,
    state: Snapshot,
    nodes: Vec<Candidate>,
    offset: usize,
    seen: usize,
    limit: usize,
    current: Option<CurrentJob>,
    classes: ClassCache,
    job_escaped: bool,
    /// Any group of the job, whether or not it is to be placed.
    group_escaped: bool,
    missing_resources: BTreeSet<String>,
    network: NetworkCheck,
    spread_totals: SpreadTotals,
}

/// One option that passed feasibility and fit, with its scores.
struct Ranked {
    candidate: usize,
    fitted: rank::Fitted,
    score: f64,
}

/// One search's fixed inputs.
struct Search<'a> {
    group: Arc<CompiledGroup>,
    options: &'a SelectOptions<'a>,
    preempt: bool,
    volumes: Option<VolumeChecks>,
}

impl Stack {
    /// A stack without job and nodes.
    pub fn new(kind: StackKind, state: Snapshot) -> Stack {
        Stack {
            kind,
            state,
            nodes: Vec::new(),
            offset: 0,
            seen: 0,
            limit: 2,
            current: None,
            classes: ClassCache::default(),
            job_escaped: false,
            group_escaped: false,
            missing_resources: BTreeSet::new(),
            network: NetworkCheck::default(),
            spread_totals: SpreadTotals::default(),
        }
    }

    fn is_system(&self) -> bool {
        matches!(self.kind, StackKind::System | StackKind::SysBatch)
    }

    /// Whether the scheduler configuration lets jobs of this kind evict others; without one everybody may.
    pub fn preemption_enabled(&self) -> bool {
        self.state.scheduler_config.as_ref().is_none_or(|c| match self.kind {
            StackKind::Service => c.preemption_config.service_scheduler_enabled,
            StackKind::Batch => c.preemption_config.batch_scheduler_enabled,
            StackKind::System => c.preemption_config.system_scheduler_enabled,
            StackKind::SysBatch => c.preemption_config.sys_batch_scheduler_enabled,
        })
    }

    /// Sets the job; nothing happens if its version is the one already set (`spec/scheduling.md §4.1`). The scheduler
    /// configuration is merged with that of the job's pool (`§9`).
    pub fn set_job(&mut self, job: &Arc<Job>) {
        if self.current.as_ref().is_some_and(|c| c.job.version == job.version) {
            return;
        }
        let config = self.state.scheduler_config.as_ref();
        let pool = self.state.node_pool(&job.node_pool).and_then(|p| p.scheduler_configuration.as_ref());
        let algorithm = pool
            .map(|p| p.scheduler_algorithm.as_str())
            .filter(|a| !a.is_empty())
            .or(config.map(|c| c.scheduler_algorithm.as_str()));
        let oversubscription = pool
            .and_then(|p| p.memory_oversubscription_enabled)
            .unwrap_or(config.is_some_and(|c| c.memory_oversubscription_enabled));
        let mut own: HashMap<String, Vec<Own>> = HashMap::new();
        if !self.is_system() {
            for a in self.state.allocs_of_job_id(&job.id).filter(|a| !a.alloc.client_terminal()) {
                own.entry(a.alloc.node_id.clone()).or_default().push(Own {
                    group: a.alloc.task_group.clone(),
                    same_namespace: a.alloc.namespace == job.namespace,
                });
            }
        }
        let constraints: Vec<Check> = job.constraints.iter().map(Check::from).collect();
        self.job_escaped = constraints.iter().any(|c| c.escaped);
        self.group_escaped = job.task_groups.iter().any(compiled::escaped);
        self.current = Some(CurrentJob {
            job: job.clone(),
            distinct_hosts: compiled::distinct_hosts(&job.constraints),
            constraints,
            groups: HashMap::new(),
            own,
            distinct: None,
            group_distinct: HashMap::new(),
            spreads: HashMap::new(),
            spread_algorithm: algorithm == Some("spread"),
            oversubscription,
        });
    }

    /// Sets the candidates in the order in which they are visited; the place in the list and the limit start anew.
    pub fn set_nodes(&mut self, nodes: impl IntoIterator<Item = Arc<NodeEntry>>) {
        self.nodes.clear();
        for entry in nodes {
            let class = self.classes.number(&entry.node.computed_class);
            self.nodes.push(Candidate { entry, class });
        }
        self.offset = 0;
        self.limit = match self.kind {
            StackKind::Service if !self.nodes.is_empty() => 2.max(ceil_log2(self.nodes.len())),
            _ => 2,
        };
    }

    /// Sets exactly one candidate.
    pub fn set_node(&mut self, node: &Arc<NodeEntry>) {
        self.set_nodes([node.clone()]);
    }

    /// Whether the job or any of its groups depends on more than computed classes (`spec/scheduling.md §5.2, 5.4`).
    pub fn escaped(&self) -> bool {
        self.job_escaped || self.group_escaped
    }

    /// The verdicts per computed class so far.
    pub fn class_eligibility(&self) -> BTreeMap<String, bool> {
        self.classes.eligibility()
    }

    /// Things other than nodes that were missing, sorted.
    pub fn missing_non_node_resources(&self) -> Vec<String> {
        self.missing_resources.iter().cloned().collect()
    }

    /// Looks for the best node for a group (`spec/scheduling.md §4.1`). Without a job nothing is found.
    pub fn select(
        &mut self,
        plan: &mut WorkingPlan,
        group: &TaskGroup,
        options: &SelectOptions,
        random: &mut Random,
    ) -> Selection {
        if let Some(preferred) = options.preferred {
            let class = self.classes.number(&preferred.node.computed_class);
            let only = vec![Candidate { entry: preferred.clone(), class }];
            let all = std::mem::replace(&mut self.nodes, only);
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
        let Some(compiled) = self.prepare(plan, group) else { return Selection::default() };
        let preempt = if self.is_system() { self.preemption_enabled() } else { options.preempt };
        let mut search =
            Search { options, preempt, volumes: self.volume_checks(plan, group, options), group: compiled };
        let mut tally = Tally::default();
        self.seen = 0;
        let best = if self.is_system() {
            self.next_ranked(plan, &mut search, &mut tally, random)
        } else {
            self.best(plan, &mut search, &mut tally, random)
        };
        let option = best.map(|b| RankedNode {
            node: self.nodes[b.candidate].entry.clone(),
            resources: b.fitted.resources,
            preempted: b.fitted.preempted,
            score: b.score,
        });
        Selection { option, metrics: tally.into_metric() }
    }

    /// Loads the group: compiles it once, brings counts up to date, widens the limit.
    fn prepare(&mut self, plan: &WorkingPlan, group: &TaskGroup) -> Option<Arc<CompiledGroup>> {
        let system = self.is_system();
        if system {
            self.classes.clear();
            self.missing_resources.clear();
        }
        let state = self.state.clone();
        let current = self.current.as_mut()?;
        let job = current.job.clone();
        let compiled = match current.groups.get(&group.name) {
            Some(g) => g.clone(),
            None => {
                let g = Arc::new(CompiledGroup::new(&job, group, current.oversubscription));
                current.groups.insert(group.name.clone(), g.clone());
                g
            }
        };
        self.network.set_group(&compiled);
        let distinct = |group: Option<&str>, constraints: &[Constraint]| -> Vec<DistinctProperty> {
            let wanted = constraints.iter().filter(|c| c.operand == "distinct_property");
            wanted.map(|c| DistinctProperty::new(&state, &job, group, &c.ltarget, &c.rtarget)).collect()
        };
        let job_sets = current.distinct.get_or_insert_with(|| distinct(None, &job.constraints));
        job_sets.iter_mut().for_each(|s| s.update(&state, plan));
        let group_sets = current
            .group_distinct
            .entry(group.name.clone())
            .or_insert_with(|| distinct(Some(&group.name), &group.constraints));
        group_sets.iter_mut().for_each(|s| s.update(&state, plan));
        if !system {
            let totals = &mut self.spread_totals;
            let spreads = current
                .spreads
                .entry(group.name.clone())
                .or_insert_with(|| GroupSpreads::new(&state, &job, group, totals));
            spreads.update(&state, plan);
            if !spreads.is_empty() || !compiled.affinities.is_empty() {
                let configured = state.scheduler_config.as_ref().map_or(0, |c| c.node_limit_for_feasibility_checks);
                let limit = if configured == 0 { DEFAULT_NODE_LIMIT } else { configured };
                self.limit = usize::try_from(limit.max(u64::try_from(group.count).unwrap_or(0))).unwrap_or(usize::MAX);
            }
        }
        Some(compiled)
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

    /// The limit stage and the choice of the best (`spec/scheduling.md §7.10`).
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
        while self.seen < self.nodes.len() {
            if self.offset >= self.nodes.len() {
                self.offset = 0;
            }
            let candidate = self.offset;
            self.offset += 1;
            self.seen += 1;
            tally.evaluate();
            let entry = self.nodes[candidate].entry.clone();
            if !self.feasible(candidate, &entry, plan, search, tally) {
                continue;
            }
            if let Some(r) = self.rank(candidate, &entry, plan, search, tally, random) {
                return Some(r);
            }
        }
        None
    }

    /// All checks before ranking (`spec/scheduling.md §5.3, 6.8, 6.9`).
    fn feasible(
        &mut self,
        candidate: usize,
        entry: &NodeEntry,
        plan: &WorkingPlan,
        search: &mut Search,
        tally: &mut Tally,
    ) -> bool {
        let node = &*entry.node;
        let class = self.nodes[candidate].class;
        let group = &*search.group;
        let Some(current) = self.current.as_ref() else { return false };
        let job_verdict = if self.job_escaped { None } else { self.classes.job(class) };
        if job_verdict == Some(false) {
            tally.filter_text(node, CLASS_INELIGIBLE);
            return false;
        }
        if let Some(c) = feasible::failing(&current.constraints, node) {
            tally.filter_text(node, &c.text);
            if !self.job_escaped {
                self.classes.set_job(class, false);
            }
            return false;
        }
        if !self.job_escaped && job_verdict.is_none() {
            self.classes.set_job(class, true);
        }
        let group_verdict = if group.escaped { None } else { self.classes.group(&group.name, class) };
        match group_verdict {
            Some(false) => {
                tally.filter_text(node, CLASS_INELIGIBLE);
                return false;
            }
            Some(true) => {}
            None => {
                let refusal = feasible::group_refuses(group, &self.network, node);
                if !group.escaped {
                    self.classes.set_group(&group.name, class, refusal.is_none());
                }
                if let Some(reason) = refusal {
                    tally.filter(node, reason);
                    return false;
                }
            }
        }
        if let Some(reason) = search.volumes.as_mut().and_then(|v| v.refuses(&self.state, plan, entry)) {
            tally.filter(node, reason);
            return false;
        }
        self.distinct(entry, plan, group, tally)
    }

    fn distinct(&self, entry: &NodeEntry, plan: &WorkingPlan, group: &CompiledGroup, tally: &mut Tally) -> bool {
        let Some(current) = self.current.as_ref() else { return false };
        let node = &*entry.node;
        if !self.is_system() && (current.distinct_hosts || group.distinct_hosts) {
            let taken = current.any_own(plan, entry, |g, same_namespace| {
                same_namespace && (current.distinct_hosts || g == group.name)
            });
            if taken {
                tally.filter_text(node, "distinct_hosts");
                return false;
            }
        }
        let job_sets = current.distinct.iter().flatten();
        let group_sets = current.group_distinct.get(&group.name).into_iter().flatten();
        if let Some(reason) = job_sets.chain(group_sets).find_map(|s| s.refuses(node)) {
            tally.filter(node, reason.into());
            return false;
        }
        true
    }

    /// Fit and scores (`spec/scheduling.md §7`).
    fn rank(
        &mut self,
        candidate: usize,
        entry: &NodeEntry,
        plan: &mut WorkingPlan,
        search: &Search,
        tally: &mut Tally,
        random: &mut Random,
    ) -> Option<Ranked> {
        plan.refresh(entry);
        let current = self.current.as_ref()?;
        let node = &*entry.node;
        let group = &*search.group;
        let terms = rank::Terms {
            asker: preempt::Asker { job: &current.job },
            preempt: search.preempt,
            spread: current.spread_algorithm,
        };
        let fitted = match rank::fit_group(group, entry, plan, &terms, random) {
            Ok(f) => f,
            Err(rank::Refusal::Exhausted(dimension)) => {
                tally.exhaust(node, dimension);
                return None;
            }
            Err(rank::Refusal::Silent) => return None,
        };
        let mut mean = Mean::default();
        mean.add(fitted.score);
        fitted.device_score.into_iter().for_each(|s| mean.add(s));
        let (binpack, devices) = (fitted.score, fitted.device_score);
        if self.is_system() {
            let score = mean.value();
            tally.score(node, score, || {
                let mut s = Scores::default();
                s.set("binpack", binpack);
                devices.into_iter().for_each(|d| s.set("devices", d));
                s
            });
            return Some(Ranked { candidate, fitted, score });
        }
        let own = current.count_own(plan, entry, |g| g == group.name);
        let anti = if own > 0 { -((own + 1) as f64) / group.count as f64 } else { 0.0 };
        if own > 0 {
            mean.add(anti);
        }
        let penalty = if search.options.penalty_nodes.contains(&node.id) { -1.0 } else { 0.0 };
        if penalty != 0.0 {
            mean.add(penalty);
        }
        let mut affinity = 0.0;
        if !group.affinities.is_empty() {
            let matched = group.affinities.iter().filter(|a| a.check.matches(node));
            affinity = matched.map(|a| a.weight).sum::<f64>() / group.affinity_weight;
            mean.add(affinity);
        }
        let spread = current.spreads.get(&group.name).map_or(0.0, |s| s.score(node, &mut self.spread_totals));
        if spread != 0.0 {
            mean.add(spread);
        }
        let preemption = (!fitted.preempted.is_empty()).then(|| preempt::score(&fitted.preempted));
        preemption.into_iter().for_each(|p| mean.add(p));
        let score = mean.value();
        tally.score(node, score, || {
            let mut s = Scores(Vec::with_capacity(7));
            s.set("binpack", binpack);
            devices.into_iter().for_each(|d| s.set("devices", d));
            s.set("job-anti-affinity", anti);
            s.set("node-reschedule-penalty", penalty);
            s.set("node-affinity", affinity);
            if spread != 0.0 {
                s.set("allocation-spread", spread);
            }
            preemption.into_iter().for_each(|p| s.set("preemption", p));
            s
        });
        Some(Ranked { candidate, fitted, score })
    }
}

impl CurrentJob {
    /// How many proposed allocations of this job ID on the node are in a group that `wanted` accepts, whatever their
    /// namespace.
    fn count_own(&self, plan: &WorkingPlan, entry: &NodeEntry, wanted: impl Fn(&str) -> bool) -> usize {
        if plan.touches(&entry.node.id) {
            let proposed = plan.proposed(entry);
            proposed.iter().filter(|a| a.alloc.job_id == self.job.id && wanted(&a.alloc.task_group)).count()
        } else {
            self.own.get(&entry.node.id).map_or(0, |v| v.iter().filter(|o| wanted(&o.group)).count())
        }
    }

    /// Whether any proposed allocation of this job ID matches; the closure gets group and "same namespace".
    fn any_own(&self, plan: &WorkingPlan, entry: &NodeEntry, wanted: impl Fn(&str, bool) -> bool) -> bool {
        if plan.touches(&entry.node.id) {
            plan.proposed(entry).iter().any(|a| {
                a.alloc.job_id == self.job.id && wanted(&a.alloc.task_group, a.alloc.namespace == self.job.namespace)
            })
        } else {
            self.own.get(&entry.node.id).is_some_and(|v| v.iter().any(|o| wanted(&o.group, o.same_namespace)))
        }
    }
}

/// The mean of the scores that enter (`spec/scheduling.md §7.9`).
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

/// The smallest k with 2^k >= n, for n > 0.
fn ceil_log2(n: usize) -> usize {
    n.next_power_of_two().trailing_zeros() as usize
}
