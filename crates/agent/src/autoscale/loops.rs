//! The loops over worker pools and job groups while an instance may act, and the pools as seen by the HTTP interface.

use std::sync::Arc;
use std::time::Duration;

use encamp_autoscale::cluster::Cluster;
use encamp_autoscale::driver::{Autoscaler, FailsafeError};
use encamp_autoscale::jobs::GroupId;
use encamp_autoscale::jobs::driver::{self as jobs, JobScaler};
use encamp_autoscale::jobs::status::GroupStatus;
use encamp_autoscale::provider::local::Local;
use encamp_autoscale::status::PoolStatus;
use encamp_http::agent::autoscaling::Autoscaling;
use encamp_http::agent::pending::Pending;
use encamp_http::api::autoscale::{UNKNOWN_GROUP, UNKNOWN_POOL};
use encamp_http::error::Error;
use parking_lot::Mutex;

use super::parts::Parts;

/// The interval at which the instances of the provider `local` are checked.
const LOOK: Duration = Duration::from_secs(5);
/// The time limit for the loop over job groups to end after the loop over pools has ended.
const JOBS_END: Duration = Duration::from_secs(5);

/// The loops of one instance.
pub struct Loops {
    pools: Autoscaler,
    jobs: Option<JobScaler>,
    cluster: Arc<dyn Cluster>,
    local: Option<Arc<Local>>,
}

impl Loops {
    /// Creates the loops on a cluster without starting them.
    pub fn new(parts: &Parts, cluster: Arc<dyn Cluster>) -> Loops {
        let jobs = parts.settings.job_scaling.then(|| parts.job_scaler(cluster.clone()));
        Loops { pools: parts.autoscaler(cluster.clone()), jobs, cluster, local: parts.local() }
    }

    /// Runs until the instance is no longer the leader. The loops can be dropped at any time: every step is persisted
    /// before it is executed.
    pub async fn run(&self) {
        tokio::select! {
            () = self.scale() => {}
            () = self.look_after_local() => {}
        }
    }

    /// Makes the provider `local` replace instances that ended, as a cloud does; never returns.
    async fn look_after_local(&self) {
        let Some(local) = &self.local else { return std::future::pending().await };
        loop {
            if self.cluster.leads() {
                for (pool, error) in local.reconcile().await {
                    tracing::warn!(target: "autoscale", pool, %error, "failed to check the local instances");
                }
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Runs the loops over pools and groups.
    async fn scale(&self) {
        let Some(jobs) = &self.jobs else { return self.pools.run().await };
        let (mut pools, mut jobs) = (std::pin::pin!(self.pools.run()), std::pin::pin!(jobs.run()));
        tokio::select! {
            () = pools.as_mut() => {
                // The loop may be between two cycles.
                let _ = tokio::time::timeout(JOBS_END, jobs).await;
            }
            () = jobs.as_mut() => pools.await,
        }
    }
}

/// The worker pools and job groups, if this instance acts.
pub struct Current {
    /// Whether job groups are scaled.
    job_scaling: bool,
    acting: Mutex<Option<(Autoscaler, Option<JobScaler>)>>,
}

impl Current {
    /// Creates the value for an instance that does not act yet. `job_scaling`: whether job groups are scaled.
    pub fn new(job_scaling: bool) -> Current {
        Current { job_scaling, acting: Mutex::default() }
    }

    /// Sets the loops that know the pools and groups; `None` if this instance does not act.
    pub fn set(&self, loops: Option<&Loops>) {
        let acting = loops.map(|l| (l.pools.clone(), l.jobs.clone()));
        *self.acting.lock() = acting;
    }

    fn get(&self) -> Option<Autoscaler> {
        self.acting.lock().as_ref().map(|(pools, _)| pools.clone())
    }

    fn jobs(&self) -> Option<JobScaler> {
        self.acting.lock().as_ref()?.1.clone()
    }
}

impl Autoscaling for Current {
    fn pools(&self) -> Vec<PoolStatus> {
        self.get().map(|a| a.pools()).unwrap_or_default()
    }

    fn groups(&self) -> Option<Vec<GroupStatus>> {
        self.job_scaling.then(|| self.jobs().map(|j| j.groups()).unwrap_or_default())
    }

    fn set_group_failsafe<'a>(
        &'a self,
        group: &'a GroupId,
        on: bool,
        who: &'a str,
    ) -> Pending<'a, Result<GroupStatus, Error>> {
        Box::pin(async move {
            let jobs = self.jobs().ok_or_else(|| Error::not_found(UNKNOWN_GROUP))?;
            jobs.set_failsafe(group, on, who).await.map_err(|e| match e {
                jobs::FailsafeError::NotFound => Error::not_found(UNKNOWN_GROUP),
                jobs::FailsafeError::Store(_) => Error::internal(e.to_string()),
            })
        })
    }

    fn set_failsafe<'a>(&'a self, pool: &'a str, on: bool, who: &'a str) -> Pending<'a, Result<PoolStatus, Error>> {
        Box::pin(async move {
            let autoscaler = self.get().ok_or_else(|| Error::not_found(UNKNOWN_POOL))?;
            autoscaler.set_failsafe(pool, on, who).await.map_err(|e| match e {
                FailsafeError::NotFound => Error::not_found(UNKNOWN_POOL),
                FailsafeError::Store(_) => Error::internal(e.to_string()),
            })
        })
    }
}
