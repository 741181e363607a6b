//! Calls from a server to other agents, and their messages. No I/O: the crate `encamp_rpc` makes the calls.
//!
//! - [`servers`]: calls to the other servers. [`worker_calls`]: the calls of the workers of followers to the leader;
//!   `plan_codec`: how plans are sent in these calls.
//! - [`csi_plugins`]: calls to the CSI plugins of nodes.

pub mod csi_plugins;
pub(crate) mod plan_codec;
pub mod servers;
pub mod worker_calls;
