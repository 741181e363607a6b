//! What nodes have free, to begin a search near its end: no plan is decided by it.

use encamp_model::{JobType, TaskGroup};
use encamp_scheduler::explain::{Moment, Question as Survey, Verdict};
use encamp_scheduler::stack::{CompiledGroup, Judgement};

use super::trial::Trial;
use crate::capacity::constraints;

/// CPU (MHz), memory (MB), disk (MB).
pub(super) type Amounts = [i64; 3];

/// The nodes that could run a group, and how many of its copies they have to take.
#[derive(Debug, Clone, Default)]
pub(super) struct Fleet {
    /// What each of them has free.
    free: Vec<Amounts>,
    /// What one copy asks for.
    pub asks: Amounts,
    /// How many copies have to be placed.
    need: i64,
    /// A node takes one copy.
    alone: bool,
}

impl Fleet {
    /// The fleet of a group of a planned job.
    pub(super) fn of(trial: &Trial, group: &TaskGroup, now: i64) -> Fleet {
        let run = &trial.run;
        let survey = Survey { state: &run.state, eval: &run.eval, job: &run.job, plan: &run.plan, now };
        let nodes = survey.survey(group, Moment::BeforePlacements, run.state.nodes().cloned());
        let suits = |verdict: &Verdict| match verdict {
            Verdict::NoCandidate(_) => false,
            Verdict::Judged(Judgement::Filtered { .. } | Judgement::PassedOver) => false,
            Verdict::Judged(Judgement::Exhausted { dimension, .. }) => {
                matches!(dimension.as_str(), "cpu" | "memory" | "disk")
            }
            Verdict::Judged(Judgement::Fits { .. }) | Verdict::WithPreemption { .. } => true,
        };
        let free = nodes.iter().filter(|n| suits(&n.verdict)).map(|n| {
            let (has, used) = (&n.node.info, &n.node.usage);
            [
                has.cpu.saturating_sub(used.cpu),
                has.memory.saturating_sub(used.memory),
                has.disk.saturating_sub(used.disk),
            ]
        });
        let free: Vec<Amounts> = free.collect();
        let usage = CompiledGroup::new(&run.job, group, false).usage;
        let per_node = matches!(run.job.r#type, JobType::System | JobType::Sysbatch);
        let placed = run.plan.node_allocation.values().flatten();
        let placed = placed.filter(|a| a.task_group == group.name && run.state.alloc(&a.id).is_none()).count();
        let failed = run.failed_tg_allocs().get(&group.name).map_or(0, |m| m.failures());
        let fixed = group.networks.iter().any(|n| !n.reserved_ports.is_empty());
        let alone = per_node || fixed || constraints(&run.job, group).any(|c| c.operand == "distinct_hosts");
        let whole = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        let need = if per_node { whole(free.len()) } else { whole(placed).saturating_add(failed) };
        Fleet { free, asks: [usage.cpu, usage.memory, usage.disk], need, alone }
    }

    /// Copies that fit if each asks for this much.
    fn copies(&self, asks: Amounts) -> i64 {
        let on = |free: &Amounts| {
            let parts = free.iter().zip(asks).map(|(free, ask)| if ask > 0 { (free / ask).max(0) } else { i64::MAX });
            parts.min().unwrap_or(0).min(if self.alone { 1 } else { i64::MAX })
        };
        self.free.iter().map(on).fold(0, i64::saturating_add)
    }

    /// The most of one amount (0: CPU, 1: memory, 2: disk) that all copies can have; `None` if not even 1 is left.
    pub(super) fn most(&self, amount: usize) -> Option<i64> {
        let fits = |value: i64| {
            let mut asks = self.asks;
            if let Some(ask) = asks.get_mut(amount) {
                *ask = value;
            }
            self.copies(asks) >= self.need
        };
        if !fits(1) {
            return None;
        }
        let (mut good, mut bad) = (1, self.asks.get(amount).copied().unwrap_or(1).max(1).saturating_add(1));
        while bad - good > 1 {
            let middle = good + (bad - good) / 2;
            if fits(middle) {
                good = middle;
            } else {
                bad = middle;
            }
        }
        Some(good)
    }

    /// How many empty nodes with so much free take the copies that are not placed.
    pub(super) fn nodes_for(&self, missing: i64, free: Amounts) -> i64 {
        let one = Fleet { free: vec![free], ..self.clone() };
        let each = one.copies(self.asks).max(1);
        missing.max(1).div_euclid(each) + i64::from(missing.max(1).rem_euclid(each) > 0)
    }
}
