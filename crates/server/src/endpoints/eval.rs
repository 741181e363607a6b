//! Evaluations: related evaluations, and deletion (`docs/spec/garbage-collection.md §14.1`).

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::error::Error;
use crate::leading::Leading;
use encamp_model::requests::*;
use encamp_model::responses::*;
use encamp_model::*;
use encamp_ops::Operation;
use encamp_scheduler::reschedule;
use encamp_state::StateStore;

/// Maximum number of evaluations deleted by one log entry.
const MOST_IDS: usize = 7281;
/// The number of evaluations found by a filter that are deleted per log entry.
const PER_ENTRY: usize = 728;

/// The evaluations connected with this one through predecessors, successors and blocked evaluations, ordered by ID.
pub fn related(store: &StateStore, eval: &Evaluation) -> Vec<EvaluationStub> {
    let links = |e: &Evaluation| [&e.next_eval, &e.previous_eval, &e.blocked_eval].map(Text::clone);
    let mut found: BTreeMap<Text, EvaluationStub> = BTreeMap::new();
    let mut queue: VecDeque<Text> = links(eval).into();
    while let Some(id) = queue.pop_front() {
        if id.is_empty() || id == eval.id || found.contains_key(&id) {
            continue;
        }
        let Some(e) = store.eval(&id) else { continue };
        queue.extend(links(e));
        found.insert(id, stub(e));
    }
    found.into_values().collect()
}

fn stub(e: &Evaluation) -> EvaluationStub {
    EvaluationStub {
        id: e.id.clone(),
        namespace: e.namespace.clone(),
        priority: e.priority,
        r#type: e.r#type.clone(),
        triggered_by: e.triggered_by.clone(),
        job_id: e.job_id.clone(),
        node_id: e.node_id.clone(),
        deployment_id: e.deployment_id.clone(),
        status: e.status.clone(),
        status_description: e.status_description.clone(),
        wait_until: e.wait_until,
        next_eval: e.next_eval.clone(),
        previous_eval: e.previous_eval.clone(),
        blocked_eval: e.blocked_eval.clone(),
        create_index: e.create_index,
        modify_index: e.modify_index,
        create_time: e.create_time,
        modify_time: e.modify_time,
    }
}

/// Whether no running or yet to be replaced allocation depends on an evaluation.
pub(crate) fn safe_to_delete(store: &StateStore, eval: &Evaluation) -> bool {
    let job = store.state().job(&eval.namespace, &eval.job_id);
    if job.is_none_or(|j| j.stop || j.status == JobStatus::Dead) {
        return true;
    }
    store.allocs_of_eval(&eval.id).all(|entry| {
        let a = &entry.alloc;
        match a.client_status {
            ClientStatus::Running | ClientStatus::Unknown => return false,
            ClientStatus::Failed => {}
            _ => return true,
        }
        let Some(policy) = reschedule::policy(a).filter(|p| p.unlimited || p.attempts != 0) else { return true };
        let events = a.reschedule_tracker.as_ref().and_then(|t| t.events.as_ref());
        !(a.next_allocation.is_empty() || policy.unlimited || events.is_none_or(Vec::is_empty))
    })
}

/// Validates a delete request.
///
/// # Errors
/// 400: the request is invalid.
pub fn check_delete(request: &EvalDeleteRequest) -> Result<(), Error> {
    match (request.eval_ids.len(), request.filter.is_empty()) {
        (1.., false) => Err(Error::bad("evals cannot be deleted by both ID and filter")),
        (0, true) => Err(Error::bad("evals must be deleted by either ID or filter")),
        (n, _) if n > MOST_IDS => {
            Err(Error::bad(format!("request includes {n} evaluation IDs, must be {MOST_IDS} or fewer")))
        }
        _ => Ok(()),
    }
}

/// Fails unless the broker is paused: evaluations can only be deleted while no worker processes them.
///
/// # Errors
/// 500: the broker is enabled.
pub(crate) fn check_paused(server: &Leading) -> Result<(), Error> {
    let paused = server.snapshot().state().scheduler_config.as_ref().is_some_and(|c| c.pause_eval_broker);
    if paused && !server.queues().broker().enabled() {
        Ok(())
    } else {
        Err(Error::internal("eval broker is enabled; eval broker must be paused to delete evals"))
    }
}

/// Deletes evaluations by ID, all or none.
///
/// # Errors
/// An evaluation does not exist or is still needed, or the broker is enabled.
pub async fn delete(server: &Leading, evals: Vec<String>) -> Result<EvalDeleteResponse, Error> {
    server.wait_ready().await?;
    check_paused(server)?;
    let store = server.snapshot();
    for id in &evals {
        let eval = store.eval(id).ok_or_else(|| Error::internal("eval not found"))?;
        if !safe_to_delete(&store, eval) {
            return Err(Error::internal(format!("eval {id} is not safe to delete")));
        }
    }
    let count = u64::try_from(evals.len()).unwrap_or(u64::MAX);
    let (index, _) = server.commit(Operation::EvalDelete { evals, allocs: Vec::new() }).await?;
    Ok(EvalDeleteResponse { count, index })
}

/// Deletes those of the evaluations that are not needed any more.
///
/// # Errors
/// The broker is enabled, or there is no leader; deletions already written stay.
pub async fn delete_found(server: &Leading, found: &[Arc<Evaluation>]) -> Result<EvalDeleteResponse, Error> {
    server.wait_ready().await?;
    check_paused(server)?;
    let store = server.snapshot();
    let safe: Vec<String> = found.iter().filter(|e| safe_to_delete(&store, e)).map(|e| e.id.to_string()).collect();
    let mut answer = EvalDeleteResponse::default();
    for page in safe.chunks(PER_ENTRY) {
        check_paused(server)?;
        let op = Operation::EvalDelete { evals: page.to_vec(), allocs: Vec::new() };
        answer.index = server.commit(op).await?.0;
        answer.count += u64::try_from(page.len()).unwrap_or(u64::MAX);
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn eval(id: &str, next: &str, previous: &str, blocked: &str) -> Arc<Evaluation> {
        Arc::new(Evaluation {
            id: id.into(),
            namespace: "n".into(),
            job_id: "j".into(),
            next_eval: next.into(),
            previous_eval: previous.into(),
            blocked_eval: blocked.into(),
            ..Default::default()
        })
    }

    #[test]
    fn relations_go_both_ways_and_do_not_circle() {
        let mut store = StateStore::new();
        for e in [eval("a", "b", "", ""), eval("b", "", "a", "c"), eval("c", "", "b", "gone"), eval("x", "", "", "")] {
            store.put_eval(e);
        }
        let ids = |id: &str| {
            let eval = store.eval(id).unwrap();
            related(&store, eval).into_iter().map(|e| e.id).collect::<Vec<_>>()
        };
        assert_eq!(ids("a"), ["b", "c"]);
        assert_eq!(ids("c"), ["a", "b"]);
        assert!(ids("x").is_empty());
    }

    #[test]
    fn evaluations_of_running_allocations_cannot_be_deleted() {
        let mut store = StateStore::new();
        let e = eval("e", "", "", "");
        store.put_eval(e.clone());
        assert!(safe_to_delete(&store, &e), "no job");
        let policy = |attempts, unlimited| Some(ReschedulePolicy { attempts, unlimited, ..Default::default() });
        let job = |policy| {
            let group = TaskGroup { name: "g".into(), reschedule_policy: policy, ..Default::default() };
            Job { namespace: "n".into(), id: "j".into(), task_groups: vec![group], ..Default::default() }
        };
        store.put_job(Arc::new(job(None)));
        let mut safe = |client_status, next: &str, policy, events: usize| {
            let tracker =
                RescheduleTracker { events: Some(vec![RescheduleEvent::default(); events]), ..Default::default() };
            store.put_allocs(vec![Arc::new(Allocation {
                id: "a".into(),
                namespace: "n".into(),
                job_id: "j".into(),
                eval_id: "e".into(),
                task_group: "g".into(),
                client_status,
                next_allocation: next.into(),
                job: Some(Arc::new(job(policy))),
                reschedule_tracker: Some(Box::new(tracker)),
                ..Default::default()
            })]);
            safe_to_delete(&store, &e)
        };
        assert!(!safe(ClientStatus::Running, "", None, 0) && !safe(ClientStatus::Unknown, "", None, 0));
        assert!(safe(ClientStatus::Complete, "", policy(1, false), 0));
        assert!(safe(ClientStatus::Failed, "", None, 0) && safe(ClientStatus::Failed, "", policy(0, false), 0));
        assert!(!safe(ClientStatus::Failed, "", policy(1, false), 1), "to be replaced");
        assert!(!safe(ClientStatus::Failed, "x", policy(0, true), 1), "unlimited rescheduling");
        assert!(
            !safe(ClientStatus::Failed, "x", policy(1, false), 0)
                && safe(ClientStatus::Failed, "x", policy(1, false), 1)
        );
        store.put_job(Arc::new(Job { stop: true, ..job(None) }));
        assert!(safe_to_delete(&store, &e));
    }

    #[test]
    fn requests_to_delete() {
        let check = |ids: usize, filter: &str| {
            let request = EvalDeleteRequest { eval_ids: vec!["x".into(); ids], filter: filter.into() };
            check_delete(&request).map_err(|e| e.message)
        };
        assert_eq!((check(1, ""), check(0, "x")), (Ok(()), Ok(())));
        assert_eq!(check(0, "").unwrap_err(), "evals must be deleted by either ID or filter");
        assert_eq!(check(1, "x").unwrap_err(), "evals cannot be deleted by both ID and filter");
        assert_eq!(check(7282, "").unwrap_err(), "request includes 7282 evaluation IDs, must be 7281 or fewer");
    }
}
