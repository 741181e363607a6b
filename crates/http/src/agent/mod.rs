//! The agent behind the interface: the state that all handlers share, and the traits by which handlers reach the node
//! of the agent, other servers, other nodes, the configuration and the log.

pub(crate) mod auth_limit;
pub mod autoscaling;
pub mod control;
pub mod gossip_keys;
pub mod local_client;
pub(crate) mod node_agent;
pub mod node_connections;
pub mod pending;
pub(crate) mod permission_cache;
pub mod servers;
pub mod state;
