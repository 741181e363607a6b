//! Making edits: in the job as a client sends it, or in the cluster.

use std::sync::Arc;

use encamp_model::api;
use encamp_state::State;

use super::edit::{Amount, Edit, Holder, preemption_setting};
use super::{cluster, moves};
use crate::settings;

impl Edit {
    /// Makes the edit; false if the job has no such part.
    pub(super) fn make(&self, job: &mut api::Job, state: &mut State) -> bool {
        match self {
            Edit::Preemption { job_type } => {
                let mut config = settings::current(state);
                let done = settings::set(&mut config, preemption_setting(job_type), "true").is_ok();
                state.set_scheduler_config(Arc::new(config));
                done
            }
            Edit::AddNodes { count, like, .. } => cluster::add_nodes(state, *count, like),
            Edit::Wait { ends, .. } => cluster::end(state, ends),
            Edit::Moves { plan, now } => moves::carry_out(state, plan, *now),
            _ => self.make_in_job(job).is_some(),
        }
    }

    /// Makes an edit of the job file.
    pub(super) fn make_in_job(&self, job: &mut api::Job) -> Option<()> {
        match self {
            Edit::Task { group, task, amount, new, .. } => {
                let resources = task_of(job, group, task)?.resources.get_or_insert_default();
                match amount {
                    Amount::Cpu => resources.cpu = Some(*new),
                    Amount::Cores => resources.cores = Some(*new),
                    Amount::Memory => resources.memory_mb = Some(*new),
                }
            }
            Edit::Reserve { group, task, old, new } => {
                let resources = task_of(job, group, task)?.resources.get_or_insert_default();
                (resources.memory_mb, resources.memory_max_mb) = (Some(*new), Some(*old));
            }
            Edit::Device { group, task, number, new, .. } => {
                let devices = task_of(job, group, task)?.resources.as_mut()?.devices.as_mut()?;
                devices.get_mut(*number)?.count = Some(u64::try_from(*new).ok()?);
            }
            Edit::Disk { group, new, .. } => {
                group_of(job, group)?.ephemeral_disk.get_or_insert_default().size_mb = Some(*new);
            }
            Edit::Count { group, new, .. } => group_of(job, group)?.count = Some(*new),
            Edit::Port { holder, network, label, .. } => release_port(job, holder, *network, label)?,
            Edit::DropPort { holder, network, label } => drop_port(job, holder, *network, label)?,
            Edit::DropConstraint { holder, number, .. } => {
                let list = constraints_of(job, holder)?;
                let all = list.as_mut()?;
                (*number < all.len()).then(|| all.remove(*number))?;
                // An absent block and an empty list are the same job.
                if all.is_empty() {
                    *list = None;
                }
            }
            Edit::ConstraintValue { holder, number, new, .. } => {
                constraints_of(job, holder)?.as_mut()?.get_mut(*number)?.rtarget.clone_from(new);
            }
            Edit::Datacenter { new, .. } => job.datacenters.as_mut()?.push(new.clone()),
            Edit::Pool { new, .. } => job.node_pool = Some(new.clone()),
            Edit::Canaries { group, in_job, new, .. } => update_of(job, group, *in_job)?.canary = Some(*new),
            Edit::Parallel { group, in_job, new, .. } => update_of(job, group, *in_job)?.max_parallel = Some(*new),
            Edit::Priority { new, .. } => job.priority = Some(*new),
            Edit::Preemption { .. } | Edit::AddNodes { .. } | Edit::Wait { .. } | Edit::Moves { .. } => return None,
        }
        Some(())
    }
}

fn group_of<'j>(job: &'j mut api::Job, name: &str) -> Option<&'j mut api::TaskGroup> {
    job.task_groups.iter_mut().flatten().find(|g| g.name.as_deref() == Some(name))
}

fn task_of<'j>(job: &'j mut api::Job, group: &str, name: &str) -> Option<&'j mut api::Task> {
    group_of(job, group)?.tasks.iter_mut().flatten().find(|t| t.name == name)
}

fn update_of<'j>(job: &'j mut api::Job, group: &str, in_job: bool) -> Option<&'j mut api::UpdateStrategy> {
    if in_job { job.update.as_mut() } else { group_of(job, group)?.update.as_mut() }
}

fn constraints_of<'j>(job: &'j mut api::Job, holder: &Holder) -> Option<&'j mut Option<Vec<api::Constraint>>> {
    match (&holder.group, &holder.task) {
        (None, _) => Some(&mut job.constraints),
        (Some(group), None) => Some(&mut group_of(job, group)?.constraints),
        (Some(group), Some(task)) => Some(&mut task_of(job, group, task)?.constraints),
    }
}

fn network_of<'j>(job: &'j mut api::Job, holder: &Holder, network: usize) -> Option<&'j mut api::NetworkResource> {
    let group = holder.group.as_deref()?;
    let networks = match &holder.task {
        None => &mut group_of(job, group)?.networks,
        Some(task) => &mut task_of(job, group, task)?.resources.as_mut()?.networks,
    };
    networks.as_mut()?.get_mut(network)
}

/// Removes a port without a number.
fn drop_port(job: &mut api::Job, holder: &Holder, network: usize, label: &str) -> Option<()> {
    let network = network_of(job, holder, network)?;
    let ports = network.dynamic_ports.as_mut()?;
    let at = ports.iter().position(|p| p.label == label)?;
    ports.remove(at);
    if ports.is_empty() {
        network.dynamic_ports = None;
    }
    Some(())
}

/// Moves a port from those with a number to those without, in the order in which the file has them.
fn release_port(job: &mut api::Job, holder: &Holder, network: usize, label: &str) -> Option<()> {
    let network = network_of(job, holder, network)?;
    let fixed = network.reserved_ports.as_mut()?;
    let at = fixed.iter().position(|p| p.label == label)?;
    let mut port = fixed.remove(at);
    if fixed.is_empty() {
        network.reserved_ports = None;
    }
    port.value = 0;
    network.dynamic_ports.get_or_insert_default().push(port);
    Some(())
}
