//! `sim c1m`: a million allocations.

use std::path::PathBuf;

use super::context::Context;
use super::flags::parse_int;
use super::general::ColourFlags;
use super::registry::Run;
use super::sim_load::{self, MOST_NODES, servers, within};
use crate::load::c1m::{self, C1m};
use crate::load::fleet::over_network;

/// Measure how fast a million allocations are placed
///
/// Starts servers on this machine, with their logs on disk, and simulated nodes that speak the protocol of real ones over
/// sockets but run no tasks. Jobs of 1,000 small allocations each are registered while no scheduler runs. Step "place":
/// schedulers run, until every allocation is placed and committed. Step "run": from the same moment until all nodes have pulled
/// and reported theirs.
///
/// The servers, their data and the nodes are gone afterwards. While it runs a line on standard error tells how far it is. Times
/// of the servers' parts are medians and 99th percentiles of ten seconds each: of the medians the median is printed, of the
/// percentiles the worst.
///
/// The exit code is 0 when all allocations were placed and ran, and 1 after an error.
#[derive(Debug, clap::Parser)]
pub struct SimC1m {
    /// Number of simulated nodes
    #[arg(long, value_name = "count", default_value = "5000", value_parser = parse_int)]
    pub nodes: i64,
    /// Number of allocations
    #[arg(long, value_name = "count", default_value = "1000000", value_parser = parse_int)]
    pub allocs: i64,
    /// Number of servers: 1, 3 or 5
    #[arg(long, value_name = "count", default_value = "1", value_parser = parse_int)]
    pub servers: i64,
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

impl SimC1m {
    fn scenario(&self, folder: PathBuf) -> Result<C1m, String> {
        Ok(C1m {
            nodes: within("nodes", self.nodes, MOST_NODES)?,
            allocs: within("allocs", self.allocs, 10_000_000)?,
            servers: servers(self.servers)?,
            // Any number will do.
            seed: self.seed as u64,
            folder,
        })
    }
}

impl Run for SimC1m {
    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        if !self.no_args.is_empty() {
            return context.usage_error("This command takes no arguments");
        }
        let folder = sim_load::folder(self.data_dir.as_deref(), context);
        match self.scenario(folder.clone()) {
            Ok(scenario) => {
                sim_load::run(context, &folder, self.json, async |tell| c1m::run(&scenario, over_network, tell).await)
            }
            Err(e) => context.usage_error(&e),
        }
    }
}
