//! Displaying and stopping allocations (`docs/spec/http-api.md §5.4`, `docs/spec/server.md §10`).

use std::collections::BTreeMap;

use super::job_reads;
use crate::error::Error;
use crate::leading::Leading;
use encamp_host::ids;
use encamp_model::responses::*;
use encamp_model::*;
use encamp_ops::Operation;

/// Stops an allocation; its job is evaluated again, which replaces the allocation.
///
/// # Errors
/// 404: the allocation does not exist.
pub async fn stop(
    server: &Leading,
    id: &str,
    no_shutdown_delay: bool,
    reschedule: bool,
) -> Result<AllocStopResponse, Error> {
    server.wait_ready().await?;
    let store = server.snapshot();
    let missing = || Error::not_found("allocation not found");
    let alloc = store.state().alloc(id).map(|a| a.alloc.clone()).ok_or_else(missing)?;
    let now = ids::now();
    let job = store.state().job(&alloc.namespace, &alloc.job_id).or(alloc.job.as_ref()).cloned();
    let eval = match &job {
        Some(job) => Evaluation {
            job_modify_index: job.modify_index,
            ..Evaluation::pending(job, EvalTrigger::AllocStop, now, ids::uuid())
        },
        None => return Err(missing()),
    };
    let transition = DesiredTransition {
        migrate: Some(true),
        no_shutdown_delay: Some(no_shutdown_delay),
        reschedule: Some(reschedule),
        ..Default::default()
    };
    let eval_id = eval.id.to_string();
    let transitions = BTreeMap::from([(alloc.id.to_string(), transition)]);
    let (index, _) = server.commit(Operation::AllocTransition { transitions, evals: vec![eval] }).await?;
    Ok(AllocStopResponse { eval_id, index })
}

/// The allocation in API format: with its resources in the legacy format as well, and without fields that only encamp's
/// own files contain.
pub fn shown(alloc: &Allocation) -> Allocation {
    let mut out = Allocation { stored_job_version: None, job_ref: None, ..alloc.clone() };
    out.job = alloc.job.as_ref().map(job_reads::shown);
    let Some(given) = &alloc.allocated_resources else { return out };
    let task = |t: &AllocatedTaskResources| Resources {
        cpu: t.cpu.cpu_shares,
        cores: i64::try_from(t.cpu.reserved_cores.len()).unwrap_or(i64::MAX),
        memory_mb: t.memory.memory_mb,
        memory_max_mb: t.memory.memory_max_mb,
        networks: t.networks.clone(),
        ..Default::default()
    };
    if out.task_resources.is_empty() {
        out.task_resources = given.tasks.iter().map(|(name, t)| (name.clone(), task(t))).collect();
    }
    let shared = Resources {
        disk_mb: given.shared.disk_mb,
        networks: given.shared.networks.iter().collect(),
        ..Default::default()
    };
    let mut all = shared.clone();
    for t in given.tasks.values() {
        let t = task(t);
        all.cpu += t.cpu;
        all.cores += t.cores;
        all.memory_mb += t.memory_mb;
        all.memory_max_mb += if t.memory_max_mb > 0 { t.memory_max_mb } else { t.memory_mb };
        all.networks.extend(t.networks);
    }
    out.shared_resources.get_or_insert(Box::new(shared));
    out.resources.get_or_insert(Box::new(all));
    out
}

/// The allocation in list format.
pub fn listed(alloc: &Allocation, resources: bool, task_states: bool) -> AllocListStub {
    let mut stub = alloc.stub();
    if resources {
        stub.allocated_resources = alloc.allocated_resources.clone();
    }
    if !task_states {
        stub.task_states = TaskStates::default();
    }
    stub
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn resources_in_the_form_of_old_clients() {
        let task = |cpu, memory, max| AllocatedTaskResources {
            cpu: AllocatedCpuResources { cpu_shares: cpu, reserved_cores: vec![1, 2] },
            memory: AllocatedMemoryResources { memory_mb: memory, memory_max_mb: max },
            ..Default::default()
        };
        let given = AllocatedResources {
            tasks: [("a".to_string(), task(50, 32, 0)), ("b".to_string(), task(100, 64, 128))].into(),
            shared: AllocatedSharedResources { disk_mb: 20, ..Default::default() },
            ..Default::default()
        };
        let alloc = Allocation {
            allocated_resources: Some(Arc::new(given)),
            stored_job_version: Some(3),
            ..Default::default()
        };
        let out = shown(&alloc);
        let all = out.resources.as_ref().unwrap();
        assert_eq!((all.cpu, all.cores, all.memory_mb, all.memory_max_mb, all.disk_mb), (150, 4, 96, 160, 20));
        assert_eq!(out.shared_resources.as_ref().unwrap().disk_mb, 20);
        let b = out.task_resources.get("b").unwrap();
        assert_eq!((b.memory_mb, b.memory_max_mb, b.disk_mb), (64, 128, 0));
        assert_eq!(out.stored_job_version, None);
        assert!(listed(&alloc, false, true).allocated_resources.is_none());
        assert!(listed(&alloc, true, false).allocated_resources.is_some());
    }
}
