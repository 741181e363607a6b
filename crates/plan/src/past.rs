//! Explains a past evaluation from its record: the metrics of its allocations and of the groups that failed.

use std::collections::BTreeMap;

use serde::Serialize;

use encamp_model::*;

/// The result of an evaluation.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct PastEvaluation {
    /// Its ID.
    #[serde(rename = "ID")]
    pub id: String,
    /// Namespace of its job.
    pub namespace: String,
    /// Its job.
    #[serde(rename = "JobID")]
    pub job_id: String,
    /// The job's type.
    pub r#type: JobType,
    /// Why it was made.
    pub triggered_by: EvalTrigger,
    /// Its status.
    pub status: EvalStatus,
    /// More about the status.
    pub status_description: String,
    /// When it was made, Unix nanoseconds.
    pub create_time: i64,
    /// The evaluation that waits for capacity, if there is one.
    pub blocked_eval: String,
    /// The evaluation that follows, if there is one.
    pub next_eval: String,
    /// The evaluation before it, if there is one.
    pub previous_eval: String,
    /// Things other than nodes that were missing.
    pub missing_non_node_resources: Vec<String>,
    /// The rejected parts of the last plan, if the evaluation failed because its plans were rejected.
    pub plan_rejections: Vec<PlanRejection>,
    /// By group.
    pub groups: Vec<PastGroup>,
}

/// Its result for one group.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct PastGroup {
    /// The group.
    pub task_group: String,
    /// Allocations that were not placed.
    pub failed: u64,
    /// Metrics of the last search for them.
    pub failure: Option<AllocMetric>,
    /// Allocations it placed.
    pub placed: Vec<PastPlacement>,
}

/// An allocation it placed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct PastPlacement {
    /// Its ID.
    #[serde(rename = "AllocID")]
    pub alloc_id: String,
    /// Its name.
    pub name: String,
    /// Its node.
    #[serde(rename = "NodeID")]
    pub node_id: String,
    /// The node's name.
    pub node_name: String,
    /// Its current status.
    pub client_status: ClientStatus,
    /// The node's final score, if it was recorded.
    pub score: Option<f64>,
    /// The next best node's.
    pub runner_up: Option<f64>,
    /// Allocations that were evicted for it.
    pub preempted: Vec<String>,
    /// Metrics of the search.
    pub metrics: AllocMetric,
}

/// Explains an evaluation. `allocations`: those it made, in full.
pub fn explain(eval: Evaluation, allocations: Vec<Allocation>) -> PastEvaluation {
    let mut groups = Groups::default();
    for (name, metric) in eval.failed_tg_allocs {
        let g = groups.of(&name);
        g.failed = metric.failures().unsigned_abs();
        g.failure = Some(metric);
    }
    for a in allocations {
        let metrics = a.metrics.map(|m| m.unpack()).unwrap_or_default();
        let own = metrics.score_meta_data.iter().find(|m| m.node_id == a.node_id).map(|m| m.norm_score);
        let others = metrics.score_meta_data.iter().filter(|m| m.node_id != a.node_id).map(|m| m.norm_score);
        let runner_up = others.max_by(f64::total_cmp);
        groups.of(&a.task_group).placed.push(PastPlacement {
            alloc_id: a.id.to_string(),
            name: a.name.to_string(),
            node_id: a.node_id.to_string(),
            node_name: a.node_name.to_string(),
            client_status: a.client_status,
            score: own,
            runner_up,
            preempted: a.preempted_allocations.iter().map(Text::to_string).collect(),
            metrics,
        });
    }
    groups
        .0
        .values_mut()
        .for_each(|g| g.placed.sort_by(|a, b| a.name.cmp(&b.name).then_with(|| a.alloc_id.cmp(&b.alloc_id))));
    PastEvaluation {
        id: eval.id.to_string(),
        namespace: eval.namespace.to_string(),
        job_id: eval.job_id.to_string(),
        r#type: eval.r#type,
        triggered_by: eval.triggered_by,
        status: eval.status,
        status_description: eval.status_description.to_string(),
        create_time: eval.create_time,
        blocked_eval: eval.blocked_eval.to_string(),
        next_eval: eval.next_eval.to_string(),
        previous_eval: eval.previous_eval.to_string(),
        missing_non_node_resources: eval.missing_non_node_resources.into_iter().collect(),
        plan_rejections: eval.plan_rejections.into_iter().collect(),
        groups: groups.0.into_values().collect(),
    }
}

#[derive(Default)]
struct Groups(BTreeMap<String, PastGroup>);

impl Groups {
    fn of(&mut self, name: &str) -> &mut PastGroup {
        let new = || PastGroup { task_group: name.into(), ..PastGroup::default() };
        self.0.entry(name.to_string()).or_insert_with(new)
    }
}
