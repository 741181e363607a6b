//! Where worker pools are scaled (`docs/spec/cluster-scaling.md`): on the server that leads, or by a process of its own
//! (`encamp autoscale agent`).
//!
//! - [`parts`]: what the loops need, from the configuration. [`loops`]: the loops over worker pools and job groups.
//! - [`leader`]: they begin and end with leadership. [`server_cluster`]: the cluster as the server that leads sees it.
//! - [`lock`]: which of several processes may act. [`http_cluster`]: the cluster over its HTTP API.
//! - [`members`]: which agents are servers.
//! - [`node_agents`]: what allocations use, asked of the agents of their nodes.

#[cfg(test)]
mod canned;
pub mod http_cluster;
pub mod leader;
pub mod lock;
pub mod loops;
pub mod members;
pub mod node_agents;
pub mod parts;
pub mod server_cluster;

use std::collections::BTreeMap;

/// What a drain says about its reason.
fn drain_meta() -> BTreeMap<String, String> {
    BTreeMap::from([("message".to_string(), "the worker pool is scaled in".to_string())])
}
