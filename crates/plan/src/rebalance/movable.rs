//! Which allocations may be moved, and how many of a group at a time.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::goal::Limits;
use crate::what_if::JobKey;
use encamp_model::*;
use encamp_state::{AllocEntry, NodeEntry, State};

/// Why an allocation stays where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stays {
    /// It is of a system or sysbatch job: it belongs to its node and does not count.
    PerNode,
    /// Its data are on its node: a sticky disk or a host volume.
    Data,
    /// A volume that it claims can't be on two nodes.
    Claim,
    /// It runs a storage plugin.
    Plugin,
    /// It is of a batch job, and these stay.
    Batch,
    /// Its job is being deployed.
    Deployment,
    /// It does not run, is stopped already, or is of an older version of its job.
    State,
    /// Too few allocations of its group are healthy.
    Health,
    /// The limits of the request leave it out.
    Limits,
}

impl Stays {
    /// The reason in words, as in "3 allocations …".
    pub(super) fn reason(self) -> &'static str {
        match self {
            Stays::PerNode => "belong to their nodes",
            Stays::Data => "have data on their nodes (sticky disks or host volumes)",
            Stays::Claim => "claim volumes that can't be on two nodes",
            Stays::Plugin => "run storage plugins",
            Stays::Batch => "are of batch jobs",
            Stays::Deployment => "are of jobs with an active deployment",
            Stays::State => "do not run, or are of an older version of their jobs",
            Stays::Health => "are of groups with too few healthy allocations",
            Stays::Limits => "are left out by the limits of the request",
        }
    }
}

/// A group whose allocations may be moved.
#[derive(Debug, Clone)]
pub(super) struct Group {
    /// Its job.
    pub job: Arc<Job>,
    /// Itself.
    pub group: TaskGroup,
    /// How many may be away at a time.
    pub at_once: usize,
    /// How long a replacement has to be well to be healthy, in nanoseconds.
    pub healthy_after: i64,
}

/// What may be moved in a state.
pub(super) struct Movable<'a> {
    state: &'a State,
    limits: &'a Limits,
    /// By job, then by group: the place in `groups`, or why all stay.
    known: BTreeMap<JobKey, BTreeMap<String, Result<usize, Stays>>>,
    /// Groups met so far.
    pub groups: Vec<Group>,
}

impl<'a> Movable<'a> {
    pub(super) fn new(state: &'a State, limits: &'a Limits) -> Movable<'a> {
        Movable { state, limits, known: BTreeMap::new(), groups: Vec::new() }
    }

    /// The group of an allocation that may be moved off its node, by its place among the groups.
    pub(super) fn group_of(&mut self, node: &NodeEntry, entry: &AllocEntry) -> Result<usize, Stays> {
        let a = &entry.alloc;
        let job_type = a.job.as_ref().map(|j| &j.r#type);
        if matches!(job_type, Some(JobType::System | JobType::Sysbatch)) {
            return Err(Stays::PerNode);
        }
        let number = self.known_group(a)?;
        let job = &self.groups.get(number).ok_or(Stays::State)?.job;
        let runs = a.client_status == ClientStatus::Running && a.desired_status == DesiredStatus::Run;
        let marked = a.desired_transition.should_migrate() || a.desired_transition.should_reschedule();
        let current = a.job.as_ref().is_some_and(|j| j.version == job.version && j.create_index == job.create_index);
        if !runs || marked || !current || a.is_canary() && !a.health().unwrap_or(false) {
            return Err(Stays::State);
        }
        let usual = node.node.status == NodeStatus::Ready && node.node.drain_strategy.is_none();
        if !usual {
            return Err(Stays::State);
        }
        let claims = self.groups.get(number).map(|g| claims_move(self.state, &g.group, a));
        if claims == Some(false) {
            return Err(Stays::Claim);
        }
        if !self.covers(&node.node) || self.limits.keep.contains(&node.node.id) {
            return Err(Stays::Limits);
        }
        Ok(number)
    }

    /// Whether the limits let nodes of this pool and datacenter be emptied.
    pub(super) fn covers(&self, node: &Node) -> bool {
        let among = |list: &[String], name: &String| list.is_empty() || list.contains(name);
        among(&self.limits.pools, &node.node_pool) && among(&self.limits.datacenters, &node.datacenter)
    }

    fn known_group(&mut self, a: &Allocation) -> Result<usize, Stays> {
        let key = (a.namespace.to_string(), a.job_id.to_string());
        if let Some(known) = self.known.get(&key).and_then(|groups| groups.get(&*a.task_group)) {
            return *known;
        }
        let found = self.examine(a).map(|group| {
            self.groups.push(group);
            self.groups.len() - 1
        });
        self.known.entry(key).or_default().insert(a.task_group.to_string(), found);
        found
    }

    fn examine(&self, a: &Allocation) -> Result<Group, Stays> {
        let job = self.state.job(&a.namespace, &a.job_id).filter(|j| !j.stop).ok_or(Stays::State)?;
        let group = job.lookup_group(&a.task_group).ok_or(Stays::State)?;
        let own = (job.namespace.clone(), job.id.clone());
        let jobs = &self.limits.jobs;
        if !jobs.is_empty() && !jobs.contains(&own) || self.limits.priority_ceiling.is_some_and(|p| job.priority > p) {
            return Err(Stays::Limits);
        }
        if job.r#type == JobType::Batch && !self.limits.batch {
            return Err(Stays::Batch);
        }
        let disk = group.ephemeral_disk.as_ref().is_some_and(|d| d.sticky || d.migrate);
        if disk || group.volumes.iter().flatten().any(|(_, v)| v.r#type == "host") {
            return Err(Stays::Data);
        }
        if group.tasks.iter().any(|t| t.csi_plugin_config.is_some()) {
            return Err(Stays::Plugin);
        }
        if self.state.latest_deployment(&job.namespace, &job.id).is_some_and(|d| d.active()) {
            return Err(Stays::Deployment);
        }
        let at_once = at_once(self.state, job, group);
        if at_once == 0 {
            return Err(Stays::Health);
        }
        let healthy_after =
            [group.migrate.as_ref().map(|m| m.min_healthy_time), group.update.as_ref().map(|u| u.min_healthy_time)];
        let healthy_after = healthy_after.into_iter().flatten().next().unwrap_or(0).max(0);
        Ok(Group { job: job.clone(), group: group.clone(), at_once, healthy_after })
    }
}

/// How many allocations of a group may be away at a time (`docs/spec/server.md §12.3`): as many as its `migrate` block
/// allows, less those that are not healthy. Allocations whose health nothing decides are healthy while they run.
fn at_once(state: &State, job: &Job, group: &TaskGroup) -> usize {
    let most = group.migrate.as_ref().map_or(1, |m| m.max_parallel).max(0);
    let own = |a: &Allocation| a.task_group == group.name && !a.terminal();
    let healthy = |a: &Allocation| a.client_status == ClientStatus::Running && a.health() != Some(false);
    let well = state.entries_of_job(&job.namespace, &job.id).filter(|e| own(&e.alloc) && healthy(&e.alloc)).count();
    let spare = i64::try_from(well).unwrap_or(i64::MAX).saturating_sub(group.count.saturating_sub(most));
    let most = if job.r#type == JobType::Batch { 1 } else { most.min(spare) };
    usize::try_from(most.max(0)).unwrap_or(0)
}

/// Whether the CSI volumes of an allocation can be mounted on another node before it has left its own.
fn claims_move(state: &State, group: &TaskGroup, a: &Allocation) -> bool {
    group.volumes.iter().flatten().filter(|(_, v)| v.r#type == "csi").all(|(_, request)| {
        let volume = state.csi_volume(&a.namespace, &request.source_for(&a.name));
        volume.is_some_and(|v| match CsiAccess::of_mode(&v.access_mode) {
            Some(CsiAccess::MultiNodeMultiWriter) => true,
            Some(CsiAccess::MultiNodeReader | CsiAccess::MultiNodeSingleWriter) => request.read_only,
            Some(CsiAccess::SingleNodeReader | CsiAccess::SingleNodeWriter) | None => false,
        })
    })
}
