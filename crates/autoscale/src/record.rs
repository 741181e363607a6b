//! The persisted state of a worker pool or a job group (`docs/spec/cluster-scaling.md §8`): one JSON object in a
//! Variable.

use serde::{Deserialize, Serialize};

use encamp_model::Time;

/// The key of the Variable's items that holds the object.
pub const ITEM: &str = "state";

/// The subject of a state object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResourceType {
    /// A worker pool.
    #[default]
    WorkerPool,
    /// A group of a job.
    JobGroup,
}

/// Where a pool goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Fewer nodes.
    In,
    /// More nodes.
    Out,
}

impl Direction {
    /// Both.
    pub const ALL: [Direction; 2] = [Direction::In, Direction::Out];

    /// `in` or `out`.
    pub fn name(self) -> &'static str {
        match self {
            Direction::In => "in",
            Direction::Out => "out",
        }
    }
}

/// A step of an operation. It is written before what it stands for is done (`docs/spec/cluster-scaling.md §5, §6`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Out: the group's desired size is set to the target.
    SetDesired,
    /// Out: the group starts instances until it has as many as desired.
    AwaitInstances,
    /// Out: the new instances register as ready nodes of the pool.
    AwaitNodes,
    /// Out: instances that did not register are terminated, and the group replaces them.
    Replace,
    /// Out: instances that did not register leave the group and keep running; then the pool enters failsafe mode.
    Detach,
    /// In: the node is drained.
    Drain,
    /// In: its allocations end and run elsewhere.
    AwaitDrained,
    /// In: the drain is cancelled and the node becomes eligible again, after a failure.
    CancelDrain,
    /// In: the drain is cancelled and the node becomes eligible again, since its pool needs it.
    TakeBack,
    /// In: the instance is terminated and the group's desired size decremented.
    Terminate,
    /// In: the node is removed from the cluster.
    Purge,
}

/// An operation in progress. There is at most one per pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// Its direction.
    pub direction: Direction,
    /// The step it is at.
    pub step: Step,
    /// The node to remove; empty when scaling out.
    #[serde(default)]
    pub node_id: String,
    /// In: the node's instance. Out: the instances that are waited for, replaced or detached.
    #[serde(default)]
    pub instance_ids: Vec<String>,
    /// When it began, Unix nanoseconds.
    pub started: Time,
    /// When the step began: limits of time count from here.
    pub step_started: Time,
    /// The group's desired size when all is done.
    pub target: i64,
    /// Out: the index of the cluster when it began. Nodes that were created before are not new.
    #[serde(default)]
    pub started_index: u64,
    /// Out: instances that had no node when it began. They are not waited for.
    #[serde(default)]
    pub unregistered: Vec<String>,
}

/// A change of a group's count in progress (`docs/spec/cluster-scaling.md §13`). It is written before the count is set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupScaling {
    /// The count before.
    pub from: i64,
    /// The count after.
    pub to: i64,
    /// When it began, Unix nanoseconds.
    pub started: Time,
    /// The job's CreateIndex: a job that was purged and registered again is another one.
    pub job_create_index: u64,
    /// The job's version when it began; setting the count makes the next one.
    pub job_version: u64,
}

/// The state object.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Record {
    /// The pool, or `job/group`.
    pub resource_name: String,
    /// The subject.
    pub resource_type: ResourceType,
    /// Nothing is evaluated or done until an operator disables it (`docs/spec/cluster-scaling.md §7`).
    pub failsafe_mode: bool,
    /// The operator or component that last changed it, and the time: `TIME NAME`.
    pub failsafe_admin: String,
    /// Failures since the last success.
    pub failure_count: i64,
    /// When the last operation ended well.
    pub last_scaling_event: Option<Time>,
    /// When the last scale-out ended well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_scaleout_event: Option<Time>,
    /// When the last scale-in ended well, or its node was taken back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_scalein_event: Option<Time>,
    /// When a notification was last sent.
    pub last_notification_event: Option<Time>,
    /// When the object was last written.
    pub last_updated: Option<Time>,
    /// Consecutive requests to scale in.
    pub scalein_requests: i64,
    /// Consecutive requests to scale out.
    pub scaleout_requests: i64,
    /// Nodes that were candidates for removal when the last scale-in began, best first; ten at most.
    pub eligible_nodes: Vec<String>,
    /// The operation in progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<Operation>,
    /// The change of a group's count in progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scaling: Option<GroupScaling>,
}

/// A state object that cannot be read. Nothing is done for its pool until an operator repairs or removes it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the state object at {path} cannot be read: {problem}. Remove the Variable to begin with a new one")]
pub struct RecordError {
    /// The Variable.
    pub path: String,
    /// The problem.
    pub problem: String,
}

impl Record {
    /// The state of a resource nothing has happened to yet.
    pub fn new(resource_type: ResourceType, name: &str) -> Record {
        Record { resource_type, resource_name: name.to_string(), ..Record::default() }
    }

    /// Reads the item of a Variable.
    ///
    /// # Errors
    /// It is not a state object.
    pub fn read(path: &str, item: Option<&str>) -> Result<Record, RecordError> {
        let wrong = |problem: String| RecordError { path: path.to_string(), problem };
        let text = item.ok_or_else(|| wrong(format!("it has no item {ITEM:?}")))?;
        serde_json::from_str(text).map_err(|e| wrong(e.to_string()))
    }

    /// The item of the Variable.
    pub fn to_item(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Enters or leaves failsafe mode. Leaving it forgets the failures; the limits of time of an operation that waited
    /// meanwhile restart.
    pub fn set_failsafe(&mut self, enable: bool, who: &str, now: i64) {
        self.failsafe_mode = enable;
        self.failsafe_admin = format!("{} {who}", Time::from_unix_nanos(now));
        if !enable {
            self.failure_count = 0;
            if let Some(operation) = &mut self.operation {
                operation.step_started = Time::from_unix_nanos(now);
            }
        }
    }

    /// Counts a failure; true if it brings the resource into failsafe mode.
    pub fn count_failure(&mut self, retry_threshold: i64, now: i64) -> bool {
        self.failure_count = self.failure_count.saturating_add(1);
        self.enter_failsafe_if_due(retry_threshold, now)
    }

    /// Enters failsafe mode if there are as many failures as the threshold; true if it was not in it.
    pub fn enter_failsafe_if_due(&mut self, retry_threshold: i64, now: i64) -> bool {
        let enters = self.failure_count >= retry_threshold && !self.failsafe_mode;
        if enters {
            self.failsafe_mode = true;
            self.failsafe_admin = format!("{} autoscaler: {} failures", Time::from_unix_nanos(now), self.failure_count);
        }
        enters
    }

    /// Notes an operation of a direction, or another end of one that changed something: cooldowns begin.
    pub fn note_scaling(&mut self, direction: Direction, now: i64) {
        let now = Some(Time::from_unix_nanos(now));
        self.last_scaling_event = now;
        match direction {
            Direction::Out => self.last_scaleout_event = now,
            Direction::In => self.last_scalein_event = now,
        }
    }

    /// Replaces times of operations that lie in the future: a clock was set back.
    pub fn correct_times(&mut self, now: i64) {
        for last in [&mut self.last_scaling_event, &mut self.last_scaleout_event, &mut self.last_scalein_event] {
            if last.and_then(Time::unix_nanos).is_some_and(|last| last > now) {
                *last = Some(Time::from_unix_nanos(now));
            }
        }
    }

    /// Forgets what was requested so far.
    pub fn reset_requests(&mut self) {
        self.scalein_requests = 0;
        self.scaleout_requests = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_survive_the_way_through_a_variable() {
        let mut r = Record::new(ResourceType::WorkerPool, "web");
        r.operation = Some(Operation {
            direction: Direction::In,
            step: Step::AwaitDrained,
            node_id: "n".into(),
            instance_ids: vec!["i-1".into()],
            started: Time::from_unix_nanos(1_700_000_000_000_000_000),
            step_started: Time::from_unix_nanos(1_700_000_001_000_000_000),
            target: 3,
            started_index: 7,
            unregistered: Vec::new(),
        });
        assert!(!r.count_failure(2, 0));
        assert!(r.count_failure(2, 0));
        assert!(!r.count_failure(2, 0), "it is entered once");
        assert_eq!(Record::read("p", Some(&r.to_item())), Ok(r.clone()));
        assert!(r.to_item().contains(r#""step":"await_drained""#), "{}", r.to_item());
        r.set_failsafe(false, "ops", 0);
        assert_eq!((r.failure_count, r.failsafe_mode), (0, false));
        let damaged = Record::read("a/b", Some("{")).unwrap_err().to_string();
        assert!(damaged.starts_with("the state object at a/b cannot be read: EOF"), "{damaged}");
    }
}
