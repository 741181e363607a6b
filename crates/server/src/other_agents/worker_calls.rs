//! The calls from the workers of a follower to the leader (`docs/spec/server.md §6`, `§7.1`): they dequeue evaluations and
//! report the results. The follower schedules on its own state.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::evals::broker::{Delivery, QueueName};
use crate::other_agents::plan_codec::Verdict;
use encamp_model::*;

/// A call of a worker. `id` and `token` are those of its evaluation.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum WorkerCall {
    /// Dequeues an evaluation for one of these schedulers.
    Dequeue {
        /// The types of jobs that the worker schedules.
        schedulers: Vec<JobType>,
        /// How long to wait for one.
        wait: Duration,
    },
    /// Acks or nacks the evaluation.
    End {
        /// ID of the evaluation.
        id: String,
        /// Its token.
        token: String,
        /// Whether the evaluation is acked; otherwise it is nacked and will be delivered again.
        done: bool,
    },
    /// Checks that this worker still holds the evaluation, and restarts its nack timer.
    StillOurs {
        /// ID of the evaluation.
        id: String,
        /// Its token.
        token: String,
    },
    /// Submits a plan.
    Submit {
        /// Token of the plan's evaluation.
        token: String,
        /// The plan; allocations of the plan's own job are sent without the job.
        plan: Box<Plan>,
        /// The index of the snapshot that the plan was made on.
        snapshot_index: u64,
    },
    /// Writes an evaluation.
    Write {
        /// ID of the evaluation that the worker holds.
        id: String,
        /// Its token.
        token: String,
        /// The evaluation to write, which may be a different one.
        eval: Box<Evaluation>,
    },
    /// Blocks the evaluation again until there is capacity for it.
    Block {
        /// Its token.
        token: String,
        /// The evaluation.
        eval: Box<Evaluation>,
    },
}

impl WorkerCall {
    /// The timer metric of the corresponding endpoint (`docs/spec/server.md §24`).
    pub(crate) fn metric(&self) -> &'static str {
        match self {
            WorkerCall::Dequeue { .. } => "nomad.eval.dequeue",
            WorkerCall::End { done: true, .. } => "nomad.eval.ack",
            WorkerCall::End { done: false, .. } => "nomad.eval.nack",
            WorkerCall::StillOurs { .. } => "nomad.eval.reset",
            WorkerCall::Submit { .. } => "nomad.plan.submit",
            WorkerCall::Write { .. } => "nomad.eval.update",
            WorkerCall::Block { .. } => "nomad.eval.reblock",
        }
    }
}

/// The result of a call.
#[derive(Debug, Default, Serialize, Deserialize)]
pub enum Outcome {
    /// The call succeeded and returns nothing.
    #[default]
    Done,
    /// A dequeued evaluation.
    Taken(Box<Taken>),
    /// The result of a plan.
    Planned(Box<Verdict>),
}

/// An evaluation that was dequeued by another server.
#[derive(Debug, Serialize, Deserialize)]
pub struct Taken {
    /// The evaluation.
    pub eval: Arc<Evaluation>,
    /// Proves that the worker holds the evaluation.
    pub token: String,
    /// The queue that the evaluation was dequeued from.
    pub queue: QueueName,
    /// How many times the evaluation has been delivered.
    pub deliveries: u32,
    /// Nanoseconds between enqueue and dequeue.
    pub wait: Option<i64>,
    /// The evaluation must be scheduled on a state of at least this index.
    pub least_index: u64,
}

impl Taken {
    /// Returns the delivery as the local broker would have made it, and the minimum index.
    pub fn delivery(self) -> (Delivery, u64) {
        let Taken { eval, token, queue, deliveries, wait, least_index } = self;
        (Delivery { eval, token, queue, deliveries, wait }, least_index)
    }
}
