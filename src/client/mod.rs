//! The node agent: fingerprints, allocation and task runners, drivers, logs (`spec/client.md`).
//!
//! - [`config`]: what the agent is told. [`servers`]: what it asks of the servers. [`types`]: what it answers.
//! - [`policy`]: decisions without a runtime. [`events`]: task events and states.

pub mod config;
pub mod error;
pub mod events;
pub mod policy;
pub mod servers;
pub mod types;

pub use config::Config;
pub use error::{ClientError, StartError};
pub use servers::Servers;
