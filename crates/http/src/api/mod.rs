//! The handlers, by area. A handler is an `async fn(Request) -> Outcome`; [`routes`](crate::routes) names the route of
//! each.

pub(crate) mod acl;
pub mod agent;
pub mod agent_host;
pub mod allocs;
pub mod autoscale;
pub mod client;
pub mod deployments;
pub mod evals;
pub mod events;
pub mod exec;
pub mod fs;
pub mod gossip_keys;
pub(crate) mod host_addresses;
pub mod host_volumes;
pub mod job_reads;
pub(crate) mod job_writes;
pub mod keyring;
pub mod monitor;
pub mod namespaces;
pub mod nodes;
pub mod operator;
pub mod outside_api;
pub mod pools;
pub mod scaling;
pub mod search;
pub mod services;
pub mod snapshots;
pub mod status;
pub(crate) mod system_gc;
pub mod variables;
pub mod volumes;
