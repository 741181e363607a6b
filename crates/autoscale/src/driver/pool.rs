//! One worker pool in one cycle (`docs/spec/cluster-scaling.md §3`).

use encamp_model::Time;

use super::{Finished, Seen, Shared};
use crate::cycle::{Evaluation, Input, Outcome, evaluate};
use crate::notify::Reason;
use crate::params::PoolParameters;
use crate::paths;
use crate::protection::protected_nodes;
use crate::provider::{GroupId, Provider, ProviderError, ScalingGroup};
use crate::record::{Direction, Operation, Record, ResourceType};
use crate::registry::Pool;
use crate::status::Action;
use crate::store::{self, CALL_LIMIT, StoreError};
use crate::view::Metric;

/// A state object as it is stored.
pub(super) struct Loaded {
    pub(super) record: Record,
    /// The index for the check-and-set of the next write.
    pub(super) index: u64,
}

/// The group of a pool.
pub(super) fn group_id(parameters: &PoolParameters) -> GroupId<'_> {
    GroupId { pool: &parameters.worker_pool, region: &parameters.region }
}

/// Waits for a call to a provider, [`CALL_LIMIT`] at most: providers have shorter limits, but must not be trusted with
/// it.
pub(super) async fn within<T>(call: impl Future<Output = Result<T, ProviderError>>) -> Result<T, ProviderError> {
    match tokio::time::timeout(CALL_LIMIT, call).await {
        Ok(answer) => answer,
        Err(_) => Err(ProviderError::Timeout(CALL_LIMIT.as_secs())),
    }
}

impl Shared {
    /// Evaluates a pool, or goes on with its operation.
    pub(super) async fn attend(&self, pool: Pool, seen: Seen) -> Finished {
        let in_operation = self.attend_to(&pool, seen).await;
        Finished { pool: pool.name, in_operation }
    }

    /// Reads the state object of a pool.
    pub(super) async fn load(&self, pool: &str, path: &str) -> Result<Loaded, StoreError> {
        let (record, index) = store::load(&*self.cluster, path, ResourceType::WorkerPool, pool).await?;
        Ok(Loaded { record, index })
    }

    /// Writes a state object, and when; gives it as it is now.
    pub(super) async fn save(&self, path: &str, mut record: Record, check: u64) -> Result<Record, StoreError> {
        record.last_updated = Some(Time::from_unix_nanos(self.now()));
        store::save(&*self.cluster, path, &record, check).await?;
        Ok(record)
    }

    /// The provider of a pool.
    pub(super) fn provider(&self, parameters: &PoolParameters) -> Result<&dyn Provider, ProviderError> {
        let kind = parameters.provider;
        let provider = self.providers.get(&kind).map(|p| &**p);
        provider.ok_or_else(|| ProviderError::Failed(format!("the provider {} is not configured", kind.name())))
    }

    /// Reads the scaling group of a pool.
    pub(super) async fn group(&self, parameters: &PoolParameters) -> Result<ScalingGroup, ProviderError> {
        within(self.provider(parameters)?.group(group_id(parameters))).await
    }

    /// Notes that a pool could not be evaluated.
    fn error(&self, pool: &str, reason: String) {
        tracing::warn!(target: "autoscale", pool, "{reason}");
        self.board.decide(pool, Action::Error, reason, self.now());
    }

    /// True if the pool has an operation in the end.
    async fn attend_to(&self, pool: &Pool, seen: Seen) -> bool {
        let (permit, seen) = match self.permits.try_acquire() {
            Ok(permit) => (permit, seen),
            Err(_) => {
                let Ok(permit) = self.permits.acquire().await else { return true };
                // Other pools took their time: the state may be old.
                match self.read().await {
                    Ok(seen) => (permit, seen),
                    Err(error) => {
                        self.error(&pool.name, format!("the cluster cannot be read: {error}"));
                        return true;
                    }
                }
            }
        };
        let path = paths::pool_state(&pool.name);
        let loaded = match self.load(&pool.name, &path).await {
            Ok(loaded) => loaded,
            Err(error) => {
                self.error(&pool.name, error.to_string());
                return true;
            }
        };
        self.board.note(&pool.name, &loaded.record);
        if loaded.record.failsafe_mode {
            tracing::debug!(target: "autoscale", pool = pool.name, "the pool is in failsafe mode");
            let reason = format!("the pool is in failsafe mode: {}", loaded.record.failsafe_admin);
            let in_operation = loaded.record.operation.is_some();
            self.make_up_for_notification(&pool.name, &path, loaded, &reason).await;
            self.board.decide(&pool.name, Action::Failsafe, reason, self.now());
            return in_operation;
        }
        let mut in_operation = loaded.record.operation.is_some();
        if !in_operation {
            if pool.nodes.is_empty() {
                return false;
            }
            in_operation = self.evaluate(pool, &seen, &path, loaded).await;
        }
        drop((permit, seen));
        in_operation && self.operate(pool, &path).await
    }

    /// Notifies of failsafe mode if whoever entered it could not, or did not note it: a crash came in between, or the
    /// answer to the write was lost.
    async fn make_up_for_notification(&self, pool: &str, path: &str, loaded: Loaded, reason: &str) {
        if loaded.record.last_notification_event.is_some() || !self.cluster.leads() {
            return;
        }
        if self.board.tells_failsafe(pool) {
            self.notify(pool, Reason::ClusterFailsafeMode, format!("worker pool {pool}: {reason}"));
        }
        let notified = Record { last_notification_event: Some(Time::from_unix_nanos(self.now())), ..loaded.record };
        if let Err(error) = self.save(path, notified, loaded.index).await {
            tracing::debug!(target: "autoscale", pool, %error, "a notification could not be noted");
        }
    }

    /// One evaluation; true if an operation begins.
    async fn evaluate(&self, pool: &Pool, seen: &Seen, path: &str, loaded: Loaded) -> bool {
        let group = self.group(&pool.parameters).await;
        let evaluation = evaluate(&Input {
            state: &seen.state,
            jobs: &seen.jobs,
            pool,
            record: &loaded.record,
            group: Some(group.as_ref()),
            protection: &seen.protection,
            now: self.now(),
        });
        let (action, reason) = decision(&evaluation);
        self.board.evaluated(&pool.name, evaluation.arithmetic, protected_nodes(&evaluation.view));
        if evaluation.record != loaded.record {
            match self.save(path, evaluation.record, loaded.index).await {
                Ok(saved) => self.board.note(&pool.name, &saved),
                Err(error) => {
                    self.error(&pool.name, format!("the state object cannot be written: {error}"));
                    return false;
                }
            }
        }
        let begins = match evaluation.outcome {
            Outcome::Begin(_) => {
                tracing::info!(target: "autoscale", pool = pool.name, "an operation begins: {reason}");
                true
            }
            Outcome::InProgress => true,
            Outcome::Failsafe | Outcome::Denied { .. } | Outcome::Requested { .. } => {
                tracing::debug!(target: "autoscale", pool = pool.name, "nothing is done: {reason}");
                false
            }
        };
        self.board.decide(&pool.name, action, reason, self.now());
        begins
    }
}

/// The decision of an evaluation, as text.
fn decision(evaluation: &Evaluation) -> (Action, String) {
    match &evaluation.outcome {
        Outcome::Failsafe => (Action::Failsafe, "the pool is in failsafe mode".into()),
        Outcome::InProgress => (Action::None, "an operation is in progress".into()),
        Outcome::Denied { check: _, reason } => (Action::Denied, reason.clone()),
        Outcome::Requested { requests, threshold } => {
            let direction = evaluation.arithmetic.direction.name();
            let reason = format!("{requests} of {threshold} consecutive requests to scale {direction}");
            (Action::Requested, reason)
        }
        Outcome::Begin(operation) => begins(operation, evaluation),
    }
}

fn begins(operation: &Operation, evaluation: &Evaluation) -> (Action, String) {
    let figures = &evaluation.arithmetic;
    let metric = figures.metric.unwrap_or(Metric::Cpu);
    let (used, allowed) = (figures.consumed.get(metric), figures.max_allowed);
    let figures = format!("{used} of {allowed} allowed {} are used", metric.name());
    match operation.direction {
        Direction::Out => (Action::ScaleOut, format!("{figures}: the group gets {} instances", operation.target)),
        Direction::In => (Action::ScaleIn, format!("{figures}: node {} is removed", operation.node_id)),
    }
}
