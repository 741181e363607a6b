//! Garbage collection (`docs/spec/garbage-collection.md`): core evaluations, created periodically by the leader and run
//! by workers.
//!
//! - [`rules`]: one function for each kind of objects says when they can be deleted, as a [`verdict`]. [`select`]: what a
//!   run deletes. [`decide`], [`mod@plan`], [`mod@explain`]: what it would delete, and why.
//! - [`keys`]: rotation and collection of root keys. `rekey`: re-encryption of variables after a rotation.
//! - [`follow`]: waits for a forced run and its report.

pub mod decide;
pub mod explain;
pub mod follow;
pub mod keys;
pub mod plan;
mod rekey;
pub mod rules;
pub mod select;
#[cfg(test)]
mod tests;
pub mod verdict;

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::error::{Error, ErrorKind};
use crate::evals::broker::Delivery;
use crate::leading::Leading;
use crate::nodes::node_status;
use crate::pipeline::error::PipelineError;
use crate::settings::GcSettings;
use encamp_host::ids;
use encamp_model::gc::{GcCount, GcKind, GcReport};
use encamp_model::*;
use encamp_ops::{AclChange, CsiClaimChange, Operation, Refusal, Reply};
use encamp_state::StoreSnapshot;
use select::{Collected, CollectedJobs, JobKeys};
use verdict::Thresholds;

/// Maximum number of IDs in one log entry. Other entries wait while one is applied: the evaluation of a job needs
/// three entries, so this bounds how much later it completes.
const IDS: usize = 256;
/// Maximum number of jobs in one log entry.
const JOBS: usize = 256;
/// The longest pause between two entries of a run.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// How often a run restarts the nack timer of its evaluation.
const HOLD_EVERY: Duration = Duration::from_secs(10);
/// Priority of core evaluations.
const PRIORITY: i64 = 32767;
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
    /// Collects CSI plugins.
    CsiPlugins = "csi-plugin-gc",
    /// Has the claims on CSI volumes released.
    CsiClaims = "csi-volume-claim-gc",
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
            CoreJob::Evals
            | CoreJob::Deployments
            | CoreJob::Nodes
            | CoreJob::LocalTokens
            | CoreJob::GlobalTokens
            | CoreJob::CsiPlugins => Some(EVERY),
            CoreJob::CsiClaims => Some(gc.csi_claim_interval),
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
pub fn force(server: &Leading) {
    enqueue(server, CoreJob::Forced);
}

/// Enqueues a core evaluation of this kind.
pub(crate) fn enqueue(server: &Leading, kind: CoreJob) {
    let eval = core_eval(kind, server.snapshot().latest_index());
    server.queues().enqueue([(Arc::new(eval), None)]);
}

/// Starts the leader's tickers: the first tick is one interval after the start of its leadership.
pub(crate) fn start_tickers(server: &Leading, tasks: &mut JoinSet<()>) {
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

/// How many objects of each kind a run has deleted.
#[derive(Debug, Default)]
pub(crate) struct Counts(std::collections::BTreeMap<GcKind, u64>);

impl Counts {
    fn add(&mut self, kind: GcKind, count: usize) {
        *self.0.entry(kind).or_default() += count as u64;
    }

    /// The counts of all kinds.
    pub(crate) fn report(&self) -> GcReport {
        let count = |kind: &GcKind| GcCount { kind: *kind, count: self.0.get(kind).copied().unwrap_or(0) };
        GcReport { collected: GcKind::ALL.iter().map(count).collect() }
    }
}

/// One run: what every step needs.
struct Run<'a> {
    server: &'a Leading,
    snapshot: &'a StoreSnapshot,
    thresholds: Thresholds,
    /// The time of the run, in Unix nanoseconds.
    now: i64,
    counts: Counts,
    /// The evaluation that the worker holds.
    delivery: &'a Delivery,
    /// When its nack timer was restarted.
    held: Instant,
}

/// Runs a core evaluation: collects the objects of the kind that it names. The thresholds are those of this server at
/// this moment.
///
/// # Errors
/// The kind is unknown, or a write failed: the evaluation has to be delivered again. The worker does not hold the
/// evaluation any more, because the leader has changed.
pub(crate) async fn run(
    server: &Leading,
    delivery: &Delivery,
    snapshot: &StoreSnapshot,
) -> Result<GcReport, PipelineError> {
    let eval = &*delivery.eval;
    let unknown = || PipelineError::UnknownCoreJob(eval.job_id.clone());
    let (name, volume) = eval.job_id.split_once(':').unzip();
    let kind = CoreJob::of_name(name.unwrap_or(&eval.job_id)).ok_or_else(unknown)?;
    if volume.is_some() && kind != CoreJob::CsiClaims {
        return Err(unknown());
    }
    let settings = server.settings();
    let configured = Thresholds::configured(&settings.gc, &settings.acl);
    let thresholds = if kind == CoreJob::Forced { configured.forced() } else { configured };
    let (now, counts, held) = (ids::now(), Counts::default(), Instant::now());
    let mut run = Run { server, snapshot, thresholds, now, counts, delivery, held };
    match volume {
        // Whatever the age of the volume and of its claims (`docs/spec/garbage-collection.md §8`).
        Some(id) => run.csi_claims(vec![(eval.namespace.clone(), id.to_string())]).await?,
        None => run.collect(kind).await?,
    }
    Ok(run.counts.report())
}

impl<'a> Run<'a> {
    async fn collect(&mut self, kind: CoreJob) -> Result<(), Error> {
        match kind {
            CoreJob::Evals => self.evals(&JobKeys::new()).await,
            CoreJob::Jobs => self.jobs(&mut self.found_jobs()).await,
            CoreJob::Deployments => self.deployments(&JobKeys::new()).await,
            CoreJob::Nodes => self.nodes().await,
            CoreJob::RootKeys => self.root_keys().await,
            CoreJob::Rekey => rekey::run(self.server, self.snapshot).await,
            CoreJob::LocalTokens => self.tokens(false).await,
            CoreJob::GlobalTokens => self.tokens(true).await,
            CoreJob::OneTimeTokens => self.one_time_tokens().await,
            CoreJob::CsiPlugins => self.csi_plugins().await,
            CoreJob::CsiClaims => self.csi_claims(self.found_claims()).await,
            CoreJob::Forced => self.everything().await,
        }
    }

    /// The steps of a forced run, in their order (`docs/spec/garbage-collection.md §13.1`).
    async fn everything(&mut self) -> Result<(), Error> {
        let mut found = self.found_jobs();
        self.jobs(&mut found).await?;
        let gone = found.keys();
        self.evals(&gone).await?;
        self.deployments(&gone).await?;
        self.csi_plugins().await?;
        self.csi_claims(self.found_claims()).await?;
        self.one_time_tokens().await?;
        self.tokens(false).await?;
        self.tokens(true).await?;
        self.unused_keys().await?;
        self.nodes().await
    }

    fn found_jobs(&self) -> CollectedJobs<'a> {
        select::jobs(self.snapshot, &self.thresholds, self.now)
    }

    /// Removes expired ACL tokens of one kind; global ones in the authoritative region alone.
    async fn tokens(&mut self, global: bool) -> Result<(), Error> {
        let found = select::tokens(self.snapshot, &self.thresholds, self.now, global);
        if found.is_empty() {
            return Ok(());
        }
        let num = found.len();
        tracing::debug!(target: "nomad.core.sched", num, global, "expired ACL token GC found eligible tokens");
        let _timer = self.server.metrics().timer("nomad.acl.delete_tokens");
        let op = Operation::Acl(Box::new(AclChange::TokenDelete(found)));
        self.server.commit_shared(op.into()).await.inspect_err(|e| {
            tracing::error!(target: "nomad.core.sched", error = e.message.as_str(), "ACL token reap failed");
        })?;
        self.counts.add(if global { GcKind::GlobalToken } else { GcKind::LocalToken }, num);
        Ok(())
    }

    /// Removes expired one-time tokens.
    async fn one_time_tokens(&mut self) -> Result<(), Error> {
        if !self.thresholds.acl {
            return Ok(());
        }
        let _timer = self.server.metrics().timer("nomad.acl.expire_one_time_tokens");
        let op = Operation::Acl(Box::new(AclChange::OneTimeExpire(self.now)));
        self.server.commit_shared(op.into()).await.inspect_err(|e| {
            tracing::error!(target: "nomad.core.sched", error = e.message.as_str(), "one-time token reap failed");
        })?;
        let expired = select::one_time_tokens(self.snapshot, &self.thresholds, self.now);
        self.counts.add(GcKind::OneTimeToken, expired);
        Ok(())
    }

    /// Removes empty CSI plugins, one by one. One that runs again stays.
    async fn csi_plugins(&mut self) -> Result<(), Error> {
        for id in select::csi_plugins(self.snapshot, &self.thresholds, self.now) {
            match self.server.consensus().propose_shared(Operation::CsiPluginDelete { id }.into()).await? {
                (_, Reply::Refused(Refusal::CsiPluginInUse | Refusal::CsiPluginNotFound { .. })) => {}
                (_, Reply::Refused(refusal)) => {
                    let error = refusal.to_string();
                    tracing::error!(target: "nomad.core.sched", error, "failed to GC plugin");
                    return Err(refusal.into());
                }
                _ => self.counts.add(GcKind::CsiPlugin, 1),
            }
        }
        Ok(())
    }

    fn found_claims(&self) -> Vec<(String, String)> {
        select::csi_claims(self.snapshot, &self.thresholds, self.now)
    }

    /// Wakes the watcher of CSI volumes, which releases claims. Volumes that are gone have none.
    async fn csi_claims(&mut self, volumes: Vec<(String, String)>) -> Result<(), Error> {
        for volume in volumes {
            let (mode, state) = (CsiClaimMode::Collect.number(), CsiClaimState::Unpublishing.number());
            let claim = CsiVolumeClaim { mode, state, ..CsiVolumeClaim::default() };
            let change = CsiClaimChange { volume, claim, now: self.now };
            let op = Operation::CsiVolumeClaim(Box::new(change));
            match self.server.consensus().propose_shared(op.into()).await? {
                (_, Reply::Refused(Refusal::CsiVolumeNotFound { .. })) => {}
                (_, Reply::Refused(refusal)) => return Err(refusal.into()),
                _ => self.counts.add(GcKind::CsiVolumeClaims, 1),
            }
        }
        Ok(())
    }

    /// Rotates root keys; old keys are collected if nothing was rotated.
    async fn root_keys(&mut self) -> Result<(), Error> {
        if keys::rotate(self.server, self.snapshot, self.now, self.thresholds.rotation).await? {
            return Ok(());
        }
        self.unused_keys().await
    }

    async fn unused_keys(&mut self) -> Result<(), Error> {
        let found = select::keys(self.snapshot, &self.thresholds, self.now);
        let count = found.len();
        keys::collect(self.server, found).await?;
        self.counts.add(GcKind::RootKey, count);
        Ok(())
    }

    /// Leaves the servers as much time for other work as the last entry took, and keeps the evaluation.
    async fn pause(&mut self, began: Instant) -> Result<(), Error> {
        tokio::time::sleep(began.elapsed().min(LONGEST_PAUSE)).await;
        if self.held.elapsed() >= HOLD_EVERY {
            let Delivery { eval, token, .. } = self.delivery;
            self.server.queues().broker().reset(&eval.id, token, ids::now())?;
            self.held = Instant::now();
        }
        Ok(())
    }

    async fn reap(&mut self, collected: Collected) -> Result<(), Error> {
        for c in select::batches(collected, IDS) {
            let _timer = self.server.metrics().timer("nomad.eval.reap");
            let began = Instant::now();
            let (evals, allocs) = (c.evals.len(), c.allocs.len());
            let op = Operation::EvalDelete { evals: c.evals, allocs: c.allocs };
            self.server.commit_shared(op.into()).await.inspect_err(|e| {
                tracing::error!(target: "nomad.core.sched", error = e.message.as_str(), "eval reap failed");
            })?;
            self.counts.add(GcKind::Evaluation, evals);
            self.counts.add(GcKind::Allocation, allocs);
            self.pause(began).await?;
        }
        Ok(())
    }

    async fn evals(&mut self, without: &JobKeys<'_>) -> Result<(), Error> {
        let found = select::evals(self.snapshot, &self.thresholds, self.now, without);
        if found.is_empty() {
            return Ok(());
        }
        let (evals, allocs) = (found.evals.len(), found.allocs.len());
        tracing::debug!(target: "nomad.core.sched", evals, allocs, "eval GC found eligible objects");
        self.reap(found).await
    }

    async fn jobs(&mut self, found: &mut CollectedJobs<'_>) -> Result<(), Error> {
        if found.jobs.is_empty() {
            return Ok(());
        }
        let (n, evals, allocs) = (found.jobs.len(), found.rest.evals.len(), found.rest.allocs.len());
        tracing::debug!(target: "nomad.core.sched", jobs = n, evals, allocs, "job GC found eligible objects");
        self.reap(std::mem::take(&mut found.rest)).await?;
        for batch in found.jobs.chunks(JOBS) {
            let began = Instant::now();
            let _timer = self.server.metrics().timer("nomad.job.batch_deregister");
            let jobs = batch.iter().map(|j| (j.namespace.clone(), j.id.clone())).collect();
            self.server.commit_shared(Operation::JobBatchDeregister { jobs }.into()).await.inspect_err(|e| {
                tracing::error!(target: "nomad.core.sched", error = e.message.as_str(), "batch job reap failed");
            })?;
            self.counts.add(GcKind::Job, batch.len());
            self.pause(began).await?;
        }
        self.counts.add(GcKind::Allocation, found.other_allocs);
        self.counts.add(GcKind::Deployment, found.deployments);
        Ok(())
    }

    async fn deployments(&mut self, without: &JobKeys<'_>) -> Result<(), Error> {
        let found = select::deployments(self.snapshot, &self.thresholds, self.now, without);
        if found.is_empty() {
            return Ok(());
        }
        let deployments = found.len();
        tracing::debug!(target: "nomad.core.sched", deployments, "deployment GC found eligible deployments");
        for batch in found.chunks(IDS) {
            let _timer = self.server.metrics().timer("nomad.deployment.reap");
            let began = Instant::now();
            let op = Operation::DeploymentDelete { ids: batch.to_vec() };
            self.server.commit_shared(op.into()).await.inspect_err(|e| {
                tracing::error!(target: "nomad.core.sched", error = e.message.as_str(), "deployment reap failed");
            })?;
            self.counts.add(GcKind::Deployment, batch.len());
            self.pause(began).await?;
        }
        Ok(())
    }

    async fn nodes(&mut self) -> Result<(), Error> {
        let found = select::nodes(self.snapshot, &self.thresholds, self.now);
        if found.is_empty() {
            return Ok(());
        }
        tracing::debug!(target: "nomad.core.sched", nodes = found.len(), "node GC found eligible nodes");
        for batch in found.chunks(IDS) {
            let began = Instant::now();
            let gone = deregister(self.server, batch).await?;
            self.counts.add(GcKind::Node, gone);
            self.pause(began).await?;
        }
        Ok(())
    }
}

/// Removes nodes; returns how many. A batch with a node that is gone is refused as a whole: it is halved until only
/// that node is left out (`docs/spec/garbage-collection.md §6.2`).
async fn deregister(server: &Leading, ids: &[String]) -> Result<usize, Error> {
    let (mut removed, mut batches) = (0, vec![ids]);
    while let Some(batch) = batches.pop() {
        let _timer = server.metrics().timer("nomad.client.batch_deregister");
        let Err(e) = node_status::change(server, Operation::NodeDeregister { ids: batch.to_vec() }).await else {
            removed += batch.len();
            continue;
        };
        if e.kind != ErrorKind::NodeNotFound {
            tracing::error!(target: "nomad.core.sched", error = e.message.as_str(), "node reap failed");
            return Err(e);
        }
        match batch {
            [] => {}
            [gone] => {
                let (error, node_ids) = (e.message.as_str(), gone.as_str());
                tracing::error!(target: "nomad.core.sched", error, node_ids, "node reap failed");
            }
            several => {
                let (first, second) = several.split_at(several.len() / 2);
                batches.extend([second, first]);
            }
        }
    }
    Ok(removed)
}
