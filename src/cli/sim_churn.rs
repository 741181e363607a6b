//! `sim churn`: a cluster that never rests.

use super::command::Run;
use super::context::Context;
use super::flags::parse_int;
use super::sim_load::{SimFlags, within};
use encamp_sim::load::churn::{self, Churn};

/// Measure a cluster whose nodes and jobs change all the time
///
/// Starts servers on this machine, with their logs on disk, and simulated nodes that speak the protocol of real ones
/// over sockets but run no tasks. Service jobs with two allocations per node are placed: step "place". Then it goes
/// round: of a hundred nodes one is drained, one fails and two join, and a job gets a new version. A round is over when
/// every job is whole and no deployment is under way: step "churn".
///
/// The servers, their data and the nodes are gone afterwards. While it runs a line on standard error tells how far it
/// is.
///
/// The exit code is 0 when every job was whole after each round, and 1 after an error.
#[derive(Debug, clap::Parser)]
pub struct SimChurn {
    /// Number of service jobs
    #[arg(long, value_name = "count", default_value = "20", value_parser = parse_int)]
    pub jobs: i64,
    /// How often it goes round
    #[arg(long, value_name = "count", default_value = "5", value_parser = parse_int)]
    pub rounds: i64,
    #[command(flatten)]
    pub(crate) common: SimFlags,
}

impl Run for SimChurn {
    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let scenario = |common| {
            Ok(Churn { common, jobs: within("jobs", self.jobs, 10_000)?, rounds: within("rounds", self.rounds, 1000)? })
        };
        self.common.run(context, scenario, churn::run)
    }
}
