//! Autoscaling of job groups (`docs/spec/cluster-scaling.md §13`).
//!
//! Pure: [`params`] parses the meta of a group, [`decision`] decides whether its count changes, [`progress`] tracks a
//! change. [`driver`] is the loop around them, `visit` handles one group. [`status`] is the status for operators.

pub mod decision;
pub mod driver;
#[cfg(test)]
pub(crate) mod fake;
pub mod params;
pub mod progress;
pub mod status;
mod visit;

use std::fmt::Display;
use std::sync::Arc;

use encamp_model::{Job, TaskGroup, Time};
use encamp_state::State;

use self::params::GroupConfiguration;
use self::status::GroupStatus;
use crate::paths;
use crate::record::Record;
use crate::status::{Action, Decision};

/// The group of a job.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId {
    /// Namespace of the job.
    pub namespace: String,
    /// The job.
    pub job: String,
    /// The group.
    pub group: String,
}

impl GroupId {
    /// Its name in state objects and notifications: `job/group`, in other namespaces than `default`
    /// `namespace/job/group`.
    pub fn name(&self) -> String {
        match self.namespace.as_str() {
            "default" => format!("{}/{}", self.job, self.group),
            namespace => format!("{namespace}/{}/{}", self.job, self.group),
        }
    }

    /// The Variable with its state. Jobs of other namespaces than `default` have their namespace and a space before
    /// their ID: no namespace and no ID holds one.
    pub fn state_path(&self) -> String {
        match self.namespace.as_str() {
            "default" => paths::group_state(&self.job, &self.group),
            namespace => paths::group_state(&format!("{namespace} {}", self.job), &self.group),
        }
    }
}

/// A group with meta for scaling, of a job that may be scaled.
#[derive(Debug, Clone)]
struct Found {
    id: GroupId,
    job: Arc<Job>,
    configuration: GroupConfiguration,
}

impl Found {
    fn group(&self) -> Option<&TaskGroup> {
        self.job.lookup_group(&self.id.group)
    }
}

/// The groups to look at: those of scalable jobs that configure scaling and do not disable it.
fn find(state: &State) -> Vec<Found> {
    let mut found = Vec::new();
    for job in state.jobs().map(|e| &e.current).filter(|j| decision::scalable(j)) {
        for group in &job.task_groups {
            let configuration = GroupConfiguration::read(&group.meta);
            match &configuration {
                GroupConfiguration::Absent => continue,
                GroupConfiguration::Full(p) if !p.enabled => continue,
                GroupConfiguration::Full(_) | GroupConfiguration::Invalid(_) => {}
            }
            let id = GroupId { namespace: job.namespace.clone(), job: job.id.clone(), group: group.name.clone() };
            found.push(Found { id, job: job.clone(), configuration });
        }
    }
    found
}

/// The groups that a loop on this state would look at, with what their state objects say; `record` reads one, `now` in
/// Unix nanoseconds. The status of a group that cannot be read shows the error. What allocations use is left out: nobody
/// was asked.
pub fn stored<E: Display>(state: &State, now: i64, record: impl Fn(&GroupId) -> Result<Record, E>) -> Vec<GroupStatus> {
    let status = |found: Found| {
        let mut status = driver::blank(&found);
        match record(&found.id) {
            Err(error) => {
                let (time, reason) = (Time::from_unix_nanos(now), error.to_string());
                status.last_decision = Decision { time, action: Action::Error, reason };
            }
            Ok(record) => status.note(&record, found.configuration.parameters(), now),
        }
        if let GroupConfiguration::Invalid(problems) = found.configuration {
            status.problems = problems;
        }
        status
    };
    find(state).into_iter().map(status).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::ResourceType;

    #[tokio::test(start_paused = true)]
    async fn stored_groups_are_told_without_a_loop() {
        let fake = fake::Fake::with_job(3, &[("replicator_cooldown", "60")]);
        fake.register("dev", "bad", 1, &[("replicator_max", "many")]);
        let now = fake::START;
        let state = fake.lock().state.snapshot();
        let found = stored(&state, now, |id| {
            let mut record = Record::new(ResourceType::JobGroup, &id.name());
            record.set_failsafe(id.job == "web", "ops", now);
            record.last_scaling_event = Some(Time::from_unix_nanos(now - 20 * encamp_model::SECOND));
            Ok::<_, std::convert::Infallible>(record)
        });
        let [web, bad] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((web.id().name(), web.count, web.failsafe), ("web/g".into(), 3, true));
        assert_eq!(
            (web.cooldown_left, web.cpu, web.last_decision.action),
            (40 * encamp_model::SECOND, None, Action::None)
        );
        assert!(web.failsafe_admin.ends_with(" ops"), "{web:?}");
        assert_eq!((bad.id().name(), bad.problems.len(), bad.failsafe), ("dev/bad/g".into(), 1, false));
        let broken = stored(&state, now, |_| Err("it cannot be read"));
        let decision = &broken[0].last_decision;
        assert_eq!((decision.action, decision.reason.as_str()), (Action::Error, "it cannot be read"));
    }

    #[test]
    fn names_and_paths() {
        let id = |namespace: &str| GroupId { namespace: namespace.into(), job: "a/b".into(), group: "g".into() };
        assert_eq!(id("default").name(), "a/b/g");
        assert_eq!(id("default").state_path(), "encamp/autoscale/state/jobs/a~2Fb/g");
        assert_eq!(id("dev").name(), "dev/a/b/g");
        assert_eq!(id("dev").state_path(), "encamp/autoscale/state/jobs/dev~20a~2Fb/g");
    }
}
