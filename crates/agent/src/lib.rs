//! The agent: configuration, wiring of server, client and HTTP interface, signals (`docs/spec/agent-config.md`).
//!
//! - [`config`]: files, flags, defaults, validation. [`log`]: log messages and their outputs.
//! - [`server_settings`], [`client_settings`]: the settings of server and node. [`network`]: connections to other
//!   agents.
//! - [`tls`]: TLS of the ports and of calls to other agents, replaced by a reload.
//! - [`control`], [`local_client`]: agent and node as seen by the HTTP interface. [`export`]: past log messages.
//!   [`profile`]: profiles of the process.
//! - [`csi_plugins`]: how the server asks the storage plugins of nodes. [`disk_reads`]: disks of other nodes.
//!   `external_plugins`: the plugins that are not run.
//! - [`autoscale`]: scaling of worker pools.
//! - [`web_ui`]: the pages of the agent. [`frozen`]: the HTTP API over a state that never changes.
//! - [`vital_signs`]: whether the running agent still works.
//! - [`start`]: the running agent; its server has separate threads ([`workplace`]).

pub mod autoscale;
pub mod client_settings;
pub mod config;
pub mod control;
pub mod csi_plugins;
pub mod disk_reads;
pub mod export;
mod external_plugins;
pub mod frozen;
pub mod local_client;
pub mod log;
pub mod network;
pub mod profile;
pub mod server_settings;
pub mod start;
pub mod tls;
pub mod vital_signs;
pub mod web_ui;
mod workplace;

pub use config::Config;
pub use log::Logs;
pub use start::{Agent, ReloadError, Reloader, StartError};
