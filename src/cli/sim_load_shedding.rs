//! `sim load-shedding`: thousands of nodes that come and go at once.

use super::command::Run;
use super::context::Context;
use super::flags::parse_int;
use super::sim_load::{SimFlags, within};
use encamp_sim::load::shedding::{self, Shedding};

/// Measure how servers shed superfluous evaluations
///
/// Starts servers on this machine, with their logs on disk, and simulated nodes that speak the protocol of real ones
/// over sockets but run no tasks. First no scheduler runs, and every node that becomes ready makes an evaluation for
/// each system job. Step "enable": schedulers run, until no evaluation is pending. Step "stop": all nodes stop at once
/// without a word; its time counts from the end of the last heartbeat TTL until no evaluation is pending.
///
/// The servers, their data and the nodes are gone afterwards. While it runs a line on standard error tells how far it
/// is.
///
/// The exit code is 0 when both steps came to their end, and 1 after an error.
#[derive(Debug, clap::Parser)]
pub struct SimLoadShedding {
    /// Number of system jobs
    #[arg(long, value_name = "count", default_value = "10", value_parser = parse_int)]
    pub system_jobs: i64,
    /// Process every evaluation, as servers did before they shed load
    #[arg(long)]
    pub no_shedding: bool,
    #[command(flatten)]
    pub(crate) common: SimFlags,
}

impl Run for SimLoadShedding {
    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let scenario = |common| {
            Ok(Shedding {
                common,
                system_jobs: within("system-jobs", self.system_jobs, 1000)?,
                shedding: !self.no_shedding,
            })
        };
        self.common.run(context, scenario, shedding::run)
    }
}
