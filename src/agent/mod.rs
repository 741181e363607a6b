//! The agent: configuration, wiring of server, client and HTTP interface, signals (`docs/spec/agent-config.md`).
//!
//! - [`config`]: files, flags, defaults, validation. [`log`]: messages and those who watch them.
//! - [`server_settings`], [`client_settings`]: what server and node are told. [`network`]: the ways to other agents.
//! - [`control`], [`local_client`]: agent and node as the HTTP interface sees them. [`export`]: messages of the
//!   past. [`profile`]: what the process does.
//! - [`autoscale`]: worker pools that size themselves.
//! - [`start`]: the running agent; its server has threads of its own ([`workplace`]). [`notify`]: news for systemd.

pub mod autoscale;
pub mod client_settings;
pub mod config;
pub mod control;
pub mod export;
pub mod local_client;
pub mod log;
pub mod network;
pub mod notify;
pub mod profile;
pub mod server_settings;
pub mod start;
mod workplace;

pub use config::Config;
pub use log::Logs;
pub use start::{Agent, Reloader, StartError};
