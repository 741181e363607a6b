//! Commands for operators (`docs/spec/cli.md §14`).
//!
//! - [`scheduler`]: the scheduler configuration. [`raft`]: the Raft peers. [`autopilot`]: the Autopilot configuration
//!   and health. [`keyring`]: the root encryption keys. [`gossip`]: keys of gossip.
//! - [`snapshot`]: saving and restoring the state of the servers. [`archive`]: the content of what was saved. [`redact`]:
//!   what was saved without its secrets.
//! - [`debug`]: a support archive. [`client_state`]: the stored state of a node.
//! - [`audit`]: the files of audit logs. [`api`]: raw API requests. [`metrics`]: metrics.

pub mod api;
pub mod archive;
#[cfg(feature = "agent")]
pub mod audit;
pub mod autopilot;
#[cfg(feature = "agent")]
pub mod client_state;
pub mod debug;
pub mod gossip;
pub mod keyring;
pub mod metrics;
pub mod raft;
pub mod raft_files;
pub mod redact;
pub mod scheduler;
pub mod snapshot;
