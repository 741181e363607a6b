//! A request and its response: parameters, bodies, JSON, filters, pages, blocking reads, and the agents that a request
//! is forwarded to.

pub(crate) mod answered_by;
pub(crate) mod blocking_read;
pub(crate) mod body;
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
pub(crate) mod permission;
pub mod read_options;
pub mod response;
pub(crate) mod routed_request;
pub(crate) mod token;

pub use routed_request::Request;
