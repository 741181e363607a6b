//! `sim flap`: nodes that fall silent and return.

use super::command::Run;
use super::context::Context;
use super::flags::parse_int;
use super::sim_load::{SimFlags, within};
use encamp_sim::load::flap::{self, Flap};

/// Measure how servers take nodes that fall silent and return
///
/// Starts servers on this machine, with their logs on disk, and simulated nodes that speak the protocol of real ones
/// over sockets but run no tasks. Service jobs with two allocations per node are placed: step "place". Some of the
/// nodes fall silent until they are given up and all jobs are whole again: step "lose". They return, and what was
/// replaced on them stops: step "return".
///
/// The servers, their data and the nodes are gone afterwards. While it runs a line on standard error tells how far it
/// is.
///
/// The exit code is 0 when every job was whole after each step, and 1 after an error.
#[derive(Debug, clap::Parser)]
pub struct SimFlap {
    /// Number of service jobs
    #[arg(long, value_name = "count", default_value = "20", value_parser = parse_int)]
    pub jobs: i64,
    /// How many of a hundred nodes fall silent
    #[arg(long, value_name = "percent", default_value = "10", value_parser = parse_int)]
    pub percent: i64,
    #[command(flatten)]
    pub(crate) common: SimFlags,
}

impl Run for SimFlap {
    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let scenario = |common| {
            Ok(Flap { common, jobs: within("jobs", self.jobs, 10_000)?, percent: within("percent", self.percent, 50)? })
        };
        self.common.run(context, scenario, flap::run)
    }
}
