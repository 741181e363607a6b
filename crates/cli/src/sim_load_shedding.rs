//! `sim load-shedding`: thousands of nodes that join and fail at the same time.

use super::command::Run;
use super::command_meta::Meta;
use super::context::Context;
use super::exit_status::SIMULATION;
use super::flags::{parse_int, within};
use super::sim_load::SimFlags;
use encamp_sim::load::shedding::{self, Shedding};

/// Measure how servers shed redundant evaluations
///
/// Starts servers on this machine, with their logs on disk, and simulated nodes that use the protocol of real nodes
/// over sockets but run no tasks. At first the schedulers are paused, and every node that becomes ready creates an
/// evaluation for each system job. Step "enable": the schedulers run until no evaluation is pending. Step "stop": all
/// nodes fail at the same time; its duration is measured from the end of the last heartbeat TTL until no evaluation is
/// pending.
///
/// The servers, their data and the nodes are removed afterwards. Progress is shown on standard error.
#[derive(Debug, clap::Parser)]
pub struct SimLoadShedding {
    /// Number of system jobs
    #[arg(long, value_name = "count", default_value = "10", value_parser = parse_int)]
    pub system_jobs: i64,
    /// Disable load shedding: process every evaluation
    #[arg(long)]
    pub no_shedding: bool,
    /// Leave out step "stop", which begins minutes later: when the last heartbeat TTL ends
    #[arg(long)]
    pub no_stop: bool,
    #[command(flatten)]
    pub(crate) common: SimFlags,
}

impl Run for SimLoadShedding {
    const META: Meta = Meta::new("sim load-shedding").exit_status(SIMULATION).examples(&[
        ("Try the scenario with few nodes and jobs", "encamp sim load-shedding -nodes 20 -system-jobs 2"),
        ("Measure the servers without load shedding", "encamp sim load-shedding -nodes 1000 -no-shedding"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let scenario = |common| {
            Ok(Shedding {
                common,
                system_jobs: within("system-jobs", self.system_jobs, 1000)?,
                shedding: !self.no_shedding,
                stop: !self.no_stop,
            })
        };
        self.common.run(context, scenario, shedding::run)
    }
}
