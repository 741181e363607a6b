//! An upper bound of what jobs place when a node is lost, and so a lower bound of the capacity that is left on the
//! other nodes.
//!
//! A job whose evaluation has nothing to do places no more than it loses. Other jobs place at most their missing
//! allocations; their evaluations may also stop allocations on other nodes, which unblocks jobs that wait for capacity.
//!
//! [`displaced`]: what one loss displaces at most. [`full`]: clusters that keep their room whatever is lost.

mod displaced;
mod full;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(crate) use displaced::Displaced;

use super::capacity::{Ask, constraints, nodes_with_room};
use super::evaluate::{Limits, Made, evaluate_until, remembered_orders};
use super::stop::Stop;
use super::threads::in_threads;
use super::what_if::{JobKey, Known, Quiet, waiting::short_jobs};
use encamp_model::*;
use encamp_scheduler::NodeOrder;
use encamp_scheduler::candidates::{covers, datacenter_matches, in_pool};
use encamp_scheduler::stack::{CompiledGroup, outranks};
use encamp_state::{AllocEntry, AllocUsage, NodeEntry, Snapshot, State};

/// Nodes with room are counted up to this number in any case.
const LEAST_ENOUGH: usize = 256;

/// The effect of an evaluation of a job in the current state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Activity {
    /// Nothing.
    Settled,
    /// Nothing, but something waits for capacity.
    Waiting,
    /// It places what is missing, and stops nothing on a node that takes allocations.
    Places,
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
    /// Whether what it places may evict others where nothing else helps.
    may_evict: bool,
    /// It is not active, and all that runs of it on nodes that take allocations goes on where it is: it stops nothing
    /// there besides what is lost.
    steady: bool,
    /// The nodes on which it may stop something, if it is active.
    unstable: BTreeSet<u32>,
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
    /// Finished allocations of batch jobs that are not placed again.
    done: i64,
    /// Allocations of older versions that wait until others of the rollout are healthy, which nothing here ever gets.
    held: i64,
    /// How many nodes have room for one without evictions, counted as far as that matters; of jobs that may evict.
    roomy: usize,
    /// No node takes one, not even by evictions where it may evict, as long as nothing is stopped.
    stuck: bool,
}

/// The copies that an allocation may displace.
#[derive(Debug)]
pub(crate) struct Units {
    /// The requested resources of one copy, if only quantities matter.
    pub ask: Option<Ask>,
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
        let (taken, one) = (&given.usage, &ask.usage);
        let ports = ports_of(group);
        let parts = [(taken.cpu, one.cpu), (taken.memory, one.memory), (taken.disk, one.disk), (ports, ask.ports)];
        let copies =
            parts.into_iter().filter(|(_, asked)| *asked > 0).map(|(taken, asked)| rounded_up(taken.max(0), asked));
        // At least one: nodes may have a largest number of allocations.
        copies.max().unwrap_or(0).max(1).min(most)
    }
}

/// How many ports an allocation of a group holds at most.
fn ports_of(group: &TaskGroup) -> i64 {
    let tasks = group.tasks.iter().filter_map(|t| t.resources.as_ref()).flat_map(|r| &r.networks);
    let ports = group.networks.iter().chain(tasks).map(|n| n.reserved_ports.len() + n.dynamic_ports.len());
    i64::try_from(ports.sum::<usize>()).unwrap_or(i64::MAX)
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
    /// Copies that jobs may take the room of that lack allocations and do not wait for room alone.
    restless: i64,
    /// The most allocations that these have placed at any moment.
    restless_places: i64,
    /// How many nodes have room without evictions for each group of those of them that may evict.
    restless_roomy: usize,
    /// Nodes on which these may stop something.
    restless_nodes: BTreeSet<u32>,
    /// Copies that jobs that wait for room may take the room of, once they find some.
    waiting: i64,
    /// Nodes on which these may find room, by evictions too, once all is stopped there that may be.
    unlocked: BTreeSet<u32>,
    /// The nodes keep their free resources whatever is lost.
    pub(crate) keeps_room: bool,
    /// Jobs that wait for capacity, as far as their allocations tell.
    short: Arc<BTreeSet<JobKey>>,
    /// Jobs whose evaluations always do the same.
    quiet: Arc<BTreeMap<JobKey, Quiet>>,
    /// Service and batch jobs of which an evaluation finds nothing to do.
    settled: Arc<BTreeSet<JobKey>>,
    /// The orders of candidates that losses share.
    order: NodeOrder,
}

impl Demands {
    /// Considers all jobs of a state at `now`. Of jobs that it comes to after it was asked to end nothing is known.
    ///
    /// `room_for_all`: count the nodes with room for every job, not only for those that may evict others.
    pub(crate) fn new(state: &Snapshot, units: &Units, room_for_all: bool, now: i64, stop: &Stop) -> Demands {
        let short = short_jobs(state);
        let all: Vec<&Arc<Job>> = state.jobs().map(|e| &e.current).collect();
        let scene = Scene { state, units, evictions: Evictions::of(state), room_for_all, now, stop };
        let demands = in_threads(&all, |job| {
            let key = (job.namespace.clone(), job.id.clone());
            let demand = JobDemand::new(&scene, job, short.contains(&key));
            (key, demand)
        });
        let jobs: BTreeMap<JobKey, JobDemand> = demands.into_iter().collect();
        let settled = |j: &JobDemand| j.r#type != DemandType::PerNode && j.activity == Activity::Settled;
        let settled = jobs.iter().filter(|(_, j)| settled(j)).map(|(key, _)| key.clone()).collect();
        let quiet = jobs.iter().filter_map(|(key, j)| Some((key.clone(), j.quiet.clone()?))).collect();
        let per_node =
            jobs.iter().filter(|(_, j)| j.r#type == DemandType::PerNode).map(|(key, _)| key.clone()).collect();
        let mut demands = Demands {
            jobs,
            per_node,
            restless: 0,
            restless_places: 0,
            restless_roomy: usize::MAX,
            restless_nodes: BTreeSet::new(),
            waiting: 0,
            unlocked: BTreeSet::new(),
            keeps_room: false,
            short: Arc::new(short),
            settled: Arc::new(settled),
            quiet: Arc::new(quiet),
            order: remembered_orders(),
        };
        for key in demands.short.clone().iter() {
            let Some(job) = demands.jobs.get(key) else { continue };
            let open = job.open(&BTreeMap::new(), true);
            match job.activity {
                Activity::Settled => {}
                Activity::Waiting => demands.waiting = demands.waiting.saturating_add(open),
                Activity::Places | Activity::Active => {
                    demands.restless = demands.restless.saturating_add(open);
                    demands.restless_places = demands.restless_places.saturating_add(job.missing(&BTreeMap::new()));
                    demands.restless_nodes.extend(&job.unstable);
                    if job.moves_evicting() {
                        let open = job.groups.values().filter(|g| g.wanted > g.stable);
                        let least = open.map(|g| g.roomy).min().unwrap_or(usize::MAX);
                        demands.restless_roomy = demands.restless_roomy.min(least);
                    }
                }
            }
        }
        demands.unlocked = demands.unlocked(state);
        demands.keeps_room = full::keeps_room(state, &demands.jobs);
        demands
    }

    /// The nodes on which a job that waits and may evict has room once all is gone that may be stopped or evicted there.
    fn unlocked(&self, state: &Snapshot) -> BTreeSet<u32> {
        let mut asks: Vec<(i64, AllocUsage)> = Vec::new();
        for (key, _) in self.jobs.iter().filter(|(_, j)| j.moves_evicting() && j.activity == Activity::Waiting) {
            let Some(job) = state.job(&key.0, &key.1) else { continue };
            asks.extend(job.task_groups.iter().map(|g| (job.priority, CompiledGroup::new(job, g, false).usage)));
        }
        if asks.is_empty() {
            return BTreeSet::new();
        }
        let nodes: Vec<&Arc<NodeEntry>> = state.nodes().collect();
        let unlocked = in_threads(&nodes, |node| unlocks(state, node, &asks).then_some(node.slot));
        unlocked.into_iter().flatten().collect()
    }

    /// What is known about the loss of these nodes before it is followed.
    pub(crate) fn known(&self, state: &Snapshot, lost: &[&Arc<NodeEntry>], stop: &Stop) -> Known {
        Known {
            quiet: self.quiet.clone(),
            stirred: self.stirred(state, lost),
            settled: self.settled.clone(),
            waiting: Some(self.short.clone()),
            limits: Limits { stop: stop.clone(), order: self.order.clone() },
            leaves_out_futile: true,
        }
    }

    /// The quiet jobs that are not quiet when these nodes are lost.
    fn stirred(&self, state: &Snapshot, lost: &[&Arc<NodeEntry>]) -> BTreeSet<JobKey> {
        let mut of_job: BTreeMap<JobKey, OnNodes> = BTreeMap::new();
        for (n, e) in lost.iter().enumerate().flat_map(|(n, node)| node.allocs.iter().map(move |e| (n, e))) {
            let key = (e.alloc.namespace.to_string(), e.alloc.job_id.to_string());
            of_job.entry(key).or_default().entry(n).or_default().push(&e.alloc);
        }
        let quiet_per_node = self.per_node.iter().filter_map(|key| Some((key, self.quiet.get(key)?)));
        let none = OnNodes::new();
        let stays = |key: &JobKey, quiet: &Quiet| {
            let (demand, job) = (self.jobs.get(key)?, state.job(&key.0, &key.1)?);
            Some(demand.stays_quiet(state, job, quiet, (lost, of_job.get(key).unwrap_or(&none))))
        };
        let changed = quiet_per_node.filter(|(key, quiet)| stays(key, quiet) != Some(true));
        let mut out: BTreeSet<JobKey> = changed.map(|(key, _)| key.clone()).collect();
        // Others want to replace what they lose.
        let moves = |key: &JobKey| self.jobs.get(key).is_some_and(|j| j.r#type != DemandType::PerNode);
        out.extend(of_job.into_keys().filter(moves));
        out
    }
}

/// The slots of the nodes with allocations of a job that may be stopped.
fn unstable_on(state: &Snapshot, (namespace, id): &JobKey) -> BTreeSet<u32> {
    let job = state.job(namespace, id);
    let unstable = |a: &Allocation| !a.client_terminal() && job.is_none_or(|job| !stable(state, job, a));
    let allocs = state.allocs_of_job(namespace, id);
    let nodes = allocs.iter().filter(|e| unstable(&e.alloc)).filter_map(|e| state.node(&e.alloc.node_id));
    nodes.map(|n| n.slot).collect()
}

/// Whether one of the groups that are given by priority and resources has room on a node once all is gone that may be
/// stopped or evicted there. Nothing is stopped on nodes where all is stable.
fn unlocks(state: &Snapshot, node: &NodeEntry, asks: &[(i64, AllocUsage)]) -> bool {
    let stays = |e: &&Arc<AllocEntry>| {
        let job = state.job(&e.alloc.namespace, &e.alloc.job_id);
        job.is_some_and(|job| stable(state, job, &e.alloc))
    };
    let (kept, gone): (Vec<&Arc<AllocEntry>>, Vec<_>) = node.live_allocs().partition(stays);
    if gone.is_empty() {
        return false;
    }
    asks.iter().any(|(priority, ask)| {
        let (mut cpu, mut memory, mut disk) = (node.info.cpu, node.info.memory, node.info.disk);
        let evicted = |e: &AllocEntry| e.alloc.job.is_some() && outranks(*priority, e.priority());
        for usage in kept.iter().filter(|e| !evicted(e)).map(|e| &e.usage) {
            cpu = cpu.saturating_sub(usage.cpu.max(0));
            memory = memory.saturating_sub(usage.memory.max(0));
            disk = disk.saturating_sub(usage.disk.max(0));
        }
        ask.cpu <= cpu && ask.memory <= memory && ask.disk <= disk
    })
}

/// Who may evict whom.
#[derive(Debug)]
struct Evictions {
    preemption: PreemptionConfig,
    /// The lowest priority of what runs.
    lowest: i64,
    /// The most allocations on one node.
    most_on_node: usize,
}

impl Evictions {
    fn of(state: &Snapshot) -> Evictions {
        let everybody = PreemptionConfig {
            system_scheduler_enabled: true,
            sys_batch_scheduler_enabled: true,
            batch_scheduler_enabled: true,
            service_scheduler_enabled: true,
        };
        let running = state.allocs().filter(|e| !e.phase.client_terminal()).map(|e| e.priority());
        // A job that takes the place of another one may have a lower priority than what runs.
        let jobs = state.jobs().filter(|e| !e.current.stop).map(|e| e.current.priority);
        Evictions {
            preemption: state.scheduler_config.as_ref().map_or(everybody, |c| c.preemption_config.clone()),
            lowest: running.chain(jobs).min().unwrap_or(i64::MAX),
            most_on_node: state.nodes().map(|n| n.allocs.iter().count()).max().unwrap_or(0),
        }
    }

    fn may(&self, job: &Job, r#type: DemandType) -> bool {
        let enabled = match r#type {
            DemandType::Service => self.preemption.service_scheduler_enabled,
            DemandType::Batch => self.preemption.batch_scheduler_enabled,
            DemandType::PerNode => {
                self.preemption.system_scheduler_enabled || self.preemption.sys_batch_scheduler_enabled
            }
        };
        enabled && outranks(job.priority, self.lowest)
    }
}

/// The allocations of a job on several nodes, by the position of the node.
type OnNodes<'a> = BTreeMap<usize, Vec<&'a Arc<Allocation>>>;

/// What jobs are considered by.
struct Scene<'a> {
    state: &'a Snapshot,
    units: &'a Units,
    evictions: Evictions,
    room_for_all: bool,
    now: i64,
    stop: &'a Stop,
}

/// The allocations of a group on a node.
#[derive(Debug, Default)]
struct OnNode {
    lost: i64,
    stable: i64,
}

impl JobDemand {
    /// `short`: it has less than it wants.
    fn new(scene: &Scene, job: &Arc<Job>, short: bool) -> JobDemand {
        let Scene { state, units, evictions, room_for_all, now, stop } = scene;
        let r#type = match job.r#type {
            JobType::System | JobType::Sysbatch => DemandType::PerNode,
            JobType::Batch => DemandType::Batch,
            JobType::Service | JobType::Core | JobType::Unset | JobType::Other(_) => DemandType::Service,
        };
        let per_node = r#type == DemandType::PerNode;
        let may_evict = evictions.may(job, r#type);
        let allocs = state.allocs_of_job(&job.namespace, &job.id);
        let mut groups: BTreeMap<String, GroupDemand> = BTreeMap::new();
        let most = units.most_for(state, job);
        let enough = evictions.most_on_node.saturating_add(2).max(LEAST_ENOUGH);
        for group in &job.task_groups {
            let canaries = group.update.as_ref().map_or(0, |u| u.canary);
            let count = if job.stop { 0 } else { group.count.saturating_add(canaries) };
            let of_group = allocs.iter().filter(|e| e.alloc.task_group == group.name);
            let stays = of_group.filter(|e| stable(state, job, &e.alloc)).count();
            let counted = (may_evict || *room_for_all) && !per_node && (short || !allocs.is_empty()) && !stop.now();
            let placed = || versions(state, job, group);
            let roomy = |enough| {
                placed().map(move |(job, group)| nodes_with_room(state, job, group, enough, *now)).collect::<Vec<_>>()
            };
            let nowhere = !may_evict && !per_node && !stop.now() && finds_no_room(job, group, || roomy(1));
            let demand = GroupDemand {
                unit: placed().map(|(job, group)| units.of(job, group, most)).max().unwrap_or(most),
                wanted: count,
                stable: i64::try_from(stays).unwrap_or(i64::MAX),
                done: done(job, &group.name, &allocs),
                held: held(state, job, group, &allocs),
                roomy: if counted { roomy(enough).into_iter().min().unwrap_or(0) } else { 0 },
                stuck: nowhere,
            };
            groups.insert(group.name.clone(), demand);
        }
        let quiet = if per_node || short { quiet(scene, job, &groups) } else { None };
        let (activity, failed) = match &quiet {
            Some(q) if q.failed.is_empty() => (Activity::Settled, BTreeSet::new()),
            Some(q) => (Activity::Waiting, q.failed.keys().cloned().collect()),
            None => activity(scene, job),
        };
        for group in job.task_groups.iter().filter(|g| activity == Activity::Waiting && failed.contains(&g.name)) {
            if let Some(demand) = groups.get_mut(&group.name) {
                demand.stuck |= amounts_decide(job, group);
            }
        }
        let active = activity == Activity::Active && !per_node;
        let steady = match activity {
            Activity::Settled | Activity::Waiting => allocs.iter().all(|e| goes_on(state, job, e)),
            Activity::Places => true,
            Activity::Active => false,
        };
        let key = (job.namespace.clone(), job.id.clone());
        let unstable = if active { unstable_on(state, &key) } else { BTreeSet::new() };
        JobDemand { activity, quiet, r#type, may_evict, steady, unstable, groups }
    }

    /// Whether it places allocations on other nodes and may evict for that.
    fn moves_evicting(&self) -> bool {
        self.may_evict && self.r#type != DemandType::PerNode
    }

    /// Whether evaluations do the same when these nodes are lost, besides stopping what ran there. `own`: all of the job
    /// on them, by their position.
    fn stays_quiet(
        &self,
        state: &Snapshot,
        job: &Job,
        quiet: &Quiet,
        (lost, own): (&[&Arc<NodeEntry>], &OnNodes),
    ) -> bool {
        let mut lost_of: BTreeMap<&str, i64> = BTreeMap::new();
        let wanted = job.task_groups.iter().fold(0, |sum: i64, g| sum.saturating_add(g.count.max(0)));
        for (n, node) in lost.iter().enumerate() {
            let mut names: BTreeSet<&str> = BTreeSet::new();
            for a in own.get(&n).into_iter().flatten().filter(|a| !a.client_terminal()) {
                if !stable(state, job, a) {
                    return false;
                }
                names.insert(&a.name);
                *lost_of.entry(&a.task_group).or_default() += 1;
            }
            let all = i64::try_from(names.len()).is_ok_and(|n| n == wanted);
            // The node may be one on which something is missing.
            if !all && !quiet.failed.is_empty() && covers(job, &node.node) {
                return false;
            }
        }
        // Of each group something stays.
        lost_of.iter().all(|(group, n)| self.groups.get(*group).is_some_and(|g| g.stable > *n))
    }

    /// Allocations that the job places at most.
    fn missing(&self, lost: &BTreeMap<String, OnNode>) -> i64 {
        let groups = self.groups.iter().map(|(name, g)| g.missing(lost.get(name)));
        groups.fold(0, i64::saturating_add)
    }

    /// Copies displaced by all that the job may place. `gains`: nodes may have more room than now.
    fn open(&self, lost: &BTreeMap<String, OnNode>, gains: bool) -> i64 {
        let placed = self.groups.iter().filter(|(_, g)| gains || !g.stuck);
        let one = |(name, g): (&String, &GroupDemand)| g.unit.saturating_mul(g.missing(lost.get(name)));
        placed.map(one).fold(0, i64::saturating_add)
    }
}

impl GroupDemand {
    /// Allocations that are placed at most: what is wanted less what stays. `lost`: those that are lost.
    fn missing(&self, lost: Option<&OnNode>) -> i64 {
        let (stable_lost, others_lost) = lost.map_or((0, 0), |l| (l.stable, l.lost.saturating_sub(l.stable)));
        let stays = self.stable.saturating_sub(stable_lost);
        let held = self.held.saturating_sub(others_lost).max(0);
        self.wanted.saturating_sub(stays).saturating_sub(self.done).saturating_sub(held).max(0)
    }
}

/// A group as the job and its stored versions have it, as far as they are placed differently: an older version is placed
/// again where canaries wait.
fn versions<'a>(
    state: &'a Snapshot,
    job: &'a Arc<Job>,
    group: &'a TaskGroup,
) -> impl Iterator<Item = (&'a Arc<Job>, &'a TaskGroup)> {
    let stored = state.job_entry(&job.namespace, &job.id).into_iter().flat_map(|e| e.versions.values());
    let older = stored.filter_map(|v| Some((v, v.lookup_group(&group.name)?)));
    let same_nodes =
        |v: &Job| v.constraints == job.constraints && v.datacenters == job.datacenters && v.node_pool == job.node_pool;
    let other = move |(v, g): &(&Arc<Job>, &TaskGroup)| !same_nodes(v) || !placed_alike(g, group);
    std::iter::once((job, group)).chain(older.filter(other))
}

/// Whether two versions of a group find room on the same nodes.
fn placed_alike(a: &TaskGroup, b: &TaskGroup) -> bool {
    let of_task = |t: &Task| (t.driver.clone(), t.resources.clone(), t.constraints.clone(), t.lifecycle.clone());
    let of_group = |g: &TaskGroup| (g.constraints.clone(), g.networks.clone(), g.volumes.clone());
    a.ephemeral_disk == b.ephemeral_disk
        && of_group(a) == of_group(b)
        && a.tasks.iter().map(of_task).eq(b.tasks.iter().map(of_task))
}

/// Whether no node has room for any version of a group that evicts nobody. What is lost gives back no values of properties
/// and no claims that it waits for.
fn finds_no_room(job: &Job, group: &TaskGroup, roomy: impl Fn() -> Vec<usize>) -> bool {
    let volumes = group.volumes.as_ref().is_some_and(|v| !v.is_empty());
    let shares = volumes || constraints(job, group).any(|c| c.operand == "distinct_property");
    !shares && roomy().into_iter().all(|nodes| nodes == 0)
}

/// Whether amounts of CPU, memory and disk, and dynamic ports, decide where a group finds room, and no others of the job.
fn amounts_decide(job: &Job, group: &TaskGroup) -> bool {
    let compiled = CompiledGroup::new(job, group, false);
    let dynamic = compiled.network.as_ref().is_none_or(|n| n.reserved_ports.is_empty());
    let amounts = compiled.simple || compiled.late_hosts.is_some() && dynamic;
    let volumes = group.volumes.as_ref().is_some_and(|v| !v.is_empty());
    amounts && !volumes && constraints(job, group).all(|c| c.operand != "distinct_property")
}

/// Whether an allocation has ended, stays, or is of this version on a node that takes nothing new.
fn goes_on(state: &State, job: &Job, e: &AllocEntry) -> bool {
    let takes = |id: &str| state.node(id).is_some_and(|n| n.node.ready());
    e.phase.client_terminal() || stable(state, job, &e.alloc) || of_version(job, &e.alloc) && !takes(&e.alloc.node_id)
}

/// Whether an allocation is of the job's current version.
fn of_version(job: &Job, a: &Allocation) -> bool {
    a.job.as_ref().is_some_and(|j| j.version == job.version && j.create_index == job.create_index)
}

/// The finished allocations of a group of a batch job that keep their place in it.
fn done(job: &Job, group: &str, allocs: &[Arc<AllocEntry>]) -> i64 {
    let keeps = |a: &Allocation| {
        a.task_group == group
            && a.client_status == ClientStatus::Complete
            && a.desired_status == DesiredStatus::Run
            && a.desired_transition == DesiredTransition::default()
            && a.next_allocation.is_empty()
            && of_version(job, a)
    };
    let done = if job.r#type == JobType::Batch { allocs.iter().filter(|e| keeps(&e.alloc)).count() } else { 0 };
    i64::try_from(done).unwrap_or(0)
}

/// The allocations of older versions that a rollout that has begun does not come to: no more than `max_parallel` of a
/// group are replaced until some are healthy.
fn held(state: &Snapshot, job: &Job, group: &TaskGroup, allocs: &[Arc<AllocEntry>]) -> i64 {
    let of_job =
        |d: &Arc<Deployment>| d.active() && d.job_version == job.version && d.job_create_index == job.create_index;
    let deployment = state.latest_deployment(&job.namespace, &job.id).filter(|d| of_job(d));
    let begun = deployment.is_some_and(|d| d.task_groups.get(&group.name).is_some_and(Option::is_some));
    let Some(update) = group.update.as_ref().filter(|u| begun && !job.stop && !u.is_empty()) else { return 0 };
    let ready = |n: &NodeEntry| n.node.status == NodeStatus::Ready && n.node.drain_strategy.is_none();
    let waits = |a: &Allocation| {
        a.task_group == group.name
            && a.desired_status == DesiredStatus::Run
            && matches!(a.client_status, ClientStatus::Running | ClientStatus::Pending)
            && a.desired_transition == DesiredTransition::default()
            && !of_version(job, a)
            && state.node(&a.node_id).is_some_and(|n| ready(n))
    };
    let waiting = i64::try_from(allocs.iter().filter(|e| waits(&e.alloc)).count()).unwrap_or(0);
    waiting.saturating_sub(update.max_parallel.max(0)).max(0)
}

/// Whether an allocation goes on where it is, whatever else happens, and counts for its group.
pub(crate) fn stable(state: &State, job: &Job, a: &Allocation) -> bool {
    let ready = |n: &NodeEntry| n.node.status == NodeStatus::Ready && n.node.drain_strategy.is_none();
    a.desired_status == DesiredStatus::Run
        && matches!(a.client_status, ClientStatus::Running | ClientStatus::Pending)
        && a.desired_transition == DesiredTransition::default()
        && of_version(job, a)
        && state.node(&a.node_id).is_some_and(|n| ready(n))
}

/// The work that an evaluation of a job finds, and the groups that cannot be placed: the evaluation is processed, and
/// nothing of it is carried out. Rollouts go on by rules of their own when something is lost.
fn activity(scene: &Scene, job: &Arc<Job>) -> (Activity, BTreeSet<String>) {
    let (state, now) = (scene.state, scene.now);
    let deployment = state.latest_deployment(&job.namespace, &job.id);
    if deployment.is_some_and(|d| d.active()) {
        return (Activity::Active, BTreeSet::new());
    }
    let unused = job.is_template() && state.allocs_of_job(&job.namespace, &job.id).is_empty();
    if unused || calm(state, job) {
        return (Activity::Settled, BTreeSet::new());
    }
    let mut made = Made::new(3);
    let eval = Evaluation::pending(job, EvalTrigger::NodeUpdate, now, made.id());
    let Ok(answer) = evaluate_until(state, &eval, now, &mut made, &Limits::stopped_by(scene.stop)) else {
        return (Activity::Active, BTreeSet::new());
    };
    let failed = answer.updates.iter().flat_map(|e| e.failed_tg_allocs.keys().cloned()).collect();
    let later = answer.created.iter().any(|e| !e.wait_until.is_zero());
    if !answer.plans.is_empty() || later {
        let only_places = may_only_place(state, job) && answer.plans.iter().all(|plan| only_places(state, plan));
        return (if only_places { Activity::Places } else { Activity::Active }, failed);
    }
    let waits = answer.updates.iter().any(|e| !e.failed_tg_allocs.is_empty() || e.status != EvalStatus::Complete);
    (if waits { Activity::Waiting } else { Activity::Settled }, failed)
}

/// Whether nothing of a job that is on a node that takes allocations is ever stopped or changed, as long as it has no
/// more than it wants. Allocations on other nodes may be: nothing waits for room there.
fn may_only_place(state: &State, job: &Job) -> bool {
    let generic = matches!(job.r#type, JobType::Service | JobType::Batch);
    if !generic || job.stop || job.is_template() {
        return false;
    }
    let takes = |id: &str| state.node(id).is_some_and(|n| n.node.ready());
    let allocs = state.allocs_of_job(&job.namespace, &job.id);
    allocs.iter().map(|e| &e.alloc).all(|a| {
        let over = a.server_terminal() && a.client_terminal();
        over || stable(state, job, a) || of_version(job, a) && !takes(&a.node_id)
    })
}

/// Whether a plan changes nothing that is on a node that takes allocations.
fn only_places(state: &State, plan: &Plan) -> bool {
    let takes = |id: &str| state.node(id).is_some_and(|n| n.node.ready());
    let stops = plan.node_update.iter().any(|(node, list)| !list.is_empty() && takes(node));
    let evicts = plan.node_preemptions.values().any(|list| !list.is_empty());
    let changes = |a: &Arc<Allocation>| state.alloc(&a.id).is_some_and(|e| takes(&e.alloc.node_id));
    !stops && !evicts && !plan.node_allocation.values().flatten().any(changes)
}

/// The effect of every evaluation of a job besides stopping lost allocations, if it does not concern allocations (see
/// `Known::quiet`).
fn quiet(scene: &Scene, job: &Arc<Job>, groups: &BTreeMap<String, GroupDemand>) -> Option<Quiet> {
    let state = scene.state;
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
        let quiet = if evicts || deploys { None } else { evaluated(scene, job) };
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
    let (first, plan) = evaluated(scene, job)?;
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
fn evaluated(scene: &Scene, job: &Arc<Job>) -> Option<(Quiet, Option<Plan>)> {
    let (state, now) = (scene.state, scene.now);
    let mut made = Made::new(3);
    let eval = Evaluation::pending(job, EvalTrigger::NodeUpdate, now, made.id());
    let before = made.given();
    let mut answer = evaluate_until(state, &eval, now, &mut made, &Limits::stopped_by(scene.stop)).ok()?;
    let moves = |p: &Plan| !p.node_update.is_empty() || !p.node_allocation.is_empty() || !p.node_preemptions.is_empty();
    let usual = answer.updates.iter().all(|e| e.status == EvalStatus::Complete)
        && answer.created.iter().all(|e| e.wait_until.is_zero())
        && !answer.plans.iter().any(moves)
        && answer.plans.len() <= 1
        && made.drawn() == 0;
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
