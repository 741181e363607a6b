//! Computes how many more copies of a group fit, where, and which resource runs out first.
//!
//! Copies are placed by the search that the schedulers use, without preemption, until it finds no node. Unless copies
//! depend on each other across nodes (`distinct_property`, volumes), the copies that fit on one node do not depend on
//! the other nodes: nodes are filled one by one, and after a change only the changed nodes are filled again. Where
//! copies request only quantities (CPU, memory, disk), the search decides about the first copy on a node, and the
//! others are computed.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;

use super::dry_run::{LOCAL_EVAL_ID, stored_form};
use super::evaluate::Made;
use super::job::{PlanError, admitted};
use encamp_jobspec::admission::ServerContext;
use encamp_jobspec::convert::ConvertOptions;
use encamp_model::*;
use encamp_scheduler::candidates::ready_nodes;
use encamp_scheduler::common::new_alloc;
use encamp_scheduler::fit::fits;
use encamp_scheduler::stack::{CompiledGroup, SelectOptions, Stack, StackKind};
use encamp_scheduler::working_plan::WorkingPlan;
use encamp_scheduler::{Context, NodeOrder};
use encamp_state::{AllocEntry, AllocUsage, NodeEntry, Snapshot, State};

/// Copies that are counted at most.
pub(crate) const MOST_COPIES: i64 = 100_000;

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

/// The resources of one copy, where sums of CPU, memory and disk are all that decides about a further copy on a node
/// that takes one.
pub(super) fn sums_of(subject: &Subject) -> Option<AllocUsage> {
    let Subject { job, group } = subject;
    let constraints = job.constraints.iter().chain(&group.constraints);
    let mut constraints = constraints.chain(group.tasks.iter().flat_map(|t| &t.constraints));
    let compiled = CompiledGroup::new(job, group, false);
    let alone = constraints.any(|c| matches!(c.operand.as_str(), "distinct_hosts" | "distinct_property"));
    let ask = compiled.usage;
    let some = ask.cpu > 0 || ask.memory > 0 || ask.disk > 0;
    (compiled.simple && some && !alone && independent(subject) && !per_node(job)).then_some(ask)
}

/// How many times an ask fits beside what is used on a node that could run it.
fn times(ask: &AllocUsage, node: &NodeEntry) -> i64 {
    let (has, used) = (&node.info, &node.usage);
    if has.invalid_ports || used.port_collision || fits(has, used, ask).1.is_err() {
        return 0;
    }
    let part = |asked: i64, free: i64| if asked > 0 { free / asked } else { i64::MAX };
    let parts = [
        part(ask.cpu, has.cpu.saturating_sub(used.cpu)),
        part(ask.memory, has.memory.saturating_sub(used.memory)),
        part(ask.disk, has.disk.saturating_sub(used.disk)),
    ];
    parts.into_iter().min().unwrap_or(0)
}

/// Whether copies on a node can be counted by [`times`] once it takes one.
fn countable(node: &NodeEntry) -> bool {
    node.info.max_allocs == 0
}

/// Copies by node slot, and what the next one lacks.
#[derive(Debug, Clone, Default)]
pub(super) struct Count {
    by_slot: BTreeMap<u32, i64>,
    metrics: AllocMetric,
    /// The counting was ended at the limit.
    pub(super) capped: bool,
}

impl Count {
    /// Counts copies, `limit` at most.
    pub(super) fn new(state: &State, subject: &Subject, limit: i64, now: i64) -> Count {
        let slots = ready_nodes(state, &subject.job.datacenters, &subject.job.node_pool).slots;
        let one_by_one = independent(subject) || per_node(&subject.job);
        let lists = if one_by_one { slots.into_iter().map(|s| vec![s]).collect() } else { vec![slots] };
        Filling::new(state, subject, limit, now).fill(lists)
    }

    /// The total on a state in which these nodes differ, and none became ready; the others are not filled again where
    /// that is possible.
    pub(super) fn total_after(
        &self,
        new: &State,
        changed: &BTreeSet<u32>,
        subject: &Subject,
        limit: i64,
        now: i64,
    ) -> i64 {
        if !independent(subject) || self.capped {
            return Count::new(new, subject, limit, now).total();
        }
        let sums = sums_of(subject);
        let mut total = self.total();
        let mut to_fill: Vec<Vec<u32>> = Vec::new();
        for slot in changed {
            let (Some(before), Some(node)) = (self.by_slot.get(slot), new.node_at(*slot)) else { continue };
            total = total.saturating_sub(*before);
            if !node.node.ready() {
                continue;
            }
            match (before, &sums) {
                // The nodes that can run a copy are the same as before.
                (1.., Some(ask)) if countable(node) => total = total.saturating_add(times(ask, node)),
                (_, Some(ask)) if countable(node) && times(ask, node) == 0 => {}
                _ => to_fill.push(vec![*slot]),
            }
        }
        if to_fill.is_empty() {
            return total.min(limit);
        }
        total.saturating_add(Filling::new(new, subject, limit, now).fill(to_fill).total()).min(limit)
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
    let own = job.constraints.iter().chain(&group.constraints);
    let mut all = own.chain(group.tasks.iter().flat_map(|t| &t.constraints));
    all.all(|c| c.operand != "distinct_property") && group.volumes.as_ref().is_none_or(BTreeMap::is_empty)
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
    /// See [`sums_of`].
    sums: Option<AllocUsage>,
    /// Names of the copies go on from here.
    first: i64,
}

impl<'a> Filling<'a> {
    fn new(state: &State, subject: &'a Subject, limit: i64, now: i64) -> Filling<'a> {
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
        let sums = sums_of(subject);
        Filling { state, subject, eval, stack, plan, made, now, count, total: 0, limit, sums, first }
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
                if !self.place() {
                    break;
                }
                if let (0, Some(slot)) = (n, only) {
                    self.place_others(slot);
                }
            }
        }
        let metrics = &mut self.count.metrics;
        metrics.nodes_available = Some(ready.available);
        metrics.nodes_in_pool = ready.in_pool;
        metrics.node_pool.clone_from(&job.node_pool);
        self.count
    }

    /// Places what is sure to fit beside the first copy on a node, all at once.
    fn place_others(&mut self, slot: u32) {
        let (Some(ask), Some(node)) = (&self.sums, self.state.node_at(slot)) else { return };
        if !countable(node) {
            return;
        }
        let more = times(ask, node).saturating_sub(1).min(self.limit.saturating_sub(self.total));
        if more <= 0 {
            return;
        }
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
            id: self.made.id(),
            namespace: self.subject.job.namespace.clone(),
            job_id: self.subject.job.id.clone(),
            task_group: self.subject.group.name.clone(),
            node_id: node.node.id.clone(),
            desired_status: DesiredStatus::Run,
            client_status: ClientStatus::Pending,
            allocated_resources: Some(Arc::new(resources)),
            ..Default::default()
        };
        *self.count.by_slot.entry(slot).or_default() += more;
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

    /// Places one more copy; false if no node takes it.
    fn place(&mut self) -> bool {
        let Subject { job, group } = self.subject;
        let name = format!("{}.{}[{}]", job.id, group.name, self.first.saturating_add(self.total));
        let options = SelectOptions { alloc_name: &name, ..Default::default() };
        let made = &mut self.made;
        let found = self.stack.select(&mut self.plan, group, &options, &mut |n| made.random(n));
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
