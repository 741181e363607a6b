//! Builds the program: linked statically, and without the paths of the machine that builds it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{Failure, Outcome, read};

/// The arguments of Cargo about features: the agent is for Linux alone.
pub(crate) fn features(target: &str) -> &'static [&'static str] {
    if target.contains("-linux-") { &[] } else { &["--no-default-features"] }
}

/// The name of the program's file.
pub(crate) fn file_name(target: &str) -> &'static str {
    if target.contains("windows") { "encamp.exe" } else { "encamp" }
}

/// The program for a target.
///
/// # Errors
/// The build fails.
pub(crate) fn build(root: &Path, target: &str, epoch: u64) -> Outcome<Vec<u8>> {
    let home = std::env::var("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|_| std::env::var("HOME").map(|home| Path::new(&home).join(".cargo")));
    let home = home.map_err(|_| Failure::Command("neither CARGO_HOME nor HOME is set".into()))?;
    let mapped = [(root, "/build/encamp"), (&home, "/build/cargo")];
    let mut flags: Vec<String> =
        mapped.iter().map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display())).collect();
    if target.contains("-linux-") {
        flags.push("-Ctarget-feature=+crt-static".into());
        // Static programs do not find the function of the C library at run time, and would read files of /dev, which an
        // empty root does not have.
        flags.push("--cfg=getrandom_backend=\"linux_getrandom\"".into());
    }
    let compiler: Vec<String> =
        mapped.iter().map(|(from, to)| format!("-ffile-prefix-map={}={to}", from.display())).collect();
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["build", "--locked", "--release", "--package", "encamp", "--target", target]);
    command.args(features(target));
    command.current_dir(root).env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f")).env("CARGO_INCREMENTAL", "0");
    command.env("SOURCE_DATE_EPOCH", epoch.to_string());
    for language in ["CFLAGS", "CXXFLAGS"] {
        command.env(format!("{language}_{}", target.replace('-', "_")), compiler.join(" "));
    }
    let shown = [&[""], features(target)].concat().join(" ");
    eprintln!("+ cargo build --locked --release --package encamp --target {target}{shown}");
    let status = command.status().map_err(|e| Failure::Command(format!("cargo build: {e}")))?;
    if !status.success() {
        return Err(Failure::Command(format!("cargo build: {status}")));
    }
    let folder = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    read(&folder.join(target).join("release").join(file_name(target)))
}
