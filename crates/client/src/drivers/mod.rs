//! Task drivers (`docs/spec/client.md §23`).
//!
//! - [`raw_exec`]: processes of the host, each under a supervisor process of its own ([`supervisor`]). [`mock`]:
//!   simulated tasks.
//! - [`exec`], [`java`]: processes with a root of their own. [`launch`]: starts tasks that have a supervisor.
//! - [`docker`]: containers of a daemon that speaks Docker's interface.
//! - [`driver`]: what drivers and their tasks do. [`start`]: what a driver gets to start a task. [`command`]: commands beside tasks.
//! - [`signals`]: names of signals. [`config_block`]: values of a task's `config` block.
//! - [`network`]: networks of allocations.

mod command;
pub mod config_block;
pub mod docker;
mod driver;
pub mod exec;
pub(crate) mod java;
mod launch;
pub mod mock;
pub mod network;
pub mod raw_exec;
pub mod signals;
mod start;
mod supervised_task;
pub mod supervisor;

pub use self::command::{ExecError, ExecInput, ExecOutput, ExecRequest, ExecSession};
pub use self::driver::{
    BUILT_IN, Capabilities, Driver, DriverError, Exit, Fingerprint, Isolation, RunningTask, Started,
};
pub use self::start::{
    Compute, DriverNetwork, Events, Killed, Mount, MountedVolume, Names, Propagation, StartFailure, StartTask,
    VolumeMounts,
};
pub use crate::logs::rotate::LogSettings;
