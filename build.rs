//! Settings of the linker.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let linux = variable("CARGO_CFG_TARGET_OS") == "linux" && variable("CARGO_CFG_TARGET_ENV") == "gnu";
    // Relocating the program takes a third of the time that a command of a development build takes to start, and tests
    // start thousands. What is released stays position-independent.
    if linux && variable("PROFILE") == "debug" {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
    // Five megabytes less. Linkers know it since 2022, the C library since its version 2.36.
    let packed = "-Wl,-z,pack-relative-relocs";
    if linux && variable("PROFILE") == "release" && links_and_starts(packed) {
        println!("cargo:rustc-link-arg-bins={packed}");
    }
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}

/// Whether a program that is linked with an argument starts on this machine. Programs for other machines can't be tried.
fn links_and_starts(argument: &str) -> bool {
    let directory = PathBuf::from(variable("OUT_DIR"));
    let (source, program) = (directory.join("probe.rs"), directory.join("probe"));
    variable("HOST") == variable("TARGET")
        && fs::write(&source, "fn main() {}").is_ok()
        && succeeds(compiler(&source, &program).args(["-C", &format!("link-arg={argument}")]))
        && succeeds(&mut Command::new(&program))
}

/// The compiler with the linker and the flags of this build.
fn compiler(source: &Path, program: &Path) -> Command {
    let mut command = Command::new(variable("RUSTC"));
    let linker = env::var("RUSTC_LINKER").ok();
    command.args(linker.map(|linker| format!("-Clinker={linker}")));
    let flags = variable("CARGO_ENCODED_RUSTFLAGS");
    command.args(flags.split('\x1f').filter(|flag| !flag.is_empty()));
    command.arg(source).arg("-o").arg(program);
    command
}

fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}
