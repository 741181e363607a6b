//! `docker`: tasks are containers of a daemon that speaks Docker's interface, such as Docker or the service of Podman
//! (`docs/spec/client.md §23.3`).
//!
//! - `settings`: the agent's settings. `task_config`: the `config` block of a task. `connect`: the connection to the
//!   daemon.
//! - `images`: pulls and removal of images; `auth`: logins at registries; `progress`: how far a pull is.
//! - `driver`: the driver; `driver_state`: what it shares with its tasks.
//! - `create`: the container of a task; `limits`: what it may do and use; `mounts`: what is mounted in it.
//! - `running_container`: a running container; `container_state`: its state as the daemon has it; `exec`: commands in
//!   it; `stats`: what it uses.
//! - [`log_process`]: the process that collects its output; `logs`: the agent's side of that.
//! - `network`: network namespaces of allocations; `network_holder`: the container that holds one.
//! - `fingerprint`: whether the daemon is there. `dangling`: containers that belong to no task; `leftovers`:
//!   those that are left when the agent ends in development mode.

mod auth;
mod connect;
mod container_state;
mod create;
mod dangling;
mod driver;
mod driver_state;
mod exec;
mod fingerprint;
mod images;
mod leftovers;
mod limits;
pub mod log_process;
mod logs;
mod mounts;
mod network;
mod network_holder;
mod progress;
mod running_container;
mod settings;
mod stats;
pub(super) mod task_config;

pub use self::connect::DaemonError;
pub(crate) use self::driver::Docker;

/// Asks a daemon what the driver asks about a container and an image, and tells whether all answers could be used. For
/// fuzzers of the answers.
#[doc(hidden)]
pub async fn ask(endpoint: &str) -> bool {
    let daemon = std::sync::Arc::new(connect::Daemon::new(endpoint));
    let mut usable = container_state::look(&daemon, "c").await.is_ok();
    let samples = stats::Samples::default();
    samples.fetch(&daemon, "c", 2000.0).await;
    usable &= samples.known().is_some();
    usable &= images::Images::new(daemon.clone()).pull_alone("image:1").await.is_ok();
    match dangling::of_allocations(&daemon).await {
        Ok(containers) => usable &= dangling::without_tasks(&containers, "n") <= containers.len(),
        Err(_) => usable = false,
    }
    usable & container_state::remove(&daemon, "c").await.is_ok()
}
