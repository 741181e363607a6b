//! `sim heartbeats`: nodes that only live.

use std::time::Duration;

use super::command::Run;
use super::context::Context;
use super::flags::parse_int;
use super::sim_load::{SimFlags, within};
use encamp_sim::load::heartbeats::{self, Heartbeats};

/// Measure what the heartbeats of many nodes cost, and whether any is missed
///
/// Starts servers on this machine, with their logs on disk, and simulated nodes that speak the protocol of real ones
/// over sockets but run no tasks. Step "join": until all nodes are ready. Step "beat": they live for some minutes. A
/// node that is given up although it lives is a false expiry.
///
/// The servers, their data and the nodes are gone afterwards. While it runs a line on standard error tells how far it
/// is.
///
/// The exit code is 0 when all nodes were ready in the end, and 1 after an error.
#[derive(Debug, clap::Parser)]
pub struct SimHeartbeats {
    /// How long the nodes live once all are ready, in seconds
    #[arg(long, value_name = "seconds", default_value = "600", value_parser = parse_int)]
    pub time: i64,
    #[command(flatten)]
    pub(crate) common: SimFlags,
}

impl Run for SimHeartbeats {
    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let scenario =
            |common| Ok(Heartbeats { common, time: Duration::from_secs(within("time", self.time, 86_400)? as u64) });
        self.common.run(context, scenario, heartbeats::run)
    }
}
