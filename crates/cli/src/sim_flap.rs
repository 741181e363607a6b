//! `sim flap`: nodes that stop heartbeating and reconnect.

use super::command::Run;
use super::command_meta::Meta;
use super::context::Context;
use super::exit_status::SIMULATION;
use super::flags::{parse_int, within};
use super::sim_load::SimFlags;
use encamp_sim::load::flap::{self, Flap};

/// Measure how servers handle nodes that disconnect and reconnect
///
/// Starts servers on this machine, with their logs on disk, and simulated nodes that use the protocol of real nodes
/// over sockets but run no tasks. Step "place": service jobs with two allocations per node are placed. Step "lose":
/// some nodes stop heartbeating, until they are marked down and all jobs have all of their allocations again. Step
/// "return": these nodes reconnect, and their replaced allocations stop.
///
/// The servers, their data and the nodes are removed afterwards. Progress is shown on standard error.
#[derive(Debug, clap::Parser)]
pub struct SimFlap {
    /// Number of service jobs
    #[arg(long, value_name = "count", default_value = "20", value_parser = parse_int)]
    pub jobs: i64,
    /// Percentage of nodes that stop heartbeating
    #[arg(long, value_name = "percent", default_value = "10", value_parser = parse_int)]
    pub percent: i64,
    #[command(flatten)]
    pub(crate) common: SimFlags,
}

impl Run for SimFlap {
    const META: Meta = Meta::new("sim flap").exit_status(SIMULATION).examples(&[
        ("Try the scenario with few nodes and jobs", "encamp sim flap -nodes 20 -jobs 3"),
        ("Disconnect half of 1,000 nodes", "encamp sim flap -nodes 1000 -percent 50"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let scenario = |common| {
            Ok(Flap { common, jobs: within("jobs", self.jobs, 10_000)?, percent: within("percent", self.percent, 50)? })
        };
        self.common.run(context, scenario, flap::run)
    }
}
