//! `sim load-shedding`: thousands of nodes that come and go at once.

use std::path::PathBuf;

use super::context::Context;
use super::flags::parse_int;
use super::general::ColourFlags;
use super::registry::Run;
use super::sim_load::{self, MOST_NODES, servers, within};
use crate::load::fleet::over_network;
use crate::load::shedding::{self, Shedding};

/// Measure how servers shed superfluous evaluations
///
/// Starts servers on this machine, with their logs on disk, and simulated nodes that speak the protocol of real ones over
/// sockets but run no tasks. First no scheduler runs, and every node that becomes ready makes an evaluation for each system job.
/// Step "enable": schedulers run, until no evaluation is pending. Step "stop": all nodes stop at once without a word; its time
/// counts from the end of the last heartbeat TTL until no evaluation is pending.
///
/// The servers, their data and the nodes are gone afterwards. While it runs a line on standard error tells how far it is.
///
/// The exit code is 0 when both steps came to their end, and 1 after an error.
#[derive(Debug, clap::Parser)]
pub struct SimLoadShedding {
    /// Number of simulated nodes
    #[arg(long, value_name = "count", default_value = "5000", value_parser = parse_int)]
    pub nodes: i64,
    /// Number of system jobs
    #[arg(long, value_name = "count", default_value = "10", value_parser = parse_int)]
    pub system_jobs: i64,
    /// Number of servers: 1, 3 or 5
    #[arg(long, value_name = "count", default_value = "1", value_parser = parse_int)]
    pub servers: i64,
    /// Process every evaluation, as servers did before they shed load
    #[arg(long)]
    pub no_shedding: bool,
    /// What IDs, attributes and waits of the nodes depend on
    #[arg(long, value_name = "number", default_value = "1", value_parser = parse_int)]
    pub seed: i64,
    /// Folder for the data of the servers; it must not exist. Default: a new one for temporary files
    #[arg(long, value_name = "path")]
    pub data_dir: Option<String>,
    /// Print the result as one line of JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub colours: ColourFlags,
    /// Taken to say that there are none.
    #[arg(hide = true)]
    pub no_args: Vec<String>,
}

impl SimLoadShedding {
    fn scenario(&self, folder: PathBuf) -> Result<Shedding, String> {
        Ok(Shedding {
            nodes: within("nodes", self.nodes, MOST_NODES)?,
            system_jobs: within("system-jobs", self.system_jobs, 1000)?,
            servers: servers(self.servers)?,
            shedding: !self.no_shedding,
            // Any number will do.
            seed: self.seed as u64,
            folder,
        })
    }
}

impl Run for SimLoadShedding {
    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        if !self.no_args.is_empty() {
            return context.usage_error("This command takes no arguments");
        }
        let folder = sim_load::folder(self.data_dir.as_deref(), context);
        match self.scenario(folder.clone()) {
            Ok(scenario) => sim_load::run(context, &folder, self.json, async |tell| {
                shedding::run(&scenario, over_network, tell).await
            }),
            Err(e) => context.usage_error(&e),
        }
    }
}
