//! The errors of schedulers.

use std::error::Error as StdError;

use encamp_model::JobType;
use thiserror::Error;

/// Why an evaluation was not processed. Nothing was decided; the evaluation is to be delivered again.
#[derive(Debug, Error)]
pub enum ScheduleError {
    /// No scheduler processes evaluations of this type.
    #[error("no scheduler for evaluations of type {0:?}")]
    UnknownType(JobType),
    /// The ID of the evaluation is too short to shuffle nodes by.
    #[error("evaluation ID {0:?} is shorter than 8 bytes")]
    ShortId(String),
    /// The planner did not take a plan.
    #[error(transparent)]
    Submit(#[from] SubmitError),
    /// The planner accepted a plan in part, but gave no newer state to plan the rest on.
    #[error("missing state refresh after partial commit")]
    NoRefresh,
    /// The caller ended it ([`Context::stop`](crate::Context::stop)).
    #[error("stopped before every placement was decided")]
    Stopped,
}

/// A planner did not take a plan. Displays as the planner's own error.
#[derive(Debug, Error)]
#[error(transparent)]
pub struct SubmitError(Box<dyn StdError + Send + Sync>);

impl SubmitError {
    /// The error of a planner for this reason.
    pub fn new(reason: impl Into<Box<dyn StdError + Send + Sync>>) -> SubmitError {
        SubmitError(reason.into())
    }
}
