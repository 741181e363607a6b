//! `sim c1m`: the placement of a million allocations.

use super::command::Run;
use super::command_meta::Meta;
use super::context::Context;
use super::exit_status::SIMULATION;
use super::flags::{parse_int, within};
use super::sim_load::SimFlags;
use encamp_sim::load::c1m::{self, C1m};

/// Measure the placement rate of a million allocations
///
/// Starts servers on this machine, with their logs on disk, and simulated nodes that use the protocol of real nodes
/// over sockets but run no tasks. Jobs of 1,000 small allocations each are registered while the schedulers are paused.
/// Step "place": the schedulers run until all allocations are placed and committed. Step "run": from the same time
/// until all nodes have pulled and reported their allocations.
///
/// A single server is then restarted. It writes a snapshot of its state, during which small writes are measured, and is
/// restarted again with that snapshot. A restart counts from the start of the process until there is a leader.
///
/// The times of server components are measured as medians and 99th percentiles of ten-second intervals. The output
/// shows the median of the medians and the worst of the percentiles.
///
/// The servers, their data and the nodes are removed afterwards. Progress is shown on standard error.
#[derive(Debug, clap::Parser)]
pub struct SimC1m {
    /// Number of allocations
    #[arg(long, value_name = "count", default_value = "1000000", value_parser = parse_int)]
    pub allocs: i64,
    #[command(flatten)]
    pub(crate) common: SimFlags,
}

impl Run for SimC1m {
    const META: Meta = Meta::new("sim c1m").exit_status(SIMULATION).examples(&[
        ("Try the scenario with few nodes and allocations", "encamp sim c1m -nodes 20 -allocs 2500"),
        ("Place a million allocations with three servers, for a report", "encamp sim c1m -servers 3 -json"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let scenario = |common| Ok(C1m { common, allocs: within("allocs", self.allocs, 10_000_000)? });
        self.common.run(context, scenario, c1m::run)
    }
}
