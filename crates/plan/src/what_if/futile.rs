//! Evaluations that place nothing of what their job lacks and do nothing else. In a full cluster most evaluations are such,
//! and each time something is stopped anywhere they are made again. One that was made is not made again as long as no
//! node on which something was stopped since then has room for what it lacks.

use std::collections::{BTreeMap, HashMap};

use super::edit::JobKey;
use encamp_model::{Job, JobType, Plan, SchedulerConfiguration};
use encamp_scheduler::candidates::covers;
use encamp_scheduler::stack::{CompiledGroup, outranks};
use encamp_state::{AllocUsage, NodeEntry, State};

/// The futile evaluations of a simulation, and the nodes that gained room.
#[derive(Debug, Default)]
pub(super) struct Futile {
    of_job: BTreeMap<JobKey, Evaluated>,
    /// The slots of nodes that may have gained room, in order; and the last place of each.
    gained: Vec<u32>,
    last: HashMap<u32, usize>,
}

/// The last evaluation of a job.
#[derive(Debug)]
struct Evaluated {
    /// IDs that it took.
    ids: u64,
    /// The resources of the groups that found no node.
    asks: Vec<AllocUsage>,
    /// How many gains it knew.
    seen: usize,
    /// When it was.
    now: i64,
}

impl Futile {
    /// Notes an evaluation of a job at `now` that took so many IDs, found no node for these groups, and changed nothing.
    pub(super) fn note<'a>(
        &mut self,
        state: &State,
        key: &JobKey,
        (ids, now): (u64, i64),
        failed: impl Iterator<Item = &'a String>,
    ) {
        self.of_job.remove(key);
        let Some(job) = state.job(&key.0, &key.1) else { return };
        let deploys = state.latest_deployment(&key.0, &key.1).is_some_and(|d| d.active());
        let mut asks = Vec::new();
        for group in failed {
            let Some(group) = job.lookup_group(group) else { return };
            if deploys || group.volumes.as_ref().is_some_and(|v| !v.is_empty()) {
                return;
            }
            asks.push(CompiledGroup::new(job, group, false).usage);
        }
        self.of_job.insert(key.clone(), Evaluated { ids, asks, seen: self.gained.len(), now });
    }

    /// What is known about a job does not hold any more.
    pub(super) fn forget(&mut self, key: &JobKey) {
        self.of_job.remove(key);
    }

    /// Notes where a plan may give room.
    pub(super) fn gain(&mut self, state: &State, plan: &Plan) {
        let stopped = plan.node_update.iter().chain(&plan.node_preemptions).filter(|(_, list)| !list.is_empty());
        let changed = plan.node_allocation.iter().filter(|(_, list)| list.iter().any(|a| state.alloc(&a.id).is_some()));
        for slot in stopped.chain(changed).filter_map(|(id, _)| Some(state.node(id)?.slot)) {
            self.last.insert(slot, self.gained.len());
            self.gained.push(slot);
        }
    }

    /// How many IDs an evaluation of a job would take, if it is futile again.
    pub(super) fn again(&mut self, state: &State, key: &JobKey, now: i64) -> Option<u64> {
        let evaluated = self.of_job.get_mut(key).filter(|e| e.now == now)?;
        let job = state.job(&key.0, &key.1)?;
        let preempts = preempts(state.scheduler_config.as_deref(), job);
        for (i, slot) in self.gained.iter().enumerate().skip(evaluated.seen) {
            let Some(node) = state.node_at(*slot).filter(|_| self.last.get(slot) == Some(&i)) else { continue };
            let may_have_room = || evaluated.asks.iter().any(|ask| !lacks(job, node, ask, preempts));
            if node.node.ready() && covers(job, &node.node) && may_have_room() {
                return None;
            }
        }
        evaluated.seen = self.gained.len();
        Some(evaluated.ids)
    }
}

fn preempts(config: Option<&SchedulerConfiguration>, job: &Job) -> bool {
    config.is_none_or(|c| match job.r#type {
        JobType::Batch => c.preemption_config.batch_scheduler_enabled,
        JobType::System => c.preemption_config.system_scheduler_enabled,
        JobType::Sysbatch => c.preemption_config.sys_batch_scheduler_enabled,
        JobType::Service | JobType::Core | JobType::Unset | JobType::Other(_) => {
            c.preemption_config.service_scheduler_enabled
        }
    })
}

/// Whether a node surely lacks CPU, memory or disk for a placement of a job, evictions included. What the job itself has
/// there takes no room when victims are chosen.
fn lacks(job: &Job, node: &NodeEntry, ask: &AllocUsage, preempts: bool) -> bool {
    let mut more = [0_i64; 3];
    if preempts {
        let Some(evictable) = node.by_priority.sum(|priority| outranks(job.priority, priority)) else { return false };
        more = evictable;
        for own in node.live_allocs().filter(|e| e.alloc.job_id == job.id && e.alloc.namespace == job.namespace) {
            let amounts = [own.usage.cpu, own.usage.memory, own.usage.disk];
            more.iter_mut().zip(amounts).for_each(|(sum, amount)| *sum = sum.saturating_add(amount.max(0)));
        }
    }
    let (has, used) = (&node.info, &node.usage);
    let free = [(has.cpu, used.cpu), (has.memory, used.memory), (has.disk, used.disk)];
    let room = free.iter().zip(more).map(|((has, used), more)| has.saturating_sub(*used).saturating_add(more));
    room.zip([ask.cpu, ask.memory, ask.disk]).any(|(room, asked)| room < asked)
}
