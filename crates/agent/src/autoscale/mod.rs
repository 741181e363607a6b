//! Scaling of worker pools (`docs/spec/cluster-scaling.md`): on the leader, or in a separate process (`encamp autoscale
//! agent`).
//!
//! - [`parts`]: the components of the loops, from the configuration. [`loops`]: the loops over worker pools and job
//!   groups.
//! - [`leader`]: the loops start and stop with leadership. [`server_cluster`]: the cluster as seen by the leader.
//!   [`leader_token`]: its tokens for the agents of nodes.
//! - [`lock`]: leader election among several processes. [`http_cluster`]: the cluster over its HTTP API.
//! - [`members`]: which agents are servers.
//! - [`node_agents`]: the resource usage of allocations, read from the agents of their nodes.

#[cfg(test)]
mod canned;
pub mod http_cluster;
pub mod leader;
pub mod leader_token;
pub mod lock;
pub mod loops;
pub mod members;
pub mod node_agents;
pub mod parts;
pub mod server_cluster;

use std::collections::BTreeMap;

/// The metadata of a drain that states its reason.
fn drain_meta() -> BTreeMap<String, String> {
    BTreeMap::from([("message".to_string(), "the worker pool is scaled in".to_string())])
}
