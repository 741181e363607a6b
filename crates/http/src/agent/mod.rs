//! The agent behind the interface: the state that all handlers share, and the traits by which handlers reach the node of
//! the agent, other servers, other nodes, the configuration and the log.

pub(crate) mod auth_limit;
pub mod local_client;
pub mod state;
