//! Garbage collection (`docs/spec/garbage-collection.md`): core evaluations, created periodically by the leader and run
//! by workers.
//!
//! - [`rules`]: the eligible objects. [`keys`]: rotation and collection of root keys. `rekey`: re-encryption of
//!   variables after a rotation.

pub mod keys;
mod rekey;
pub mod rules;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use tokio::task::JoinSet;

use crate::error::Error;
use crate::handle::Server;
use crate::nodes::node_status;
use crate::pipeline::error::PipelineError;
use crate::settings::GcSettings;
use encamp_host::ids;
use encamp_model::*;
use encamp_ops::Operation;
use encamp_state::StoreSnapshot;
use rules::Collected;

/// Maximum number of IDs in one log entry.
const IDS: usize = 7281;
/// Maximum number of jobs in one log entry.
const JOBS: usize = 2048;
/// Priority of core evaluations.
const PRIORITY: i64 = 32767;
/// The assumed age of all objects when an operator forces garbage collection.
const FORCED: i64 = 1_000_000;
/// The kind that re-encrypts variables.
pub(crate) const REKEY: &str = "variables-rekey";
/// The kind that rotates and collects root keys.
const ROTATE: &str = "root-key-rotate-gc";
/// Interval of the kinds without a configuration setting.
const EVERY: i64 = 5 * MINUTE;
/// Interval of the kind that re-encrypts variables.
const REKEY_EVERY: i64 = 10 * MINUTE;

/// A core evaluation: never stored, exists only in the leader's broker (`docs/spec/garbage-collection.md §1.1`).
pub(crate) fn core_eval(kind: &str, index: u64) -> Evaluation {
    Evaluation {
        id: ids::uuid(),
        namespace: "-".into(),
        priority: PRIORITY,
        r#type: JobType::Core,
        triggered_by: EvalTrigger::Scheduled,
        job_id: kind.into(),
        status: EvalStatus::Pending,
        modify_index: index,
        ..Default::default()
    }
}

/// Forces garbage collection of all eligible objects regardless of age; it runs asynchronously.
pub fn force(server: &Server) {
    enqueue(server, "force-gc");
}

/// Enqueues a core evaluation of this kind.
pub(crate) fn enqueue(server: &Server, kind: &str) {
    let eval = core_eval(kind, server.snapshot().latest_index());
    server.queues().enqueue([(Arc::new(eval), None)]);
}

/// The kinds that run periodically, with their intervals (`docs/spec/garbage-collection.md §2`).
fn tickers(gc: &GcSettings) -> [(&'static str, i64); 6] {
    [
        ("eval-gc", EVERY),
        ("job-gc", gc.job_interval),
        ("deployment-gc", EVERY),
        ("node-gc", EVERY),
        (ROTATE, gc.key_interval),
        (REKEY, REKEY_EVERY),
    ]
}

/// Starts the leader's tickers: the first tick is one interval after the start of its leadership.
pub(crate) fn start_tickers(server: &Server, tasks: &mut JoinSet<()>) {
    for (kind, interval) in tickers(&server.settings().gc) {
        let server = server.clone();
        tasks.spawn(async move {
            let interval = duration::of_nanos(interval.max(SECOND));
            loop {
                tokio::time::sleep(interval).await;
                enqueue(&server, kind);
            }
        });
    }
}

/// Runs a core evaluation: collects the objects of the kind that it names.
///
/// # Errors
/// The kind is unknown, or a write failed: the evaluation has to be delivered again.
pub async fn run(server: &Server, eval: &Evaluation, snapshot: &StoreSnapshot) -> Result<(), PipelineError> {
    let gc = server.settings().gc.clone();
    let done = match eval.job_id.as_str() {
        "eval-gc" => evals(server, snapshot, gc.eval_threshold, gc.batch_eval_threshold).await,
        "job-gc" => jobs(server, snapshot, gc.job_threshold).await,
        "deployment-gc" => deployments(server, snapshot, gc.deployment_threshold).await,
        "node-gc" => nodes(server, snapshot, gc.node_threshold).await,
        ROTATE => root_keys(server, snapshot, &gc).await,
        REKEY => rekey::run(server, snapshot).await,
        "force-gc" => forced(server, snapshot).await,
        kind => return Err(PipelineError::UnknownCoreJob(kind.into())),
    };
    Ok(done?)
}

async fn forced(server: &Server, snapshot: &StoreSnapshot) -> Result<(), Error> {
    jobs(server, snapshot, FORCED).await?;
    evals(server, snapshot, FORCED, FORCED).await?;
    deployments(server, snapshot, FORCED).await?;
    let gc = server.settings().gc.clone();
    keys::collect(server, snapshot, ids::now(), gc.key_rotation, gc.key_threshold).await?;
    nodes(server, snapshot, FORCED).await
}

/// Rotates root keys; old keys are collected if nothing was rotated.
async fn root_keys(server: &Server, snapshot: &StoreSnapshot, gc: &GcSettings) -> Result<(), Error> {
    let now = ids::now();
    if keys::rotate(server, snapshot, now, gc.key_rotation).await? {
        return Ok(());
    }
    keys::collect(server, snapshot, now, gc.key_rotation, gc.key_threshold).await
}

async fn reap(server: &Server, collected: Collected) -> Result<(), Error> {
    for c in rules::batches(collected, IDS) {
        let _timer = server.metrics().timer("nomad.eval.reap");
        let op = Operation::EvalDelete { evals: c.evals, allocs: c.allocs };
        server.commit_shared(op.into()).await.inspect_err(|e| {
            tracing::error!(target: "nomad.core.sched", error = e.message.as_str(), "eval reap failed");
        })?;
    }
    Ok(())
}

async fn evals(server: &Server, snapshot: &StoreSnapshot, threshold: i64, batch: i64) -> Result<(), Error> {
    let found = rules::evals(snapshot, ids::now(), threshold, batch);
    if found.is_empty() {
        return Ok(());
    }
    let (evals, allocs) = (found.evals.len(), found.allocs.len());
    tracing::debug!(target: "nomad.core.sched", evals, allocs, "eval GC found eligible objects");
    reap(server, found).await
}

async fn jobs(server: &Server, snapshot: &StoreSnapshot, threshold: i64) -> Result<(), Error> {
    let (jobs, rest) = rules::jobs(snapshot, ids::now(), threshold);
    if jobs.is_empty() {
        return Ok(());
    }
    let (n, evals, allocs) = (jobs.len(), rest.evals.len(), rest.allocs.len());
    tracing::debug!(target: "nomad.core.sched", jobs = n, evals, allocs, "job GC found eligible objects");
    reap(server, rest).await?;
    for batch in jobs.chunks(JOBS) {
        let _timer = server.metrics().timer("nomad.job.batch_deregister");
        let op = Operation::JobBatchDeregister { jobs: batch.to_vec() };
        server.commit_shared(op.into()).await.inspect_err(|e| {
            tracing::error!(target: "nomad.core.sched", error = e.message.as_str(), "batch job reap failed");
        })?;
    }
    Ok(())
}

async fn deployments(server: &Server, snapshot: &StoreSnapshot, threshold: i64) -> Result<(), Error> {
    let found = rules::deployments(snapshot, ids::now(), threshold);
    if found.is_empty() {
        return Ok(());
    }
    tracing::debug!(target: "nomad.core.sched", deployments = found.len(), "deployment GC found eligible deployments");
    for batch in found.chunks(IDS) {
        let _timer = server.metrics().timer("nomad.deployment.reap");
        let op = Operation::DeploymentDelete { ids: batch.to_vec() };
        server.commit_shared(op.into()).await.inspect_err(|e| {
            tracing::error!(target: "nomad.core.sched", error = e.message.as_str(), "deployment reap failed");
        })?;
    }
    Ok(())
}

async fn nodes(server: &Server, snapshot: &StoreSnapshot, threshold: i64) -> Result<(), Error> {
    let found = rules::nodes(snapshot, ids::now(), threshold);
    if found.is_empty() {
        return Ok(());
    }
    tracing::debug!(target: "nomad.core.sched", nodes = found.len(), "node GC found eligible nodes");
    for batch in found.chunks(IDS) {
        let _timer = server.metrics().timer("nomad.client.batch_deregister");
        let op = Operation::NodeDeregister { ids: batch.to_vec() };
        node_status::change(server, op).await.inspect_err(|e| {
            tracing::error!(target: "nomad.core.sched", error = e.message.as_str(), "node reap failed");
        })?;
    }
    Ok(())
}
