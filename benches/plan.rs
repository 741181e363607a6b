//! Measures where `job plan` spends its time on a large cluster: a service job of 100 instances on a synthetic snapshot
//! of 5,000 nodes and 100,000 allocations. `docs/dev/performance.md` records the results. No other program plans a job
//! against a file, so there is nothing to compare with; `benches/scheduler.rs` records the time that Nomad takes for
//! the same search on its own servers.
//!
//! The last results are the worst loss of a node and of a datacenter for a service of 500 MHz and 512 MB, once each.

use std::hint::black_box;
use std::process::{Command, Stdio};
use std::time::Instant;

use encamp_jobspec::convert::ConvertOptions;
use encamp_jobspec::parse::{ParseOptions, parse};
use encamp_plan::capacity::{Subject, subject};
use encamp_plan::survival::{Accuracy, Limits, Loss, survival};
use encamp_plan::{dry_run, plan_job, server_context};
use encamp_sim::cluster::EPOCH;
use encamp_sim::{ClusterOptions, cluster};
use encamp_snapshot::{file, save};
use encamp_state::State;

/// The command's own allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const RUNS: usize = 7;

const JOB: &str = r#"
job "frontend" {
  datacenters = ["*"]

  group "web" {
    count = 100

    constraint {
      attribute = "${attr.kernel.name}"
      value     = "linux"
    }

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
        cpu    = 500
        memory = 256
      }
    }
  }
}
"#;

/// Asks for nothing but CPU and memory.
const PLAIN_JOB: &str = r#"
job "plain" {
  group "g" {
    task "t" {
      driver = "docker"

      config {
        image = "registry.example/plain:1"
      }

      resources {
        cpu    = 500
        memory = 512
      }
    }
  }
}
"#;

/// Looks once for the worst loss and prints how long that takes.
fn worst_loss(state: &State, loss: Loss, accuracy: Accuracy, convert: &ConvertOptions, now: i64) {
    let job = parse(PLAIN_JOB.as_bytes(), &ParseOptions::default()).expect("a job");
    let job = subject(state, &job, convert, &server_context(state), now).expect("a valid job");
    let subject = Subject { group: job.task_groups[0].clone(), job };
    let start = Instant::now();
    let worst =
        survival(state, &subject, loss, &Limits::none(accuracy), now).expect("the nodes exist").expect("a loss");
    let (what, seconds) =
        (format!("a worst loss: {loss:?}, {accuracy:?}, {} of {} tried", worst.tried, worst.of), start.elapsed());
    println!("{what:<44}{:>10.1}", seconds.as_secs_f64() * 1000.0);
}

/// Runs a step several times, prints the shortest and the middle time and hands on the last result.
fn step<T>(name: &str, mut run: impl FnMut() -> T) -> T {
    let mut times = Vec::new();
    let mut last = None;
    for _ in 0..RUNS {
        drop(last.take());
        let start = Instant::now();
        last = Some(black_box(run()));
        times.push(start.elapsed().as_secs_f64() * 1000.0);
    }
    times.sort_by(f64::total_cmp);
    println!("{name:<44}{:>10.1}{:>12.1}", times[0], times[RUNS / 2]);
    last.expect("a run")
}

fn main() {
    let options = ClusterOptions { nodes: 5000, allocs: 100_000, seed: 4, now: EPOCH };
    let made = cluster(&options).expect("a cluster");
    let folder = std::env::temp_dir().join(format!("encamp-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("cluster.json.zst");
    save::save(&path, &made.file, made.allocations()).expect("a file");
    let job_path = folder.join("frontend.nomad.hcl");
    std::fs::write(&job_path, JOB).expect("a job file");
    drop(made);

    println!("{:<44}{:>10}{:>12}", "step", "min ms", "median ms");
    let bytes = step("read the file", || std::fs::read(&path).expect("the file"));
    let json = step("decompress", || file::decompress(&bytes, "cluster").expect("zstd").expect("zstd"));
    step("parse the JSON", || file::parse(&json).expect("a snapshot"));
    let mut parsed: Vec<_> = (0..RUNS).map(|_| file::parse(&json).expect("a snapshot")).collect();
    let state =
        step("build the state", || file::into_state(parsed.pop().expect("one per run")).expect("a state")).state;
    let now = options.now;
    let parse_options = ParseOptions::default();
    let job = step("parse the job file", || parse(JOB.as_bytes(), &parse_options).expect("a job"));
    let (convert, context) = (ConvertOptions { region: "global".into(), ..Default::default() }, server_context(&state));
    let planned = step("whole plan: admission, scheduling, diff", || {
        plan_job(&state, &job, &convert, &context, now).expect("a plan")
    });
    step("scheduling alone", || dry_run(&state, &planned.run.job, now).expect("a plan"));
    drop(planned);
    let searches = [(Loss::Node, Accuracy::Near), (Loss::Node, Accuracy::Exact), (Loss::Datacenter, Accuracy::Near)];
    for (loss, accuracy) in searches {
        worst_loss(&state, loss, accuracy, &convert, now);
    }
    drop(state);

    let command = || {
        Command::new(env!("CARGO_BIN_EXE_encamp"))
            .args(["job", "plan", "-snapshot"])
            .args([&path, &job_path])
            .stdout(Stdio::null())
            .status()
            .expect("the command runs")
    };
    let status = step("the whole command, process start to end", command);
    assert_eq!(status.code(), Some(1), "allocations are to be created");
    println!("snapshot: {:.1} MB, JSON {:.1} MB", bytes.len() as f64 / 1e6, json.len() as f64 / 1e6);
    std::fs::remove_dir_all(&folder).expect("the folder goes");
}
