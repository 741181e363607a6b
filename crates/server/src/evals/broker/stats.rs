//! Statistics of the broker and of its deliveries (`docs/spec/server.md §4.9, §24`).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use encamp_model::{Evaluation, JobType};

/// The text of [`QueueName::Failed`].
const FAILED: &str = "_failed";

/// A queue of the broker. It is a text in messages and metrics.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum QueueName {
    /// The evaluations for the scheduler of a job type.
    Scheduler(JobType),
    /// The evaluations that reached the delivery limit.
    Failed,
}

impl From<String> for QueueName {
    fn from(text: String) -> QueueName {
        if text == FAILED { QueueName::Failed } else { QueueName::Scheduler(text.into()) }
    }
}

impl From<QueueName> for String {
    fn from(name: QueueName) -> String {
        name.to_string()
    }
}

impl fmt::Display for QueueName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueueName::Scheduler(scheduler) => scheduler.fmt(f),
            QueueName::Failed => f.pad(FAILED),
        }
    }
}

/// The number of evaluations by state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// Ready to be dequeued.
    pub ready: usize,
    /// Dequeued, but not yet acked.
    pub unacked: usize,
    /// Waiting behind another evaluation of their job.
    pub pending: usize,
    /// Waiting for a time: delayed or nacked evaluations.
    pub waiting: usize,
    /// Waiting to be cancelled.
    pub cancelable: usize,
    /// Waiting for their `WaitUntil`; included in `waiting`.
    pub delayed: usize,
    /// Counts by queue. Includes all queues that were used since the last flush.
    pub by_queue: BTreeMap<QueueName, QueueStats>,
}

/// The counts of one queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueueStats {
    /// Ready to be dequeued.
    pub ready: usize,
    /// Dequeued, but not yet acked.
    pub unacked: usize,
}

/// A delivered evaluation.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// The evaluation to process.
    pub eval: Arc<Evaluation>,
    /// Proves that the worker holds the evaluation.
    pub token: String,
    /// The queue that the evaluation was dequeued from.
    pub queue: QueueName,
    /// The number of deliveries, including this one.
    pub deliveries: u32,
    /// Nanoseconds between enqueue and dequeue (metric `wait_time`); unknown for restored evaluations.
    pub wait: Option<i64>,
}

/// The outcome of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The worker acked the evaluation.
    Acked,
    /// The worker nacked the evaluation.
    Nacked,
    /// The worker did not report within [`super::NACK_TIMEOUT`].
    TimedOut,
}

/// An evaluation whose delivery ended.
#[derive(Debug, Clone)]
pub struct Finished {
    /// The evaluation.
    pub eval: Arc<Evaluation>,
    /// The outcome of the delivery.
    pub ending: Ending,
    /// Nanoseconds since the dequeue (metric `process_time`).
    pub process: i64,
    /// Nanoseconds since the enqueue (metric `response_time`); unknown for restored evaluations.
    pub response: Option<i64>,
}
