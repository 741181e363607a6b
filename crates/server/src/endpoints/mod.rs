//! The calls of operators (over HTTP) and of tasks: rules and texts, no HTTP types. The calls of nodes are in
//! [`nodes`](crate::nodes).
//!
//! - [`job`]: registering, planning and validating jobs. [`job_changes`]: stopping, evaluating, launching, reverting
//!   and tagging them. [`dispatch`], [`scale`]. [`job_reads`]: read calls.
//! - [`eval`], [`alloc`], [`deployment`]: evaluations, allocations, deployments.
//! - [`identity`]: identity tokens of tasks, introduction tokens of nodes. [`previous_disk`]: disks that move between
//!   nodes.
//! - [`node`], [`pool`], [`namespace`], [`operator`], [`system`], [`service`], [`keyring`]: cluster operations.
//!   [`forced_gc`]: a forced run of garbage collection that somebody waits for.
//! - [`acl`]: policies, tokens, roles, auth methods. [`variables`]: variables and their locks. [`volume`]: host volumes.
//!   [`csi`]: CSI volumes.
//! - [`search`]: searching objects by the prefix of their IDs, or by a part of their names.

pub mod acl;
pub mod alloc;
pub mod csi;
pub mod deployment;
pub mod dispatch;
pub mod eval;
pub mod forced_gc;
pub mod identity;
pub mod job;
pub mod job_changes;
pub mod job_reads;
pub mod keyring;
pub mod namespace;
pub mod node;
pub mod operator;
pub mod pool;
pub mod previous_disk;
pub mod scale;
pub mod search;
pub mod service;
pub mod system;
pub mod variables;
pub mod volume;

/// The longest name of a namespace, node pool, policy, role or auth method.
const LONGEST_OBJECT_NAME: usize = 128;

/// Whether a name consists of letters, digits, hyphens and `more`, and is neither empty nor longer than
/// [`LONGEST_OBJECT_NAME`].
fn is_name(name: &str, more: &[char]) -> bool {
    let fine = |c: char| c.is_ascii_alphanumeric() || c == '-' || more.contains(&c);
    (1..=LONGEST_OBJECT_NAME).contains(&name.len()) && name.chars().all(fine)
}
