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
use encamp_ops::{AclChange, Operation};
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
/// Interval of the kinds without a configuration setting.
const EVERY: i64 = 5 * MINUTE;
/// Interval of the kind that re-encrypts variables.
const REKEY_EVERY: i64 = 10 * MINUTE;
/// Interval of the kind that removes one-time tokens.
const ONE_TIME_EVERY: i64 = 10 * MINUTE;

/// The kinds of core evaluations: one list of variants and names.
macro_rules! core_jobs {
    ($($(#[$doc:meta])* $kind:ident = $name:literal,)*) => {
        /// What a core evaluation collects or renews; it names the kind as its job.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum CoreJob {
            $($(#[$doc])* $kind,)*
        }

        impl CoreJob {
            /// All kinds.
            pub const ALL: &[CoreJob] = &[$(CoreJob::$kind),*];

            /// The name that the evaluation has as its job.
            pub fn name(self) -> &'static str {
                match self {
                    $(CoreJob::$kind => $name,)*
                }
            }
        }
    };
}

core_jobs! {
    /// Collects evaluations with their allocations.
    Evals = "eval-gc",
    /// Collects jobs.
    Jobs = "job-gc",
    /// Collects deployments.
    Deployments = "deployment-gc",
    /// Collects nodes.
    Nodes = "node-gc",
    /// Rotates and collects root keys.
    RootKeys = "root-key-rotate-gc",
    /// Re-encrypts variables.
    Rekey = "variables-rekey",
    /// Collects expired local ACL tokens.
    LocalTokens = "local-token-expired-gc",
    /// Collects expired global ACL tokens.
    GlobalTokens = "global-token-expired-gc",
    /// Collects expired one-time tokens.
    OneTimeTokens = "one-time-token-gc",
    /// Collects everything that is eligible, regardless of its age.
    Forced = "force-gc",
}

impl CoreJob {
    /// The kind with a name.
    fn of_name(name: &str) -> Option<CoreJob> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// The interval at which the leader runs the kind; `None`: it does not (`docs/spec/garbage-collection.md §2`).
    fn interval(self, gc: &GcSettings) -> Option<i64> {
        match self {
            CoreJob::Evals | CoreJob::Deployments | CoreJob::Nodes | CoreJob::LocalTokens | CoreJob::GlobalTokens => {
                Some(EVERY)
            }
            CoreJob::OneTimeTokens => Some(ONE_TIME_EVERY),
            CoreJob::Jobs => Some(gc.job_interval),
            CoreJob::RootKeys => Some(gc.key_interval),
            CoreJob::Rekey => Some(REKEY_EVERY),
            CoreJob::Forced => None,
        }
    }
}

/// A core evaluation: never stored, exists only in the leader's broker (`docs/spec/garbage-collection.md §1.1`).
pub(crate) fn core_eval(kind: CoreJob, index: u64) -> Evaluation {
    Evaluation {
        id: ids::uuid(),
        namespace: "-".into(),
        priority: PRIORITY,
        r#type: JobType::Core,
        triggered_by: EvalTrigger::Scheduled,
        job_id: kind.name().into(),
        status: EvalStatus::Pending,
        modify_index: index,
        ..Default::default()
    }
}

/// Forces garbage collection of all eligible objects regardless of age; it runs asynchronously.
pub fn force(server: &Server) {
    enqueue(server, CoreJob::Forced);
}

/// Enqueues a core evaluation of this kind.
pub(crate) fn enqueue(server: &Server, kind: CoreJob) {
    let eval = core_eval(kind, server.snapshot().latest_index());
    server.queues().enqueue([(Arc::new(eval), None)]);
}

/// Starts the leader's tickers: the first tick is one interval after the start of its leadership.
pub(crate) fn start_tickers(server: &Server, tasks: &mut JoinSet<()>) {
    for kind in CoreJob::ALL.iter().copied() {
        let Some(interval) = kind.interval(&server.settings().gc) else { continue };
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
    let kind = CoreJob::of_name(&eval.job_id).ok_or_else(|| PipelineError::UnknownCoreJob(eval.job_id.clone()))?;
    let done = match kind {
        CoreJob::Evals => evals(server, snapshot, gc.eval_threshold, gc.batch_eval_threshold).await,
        CoreJob::Jobs => jobs(server, snapshot, gc.job_threshold).await,
        CoreJob::Deployments => deployments(server, snapshot, gc.deployment_threshold).await,
        CoreJob::Nodes => nodes(server, snapshot, gc.node_threshold).await,
        CoreJob::RootKeys => root_keys(server, snapshot, &gc).await,
        CoreJob::Rekey => rekey::run(server, snapshot).await,
        CoreJob::LocalTokens => tokens(server, snapshot, false, server.settings().acl.gc_threshold).await,
        CoreJob::GlobalTokens => tokens(server, snapshot, true, server.settings().acl.gc_threshold).await,
        CoreJob::OneTimeTokens => one_time_tokens(server).await,
        CoreJob::Forced => forced(server, snapshot).await,
    };
    Ok(done?)
}

async fn forced(server: &Server, snapshot: &StoreSnapshot) -> Result<(), Error> {
    jobs(server, snapshot, FORCED).await?;
    evals(server, snapshot, FORCED, FORCED).await?;
    deployments(server, snapshot, FORCED).await?;
    one_time_tokens(server).await?;
    tokens(server, snapshot, false, FORCED).await?;
    tokens(server, snapshot, true, FORCED).await?;
    let gc = server.settings().gc.clone();
    keys::collect(server, snapshot, ids::now(), gc.key_rotation, gc.key_threshold).await?;
    nodes(server, snapshot, FORCED).await
}

/// Removes expired ACL tokens of one kind; global ones in the authoritative region alone.
async fn tokens(server: &Server, snapshot: &StoreSnapshot, global: bool, threshold: i64) -> Result<(), Error> {
    let settings = server.settings();
    if !settings.acl.enabled || global && !settings.acl.authoritative {
        return Ok(());
    }
    let found = rules::tokens(snapshot, ids::now(), threshold, global);
    if found.is_empty() {
        return Ok(());
    }
    tracing::debug!(target: "nomad.core.sched", num = found.len(), global, "expired ACL token GC found eligible tokens");
    let op = Operation::Acl(Box::new(AclChange::TokenDelete(found)));
    server.commit_shared(op.into()).await.map(drop).inspect_err(|e| {
        tracing::error!(target: "nomad.core.sched", error = e.message.as_str(), "ACL token reap failed");
    })
}

/// Removes expired one-time tokens.
async fn one_time_tokens(server: &Server) -> Result<(), Error> {
    if !server.settings().acl.enabled {
        return Ok(());
    }
    let op = Operation::Acl(Box::new(AclChange::OneTimeExpire(ids::now())));
    server.commit_shared(op.into()).await.map(drop).inspect_err(|e| {
        tracing::error!(target: "nomad.core.sched", error = e.message.as_str(), "one-time token reap failed");
    })
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
