//! What the broker tells about itself and about what passes through it (`docs/spec/server.md §4.9, §24`).

use std::collections::BTreeMap;
use std::sync::Arc;

use encamp_model::Evaluation;

/// How many evaluations are where.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// Can be handed out.
    pub ready: usize,
    /// Handed out.
    pub unacked: usize,
    /// Wait behind another evaluation of their job.
    pub pending: usize,
    /// Wait for a time: delayed ones, and nacked ones.
    pub waiting: usize,
    /// To be cancelled.
    pub cancelable: usize,
    /// Wait for their `WaitUntil`; contained in `waiting`.
    pub delayed: usize,
    /// By queue: scheduler names, `_core`, `_failed`. Queues that were used since the last flush.
    pub by_scheduler: BTreeMap<String, QueueStats>,
}

/// The part of one queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueueStats {
    /// Can be handed out.
    pub ready: usize,
    /// Handed out.
    pub unacked: usize,
}

/// An evaluation that was handed out.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// What to look at.
    pub eval: Arc<Evaluation>,
    /// Proves that the evaluation is held.
    pub token: String,
    /// The queue it came from.
    pub queue: String,
    /// How often it was handed out, this time included.
    pub deliveries: u32,
    /// Nanoseconds since it was enqueued (metric `wait_time`); unknown for restored ones.
    pub wait: Option<i64>,
}

/// How a delivery ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The worker is done with it.
    Acked,
    /// The worker gave it back.
    Nacked,
    /// Nobody was heard of for [`super::NACK_TIMEOUT`].
    TimedOut,
}

/// An evaluation that came back.
#[derive(Debug, Clone)]
pub struct Finished {
    /// Which one.
    pub eval: Arc<Evaluation>,
    /// Why it is not out any more.
    pub ending: Ending,
    /// Nanoseconds since it was handed out (metric `process_time`).
    pub process: i64,
    /// Nanoseconds since it was enqueued (metric `response_time`); unknown for restored ones.
    pub response: Option<i64>,
}
