//! The loop over job groups (`docs/spec/cluster-scaling.md §13`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use parking_lot::{Mutex, MutexGuard};
use tokio::time::{Instant, sleep_until};

use encamp_model::Time;
use encamp_state::Snapshot;
use encamp_telemetry::Metrics;

use super::params::GroupConfiguration;
use super::status::GroupStatus;
use super::visit::Visit;
use super::{Found, GroupId, find};
use crate::cluster::{Cluster, ClusterError};
use crate::notify::{Notification, Notify, Reason};
use crate::record::{Record, ResourceType};
use crate::status::{Action, Decision};
use crate::store::{self, StoreError};

/// How often an operator's change is tried while others write as well.
const TRIES: usize = 5;

/// Settings of the loop (`docs/spec/cluster-scaling.md §1.1`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The pause between the start of two cycles (`job_interval`).
    pub interval: Duration,
    /// Groups evaluated at once, at least 1 (`concurrency`).
    pub concurrency: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { interval: Duration::from_secs(10), concurrency: 10 }
    }
}

/// Why failsafe mode of a group was not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FailsafeError {
    /// No running job has such a group that is configured for scaling.
    #[error("job group not found")]
    NotFound,
    /// The state object, or the cluster, could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Scales the groups of jobs. Clones belong to the same loop.
#[derive(Clone)]
pub struct JobScaler {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    settings: Settings,
    pub(super) cluster: Arc<dyn Cluster>,
    pub(super) notify: Arc<dyn Notify>,
    pub(super) metrics: Metrics,
    now: Arc<dyn Fn() -> i64 + Send + Sync>,
    groups: Mutex<BTreeMap<GroupId, GroupStatus>>,
    /// Changes whose count was set by this process, and when they began: the state may not show it yet.
    set: Mutex<BTreeMap<GroupId, Time>>,
}

impl JobScaler {
    /// A scaler. `now` gives Unix nanoseconds.
    pub fn new(
        settings: Settings,
        cluster: Arc<dyn Cluster>,
        notify: Arc<dyn Notify>,
        metrics: Metrics,
        now: Arc<dyn Fn() -> i64 + Send + Sync>,
    ) -> JobScaler {
        let (groups, set) = (Mutex::default(), Mutex::default());
        JobScaler { inner: Arc::new(Inner { settings, cluster, notify, metrics, now, groups, set }) }
    }

    /// Runs cycles until this instance may not act any more. The future can be dropped at any time: the next one goes
    /// on where this one was.
    pub async fn run(&self) {
        while self.inner.cluster.leads() {
            let next = Instant::now() + self.inner.settings.interval;
            self.cycle().await;
            sleep_until(next).await;
        }
    }

    /// The groups as the last cycle found them, by namespace, job and group.
    pub fn groups(&self) -> Vec<GroupStatus> {
        self.inner.groups.lock().values().cloned().collect()
    }

    /// Looks at every group once.
    pub(super) async fn cycle(&self) {
        let inner = &self.inner;
        let state = match store::within(inner.cluster.state()).await {
            Ok(state) => state,
            Err(error) => return tracing::warn!(target: "autoscale", %error, "job groups are not evaluated"),
        };
        let found = find(&state);
        let ids: BTreeSet<&GroupId> = found.iter().map(|f| &f.id).collect();
        inner.groups.lock().retain(|id, _| ids.contains(id));
        inner.counts_set().retain(|id, _| ids.contains(id));
        let visits = stream::iter(&found);
        visits.for_each_concurrent(inner.settings.concurrency.max(1), |found| inner.look_at(&state, found)).await;
    }

    /// Enters or leaves failsafe mode of a group; that it is in that state already is no error. `who` is noted.
    /// Entering it notifies (`docs/spec/cluster-scaling.md §7`).
    ///
    /// # Errors
    /// There is no such group, or its state object cannot be read or written.
    pub async fn set_failsafe(&self, id: &GroupId, enable: bool, who: &str) -> Result<GroupStatus, FailsafeError> {
        let inner = &self.inner;
        let state = store::within(inner.cluster.state()).await.map_err(StoreError::from)?;
        let found = find(&state).into_iter().find(|f| f.id == *id).ok_or(FailsafeError::NotFound)?;
        let path = id.state_path();
        let mut tried = 0;
        loop {
            tried += 1;
            let (mut record, check) = inner.load(id, &path).await?;
            if record.failsafe_mode != enable {
                let now = inner.now();
                record.set_failsafe(enable, who, now);
                if enable {
                    record.last_notification_event = Some(Time::from_unix_nanos(now));
                }
                match inner.save(&path, &mut record, check).await {
                    Ok(_) => {
                        tracing::info!(target: "autoscale", group = id.name(), enable, who, "failsafe mode was set");
                        if enable {
                            inner.tell_failsafe(&found, &path, who);
                        }
                    }
                    Err(StoreError::Cluster(ClusterError::Conflict(_))) if tried < TRIES => continue,
                    Err(e) => return Err(e.into()),
                }
            }
            let mut groups = inner.groups.lock();
            let status = groups.entry(id.clone()).or_insert_with(|| blank(&found));
            status.note(&record, found.configuration.parameters(), inner.now());
            return Ok(status.clone());
        }
    }
}

impl Inner {
    pub(super) fn now(&self) -> i64 {
        (self.now)()
    }

    pub(super) fn counts_set(&self) -> MutexGuard<'_, BTreeMap<GroupId, Time>> {
        self.set.lock()
    }

    pub(super) async fn load(&self, id: &GroupId, path: &str) -> Result<(Record, u64), StoreError> {
        let name = id.name();
        store::load(self.cluster.as_ref(), path, ResourceType::JobGroup, &name).await
    }

    pub(super) async fn save(&self, path: &str, record: &mut Record, check: u64) -> Result<u64, StoreError> {
        record.last_updated = Some(Time::from_unix_nanos(self.now()));
        store::save(self.cluster.as_ref(), path, record, check).await
    }

    /// Notifies that an operator enabled failsafe mode.
    fn tell_failsafe(&self, found: &Found, path: &str, who: &str) {
        let name = found.id.name();
        let uid = found.configuration.parameters().map(|p| p.notification_uid.clone());
        self.notify.send(Notification {
            uid: uid.unwrap_or_default(),
            cluster: self.cluster.name(),
            reason: Reason::JobGroupFailsafeMode,
            text: format!("{who} enabled failsafe mode of {name}."),
            resource_id: name,
            state_path: path.to_string(),
        });
    }

    /// Looks at one group and notes what was found.
    async fn look_at(&self, state: &Snapshot, found: &Found) {
        let mut status = blank(found);
        let (action, reason) = match &found.configuration {
            GroupConfiguration::Absent => return,
            GroupConfiguration::Invalid(problems) => {
                status.problems.clone_from(problems);
                (Action::Error, "its meta is invalid".to_string())
            }
            GroupConfiguration::Full(parameters) => {
                let Some(group) = found.group() else { return };
                let path = found.id.state_path();
                let visit = Visit { inner: self, state, id: &found.id, path, job: &found.job, group, parameters };
                visit.run(&mut status).await
            }
        };
        status.last_decision = Decision { time: Time::from_unix_nanos(self.now()), action, reason };
        self.record_metrics(found, &status);
        let before = self.groups.lock().insert(found.id.clone(), status.clone());
        report(&found.id, before.as_ref(), &status);
    }

    fn record_metrics(&self, found: &Found, status: &GroupStatus) {
        let id = &found.id;
        let labels = [("namespace", &*id.namespace), ("job", &*id.job), ("task_group", &*id.group)];
        let gauge =
            |name: &str, value: f64| self.metrics.gauge(&format!("nomad.autoscale.group.{name}"), value, &labels);
        gauge("count", status.count as f64);
        gauge("failsafe", if status.failsafe { 1.0 } else { 0.0 });
        for (name, value) in [("cpu", status.cpu), ("memory", status.memory)] {
            if let Some(value) = value {
                gauge(name, value);
            }
        }
    }
}

/// Logs what is new about a group.
fn report(id: &GroupId, before: Option<&GroupStatus>, now: &GroupStatus) {
    let group = id.name();
    if before.map_or(!now.problems.is_empty(), |b| b.problems != now.problems) {
        let problems = now.problems.join("; ");
        match now.problems.as_slice() {
            [] => tracing::info!(target: "autoscale", group, "the group's meta is valid again"),
            _ => tracing::warn!(target: "autoscale", group, problems, "the group is not scaled: its meta is invalid"),
        }
    }
    let Decision { action, reason, .. } = &now.last_decision;
    if now.problems.is_empty() && before.is_none_or(|b| b.last_decision.action != *action) {
        tracing::info!(target: "autoscale", group, action = action.name(), reason, "a new decision about a job group");
    }
}

/// The status of a group before its state object was read.
pub(super) fn blank(found: &Found) -> GroupStatus {
    let (min, max) = match &found.configuration {
        GroupConfiguration::Full(p) => (p.min, p.max),
        GroupConfiguration::Absent | GroupConfiguration::Invalid(_) => (0, 0),
    };
    GroupStatus {
        namespace: found.id.namespace.clone(),
        job: found.id.job.clone(),
        group: found.id.group.clone(),
        count: found.group().map_or(0, |g| g.count),
        min,
        max,
        ..GroupStatus::default()
    }
}

#[cfg(test)]
#[path = "driver_tests.rs"]
mod tests;
