//! `sim gc`: garbage collection of a million allocations.

use std::time::Duration;

use super::command::Run;
use super::command_meta::Meta;
use super::context::Context;
use super::exit_status::SIMULATION;
use super::flags::{InvalidFlag, parse_int, within};
use super::sim_load::SimFlags;
use encamp_model::duration::parse_duration;
use encamp_sim::load::collect::{self, Collect};

/// The longest measurement before the collection.
const MOST_IDLE: Duration = Duration::from_secs(3600);

/// Measure garbage collection of a million allocations
///
/// Starts servers on this machine, with their logs on disk, and simulated nodes that use the protocol of real nodes
/// over sockets but run no tasks. Step "place": jobs of 1,000 small allocations each are placed and run. Step "stop":
/// most jobs are stopped, and the nodes report their allocations as ended. Step "idle": a small job is registered
/// every 50 ms. Step "collect": the same, while everything that ended is deleted as by "system gc".
///
/// The times of evaluations are measured from the time that a job was due until its evaluation is complete; the output
/// shows the median and the 99th percentile without and with the collection.
///
/// The servers, their data and the nodes are removed afterwards. Progress is shown on standard error.
#[derive(Debug, clap::Parser)]
pub struct SimGc {
    /// Number of allocations
    #[arg(long, value_name = "count", default_value = "1000000", value_parser = parse_int)]
    pub allocs: i64,
    /// Percentage of the jobs that are stopped
    #[arg(long, value_name = "percent", default_value = "80", value_parser = parse_int)]
    pub percent: i64,
    /// How long evaluations are measured before the collection
    #[arg(long, value_name = "duration", default_value = "30s")]
    pub idle: String,
    #[command(flatten)]
    pub(crate) common: SimFlags,
}

impl Run for SimGc {
    const META: Meta = Meta::new("sim gc").exit_status(SIMULATION).examples(&[
        ("Try the scenario with few nodes and allocations", "encamp sim gc -nodes 20 -allocs 2500 -idle 2s"),
        ("Collect 800,000 of a million allocations, for a report", "encamp sim gc -json"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let scenario = |common| {
            Ok(Collect {
                common,
                allocs: within("allocs", self.allocs, 10_000_000)?,
                percent: within("percent", self.percent, 100)?,
                idle: idle(&self.idle)?,
            })
        };
        self.common.run(context, scenario, collect::run)
    }
}

fn idle(text: &str) -> Result<Duration, InvalidFlag> {
    let nanos = parse_duration(text).ok().and_then(|n| u64::try_from(n).ok());
    let given = nanos.map(Duration::from_nanos).filter(|d| !d.is_zero() && *d <= MOST_IDLE);
    given.ok_or_else(|| InvalidFlag::new(format_args!("-idle must be a duration between 1ns and 1h, not {text}")))
}
