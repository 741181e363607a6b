//! The loop over worker pools (`docs/spec/cluster-scaling.md §3`, `§5` to `§8`): reads the cluster, evaluates every
//! pool, and carries out operations.
//!
//! - `watch`: discovers pools. `pool`: one pool in one cycle. `operate`: an operation, step by step.
//! - `shown`: the status of pools, and metrics.
//!
//! Everything runs inside the future of [`Autoscaler::run`]: dropping it stops everything. There is at most one task
//! per pool, and a waiting task does not delay the others.

mod operate;
mod pool;
mod shown;
#[cfg(test)]
mod tests;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio::sync::Semaphore;
use tokio::time::MissedTickBehavior;

use encamp_state::Snapshot;
use encamp_telemetry::Metrics;

use crate::cluster::{Cluster, ClusterError};
use crate::notify::{Notification, Notify, Reason};
use crate::operation::Limits;
use crate::params::ProviderKind;
use crate::protection::Protection;
use crate::provider::Provider;
use crate::status::{Action, PoolStatus};
use crate::store::{self, StoreError};
use crate::view::JobCache;
use shown::Board;
use watch::Watch;

/// How often a check-and-set write of failsafe mode is repeated when others write at the same time.
const FAILSAFE_TRIES: usize = 5;

/// How the loops run (`docs/spec/cluster-scaling.md §1.1`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Between the starts of two cycles over the pools.
    pub cluster_interval: Duration,
    /// Between the starts of two cycles over job groups.
    pub job_interval: Duration,
    /// Pools that are evaluated at once, at least 1.
    pub concurrency: usize,
    /// The deadline of drains.
    pub drain_deadline: Duration,
    /// Job groups are scaled as well.
    pub job_scaling: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            cluster_interval: Duration::from_secs(10),
            job_interval: Duration::from_secs(10),
            concurrency: 10,
            drain_deadline: Duration::from_secs(15 * 60),
            job_scaling: false,
        }
    }
}

/// The providers that are configured.
pub type Providers = BTreeMap<ProviderKind, Arc<dyn Provider>>;

/// Tells the time, Unix nanoseconds.
pub type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// Why failsafe mode could not be set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FailsafeError {
    /// There is no such pool.
    #[error("worker pool not found")]
    NotFound,
    /// The state object could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The autoscaler of worker pools. Clones are cheap and are the same autoscaler.
#[derive(Clone)]
pub struct Autoscaler {
    shared: Arc<Shared>,
}

impl fmt::Debug for Autoscaler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Autoscaler").field("settings", &self.shared.settings).finish_non_exhaustive()
    }
}

/// State shared by the tasks of all pools.
struct Shared {
    settings: Settings,
    limits: Limits,
    cluster: Arc<dyn Cluster>,
    providers: Providers,
    notifier: Arc<dyn Notify>,
    metrics: Metrics,
    own_alloc: Option<String>,
    now: Clock,
    /// One for each pool that is being read, evaluated or acted on; tasks that wait hold none.
    permits: Semaphore,
    board: Board,
}

/// The cluster as it was read.
#[derive(Clone)]
struct Seen {
    state: Snapshot,
    jobs: Arc<JobCache>,
    protection: Arc<Protection>,
}

/// How the task of a pool ended.
struct Finished {
    pool: String,
    /// Its state object holds an operation.
    in_operation: bool,
}

type Tasks<'a> = FuturesUnordered<BoxFuture<'a, Finished>>;

impl Autoscaler {
    /// An autoscaler that has not begun. `own_alloc` is the allocation it runs in, whose node is never removed.
    pub fn new(
        settings: Settings,
        cluster: Arc<dyn Cluster>,
        providers: Providers,
        notifier: Arc<dyn Notify>,
        metrics: Metrics,
        own_alloc: Option<String>,
        now: Clock,
    ) -> Autoscaler {
        let shared = Shared {
            limits: Limits::new(settings.drain_deadline),
            permits: Semaphore::new(settings.concurrency.clamp(1, Semaphore::MAX_PERMITS)),
            settings,
            cluster,
            providers,
            notifier,
            metrics,
            own_alloc,
            now,
            board: Board::default(),
        };
        Autoscaler { shared: Arc::new(shared) }
    }

    /// Runs cycles until the cluster says that this instance is no longer the leader; then steps in hand end first. It
    /// can be dropped at any time: the next instance goes on from the state objects.
    pub async fn run(&self) {
        let shared = &*self.shared;
        let mut ticks = tokio::time::interval(shared.settings.cluster_interval.max(Duration::from_millis(1)));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut tasks = Tasks::new();
        let mut watch = Watch::default();
        let mut busy = BTreeSet::new();
        loop {
            // A pool that hangs, or waits for minutes, must not hold up the cycles of others.
            let ended = drive(&mut tasks, ticks.tick()).await.0;
            watch.end(&mut busy, ended);
            if !shared.cluster.leads() {
                break;
            }
            let (ended, read) = drive(&mut tasks, watch.read(shared)).await;
            watch.end(&mut busy, ended);
            let seen = match read {
                Ok(seen) => seen,
                Err(error) => {
                    tracing::warn!(target: "autoscale", %error, "the cluster cannot be read");
                    shared.board.error_everywhere(&format!("the cluster cannot be read: {error}"), shared.now());
                    continue;
                }
            };
            shared.board.update(watch.pools(), watch.problems());
            for pool in watch.pools().values() {
                if busy.insert(pool.name.clone()) {
                    tasks.push(Box::pin(shared.attend(pool.clone(), seen.clone())));
                }
            }
            shared.board.gauges(&shared.metrics);
        }
        while tasks.next().await.is_some() {}
        shared.board.clear();
    }

    /// The pools as operators see them, by name; none while another instance acts.
    pub fn pools(&self) -> Vec<PoolStatus> {
        self.shared.board.all(self.shared.now())
    }

    /// Enters or leaves failsafe mode (`docs/spec/cluster-scaling.md §7`); `who` is noted. A pool that is in that state
    /// already stays as it is.
    ///
    /// # Errors
    /// There is neither such a pool nor a state object of one, or the state object cannot be read or written.
    pub async fn set_failsafe(&self, pool: &str, enable: bool, who: &str) -> Result<PoolStatus, FailsafeError> {
        let shared = &*self.shared;
        let path = crate::paths::pool_state(pool);
        for _ in 0..FAILSAFE_TRIES {
            let loaded = shared.load(pool, &path).await?;
            if loaded.index == 0 && !shared.board.knows(pool) {
                return Err(FailsafeError::NotFound);
            }
            let now = shared.now();
            let mut record = loaded.record;
            if record.failsafe_mode != enable {
                record.set_failsafe(enable, who, now);
                if enable {
                    record.last_notification_event = None;
                }
                record = match shared.save(&path, record, loaded.index).await {
                    Ok(saved) => saved,
                    Err(StoreError::Cluster(ClusterError::Conflict(_))) => continue,
                    Err(error) => return Err(error.into()),
                };
                shared.tell_failsafe(pool, enable, who, now);
            }
            shared.board.note(pool, &record);
            return Ok(shared.board.status(pool, &record, now));
        }
        Err(StoreError::from(ClusterError::Conflict(path)).into())
    }
}

/// Waits for a future while the tasks go on; gives the tasks that ended meanwhile.
async fn drive<T>(tasks: &mut Tasks<'_>, until: impl Future<Output = T>) -> (Vec<Finished>, T) {
    let mut ended = Vec::new();
    tokio::pin!(until);
    loop {
        tokio::select! {
            biased;
            value = &mut until => return (ended, value),
            Some(finished) = tasks.next() => ended.push(finished),
        }
    }
}

impl Shared {
    /// Unix nanoseconds.
    fn now(&self) -> i64 {
        (self.now)()
    }

    /// Reads the cluster: its state, and which agents are servers.
    async fn read(&self) -> Result<Seen, ClusterError> {
        let servers = store::within(self.cluster.servers()).await?;
        let state = store::within(self.cluster.state()).await?;
        let protection = Protection { own_alloc: self.own_alloc.clone(), servers };
        Ok(Seen { state, jobs: Arc::default(), protection: Arc::new(protection) })
    }

    /// Logs and notifies that an operator set failsafe mode.
    fn tell_failsafe(&self, pool: &str, enable: bool, who: &str, now: i64) {
        tracing::info!(target: "autoscale", pool, enable, who, "failsafe mode was set by an operator");
        let text = format!("{who} {} failsafe mode", if enable { "enabled" } else { "disabled" });
        if enable && self.board.tells_failsafe(pool) {
            self.notify(pool, Reason::ClusterFailsafeMode, format!("worker pool {pool}: {text}"));
        }
        self.board.decide(pool, if enable { Action::Failsafe } else { Action::None }, text, now);
    }

    /// Sends a notification about a pool.
    fn notify(&self, pool: &str, reason: Reason, text: String) {
        self.notifier.send(Notification {
            uid: self.board.notification_uid(pool),
            cluster: self.cluster.name(),
            reason,
            resource_id: pool.to_string(),
            state_path: crate::paths::pool_state(pool),
            text,
        });
    }
}
