//! Every example of a help text runs, and exits with a status that the command documents for success.

mod access;
mod cluster;
mod directory;
mod servers;
mod shell;
mod stopped_server;
mod storage;

use std::collections::BTreeSet;

use encamp_cli::command::Registry;
use encamp_cli::command_documentation::{CommandDocumentation, GeneralOptions};
use encamp_cli::command_examples::IDS;
use encamp_cli::command_meta::{Listing, Meta};
use encamp_cli::registry::COMMANDS;
use regex::Regex;

use cluster::DevCluster;
use directory::ExampleDirectory;
use servers::Servers;
use shell::{Shell, Until};

/// The widest line of an example: help texts indent it by eight columns.
const WIDEST: usize = 72;
/// The widest continuation line: help texts indent it by six columns.
const WIDEST_CONTINUATION: usize = 74;

/// What a command needs to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Needs {
    /// Files.
    Directory,
    /// A cluster of one node, for commands about jobs.
    Jobs,
    /// A cluster of one node, for other commands.
    Cluster,
    /// A cluster of one node, which is lost.
    ClusterToLose,
    /// A cluster with a CSI plugin.
    Storage,
    /// A cluster with access control.
    AccessControl,
    /// Three servers.
    Servers,
    /// The data directory of a server that does not run.
    StoppedServer,
    /// Free ports.
    Ports,
    /// Time: the command starts servers and simulated nodes.
    Load,
}

fn needs(meta: &Meta) -> Needs {
    let command = meta.path;
    if ["operator raft info", "operator raft logs", "operator raft state", "operator raft repair"].contains(&command) {
        return Needs::StoppedServer;
    }
    if meta.examples_are_offline {
        return Needs::Directory;
    }
    match command {
        "agent" => return Needs::Ports,
        "volume deregister" | "volume detach" => return Needs::Storage,
        _ if command.starts_with("volume snapshot ") => return Needs::Storage,
        "node identity revoke" => return Needs::ClusterToLose,
        "operator raft remove-peer" | "operator raft transfer-leadership" => return Needs::Servers,
        // An agent in development mode saves no snapshots.
        "operator snapshot inspect" | "operator snapshot redact" | "operator snapshot state" => return Needs::Servers,
        "operator snapshot restore" | "operator snapshot save" => return Needs::Servers,
        "server force-leave" | "server join" => return Needs::Servers,
        _ => {}
    }
    match command.split(' ').next() {
        Some("alloc" | "deployment" | "eval" | "gc" | "job" | "scaling" | "service" | "status") => Needs::Jobs,
        Some("acl" | "login") => Needs::AccessControl,
        Some("sim") => Needs::Load,
        _ => Needs::Cluster,
    }
}

/// The facts about all commands.
fn commands() -> impl Iterator<Item = &'static Meta> {
    COMMANDS.iter().map(|entry| entry().meta)
}

/// The examples of the commands that need this: command and line.
fn examples_that_need(wanted: Needs) -> impl Iterator<Item = (&'static str, &'static str)> {
    // `top` needs a terminal: tests/cli/terminal/top.rs runs it on one.
    let commands = commands().filter(move |meta| meta.path != "top" && needs(meta) == wanted);
    commands.flat_map(|meta| meta.examples.iter().map(|(_, line)| (meta.path, *line)))
}

/// When a line of a command ends: by itself, unless it runs until it is interrupted or for many minutes.
fn end(command: &str, line: &str) -> Until {
    match command.split(' ').next() {
        _ if command == "agent" => Until::Prints("agent started!"),
        _ if command == "ui" && (line.contains(" -snapshot ") || line.contains(" -serve ")) => {
            Until::Prints("Press Ctrl-C to stop.")
        }
        _ if command == "monitor" || command == "autoscale agent" => Until::Runs,
        Some("alloc") if line.contains(" -f ") => Until::Runs,
        Some("sim") if !line.contains("-nodes 20 ") && !["sim cluster", "sim plan"].contains(&command) => Until::Runs,
        _ => Until::Exits,
    }
}

#[test]
fn examples_about_a_stopped_server_succeed() {
    stopped_server::run(examples_that_need(Needs::StoppedServer));
}

#[test]
fn examples_with_files_succeed() {
    let directory = ExampleDirectory::new("examples-files");
    let shell = Shell::new(&directory, &[]);
    let mut failures = Vec::new();
    for (command, line) in examples_that_need(Needs::Directory) {
        failures.extend(shell.example(command, line, end(command, line)));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// What examples belong to that need what the ones before them made, such as a namespace.
fn family(command: &str) -> &str {
    // A version is reverted to by its tag.
    if command == "job revert" {
        return "job tag";
    }
    let single = ["alloc ", "deployment ", "eval ", "job ", "node "].iter().any(|group| command.starts_with(group));
    match command.match_indices(' ').map(|(i, _)| i).collect::<Vec<_>>().as_slice() {
        [_, second, ..] => &command[..*second],
        [first] if !single => &command[..*first],
        _ => command,
    }
}

/// Examples wait for tasks and nodes most of the time, so each third of them has a cluster of its own.
fn run_third(n: usize, needs: Needs) {
    let mut families = BTreeSet::new();
    families.extend(examples_that_need(needs).map(|(command, _)| family(command)));
    let ours: BTreeSet<&str> = families.into_iter().skip(n).step_by(3).collect();
    let examples = examples_that_need(needs).filter(|(command, _)| ours.contains(family(command)));
    DevCluster::start(&format!("examples-{needs:?}-{n}")).run(examples);
}

#[test]
fn examples_about_jobs_succeed_first_third() {
    run_third(0, Needs::Jobs);
}

#[test]
fn examples_about_jobs_succeed_second_third() {
    run_third(1, Needs::Jobs);
}

#[test]
fn examples_about_jobs_succeed_last_third() {
    run_third(2, Needs::Jobs);
}

#[test]
fn examples_about_clusters_succeed_first_third() {
    run_third(0, Needs::Cluster);
}

#[test]
fn examples_about_clusters_succeed_second_third() {
    run_third(1, Needs::Cluster);
}

#[test]
fn examples_about_clusters_succeed_last_third() {
    run_third(2, Needs::Cluster);
}

#[test]
fn examples_that_take_a_node_away_succeed() {
    for example in examples_that_need(Needs::ClusterToLose) {
        DevCluster::start("examples-lost").run(std::iter::once(example));
    }
}

#[test]
fn examples_about_storage_succeed() {
    storage::run(examples_that_need(Needs::Storage));
}

#[test]
fn examples_about_access_control_succeed() {
    access::run(examples_that_need(Needs::AccessControl));
}

#[test]
fn examples_about_servers_succeed() {
    Servers::start().run(examples_that_need(Needs::Servers));
}

#[test]
fn agents_in_examples_start_and_stop() {
    let directory = ExampleDirectory::new("examples-agent");
    let shell = Shell::new(&directory, &[]);
    let mut failures = Vec::new();
    for (command, line) in examples_that_need(Needs::Ports) {
        // The examples listen on the usual ports, tests on free ones; nothing is sent to other machines.
        let line = format!("{line} -config ports.hcl").replace("10.0.0.1", "127.0.0.1");
        failures.extend(shell.example(command, &line, end(command, &line)));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Simulations mostly wait for heartbeats, so they run at the same time.
#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn examples_of_simulations_succeed() {
    let run = |(command, line): (&'static str, &'static str)| {
        std::thread::spawn(move || {
            let directory = ExampleDirectory::new("examples-sim");
            Shell::new(&directory, &[]).example(command, line, end(command, line))
        })
    };
    let running: Vec<_> = examples_that_need(Needs::Load).map(run).collect();
    let failures: Vec<String> = running.into_iter().filter_map(|run| run.join().expect("a run")).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Commands without options and arguments have one example, all others at least two.
#[test]
fn every_command_has_examples() {
    let registry = Registry::new();
    let mut missing = BTreeSet::new();
    for entry in registry.entries().filter(|entry| entry.listing != Listing::Hidden) {
        let documentation = CommandDocumentation::of(entry);
        let has_choices = !documentation.options.is_empty() || !documentation.arguments.is_empty();
        let wanted = if has_choices { 2 } else { 1 };
        if documentation.examples.len() < wanted {
            missing.insert((documentation.name, documentation.examples.len()));
        }
    }
    assert!(missing.is_empty(), "too few examples: {missing:?}");
}

#[test]
fn examples_name_their_commands_and_fit_the_screen() {
    for Meta { path: command, examples, .. } in commands() {
        let mut lines = BTreeSet::new();
        for (about, line) in *examples {
            assert!(line.contains(&format!("encamp {command}")), "{command}: {line}");
            assert!(!about.ends_with(['.', ':']), "{command}: {about}");
            assert!(lines.insert(line), "{command}: {line} is there twice");
            for (n, line) in line.lines().enumerate() {
                let widest = if n == 0 { WIDEST } else { WIDEST_CONTINUATION };
                assert!(line.chars().count() <= widest, "{command}: more than {widest} columns: {line}");
            }
        }
    }
}

/// IDs that stand for no object could not be run.
#[test]
fn ids_in_examples_name_objects() {
    let id = Regex::new(r"\b[0-9a-f]{8}(-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})?\b").expect("a pattern");
    for (command, line) in commands().flat_map(|meta| meta.examples.iter().map(|(_, line)| (meta.path, line))) {
        for found in id.find_iter(line) {
            let known = IDS.iter().any(|(known, _)| known.starts_with(found.as_str()));
            assert!(known, "{command}: {} in {line}", found.as_str());
        }
    }
}

/// The help refers to `encamp options` for the options that are described once.
#[test]
fn help_describes_general_options_once() {
    let registry = Registry::new();
    for entry in registry.entries() {
        let documentation = CommandDocumentation::of(entry);
        let help = encamp_cli::help::command(&registry, entry.path);
        assert_eq!(
            help.contains("encamp options"),
            documentation.general != GeneralOptions::None || entry.path == "options"
        );
        assert!(!help.contains("-client-cert"), "{}: general options are described again", entry.path);
    }
}
