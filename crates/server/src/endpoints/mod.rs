//! What the server does for its callers: operators over HTTP, and the nodes. Rules and texts; no HTTP types.
//!
//! - [`job`]: jobs registered, planned, validated. [`job_changes`]: stopped, evaluated, launched, reverted, tagged.
//!   [`dispatch`], [`scale`]. [`job_reads`]: what is read of them.
//! - [`eval`], [`alloc`], [`deployment`]: evaluations, allocations, deployments.
//! - [`node_rpc`]: what node agents ask; [`identity`]: tokens of nodes and tasks.
//! - [`node`], [`pool`], [`namespace`], [`operator`], [`system`], [`service`], [`keyring`]: what operators ask about
//!   clusters.
//! - [`variables`]: variables and their locks. [`volume`]: host volumes.
//! - [`search`]: finding objects by the beginning of their names, or by a part of them.

pub mod alloc;
pub mod deployment;
pub mod dispatch;
pub mod eval;
pub mod identity;
pub mod job;
pub mod job_changes;
pub mod job_reads;
pub mod keyring;
pub mod namespace;
pub mod node;
pub mod node_rpc;
pub mod operator;
pub mod pool;
pub mod scale;
pub mod search;
pub mod service;
pub mod system;
pub mod variables;
pub mod volume;
