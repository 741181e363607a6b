//! Computes how many more copies of a group fit, where, and which resource runs out first.
//!
//! Copies are placed by the search that the schedulers use, without preemption, until it finds no node. Unless copies
//! depend on each other across nodes (`distinct_property`, sticky volumes), copies that fit on one node do not depend on
//! the other nodes: nodes are filled one by one, and after a change only the changed nodes are filled again. Where
//! copies request only quantities (CPU, memory, disk, dynamic ports), the search decides about the first copy on a
//! node, and the others are computed.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;

use super::dry_run::{LOCAL_EVAL_ID, stored_form};
use super::evaluate::Made;
use super::job::{PlanError, admitted};
use super::stop::Stop;
use super::threads::in_threads;
use encamp_jobspec::admission::ServerContext;
use encamp_jobspec::convert::ConvertOptions;
use encamp_model::*;
use encamp_scheduler::candidates::ready_nodes;
use encamp_scheduler::common::new_alloc;
use encamp_scheduler::fit::fits;
use encamp_scheduler::stack::{CompiledGroup, SelectOptions, Selection, Stack, StackKind};
use encamp_scheduler::working_plan::WorkingPlan;
use encamp_scheduler::{Context, NodeOrder};
use encamp_state::ports::PortSet;
use encamp_state::{AllocEntry, AllocUsage, NodeEntry, Snapshot, State};

/// Copies that are counted at most.
pub(crate) const MOST_COPIES: i64 = 100_000;
/// Nodes that one thread fills before it takes others.
const NODES_OF_A_PART: usize = 64;

/// A job and the group whose copies are counted.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The job as it would be stored.
    pub job: Arc<Job>,
    /// One of its groups.
    pub group: TaskGroup,
}

impl Subject {
    fn counts(&self, a: &Allocation) -> bool {
        a.job_id == self.job.id && a.namespace == self.job.namespace && a.task_group == self.group.name && !a.terminal()
    }

    /// The allocations of the group that run or are to run.
    fn live(&self, state: &State) -> Vec<Arc<AllocEntry>> {
        let mut all = state.allocs_of_job(&self.job.namespace, &self.job.id);
        all.retain(|e| self.counts(&e.alloc));
        all
    }
}

/// Copies on one node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct NodeCopies {
    /// ID of the node.
    #[serde(rename = "NodeID")]
    pub node_id: String,
    /// Its name.
    pub node_name: String,
    /// Its datacenter.
    pub datacenter: String,
    /// How many more copies fit there.
    pub copies: i64,
}

/// The capacity for one group.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Capacity {
    /// The group.
    pub task_group: String,
    /// Its allocations that run or are to run.
    pub running: i64,
    /// How many more copies fit.
    pub copies: i64,
    /// The counting was ended at [`MOST_COPIES`]; more may fit.
    pub capped: bool,
    /// Where they fit, most first.
    pub nodes: Vec<NodeCopies>,
    /// The resources that the next copy lacks, most nodes first.
    pub runs_out: Vec<Shortage>,
    /// Metrics of the search for a node for one more copy.
    pub metrics: AllocMetric,
}

/// A dimension that is exhausted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Shortage {
    /// The dimension, as metrics name it.
    pub dimension: String,
    /// On how many nodes.
    pub nodes: i64,
}

/// The job that copies are counted of: defaults, admission, stored form, as for a plan.
pub fn subject(
    state: &State,
    job: &api::Job,
    options: &ConvertOptions,
    ctx: &ServerContext,
    now: i64,
) -> Result<Arc<Job>, PlanError> {
    let job = admitted(state, job, options, ctx)?.job;
    let existing = state.job(&job.namespace, &job.id);
    Ok(stored_form(existing.map(|j| &**j), &job, now))
}

/// How many more copies of a group fit at `now` (Unix nanoseconds).
pub fn capacity(state: &State, subject: &Subject, now: i64) -> Capacity {
    Count::new(state, subject, MOST_COPIES, now).into_capacity(state, subject)
}

/// The resources of one copy, where amounts are all that decides about a further copy on a node that takes one: CPU,
/// memory, disk, and dynamic ports of one host network.
#[derive(Debug, Clone)]
pub(super) struct Ask {
    pub usage: AllocUsage,
    /// How many dynamic ports a copy takes.
    pub ports: i64,
    /// Their host network.
    host_network: String,
    /// Host volumes that it mounts.
    volumes: Vec<String>,
}

/// The metric of a node without a free port.
const NO_PORT: &str = "network: dynamic port selection failed";

/// How many copies fit on a node that could run one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    /// So many: then CPU, memory or disk runs out.
    Amounts(i64),
    /// So many: then ports run out.
    Ports(i64),
    /// Amounts do not decide here.
    Unknown,
}

impl Ask {
    /// The amounts that one copy takes; `None` if more than amounts matters.
    pub(super) fn of(subject: &Subject) -> Option<Ask> {
        let Subject { job, group } = subject;
        let compiled = CompiledGroup::new(job, group, false);
        let alone =
            constraints(job, group).any(|c| matches!(c.operand.as_str(), "distinct_hosts" | "distinct_property"));
        let usage = compiled.usage;
        let some = usage.cpu > 0 || usage.memory > 0 || usage.disk > 0;
        if alone || !some || !independent(subject) || per_node(job) {
            return None;
        }
        let volumes = group.volumes.iter().flatten().filter(|(_, v)| v.r#type == "host").map(|(_, v)| v.source.clone());
        let volumes = volumes.collect();
        if compiled.simple {
            return Some(Ask { usage, ports: 0, host_network: String::new(), volumes });
        }
        let (hosts, network) = (compiled.late_hosts?, compiled.network?);
        let host_network = hosts.first().cloned().unwrap_or_default();
        let alike = network.reserved_ports.is_empty() && hosts.iter().all(|h| *h == host_network);
        let ports = i64::try_from(hosts.len()).ok()?;
        alike.then_some(Ask { usage, ports, host_network, volumes })
    }

    /// How many copies fit beside what is used on a node that could run one.
    fn fit(&self, node: &NodeEntry) -> Fit {
        let (has, used) = (&node.info, &node.usage);
        // Volumes with a record of their own have rules about who may write.
        let plain = |v: &String| node.node.host_volumes.get(v).is_some_and(|v| v.id.is_empty());
        if has.max_allocs != 0 || !self.volumes.iter().all(plain) {
            return Fit::Unknown;
        }
        if has.invalid_ports || used.port_collision || fits(has, used, &self.usage).1.is_err() {
            return Fit::Amounts(0);
        }
        let part = |asked: i64, free: i64| if asked > 0 { free / asked } else { i64::MAX };
        let amounts = part(self.usage.cpu, has.cpu.saturating_sub(used.cpu))
            .min(part(self.usage.memory, has.memory.saturating_sub(used.memory)))
            .min(part(self.usage.disk, has.disk.saturating_sub(used.disk)));
        if self.ports == 0 {
            return Fit::Amounts(amounts);
        }
        let addresses = has.host_network(&self.host_network);
        let Some(address) = addresses.first() else { return Fit::Amounts(0) };
        let (reserved, held) = (&has.addresses[*address].reserved, used.ports.get(*address));
        let taken = reserved.len() + held.map_or(0, PortSet::len);
        let surely_free = i64::try_from(has.free_dynamic_ports(taken)).unwrap_or(0);
        if amounts < surely_free / self.ports {
            return Fit::Amounts(amounts);
        }
        if addresses.len() > 1 {
            return Fit::Unknown;
        }
        let free = |p: &u16| !reserved.contains(*p) && !held.is_some_and(|h| h.contains(*p));
        let free = (has.dynamic_range.0..=has.dynamic_range.1).filter(free).count();
        let by_ports = i64::try_from(free).unwrap_or(0) / self.ports;
        if amounts < by_ports { Fit::Amounts(amounts) } else { Fit::Ports(by_ports) }
    }
}

impl Fit {
    fn copies(self) -> Option<i64> {
        match self {
            Fit::Amounts(n) | Fit::Ports(n) => Some(n),
            Fit::Unknown => None,
        }
    }
}

/// The constraints of a group: its own, those of its job and of its tasks.
pub(super) fn constraints<'a>(job: &'a Job, group: &'a TaskGroup) -> impl Iterator<Item = &'a Constraint> {
    let own = job.constraints.iter().chain(&group.constraints);
    own.chain(group.tasks.iter().flat_map(|t| &t.constraints))
}

/// Copies by node slot, and what the next one lacks.
#[derive(Debug, Clone, Default)]
pub(super) struct Count {
    by_slot: BTreeMap<u32, i64>,
    metrics: AllocMetric,
    /// The counting was ended at the limit.
    pub(super) capped: bool,
    /// It was asked to end.
    pub(super) cut: bool,
}

impl Count {
    /// Counts copies, `limit` at most.
    pub(super) fn new(state: &State, subject: &Subject, limit: i64, now: i64) -> Count {
        let slots = ready_nodes(state, &subject.job.datacenters, &subject.job.node_pool).slots;
        let one_by_one = independent(subject) || per_node(&subject.job);
        let lists = if one_by_one { slots.into_iter().map(|s| vec![s]).collect() } else { vec![slots] };
        Filling::new(state, subject, limit, now, &Stop::never()).fill(lists)
    }

    /// The same of all copies, however many there are, without metrics; nodes that do not depend on each other are
    /// filled by several threads.
    pub(super) fn all(state: &State, subject: &Subject, now: i64, stop: &Stop) -> Count {
        let slots = ready_nodes(state, &subject.job.datacenters, &subject.job.node_pool).slots;
        if !(independent(subject) || per_node(&subject.job)) {
            return Filling::new(state, subject, MOST_COPIES, now, stop).fill(vec![slots]);
        }
        let parts: Vec<&[u32]> = slots.chunks(NODES_OF_A_PART).collect();
        let counts = in_threads(&parts, |part| {
            let lists = part.iter().map(|s| vec![*s]).collect();
            Filling::new(state, subject, i64::MAX, now, stop).fill(lists)
        });
        counts.into_iter().fold(Count::default(), |mut sum, part| {
            sum.by_slot.extend(part.by_slot);
            sum.cut |= part.cut;
            sum
        })
    }

    /// The total on a state in which these nodes differ, and none became ready; the others are not filled again where
    /// that is possible. `None` if it was asked to end.
    pub(super) fn total_after(
        &self,
        new: &State,
        changed: &BTreeSet<u32>,
        subject: &Subject,
        now: i64,
        stop: &Stop,
    ) -> Option<i64> {
        if !independent(subject) {
            let count = Count::all(new, subject, now, stop);
            return (!count.cut).then(|| count.total());
        }
        let ask = Ask::of(subject);
        let csi = subject.group.volumes.iter().flatten().any(|(_, v)| v.r#type == "csi");
        let mut total = self.total();
        let mut to_fill: Vec<Vec<u32>> = Vec::new();
        for slot in changed {
            let (Some(before), Some(node)) = (self.by_slot.get(slot), new.node_at(*slot)) else { continue };
            total = total.saturating_sub(*before);
            if !node.node.ready() {
                continue;
            }
            match (before, ask.as_ref().and_then(|ask| ask.fit(node).copies())) {
                (_, Some(0)) => {}
                // The nodes that can run a copy are the same as before, unless they have taken too many CSI volumes.
                (1.., Some(copies)) if !csi => total = total.saturating_add(copies),
                _ => to_fill.push(vec![*slot]),
            }
        }
        if to_fill.is_empty() {
            return Some(total);
        }
        let refilled = Filling::new(new, subject, i64::MAX, now, stop).fill(to_fill);
        (!refilled.cut).then(|| total.saturating_add(refilled.total()))
    }

    /// How many copies fit on the node in a slot.
    pub(super) fn on(&self, slot: u32) -> i64 {
        self.by_slot.get(&slot).copied().unwrap_or(0)
    }

    /// The most copies that fit on one node of each pool and datacenter where any do.
    pub(super) fn most_by_place(&self, state: &State) -> BTreeMap<(String, String), i64> {
        let mut most: BTreeMap<(String, String), i64> = BTreeMap::new();
        for (slot, copies) in self.by_slot.iter().filter(|(_, n)| **n > 0) {
            let Some(node) = state.node_at(*slot).map(|e| &e.node) else { continue };
            let of_place = most.entry((node.node_pool.clone(), node.datacenter.clone())).or_default();
            *of_place = (*of_place).max(*copies);
        }
        most
    }

    /// How many copies fit.
    pub(super) fn total(&self) -> i64 {
        self.by_slot.values().sum()
    }

    fn into_capacity(self, state: &State, subject: &Subject) -> Capacity {
        let running = subject.live(state).len();
        let mut nodes: Vec<NodeCopies> = self
            .by_slot
            .iter()
            .filter(|(_, n)| **n > 0)
            .filter_map(|(slot, n)| Some((&state.node_at(*slot)?.node, *n)))
            .map(|(node, copies)| NodeCopies {
                node_id: node.id.clone(),
                node_name: node.name.clone(),
                datacenter: node.datacenter.clone(),
                copies,
            })
            .collect();
        nodes.sort_by(|a, b| b.copies.cmp(&a.copies).then_with(|| a.node_name.cmp(&b.node_name)));
        let exhausted = self.metrics.dimension_exhausted.iter();
        let mut runs_out: Vec<Shortage> =
            exhausted.map(|(d, n)| Shortage { dimension: d.clone(), nodes: *n }).collect();
        runs_out.sort_by_key(|s| Reverse(s.nodes));
        Capacity {
            task_group: subject.group.name.clone(),
            running: i64::try_from(running).unwrap_or(i64::MAX),
            copies: self.total(),
            capped: self.capped,
            nodes,
            runs_out,
            metrics: self.metrics,
        }
    }
}

/// Whether a job has allocations per node.
fn per_node(job: &Job) -> bool {
    matches!(job.r#type, JobType::System | JobType::Sysbatch)
}

/// Whether what fits on one node does not depend on others.
pub(super) fn independent(subject: &Subject) -> bool {
    let Subject { job, group } = subject;
    // Sticky volumes are claimed by name, and the volumes of each allocation have names of their own.
    let volumes = group.volumes.iter().flatten().all(|(_, v)| !v.sticky && !v.per_alloc);
    volumes && constraints(job, group).all(|c| c.operand != "distinct_property")
}

/// How many ready nodes take an allocation of a group beside all that runs, counted up to `enough`; 0 if that depends
/// on other nodes.
pub(super) fn nodes_with_room(state: &Snapshot, job: &Arc<Job>, group: &TaskGroup, enough: usize, now: i64) -> usize {
    let subject = Subject { job: job.clone(), group: group.clone() };
    if !independent(&subject) {
        return 0;
    }
    let slots = ready_nodes(state, &job.datacenters, &job.node_pool).slots;
    let usage = CompiledGroup::new(job, group, false).usage;
    let full = |slot: u32| state.node_summary(slot).is_some_and(|s| s.lacks(&usage, 0).is_some());
    let mut filling = Filling::new(state, &subject, i64::MAX, now, &Stop::never());
    let mut found = 0;
    for slot in slots.into_iter().filter(|slot| !full(*slot)) {
        if found >= enough {
            break;
        }
        filling.stack.set_nodes(vec![slot]);
        found += usize::from(filling.search().option.is_some());
    }
    found
}

/// A search that places one copy after another.
struct Filling<'a> {
    state: Snapshot,
    subject: &'a Subject,
    eval: Evaluation,
    stack: Stack,
    plan: WorkingPlan,
    made: Made,
    now: i64,
    count: Count,
    total: i64,
    /// The counting ends here.
    limit: i64,
    ask: Option<Ask>,
    /// Names of the copies go on from here.
    first: i64,
    stop: Stop,
}

impl<'a> Filling<'a> {
    fn new(state: &State, subject: &'a Subject, limit: i64, now: i64, stop: &Stop) -> Filling<'a> {
        let state = state.snapshot();
        let job = &subject.job;
        // The stacks of system jobs decide about preemption themselves.
        let kind = if job.r#type == JobType::Batch { StackKind::Batch } else { StackKind::Service };
        let mut stack = Stack::new(kind, state.clone());
        stack.set_job(job);
        let eval = Evaluation { id: LOCAL_EVAL_ID.into(), ..Default::default() };
        let plan = WorkingPlan::new(&eval, Some(job.clone()), state.clone(), now);
        let first = subject.live(&state).iter().map(|e| e.alloc.index() + 1).max().unwrap_or(0);
        let first = i64::try_from(first).unwrap_or(0);
        let (made, count) = (Made::new(2), Count::default());
        let (ask, stop) = (Ask::of(subject), stop.clone());
        Filling { state, subject, eval, stack, plan, made, now, count, total: 0, limit, ask, first, stop }
    }

    /// Fills the nodes of each list until none of them takes another copy.
    fn fill(mut self, lists: Vec<Vec<u32>>) -> Count {
        let job = self.subject.job.clone();
        let ready = ready_nodes(&self.state, &job.datacenters, &job.node_pool);
        for list in lists {
            for slot in &list {
                self.count.by_slot.insert(*slot, 0);
            }
            let most = self.most_on(&list);
            let only = if let [slot] = list.as_slice() { Some(*slot) } else { None };
            self.stack.set_nodes(list);
            for n in 0..most {
                if self.total >= self.limit {
                    self.count.capped = true;
                    break;
                }
                self.count.cut = self.count.cut || self.stop.now();
                if self.count.cut || !self.place() {
                    break;
                }
                if let (0, Some(slot)) = (n, only)
                    && self.place_others(slot)
                {
                    break;
                }
            }
        }
        let metrics = &mut self.count.metrics;
        metrics.nodes_available = Some(ready.available);
        metrics.nodes_in_pool = ready.in_pool;
        metrics.node_pool.clone_from(&job.node_pool);
        self.count
    }

    /// Places what is sure to fit beside the first copy on a node, all at once; whether the node is full then.
    fn place_others(&mut self, slot: u32) -> bool {
        let (Some(ask), Some(node)) = (self.ask.clone(), self.state.node_at(slot).cloned()) else { return false };
        let fit = ask.fit(&node);
        let Some(copies) = fit.copies() else { return false };
        let more = copies.saturating_sub(1).min(self.limit.saturating_sub(self.total)).max(0);
        if matches!(fit, Fit::Ports(_)) && self.total.saturating_add(more) < self.limit {
            *self.count.by_slot.entry(slot).or_default() += more;
            self.total = self.total.saturating_add(more);
            self.lacks_port(&node);
            return true;
        }
        if more > 0 {
            self.place_at_once(&ask.usage, &node, more);
        }
        false
    }

    /// Notes that the next copy finds no port on a node.
    fn lacks_port(&mut self, node: &NodeEntry) {
        let class = &node.node.node_class;
        let mut metrics = AllocMetric { nodes_evaluated: 1, nodes_exhausted: 1, ..AllocMetric::default() };
        metrics.dimension_exhausted.insert(NO_PORT.into(), 1);
        if !class.is_empty() {
            metrics.class_exhausted.insert(class.clone(), 1);
        }
        merge(&mut self.count.metrics, metrics);
    }

    fn place_at_once(&mut self, ask: &AllocUsage, node: &NodeEntry, more: i64) {
        let of = |amount: i64| amount.saturating_mul(more);
        let task = AllocatedTaskResources {
            cpu: AllocatedCpuResources { cpu_shares: of(ask.cpu), ..Default::default() },
            memory: AllocatedMemoryResources { memory_mb: of(ask.memory), ..Default::default() },
            ..Default::default()
        };
        let resources = AllocatedResources {
            tasks: [(String::new(), task)].into_iter().collect(),
            shared: AllocatedSharedResources { disk_mb: of(ask.disk), ..Default::default() },
            ..Default::default()
        };
        let copies = Allocation {
            id: self.made.id().into(),
            namespace: Text::from(&self.subject.job.namespace),
            job_id: Text::from(&self.subject.job.id),
            task_group: Text::from(&self.subject.group.name),
            node_id: Text::from(&node.node.id),
            desired_status: DesiredStatus::Run,
            client_status: ClientStatus::Pending,
            allocated_resources: Some(Arc::new(resources)),
            ..Default::default()
        };
        *self.count.by_slot.entry(node.slot).or_default() += more;
        self.total = self.total.saturating_add(more);
        self.plan.append_alloc(copies, None);
    }

    /// System and sysbatch jobs want a fixed number on each node; others as many as fit.
    fn most_on(&self, list: &[u32]) -> i64 {
        let Subject { job, group } = self.subject;
        if !per_node(job) {
            return i64::MAX;
        }
        let on = |e: &Arc<NodeEntry>| e.allocs.iter().filter(|a| self.subject.counts(&a.alloc)).count();
        let there: usize = list.iter().filter_map(|slot| self.state.node_at(*slot)).map(on).sum();
        let wanted = group.count.saturating_mul(i64::try_from(list.len()).unwrap_or(1));
        wanted.saturating_sub(i64::try_from(there).unwrap_or(0)).max(0)
    }

    fn name(&self) -> String {
        format!("{}.{}[{}]", self.subject.job.id, self.subject.group.name, self.first.saturating_add(self.total))
    }

    fn search(&mut self) -> Selection {
        let name = self.name();
        let options = SelectOptions { alloc_name: &name, ..Default::default() };
        let made = &mut self.made;
        self.stack.select(&mut self.plan, &self.subject.group, &options, &mut |n| made.random(n))
    }

    /// Places one more copy; false if no node takes it.
    fn place(&mut self) -> bool {
        let Subject { job, group } = self.subject;
        let (name, found) = (self.name(), self.search());
        let Some(option) = found.option else {
            merge(&mut self.count.metrics, found.metrics);
            return false;
        };
        *self.count.by_slot.entry(option.node.slot).or_default() += 1;
        self.total += 1;
        let id = self.made.id();
        let mut ctx = Context {
            now: self.now,
            order: NodeOrder::Shuffle,
            new_id: &mut || id.clone(),
            random: &mut |_| 0,
            stopwatch: &mut || 0,
            stop: &|| false,
        };
        let alloc = new_alloc(&self.eval, job, group, &name, &option, AllocMetric::default(), &mut ctx);
        self.plan.append_alloc(alloc, None);
        true
    }
}

/// Adds what another search met.
fn merge(sum: &mut AllocMetric, m: AllocMetric) {
    let add = |to: &mut BTreeMap<String, i64>, from: BTreeMap<String, i64>| {
        for (key, n) in from {
            *to.entry(key).or_default() += n;
        }
    };
    sum.nodes_evaluated += m.nodes_evaluated;
    sum.nodes_filtered += m.nodes_filtered;
    sum.nodes_exhausted += m.nodes_exhausted;
    add(&mut sum.class_filtered, m.class_filtered);
    add(&mut sum.constraint_filtered, m.constraint_filtered);
    add(&mut sum.class_exhausted, m.class_exhausted);
    add(&mut sum.dimension_exhausted, m.dimension_exhausted);
}
