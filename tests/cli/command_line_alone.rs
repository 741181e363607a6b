//! The command line without the agent, which builds for macOS and Windows (`docs/dev/release.md`): what it is linked with,
//! and which of its files know the system.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::architecture::sources;
use crate::program::repository;

/// Crates that are for Linux alone, or that the agent alone needs.
const FORBIDDEN: &[&str] = &[
    "bollard",
    "close_fds",
    "encamp-agent",
    "encamp-audit",
    "encamp-client",
    "encamp-csi",
    "encamp-http",
    "encamp-rpc",
    "foca",
    "if-addrs",
    "landlock",
    "oauth2",
    "rusty-s3",
    "sd-notify",
    "seccompiler",
    "tonic",
];
/// Libraries that not every system has: only sections for a target or optional dependencies name them.
const OF_SYSTEMS: &[&str] = &["procfs", "rustix"];
/// What code says that is for Unix or Linux alone.
const WORDS: &[&str] = &["std::os::unix", "std::os::fd", "std::os::linux", "signal::unix", "rustix::", "procfs::"];
/// Files and folders below `crates/` that are compiled for one system, or with the feature `agent` alone.
const KNOW_SYSTEMS: &[&str] = &[
    "autoscale/src/provider/command/processes_unix.rs",
    "autoscale/src/provider/local",
    "cli/src/agent.rs",
    "cli/src/autoscale_agent.rs",
    "cli/src/platform",
    "cli/src/sim_load.rs",
    "host/src/platform",
    "sim/src/load",
    "top/src/run",
];

/// The packages that the program is linked with on this machine when it is built without features.
fn linked() -> BTreeSet<String> {
    let cargo = option_env!("CARGO").unwrap_or("cargo");
    let arguments = ["tree", "--locked", "--offline", "--package", "encamp", "--no-default-features"];
    let mut command = Command::new(cargo);
    command.args(arguments).args(["--edges", "normal", "--prefix", "none", "--format", "{p}"]);
    let output = command.current_dir(repository()).output().expect("cargo");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().filter_map(|line| Some(line.split_once(' ')?.0.to_owned())).collect()
}

/// The folders of the workspace's crates among packages.
fn own_crates(packages: &BTreeSet<String>) -> Vec<PathBuf> {
    let folder = |name: &String| Some(repository().join("crates").join(name.strip_prefix("encamp-")?));
    packages.iter().filter_map(folder).collect()
}

#[test]
fn the_agent_is_left_out() {
    let linked = linked();
    assert!(linked.contains("encamp-cli") && linked.contains("encamp-server"), "{linked:?}");
    let found: Vec<_> = FORBIDDEN.iter().filter(|name| linked.contains(**name)).collect();
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn libraries_of_one_system_are_named_for_it() {
    let mut wrong = Vec::new();
    let crates = own_crates(&linked());
    assert!(crates.len() > 15, "{crates:?}");
    for folder in crates {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        let section = manifest.split("\n[dependencies]\n").nth(1).unwrap_or_default();
        for line in section.lines().take_while(|line| !line.starts_with('[')) {
            let named = OF_SYSTEMS.iter().any(|name| line.starts_with(name));
            if named && !line.contains("optional = true") {
                wrong.push(format!("{}: {line}", folder.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "a section for a target names these:\n{}", wrong.join("\n"));
}

/// Whether a file is compiled for tests alone.
fn is_of_tests(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "tests") || path.file_stem().is_some_and(|stem| stem == "tests")
}

#[test]
fn few_files_know_the_system() {
    let crates = repository().join("crates");
    let (mut wrong, mut used) = (Vec::new(), BTreeSet::new());
    for folder in own_crates(&linked()) {
        let mut files = Vec::new();
        sources(&folder.join("src"), &mut files);
        let below = |path: &Path| path.strip_prefix(&crates).is_ok_and(|path| !is_of_tests(path));
        for path in files.into_iter().filter(|path| below(path)) {
            let text = fs::read_to_string(&path).expect("a source");
            let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
            let mut code = code.lines().filter(|line| !line.trim_start().starts_with("//"));
            if !code.any(|line| WORDS.iter().any(|word| line.contains(word))) {
                continue;
            }
            match KNOW_SYSTEMS.iter().find(|known| path.starts_with(crates.join(known))) {
                Some(known) => drop(used.insert(*known)),
                None => wrong.push(path.display().to_string()),
            }
        }
    }
    assert!(wrong.is_empty(), "move what is for one system to a module `platform`:\n{}", wrong.join("\n"));
    assert_eq!(used, KNOW_SYSTEMS.iter().copied().collect(), "a file of the list knows no system");
}
