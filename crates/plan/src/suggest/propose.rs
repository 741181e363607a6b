//! Which edits are worth a try, and with which values. Whether one works is decided by planning again.

use encamp_model::*;

use super::edit::{Amount, Edit};
use super::estimate::Fleet;
use super::proposal::{Kind, Look, Proposal};
use super::search::Values;
use super::{cluster, propose_nodes, propose_where};
use crate::settings;

/// Tasks of a group that are considered.
const MOST_TASKS: usize = 8;
/// The smallest values that servers accept.
const LEAST_CPU: i64 = 1;
const LEAST_MEMORY: i64 = 10;
const LEAST_DISK: i64 = 10;
/// The steps in which the tasks of a group give something up together.
pub(super) const SHARES: i64 = 1000;

/// All proposals about what is not placed.
pub(super) fn proposals<'l>(look: &Look<'l>) -> Vec<Proposal<'l>> {
    let mut out = Vec::new();
    for group in look.groups() {
        let fleet = Fleet::of(look.trial, group, look.now);
        out.extend(of_group(group, &fleet, oversubscribes(look)));
        count(look, group, &mut out);
        propose_nodes::rollout(look, group, &mut out);
        propose_nodes::add(look, group, &fleet, &mut out);
    }
    propose_where::wider(look, &mut out);
    propose_nodes::evicting(look, &mut out);
    let endings = cluster::endings(&look.scene.state, look.now);
    propose_nodes::waiting(endings, &mut out);
    out
}

/// Whether tasks may use more memory than they reserve, in the pool of the job.
fn oversubscribes(look: &Look<'_>) -> bool {
    let state = &look.scene.state;
    let of_pool = state
        .node_pool(&look.job().node_pool)
        .and_then(|p| p.scheduler_configuration.as_ref()?.memory_oversubscription_enabled);
    of_pool.unwrap_or_else(|| settings::current(state).memory_oversubscription_enabled)
}

/// Less of what the tasks of a group ask for. `oversubscribed`: tasks may use more memory than they reserve.
fn of_group<'l>(group: &TaskGroup, fleet: &Fleet, oversubscribed: bool) -> Vec<Proposal<'l>> {
    let mut out = Vec::new();
    for task in group.tasks.iter().take(MOST_TASKS) {
        let Some(r) = &task.resources else { continue };
        let (name, of) = (group.name.clone(), task.name.clone());
        let mut less = |amount: Amount, old: i64, least: i64, guess: Option<i64>| {
            let (group, task) = (name.clone(), of.clone());
            let edit = move |new| vec![Edit::Task { group: group.clone(), task: task.clone(), amount, old, new }];
            out.push(Proposal::new(Kind::Less, Values::Largest { least, most: old - 1, guess }, edit));
        };
        if r.cores > 0 {
            less(Amount::Cores, r.cores, 1, None);
        } else {
            less(Amount::Cpu, r.cpu, LEAST_CPU, guess(fleet, 0, r.cpu));
        }
        less(Amount::Memory, r.memory_mb, LEAST_MEMORY.max(r.secrets_mb), guess(fleet, 1, r.memory_mb));
        if oversubscribed && r.memory_max_mb == 0 {
            let (group, task, old) = (name.clone(), of.clone(), r.memory_mb);
            let (least, guess) = (LEAST_MEMORY.max(r.secrets_mb), guess(fleet, 1, old));
            let edit = move |new| vec![Edit::Reserve { group: group.clone(), task: task.clone(), old, new }];
            out.push(Proposal::new(Kind::Less, Values::Largest { least, most: old - 1, guess }, edit));
        }
        for (number, device) in r.devices.iter().enumerate() {
            let old = i64::try_from(device.count).unwrap_or(i64::MAX);
            let (group, task, name) = (name.clone(), of.clone(), device.name.clone());
            let edit = move |new| {
                let (group, task, name) = (group.clone(), task.clone(), name.clone());
                vec![Edit::Device { group, task, number, name, old, new }]
            };
            out.push(Proposal::new(Kind::Less, Values::Largest { least: 1, most: old - 1, guess: None }, edit));
        }
    }
    if let Some(disk) = &group.ephemeral_disk {
        let (name, old) = (group.name.clone(), disk.size_mb);
        let values = Values::Largest { least: least_disk(group), most: old - 1, guess: guess(fleet, 2, old) };
        out.push(Proposal::new(Kind::Less, values, move |new| vec![Edit::Disk { group: name.clone(), old, new }]));
    }
    together(group, &mut out);
    out
}

/// The value of one task with which all copies fit, if the rest of the group keeps what it has.
fn guess(fleet: &Fleet, amount: usize, old: i64) -> Option<i64> {
    let asks = fleet.asks.get(amount)?;
    Some(old.saturating_sub(asks.saturating_sub(fleet.most(amount)?)))
}

/// The ephemeral disk holds the logs of all tasks, and more.
fn least_disk(group: &TaskGroup) -> i64 {
    let logs = group.tasks.iter().filter_map(|t| t.log_config.as_ref());
    let of_task = |l: &LogConfig| l.max_files.saturating_mul(l.max_file_size_mb).saturating_add(1);
    logs.map(of_task).max().unwrap_or(LEAST_DISK).max(LEAST_DISK)
}

/// The same share of CPU, of memory, and of both, from all tasks of a group.
fn together<'l>(group: &TaskGroup, out: &mut Vec<Proposal<'l>>) {
    let amounts = |cpu: bool, memory: bool| -> Vec<(Edit, i64)> {
        let of = |task: &Task| {
            let r = task.resources.as_ref()?;
            let edit =
                |amount, old| Edit::Task { group: group.name.clone(), task: task.name.clone(), amount, old, new: old };
            let cpu = (cpu && r.cores == 0).then(|| (edit(Amount::Cpu, r.cpu), LEAST_CPU));
            let memory = memory.then(|| (edit(Amount::Memory, r.memory_mb), LEAST_MEMORY.max(r.secrets_mb)));
            Some(cpu.into_iter().chain(memory))
        };
        group.tasks.iter().take(MOST_TASKS).filter_map(of).flatten().collect()
    };
    let several = group.tasks.len() > 1;
    for (cpu, memory) in [(true, false), (false, true), (true, true)] {
        let edits = amounts(cpu, memory);
        if !(several || cpu && memory) || edits.len() < 2 {
            continue;
        }
        let values = Values::Largest { least: 1, most: SHARES - 1, guess: None };
        out.push(Proposal::new(Kind::Together, values, move |share| shared(&edits, share)));
    }
}

/// Edits that leave a share of each amount, in thousandths.
fn shared(edits: &[(Edit, i64)], share: i64) -> Vec<Edit> {
    let one = |(edit, least): &(Edit, i64)| {
        let mut edit = edit.clone();
        if let Edit::Task { old, new, .. } = &mut edit {
            *new = (old.saturating_mul(share) / SHARES).max(*least).min(*old);
        }
        edit
    };
    edits.iter().map(one).filter(|e| !matches!(e, Edit::Task { old, new, .. } if old == new)).collect()
}

/// Fewer copies: as many as there are places.
fn count<'l>(look: &Look<'l>, group: &TaskGroup, out: &mut Vec<Proposal<'l>>) {
    let failed = look.trial.run.failed_tg_allocs().get(&group.name).map_or(0, |m| m.failures());
    let per_node = matches!(look.job().r#type, JobType::System | JobType::Sysbatch);
    if per_node || (failed == 0 && !look.trial.blocked) || group.count < 2 {
        return;
    }
    let (name, old) = (group.name.clone(), group.count);
    let least = group.scaling.as_ref().map_or(1, |s| s.min.max(1));
    let values = Values::Largest { least, most: old - 1, guess: Some(old.saturating_sub(failed.max(1))) };
    out.push(Proposal::new(Kind::Count, values, move |new| vec![Edit::Count { group: name.clone(), old, new }]));
}
