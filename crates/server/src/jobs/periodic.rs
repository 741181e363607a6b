//! Periodic jobs: launch times and child jobs (`docs/spec/server.md §14`).

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::error::Error;
use encamp_model::{EvalTrigger, Evaluation, Job, JobKey, quoted};
use encamp_plan::launches::{is_active, is_child};
use encamp_state::StateStore;

/// A launch that is due.
#[derive(Debug, Clone, PartialEq)]
pub struct Launch {
    /// The periodic job.
    pub job: Arc<Job>,
    /// The scheduled time in Unix nanoseconds.
    pub at: i64,
}

#[derive(Debug)]
struct Tracked {
    job: Arc<Job>,
    /// `None`: there is no further launch.
    next: Option<i64>,
}

/// Why a job is not launched, with the texts of the API (`docs/spec/server.md §14.4`).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PeriodicError {
    /// The schedule or the time zone is invalid: the reason.
    #[error("{0}")]
    Schedule(String),
    /// The last launch of a job is not stored.
    #[error("the last launch of periodic job {} (namespace {}) is not stored", quoted(.job), quoted(.namespace))]
    LastLaunchUnknown {
        /// The job.
        job: String,
        /// Its namespace.
        namespace: String,
    },
    /// The request does not name a job.
    #[error("missing job ID for evaluation")]
    MissingId,
    /// The job does not exist.
    #[error("job not found")]
    NotFound,
    /// The job is not periodic.
    #[error("can't force launch non-periodic job")]
    NotPeriodic,
    /// This server does not lead.
    #[error("force launch for job {} failed: periodic dispatch disabled", quoted(.job))]
    Disabled {
        /// The job.
        job: String,
    },
    /// The job is not launched periodically at the moment.
    #[error("force launch for job {id} failed: can't force run non-tracked job {id} ({namespace})", id = quoted(.job))]
    NotTracked {
        /// The job.
        job: String,
        /// Its namespace.
        namespace: String,
    },
}

impl From<PeriodicError> for Error {
    fn from(e: PeriodicError) -> Error {
        Error::internal(e.to_string())
    }
}

/// The periodic jobs and their next launches. A new tracker is disabled and tracks nothing. Times are Unix nanoseconds.
#[derive(Debug, Default)]
pub struct PeriodicTracker {
    enabled: bool,
    tracked: HashMap<JobKey, Tracked>,
    due: BTreeSet<(i64, JobKey)>,
}

impl PeriodicTracker {
    /// A disabled tracker.
    pub fn new() -> PeriodicTracker {
        PeriodicTracker::default()
    }

    /// Whether the tracker is enabled.
    pub fn enabled(&self) -> bool {
        self.enabled
    }

    /// Enables or disables the tracker. Disabling drops all jobs.
    pub fn set_enabled(&mut self, enabled: bool) {
        if !enabled {
            *self = PeriodicTracker::default();
        }
        self.enabled = enabled;
    }

    /// Tracks a registered job, or untracks it if it is not launched periodically any more.
    ///
    /// # Errors
    /// [`PeriodicError::Schedule`]; the job is then not tracked.
    pub fn add(&mut self, job: Arc<Job>, now: i64) -> Result<(), PeriodicError> {
        if !self.enabled {
            return Ok(());
        }
        self.remove(&job.namespace, &job.id);
        match &job.periodic {
            Some(config) if is_active(&job) => {
                let next = config.next_launch(now).map_err(invalid)?;
                let key = job.key();
                self.due.extend(next.map(|t| (t, key.clone())));
                self.tracked.insert(key, Tracked { job, next });
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Updates a job after a write, but only if its specification changed, so that a due launch stays due. Returns
    /// whether the specification changed.
    ///
    /// # Errors
    /// See [`PeriodicTracker::add`].
    pub fn update(&mut self, job: &Arc<Job>, now: i64) -> Result<bool, PeriodicError> {
        if !self.enabled {
            return Ok(false);
        }
        let tracked = self.tracked.get(&job.key());
        let changed = match tracked {
            Some(t) => t.job.create_index != job.create_index || t.job.job_modify_index < job.job_modify_index,
            None => is_active(job),
        };
        if changed {
            self.add(job.clone(), now)?;
        }
        Ok(changed)
    }

    /// Untracks a removed job.
    pub fn remove(&mut self, namespace: &str, id: &str) {
        let key = JobKey::new(namespace, id);
        if let Some(Tracked { next: Some(t), .. }) = self.tracked.remove(&key) {
            self.due.remove(&(t, key));
        }
    }

    /// The tracked jobs, in no particular order.
    pub fn jobs(&self) -> impl Iterator<Item = &Arc<Job>> {
        self.tracked.values().map(|t| &t.job)
    }

    /// The time of the next launch.
    pub fn next_deadline(&self) -> Option<i64> {
        self.due.first().map(|(t, _)| *t)
    }

    /// Takes the next due launch, if there is one. The job's next launch is computed from the scheduled time of this
    /// one, so that late calls cause no drift. The caller has to check whether children may overlap ([`may_launch`]).
    pub(crate) fn pop_due(&mut self, now: i64) -> Option<Launch> {
        if self.next_deadline().is_none_or(|t| t > now) {
            return None;
        }
        let (at, key) = self.due.pop_first()?;
        let tracked = self.tracked.get_mut(&key)?;
        // The schedule was valid when the job was added.
        tracked.next = tracked.job.periodic.as_ref().and_then(|p| p.next_launch(at).ok().flatten());
        let job = tracked.job.clone();
        self.due.extend(tracked.next.map(|t| (t, key)));
        Some(Launch { job, at })
    }

    /// The job for a forced launch, regardless of its running children. The schedule is not changed.
    ///
    /// # Errors
    /// [`PeriodicError::Disabled`] or [`PeriodicError::NotTracked`].
    pub fn force(&self, namespace: &str, id: &str) -> Result<Arc<Job>, PeriodicError> {
        if !self.enabled {
            return Err(PeriodicError::Disabled { job: id.into() });
        }
        let tracked = self.tracked.get(&JobKey::new(namespace, id));
        let missing = || PeriodicError::NotTracked { job: id.into(), namespace: namespace.into() };
        Ok(tracked.ok_or_else(missing)?.job.clone())
    }
}

fn invalid(reason: impl std::fmt::Display) -> PeriodicError {
    PeriodicError::Schedule(reason.to_string())
}

/// Validates a request for a forced launch; `job` is the job stored under the ID.
pub(crate) fn check_force(job_id: &str, job: Option<&Job>) -> Result<(), PeriodicError> {
    if job_id.is_empty() {
        return Err(PeriodicError::MissingId);
    }
    match job {
        None => Err(PeriodicError::NotFound),
        Some(j) if j.periodic.is_none() => Err(PeriodicError::NotPeriodic),
        Some(_) => Ok(()),
    }
}

/// Whether a new leader has to launch the job once because launches were missed: the launch after the last one is
/// overdue. Fails if the job's last launch is unknown (`docs/spec/server.md §14.5`).
pub(crate) fn missed_launch(job: &Job, last_launch: Option<i64>, now: i64) -> Result<bool, PeriodicError> {
    let Some(config) = job.periodic.as_ref().filter(|_| is_active(job)) else { return Ok(false) };
    let last = last_launch
        .ok_or_else(|| PeriodicError::LastLaunchUnknown { job: job.id.clone(), namespace: job.namespace.clone() })?;
    Ok(config.next_launch(last).map_err(invalid)?.is_some_and(|next| next < now))
}

/// Whether a scheduled launch may happen: always, unless the job prohibits overlap and a child has unfinished
/// evaluations or allocations (`docs/spec/server.md §14.3`).
pub(crate) fn may_launch(store: &StateStore, job: &Job) -> bool {
    !job.periodic.as_ref().is_some_and(|p| p.prohibit_overlap) || !children_run(store, job)
}

fn children_run(store: &StateStore, job: &Job) -> bool {
    store.children(&job.namespace, &job.id).filter(|c| is_child(c, &job.id)).any(|child| {
        store
            .evals_of_job(&child.namespace, &child.id)
            .any(|e| !e.terminal() || store.allocs_of_eval(&e.id).any(|a| !a.phase.terminal()))
    })
}

/// The evaluation written together with the child.
pub fn evaluation(child: &Job, now: i64, id: String) -> Evaluation {
    Evaluation::pending(child, EvalTrigger::PeriodicJob, now, id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_model::{
        Allocation, ClientStatus, EvalStatus, JobStatus, JobType, ParameterizedJobConfig, PeriodicConfig, SECOND, Text,
    };
    use encamp_plan::launches::child;

    const HOUR: i64 = 3600 * SECOND;

    fn job(id: &str, cron: &str) -> Arc<Job> {
        let periodic = PeriodicConfig { enabled: true, spec: cron.into(), ..PeriodicConfig::default() };
        Arc::new(Job {
            id: id.into(),
            name: id.into(),
            namespace: "ns".into(),
            r#type: JobType::Batch,
            priority: 30,
            status: JobStatus::Running,
            periodic: Some(periodic),
            ..Job::default()
        })
    }

    fn with(job: &Arc<Job>, change: impl FnOnce(&mut Job)) -> Arc<Job> {
        let mut j = Job::clone(job);
        change(&mut j);
        Arc::new(j)
    }

    fn tracker(jobs: &[&Arc<Job>], now: i64) -> PeriodicTracker {
        let mut t = PeriodicTracker::new();
        t.set_enabled(true);
        jobs.iter().for_each(|j| t.add((*j).clone(), now).unwrap());
        t
    }

    #[test]
    fn launches_in_order_without_drift() {
        let (hourly, half) = (job("hourly", "0 * * * *"), job("half", "*/30 * * * *"));
        let never = job("never", "0 0 31 2 *");
        let mut t = tracker(&[&hourly, &half, &never], 1);
        assert_eq!(t.jobs().count(), 3);
        assert_eq!(t.next_deadline(), Some(HOUR / 2));
        assert_eq!(t.pop_due(HOUR / 2 - 1), None);
        // The caller is late: all due launches happen with their scheduled times.
        let mut launched = Vec::new();
        while let Some(l) = t.pop_due(HOUR + HOUR / 2 + 7) {
            launched.push((l.job.id.clone(), l.at));
        }
        let want = [("half", HOUR / 2), ("half", HOUR), ("hourly", HOUR), ("half", HOUR + HOUR / 2)];
        assert_eq!(launched, want.map(|(id, at)| (id.to_string(), at)));
        assert_eq!(t.next_deadline(), Some(2 * HOUR));
    }

    #[test]
    fn only_active_jobs_are_tracked() {
        let j = job("j", "0 * * * *");
        let mut t = tracker(&[&j], 0);
        for inactive in [
            with(&j, |j| j.stop = true),
            with(&j, |j| j.periodic = None),
            with(&j, |j| j.periodic.as_mut().unwrap().enabled = false),
            with(&j, |j| j.parameterized_job = Some(ParameterizedJobConfig::default())),
        ] {
            t.add(j.clone(), 0).unwrap();
            assert_eq!(t.jobs().count(), 1);
            t.add(inactive.clone(), 0).unwrap();
            assert_eq!((t.jobs().count(), t.next_deadline()), (0, None), "{inactive:?}");
        }
        // A dispatched child of a parameterized periodic job is periodic itself.
        let dispatched = with(&j, |j| {
            j.parameterized_job = Some(ParameterizedJobConfig::default());
            j.dispatched = true;
        });
        assert!(is_active(&dispatched));
        t.add(j.clone(), 0).unwrap();
        t.add(with(&j, |j| j.periodic.as_mut().unwrap().spec = "30 * * * *".into()), 0).unwrap();
        assert_eq!((t.next_deadline(), t.due.len()), (Some(HOUR / 2), 1), "changed jobs have one launch");
        t.remove("other", "j");
        assert_eq!(t.jobs().count(), 1);
        t.remove("ns", "j");
        assert_eq!((t.jobs().count(), t.next_deadline()), (0, None));
        let error = t.add(job("bad", "x"), 0).unwrap_err();
        assert_eq!(error.to_string(), r#"Invalid cron spec "x": missing field(s)"#);
        t.add(j.clone(), 0).unwrap();
        t.set_enabled(false);
        t.add(j, 0).unwrap();
        assert!(!t.enabled() && t.next_deadline().is_none());
    }

    #[test]
    fn only_new_specifications_count() {
        let j = job("j", "0 * * * *");
        let at = |index| with(&j, |j| j.job_modify_index = index);
        let mut t = tracker(&[&at(7)], 0);
        // The job's status changes just when a launch is due.
        assert_eq!(t.update(&with(&at(7), |j| j.modify_index = 9), HOUR), Ok(false));
        assert_eq!(t.next_deadline(), Some(HOUR), "a launch that is due stays due");
        assert_eq!(t.update(&at(6), HOUR), Ok(false), "an old version");
        assert_eq!(t.update(&at(8), HOUR), Ok(true));
        assert_eq!(t.next_deadline(), Some(2 * HOUR));
        assert_eq!(t.update(&with(&at(9), |j| j.stop = true), HOUR), Ok(true));
        assert_eq!((t.next_deadline(), t.jobs().count()), (None, 0));
        assert_eq!(t.update(&with(&at(9), |j| j.stop = true), HOUR), Ok(false));
        t.set_enabled(false);
        assert_eq!(t.update(&at(10), HOUR), Ok(false));
    }

    #[test]
    fn forced_launches() {
        let j = job("j", "0 * * * *");
        let mut t = tracker(&[&j], 0);
        assert_eq!(t.force("ns", "j").unwrap().id, "j");
        assert_eq!(t.next_deadline(), Some(HOUR), "the schedule is not changed");
        let text = r#"force launch for job "x" failed: can't force run non-tracked job "x" (ns)"#;
        assert_eq!(t.force("ns", "x").unwrap_err().to_string(), text);
        t.set_enabled(false);
        let text = r#"force launch for job "j" failed: periodic dispatch disabled"#;
        assert_eq!(t.force("ns", "j").unwrap_err().to_string(), text);
        assert_eq!(check_force("", None).unwrap_err().to_string(), "missing job ID for evaluation");
        assert_eq!(check_force("x", None).unwrap_err().to_string(), "job not found");
        let plain = with(&j, |j| j.periodic = None);
        assert_eq!(check_force("x", Some(&plain)).unwrap_err().to_string(), "can't force launch non-periodic job");
        check_force("j", Some(&j)).unwrap();
    }

    #[test]
    fn a_new_leader_catches_up_once() {
        // Hourly, last launch 10:00, new leader at 13:20.
        let j = job("j", "0 * * * *");
        let now = 13 * HOUR + HOUR / 3;
        assert_eq!(missed_launch(&j, Some(10 * HOUR), now), Ok(true));
        let c = child(&j, now, now);
        assert_eq!(c.id, "j/periodic-48000");
        assert_eq!(tracker(&[&j], now).next_deadline(), Some(14 * HOUR));
        assert_eq!(missed_launch(&j, Some(13 * HOUR), now), Ok(false));
        assert_eq!(missed_launch(&job("j", "0 0 31 2 *"), Some(0), now), Ok(false));
        assert!(missed_launch(&j, None, now).unwrap_err().to_string().contains("periodic job \"j\""));
        assert_eq!(missed_launch(&with(&j, |j| j.stop = true), None, now), Ok(false));
    }

    #[test]
    fn children() {
        let c = child(&job("j", "0 * * * *"), 7 * SECOND + 1, 9);
        let e = evaluation(&c, 9, "e".into());
        assert_eq!((&e.triggered_by, e.job_id.as_str(), e.priority), (&EvalTrigger::PeriodicJob, "j/periodic-7", 30));
    }

    #[test]
    fn overlap() {
        let free = job("j", "0 * * * *");
        let j = with(&free, |j| j.periodic.as_mut().unwrap().prohibit_overlap = true);
        let mut s = StateStore::new();
        let c = Arc::new(child(&j, 0, 0));
        assert!(may_launch(&s, &j));
        s.put_job(c.clone());
        assert!(may_launch(&s, &j), "a child without evaluations");
        let mut e = evaluation(&c, 0, "e".into());
        s.put_eval(Arc::new(e.clone()));
        assert!(!may_launch(&s, &j));
        assert!(may_launch(&s, &free));
        e.status = EvalStatus::Complete;
        s.put_eval(Arc::new(e));
        assert!(may_launch(&s, &j));
        let mut a = Allocation {
            id: "a".into(),
            namespace: "ns".into(),
            job_id: Text::from(&c.id),
            eval_id: "e".into(),
            client_status: ClientStatus::Running,
            ..Allocation::default()
        };
        s.put_allocs(vec![Arc::new(a.clone())]);
        assert!(!may_launch(&s, &j));
        a.client_status = ClientStatus::Complete;
        s.put_allocs(vec![Arc::new(a)]);
        assert!(may_launch(&s, &j));
    }
}
