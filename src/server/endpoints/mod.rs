//! What the server does for its callers: operators over HTTP, and the nodes. Rules and texts; no HTTP types.
//!
//! - [`node_rpc`]: what node agents ask.

pub mod node_rpc;
