//! Dispatch of parameterized jobs (`docs/spec/server.md §15`).

use std::sync::Arc;

use super::job::check_accepting;
use crate::error::Error;
use crate::jobs::dispatch::{self, DispatchRequest};
use crate::leading::Leading;
use encamp_host::ids;
use encamp_model::responses::*;
use encamp_ops::{JobRegister, Operation, Reply};

/// Dispatches a parameterized job. `exempt`: the caller may do so even if job registration is disabled.
///
/// # Errors
/// Texts of `docs/spec/server.md §15`.
pub async fn dispatch(
    server: &Leading,
    namespace: &str,
    id: &str,
    request: &DispatchRequest,
    exempt: bool,
) -> Result<JobDispatchResponse, Error> {
    server.wait_ready().await?;
    let store = server.snapshot();
    check_accepting(&store, exempt)?;
    let job = store.state().job(namespace, id);
    let most = server.settings().admission.job_max_priority;
    let job = dispatch::check(id, job, request, most)?;
    let now = ids::now();
    let random = u32::try_from(ids::random() >> 32).unwrap_or_default();
    let child = dispatch::child(job, request, now, random)?;
    let eval = dispatch::evaluation(&child, now, ids::uuid);
    let mut answer = JobDispatchResponse {
        dispatched_job_id: child.id.clone(),
        eval_id: eval.as_ref().map(|e| e.id.to_string()).unwrap_or_default(),
        ..Default::default()
    };
    let made = eval.is_some();
    let op = JobRegister { job: Arc::new(child), eval, submission: None, enforce_index: None, now };
    let (index, reply) = server.commit(Operation::JobRegister(Box::new(op))).await?;
    answer.index = index;
    match reply {
        // An earlier request with the same token already created the child job.
        Reply::Dispatched { job_id, create_index } => {
            answer.dispatched_job_id = job_id;
            answer.eval_id.clear();
            answer.job_create_index = create_index;
        }
        _ => {
            answer.job_create_index = index;
            answer.eval_create_index = if made { index } else { 0 };
        }
    }
    Ok(answer)
}
