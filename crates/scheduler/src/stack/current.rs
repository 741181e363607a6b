//! The job that a stack places, prepared, with the state that the searches for its groups share.

use std::sync::Arc;

use super::by_class::ByClass;
use super::compiled::{self, CompiledGroup};
use super::feasible::{Constraints, NetworkCheck};
use super::property::DistinctProperty;
use super::spread::{GroupSpreads, SpreadTotals};
use crate::constraint::{Check, ClassCheck};
use crate::working_plan::WorkingPlan;
use encamp_model::*;
use encamp_state::{AllocEntry, Id, NodeEntry, NodeIndex, State, Verdicts};

/// The job being placed.
pub(crate) struct CurrentJob {
    /// The job.
    pub job: Arc<Job>,
    /// Its own constraints.
    pub constraints: Constraints,
    /// Whether the job has `distinct_hosts`.
    pub distinct_hosts: bool,
    /// The job's own `distinct_property` constraints.
    pub distinct: Vec<DistinctProperty>,
    /// Groups considered so far.
    pub groups: Vec<GroupState>,
    /// Emptier nodes score higher.
    pub spread_algorithm: bool,
    oversubscription: bool,
    /// Whether nodes are tried one at a time, so that spreads and the job's other allocations do not matter.
    system: bool,
    /// Stored allocations of the job ID, whatever their namespace, sorted by the slots of their nodes.
    own: Vec<(u32, Id)>,
}

/// One group with what its searches share.
pub(crate) struct GroupState {
    /// The group, prepared.
    pub compiled: Arc<CompiledGroup>,
    /// Its constraints and those of its tasks.
    pub constraints: Constraints,
    /// Its number in the class cache.
    pub class_number: usize,
    /// Its `distinct_property` constraints.
    pub distinct: Vec<DistinctProperty>,
    /// Its spreads.
    pub spreads: GroupSpreads,
    /// The conditions of its affinities, in their order.
    affinities: Vec<ClassCheck>,
    /// The affinity score by computed class.
    affinity_by_class: ByClass<f64>,
    /// The verdicts on nodes, once they were asked for.
    on_nodes: Option<NodeVerdicts>,
}

/// What drivers, networks and secrets providers of nodes mean for a group.
struct NodeVerdicts {
    /// The group whose network is checked.
    network_of: Option<Arc<CompiledGroup>>,
    /// `None` if the verdicts depend on more than these facts.
    verdicts: Option<Arc<Verdicts>>,
}

impl CurrentJob {
    /// Prepares a job. The scheduler configuration is merged with that of the job's pool (`docs/spec/scheduling.md
    /// §9`).
    pub(crate) fn new(state: &State, job: &Arc<Job>, system: bool) -> CurrentJob {
        let config = state.scheduler_config.as_ref();
        let pool = state.node_pool(&job.node_pool).and_then(|p| p.scheduler_configuration.as_ref());
        let algorithm =
            pool.map(|p| &p.scheduler_algorithm).filter(|a| !a.is_unset()).or(config.map(|c| &c.scheduler_algorithm));
        let oversubscription = pool
            .and_then(|p| p.memory_oversubscription_enabled)
            .unwrap_or(config.is_some_and(|c| c.memory_oversubscription_enabled));
        let mut own: Vec<(u32, Id)> = Vec::new();
        if !system {
            own.extend(state.placed_ids_of_job_id(&job.id).map(|(slot, id)| (slot, id.clone())));
            own.sort_by_key(|(slot, _)| *slot);
        }
        CurrentJob {
            distinct_hosts: compiled::distinct_hosts(&job.constraints),
            constraints: Constraints::new(job.constraints.iter().map(Check::from), state.node_index()),
            distinct: distinct_properties(state, job, None, &job.constraints),
            groups: Vec::new(),
            spread_algorithm: algorithm == Some(&SchedulerAlgorithm::Spread),
            oversubscription,
            system,
            own,
            job: job.clone(),
        }
    }

    /// Whether any of the job's own constraints depends on more than computed classes.
    pub(crate) fn escaped(&self) -> bool {
        self.constraints.escaped()
    }

    /// The number of a group of this job in `groups`; it is prepared when it is asked for first.
    pub(crate) fn number(&mut self, state: &State, group: &TaskGroup, totals: &mut SpreadTotals) -> usize {
        if let Some(i) = self.groups.iter().position(|g| g.compiled.name == group.name) {
            return i;
        }
        let job = &self.job;
        let spreads = if self.system { GroupSpreads::default() } else { GroupSpreads::new(state, job, group, totals) };
        let compiled = CompiledGroup::new(job, group, self.oversubscription);
        let index = state.node_index();
        self.groups.push(GroupState {
            affinities: compiled.affinities.iter().map(|a| ClassCheck::new(a.check.clone(), index)).collect(),
            compiled: Arc::new(compiled),
            constraints: compiled::constraints(group, index),
            class_number: 0,
            distinct: distinct_properties(state, job, Some(&group.name), &group.constraints),
            spreads,
            affinity_by_class: ByClass::new(index.classes().len()),
            on_nodes: None,
        });
        self.groups.len() - 1
    }

    /// Whether stored allocations of this job ID are on the node in a slot, whatever their namespace. Not known of system
    /// jobs.
    pub(crate) fn runs_on(&self, slot: u32) -> bool {
        self.own.binary_search_by_key(&slot, |(slot, _)| *slot).is_ok()
    }

    /// How many proposed allocations of this job ID on the node are in the group, whatever their namespace.
    pub(crate) fn count_own(&self, plan: &WorkingPlan, entry: &NodeEntry, group: &str) -> usize {
        self.own_on(plan, entry).filter(|a| a.alloc.task_group == group).count()
    }

    /// Whether the node holds a proposed allocation of this job, or of the given group of it.
    pub(crate) fn has_own(&self, plan: &WorkingPlan, entry: &NodeEntry, group: Option<&str>) -> bool {
        self.own_on(plan, entry)
            .any(|a| a.alloc.namespace == self.job.namespace && group.is_none_or(|g| a.alloc.task_group == g))
    }

    fn own_on<'a>(&'a self, plan: &'a WorkingPlan, entry: &'a NodeEntry) -> impl Iterator<Item = &'a Arc<AllocEntry>> {
        let first = self.own.partition_point(|(slot, _)| *slot < entry.slot);
        let here = self.own[first..].iter().take_while(|(slot, _)| *slot == entry.slot);
        let stored = here.filter_map(|(_, id)| entry.allocs.at(id)).filter(|a| !a.phase.client_terminal());
        plan.proposed_of(entry, stored).filter(|a| a.alloc.job_id == self.job.id)
    }
}

impl GroupState {
    /// What is known about nodes besides constraints, shared by all evaluations of the same node records.
    pub(crate) fn verdicts(&mut self, network: &NetworkCheck, index: &NodeIndex) -> Option<Arc<Verdicts>> {
        if !self.on_nodes.as_ref().is_some_and(|known| network.is_of(known.network_of.as_ref())) {
            let verdicts = network.facts(&self.compiled).map(|facts| index.node_verdicts(facts));
            self.on_nodes = Some(NodeVerdicts { network_of: network.group().cloned(), verdicts });
        }
        self.on_nodes.as_ref()?.verdicts.clone()
    }

    /// The share of affinity weights the node meets, negative ones included (`docs/spec/scheduling.md §7.5`).
    pub(crate) fn affinity(&mut self, entry: &NodeEntry, class: usize) -> f64 {
        let group = &*self.compiled;
        let shared = group.affinities_by_class && entry.info.class_holds;
        if shared && let Some(known) = self.affinity_by_class.get(class) {
            return known;
        }
        let conditions = group.affinities.iter().zip(&self.affinities);
        let matched = conditions.filter(|(_, check)| check.matches(|| &entry.node, class, entry.info.class_holds));
        let score = matched.map(|(a, _)| a.weight).sum::<f64>() / group.affinity_weight;
        if shared {
            self.affinity_by_class.set(class, score);
        }
        score
    }
}

fn distinct_properties(
    state: &State,
    job: &Job,
    group: Option<&str>,
    constraints: &[Constraint],
) -> Vec<DistinctProperty> {
    let wanted = constraints.iter().filter(|c| c.operand == "distinct_property");
    wanted.map(|c| DistinctProperty::new(state, job, group, &c.ltarget, &c.rtarget)).collect()
}
