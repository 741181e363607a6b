//! `autoscale simulate`: replays recorded load against the autoscaler.

use std::fmt::Display;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use super::simulate_text;
use crate::cluster::SnapshotFlags;
use crate::flags::{parse_int, parse_wait};
use crate::job_file::cause;
use crate::prelude::*;
use crate::render::json::versioned;
use encamp_autoscale::simulate::report::Report;
use encamp_autoscale::simulate::trace::Trace;
use encamp_autoscale::simulate::{Options, Overrides, simulate, svg};
use encamp_model::quoted;

/// The maximum size of a trace in bytes.
const LARGEST_TRACE: u64 = 64 << 20;

/// Simulate the autoscaler on a worker pool with recorded load
///
/// Starts from a cluster snapshot and changes the counts of task groups according to a trace. The scheduler places the
/// allocations, and a worker pool is evaluated periodically as the autoscaler does it, with a simulated provider: new
/// nodes are copies of the pool's newest node and register after the boot time, and nodes are drained before they are
/// removed. The command neither changes nor contacts a cluster.
///
/// A trace is a CSV file with the columns time_seconds, namespace, job, group, count. Each row sets the count of a
/// group from that time on. The simulation ends at the last row.
///
/// The output shows the nodes over time, the operations and their reasons, the operations that the safety checks
/// denied, the time during which allocations were unplaced, and the node hours. The same seed gives the same result.
///
/// Flags override the parameters that the nodes of the pool configure, so that different settings can be compared.
#[derive(Debug, clap::Parser)]
pub struct AutoscaleSimulate {
    /// Cluster snapshot file or server backup to start from
    #[arg(long, value_name = "file", add = CompleteWith::ANY_FILE)]
    pub snapshot: Option<String>,
    #[command(flatten)]
    pub(crate) reading: SnapshotFlags,
    /// CSV file with the load
    #[arg(long, value_name = "file", add = CompleteWith::Files(Files::Named(&["csv"])))]
    pub trace: Option<String>,
    /// The worker pool. Required if the snapshot has several
    #[arg(long, value_name = "name")]
    pub pool: Option<String>,
    /// Seed of the random boot times
    #[arg(long, value_name = "number", default_value = "1", value_parser = parse_int)]
    pub seed: i64,
    /// Time between evaluations
    #[arg(long, value_name = "duration", default_value = "10s", value_parser = parse_wait)]
    pub interval: Duration,
    /// Time between the launch of an instance and its registration, varied randomly by 10 %
    #[arg(long, value_name = "duration", default_value = "90s", value_parser = parse_wait)]
    pub boot_time: Duration,
    /// Percentage of instances that never register
    #[arg(long, value_name = "percent", default_value = "0", value_parser = parse_int)]
    pub boot_failures: i64,
    /// Time between the start of a drain and the termination of the instance
    #[arg(long, value_name = "duration", default_value = "1m", value_parser = parse_wait)]
    pub drain_time: Duration,
    /// Override the minimum number of nodes
    #[arg(long, value_name = "nodes", value_parser = parse_int)]
    pub min: Option<i64>,
    /// Override the maximum number of nodes
    #[arg(long, value_name = "nodes", value_parser = parse_int)]
    pub max: Option<i64>,
    /// Override the cooldown of both directions
    #[arg(long, value_name = "duration", value_parser = parse_wait)]
    pub cooldown: Option<Duration>,
    /// Override the cooldown between two scale-outs
    #[arg(long, value_name = "duration", value_parser = parse_wait)]
    pub scaleout_cooldown: Option<Duration>,
    /// Override the cooldown between two scale-ins
    #[arg(long, value_name = "duration", value_parser = parse_wait)]
    pub scalein_cooldown: Option<Duration>,
    /// Override the node fault tolerance
    #[arg(long, value_name = "nodes", value_parser = parse_int)]
    pub fault_tolerance: Option<i64>,
    /// Override the number of consecutive requests that are required
    #[arg(long, value_name = "count", value_parser = parse_int)]
    pub scaling_threshold: Option<i64>,
    /// Override the number of nodes that are added at once
    #[arg(long, value_name = "nodes", value_parser = parse_int)]
    pub scale_factor: Option<i64>,
    /// Override the number of failures before failsafe mode
    #[arg(long, value_name = "count", value_parser = parse_int)]
    pub retry_threshold: Option<i64>,
    /// Draw the simulation into this SVG file
    #[arg(long, value_name = "file", add = CompleteWith::ANY_FILE)]
    pub svg: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub(crate) colours: ColourFlags,
}

/// Why the command ends.
enum Ended {
    /// A usage error.
    Usage(String),
    /// A failure.
    Failed(CommandError),
}

impl From<CommandError> for Ended {
    fn from(error: CommandError) -> Ended {
        Ended::Failed(error)
    }
}

impl AutoscaleSimulate {
    fn options(&self, start: i64) -> Result<Options, Ended> {
        let boot_failures = match u64::try_from(self.boot_failures) {
            Ok(percent) if percent <= 100 => percent,
            _ => return Err(Ended::Usage(format!("-boot-failures must be from 0 to 100, not {}", self.boot_failures))),
        };
        if self.interval < Duration::from_secs(1) {
            return Err(Ended::Usage("-interval must be at least one second".into()));
        }
        Ok(Options {
            pool: self.pool.clone().filter(|p| !p.is_empty()),
            start,
            interval: self.interval,
            // Any number is valid.
            seed: self.seed as u64,
            boot_time: self.boot_time,
            boot_failures,
            drain_time: self.drain_time,
            overrides: Overrides {
                min: self.min,
                max: self.max,
                cooldown: self.cooldown,
                scale_out_cooldown: self.scaleout_cooldown,
                scale_in_cooldown: self.scalein_cooldown,
                fault_tolerance: self.fault_tolerance,
                scaling_threshold: self.scaling_threshold,
                scale_factor: self.scale_factor,
                retry_threshold: self.retry_threshold,
            },
        })
    }

    fn simulated(&self, env: &Environment, warn: &mut dyn FnMut(&str)) -> Result<Report, Ended> {
        let given = |file: &Option<String>, flag: &str| match file.as_deref() {
            Some(file) if !file.is_empty() => Ok(file.to_string()),
            _ => Err(Ended::Usage(format!("-{flag} is required"))),
        };
        let (snapshot, trace) = (given(&self.snapshot, "snapshot")?, given(&self.trace, "trace")?);
        // Usage errors are reported before anything is read.
        self.options(0)?;
        let text = read_trace(&env.directory.join(&trace))?;
        let wrong = |e: &dyn Display| CommandError::new(format!("Error in trace {}: {e}", quoted(&trace)));
        let parsed = Trace::parse(&text).map_err(|e| wrong(&e))?;
        let cluster = self.reading.load(&snapshot, env).map_err(CommandError::new)?;
        cluster.notes.iter().for_each(|note| warn(note));
        let start = cluster.now(env.now);
        let progress = env.terminal.spinner();
        progress.say("Replaying the trace");
        let report = simulate(&cluster.state, &parsed, &self.options(start)?);
        drop(progress);
        use encamp_autoscale::simulate::SimulateError;
        Ok(report.map_err(|e| match &e {
            SimulateError::Trace(line) => wrong(line),
            SimulateError::NoPool(_)
            | SimulateError::NoPools(_)
            | SimulateError::SeveralPools(_)
            | SimulateError::Parameter { .. }
            | SimulateError::Bounds { .. }
            | SimulateError::TooManyCycles { .. } => CommandError::new(format!("Error: {e}")),
        })?)
    }
}

/// Reads a trace of limited size.
fn read_trace(path: &Path) -> CommandResult<String> {
    let failed = |what: &dyn Display| CommandError::new(format!("Error reading trace: {}: {what}", path.display()));
    let file = std::fs::File::open(path).map_err(|e| failed(&cause(&e)))?;
    let mut text = String::new();
    let read = file.take(LARGEST_TRACE + 1).read_to_string(&mut text).map_err(|e| failed(&cause(&e)))?;
    if u64::try_from(read).is_ok_and(|n| n <= LARGEST_TRACE) {
        return Ok(text);
    }
    Err(failed(&format_args!("it is larger than {} MiB", LARGEST_TRACE >> 20)))
}

impl Run for AutoscaleSimulate {
    const META: Meta = Meta::new("autoscale simulate").offline_examples(&[
        (
            "Simulate a day of load on the worker pool of a snapshot",
            "encamp autoscale simulate \\
    -snapshot fixtures/worker-pools/cluster.json \\
    -trace fixtures/worker-pools/day.csv",
        ),
        (
            "Simulate the same day with other settings, and draw the number of nodes",
            "encamp autoscale simulate \\
    -snapshot fixtures/worker-pools/cluster.json \\
    -trace fixtures/worker-pools/day.csv \\
    -fault-tolerance 2 -cooldown 120s -svg day.svg",
        ),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let report = match self.simulated(context.env, &mut |note| context.ui.warn(note)) {
            Ok(report) => report,
            Err(Ended::Usage(e)) => return context.usage_error(&e),
            Err(Ended::Failed(e)) => return context.end(Err(e)),
        };
        if let Some(file) = self.svg.as_deref().filter(|f| !f.is_empty())
            && let Err(e) = std::fs::write(context.env.directory.join(file), svg::plot(&report))
        {
            return context.failure(&format!("Failed to write {}: {}", quoted(file), cause(&e)));
        }
        context.attempt(|context| {
            match self.json {
                // As docs/reference/autoscale-simulate.schema.json describes it.
                true => context.print_json(&versioned(&report)?)?,
                false => simulate_text::print(context.ui, &report),
            }
            Ok(0)
        })
    }
}
