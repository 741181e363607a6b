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

use super::command::Registry;
use super::connection::Connection;
use super::data::text;
use super::objects;
use crate::error::CommandResult;

/// Adds the commands.
pub(super) fn register(registry: &mut Registry) {
    registry.add::<status::NodeStatus>("node status", None, 1);
    registry.add::<drain::NodeDrain>("node drain", None, 1);
    registry.add::<eligibility::NodeEligibility>("node eligibility", None, 1);
    registry.add::<config::NodeConfig>("node config", None, 1);
    registry.add::<meta::NodeMetaApply>("node meta apply", None, 1);
    registry.add::<meta::NodeMetaRead>("node meta read", None, 1);
    registry.add::<identity::NodeIdentityGet>("node identity get", None, 1);
    registry.add::<identity::NodeIdentityRenew>("node identity renew", None, 1);
    registry.add::<identity::NodeIdentityRevoke>("node identity revoke", None, 1);
    registry.add::<intro::NodeIntroCreate>("node intro create", None, 1);
    registry.add::<pool::list::NodePoolList>("node pool list", None, 1);
    registry.add::<pool::list::NodePoolInfo>("node pool info", None, 1);
    registry.add::<pool::members::NodePoolJobs>("node pool jobs", None, 1);
    registry.add::<pool::members::NodePoolNodes>("node pool nodes", None, 1);
    registry.add::<pool::change::NodePoolApply>("node pool apply", None, 1);
    registry.add::<pool::change::NodePoolDelete>("node pool delete", None, 1);
    registry.add::<pool::change::NodePoolInit>("node pool init", None, 1);
    registry.add_hidden("node-status", "node status", false);
    registry.add_hidden("node-drain", "node drain", false);
    registry.add_hidden("client-config", "node config", true);
}

/// The full ID of the selected node: that of the contacted agent, or the one with the given ID prefix.
fn meant(c: &Connection, own: bool, prefix: &str, what: &'static str) -> CommandResult<String> {
    if own {
        return objects::own_node(c);
    }
    objects::long_enough(prefix, what)?;
    Ok(text(&objects::node(c, prefix, true, true)?, "ID").to_string())
}
