//! Spreads, affinities and `distinct_…` constraints, against the nodes that the job may use.

use std::collections::BTreeSet;
use std::sync::Arc;

use encamp_model::{Affinity, Constraint, Job, JobType, Spread, TaskGroup};
use encamp_scheduler::candidates::ready_nodes;
use encamp_scheduler::constraint::{Check, Target};
use encamp_state::{NodeEntry, State};

use super::{Block, Fact, OnePerNode, Remarks};
use crate::capacity::constraints;

const HOSTS: &str = "distinct_hosts";
const PROPERTY: &str = "distinct_property";

/// The ready nodes that satisfy the constraints of a group.
type Nodes = Vec<Arc<NodeEntry>>;

pub(super) fn look(job: &Job, state: Option<&State>, out: &mut Remarks) {
    if matches!(job.r#type, JobType::System | JobType::Sysbatch) {
        hosts_of_system(job, out);
        return;
    }
    let ready = state.map(|state| {
        let slots = ready_nodes(state, &job.datacenters, &job.node_pool).slots;
        slots.iter().filter_map(|slot| state.node_at(*slot).cloned()).collect::<Nodes>()
    });
    let of_groups: Vec<Option<Nodes>> =
        job.task_groups.iter().map(|group| ready.as_ref().map(|nodes| satisfying(job, group, nodes))).collect();
    of_job(job, &of_groups, out);
    for (group, nodes) in job.task_groups.iter().zip(&of_groups) {
        of_group(job, group, nodes.as_deref(), out);
    }
}

/// Blocks of the job itself, which count for each of its groups.
fn of_job(job: &Job, of_groups: &[Option<Nodes>], out: &mut Remarks) {
    // What has no effect for one group may have some for another one.
    let shared = |facts: Vec<Option<Fact>>| -> Option<Fact> {
        let first = facts.first().cloned().flatten()?;
        facts.iter().all(Option::is_some).then_some(first)
    };
    for (at, spread) in job.spreads.iter().enumerate() {
        let later = job.spreads.iter().skip(at + 1).any(|other| overrides(other, spread));
        let facts = of_groups.iter().map(|nodes| spread_fact(job, spread, nodes.as_deref()));
        let fact = later.then(|| shadowed(spread, false)).or_else(|| shared(facts.collect()));
        fact.into_iter().for_each(|fact| out.add(None, None, Block::Spread(at), fact));
    }
    for (at, affinity) in job.affinities.iter().enumerate() {
        let facts = of_groups.iter().map(|nodes| affinity_fact(job, affinity, nodes.as_deref()));
        shared(facts.collect()).into_iter().for_each(|fact| out.add(None, None, Block::Affinity(at), fact));
    }
    let Some(all) = of_groups.iter().cloned().collect::<Option<Vec<Nodes>>>() else { return };
    let mut union: Nodes = all.into_iter().flatten().collect();
    union.sort_by_key(|n| n.slot);
    union.dedup_by_key(|n| n.slot);
    let count = job.task_groups.iter().map(|g| g.count).fold(0_i64, i64::saturating_add);
    distinct(&job.constraints, count, &union, |at, fact| out.add(None, None, Block::Constraint(at), fact));
}

fn of_group(job: &Job, group: &TaskGroup, nodes: Option<&[Arc<NodeEntry>]>, out: &mut Remarks) {
    let name = Some(group.name.as_str());
    for (at, spread) in group.spreads.iter().enumerate() {
        let of_job = job.spreads.iter().any(|other| overrides(other, spread));
        let later = group.spreads.iter().skip(at + 1).any(|other| overrides(other, spread));
        let fact = (of_job || later).then(|| shadowed(spread, of_job)).or_else(|| spread_fact(job, spread, nodes));
        fact.into_iter().for_each(|fact| out.add(name, None, Block::Spread(at), fact));
    }
    let before = out.list.len();
    for (at, affinity) in group.affinities.iter().enumerate() {
        let fact = affinity_fact(job, affinity, nodes);
        fact.into_iter().for_each(|fact| out.add(name, None, Block::Affinity(at), fact));
    }
    for task in &group.tasks {
        for (at, affinity) in task.affinities.iter().enumerate() {
            let fact = affinity_fact(job, affinity, nodes);
            fact.into_iter().for_each(|fact| out.add(name, Some(&task.name), Block::Affinity(at), fact));
        }
    }
    let Some(nodes) = nodes else { return };
    if out.list.len() == before {
        cancelled(job, group, nodes, out);
    }
    distinct(&group.constraints, group.count, nodes, |at, fact| out.add(name, None, Block::Constraint(at), fact));
    canaries(job, group, nodes, out);
}

/// Whether the weight and the targets of another spread count for this one, and are not the same.
fn overrides(other: &Spread, spread: &Spread) -> bool {
    let differs = other.weight != spread.weight || other.spread_target != spread.spread_target;
    other.attribute == spread.attribute && differs
}

fn shadowed(spread: &Spread, by_job: bool) -> Fact {
    Fact::SpreadShadowed { attribute: spread.attribute.clone(), by_job }
}

/// The nodes that satisfy the constraints of the job, the group and its tasks.
fn satisfying(job: &Job, group: &TaskGroup, ready: &Nodes) -> Nodes {
    let checks: Vec<Check> = constraints(job, group).map(Check::from).collect();
    ready.iter().filter(|n| checks.iter().all(|check| check.matches(&n.node))).cloned().collect()
}

/// The value that a target has on every node because of the job's own settings.
fn settled<'j>(job: &'j Job, target: &str) -> Option<&'j str> {
    let value = match (target, job.datacenters.as_slice()) {
        ("${node.datacenter}", [one]) if !one.contains('*') => one.as_str(),
        ("${node.pool}", _) if !matches!(job.node_pool.as_str(), "" | "all") => &job.node_pool,
        _ => return None,
    };
    Some(value)
}

/// Nodes among which there is a choice.
fn choice(nodes: Option<&[Arc<NodeEntry>]>) -> Option<&[Arc<NodeEntry>]> {
    nodes.filter(|nodes| nodes.len() > 1)
}

fn spread_fact(job: &Job, spread: &Spread, nodes: Option<&[Arc<NodeEntry>]>) -> Option<Fact> {
    let one = |value: Option<&str>, nodes| {
        let (attribute, value) = (spread.attribute.clone(), value.map(String::from));
        Some(Fact::SpreadOneValue { attribute, value, nodes })
    };
    if let Some(value) = settled(job, &spread.attribute) {
        return one(Some(value), None);
    }
    if let Some(nodes) = choice(nodes) {
        let target = Target::parse(&spread.attribute);
        let values: BTreeSet<Option<&str>> = nodes.iter().map(|n| target.resolve(&n.node)).collect();
        if let (1, Some(value)) = (values.len(), values.first()) {
            return one(*value, Some(nodes.len()));
        }
    }
    match spread.spread_target.as_slice() {
        [_, ..] if spread.spread_target.iter().all(|t| t.percent == 0) => Some(Fact::SpreadNoShares),
        [only] if only.percent == 100 => Some(Fact::SpreadOneTarget { value: only.value.clone() }),
        _ => None,
    }
}

fn affinity_fact(job: &Job, affinity: &Affinity, nodes: Option<&[Arc<NodeEntry>]>) -> Option<Fact> {
    let fact = |holds, nodes| {
        let Affinity { ltarget, operand, rtarget, .. } = affinity;
        let condition = format!("{ltarget} {operand} {rtarget}").trim().to_string();
        Some(Fact::AffinityConstant { condition, holds, nodes })
    };
    if let Some(value) = settled(job, &affinity.ltarget)
        && matches!(Target::parse(&affinity.rtarget), Target::Literal(_))
    {
        let check = Check::from(&Affinity { ltarget: value.into(), ..affinity.clone() });
        return fact(check.matches(&encamp_model::Node::default()), None);
    }
    let nodes = choice(nodes)?;
    let check = Check::from(affinity);
    let held = nodes.iter().filter(|n| check.matches(&n.node)).count();
    match held {
        0 => fact(false, Some(nodes.len())),
        all if all == nodes.len() => fact(true, Some(nodes.len())),
        _ => None,
    }
}

/// Affinities of which each one distinguishes nodes, but not all together.
fn cancelled(job: &Job, group: &TaskGroup, nodes: &[Arc<NodeEntry>], out: &mut Remarks) {
    let of_tasks = group.tasks.iter().flat_map(|t| &t.affinities);
    let all: Vec<&Affinity> = job.affinities.iter().chain(&group.affinities).chain(of_tasks).collect();
    if all.len() < 2 || group.affinities.is_empty() || nodes.len() < 2 {
        return;
    }
    let checks: Vec<(Check, i64)> = all.iter().map(|a| (Check::from(*a), a.weight)).collect();
    let score = |n: &Arc<NodeEntry>| -> i64 {
        checks.iter().filter(|(check, _)| check.matches(&n.node)).map(|(_, weight)| weight).sum()
    };
    let scores: BTreeSet<i64> = nodes.iter().map(score).collect();
    if scores.len() == 1 {
        out.add(Some(&group.name), None, Block::Affinity(0), Fact::AffinitiesCancel { nodes: nodes.len() });
    }
}

/// The number of the `distinct_hosts` constraint that holds: the first one, unless its value is false.
fn distinct_hosts(constraints: &[Constraint]) -> Option<usize> {
    let (at, first) = constraints.iter().enumerate().find(|(_, c)| c.operand == HOSTS)?;
    (!matches!(first.rtarget.as_str(), "0" | "f" | "F" | "false" | "FALSE" | "False")).then_some(at)
}

fn distinct(constraints: &[Constraint], count: i64, nodes: &[Arc<NodeEntry>], mut add: impl FnMut(usize, Fact)) {
    // Without any node, the plan says why there is none.
    if nodes.is_empty() {
        return;
    }
    if let Some(at) = distinct_hosts(constraints).filter(|_| count > whole(nodes.len())) {
        add(at, Fact::TooFewHosts { count, nodes: nodes.len() });
    }
    for (at, constraint) in constraints.iter().enumerate().filter(|(_, c)| c.operand == PROPERTY) {
        let each = if constraint.rtarget.is_empty() { Some(1) } else { constraint.rtarget.parse::<i64>().ok() };
        let target = Target::parse(&constraint.ltarget);
        let values: BTreeSet<&str> = nodes.iter().filter_map(|n| target.resolve(&n.node)).collect();
        if let Some(each) = each.filter(|each| count > each.saturating_mul(whole(values.len()))) {
            let attribute = constraint.ltarget.clone();
            add(at, Fact::TooFewValues { attribute, count, each, values: values.len() });
        }
    }
}

fn whole(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// Canaries run beside the old allocations: where a node takes one allocation only, they need nodes of their own.
fn canaries(job: &Job, group: &TaskGroup, nodes: &[Arc<NodeEntry>], out: &mut Remarks) {
    let Some(update) = group.update.as_ref().filter(|u| u.canary > 0 && u.max_parallel > 0) else { return };
    let because = if distinct_hosts(&job.constraints).or(distinct_hosts(&group.constraints)).is_some() {
        OnePerNode::DistinctHosts
    } else if group.networks.iter().any(|n| !n.reserved_ports.is_empty()) {
        OnePerNode::StaticPort
    } else {
        return;
    };
    let (count, canaries) = (group.count, update.canary);
    let available = whole(nodes.len());
    // More allocations than nodes are another matter.
    if !nodes.is_empty() && count <= available && count.saturating_add(canaries) > available {
        let fact = Fact::NoNodesForCanaries { count, canaries, nodes: nodes.len(), because };
        out.add(Some(&group.name), None, Block::Update, fact);
    }
}

fn hosts_of_system(job: &Job, out: &mut Remarks) {
    if let Some(at) = distinct_hosts(&job.constraints) {
        out.add(None, None, Block::Constraint(at), Fact::DistinctHostsOfSystem);
    }
    for group in &job.task_groups {
        if let Some(at) = distinct_hosts(&group.constraints) {
            out.add(Some(&group.name), None, Block::Constraint(at), Fact::DistinctHostsOfSystem);
        }
    }
}
