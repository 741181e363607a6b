//! Errors on the way from an evaluation to a committed plan.

use super::plan_queue::PlanQueueDisabled;
use crate::error::Error;
use crate::evals::broker::BrokerError;
use encamp_ops::Refusal;

/// Why a plan was not applied, or why an evaluation was not processed: the evaluation is delivered again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PipelineError {
    /// The state did not reach an index in time.
    #[error("timed out after {seconds}s waiting for index={index}")]
    Late {
        /// How long was waited.
        seconds: u64,
        /// The index.
        index: u64,
    },
    /// The job version that a plan was made for is not retained any more.
    #[error("version {version} of job {job:?} in namespace {namespace:?} not found")]
    JobVersionGone {
        /// The version.
        version: u64,
        /// The job.
        job: String,
        /// Its namespace.
        namespace: String,
    },
    /// A new evaluation has the ID of a stored one.
    #[error("evaluation already exists")]
    EvalExists,
    /// The evaluation that is to be blocked again does not exist.
    #[error("evaluation does not exist")]
    EvalGone,
    /// The evaluation that is to be blocked again is not blocked in the store.
    #[error("evaluation not blocked")]
    EvalNotBlocked,
    /// The worker does not hold the evaluation any more.
    #[error(transparent)]
    Broker(#[from] BrokerError),
    /// This server does not lead, or does not apply plans yet.
    #[error(transparent)]
    QueueDisabled(#[from] PlanQueueDisabled),
    /// The server stopped leading while the plan was queued.
    #[error("plan queue flushed")]
    Flushed,
    /// The plan was not answered.
    #[error("the plan was dropped")]
    Dropped,
    /// The server stops.
    #[error("shutdown while planning")]
    Stopping,
    /// The state machine refuses the plan.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A call to the leader or a write failed.
    #[error(transparent)]
    Call(#[from] Error),
    /// The leader answered the submission of a plan without a result.
    #[error("the leader gave no answer to the plan")]
    NoResult,
    /// The kind of a core evaluation is unknown.
    #[error("core scheduler cannot handle job '{0}'")]
    UnknownCoreJob(String),
    /// The scheduler failed: its error.
    #[error("{0}")]
    Scheduler(String),
    /// The scheduler panicked.
    #[error("the scheduler panicked")]
    Panicked,
}

impl From<PipelineError> for Error {
    fn from(e: PipelineError) -> Error {
        match e {
            PipelineError::Call(e) => e,
            PipelineError::Refused(e) => e.into(),
            PipelineError::QueueDisabled(e) => e.into(),
            PipelineError::Broker(e) => e.into(),
            PipelineError::Late { .. }
            | PipelineError::JobVersionGone { .. }
            | PipelineError::EvalExists
            | PipelineError::EvalGone
            | PipelineError::EvalNotBlocked
            | PipelineError::Flushed
            | PipelineError::Dropped
            | PipelineError::Stopping
            | PipelineError::NoResult
            | PipelineError::UnknownCoreJob(_)
            | PipelineError::Scheduler(_)
            | PipelineError::Panicked => Error::internal(e.to_string()),
        }
    }
}
