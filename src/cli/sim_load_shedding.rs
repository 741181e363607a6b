//! `sim load-shedding`: thousands of nodes that come and go at once.

use std::path::PathBuf;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::context::Context;
use super::flags::parse_int;
use super::general::ColourFlags;
use super::registry::Run;
use super::render::table::{Form, table};
use crate::load::fleet::over_network;
use crate::load::outcome::Outcome;
use crate::load::shedding::{self, Shedding};

/// How often the progress line turns.
const TURN: Duration = Duration::from_millis(200);
/// The most nodes: each needs a connection, and servers three open files for it.
const MOST_NODES: i64 = 20_000;

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

/// A folder that is removed in the end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl SimLoadShedding {
    fn scenario(&self, folder: PathBuf) -> Result<Shedding, String> {
        let within = |flag: &str, value: i64, most: i64| match usize::try_from(value) {
            Ok(n) if n >= 1 && value <= most => Ok(n),
            _ => Err(format!("-{flag} must be between 1 and {most}, not {value}")),
        };
        if !matches!(self.servers, 1 | 3 | 5) {
            return Err(format!("-servers must be 1, 3 or 5, not {}", self.servers));
        }
        Ok(Shedding {
            nodes: within("nodes", self.nodes, MOST_NODES)?,
            system_jobs: within("system-jobs", self.system_jobs, 1000)?,
            servers: within("servers", self.servers, 5)?,
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
        let folder = match &self.data_dir {
            Some(path) => context.env.directory.join(path),
            None => std::env::temp_dir().join(format!("encamp-sim-{}", std::process::id())),
        };
        let scenario = match self.scenario(folder.clone()) {
            Ok(scenario) => scenario,
            Err(e) => return context.usage_error(&e),
        };
        if let Err(e) = std::fs::create_dir(&folder) {
            return context.failure(&format!("Error creating {}: {e}", folder.display()));
        }
        let _folder = Folder(folder);
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(TURN);
        let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(e) => return context.failure(&format!("Error starting the network runtime: {e}")),
        };
        let done = runtime.block_on(shedding::run(&scenario, over_network, |line| bar.set_message(line)));
        bar.finish_and_clear();
        let outcome = match done {
            Ok(outcome) => outcome,
            Err(e) => return context.failure(&format!("Error: {e}")),
        };
        let text = if self.json {
            match serde_json::to_string(&outcome) {
                Ok(text) => text,
                Err(e) => return context.failure(&format!("Error formatting the data: {e}")),
            }
        } else {
            summary(&outcome)
        };
        context.ui.output(&text);
        0
    }
}

/// The result for people.
fn summary(o: &Outcome) -> String {
    let mut rows = vec!["Step|Pending|Processed|Canceled|Log Entries|Operations|Seconds".to_string()];
    rows.extend(o.steps.iter().map(|s| {
        format!(
            "{}|{}|{}|{}|{}|{}|{:.2}",
            s.name,
            s.evaluations_pending,
            s.evaluations_processed,
            s.evaluations_canceled,
            s.log_entries,
            s.operations,
            s.seconds
        )
    }));
    let facts = table(
        &[
            format!("Scenario|{}, seed {}", o.scenario, o.seed),
            format!("Version|{}", o.version),
            format!(
                "Machine|{}, {} CPUs, {} MiB, {}",
                o.machine.cpu, o.machine.cpus, o.machine.memory_mb, o.machine.kernel
            ),
            format!("Nodes|{}", o.nodes),
            format!("Servers|{}", o.servers),
            format!("Allocations|{}", o.allocations),
            format!("False expiries|{}", o.false_expiries),
            format!("Peak RSS|{} MiB", o.peak_rss_mb),
            format!("Server CPU|{:.1} s", o.server_cpu_seconds),
        ],
        Form::KeyValue,
    );
    format!("{facts}\n\n{}", table(&rows, Form::List))
}
