//! Explains why nodes are, or are not, chosen for a group's allocations: evaluates every node with the search's own
//! checks, one by one.
//!
//! The search itself visits few nodes and caches feasibility per computed class; here each node gets its own reason.

use std::sync::Arc;

use super::candidates::{datacenter_matches, in_pool};
use super::stack::{CompiledGroup, Judgement, PRIORITY_DELTA, Stack, StackKind};
use super::working_plan::WorkingPlan;
use encamp_model::*;
use encamp_state::{AllocEntry, NodeEntry, NodeUsage, Snapshot};

/// The point in time at which nodes are evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// With everything the plan stops and evicts gone, and nothing placed.
    BeforePlacements,
    /// With the plan carried out.
    AfterPlan,
}

/// The verdict of a group's search for a node.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// Not considered: all reasons that exclude it.
    NoCandidate(Vec<String>),
    /// Considered.
    Judged(Judgement),
    /// It has insufficient capacity, but would have enough without these allocations.
    WithPreemption {
        /// The exhausted dimension, as named in metrics.
        dimension: String,
        /// The mean of the scores that enter.
        score: f64,
        /// The allocations to evict.
        victims: Vec<Arc<AllocEntry>>,
    },
}

/// A node and its verdict.
#[derive(Debug, Clone)]
pub struct NodeVerdict {
    /// The node.
    pub node: Arc<NodeEntry>,
    /// The verdict for the group.
    pub verdict: Verdict,
}

/// The subject of an explanation.
pub struct Question<'a> {
    /// The state the plan was made on, with the planned job in it.
    pub state: &'a Snapshot,
    /// The evaluation.
    pub eval: &'a Evaluation,
    /// The planned job.
    pub job: &'a Arc<Job>,
    /// Its plan.
    pub plan: &'a Plan,
    /// Unix nanoseconds.
    pub now: i64,
}

impl Question<'_> {
    /// The verdicts on the given nodes for a group.
    pub fn survey(
        &self,
        group: &TaskGroup,
        moment: Moment,
        nodes: impl Iterator<Item = Arc<NodeEntry>>,
    ) -> Vec<NodeVerdict> {
        let kind = match self.job.r#type {
            JobType::Batch => StackKind::Batch,
            JobType::System => StackKind::System,
            JobType::Sysbatch => StackKind::SysBatch,
            JobType::Service | JobType::Core | JobType::Unset | JobType::Other(_) => StackKind::Service,
        };
        let mut stack = Stack::new(kind, self.state.clone());
        stack.set_job(self.job);
        let mut plan = self.working_plan(moment);
        let mut random = |_: u64| 0;
        let (mut out, mut candidates) = (Vec::new(), Vec::new());
        for node in nodes {
            let reasons = self.kept_out(&node.node);
            if reasons.is_empty() {
                candidates.push(node);
            } else {
                out.push(NodeVerdict { node, verdict: Verdict::NoCandidate(reasons) });
            }
        }
        let judged = stack.judge(&candidates, group, &mut plan, false, &mut random);
        let may_evict = stack.preemption_enabled();
        for (node, judgement) in candidates.into_iter().zip(judged) {
            let verdict = match judgement {
                Judgement::Exhausted { dimension, amounts } if may_evict => {
                    let again = stack.judge(std::slice::from_ref(&node), group, &mut plan, true, &mut random).pop();
                    match again {
                        Some(Judgement::Fits { score, victims, .. }) => {
                            Verdict::WithPreemption { dimension, score, victims }
                        }
                        _ => Verdict::Judged(Judgement::Exhausted { dimension, amounts }),
                    }
                }
                other => Verdict::Judged(other),
            };
            out.push(NodeVerdict { node, verdict });
        }
        out
    }

    /// CPU (MHz), memory and disk (MB) that one allocation of a group asks for.
    pub fn asked(&self, group: &TaskGroup) -> (i64, i64, i64) {
        let usage = &CompiledGroup::new(self.job, group, false).usage;
        (usage.cpu, usage.memory, usage.disk)
    }

    /// The usage of a node before any placement.
    pub fn usage(&self, node: &NodeEntry) -> NodeUsage {
        let mut plan = self.working_plan(Moment::BeforePlacements);
        plan.refresh(node);
        plan.usage_of(node).clone()
    }

    /// The plan as far as it counts at the moment.
    fn working_plan(&self, moment: Moment) -> WorkingPlan {
        let mut out = WorkingPlan::new(self.eval, Some(self.job.clone()), self.state.clone(), self.now);
        self.plan.node_update.values().flatten().for_each(|a| out.push_stop(a.clone()));
        if moment == Moment::AfterPlan {
            for victim in self.plan.node_preemptions.values().flatten() {
                out.append_preempted(victim, &victim.preempted_by_allocation);
            }
            self.plan.node_allocation.values().flatten().for_each(|a| out.push_alloc(a.clone()));
        }
        out
    }

    /// Why a node is not considered (`docs/spec/scheduling.md §3.1`).
    fn kept_out(&self, node: &Node) -> Vec<String> {
        let mut out = Vec::new();
        let pool = self.job.node_pool.as_str();
        if !in_pool(pool, &node.node_pool) {
            out.push(format!("node pool is {:?}, not {pool:?}", node.node_pool));
        }
        if !datacenter_matches(&self.job.datacenters, &node.datacenter) {
            out.push(format!("datacenter {:?} is not among {:?}", node.datacenter, self.job.datacenters));
        }
        if node.status != NodeStatus::Ready {
            out.push(format!("node is {}", node.status));
        }
        if node.drain_strategy.is_some() {
            out.push("node is draining".into());
        } else if node.scheduling_eligibility != NodeEligibility::Eligible {
            out.push("node is not eligible".into());
        }
        out
    }

    /// The role of each allocation on a node in an eviction in favour of the job, in words.
    pub fn victims_on(&self, node: &NodeEntry, taken: &[Arc<AllocEntry>]) -> Vec<(Arc<AllocEntry>, String)> {
        let judge = |a: &Arc<AllocEntry>| {
            let own = a.alloc.job_id == self.job.id && a.alloc.namespace == self.job.namespace;
            let delta = self.job.priority.saturating_sub(a.priority());
            if taken.iter().any(|t| t.alloc.id == a.alloc.id) {
                "would be evicted".into()
            } else if own {
                "stays: it is of the same job".into()
            } else if a.alloc.job.is_none() {
                "stays: its job is not known".into()
            } else if delta < PRIORITY_DELTA {
                format!("stays: its priority {} is not {PRIORITY_DELTA} below {}", a.priority(), self.job.priority)
            } else {
                "stays: others suffice, or even all do not".into()
            }
        };
        self.working_plan(Moment::BeforePlacements).proposed(node).into_iter().map(|a| (a.clone(), judge(&a))).collect()
    }
}
