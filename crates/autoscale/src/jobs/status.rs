//! The status of a job's group for operators (`docs/spec/cluster-scaling.md §13`).

use serde::{Deserialize, Serialize};

use super::GroupId;
use super::params::GroupParameters;
use crate::record::{Direction, Record};
use crate::status::Decision;

/// A group as operators see it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct GroupStatus {
    /// Namespace of the job.
    pub namespace: String,
    /// The job.
    #[serde(rename = "JobID")]
    pub job: String,
    /// The group.
    pub group: String,
    /// Allocations it is meant to have.
    pub count: i64,
    /// The fewest allocations.
    pub min: i64,
    /// The most allocations.
    pub max: i64,
    /// CPU usage of its allocations in percent of the requested CPU; none if it is not known.
    #[serde(rename = "CPU")]
    pub cpu: Option<f64>,
    /// The same of memory.
    pub memory: Option<f64>,
    /// Running allocations.
    pub running: usize,
    /// How many of them reported their usage.
    pub measured: usize,
    /// How long until its count may be changed in both directions, nanoseconds.
    pub cooldown_left: i64,
    /// How long until it may get one allocation fewer, nanoseconds.
    pub scale_in_cooldown_left: i64,
    /// How long until it may get one allocation more, nanoseconds.
    pub scale_out_cooldown_left: i64,
    /// The group is in failsafe mode.
    pub failsafe: bool,
    /// The operator or component that last entered or left it, and the time.
    pub failsafe_admin: String,
    /// Failures since the last success.
    pub failures: i64,
    /// The change in progress, in words.
    pub operation: String,
    /// The last decision.
    pub last_decision: Decision,
    /// Problems of its meta, one line each. Such a group is not scaled.
    pub problems: Vec<String>,
}

impl GroupStatus {
    /// Which group it is.
    pub fn id(&self) -> GroupId {
        GroupId { namespace: self.namespace.clone(), job: self.job.clone(), group: self.group.clone() }
    }

    /// Takes over what a state object says at `now` (Unix nanoseconds).
    pub fn note(&mut self, record: &Record, parameters: Option<&GroupParameters>, now: i64) {
        self.failsafe = record.failsafe_mode;
        self.failsafe_admin.clone_from(&record.failsafe_admin);
        self.failures = record.failure_count;
        let left = |direction| parameters.map_or(0, |p| p.cooldown.nanos_left(direction, record, now));
        (self.scale_in_cooldown_left, self.scale_out_cooldown_left) = (left(Direction::In), left(Direction::Out));
        self.cooldown_left = self.scale_in_cooldown_left.max(self.scale_out_cooldown_left);
        let scaling = record.scaling.as_ref();
        self.operation =
            scaling.map(|s| format!("count {} to {} since {}", s.from, s.to, s.started)).unwrap_or_default();
    }
}
