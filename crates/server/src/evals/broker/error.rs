//! What the broker refuses, in the words of the API.

use thiserror::Error;

/// Version of the scheduling rules: workers with another one get no evaluations.
pub const SCHEDULER_VERSION: u64 = 1;

/// Why a call on the broker failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BrokerError {
    /// Not the leader, or paused by the operator.
    #[error("eval broker disabled")]
    Disabled,
    /// Ack or nack of an evaluation that is not out.
    #[error("Evaluation ID not found")]
    NotFound,
    /// Ack or nack with the token of an earlier delivery.
    #[error("Token does not match for Evaluation ID")]
    WrongToken,
    /// The nack timer fired before the ack came; the evaluation will be handed out again.
    #[error("Evaluation ID Ack'd after Nack timer expiration")]
    TooLate,
    /// A call about the nack timer of an evaluation that is not out.
    #[error("evaluation is not outstanding")]
    NotOutstanding,
    /// A call about the nack timer with the token of an earlier delivery.
    #[error("evaluation token does not match")]
    TokenMismatch,
    /// A call about a nack timer that has fired.
    #[error("evaluation nack timeout reached")]
    NackTimeoutReached,
    /// A request for evaluations that names no scheduler.
    #[error("dequeue requires at least one scheduler type")]
    NoSchedulers,
    /// A request for evaluations by a worker with other rules.
    #[error("dequeue disallowed: calling scheduler version is {caller}; leader version is {SCHEDULER_VERSION}")]
    SchedulerVersion {
        /// The worker's version.
        caller: u64,
    },
}

/// Checks a request for evaluations (`docs/spec/server.md §4.4`).
pub fn check_request<S: AsRef<str>>(schedulers: &[S], version: u64) -> Result<(), BrokerError> {
    if schedulers.is_empty() {
        return Err(BrokerError::NoSchedulers);
    }
    if version != SCHEDULER_VERSION {
        return Err(BrokerError::SchedulerVersion { caller: version });
    }
    Ok(())
}
