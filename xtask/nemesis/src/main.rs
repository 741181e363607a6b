//! `cargo xtask nemesis`: injects faults into a cluster of real processes, and checks what clients saw
//! (`docs/dev/nemesis.md`). Needs root and Linux.
//!
//! - [`place`], [`switch`], [`rules`]: members in network namespaces, and the network between them. [`agent`],
//!   [`disk`], [`cluster`]: processes and disks. [`schedule`], [`faults`]: which faults occur, and how.
//! - [`clients`], [`http`], [`history`]: the load and what it saw. [`check`], [`settle`]: what must be so.
//!   The checker of registers is [`encamp_linear`], which the simulation uses, too.
//! - [`run`]: the order. [`report`]: the result.

mod agent;
mod check;
mod clients;
mod cluster;
mod dice;
mod disk;
mod failure;
mod faults;
mod history;
mod http;
mod options;
mod place;
mod report;
mod rules;
mod run;
mod schedule;
mod settle;
mod shell;
mod switch;

use std::process::{Command, ExitCode};

use failure::{Failure, Outcome};
use options::Request;

const HELP: &str = "\
Injects faults into five servers and twenty nodes in network namespaces, and checks what clients saw.

Usage: cargo xtask nemesis [options]
       cargo xtask nemesis report DIRECTORY

  -seed N               What the schedule depends on. Default: 1
  -minutes M            How long faults are injected. Default: 60
  -program FILE         The program under test. Default: target/release/encamp
  -previous FILE        The program that the cluster starts with, before upgrades. Default: the same
  -out DIRECTORY        Where logs, histories, report and pictures go. Default: target/nemesis
  -faults KIND[,KIND]   Only these kinds of faults
  report DIRECTORY      Write the report of an earlier run again

Needs root.

Exit codes: 0 no rule is broken, 1 a rule is broken or the run failed, 2 wrong usage.
";

/// Set in the environment if this program has mounts of its own.
const OWN_MOUNTS: &str = "ENCAMP_NEMESIS_OWN_MOUNTS";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args_os().skip(1).map(|a| a.to_string_lossy().into_owned()).collect();
    match start(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure @ Failure::Usage(_)) => {
            eprint!("error: {failure}\n\n{HELP}");
            ExitCode::from(2)
        }
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// Starts this program again with mounts of its own: they end with it, and nobody else keeps its disks mounted.
fn with_own_mounts(args: &[String]) -> Outcome {
    let failed = |why: String| Failure::Command { command: "unshare --mount".into(), why };
    let program = std::env::current_exe().map_err(|e| failed(e.to_string()))?;
    let mut again = Command::new("unshare");
    again.args(["--mount", "--propagation", "private", "--"]).arg(program).args(args).env(OWN_MOUNTS, "1");
    let status = again.status().map_err(|e| failed(e.to_string()))?;
    if status.success() { Ok(()) } else { Err(Failure::Violated(format!("the run failed: {status}"))) }
}

fn start(args: &[String]) -> Outcome {
    match options::parse(args)? {
        Request::Run(_) if std::env::var_os(OWN_MOUNTS).is_none() => with_own_mounts(args),
        Request::Help => {
            print!("{HELP}");
            Ok(())
        }
        Request::Run(options) => run::run(&options),
        Request::Report(folder) => report::make(&folder),
    }
}
