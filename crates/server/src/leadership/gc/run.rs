//! A run of garbage collection: what a core evaluation does when a worker processes it.

use std::time::Duration;

use tokio::time::Instant;

use super::select::{self, Collected, CollectedJobs, JobKeys};
use super::verdict::Thresholds;
use super::{keys, rekey};
use crate::error::{Error, ErrorKind};
use crate::evals::broker::Delivery;
use crate::evals::core_job::CoreJob;
use crate::leading::Leading;
use crate::nodes::node_status;
use crate::queues::pipeline_error::PipelineError;
use encamp_host::ids;
use encamp_model::gc::{GcCount, GcKind, GcReport};
use encamp_model::*;
use encamp_ops::{AclChange, CsiClaimChange, Operation, Refusal, Reply};
use encamp_state::StoreSnapshot;

/// Maximum number of IDs in one log entry. Other entries wait while one is applied: the evaluation of a job needs
/// three entries, so this bounds how much later it completes.
const IDS: usize = 256;
/// Maximum number of jobs in one log entry.
const JOBS: usize = 256;
/// The longest pause between two entries of a run.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// How often a run restarts the nack timer of its evaluation.
const HOLD_EVERY: Duration = Duration::from_secs(10);

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

/// One entry of the log, and how many objects it deletes.
struct Batch {
    operation: Operation,
    deletes: Vec<(GcKind, usize)>,
}

/// Logs that something failed.
fn log_failure(what: &'static str) -> impl Fn(&Error) {
    move |e| tracing::error!(target: "nomad.core.sched", error = e.message.as_str(), "{what} failed")
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
    let unknown = || PipelineError::UnknownCoreJob(eval.job_id.to_string());
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
        Some(id) => run.csi_claims(vec![(eval.namespace.to_string(), id.to_string())]).await?,
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
        self.server.commit_shared(op.into()).await.inspect_err(log_failure("ACL token reap"))?;
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
        self.server.commit_shared(op.into()).await.inspect_err(log_failure("one-time token reap"))?;
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
            self.server.queues().broker().reset(&eval.id, token, ids::steady())?;
            self.held = Instant::now();
        }
        Ok(())
    }

    /// Writes one operation for each batch, with a pause after each. `what` is logged if one fails.
    async fn in_batches(
        &mut self,
        metric: &'static str,
        what: &'static str,
        batches: impl IntoIterator<Item = Batch>,
    ) -> Result<(), Error> {
        for batch in batches {
            let _timer = self.server.metrics().timer(metric);
            let began = Instant::now();
            self.server.commit_shared(batch.operation.into()).await.inspect_err(log_failure(what))?;
            batch.deletes.into_iter().for_each(|(kind, count)| self.counts.add(kind, count));
            self.pause(began).await?;
        }
        Ok(())
    }

    async fn reap(&mut self, collected: Collected) -> Result<(), Error> {
        let batches = select::batches(collected, IDS).into_iter().map(|c| Batch {
            deletes: vec![(GcKind::Evaluation, c.evals.len()), (GcKind::Allocation, c.allocs.len())],
            operation: Operation::EvalDelete { evals: c.evals, allocs: c.allocs },
        });
        self.in_batches("nomad.eval.reap", "eval reap", batches).await
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
        let batches = found.jobs.chunks(JOBS).map(|jobs| {
            let keys = jobs.iter().map(|j| j.key()).collect();
            Batch { operation: Operation::JobBatchDeregister { jobs: keys }, deletes: vec![(GcKind::Job, jobs.len())] }
        });
        self.in_batches("nomad.job.batch_deregister", "batch job reap", batches).await?;
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
        let batches = found.chunks(IDS).map(|ids| Batch {
            operation: Operation::DeploymentDelete { ids: ids.to_vec() },
            deletes: vec![(GcKind::Deployment, ids.len())],
        });
        self.in_batches("nomad.deployment.reap", "deployment reap", batches).await
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
