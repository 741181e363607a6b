//! Handles one group in a cycle: starts a change of its count, or continues the one in progress
//! (`docs/spec/cluster-scaling.md §13`).

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use encamp_model::{Job, TaskGroup, Time};
use encamp_state::{AllocEntry, Snapshot};

use super::GroupId;
use super::decision::{self, Decision, Utilization};
use super::driver::Inner;
use super::params::GroupParameters;
use super::progress::{LIMIT, Progress, progress};
use super::status::GroupStatus;
use crate::cluster::{ClusterError, Usage};
use crate::notify::{Notification, Reason};
use crate::record::{Direction, GroupScaling, Record};
use crate::status::Action;
use crate::store::{self, StoreError};

/// How many allocations of a group are asked at once what they use.
const USAGES: usize = 10;
/// How long one may take to answer.
const USAGE: Duration = Duration::from_secs(5);
/// How long all of them may take. Those that have not answered by then are left out.
const ALL_USAGES: Duration = Duration::from_secs(15);
/// The pauses between the attempts to set a count.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(2)];

/// The text shown as the last decision.
type Shown = (Action, String);

/// A look at one group.
pub(super) struct Visit<'a> {
    pub(super) inner: &'a Inner,
    pub(super) state: &'a Snapshot,
    pub(super) id: &'a GroupId,
    pub(super) path: String,
    pub(super) job: &'a Arc<Job>,
    pub(super) group: &'a TaskGroup,
    pub(super) parameters: &'a GroupParameters,
}

/// The state object as it is stored.
struct Loaded {
    record: Record,
    check: u64,
}

impl Visit<'_> {
    /// Looks at the group; fills in its status and gives what was decided.
    pub(super) async fn run(&self, status: &mut GroupStatus) -> Shown {
        let mut loaded = match self.inner.load(self.id, &self.path).await {
            Ok((record, check)) => Loaded { record, check },
            Err(e) => return (Action::Error, e.to_string()),
        };
        let shown = self.with(&mut loaded, status).await;
        status.note(&loaded.record, Some(self.parameters), self.inner.now());
        shown.unwrap_or_else(|e| (Action::Error, e.to_string()))
    }

    async fn with(&self, loaded: &mut Loaded, status: &mut GroupStatus) -> Result<Shown, StoreError> {
        if loaded.record.failsafe_mode {
            return Ok((Action::Failsafe, "an operator has to disable failsafe mode".into()));
        }
        self.repair_times(loaded).await?;
        match loaded.record.scaling.clone() {
            Some(scaling) => self.advance(loaded, &scaling).await,
            None => self.evaluate(loaded, status).await,
        }
    }

    /// Times in the future are those of a clock that was wrong: they are replaced by now, so that nothing waits for
    /// them.
    async fn repair_times(&self, loaded: &mut Loaded) -> Result<(), StoreError> {
        let now = Time::from_unix_nanos(self.inner.now());
        let future = |t: &Time| t.unix_nanos() > now.unix_nanos();
        let mut record = loaded.record.clone();
        record.last_scaling_event = record.last_scaling_event.map(|t| if future(&t) { now } else { t });
        if let Some(scaling) = record.scaling.as_mut().filter(|s| future(&s.started)) {
            scaling.started = now;
        }
        if record == loaded.record { Ok(()) } else { self.save(loaded, record).await }
    }

    async fn save(&self, loaded: &mut Loaded, mut record: Record) -> Result<(), StoreError> {
        let check = self.inner.save(&self.path, &mut record, loaded.check).await?;
        *loaded = Loaded { record, check };
        Ok(())
    }

    async fn evaluate(&self, loaded: &mut Loaded, status: &mut GroupStatus) -> Result<Shown, StoreError> {
        let running = decision::running(self.state, self.job, &self.id.group);
        let used = self.utilization(&running).await;
        (status.running, status.measured) = (running.len(), used.measured);
        (status.cpu, status.memory) = (used.cpu, used.memory);
        let deploying = decision::deploying(self.state, self.job);
        let now = self.inner.now();
        match decision::decide(self.group, self.parameters, &loaded.record, &used, deploying, now) {
            Decision::Keep { reason } => Ok((Action::None, reason)),
            Decision::Denied { reason, .. } => Ok((Action::Denied, reason)),
            Decision::Scale { from, to, reason, .. } => {
                let scaling = GroupScaling {
                    from,
                    to,
                    started: Time::from_unix_nanos(now),
                    job_create_index: self.job.create_index,
                    job_version: self.job.version,
                };
                let record = Record { scaling: Some(scaling.clone()), ..loaded.record.clone() };
                self.save(loaded, record).await?;
                self.set_count(loaded, &scaling, &reason).await
            }
        }
    }

    /// Asks the running allocations what they use, some at a time. Those that do not answer are left out.
    async fn utilization(&self, running: &[Arc<AllocEntry>]) -> Utilization {
        let asked = stream::iter(running.iter().enumerate()).map(async |(i, entry): (usize, &Arc<AllocEntry>)| {
            let answer = timeout(USAGE, self.inner.cluster.usage(&entry.alloc.id)).await;
            (i, answer.ok().and_then(Result::ok))
        });
        let mut asked = std::pin::pin!(asked.buffer_unordered(USAGES));
        let mut known: Vec<Option<Usage>> = vec![None; running.len()];
        let deadline = Instant::now() + ALL_USAGES;
        while let Ok(Some((i, usage))) = timeout_at(deadline, asked.next()).await {
            if let Some(place) = known.get_mut(i) {
                *place = usage;
            }
        }
        decision::utilization(running.iter().map(AsRef::as_ref).zip(known))
    }

    /// Sets the count. It is written by now that this is done, and setting it again does no harm.
    async fn set_count(&self, loaded: &mut Loaded, scaling: &GroupScaling, why: &str) -> Result<Shown, StoreError> {
        let message = format!("encamp autoscaler: {why}");
        let job = (self.job.namespace.as_str(), self.job.id.as_str());
        let mut pauses = PAUSES.into_iter();
        let error = loop {
            if !self.inner.cluster.leads() {
                return Err(ClusterError::NotLeader.into());
            }
            match store::within(self.inner.cluster.scale(job, &self.id.group, scaling.to, &message)).await {
                Ok(()) => {
                    self.inner.counts_set().insert(self.id.clone(), scaling.started);
                    return Ok((action(scaling), why.to_string()));
                }
                Err(ClusterError::NotLeader) => return Err(ClusterError::NotLeader.into()),
                Err(e) => match pauses.next() {
                    Some(pause) => sleep(pause).await,
                    None => break e,
                },
            }
        };
        // A call that failed may have had its effect, and one that was refused may have come after another client's
        // change.
        let state = store::within(self.inner.cluster.state()).await?;
        match progress(&state, job, &self.id.group, scaling, self.inner.now()) {
            Progress::NotSet if !state.job(job.0, job.1).is_some_and(|j| decision::deploying(&state, j)) => {
                self.fail(loaded, scaling, format!("the count could not be set: {error}"), false).await
            }
            Progress::NotSet => {
                let record = Record { scaling: None, ..loaded.record.clone() };
                self.save(loaded, record).await?;
                Ok((Action::Denied, "a deployment of the job began before the count was set".into()))
            }
            _ => Ok((action(scaling), format!("the state changed after an error: {error}"))),
        }
    }

    /// Takes a change further.
    async fn advance(&self, loaded: &mut Loaded, scaling: &GroupScaling) -> Result<Shown, StoreError> {
        let set = self.inner.counts_set().get(self.id) == Some(&scaling.started);
        let job = (self.job.namespace.as_str(), self.job.id.as_str());
        let minutes = LIMIT.as_secs() / 60;
        match progress(self.state, job, &self.id.group, scaling, self.inner.now()) {
            Progress::NotSet if set => Ok((action(scaling), "the cluster does not show the new count yet".into())),
            Progress::NotSet => self.set_count(loaded, scaling, "resumed after an interruption").await,
            Progress::Abandoned if set => {
                let why = format!("the cluster took the new count, but did not show it within {minutes} minutes");
                self.fail(loaded, scaling, why, false).await
            }
            Progress::Abandoned => {
                let record = Record { scaling: None, ..loaded.record.clone() };
                self.save(loaded, record).await?;
                Ok((Action::Denied, "a change of the count was interrupted for too long and given up".into()))
            }
            Progress::Waiting => Ok((action(scaling), "the deployment of the new count goes on".into())),
            Progress::Succeeded => self.succeed(loaded, scaling).await,
            Progress::Failed => self.fail(loaded, scaling, "the deployment failed".into(), true).await,
            Progress::Late => {
                let why = format!("the deployment did not succeed within {minutes} minutes");
                self.fail(loaded, scaling, why, true).await
            }
            Progress::Superseded => {
                let record = Record { scaling: None, ..loaded.record.clone() };
                self.save(loaded, self.changed_now(record, scaling)).await?;
                Ok((Action::Denied, "another client changed the job while its count was being changed".into()))
            }
        }
    }

    /// The cooldown begins: the count has changed.
    fn changed_now(&self, mut record: Record, scaling: &GroupScaling) -> Record {
        record.note_scaling(direction(scaling), self.inner.now());
        record
    }

    async fn succeed(&self, loaded: &mut Loaded, scaling: &GroupScaling) -> Result<Shown, StoreError> {
        let mut record = self.changed_now(Record { scaling: None, failure_count: 0, ..loaded.record.clone() }, scaling);
        record.last_notification_event = record.last_scaling_event;
        self.save(loaded, record).await?;
        self.count(scaling, "success");
        let reason = match direction(scaling) {
            Direction::Out => Reason::ScaleOut,
            Direction::In => Reason::ScaleIn,
        };
        let text = format!("The count of {} was changed from {} to {}.", self.id.name(), scaling.from, scaling.to);
        self.notify(reason, text.clone());
        Ok((action(scaling), text))
    }

    /// Ends a change that failed; `changed`: the count was set.
    async fn fail(
        &self,
        loaded: &mut Loaded,
        scaling: &GroupScaling,
        why: String,
        changed: bool,
    ) -> Result<Shown, StoreError> {
        let now = self.inner.now();
        let mut record = Record { scaling: None, ..loaded.record.clone() };
        if changed {
            record = self.changed_now(record, scaling);
        }
        let enters = record.count_failure(self.parameters.retry_threshold, now);
        if enters {
            record.last_notification_event = Some(Time::from_unix_nanos(now));
        }
        self.save(loaded, record).await?;
        self.count(scaling, "failure");
        let (from, to, name) = (scaling.from, scaling.to, self.id.name());
        tracing::error!(target: "autoscale", group = name, from, to, why, "a change of a count failed");
        if !enters {
            return Ok((Action::Error, why));
        }
        let failures = loaded.record.failure_count;
        let times = if failures == 1 { "1 failure".to_string() } else { format!("{failures} failures") };
        let text = format!("{name} is no longer scaled after {times}; the last one, count {from} to {to}: {why}.");
        self.notify(Reason::JobGroupFailsafeMode, text);
        Ok((Action::Failsafe, why))
    }

    fn notify(&self, reason: Reason, text: String) {
        self.inner.notify.send(Notification {
            uid: self.parameters.notification_uid.clone(),
            cluster: self.inner.cluster.name(),
            reason,
            resource_id: self.id.name(),
            state_path: self.path.clone(),
            text,
        });
    }

    fn count(&self, scaling: &GroupScaling, ended: &str) {
        let name = format!("nomad.autoscale.group.scale_{}.{ended}", direction(scaling).name());
        let id = self.id;
        let labels = [("namespace", &*id.namespace), ("job", &*id.job), ("task_group", &*id.group)];
        self.inner.metrics.count(&name, 1, &labels);
    }
}

fn direction(scaling: &GroupScaling) -> Direction {
    if scaling.to < scaling.from { Direction::In } else { Direction::Out }
}

fn action(scaling: &GroupScaling) -> Action {
    match direction(scaling) {
        Direction::In => Action::ScaleIn,
        Direction::Out => Action::ScaleOut,
    }
}
