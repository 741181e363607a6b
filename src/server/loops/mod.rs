//! Loops of the leader that drive jobs on: drains, deployments, periodic launches.

use tokio::task::JoinSet;

use super::handle::Server;

/// Starts them.
pub fn start(_: &Server, _: &mut JoinSet<()>) {}
