//! An upper bound of what jobs place when a node is lost, and so a lower bound of the capacity that is left on the
//! other nodes.
//!
//! A job whose evaluation has nothing to do places no more than it loses. Other jobs place at most their missing
//! allocations; their evaluations may also stop allocations on other nodes, which unblocks jobs that wait for capacity.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::evaluate::{Made, evaluate};
use super::threads::in_threads;
use super::what_if::{JobKey, Quiet, waiting::short_jobs};
use encamp_model::*;
use encamp_scheduler::candidates::{covers, datacenter_matches, in_pool};
use encamp_scheduler::stack::CompiledGroup;
use encamp_state::{AllocUsage, NodeEntry, Snapshot, State};

/// The effect of an evaluation of a job in the current state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Activity {
    /// Nothing.
    Settled,
    /// Nothing, but something waits for capacity.
    Waiting,
    /// Something, or it is not known what.
    Active,
}

/// One job.
#[derive(Debug)]
struct JobDemand {
    activity: Activity,
    /// The common effect of all evaluations, if it is the same; known only of jobs with an allocation per node and of
    /// those that wait.
    quiet: Option<Quiet>,
    r#type: DemandType,
    groups: BTreeMap<String, GroupDemand>,
}

/// The types of jobs, as far as they place allocations differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DemandType {
    Service,
    Batch,
    /// System and sysbatch: allocations belong to their nodes.
    PerNode,
}

/// One group of a job.
#[derive(Debug)]
struct GroupDemand {
    /// Copies that one allocation may take the room of.
    unit: i64,
    /// Allocations that the job may want at most.
    wanted: i64,
    /// Allocations that stay where they are.
    stable: i64,
}

/// The copies that an allocation may displace.
#[derive(Debug)]
pub(crate) struct Units {
    /// The requested resources of one copy, if only quantities matter.
    pub ask: Option<AllocUsage>,
    /// The most copies on a node of each pool and datacenter that has any: no allocation there displaces more.
    pub most: BTreeMap<(String, String), i64>,
    /// The same of all nodes, if what fits on a node depends on others.
    pub everywhere: Option<i64>,
}

impl Units {
    /// The most copies that fit on a node that an allocation of the group can run on.
    fn most_for(&self, state: &Snapshot, job: &Job) -> i64 {
        if let Some(most) = self.everywhere {
            return most;
        }
        // Older versions of a job are placed again where canaries wait.
        let versions = state.job_entry(&job.namespace, &job.id).into_iter().flat_map(|e| e.versions.values());
        let all: Vec<&Job> = versions.map(|v| &**v).chain([job]).collect();
        let reaches = |pool: &str, dc: &str| {
            all.iter().any(|j| in_pool(&j.node_pool, pool) && datacenter_matches(&j.datacenters, dc))
        };
        self.most.iter().filter(|((pool, dc), _)| reaches(pool, dc)).map(|(_, n)| *n).max().unwrap_or(0)
    }

    fn of(&self, job: &Job, group: &TaskGroup, most: i64) -> i64 {
        let Some(ask) = &self.ask else { return most };
        let given = CompiledGroup::new(job, group, false);
        // Reserved cores count by the speed of the node.
        if given.tasks.iter().any(|t| t.cores > 0) {
            return most;
        }
        let parts =
            [(given.usage.cpu, ask.cpu), (given.usage.memory, ask.memory), (given.usage.disk, ask.disk)].into_iter();
        let copies = parts.filter(|(_, asked)| *asked > 0).map(|(taken, asked)| rounded_up(taken.max(0), asked));
        // At least one: nodes may have a largest number of allocations.
        copies.max().unwrap_or(0).max(1).min(most)
    }
}

fn rounded_up(amount: i64, by: i64) -> i64 {
    amount / by + i64::from(amount % by > 0)
}

/// All jobs of a state.
#[derive(Debug)]
pub(crate) struct Demands {
    jobs: BTreeMap<JobKey, JobDemand>,
    /// Those with an allocation per node.
    per_node: Vec<JobKey>,
    /// Copies that jobs that wait may take the room of, once they find some.
    waiting: i64,
    /// Which jobs may evict others.
    preemption: PreemptionConfig,
    /// Jobs that wait for capacity, as far as their allocations tell.
    pub short: Arc<BTreeSet<JobKey>>,
    /// Jobs whose evaluations always do the same.
    pub quiet: Arc<BTreeMap<JobKey, Quiet>>,
    /// Service and batch jobs of which an evaluation finds nothing to do.
    pub settled: Arc<BTreeSet<JobKey>>,
}

impl Demands {
    /// Considers all jobs of a state at `now`.
    pub(crate) fn new(state: &Snapshot, units: &Units, now: i64) -> Demands {
        let short = short_jobs(state);
        let all: Vec<&Arc<Job>> = state.jobs().map(|e| &e.current).collect();
        let demands = in_threads(&all, |job| {
            let key = (job.namespace.clone(), job.id.clone());
            let demand = JobDemand::new(state, job, units, short.contains(&key), now);
            (key, demand)
        });
        let jobs: BTreeMap<JobKey, JobDemand> = demands.into_iter().collect();
        let settled = |j: &JobDemand| j.r#type != DemandType::PerNode && j.activity == Activity::Settled;
        let settled = jobs.iter().filter(|(_, j)| settled(j)).map(|(key, _)| key.clone()).collect();
        let quiet = jobs.iter().filter_map(|(key, j)| Some((key.clone(), j.quiet.clone()?))).collect();
        let everybody = PreemptionConfig {
            system_scheduler_enabled: true,
            sys_batch_scheduler_enabled: true,
            batch_scheduler_enabled: true,
            service_scheduler_enabled: true,
        };
        let per_node =
            jobs.iter().filter(|(_, j)| j.r#type == DemandType::PerNode).map(|(key, _)| key.clone()).collect();
        let mut demands = Demands {
            jobs,
            per_node,
            waiting: 0,
            preemption: state.scheduler_config.as_ref().map_or(everybody, |c| c.preemption_config.clone()),
            short: Arc::new(short),
            settled: Arc::new(settled),
            quiet: Arc::new(quiet),
        };
        let sum = |sum: i64, key: &JobKey| sum.saturating_add(demands.open(key));
        demands.waiting = demands.short.iter().fold(0, sum);
        demands
    }

    /// The quiet jobs that are not quiet when these nodes are lost.
    pub(crate) fn stirred(&self, state: &Snapshot, lost: &[&Arc<NodeEntry>]) -> BTreeSet<JobKey> {
        let quiet_per_node = self.per_node.iter().filter_map(|key| Some((key, self.quiet.get(key)?)));
        let stays = |key: &JobKey, quiet: &Quiet| {
            let (demand, job) = (self.jobs.get(key)?, state.job(&key.0, &key.1)?);
            Some(demand.stays_quiet(state, job, quiet, lost))
        };
        let changed = quiet_per_node.filter(|(key, quiet)| stays(key, quiet) != Some(true));
        let mut out: BTreeSet<JobKey> = changed.map(|(key, _)| key.clone()).collect();
        // Others want to replace what they lose.
        for e in lost.iter().flat_map(|node| node.allocs.iter()) {
            let key = (e.alloc.namespace.clone(), e.alloc.job_id.clone());
            if self.jobs.get(&key).is_some_and(|j| j.r#type != DemandType::PerNode) {
                out.insert(key);
            }
        }
        out
    }

    /// The capacity that a waiting job may take.
    fn open(&self, key: &JobKey) -> i64 {
        match self.jobs.get(key) {
            Some(job) if job.activity != Activity::Settled => job.open(&BTreeMap::new()),
            _ => 0,
        }
    }

    /// Copies that may be displaced at most when a node is lost, besides those on it; `None` if that can't be known
    /// beforehand.
    pub(crate) fn displaced(&self, state: &Snapshot, node: &NodeEntry) -> Option<i64> {
        let mut on_node: BTreeMap<JobKey, BTreeMap<&str, OnNode>> = BTreeMap::new();
        for e in node.allocs.iter().filter(|e| !e.phase.client_terminal()) {
            let a = &e.alloc;
            let groups = on_node.entry((a.namespace.clone(), a.job_id.clone())).or_default();
            let group = groups.entry(a.task_group.as_str()).or_default();
            let current = state.job(&a.namespace, &a.job_id);
            group.lost += 1;
            group.stable += i64::from(current.is_some_and(|job| stable(state, job, a)));
        }
        let (mut total, mut frees): (i64, bool) = (0, false);
        for (key, groups) in &on_node {
            // Of jobs that are gone everything is stopped.
            let Some(job) = self.jobs.get(key) else {
                frees = true;
                continue;
            };
            frees |= job.activity == Activity::Active;
            let taken = match (job.r#type, job.activity) {
                (DemandType::PerNode, Activity::Settled | Activity::Waiting) => 0,
                (DemandType::PerNode, Activity::Active) => return None,
                (_, Activity::Settled) => job.replaced(groups)?,
                (_, Activity::Waiting | Activity::Active) => job.open(groups),
            };
            if taken > 0 && self.may_evict(job.r#type) {
                return None;
            }
            total = total.saturating_add(taken);
        }
        let per_node = || self.per_node.iter().filter_map(|key| Some((key, self.jobs.get(key)?)));
        for (key, job) in per_node() {
            let targets = || state.job(&key.0, &key.1).is_some_and(|j| !j.stop && covers(j, &node.node));
            if job.activity == Activity::Active && targets() {
                return None;
            }
        }
        if frees {
            let idle = per_node().all(|(_, j)| j.activity == Activity::Settled);
            if !idle || self.may_evict(DemandType::Service) || self.may_evict(DemandType::Batch) {
                return None;
            }
            total = total.saturating_add(self.waiting);
        }
        Some(total)
    }

    fn may_evict(&self, r#type: DemandType) -> bool {
        match r#type {
            DemandType::Service => self.preemption.service_scheduler_enabled,
            DemandType::Batch => self.preemption.batch_scheduler_enabled,
            DemandType::PerNode => {
                self.preemption.system_scheduler_enabled || self.preemption.sys_batch_scheduler_enabled
            }
        }
    }
}

/// The allocations of a group on a node.
#[derive(Debug, Default)]
struct OnNode {
    lost: i64,
    stable: i64,
}

impl JobDemand {
    /// `short`: it has less than it wants.
    fn new(state: &Snapshot, job: &Arc<Job>, units: &Units, short: bool, now: i64) -> JobDemand {
        let r#type = match job.r#type {
            JobType::System | JobType::Sysbatch => DemandType::PerNode,
            JobType::Batch => DemandType::Batch,
            JobType::Service | JobType::Core | JobType::Unset | JobType::Other(_) => DemandType::Service,
        };
        let allocs = state.allocs_of_job(&job.namespace, &job.id);
        let mut groups: BTreeMap<String, GroupDemand> = BTreeMap::new();
        let most = units.most_for(state, job);
        for group in &job.task_groups {
            let canaries = group.update.as_ref().map_or(0, |u| u.canary);
            let count = if job.stop { 0 } else { group.count.saturating_add(canaries) };
            let of_group = allocs.iter().filter(|e| e.alloc.task_group == group.name);
            let stays = of_group.filter(|e| stable(state, job, &e.alloc)).count();
            let demand = GroupDemand {
                unit: units.of(job, group, most),
                wanted: count,
                stable: i64::try_from(stays).unwrap_or(i64::MAX),
            };
            groups.insert(group.name.clone(), demand);
        }
        let per_node = r#type == DemandType::PerNode;
        let quiet = if per_node || short { quiet(state, job, &groups, now) } else { None };
        let activity = match &quiet {
            Some(q) if q.failed.is_empty() => Activity::Settled,
            Some(_) => Activity::Waiting,
            None => activity(state, job, now),
        };
        JobDemand { activity, quiet, r#type, groups }
    }

    /// Whether evaluations do the same when these nodes are lost, besides stopping what ran there.
    fn stays_quiet(&self, state: &Snapshot, job: &Job, quiet: &Quiet, lost: &[&Arc<NodeEntry>]) -> bool {
        let mut lost_of: BTreeMap<&str, i64> = BTreeMap::new();
        for node in lost {
            let mut names: BTreeSet<&str> = BTreeSet::new();
            let own = node.allocs.iter().map(|e| &e.alloc);
            for a in own.filter(|a| a.job_id == job.id && a.namespace == job.namespace && !a.client_terminal()) {
                if !stable(state, job, a) {
                    return false;
                }
                names.insert(&a.name);
                *lost_of.entry(&a.task_group).or_default() += 1;
            }
            let wanted = job.task_groups.iter().fold(0, |sum: i64, g| sum.saturating_add(g.count.max(0)));
            let all = i64::try_from(names.len()).is_ok_and(|n| n == wanted);
            // The node may be one on which something is missing.
            if !all && !quiet.failed.is_empty() && covers(job, &node.node) {
                return false;
            }
        }
        // Of each group something stays.
        lost_of.iter().all(|(group, n)| self.groups.get(*group).is_some_and(|g| g.stable > *n))
    }

    /// Copies displaced by replacements of what is lost, allocation by allocation; `None` if a group is not known.
    fn replaced(&self, lost: &BTreeMap<&str, OnNode>) -> Option<i64> {
        let mut total: i64 = 0;
        for (name, on_node) in lost {
            total = total.saturating_add(self.groups.get(*name)?.unit.saturating_mul(on_node.lost));
        }
        Some(total)
    }

    /// Copies displaced by all that the job may place: what it wants less what stays.
    fn open(&self, lost: &BTreeMap<&str, OnNode>) -> i64 {
        let one = |(name, g): (&String, &GroupDemand)| {
            let stays = g.stable.saturating_sub(lost.get(name.as_str()).map_or(0, |l| l.stable));
            g.unit.saturating_mul(g.wanted.saturating_sub(stays).max(0))
        };
        self.groups.iter().map(one).fold(0, i64::saturating_add)
    }
}

/// Whether an allocation goes on where it is, whatever else happens, and counts for its group.
pub(crate) fn stable(state: &State, job: &Job, a: &Allocation) -> bool {
    let ready = |n: &NodeEntry| n.node.status == NodeStatus::Ready && n.node.drain_strategy.is_none();
    a.desired_status == DesiredStatus::Run
        && matches!(a.client_status, ClientStatus::Running | ClientStatus::Pending)
        && a.desired_transition == DesiredTransition::default()
        && a.job.as_ref().is_some_and(|j| j.version == job.version && j.create_index == job.create_index)
        && state.node(&a.node_id).is_some_and(|n| ready(n))
}

/// The work that an evaluation of a job finds: it is made and processed, and nothing of it is carried out. Rollouts go
/// on by rules of their own when something is lost.
fn activity(state: &Snapshot, job: &Arc<Job>, now: i64) -> Activity {
    let deployment = state.latest_deployment(&job.namespace, &job.id);
    if deployment.is_some_and(|d| d.active()) {
        return Activity::Active;
    }
    let unused = job.is_template() && state.allocs_of_job(&job.namespace, &job.id).is_empty();
    if unused || calm(state, job) {
        return Activity::Settled;
    }
    let mut made = Made::new(3);
    let eval = Evaluation::pending(job, EvalTrigger::NodeUpdate, now, made.id());
    let Ok(answer) = evaluate(state, &eval, now, &mut made) else { return Activity::Active };
    let later = answer.created.iter().any(|e| !e.wait_until.is_zero());
    if !answer.plans.is_empty() || later {
        return Activity::Active;
    }
    let fails = answer.updates.iter().any(|e| !e.failed_tg_allocs.is_empty() || e.status != EvalStatus::Complete);
    if fails { Activity::Waiting } else { Activity::Settled }
}

/// The effect of every evaluation of a job besides stopping lost allocations, if it does not concern allocations (see
/// `Known::quiet`).
fn quiet(state: &Snapshot, job: &Arc<Job>, groups: &BTreeMap<String, GroupDemand>, now: i64) -> Option<Quiet> {
    let per_node = matches!(job.r#type, JobType::System | JobType::Sysbatch);
    let constraints = job.constraints.iter().chain(job.task_groups.iter().flat_map(|g| &g.constraints));
    let mut constraints = constraints.chain(job.task_groups.iter().flat_map(|g| &g.tasks).flat_map(|t| &t.constraints));
    let by_others = constraints.any(|c| matches!(c.operand.as_str(), "distinct_hosts" | "distinct_property"));
    let volumes = job.task_groups.iter().any(|g| g.volumes.as_ref().is_some_and(|v| !v.is_empty()));
    if by_others || volumes || job.stop || job.is_template() {
        return None;
    }
    if !per_node {
        // Allocations that are placed elsewhere could be evicted.
        let config = state.scheduler_config.as_ref().map(|c| &c.preemption_config);
        let evicts = config.is_none_or(|c| c.service_scheduler_enabled || c.batch_scheduler_enabled);
        let deploys = state.latest_deployment(&job.namespace, &job.id).is_some_and(|d| d.active());
        let quiet = if evicts || deploys { None } else { evaluated(state, job, now) };
        return quiet.map(|(quiet, _)| quiet).filter(|q| !q.writes && !q.failed.is_empty());
    }
    let latest = state.latest_deployment(&job.namespace, &job.id);
    // A new deployment is never begun.
    let covered = match &latest {
        Some(d) => d.job_version == job.version && d.job_create_index == job.create_index,
        None => job.task_groups.iter().all(|g| g.update.as_ref().is_none_or(UpdateStrategy::is_empty)),
    };
    if !covered {
        return None;
    }
    let (first, plan) = evaluated(state, job, now)?;
    if !first.writes {
        return Some(first);
    }
    // The deployment is written by each one that follows.
    let of_group =
        |(name, s): (&String, &Option<DeploymentState>)| s.is_some() && groups.get(name).is_some_and(|g| g.stable > 0);
    if !plan?.deployment.is_some_and(|d| d.task_groups.iter().any(of_group)) {
        return None;
    }
    Some(first)
}

/// The effect of an evaluation and its plan, if it leaves all allocations as they are.
fn evaluated(state: &Snapshot, job: &Arc<Job>, now: i64) -> Option<(Quiet, Option<Plan>)> {
    let mut made = Made::new(3);
    let eval = Evaluation::pending(job, EvalTrigger::NodeUpdate, now, made.id());
    let before = made.given();
    let mut answer = evaluate(state, &eval, now, &mut made).ok()?;
    let moves = |p: &Plan| !p.node_update.is_empty() || !p.node_allocation.is_empty() || !p.node_preemptions.is_empty();
    let usual = answer.updates.iter().all(|e| e.status == EvalStatus::Complete)
        && answer.created.iter().all(|e| e.wait_until.is_zero())
        && !answer.plans.iter().any(moves)
        && answer.plans.len() <= 1
        && !made.drew();
    let failed = answer.updates.iter().flat_map(|e| e.failed_tg_allocs.clone()).collect();
    let quiet = Quiet { ids: made.given() - before, writes: !answer.plans.is_empty(), failed };
    usual.then(|| (quiet, answer.plans.pop()))
}

/// Whether a service has what it wants, and nothing that could be replaced: true of most, and known without an
/// evaluation.
fn calm(state: &Snapshot, job: &Job) -> bool {
    if job.r#type != JobType::Service || job.stop || job.is_template() {
        return false;
    }
    let mut live: BTreeMap<&str, i64> = BTreeMap::new();
    let allocs = state.allocs_of_job(&job.namespace, &job.id);
    for a in allocs.iter().map(|e| &e.alloc) {
        if stable(state, job, a) {
            *live.entry(a.task_group.as_str()).or_default() += 1;
            continue;
        }
        let over = a.server_terminal() && a.client_terminal() && !a.last_reschedule_failed();
        if !over {
            return false;
        }
    }
    let groups = job.task_groups.iter().filter(|g| g.count > 0);
    let wanted: BTreeMap<&str, i64> = groups.map(|g| (g.name.as_str(), g.count)).collect();
    live == wanted
}
