//! Maintenance operations (`docs/spec/http-api.md §5.15`).

use std::time::Duration;

use super::forced_gc;
use crate::Server;
use crate::error::Error;
use crate::leadership::gc::verdict::Thresholds;
use crate::leadership::gc::{self, decide::View};
use crate::leading::Leading;
use crate::server_state::ServerState;
use encamp_host::threads;
use encamp_model::EvalStatus;
use encamp_model::gc::{GcExplained, GcKind, GcPlan, GcReport};
use encamp_ops::Operation;
use encamp_state::StateStore;

/// Forces garbage collection regardless of age.
///
/// # Errors
/// There is no leader.
pub async fn collect_garbage(server: &Leading) -> Result<(), Error> {
    server.wait_ready().await?;
    gc::triggers::force(server);
    Ok(())
}

/// Forces garbage collection and waits for the end of the run, at most [`forced_gc::LONGEST_WAIT`].
///
/// # Errors
/// The run failed or cannot start, its end was not seen in time, or the leader has changed.
pub async fn collect_garbage_and_wait(server: &Server, wait: Duration) -> Result<GcReport, Error> {
    forced_gc::force_and_wait(server, wait).await
}

/// What a run of garbage collection at `now` (Unix nanoseconds) would do on the current state: a forced one, or all
/// periodic ones. Lists up to `objects` objects.
///
/// # Errors
/// There is no leader.
pub async fn plan_garbage_collection(
    server: &Leading,
    forced: bool,
    now: i64,
    objects: usize,
) -> Result<GcPlan, Error> {
    let (server, snapshot) = (server.clone(), server.snapshot());
    let plan = threads::unblock(move || gc::plan::plan(&view(&server, &snapshot, forced, now), objects)).await;
    plan.map_err(|e| Error::internal(e.to_string()))
}

/// Explains when an object is deleted, and what keeps it at `now`, in Unix nanoseconds.
///
/// # Errors
/// The state cannot be read.
pub async fn explain_garbage_collection(
    server: &Leading,
    namespace: &str,
    id: &str,
    now: i64,
) -> Result<GcExplained, Error> {
    let (server, snapshot) = (server.clone(), server.snapshot());
    let (namespace, id) = (namespace.to_string(), id.to_string());
    let explain = move || {
        let view = view(&server, &snapshot, false, now);
        gc::explain::explain(&view, &server.settings().gc, &namespace, &id)
    };
    threads::unblock(explain).await.map_err(|e| Error::internal(e.to_string()))
}

fn view<'a>(server: &ServerState, store: &'a StateStore, forced: bool, now: i64) -> View<'a> {
    let settings = server.settings();
    let configured = Thresholds::configured(&settings.gc, &settings.acl);
    let thresholds = if forced { configured.forced() } else { configured };
    View { store, visible: GcKind::ALL, thresholds, now }
}

/// Recounts the summaries of all jobs. The queued counts are those of the blocked evaluations.
///
/// # Errors
/// There is no leader.
pub async fn reconcile_summaries(server: &Leading) -> Result<u64, Error> {
    server.wait_ready().await?;
    let snapshot = server.snapshot();
    let mut queued = Vec::new();
    for eval in snapshot.evals_by_create().filter(|e| e.status == EvalStatus::Blocked) {
        for (group, n) in &eval.queued_allocations {
            queued.push((eval.namespace.to_string(), eval.job_id.to_string(), group.clone(), *n));
        }
    }
    Ok(server.commit(Operation::ReconcileSummaries { queued }).await?.0)
}
