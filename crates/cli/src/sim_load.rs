//! The common parts of the commands that load real servers: data directory, progress line, result.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::completion::values::CompleteWith;
use super::context::Context;
use super::error::{CommandError, ErrorContext};
use super::flags::{InvalidFlag, parse_int, within};
use super::general::ColourFlags;
use super::render::table::{Form, table};
use encamp_sim::load::LoadError;
use encamp_sim::load::outcome::Outcome;
use encamp_sim::load::stage::Options;

/// The time within which a signal may arrive after it ended a server.
const SIGNAL_DELAY: Duration = Duration::from_millis(200);
/// The maximum number of nodes.
const MOST_NODES: i64 = 100_000;

/// The common flags of the commands that load real servers.
#[derive(Debug, clap::Args)]
pub struct SimFlags {
    /// Number of simulated nodes
    #[arg(long, value_name = "count", default_value = "5000", value_parser = parse_int)]
    pub nodes: i64,
    /// Number of servers: 1, 3 or 5
    #[arg(
        long,
        value_name = "count",
        default_value = "1",
        value_parser = parse_int,
        add = CompleteWith::Words(&["1", "3", "5"])
    )]
    pub servers: i64,
    /// Seed of the IDs, attributes and delays of the nodes
    #[arg(long, value_name = "number", default_value = "1", value_parser = parse_int)]
    pub seed: i64,
    /// Directory for the data of the servers, which must not exist. Default: a new temporary directory
    #[arg(long, value_name = "path", add = CompleteWith::DIRECTORIES)]
    pub data_dir: Option<String>,
    /// Make small writes meanwhile, and measure how long the longest takes in each step
    #[arg(long)]
    pub writes: bool,
    /// Print the result as one line of JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub(crate) colours: ColourFlags,
}

impl SimFlags {
    fn options(&self, folder: PathBuf) -> Result<Options, InvalidFlag> {
        if !matches!(self.servers, 1 | 3 | 5) {
            return Err(InvalidFlag::new(format_args!("-servers must be 1, 3 or 5, not {}", self.servers)));
        }
        Ok(Options {
            nodes: within("nodes", self.nodes, MOST_NODES)?,
            servers: within("servers", self.servers, 5)?,
            // Any number is valid.
            seed: self.seed as u64,
            folder,
            writes: self.writes,
            connection_nodes: 1,
        })
    }

    /// Runs a scenario with a progress line on standard error and prints its measurements; returns the exit code. The
    /// directory of the servers is created, and removed at the end.
    pub fn run<S>(
        &self,
        context: &mut Context<'_, '_>,
        scenario: impl FnOnce(Options) -> Result<S, InvalidFlag>,
        run: impl AsyncFnOnce(&S, &dyn Fn(String)) -> Result<Outcome, LoadError>,
    ) -> u8 {
        let folder = folder(self.data_dir.as_deref(), context);
        match self.options(folder.clone()).and_then(scenario) {
            Ok(scenario) => run_in(context, &folder, self.json, async |tell| run(&scenario, tell).await),
            Err(e) => context.usage_error(&e.to_string()),
        }
    }
}

/// The data directory of the servers: the directory of a flag, or a temporary one.
fn folder(given: Option<&str>, context: &Context<'_, '_>) -> PathBuf {
    match given {
        Some(path) => context.env.directory.join(path),
        None => std::env::temp_dir().join(format!("encamp-sim-{}", std::process::id())),
    }
}

/// A directory that is removed at the end.
struct Removed<'a>(&'a Path);

impl Drop for Removed<'_> {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(self.0);
    }
}

fn run_in<F>(context: &mut Context<'_, '_>, folder: &Path, json: bool, scenario: F) -> u8
where
    F: AsyncFnOnce(&dyn Fn(String)) -> Result<Outcome, LoadError>,
{
    if let Err(e) = std::fs::create_dir(folder) {
        return context.failure(&format!("Error creating {}: {e}", folder.display()));
    }
    let _removed = Removed(folder);
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(e) => return context.failure(&format!("Error starting the network runtime: {e}")),
    };
    let mut signals = match runtime.block_on(async { StopSignals::listen() }) {
        Ok(signals) => signals,
        Err(e) => return context.failure(&format!("Error listening for signals: {e}")),
    };
    context.env.terminal.handle_signals_in_command();
    let progress = context.env.terminal.spinner();
    let tell = |line: String| progress.say(&line);
    let done = runtime.block_on(async {
        let done = tokio::select! {
            biased;
            // Servers and their data are removed before the program exits.
            signal = signals.next() => return Err(signal),
            done = scenario(&tell) => done,
        };
        match done {
            // A server may have ended because of the signal that ends the scenario.
            Err(e) => tokio::time::timeout(SIGNAL_DELAY, signals.next()).await.map_or(Ok(Err(e)), Err),
            done => Ok(done),
        }
    });
    drop(progress);
    let done = match done {
        Ok(done) => done,
        Err(signal) => {
            let (name, code) = signal.name_and_exit_code();
            let error = CommandError::new(format!("Error: stopped by signal: {name}"));
            return context.report(&error.with_exit_code(code));
        }
    };
    let text = match done {
        Ok(outcome) if json => serde_json::to_string(&outcome).context("Error formatting the data"),
        Ok(outcome) => Ok(summary(&outcome)),
        Err(e) => Err(CommandError::new(format!("Error: {e}"))),
    };
    match text {
        Ok(text) => {
            context.ui.output(&text);
            0
        }
        Err(e) => context.report(&e),
    }
}

/// A signal that ends a scenario.
enum StopSignal {
    Interrupt,
    Terminate,
}

impl StopSignal {
    /// Its name, and the exit code of a process that it ends.
    fn name_and_exit_code(&self) -> (&'static str, u8) {
        match self {
            StopSignal::Interrupt => ("interrupt", 130),
            StopSignal::Terminate => ("terminated", 143),
        }
    }
}

/// The signals that end a scenario.
struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
}

impl StopSignals {
    /// Starts to listen; only inside a runtime.
    fn listen() -> std::io::Result<StopSignals> {
        let (interrupt, terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        Ok(StopSignals { interrupt, terminate })
    }

    /// Waits for a signal.
    async fn next(&mut self) -> StopSignal {
        tokio::select! {
            _ = self.interrupt.recv() => StopSignal::Interrupt,
            _ = self.terminate.recv() => StopSignal::Terminate,
        }
    }
}

/// The result as text.
fn summary(o: &Outcome) -> String {
    let m = &o.machine;
    let mut facts = vec![
        format!("Scenario|{}, seed {}", o.scenario, o.seed),
        format!("Version|{}", o.version),
        format!("Machine|{}, {} CPUs, {} MiB, {}", m.cpu, m.cpus, m.memory_mb, m.kernel),
        format!("Nodes|{}", o.nodes),
        format!("Servers|{}", o.servers),
        format!("Allocations|{}", o.allocations),
    ];
    if o.allocations_per_second > 0.0 {
        facts.push(format!("Placed|{:.0} per second", o.allocations_per_second));
    }
    facts.extend([
        format!("False Expiries|{}", o.false_expiries),
        format!("Peak RSS|{} MiB", o.peak_rss_mb),
        format!("RSS at End|{} MiB", o.rss_mb),
        format!("Server CPU|{:.1} s", o.server_cpu_seconds),
    ]);
    if let Some(r) = &o.restart {
        facts.extend([
            format!("Snapshot|{:.2} s, {} MiB", r.snapshot_seconds, r.snapshot_mb),
            format!("Restart|{:.2} s, {:.2} s of it to restore the snapshot", r.seconds, r.restore_seconds),
            format!("Restart from Log|{:.2} s", r.from_log_seconds),
        ]);
    }
    let measured = o.steps.iter().any(|s| s.writes > 0);
    let writes = if measured { "|Writes|Longest Write" } else { "" };
    let mut steps = vec![format!("Step|Pending|Processed|Canceled|Log Entries|Operations|Seconds|Server CPU{writes}")];
    steps.extend(o.steps.iter().map(|s| {
        let evaluations = format!("{}|{}|{}", s.evaluations_pending, s.evaluations_processed, s.evaluations_canceled);
        let writes = if measured { format!("|{}|{:.0} ms", s.writes, s.longest_write_ms) } else { String::new() };
        format!(
            "{}|{evaluations}|{}|{}|{:.2}|{:.1} s{writes}",
            s.name, s.log_entries, s.operations, s.seconds, s.server_cpu_seconds
        )
    }));
    let mut text = format!("{}\n\n{}", table(&facts, Form::KeyValue), table(&steps, Form::List));
    if !o.timings.is_empty() {
        let mut rows = vec!["Metric|Count|p50|p99".to_string()];
        rows.extend(o.timings.iter().map(|t| format!("{}|{}|{:.2} ms|{:.2} ms", t.name, t.count, t.p50_ms, t.p99_ms)));
        text += &format!("\n\n{}", table(&rows, Form::List));
    }
    text
}
