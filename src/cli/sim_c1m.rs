//! `sim c1m`: a million allocations.

use super::command::Run;
use super::context::Context;
use super::flags::parse_int;
use super::sim_load::{SimFlags, within};
use encamp_sim::load::c1m::{self, C1m};

/// Measure how fast a million allocations are placed
///
/// Starts servers on this machine, with their logs on disk, and simulated nodes that speak the protocol of real ones
/// over sockets but run no tasks. Jobs of 1,000 small allocations each are registered while no scheduler runs. Step
/// "place": schedulers run, until every allocation is placed and committed. Step "run": from the same moment until all
/// nodes have pulled and reported theirs.
///
/// Times of the servers' parts are medians and 99th percentiles of ten seconds each: of the medians the median is
/// printed, of the percentiles the worst.
///
/// The servers, their data and the nodes are gone afterwards. While it runs a line on standard error tells how far it
/// is.
///
/// The exit code is 0 when all allocations were placed and ran, and 1 after an error.
#[derive(Debug, clap::Parser)]
pub struct SimC1m {
    /// Number of allocations
    #[arg(long, value_name = "count", default_value = "1000000", value_parser = parse_int)]
    pub allocs: i64,
    #[command(flatten)]
    pub(crate) common: SimFlags,
}

impl Run for SimC1m {
    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let scenario = |common| Ok(C1m { common, allocs: within("allocs", self.allocs, 10_000_000)? });
        self.common.run(context, scenario, c1m::run)
    }
}
