//! A request and its response: parameters, bodies, JSON, filters, pages, blocking reads, and the agents that a request
//! is forwarded to.

pub mod filter;
pub mod forward;
pub mod ids;
pub mod json;
pub(crate) mod named_server;
pub mod node_forward;
pub mod page;
pub mod params;
pub mod paths;
pub(crate) mod pattern;
pub mod response;
pub mod routed_request;
