//! Commands about nodes (`docs/spec/cli.md §10`).
//!
//! - [`status`]: `node status`; [`detail`]: its output about one node; [`usage`]: resource usage of a node.
//! - [`drain`]: `node drain`; [`watch`]: monitoring a drain. [`eligibility`]: `node eligibility`.
//! - [`config`], [`meta`], [`identity`]: server list, metadata and identity of a client. [`intro`]: introduction
//!   tokens. [`pool`]: node pools.

pub mod config;
mod detail;
pub mod drain;
pub mod drain_plan;
pub mod eligibility;
pub mod identity;
pub mod intro;
pub mod meta;
pub mod pool;
pub mod status;
mod usage;
mod watch;

use super::connection::Connection;
use super::objects;
use crate::error::CommandResult;

/// The full ID of the selected node: that of the contacted agent, or the one with the given ID prefix.
fn meant(c: &Connection, own: bool, prefix: &str, what: &'static str) -> CommandResult<String> {
    if own {
        return objects::own_node(c);
    }
    objects::long_enough(prefix, what)?;
    Ok(objects::node(c, prefix, true, true)?)
}
