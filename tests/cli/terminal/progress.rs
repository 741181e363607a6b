//! Commands that read a running cluster, and scenarios that load servers: they show progress.

use std::time::Duration;

use crate::agent::wait_for;
use crate::cluster::Cluster;
use crate::program::{Folder, run_in};
use crate::server::{Request, Server};
use crate::terminal::screen::{CTRL_C, ENTER, SIZES, Size};
use crate::terminal::{encamp, stall};

const JOB: &str = r#"
job "newcomer" {
  datacenters = ["*"]
  group "g" {
    count = 2
    task "t" {
      driver = "exec"
      config { command = "/bin/app" }
      resources {
        cpu    = 20
        memory = 16
      }
    }
  }
}
"#;

/// A command that reads the cluster, and its exit code.
pub const COMMANDS: &[(&[&str], i32)] = &[
    (&["job", "plan", "-no-cache", "job.hcl"], 1),
    (&["job", "plan", "-no-cache", "job.hcl", "other.hcl"], 1),
    (&["snapshot", "fetch", "-no-cache", "-out=cluster.json"], 0),
    (&["snapshot", "inspect", "-no-cache"], 0),
    (&["what-if", "-no-cache", "-add=3:like=node-093"], 1),
    (&["capacity", "-no-cache", "job.hcl"], 0),
];

/// A cluster whose answers take so long that progress is drawn. With `stalls`, lists of allocations are never answered.
pub fn slow_cluster(stalls: bool) -> Server {
    let cluster = Cluster::recorded("fleet").expect("a recorded cluster").shrunk(12);
    Server::start(move |request: &Request| {
        // As behind a slow network.
        std::thread::sleep(Duration::from_millis(2));
        if stalls && request.path == "/v1/allocations" {
            stall()
        }
        cluster.answer(request)
    })
}

pub fn bench(name: &str, size: Size) -> Folder {
    let folder = Folder::new(&format!("terminal-{name}-{}", size.columns));
    folder.file("job.hcl", JOB);
    folder.file("other.hcl", JOB.replace("newcomer", "other"));
    folder
}

#[test]
fn commands_that_show_progress_end() {
    let server = slow_cluster(false);
    for size in SIZES {
        let folder = bench("progress", size);
        for (args, code) in COMMANDS {
            let screen = encamp(size, &folder, &server.address, args);
            screen.wait_for_raw(b"Reading");
            screen.ends().with(*code).without("Reading");
        }
    }
}

#[test]
fn a_plan_that_asks_draws_progress_first() {
    let server = slow_cluster(false);
    for size in SIZES {
        let folder = bench("ask", size);
        let screen = encamp(size, &folder, &server.address, &["job", "run", "-plan", "job.hcl"]);
        screen.wait_for("Register the job as planned? [y/N]");
        screen.press("n");
        screen.press(ENTER);
        screen.ends().with(0).showing("Cancelling job run").without("Reading");
    }
}

#[test]
fn an_interrupt_ends_progress() {
    let server = slow_cluster(true);
    for size in SIZES {
        let folder = bench("interrupt", size);
        let asks: (&[&str], i32) = (&["job", "run", "-plan", "job.hcl"], 0);
        for (args, _) in COMMANDS.iter().chain([&asks]) {
            let screen = encamp(size, &folder, &server.address, args);
            screen.wait_for("Reading");
            screen.press(CTRL_C);
            screen.ends().with(130).without("Reading");
        }
        assert!(!folder.path().join("cluster.json").exists(), "no file of a fetch that was interrupted");
    }
}

/// Two limits on values of properties: nothing is known of any loss before it is followed.
const BOUNDLESS: &str = r#"
job "boundless" {
  datacenters = ["*"]
  constraint {
    operator  = "distinct_property"
    attribute = "${node.unique.name}"
    value     = "1"
  }
  constraint {
    operator  = "distinct_property"
    attribute = "${node.datacenter}"
    value     = "40"
  }
  group "g" {
    task "t" {
      driver = "docker"
      config {
        image = "x"
      }
      resources {
        cpu    = 20
        memory = 16
      }
    }
  }
}
"#;

#[test]
fn an_interrupt_gives_the_interval_of_a_search_so_far() {
    let folder = bench("interval", SIZES[0]);
    folder.file("boundless.hcl", BOUNDLESS);
    let sim = ["sim", "cluster", "-nodes", "600", "-allocs", "9000", "-seed", "5", "-out", "c.json"];
    assert_eq!(run_in(folder.path(), &sim).exit, 0);
    let search = ["capacity", "-survive=node", "-exact", "-snapshot=c.json", "boundless.hcl"];
    for size in SIZES {
        let screen = encamp(size, &folder, "http://127.0.0.1:1", &search);
        screen.wait_for("losses decided");
        screen.press(CTRL_C);
        let ended = screen.ends().with(0).without("Ctrl-C ends the search");
        let text = String::from_utf8_lossy(&ended.raw);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (_, answer) =
            words.split_once("After the worst loss of a node at least ").unwrap_or_else(|| panic!("{text}"));
        let (interval, rest) = answer.split_once(" more fit: ").unwrap_or_else(|| panic!("{answer}"));
        assert!(rest.contains("losses decided; -exact goes on until the worst is found"), "{answer}");
        let ends: Vec<i64> = interval.split(", at most ").map(|n| n.parse().expect("a number")).collect();
        assert!(matches!(ends.as_slice(), [least, most] if least < most), "{answer}");
    }
}

#[test]
fn an_interrupt_ends_the_search_for_moves_with_the_best_plan() {
    let folder = bench("moves", SIZES[0]);
    let sim = ["sim", "cluster", "-nodes", "600", "-allocs", "9000", "-seed", "5", "-out", "c.json"];
    assert_eq!(run_in(folder.path(), &sim).exit, 0);
    for size in SIZES {
        let search = ["rebalance", "-even", "-timeout=10m", "-snapshot=c.json"];
        let screen = encamp(size, &folder, "http://127.0.0.1:1", &search);
        screen.wait_for("Searching for moves to lower the highest utilisation");
        screen.press(CTRL_C);
        let ended = screen.ends().without("Ctrl-C ends the search");
        assert!((0..=1).contains(&ended.code()), "{}", ended.code());
        let text = String::from_utf8_lossy(&ended.raw);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("The search was ended before it was complete"), "{words}");
    }
}

#[test]
fn an_interrupt_leaves_no_unfinished_file() {
    // The file is written while the backup is read.
    let server = Server::start(|_: &Request| stall());
    for size in SIZES {
        let folder = bench("unfinished", size);
        let temporary = || {
            let names =
                std::fs::read_dir(folder.path()).expect("a folder").map(|entry| entry.expect("an entry").file_name());
            names.filter(|name| name.to_string_lossy().ends_with(".tmp")).count()
        };
        let screen = encamp(size, &folder, &server.address, &["operator", "snapshot", "save", "backup.snap"]);
        wait_for("the file", || if temporary() == 1 { Ok(()) } else { Err(String::new()) });
        screen.press(CTRL_C);
        screen.ends().with(130);
        assert_eq!((temporary(), folder.path().join("backup.snap").exists()), (0, false));
    }
}

#[test]
fn an_interrupt_ends_scenarios() {
    for size in SIZES {
        let folder = bench("scenario", size);
        for scenario in ["c1m", "churn", "flap", "gc", "heartbeats", "load-shedding"] {
            let data = format!("-data-dir={}", folder.path().join(scenario).display());
            let screen = encamp(size, &folder, "http://127.0.0.1:1", &["sim", scenario, "-nodes=20", &data]);
            screen.wait_until("progress", |screen, _| screen.contents().contains("0s"));
            screen.press(CTRL_C);
            screen.ends().with(130).showing("stopped by signal: interrupt");
            assert!(!folder.path().join(scenario).exists(), "the data of {scenario} is gone");
        }
    }
}
