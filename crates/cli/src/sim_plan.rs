//! `sim plan`: the memory and time that a plan takes on a cluster of a given size.

use std::time::Instant;

use serde::Serialize;

use super::command::Run;
use super::command_meta::Meta;
use super::context::Context;
use super::error::{CommandError, CommandResult, ErrorContext};
use super::flags::{parse_int, within};
use super::general::ColourFlags;
use super::render::table::{Form, table};
use encamp_host::platform::process::memory;
use encamp_jobspec::convert::ConvertOptions;
use encamp_jobspec::parse::{ParseOptions, parse};
use encamp_model::api;
use encamp_plan::{plan_job, server_context};
use encamp_sim::cluster::{ClusterOptions, EPOCH, MOST_ALLOCS, MOST_NODES, cluster};
use encamp_snapshot::file::into_state;
use encamp_state::State;

/// How often the job is planned; the shortest time counts.
const RUNS: usize = 5;
/// The job that is planned.
const JOB: &str = r#"
job "frontend" {
  datacenters = ["*"]

  group "web" {
    count = 100

    network {
      port "http" {}
    }

    task "server" {
      driver = "docker"

      config {
        image = "registry.example/frontend:1.4"
        ports = ["http"]
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
"#;

/// Measure a plan on a large cluster
///
/// Generates the synthetic cluster of "sim cluster" in memory, without a file, and plans a service job of 100
/// allocations on it, each with a dynamic port. The output shows the resident memory that the state takes, also per
/// allocation, the time to build the state, and the shortest time of five plans, which includes the job's admission
/// and diff.
///
/// The memory is that of the state alone: the generated data that the state does not hold is freed before.
#[derive(Debug, clap::Parser)]
pub struct SimPlan {
    /// Number of nodes
    #[arg(long, value_name = "count", default_value = "5000", value_parser = parse_int)]
    pub nodes: i64,
    /// Number of allocations, including completed and failed ones
    #[arg(long, value_name = "count", default_value = "100000", value_parser = parse_int)]
    pub allocs: i64,
    /// Seed of the generated data
    #[arg(long, value_name = "number", default_value = "1", value_parser = parse_int)]
    pub seed: i64,
    /// Print the result as one line of JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub(crate) colours: ColourFlags,
}

/// The measurements.
#[derive(Debug, Serialize)]
struct Measured {
    scenario: &'static str,
    nodes: usize,
    allocations: usize,
    /// Seconds to build the state from its rows.
    build_seconds: f64,
    /// Resident bytes of the state; none of the three is known where the system does not tell.
    state_bytes: Option<u64>,
    /// The same per allocation, nodes and jobs included.
    bytes_per_allocation: Option<u64>,
    /// The largest resident memory of the process.
    peak_rss_bytes: Option<u64>,
    /// Milliseconds of the shortest plan.
    plan_ms: f64,
    /// Allocations that the plan places.
    placed: usize,
}

impl Run for SimPlan {
    const META: Meta = Meta::new("sim plan")
        .exit_status(&[(0, "The job was planned."), (1, "An error occurred.")])
        .offline_examples(&[
            ("Measure a plan on a small cluster", "encamp sim plan -nodes 100 -allocs 1000"),
            ("Measure a plan on a larger cluster, for a report", "encamp sim plan -nodes 500 -allocs 10000 -json"),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let most = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        let options = within("nodes", self.nodes, most(MOST_NODES)).and_then(|nodes| {
            let allocs = within("allocs", self.allocs, most(MOST_ALLOCS))?;
            // Any seed is valid.
            Ok(ClusterOptions { nodes, allocs, seed: self.seed as u64, now: EPOCH })
        });
        let options = match options {
            Ok(options) => options,
            Err(e) => return context.usage_error(&e.to_string()),
        };
        let text = measure(&options).and_then(|measured| match self.json {
            true => serde_json::to_string(&measured).context("Error formatting the data"),
            false => Ok(shown(&measured)),
        });
        match text {
            Ok(text) => {
                context.ui.output(&text);
                0
            }
            Err(e) => context.report(&e),
        }
    }
}

/// Generates the cluster, builds its state and plans the job.
fn measure(options: &ClusterOptions) -> CommandResult<Measured> {
    let job = parse(JOB.as_bytes(), &ParseOptions::default());
    let job = job.map_err(|e| CommandError::new(format!("Error reading the job: {e:?}")))?;
    let before = memory().and_then(|held| held.resident);
    let made = cluster(options).context("Error generating the cluster")?;
    let file = made.into_file();
    let start = Instant::now();
    let state = into_state(file).context("Error building the state")?.state;
    let build_seconds = start.elapsed().as_secs_f64();
    let (plan_ms, placed) = fastest_plan(&state, &job, options.now)?;
    // After the plans: the allocator returns the memory of the generated data to the system with some delay.
    let held = memory();
    let state_bytes = held.and_then(|held| held.resident).zip(before).map(|(now, before)| now.saturating_sub(before));
    // Freeing the state takes as long as building it, and the process ends anyway.
    std::mem::forget(state);
    Ok(Measured {
        scenario: "plan",
        nodes: options.nodes,
        allocations: options.allocs,
        build_seconds,
        state_bytes,
        bytes_per_allocation: state_bytes.map(|bytes| bytes / u64::try_from(options.allocs).unwrap_or(1).max(1)),
        peak_rss_bytes: held.and_then(|held| held.peak),
        plan_ms,
        placed,
    })
}

/// Milliseconds of the fastest plan, and how many allocations it places.
fn fastest_plan(state: &State, job: &api::Job, now: i64) -> CommandResult<(f64, usize)> {
    let (convert, server) = (ConvertOptions { region: "global".into(), ..Default::default() }, server_context(state));
    let (mut fastest, mut placed) = (f64::INFINITY, 0);
    for _ in 0..RUNS {
        let start = Instant::now();
        let planned = plan_job(state, job, &convert, &server, now).context("Error planning the job")?;
        fastest = fastest.min(start.elapsed().as_secs_f64() * 1000.0);
        placed = planned.run.plan.node_allocation.values().map(Vec::len).sum();
    }
    Ok((fastest, placed))
}

fn shown(m: &Measured) -> String {
    let known = |figure: Option<u64>, unit: &str| {
        figure.map_or_else(|| "not known on this system".into(), |figure| format!("{figure} {unit}"))
    };
    let mib = |bytes: Option<u64>| known(bytes.map(|bytes| bytes >> 20), "MiB");
    table(
        &[
            format!("Nodes|{}", m.nodes),
            format!("Allocations|{}", m.allocations),
            format!("State|{}, built in {:.2} s", mib(m.state_bytes), m.build_seconds),
            format!("Per Allocation|{}, with nodes and jobs", known(m.bytes_per_allocation, "bytes")),
            format!("Peak RSS|{}", mib(m.peak_rss_bytes)),
            format!("Plan|{:.2} ms, {} placed", m.plan_ms, m.placed),
        ],
        Form::KeyValue,
    )
}
