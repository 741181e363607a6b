//! The agent: configuration, wiring of server, client and HTTP interface, signals (`spec/agent-config.md`).
//!
//! - [`config`]: files, flags, defaults, validation. [`log`]: messages and those who watch them.
//! - [`start`]: the running agent. [`routes`]: what the agent itself answers. [`notify`]: news for systemd.

pub mod config;
pub mod log;
pub mod notify;
pub mod routes;
pub mod start;

pub use config::Config;
pub use log::Logs;
pub use start::{Agent, Reloader, StartError};
