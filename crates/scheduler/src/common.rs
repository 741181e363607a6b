//! Steps that the generic and the system schedulers share, before and after reconciliation.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::stack::RankedNode;
use super::{Context, PlanResult, descriptions};
use encamp_model::*;
use encamp_state::State;

/// Whether a scheduler takes evaluations with that trigger (`docs/spec/reconciliation.md §2.2`).
pub(crate) fn accepts_trigger(scheduler: &JobType, trigger: &EvalTrigger) -> bool {
    let generic = matches!(scheduler, JobType::Service | JobType::Batch);
    match trigger {
        EvalTrigger::JobRegister
        | EvalTrigger::JobDeregister
        | EvalTrigger::NodeDrain
        | EvalTrigger::NodeUpdate
        | EvalTrigger::AllocStop
        | EvalTrigger::RollingUpdate
        | EvalTrigger::DeploymentWatcher
        | EvalTrigger::FailedFollowUp
        | EvalTrigger::QueuedAllocs
        | EvalTrigger::Preemption
        | EvalTrigger::JobScaling
        | EvalTrigger::Reconnect => true,
        EvalTrigger::PeriodicJob => *scheduler != JobType::System,
        EvalTrigger::MaxPlanAttempts
        | EvalTrigger::AllocFailure
        | EvalTrigger::AllocReschedule
        | EvalTrigger::MaxDisconnectTimeout => generic,
        EvalTrigger::Scheduled | EvalTrigger::Unset | EvalTrigger::Other(_) => false,
    }
}

/// A copy of the evaluation with its final status (`docs/spec/reconciliation.md §3.6`); the caller fills in what its
/// scheduler reports besides.
pub fn with_status(
    eval: &Evaluation,
    status: EvalStatus,
    description: &str,
    deployment_id: &str,
    now: i64,
) -> Evaluation {
    Evaluation {
        status,
        status_description: description.into(),
        deployment_id: deployment_id.into(),
        failed_tg_allocs: BTreeMap::new(),
        modify_time: now,
        ..eval.clone()
    }
}

/// Whether a job is gone or stopped.
pub(crate) fn is_stopped(job: Option<&Arc<Job>>) -> bool {
    job.is_none_or(|j| j.stop)
}

/// A new allocation of `group` on the node a search chose (`docs/spec/reconciliation.md §8.2`), without tracker, canary
/// mark and victims.
pub fn new_alloc(
    eval: &Evaluation,
    job: &Job,
    group: &TaskGroup,
    name: &str,
    option: &RankedNode,
    metrics: AllocMetric,
    ctx: &mut Context,
) -> Allocation {
    Allocation {
        id: (ctx.new_id)().into(),
        namespace: Text::from(&job.namespace),
        eval_id: Text::new(&eval.id),
        name: name.into(),
        node_id: Text::from(&option.node.node.id),
        node_name: Text::from(&option.node.node.name),
        job_id: Text::from(&job.id),
        task_group: Text::from(&group.name),
        allocated_resources: Some(option.resources.clone()),
        metrics: Some(metrics.into()),
        desired_status: DesiredStatus::Run,
        client_status: ClientStatus::Pending,
        create_time: ctx.now,
        modify_time: ctx.now,
        ..Default::default()
    }
}

/// A copy of the allocation as an in-place update makes it: it keeps its ports, networks and devices and takes the rest
/// from the check (`docs/spec/reconciliation.md §7` step 7). Deployment and metrics are left to the caller.
pub(crate) fn updated_in_place(alloc: &Allocation, eval: &Evaluation, option: &RankedNode) -> Allocation {
    let mut resources = AllocatedResources::clone(&option.resources);
    if let Some(old) = &alloc.allocated_resources {
        resources.keep_places(old);
        resources.shared.networks = old.shared.networks.clone();
        resources.shared.ports = old.shared.ports.clone();
    }
    Allocation {
        eval_id: Text::new(&eval.id),
        allocated_resources: Some(Arc::new(resources)),
        job: None,
        ..alloc.clone()
    }
}

/// Counts what one more failed placement of the group would have taken (`docs/spec/scheduling.md §10`).
pub(crate) fn add_exhausted_resources(metrics: &mut AllocMetric, group: &TaskGroup) {
    if metrics.dimension_exhausted.is_empty() {
        return;
    }
    let lacks = |dimension: &str| metrics.dimension_exhausted.get(dimension).is_some_and(|n| *n > 0);
    let (cpu, memory) = (lacks("cpu"), lacks("memory"));
    for task in &group.tasks {
        let sum = metrics.resources_exhausted.entry(task.name.clone()).or_default();
        let Some(r) = &task.resources else { continue };
        if memory {
            sum.memory_mb = sum.memory_mb.saturating_add(r.memory_mb);
        }
        if cpu {
            sum.cpu = sum.cpu.saturating_add(r.cpu);
        }
    }
}

/// A blocked evaluation for what could not be placed (`docs/spec/reconciliation.md §3.5`). `classes` is absent when the
/// constraints escape computed classes.
pub fn blocked_eval(
    eval: &Evaluation,
    ctx: &mut Context,
    failed: &BTreeMap<String, AllocMetric>,
    classes: Option<BTreeMap<String, bool>>,
    missing: Vec<String>,
) -> Evaluation {
    Evaluation {
        id: (ctx.new_id)().into(),
        namespace: eval.namespace.clone(),
        priority: eval.priority,
        r#type: eval.r#type.clone(),
        triggered_by: EvalTrigger::QueuedAllocs,
        job_id: eval.job_id.clone(),
        job_modify_index: eval.job_modify_index,
        status: EvalStatus::Blocked,
        status_description: descriptions::BLOCKED_FAILED_PLACEMENTS.into(),
        previous_eval: Text::unshared(&eval.id),
        failed_tg_allocs: failed.clone(),
        escaped_computed_class: classes.is_none(),
        class_eligibility: classes.unwrap_or_default(),
        missing_non_node_resources: missing.into_iter().collect(),
        create_time: ctx.now,
        modify_time: ctx.now,
        ..Default::default()
    }
}

/// Takes the accepted new allocations from the queued counts (`docs/spec/reconciliation.md §3.3` step 7).
pub(crate) fn subtract_placed(queued: &mut BTreeMap<String, i64>, result: &PlanResult, state: &State) {
    for a in result.node_allocation.values().flatten() {
        if state.alloc(&a.id).is_none()
            && let Some(n) = queued.get_mut(&*a.task_group)
        {
            *n -= 1;
        }
    }
}

/// The deployment status text for canaries that wait for promotion (`docs/spec/reconciliation.md §2.6`).
pub(crate) fn promotion_text(deployment: &Deployment) -> &'static str {
    if deployment.has_auto_promote() {
        "Deployment is running pending automatic promotion"
    } else {
        "Deployment is running but requires manual promotion"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triggers() {
        assert!(accepts_trigger(&JobType::Service, &EvalTrigger::AllocFailure));
        assert!(!accepts_trigger(&JobType::System, &EvalTrigger::AllocFailure));
        assert!(!accepts_trigger(&JobType::System, &EvalTrigger::PeriodicJob));
        assert!(accepts_trigger(&JobType::Sysbatch, &EvalTrigger::PeriodicJob));
        assert!(!accepts_trigger(&JobType::Batch, &EvalTrigger::Scheduled));
    }

    #[test]
    fn exhausted_resources_grow_only_in_lacking_dimensions() {
        let resources = Some(Resources { cpu: 500, memory_mb: 64, ..Default::default() });
        let task = Task { name: "t".into(), resources, ..Default::default() };
        let group = TaskGroup { tasks: vec![task], ..Default::default() };
        let mut m = AllocMetric::default();
        add_exhausted_resources(&mut m, &group);
        assert!(m.resources_exhausted.is_empty());
        m.dimension_exhausted.insert("cpu".into(), 1);
        add_exhausted_resources(&mut m, &group);
        add_exhausted_resources(&mut m, &group);
        assert_eq!((m.resources_exhausted["t"].cpu, m.resources_exhausted["t"].memory_mb), (1000, 0));
    }
}
