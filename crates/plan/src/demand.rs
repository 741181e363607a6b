//! An upper bound of what jobs place when a node is lost, and so a lower bound of the capacity that is left on the
//! other nodes.
//!
//! A job whose evaluation has nothing to do places no more than it loses. Other jobs place at most their missing
//! allocations; their evaluations may also stop allocations on other nodes, which unblocks jobs that wait for capacity.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::capacity::{Ask, nodes_with_room};
use super::evaluate::{Made, evaluate_until};
use super::stop::Stop;
use super::threads::in_threads;
use super::what_if::{JobKey, Known, Quiet, waiting::short_jobs};
use encamp_model::*;
use encamp_scheduler::candidates::{covers, datacenter_matches, in_pool};
use encamp_scheduler::stack::{CompiledGroup, PRIORITY_DELTA};
use encamp_state::{AllocEntry, NodeEntry, Snapshot, State};

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
    /// Nodes on which these may stop something.
    restless_nodes: BTreeSet<u32>,
    /// Copies that jobs that wait for room may take the room of, once they find some.
    waiting: i64,
    /// Jobs that wait for capacity, as far as their allocations tell.
    short: Arc<BTreeSet<JobKey>>,
    /// Jobs whose evaluations always do the same.
    quiet: Arc<BTreeMap<JobKey, Quiet>>,
    /// Service and batch jobs of which an evaluation finds nothing to do.
    settled: Arc<BTreeSet<JobKey>>,
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
            restless_nodes: BTreeSet::new(),
            waiting: 0,
            short: Arc::new(short),
            settled: Arc::new(settled),
            quiet: Arc::new(quiet),
        };
        for key in demands.short.clone().iter() {
            let Some(job) = demands.jobs.get(key) else { continue };
            let open = job.open(&BTreeMap::new());
            match job.activity {
                Activity::Settled => {}
                Activity::Waiting => demands.waiting = demands.waiting.saturating_add(open),
                Activity::Places | Activity::Active => {
                    demands.restless = demands.restless.saturating_add(open);
                    demands.restless_nodes.extend(&job.unstable);
                }
            }
        }
        demands
    }

    /// What is known about the loss of these nodes before it is followed.
    pub(crate) fn known(&self, state: &Snapshot, lost: &[&Arc<NodeEntry>], stop: &Stop) -> Known {
        Known {
            quiet: self.quiet.clone(),
            stirred: self.stirred(state, lost),
            settled: self.settled.clone(),
            waiting: Some(self.short.clone()),
            stop: stop.clone(),
        }
    }

    /// The quiet jobs that are not quiet when these nodes are lost.
    fn stirred(&self, state: &Snapshot, lost: &[&Arc<NodeEntry>]) -> BTreeSet<JobKey> {
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

    /// What the loss of a node may displace besides the copies on it; `None` if that can't be known beforehand. `on`:
    /// the copies on the node in a slot. With `others`, other nodes are lost at the same time.
    pub(crate) fn displaced(
        &self,
        state: &Snapshot,
        node: &NodeEntry,
        on: impl Fn(u32) -> i64,
        others: bool,
    ) -> Option<Displaced> {
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
        // Placements, each of which takes the room of one node at most.
        let mut placed: i64 = 0;
        for (key, groups) in &on_node {
            // Of jobs that are gone everything is stopped.
            let Some(job) = self.jobs.get(key) else {
                frees = true;
                continue;
            };
            frees |= job.activity == Activity::Active;
            let taken = match (job.r#type, job.activity) {
                (DemandType::PerNode, Activity::Settled | Activity::Waiting) => 0,
                (DemandType::PerNode, Activity::Places | Activity::Active) => return None,
                (_, Activity::Settled) => job.replaced(groups)?,
                (_, Activity::Waiting | Activity::Places | Activity::Active) => job.open(groups),
            };
            let places = match (job.r#type, job.activity) {
                (DemandType::PerNode, _) => 0,
                (_, Activity::Settled) => groups.values().map(|g| g.lost).sum(),
                (_, Activity::Places) => job.missing(groups),
                (_, Activity::Waiting | Activity::Active) => job.wanted(),
            };
            placed = placed.saturating_add(places);
            if taken > 0 && job.may_evict && matches!(job.activity, Activity::Waiting | Activity::Active) {
                return None;
            }
            total = total.saturating_add(taken);
        }
        let crowded = |(key, groups): (&JobKey, &BTreeMap<&str, OnNode>)| {
            self.jobs.get(key).is_some_and(|job| job.moves_evicting() && (others || job.is_crowded(groups, placed)))
        };
        if on_node.iter().any(crowded) {
            return None;
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
            if !idle || self.jobs.values().any(JobDemand::moves_evicting) {
                return None;
            }
            // A job that waits finds room only where something is stopped, and there no more copies are lost than fit.
            let mut freed = self.restless_nodes.clone();
            for key in on_node.keys() {
                match self.jobs.get(key) {
                    Some(job) => freed.extend(&job.unstable),
                    None => freed.extend(unstable_on(state, key)),
                }
            }
            let there = freed.into_iter().map(on).fold(0, i64::saturating_add);
            total = total.saturating_add(self.restless).saturating_add(self.waiting.min(there));
        }
        let calm = |(key, groups): (&JobKey, &BTreeMap<&str, OnNode>)| {
            self.jobs.get(key).is_some_and(|job| match (job.r#type, job.activity) {
                (DemandType::PerNode, _) => true,
                (_, Activity::Settled) => !others && !job.is_crowded(groups, placed),
                (_, Activity::Waiting | Activity::Places | Activity::Active) => false,
            })
        };
        let unplaced = match () {
            () if frees => i64::MAX,
            () if on_node.iter().all(calm) => 0,
            () => placed,
        };
        let steady = !frees && on_node.keys().all(|key| self.jobs.get(key).is_some_and(|job| job.steady));
        Some(Displaced { copies: total, frees, steady, unplaced })
    }

    /// The copies that the allocations on lost nodes may still displace whose jobs are not among `whole`, which have
    /// replaced all they lost. The jobs are such that [`Demands::displaced`] knows what they do; `frees`: they may free
    /// room.
    pub(crate) fn left(
        &self,
        state: &Snapshot,
        lost: &[&Arc<NodeEntry>],
        whole: &BTreeSet<JobKey>,
        frees: bool,
    ) -> i64 {
        let mut total: i64 = if frees { self.restless.saturating_add(self.waiting) } else { 0 };
        let mut of_job: BTreeMap<JobKey, BTreeMap<&str, OnNode>> = BTreeMap::new();
        for e in lost.iter().flat_map(|n| n.allocs.iter()).filter(|e| !e.phase.client_terminal()) {
            let a = &e.alloc;
            let key = (a.namespace.clone(), a.job_id.clone());
            let current = state.job(&a.namespace, &a.job_id);
            let group = of_job.entry(key).or_default().entry(a.task_group.as_str()).or_default();
            group.lost += 1;
            group.stable += i64::from(current.is_some_and(|job| stable(state, job, a)));
        }
        for (key, groups) in of_job.iter().filter(|(key, _)| !whole.contains(*key)) {
            let Some(job) = self.jobs.get(key).filter(|j| j.r#type != DemandType::PerNode) else { continue };
            let taken = match job.activity {
                Activity::Settled => job.replaced(groups).unwrap_or(i64::MAX),
                Activity::Waiting | Activity::Places | Activity::Active => job.open(groups),
            };
            total = total.saturating_add(taken);
        }
        total
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

/// What the loss of a node may displace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Displaced {
    /// No more copies than that.
    pub copies: i64,
    /// Something may be stopped on other nodes, which gives room.
    pub frees: bool,
    /// Nothing is: all jobs concerned are steady.
    pub steady: bool,
    /// Allocations that may remain unplaced at most.
    pub unplaced: i64,
}

impl Displaced {
    /// What the loss of two nodes displaces at most.
    pub(crate) fn and(self, other: Displaced) -> Displaced {
        Displaced {
            copies: self.copies.saturating_add(other.copies),
            frees: self.frees || other.frees,
            steady: self.steady && other.steady,
            unplaced: self.unplaced.saturating_add(other.unplaced),
        }
    }
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
        enabled && job.priority.saturating_sub(self.lowest) >= PRIORITY_DELTA
    }
}

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
        for group in &job.task_groups {
            let canaries = group.update.as_ref().map_or(0, |u| u.canary);
            let count = if job.stop { 0 } else { group.count.saturating_add(canaries) };
            let of_group = allocs.iter().filter(|e| e.alloc.task_group == group.name);
            let stays = of_group.filter(|e| stable(state, job, &e.alloc)).count();
            let counted = (may_evict || *room_for_all) && !per_node && !allocs.is_empty() && !stop.now();
            let roomy = if counted { nodes_with_room(state, job, group, evictions.most_on_node + 2, *now) } else { 0 };
            let demand = GroupDemand {
                unit: units.of(job, group, most),
                wanted: count,
                stable: i64::try_from(stays).unwrap_or(i64::MAX),
                done: done(job, &group.name, &allocs),
                held: held(state, job, group, &allocs),
                roomy,
            };
            groups.insert(group.name.clone(), demand);
        }
        let quiet = if per_node || short { quiet(scene, job, &groups) } else { None };
        let activity = match &quiet {
            Some(q) if q.failed.is_empty() => Activity::Settled,
            Some(_) => Activity::Waiting,
            None => activity(scene, job),
        };
        let active = activity == Activity::Active && !per_node;
        let takes = |id: &str| state.node(id).is_some_and(|n| n.node.ready());
        let goes_on = |e: &Arc<AllocEntry>| {
            e.phase.client_terminal()
                || stable(state, job, &e.alloc)
                || of_version(job, &e.alloc) && !takes(&e.alloc.node_id)
        };
        let steady = match activity {
            Activity::Settled | Activity::Waiting => allocs.iter().all(goes_on),
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

    /// All allocations that it wants.
    fn wanted(&self) -> i64 {
        self.groups.values().map(|g| g.wanted.max(0)).fold(0, i64::saturating_add)
    }

    /// Whether a replacement of one of these groups may find no room without evictions once all other replacements
    /// have taken the room of a node each. The lost node is none of those that have room.
    fn is_crowded(&self, lost: &BTreeMap<&str, OnNode>, placed: i64) -> bool {
        let needed = usize::try_from(placed.saturating_add(1)).unwrap_or(usize::MAX);
        // Others than settled jobs place allocations of groups that lost nothing, too.
        let open = self.groups.iter().filter(|(_, g)| self.activity != Activity::Settled && g.wanted > g.stable);
        let mut names = lost.keys().copied().chain(open.map(|(name, _)| name.as_str()));
        names.any(|name| self.groups.get(name).is_none_or(|g| g.roomy < needed))
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

    /// Allocations that the job places at most.
    fn missing(&self, lost: &BTreeMap<&str, OnNode>) -> i64 {
        let groups = self.groups.iter().map(|(name, g)| g.missing(lost.get(name.as_str())));
        groups.fold(0, i64::saturating_add)
    }

    /// Copies displaced by all that the job may place.
    fn open(&self, lost: &BTreeMap<&str, OnNode>) -> i64 {
        let one = |(name, g): (&String, &GroupDemand)| g.unit.saturating_mul(g.missing(lost.get(name.as_str())));
        self.groups.iter().map(one).fold(0, i64::saturating_add)
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

/// The work that an evaluation of a job finds: it is made and processed, and nothing of it is carried out. Rollouts go
/// on by rules of their own when something is lost.
fn activity(scene: &Scene, job: &Arc<Job>) -> Activity {
    let (state, now) = (scene.state, scene.now);
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
    let Ok(answer) = evaluate_until(state, &eval, now, &mut made, scene.stop) else { return Activity::Active };
    let later = answer.created.iter().any(|e| !e.wait_until.is_zero());
    if !answer.plans.is_empty() || later {
        let only_places = may_only_place(state, job) && answer.plans.iter().all(|plan| only_places(state, plan));
        return if only_places { Activity::Places } else { Activity::Active };
    }
    let fails = answer.updates.iter().any(|e| !e.failed_tg_allocs.is_empty() || e.status != EvalStatus::Complete);
    if fails { Activity::Waiting } else { Activity::Settled }
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
    let takes = |id: &String| state.node(id).is_some_and(|n| n.node.ready());
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
    let mut answer = evaluate_until(state, &eval, now, &mut made, scene.stop).ok()?;
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
