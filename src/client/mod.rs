//! The node agent: fingerprints, allocation and task runners, drivers, logs (`spec/client.md`).
//!
//! - [`config`]: what the agent is told. [`servers`]: what it asks of the servers. [`types`]: what it answers.
//! - [`policy`]: decisions without a runtime. [`events`]: task events and states.
//! - [`drivers`]: what runs tasks. [`dirs`], [`files`], [`logs`]: their files. [`procfs`]: their processes.
//! - [`clock`], [`ranges`]: small things.

pub mod clock;
pub mod config;
pub mod dirs;
pub mod drivers;
pub mod env;
pub mod error;
pub mod events;
pub mod files;
pub mod fingerprint;
pub mod logs;
pub mod policy;
pub mod procfs;
pub mod ranges;
pub mod servers;
#[cfg(test)]
mod testing;
pub mod types;

pub use config::Config;
pub use error::{ClientError, StartError};
pub use servers::Servers;
