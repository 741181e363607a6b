//! Proposals about rollouts, evictions, new nodes, and the end of batch work.

use std::collections::{BTreeMap, BTreeSet};

use encamp_model::*;
use encamp_scheduler::candidates::covers;
use encamp_scheduler::constraint::Check;
use encamp_scheduler::stack::PRIORITY_DELTA;

use super::cluster::Ending;
use super::edit::Edit;
use super::estimate::{Amounts, Fleet};
use super::proposal::{Kind, Look, Proposal};
use super::search::Values;
use crate::capacity::constraints;
use crate::settings;

/// Kinds of nodes that are tried, and how many of one.
const MOST_KINDS: usize = 4;
const MOST_NODES: i64 = 200;

/// Fewer canaries, or fewer replacements at a time.
pub(super) fn rollout<'l>(look: &Look<'l>, group: &TaskGroup, out: &mut Vec<Proposal<'l>>) {
    let job = &look.scene.job;
    let own = job.task_groups.iter().flatten().find(|g| g.name.as_deref() == Some(&group.name));
    let own = own.and_then(|g| g.update.as_ref());
    let holder = |has: fn(&api::UpdateStrategy) -> bool| match (own, &job.update) {
        (Some(own), _) if has(own) => Some(false),
        (_, Some(of_job)) if has(of_job) => Some(true),
        _ => None,
    };
    let Some(update) = group.update.as_ref() else { return };
    let registered = look.trial.run.old_job.is_some();
    if let Some(in_job) = holder(|u| u.canary.is_some()).filter(|_| registered && update.canary > 0) {
        let (name, old) = (group.name.clone(), update.canary);
        let edit = move |new| vec![Edit::Canaries { group: name.clone(), in_job, old, new }];
        out.push(Proposal::new(Kind::Rollout, Values::Largest { least: 0, most: old - 1, guess: None }, edit));
    }
    let several = registered && update.max_parallel > 1;
    if let Some(in_job) = holder(|u| u.max_parallel.is_some()).filter(|_| several) {
        let (name, old) = (group.name.clone(), update.max_parallel);
        let edit = move |new| vec![Edit::Parallel { group: name.clone(), in_job, old, new }];
        out.push(Proposal::new(Kind::Rollout, Values::Largest { least: 1, most: old - 1, guess: None }, edit));
    }
}

/// Whether jobs of this type may evict others.
fn may_evict(look: &Look<'_>) -> bool {
    let config = settings::current(&look.scene.state).preemption_config;
    match look.job().r#type {
        JobType::Batch => config.batch_scheduler_enabled,
        JobType::System => config.system_scheduler_enabled,
        JobType::Sysbatch => config.sys_batch_scheduler_enabled,
        JobType::Service | JobType::Core | JobType::Unset | JobType::Other(_) => config.service_scheduler_enabled,
    }
}

/// A higher priority, or preemption for the type of the job.
pub(super) fn evicting<'l>(look: &Look<'l>, out: &mut Vec<Proposal<'l>>) {
    if !may_evict(look) {
        out.push(Proposal::only(Kind::Evicting, Edit::Preemption { job_type: look.job().r#type.clone() }));
        return;
    }
    let old = look.job().priority;
    let live = look.scene.state.allocs().filter(|e| !e.phase.client_terminal());
    let from = |p: i64| p.saturating_add(PRIORITY_DELTA);
    let useful = live.map(|e| from(e.priority())).filter(|p| *p > old && *p <= look.highest_priority);
    let useful: BTreeSet<i64> = useful.collect();
    let edit = move |new| vec![Edit::Priority { old, new }];
    out.push(Proposal::new(Kind::Evicting, Values::Listed(useful.into_iter().collect()), edit));
}

/// A kind of nodes that could run a group.
struct NodeKind {
    like: String,
    class: String,
    pool: String,
    room: Amounts,
    nodes: usize,
}

/// The kinds of nodes of the job's pool and datacenters that satisfy the constraints of a group, most nodes first.
fn kinds(look: &Look<'_>, group: &TaskGroup) -> Vec<NodeKind> {
    let job = look.job();
    let checks: Vec<Check> = constraints(job, group).map(Check::from).collect();
    let mut kinds: BTreeMap<(&str, &str, Amounts), NodeKind> = BTreeMap::new();
    for entry in look.scene.state.nodes() {
        let node = &entry.node;
        if !covers(job, node) || !checks.iter().all(|check| check.matches(node)) {
            continue;
        }
        let room = [entry.info.cpu, entry.info.memory, entry.info.disk];
        let kind = kinds.entry((&node.node_class, &node.node_pool, room)).or_insert_with(|| NodeKind {
            like: node.name.clone(),
            class: node.node_class.clone(),
            pool: node.node_pool.clone(),
            room,
            nodes: 0,
        });
        kind.nodes += 1;
    }
    let mut all: Vec<NodeKind> = kinds.into_values().collect();
    all.sort_by_key(|k| std::cmp::Reverse(k.nodes));
    all.truncate(MOST_KINDS);
    all
}

/// More nodes of the kinds that could run a group.
pub(super) fn add<'l>(look: &Look<'l>, group: &TaskGroup, fleet: &Fleet, out: &mut Vec<Proposal<'l>>) {
    if matches!(look.job().r#type, JobType::System | JobType::Sysbatch) {
        return;
    }
    let failed = look.trial.run.failed_tg_allocs();
    let blocked = if look.trial.blocked { group.count } else { 0 };
    let missing = failed.get(&group.name).map_or(blocked, |m| m.failures());
    if missing == 0 {
        return;
    }
    // The nodes have to take what other groups miss, too.
    let all = failed.values().map(|m| m.failures()).fold(blocked, i64::saturating_add);
    for NodeKind { like, class, pool, room, .. } in kinds(look, group) {
        let most = all.min(MOST_NODES);
        let guess = Some(fleet.nodes_for(missing, room));
        let edit = move |count| {
            let (like, class, pool) = (like.clone(), class.clone(), pool.clone());
            vec![Edit::AddNodes { count, like, class, pool }]
        };
        out.push(Proposal::new(Kind::Cluster, Values::Smallest { least: 1, most, guess }, edit));
    }
}

/// Until enough batch work has ended.
pub(super) fn waiting<'l>(endings: Vec<Ending>, out: &mut Vec<Proposal<'l>>) {
    let times: BTreeSet<i64> = endings.iter().map(|e| e.at).collect();
    let edit = move |until: i64| {
        let ends: Vec<&Ending> = endings.iter().take_while(|e| e.at <= until).collect();
        let last = ends.last().map(|e| e.job.clone()).unwrap_or_default();
        vec![Edit::Wait { until, ends: ends.into_iter().map(|e| e.id.clone()).collect(), last }]
    };
    out.push(Proposal::new(Kind::Cluster, Values::Listed(times.into_iter().collect()), edit));
}
