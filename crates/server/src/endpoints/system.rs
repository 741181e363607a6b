//! Maintenance operations (`docs/spec/http-api.md §5.15`).

use crate::Server;
use crate::error::Error;
use crate::leadership::gc;
use encamp_model::EvalStatus;
use encamp_ops::Operation;

/// Forces garbage collection regardless of age.
///
/// # Errors
/// There is no leader.
pub async fn collect_garbage(server: &Server) -> Result<(), Error> {
    server.wait_ready().await?;
    gc::force(server);
    Ok(())
}

/// Recounts the summaries of all jobs. The queued counts are those of the blocked evaluations.
///
/// # Errors
/// There is no leader.
pub async fn reconcile_summaries(server: &Server) -> Result<u64, Error> {
    server.wait_ready().await?;
    let snapshot = server.snapshot();
    let mut queued = Vec::new();
    for eval in snapshot.evals_by_create().filter(|e| e.status == EvalStatus::Blocked) {
        for (group, n) in &eval.queued_allocations {
            queued.push((eval.namespace.clone(), eval.job_id.clone(), group.clone(), *n));
        }
    }
    Ok(server.commit(Operation::ReconcileSummaries { queued }).await?.0)
}
