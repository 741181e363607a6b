//! Explains a plan: for each group, which nodes were considered, why the others were excluded, and how the nodes that
//! can take an allocation scored, summarised so that the explanation of a large cluster fits on one screen.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;

use super::DryRun;
use encamp_model::*;
use encamp_scheduler::constraint::FoundValue;
use encamp_scheduler::explain::{Moment, NodeVerdict, Question, Verdict};
use encamp_scheduler::stack::{CLASS_INELIGIBLE, Judgement};
use encamp_state::{AllocEntry, NodeEntry};

/// Names of nodes that stand for all of a kind.
const EXAMPLES: usize = 3;
/// Values that are named of what nodes have.
const VALUES: usize = 3;
/// Nodes whose scores are listed.
const BEST: usize = 5;

/// One group's explanation.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct GroupExplanation {
    /// The group.
    pub task_group: String,
    /// Allocations the plan places.
    pub placed: u64,
    /// Allocations that could not be placed.
    pub failed: u64,
    /// Whether nodes are shown after the plan is applied, or before it.
    pub after_plan: bool,
    /// Nodes of the cluster.
    pub nodes: u64,
    /// Nodes that are not considered, by reason.
    pub no_candidates: Vec<Reason>,
    /// Nodes that can't run the group, by reason.
    pub filtered: Vec<Reason>,
    /// Nodes with insufficient capacity, by dimension.
    pub exhausted: Vec<Shortage>,
    /// Nodes with insufficient capacity where evictions would free enough, by dimension.
    pub with_preemption: Vec<Reason>,
    /// Nodes that searches pass over without a trace.
    pub passed_over: u64,
    /// Nodes that can take an allocation.
    pub fitting: u64,
    /// The best of those.
    pub best: Vec<ScoredNode>,
    /// Where the plan places allocations, most first.
    pub placements: Vec<Placements>,
}

/// Nodes that share a reason.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Reason {
    /// The reason.
    pub reason: String,
    /// How many nodes.
    pub nodes: u64,
    /// The values of the constraint's attribute, most frequent first; nodes without a value count as `unset`.
    pub found: Vec<Found>,
    /// Names of some of them.
    pub examples: Vec<String>,
}

/// A value and how many nodes have it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Found {
    /// The value, quoted.
    pub value: String,
    /// How many nodes.
    pub nodes: u64,
}

/// Nodes that have too little of one thing.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Shortage {
    /// The exhausted dimension, as named in metrics.
    pub dimension: String,
    /// How many nodes.
    pub nodes: u64,
    /// The requested amount (MHz or MB), where it can be counted.
    pub asked: Option<i64>,
    /// The least and the most any of the nodes has free.
    pub free: Option<(i64, i64)>,
    /// Names of some of them.
    pub examples: Vec<String>,
}

/// A node that could take an allocation.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct ScoredNode {
    /// Its ID.
    #[serde(rename = "NodeID")]
    pub node_id: String,
    /// Its name.
    pub node_name: String,
    /// The mean of the scores that enter.
    pub score: f64,
    /// Its scores by scorer.
    pub scores: Scores,
}

/// The placements of the plan on one node.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Placements {
    /// The node's ID.
    #[serde(rename = "NodeID")]
    pub node_id: String,
    /// Its name.
    pub node_name: String,
    /// How many.
    pub count: u64,
    /// The score of the first of them, and its scores by scorer.
    pub score: Option<f64>,
    /// By scorer.
    pub scores: Option<Scores>,
    /// Allocations that are evicted for them.
    pub evicted: Vec<String>,
}

/// One node's story with one group.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct NodeStory {
    /// The group.
    pub task_group: String,
    /// Allocations of it that the plan places on the node.
    pub placed: u64,
    /// The verdict for the node, in sentences.
    pub verdict: Vec<String>,
    /// Its scores by scorer, if it can take an allocation.
    pub scores: Option<Scores>,
    /// The mean of the scores that enter.
    pub score: Option<f64>,
    /// Used and free capacity.
    pub room: Vec<Room>,
    /// The allocations there, and why each would or would not be evicted.
    pub allocations: Vec<Candidate>,
}

/// One dimension of a node.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Room {
    /// `cpu` (MHz), `memory` (MB) or `disk` (MB).
    pub dimension: String,
    /// Its capacity for allocations.
    pub total: i64,
    /// Their usage.
    pub used: i64,
    /// The requested resources of one allocation of the group.
    pub asked: i64,
}

/// An allocation on a node.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Candidate {
    /// Its ID.
    #[serde(rename = "AllocID")]
    pub alloc_id: String,
    /// Its job.
    #[serde(rename = "JobID")]
    pub job_id: String,
    /// The job's priority.
    pub priority: i64,
    /// MHz it uses.
    #[serde(rename = "CPU")]
    pub cpu: i64,
    /// MB it uses.
    #[serde(rename = "MemoryMB")]
    pub memory_mb: i64,
    /// Whether and why it stays.
    pub verdict: String,
}

fn question(run: &DryRun, now: i64) -> Question<'_> {
    Question { state: &run.state, eval: &run.eval, job: &run.job, plan: &run.plan, now }
}

/// Explains every group of the planned job. Groups with unplaced allocations are shown as the plan leaves the
/// nodes.
pub fn explain(run: &DryRun, now: i64) -> Vec<GroupExplanation> {
    let question = question(run, now);
    let groups = run.job.task_groups.iter().filter(|_| !run.job.stop);
    groups.map(|group| explain_group(run, &question, group)).collect()
}

fn explain_group(run: &DryRun, question: &Question, group: &TaskGroup) -> GroupExplanation {
    let failed = run.failed_tg_allocs().get(&group.name);
    let failed = failed.map_or(0, |m| m.failures().unsigned_abs());
    let moment = if failed > 0 { Moment::AfterPlan } else { Moment::BeforePlacements };
    let verdicts = question.survey(group, moment, run.state.nodes().cloned());
    let mut out = GroupExplanation {
        task_group: group.name.clone(),
        failed,
        after_plan: failed > 0,
        nodes: verdicts.len() as u64,
        placements: placements(run, group),
        ..GroupExplanation::default()
    };
    out.placed = out.placements.iter().map(|p| p.count).sum();
    sum_up(&mut out, verdicts);
    out
}

/// The reasons for which nodes of a failed group are excluded that its metrics hide: after the first node of a computed
/// class, they only name the class. By group, with the number of such nodes.
pub fn class_reasons(run: &DryRun, now: i64) -> BTreeMap<String, Vec<(String, u64)>> {
    let hidden = |metric: &&AllocMetric| metric.constraint_filtered.contains_key(CLASS_INELIGIBLE);
    let question = question(run, now);
    let mut out = BTreeMap::new();
    for group in &run.job.task_groups {
        let Some(metric) = run.failed_tg_allocs().get(&group.name).filter(hidden) else { continue };
        let mut reasons: BTreeMap<String, u64> = BTreeMap::new();
        for found in question.survey(group, Moment::AfterPlan, run.state.nodes().cloned()) {
            if let Verdict::Judged(Judgement::Filtered { reason, .. }) = found.verdict {
                *reasons.entry(reason).or_default() += 1;
            }
        }
        for (reason, named) in &metric.constraint_filtered {
            if let Some(n) = reasons.get_mut(reason) {
                *n = n.saturating_sub(named.unsigned_abs());
            }
        }
        out.insert(group.name.clone(), reasons.into_iter().filter(|(_, n)| *n > 0).collect());
    }
    out
}

fn sum_up(out: &mut GroupExplanation, verdicts: Vec<NodeVerdict>) {
    let (mut outside, mut filtered, mut evicting) = (Reasons::default(), Reasons::default(), Reasons::default());
    let mut short: BTreeMap<String, Shortage> = BTreeMap::new();
    let mut fitting: Vec<ScoredNode> = Vec::new();
    for NodeVerdict { node, verdict } in verdicts {
        match verdict {
            Verdict::NoCandidate(reasons) => {
                // The first is what decides; the others would not help.
                let reason = reasons.into_iter().next().unwrap_or_default();
                outside.add(reason, None, &node);
            }
            Verdict::Judged(Judgement::Filtered { reason, found }) => {
                let compared = match found {
                    FoundValue::Value(value) => Some(value),
                    FoundValue::Unset => Some("unset".to_string()),
                    FoundValue::NotRead => None,
                };
                filtered.add(reason, compared, &node);
            }
            Verdict::Judged(Judgement::Exhausted { dimension, amounts }) => {
                let s = short.entry(dimension.clone()).or_insert_with(|| Shortage { dimension, ..Shortage::default() });
                s.nodes += 1;
                example(&mut s.examples, &node);
                if let Some((asked, free)) = amounts {
                    s.asked = Some(asked);
                    let (least, most) = s.free.unwrap_or((free, free));
                    s.free = Some((least.min(free), most.max(free)));
                }
            }
            Verdict::Judged(Judgement::PassedOver) => out.passed_over += 1,
            Verdict::WithPreemption { dimension, .. } => evicting.add(dimension, None, &node),
            Verdict::Judged(Judgement::Fits { score, scores, .. }) => {
                out.fitting += 1;
                fitting.push(ScoredNode {
                    node_id: node.node.id.clone(),
                    node_name: node.node.name.clone(),
                    score,
                    scores,
                });
            }
        }
    }
    fitting.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.node_id.cmp(&b.node_id)));
    fitting.truncate(BEST);
    out.best = fitting;
    (out.no_candidates, out.filtered, out.with_preemption) = (outside.sorted(), filtered.sorted(), evicting.sorted());
    out.exhausted = short.into_values().collect();
    out.exhausted.sort_by(|a, b| b.nodes.cmp(&a.nodes).then_with(|| a.dimension.cmp(&b.dimension)));
}

/// Nodes by reason.
#[derive(Default)]
struct Reasons(BTreeMap<String, (Reason, BTreeMap<String, u64>)>);

impl Reasons {
    fn add(&mut self, reason: String, found: Option<String>, node: &NodeEntry) {
        let entry = self.0.entry(reason.clone());
        let (entry, values) = entry.or_insert_with(|| (Reason { reason, ..Reason::default() }, BTreeMap::new()));
        entry.nodes += 1;
        example(&mut entry.examples, node);
        found.into_iter().for_each(|v| *values.entry(v).or_default() += 1);
    }

    /// Most nodes first.
    fn sorted(self) -> Vec<Reason> {
        let with_values = |(mut reason, values): (Reason, BTreeMap<String, u64>)| {
            reason.found = values.into_iter().map(|(value, nodes)| Found { value, nodes }).collect();
            reason.found.sort_by_key(|f| std::cmp::Reverse(f.nodes));
            reason.found.truncate(VALUES);
            reason
        };
        let mut out: Vec<Reason> = self.0.into_values().map(with_values).collect();
        out.sort_by_key(|r| std::cmp::Reverse(r.nodes));
        out
    }
}

fn example(examples: &mut Vec<String>, node: &NodeEntry) {
    if examples.len() < EXAMPLES {
        examples.push(node.node.name.clone());
    }
}

/// Where the plan places allocations of a group.
fn placements(run: &DryRun, group: &TaskGroup) -> Vec<Placements> {
    let mut out: Vec<Placements> = Vec::new();
    for (node_id, planned) in &run.plan.node_allocation {
        let new: Vec<_> =
            planned.iter().filter(|a| a.task_group == group.name && run.state.alloc(&a.id).is_none()).collect();
        let Some(first) = new.first() else { continue };
        let metric = first.metrics.iter().flat_map(|m| m.unpack().score_meta_data).find(|s| s.node_id == *node_id);
        let evicted: BTreeSet<&Text> = new.iter().flat_map(|a| &a.preempted_allocations).collect();
        out.push(Placements {
            node_id: node_id.clone(),
            node_name: first.node_name.to_string(),
            count: new.len() as u64,
            score: metric.as_ref().map(|m| m.norm_score),
            scores: metric.map(|m| m.scores),
            evicted: evicted.into_iter().map(Text::to_string).collect(),
        });
    }
    out.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.node_name.cmp(&b.node_name)));
    out
}

/// Explains one node for each group of the planned job.
pub fn node_story(run: &DryRun, node_id: &str, now: i64) -> Vec<NodeStory> {
    let question = question(run, now);
    let Some(node) = run.state.node(node_id) else { return Vec::new() };
    let groups = run.job.task_groups.iter().filter(|_| !run.job.stop);
    groups.map(|group| story(run, &question, group, node)).collect()
}

fn story(run: &DryRun, question: &Question, group: &TaskGroup, node: &Arc<NodeEntry>) -> NodeStory {
    let planned = run.plan.node_allocation.get(&node.node.id).into_iter().flatten();
    let placed = planned.filter(|a| a.task_group == group.name && run.state.alloc(&a.id).is_none()).count() as u64;
    let verdict = question.survey(group, Moment::BeforePlacements, std::iter::once(node.clone())).pop();
    let mut out = NodeStory {
        task_group: group.name.clone(),
        placed,
        verdict: Vec::new(),
        scores: None,
        score: None,
        room: room(question, group, node),
        allocations: Vec::new(),
    };
    let victims = verdict.map(|v| out.judge(v.verdict)).unwrap_or_default();
    out.allocations = question
        .victims_on(node, &victims)
        .into_iter()
        .map(|(a, verdict)| Candidate {
            alloc_id: a.alloc.id.to_string(),
            job_id: a.alloc.job_id.to_string(),
            priority: a.priority(),
            cpu: a.usage.cpu,
            memory_mb: a.usage.memory,
            verdict,
        })
        .collect();
    out
}

impl NodeStory {
    /// Writes down a verdict. Returns the allocations that would be evicted.
    fn judge(&mut self, verdict: Verdict) -> Vec<Arc<AllocEntry>> {
        match verdict {
            Verdict::NoCandidate(reasons) => {
                self.verdict = reasons.into_iter().map(|r| format!("not considered: {r}")).collect();
            }
            Verdict::Judged(Judgement::Filtered { reason, found }) => {
                let has = match found {
                    FoundValue::Value(found) => format!("; the node has {found}"),
                    FoundValue::Unset => "; the node does not have it".into(),
                    FoundValue::NotRead => String::new(),
                };
                self.verdict = vec![format!("filtered: {reason}{has}")];
            }
            Verdict::Judged(Judgement::Exhausted { dimension, amounts }) => {
                let amounts = amounts.map(|(asked, free)| format!(": {asked} requested, {free} free"));
                self.verdict = vec![format!("exhausted: {dimension}{}", amounts.unwrap_or_default())];
            }
            Verdict::Judged(Judgement::PassedOver) => {
                self.verdict = vec!["skipped: the node has no address on a host network of the group".into()];
            }
            Verdict::Judged(Judgement::Fits { score, scores, .. }) => {
                (self.score, self.scores) = (Some(score), Some(scores));
                self.verdict = vec![if self.placed > 0 { "chosen" } else { "could take an allocation" }.into()];
            }
            Verdict::WithPreemption { dimension, score, victims } => {
                self.score = Some(score);
                self.verdict = vec![format!(
                    "exhausted: {dimension}; evicting {} allocations would free enough capacity",
                    victims.len()
                )];
                return victims;
            }
        }
        Vec::new()
    }
}

fn room(question: &Question, group: &TaskGroup, node: &NodeEntry) -> Vec<Room> {
    let asked = question.asked(group);
    let usage = question.usage(node);
    let dimension = |name: &str, total, used, asked| Room { dimension: name.into(), total, used, asked };
    vec![
        dimension("cpu", node.info.cpu, usage.cpu, asked.0),
        dimension("memory", node.info.memory, usage.memory, asked.1),
        dimension("disk", node.info.disk, usage.disk, asked.2),
    ]
}
