//! `sim churn`: a cluster with continuous changes.

use super::command::Run;
use super::command_meta::Meta;
use super::context::Context;
use super::exit_status::SIMULATION;
use super::flags::{parse_int, within};
use super::sim_load::SimFlags;
use encamp_sim::load::churn::{self, Churn};

/// Measure a cluster with continuous changes of nodes and jobs
///
/// Starts servers on this machine, with their logs on disk, and simulated nodes that use the protocol of real nodes
/// over sockets but run no tasks. Step "place": service jobs with two allocations per node are placed. Step "churn": in
/// each round, 1 % of the nodes are drained, 1 % fail and 2 % join, and a job is updated. A round ends when every job
/// has all of its allocations and no deployment is in progress.
///
/// The servers, their data and the nodes are removed afterwards. Progress is shown on standard error.
#[derive(Debug, clap::Parser)]
pub struct SimChurn {
    /// Number of service jobs
    #[arg(long, value_name = "count", default_value = "20", value_parser = parse_int)]
    pub jobs: i64,
    /// Number of rounds
    #[arg(long, value_name = "count", default_value = "5", value_parser = parse_int)]
    pub rounds: i64,
    #[command(flatten)]
    pub(crate) common: SimFlags,
}

impl Run for SimChurn {
    const META: Meta = Meta::new("sim churn").exit_status(SIMULATION).examples(&[
        ("Try the scenario with few nodes and jobs", "encamp sim churn -nodes 20 -jobs 3 -rounds 1"),
        ("Run ten rounds with 1,000 nodes and three servers", "encamp sim churn -nodes 1000 -servers 3 -rounds 10"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let scenario = |common| {
            Ok(Churn { common, jobs: within("jobs", self.jobs, 10_000)?, rounds: within("rounds", self.rounds, 1000)? })
        };
        self.common.run(context, scenario, churn::run)
    }
}
