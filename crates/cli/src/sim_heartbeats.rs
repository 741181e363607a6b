//! `sim heartbeats`: nodes that only send heartbeats.

use std::time::Duration;

use super::command::Run;
use super::command_meta::Meta;
use super::context::Context;
use super::exit_status::SIMULATION;
use super::flags::{parse_int, within};
use super::sim_load::SimFlags;
use encamp_sim::load::heartbeats::{self, Heartbeats};
use encamp_sim::load::stage::Options;

/// Measure the cost and reliability of many heartbeats
///
/// Starts servers on this machine, with their logs on disk, and simulated nodes that use the protocol of real nodes
/// over sockets but run no tasks. Step "join": until all nodes are ready. Step "beat": the nodes send heartbeats for
/// some minutes. A node that is marked down although it sends heartbeats is a false expiry.
///
/// The servers, their data and the nodes are removed afterwards. Progress is shown on standard error.
#[derive(Debug, clap::Parser)]
pub struct SimHeartbeats {
    /// Duration of step "beat" in seconds
    #[arg(long, value_name = "seconds", default_value = "600", value_parser = parse_int)]
    pub time: i64,
    /// Number of nodes that share a connection. Real nodes have one each; this is for more nodes than the limit of open
    /// files allows
    #[arg(long, value_name = "count", default_value = "1", value_parser = parse_int)]
    pub connection_nodes: i64,
    #[command(flatten)]
    pub(crate) common: SimFlags,
}

impl Run for SimHeartbeats {
    const META: Meta = Meta::new("sim heartbeats").exit_status(SIMULATION).examples(&[
        ("Try the scenario with few nodes for some seconds", "encamp sim heartbeats -nodes 20 -time 5"),
        ("Measure the heartbeats of 5,000 nodes for ten minutes", "encamp sim heartbeats -nodes 5000 -time 600"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let scenario = |common| {
            let connection_nodes = within("connection-nodes", self.connection_nodes, 100)?;
            let time = Duration::from_secs(within("time", self.time, 86_400)? as u64);
            Ok(Heartbeats { common: Options { connection_nodes, ..common }, time })
        };
        self.common.run(context, scenario, heartbeats::run)
    }
}
