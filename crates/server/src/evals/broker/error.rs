//! Errors of the broker, with the texts of the API.

use crate::error::Error;
use encamp_model::JobType;

/// Version of the scheduling rules: workers with a different version get no evaluations.
pub const SCHEDULER_VERSION: u64 = 1;

/// An error of the broker.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BrokerError {
    /// This server is not the leader, or the operator paused the broker.
    #[error("eval broker disabled")]
    Disabled,
    /// Ack or nack of an evaluation that is not outstanding.
    #[error("Evaluation ID not found")]
    NotFound,
    /// Ack or nack with the token of an earlier delivery.
    #[error("Token does not match for Evaluation ID")]
    WrongToken,
    /// The nack timer fired before the ack; the evaluation will be delivered again.
    #[error("Evaluation ID Ack'd after Nack timer expiration")]
    TooLate,
    /// A nack timer call for an evaluation that is not outstanding.
    #[error("evaluation is not outstanding")]
    NotOutstanding,
    /// A nack timer call with the token of an earlier delivery.
    #[error("evaluation token does not match")]
    TokenMismatch,
    /// A nack timer call after the timer fired.
    #[error("evaluation nack timeout reached")]
    NackTimeoutReached,
    /// A dequeue request without a scheduler.
    #[error("dequeue requires at least one scheduler type")]
    NoSchedulers,
    /// A dequeue request of a worker with different scheduling rules.
    #[error("dequeue disallowed: calling scheduler version is {caller}; leader version is {SCHEDULER_VERSION}")]
    SchedulerVersion {
        /// The worker's version.
        caller: u64,
    },
}

impl From<BrokerError> for Error {
    fn from(e: BrokerError) -> Error {
        Error::internal(e.to_string())
    }
}

/// Validates a dequeue request (`docs/spec/server.md §4.4`).
pub fn check_request(schedulers: &[JobType], version: u64) -> Result<(), BrokerError> {
    if schedulers.is_empty() {
        return Err(BrokerError::NoSchedulers);
    }
    if version != SCHEDULER_VERSION {
        return Err(BrokerError::SchedulerVersion { caller: version });
    }
    Ok(())
}
