//! How many more copies of a group fit, where, and what runs out first; and the same after the worst loss of a node or
//! datacenter.
//!
//! Copies are placed by the search the schedulers use, without preemption, until it finds no node. Unless copies depend on each
//! other across nodes (`distinct_property`, volumes), what fits on one node is its own affair: nodes are filled one by one, and
//! after a loss only those are filled again that something moved to.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;

use super::dry_run::{LOCAL_EVAL_ID, stored_form};
use super::evaluate::Made;
use super::job::{PlanError, admitted};
use super::what_if::change::Nodes;
use super::what_if::{Change, ChangeError, Fate, what_if};
use encamp_jobspec::admission::ServerContext;
use encamp_jobspec::convert::ConvertOptions;
use encamp_model::*;
use encamp_scheduler::candidates::ready_nodes;
use encamp_scheduler::common::new_alloc;
use encamp_scheduler::stack::{SelectOptions, Stack, StackKind};
use encamp_scheduler::working_plan::WorkingPlan;
use encamp_scheduler::{Context, NodeOrder};
use encamp_state::{AllocEntry, NodeEntry, Snapshot, State};

/// Copies that are counted at most.
pub const MOST_COPIES: i64 = 100_000;
/// Up to so many nodes the loss of each is tried; of more, that of the [`LIKELY`] ones with the most to lose.
const FEW_NODES: usize = 200;
/// See [`FEW_NODES`].
const LIKELY: usize = 50;

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

/// What fits of one group.
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
    /// What the next copy lacks, most nodes first.
    pub runs_out: Vec<Shortage>,
    /// What the search for a node for one more copy met.
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

/// What may be lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// Any one node.
    Node,
    /// All nodes of any one datacenter.
    Datacenter,
}

/// The worst loss.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Survival {
    /// The node or datacenter whose loss leaves room for the fewest copies.
    pub lost: String,
    /// How many more copies fit after what was lost has been placed again.
    pub copies: i64,
    /// Lost allocations that no node takes.
    pub unplaced: usize,
    /// How many losses were tried.
    pub tried: usize,
    /// How many there are.
    pub of: usize,
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
    Count::new(state, subject, now).into_capacity(state, subject)
}

/// How many fit after the worst of the losses, when what was lost has been placed again; `None` if there is nothing to lose.
pub fn survival(state: &State, subject: &Subject, loss: Loss, now: i64) -> Result<Option<Survival>, ChangeError> {
    let base = Count::new(state, subject, now);
    let all = losses(state, loss);
    let of = all.len();
    let tried = match loss {
        Loss::Node if of > FEW_NODES => likely(state, subject, &base, all),
        _ => all,
    };
    let mut worst: Option<Survival> = None;
    for (name, nodes) in &tried {
        let after = what_if(state, &[Change::Down(nodes.clone())], "", now)?;
        let count = base.again(state, &after.state, subject, now);
        let found = Survival {
            lost: name.clone(),
            copies: count.total(),
            unplaced: after.outcome.count(None, Fate::Unplaced),
            tried: tried.len(),
            of,
        };
        let rank = |s: &Survival| (s.copies, Reverse(s.unplaced));
        if worst.as_ref().is_none_or(|w| rank(&found) < rank(w)) {
            worst = Some(found);
        }
    }
    Ok(worst)
}

/// Everything that can be lost, by name.
fn losses(state: &State, loss: Loss) -> Vec<(String, Nodes)> {
    let up = state.nodes().map(|e| &e.node).filter(|n| n.status != "down");
    match loss {
        Loss::Node => up.map(|n| (n.name.clone(), Nodes::One(n.id.clone()))).collect(),
        Loss::Datacenter => {
            let names: BTreeSet<&str> = up.map(|n| n.datacenter.as_str()).collect();
            names.into_iter().map(|dc| (dc.to_string(), Nodes::Datacenter(dc.to_string()))).collect()
        }
    }
}

/// The nodes with the most to lose: copies that fit there, and what runs there in terms of copies.
fn likely(state: &State, subject: &Subject, base: &Count, all: Vec<(String, Nodes)>) -> Vec<(String, Nodes)> {
    let tasks = subject.group.tasks.iter().filter_map(|t| t.resources.as_ref());
    let (cpu, memory) = tasks.fold((0, 0), |(cpu, memory), r| (cpu + r.cpu, memory + r.memory_mb));
    let cost = |nodes: &Nodes| {
        let Nodes::One(id) = nodes else { return 0 };
        let Some(e) = state.node(id) else { return 0 };
        let runs = (e.usage.cpu / cpu.max(1)).max(e.usage.memory / memory.max(1));
        base.by_slot.get(&e.slot).copied().unwrap_or(0).saturating_add(runs)
    };
    let mut ranked: Vec<(i64, (String, Nodes))> = all.into_iter().map(|l| (cost(&l.1), l)).collect();
    ranked.sort_by_key(|(cost, _)| Reverse(*cost));
    ranked.into_iter().take(LIKELY).map(|(_, l)| l).collect()
}

/// Copies by node slot, and what the next one lacks.
#[derive(Debug, Clone, Default)]
struct Count {
    by_slot: BTreeMap<u32, i64>,
    metrics: AllocMetric,
    capped: bool,
}

impl Count {
    fn new(state: &State, subject: &Subject, now: i64) -> Count {
        let slots = ready_nodes(state, &subject.job.datacenters, &subject.job.node_pool).slots;
        let one_by_one = independent(subject) || per_node(&subject.job);
        let lists = if one_by_one { slots.into_iter().map(|s| vec![s]).collect() } else { vec![slots] };
        Filling::new(state, subject, now).fill(lists)
    }

    /// Counts on a changed state; nodes that did not change are not filled again where that is possible.
    fn again(&self, old: &State, new: &State, subject: &Subject, now: i64) -> Count {
        if !independent(subject) {
            return Count::new(new, subject, now);
        }
        let slots = ready_nodes(new, &subject.job.datacenters, &subject.job.node_pool).slots;
        let same = |slot: &u32| match (old.node_at(*slot), new.node_at(*slot)) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            _ => false,
        };
        let (kept, changed): (Vec<u32>, Vec<u32>) = slots.into_iter().partition(same);
        let mut count = Filling::new(new, subject, now).fill(changed.into_iter().map(|s| vec![s]).collect());
        count.by_slot.extend(kept.iter().filter_map(|s| Some((*s, *self.by_slot.get(s)?))));
        count
    }

    fn total(&self) -> i64 {
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
    matches!(job.r#type.as_str(), "system" | "sysbatch")
}

/// Whether what fits on one node does not depend on others.
fn independent(subject: &Subject) -> bool {
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
    /// Names of the copies go on from here.
    first: i64,
}

impl<'a> Filling<'a> {
    fn new(state: &State, subject: &'a Subject, now: i64) -> Filling<'a> {
        let state = state.snapshot();
        let job = &subject.job;
        // The stacks of system jobs decide about preemption themselves.
        let kind = if job.r#type == "batch" { StackKind::Batch } else { StackKind::Service };
        let mut stack = Stack::new(kind, state.clone());
        stack.set_job(job);
        let eval = Evaluation { id: LOCAL_EVAL_ID.into(), ..Default::default() };
        let plan = WorkingPlan::new(&eval, Some(job.clone()), state.clone(), now);
        let first = subject.live(&state).iter().map(|e| e.alloc.index() + 1).max().unwrap_or(0);
        let first = i64::try_from(first).unwrap_or(0);
        let (made, count) = (Made::new(2), Count::default());
        Filling { state, subject, eval, stack, plan, made, now, count, total: 0, first }
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
            self.stack.set_nodes(list);
            for _ in 0..most {
                if self.total >= MOST_COPIES {
                    self.count.capped = true;
                    break;
                }
                if !self.place() {
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
