//! The audit log of an agent (`docs/spec/agent-config.md §5.13`): who did what on which object, with which result.
//!
//! - [`event`]: a row of the log and its JSON form. [`filter`]: which rows are left out. Both are pure.
//! - [`secrets`]: keyed hashes of secrets, so that rows with the same secret can be found without knowing it.
//! - [`chain`]: numbers and hashes that show whether rows are missing. [`verify`]: looks for that in files.
//! - `file`: a log file with its rotation. `sink`: the thread that writes it, and who waits for it.
//! - [`log`]: the sinks, filters and key of an agent as one [`AuditLog`].
//!
//! **May use** `encamp_host`, `encamp_model`, `encamp_telemetry`. **Never** decides what is allowed, and knows neither HTTP
//! nor tokens: `encamp_http` describes its requests.

#![warn(missing_docs)]

pub mod chain;
#[cfg(test)]
mod chain_tests;
pub mod event;
mod file;
pub mod filter;
pub mod log;
pub mod secrets;
mod sink;
#[cfg(test)]
mod tests;
pub mod verify;

pub use event::{Auth, AuthKind, Decision, Event, Payload, PayloadKind, RequestInfo, ResponseInfo, Stage};
pub use filter::{Filter, Filters};
pub use log::{AuditLog, OpenError, Settings};
pub use sink::{FileSettings, Guarantee, SinkSettings, WriteError, WriteFailure};
