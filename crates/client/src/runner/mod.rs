//! Runs allocations and their tasks (`docs/spec/client.md §9`, `§10`).
//!
//! - [`alloc`]: the allocation runner, and [`alloc_loop`] its life: pre-run hooks, the tasks and their dependencies,
//!   post-run hooks. [`actions`]: requests to a running allocation. [`collect`]: its place in local collection, and its
//!   removal. `shared`: what all runners of a node share.
//! - [`task`]: the task runner, and `task_loop` its loop of starts and restarts. `orders`: what it is to do. [`setup`]: preparation and start of a
//!   task. [`kill`]: kills a task. [`identity`]: workload identity tokens, which `tokens` holds.
//! - `artifacts`: downloads before the start. `disk`: the disk of the predecessor. `csi`: tasks that are storage
//!   plugins, and the CSI volumes of allocations. `templates`: templates. `volumes`: what is mounted in tasks.
//! - `network`: the network of an allocation. [`services`]: services and checks. [`metrics`]: metrics. [`error`]: errors.

pub mod actions;
pub mod alloc;
pub mod alloc_loop;
mod artifacts;
pub mod collect;
mod csi;
mod disk;
pub mod error;
pub mod identity;
pub mod kill;
pub mod metrics;
mod network;
mod orders;
pub mod services;
pub mod setup;
mod shared;
pub mod task;
mod task_loop;
mod templates;
mod tokens;
mod volumes;

pub use self::shared::Shared;
