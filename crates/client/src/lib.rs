//! The node agent: fingerprints, allocation and task runners, drivers, logs (`docs/spec/client.md`).
//!
//! [`Client`] is a running node, [`Handle`] gives access to it.
//!
//! - [`config`]: its settings. [`agent_services`]: what the agent does for it. [`servers`]: its calls to the servers.
//!   [`responses`]: its responses.
//! - [`agent`]: its loops. [`runner`]: allocations and their tasks. [`node_handle`]: requests to it.
//! - [`policy`]: decisions without a runtime. [`events`]: task events and states. [`mod@env`]: environments of tasks.
//! - [`drivers`]: task drivers. [`directory`], [`alloc_dir`], [`alloc_files`], [`logs`]: files of tasks. [`disk`]:
//!   disks that move to other nodes. [`processes`], [`cgroups`], [`netns`]: processes of tasks. `users`: their users.
//! - [`artifacts`]: downloads before tasks start. [`services`]: services and their checks. [`task_api`]: the HTTP API
//!   for tasks. [`templates`]: templates of tasks.
//! - `host_volumes`: plugins of dynamic host volumes. `csi`: storage plugins. [`network`]: networks of allocations and
//!   their plugins. `programs`: runs of plugins.
//! - [`fingerprint`]: properties of the host. [`mounts`]: its mounted file systems. [`store`]: persisted state.
//!   [`clock`], [`ranges`], `hex`: helpers.
//!
//! **May use** `encamp_csi`, `encamp_model`, `encamp_telemetry`, `encamp_template`; calls to the servers go through the
//! trait [`Servers`], reads of templates through [`templates::ApiReads`], reads of disks of other nodes through
//! [`disk::DiskReads`].
//! **Never** holds scheduling, HTTP types.

#![warn(missing_docs)]

pub mod agent;
pub mod agent_services;
pub mod alloc_dir;
pub mod alloc_files;
pub mod artifacts;
pub mod cgroups;
pub mod clock;
pub mod config;
mod csi;
pub mod directory;
pub mod disk;
pub mod drivers;
pub mod env;
pub mod error;
pub mod events;
pub mod fingerprint;
mod hex;
mod host_volumes;
pub mod logs;
pub mod mounts;
pub mod netns;
pub mod network;
pub mod node_handle;
pub mod policy;
pub(crate) mod processes;
mod programs;
pub mod ranges;
pub mod responses;
pub mod runner;
pub mod servers;
pub mod services;
pub mod store;
pub mod task_api;
pub mod templates;
#[cfg(test)]
mod testing;
mod users;

pub use agent_services::AgentServices;
pub use config::Config;
pub use error::{ClientError, DrainError, StartError, Unhealthy};
pub use node_handle::Handle;
pub use servers::Servers;
pub use task_api::TaskApi;

/// A running node.
pub struct Client {
    running: agent::start::Running,
}

impl Client {
    /// Starts a node: makes or finds its directories, identity and earlier allocations, then registers and goes on in
    /// the background. Needs a tokio runtime.
    pub async fn start(config: Config, services: AgentServices) -> Result<Client, StartError> {
        let started = tokio::task::spawn_blocking(move || agent::start::start(config, services)).await;
        let running = started.map_err(|e| StartError::Config(e.to_string()))??;
        Ok(Client { running })
    }

    /// A way to the node, for everybody who asks something of it.
    pub fn handle(&self) -> Handle {
        Handle::new(self.running.agent.clone())
    }

    /// Drains the node before a graceful leave, if the settings say so; [`Client::shutdown`] comes after that.
    pub async fn leave(&self) -> Result<(), DrainError> {
        self.running.leave().await
    }

    /// Stops the node. In development mode all allocations are destroyed; else their tasks stay and the next start
    /// finds them again.
    pub async fn shutdown(self) {
        self.running.shutdown().await;
    }
}
