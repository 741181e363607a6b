//! The storage plugin for tests (`tests/csi_plugin`), a program of its own that is not shipped.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value as Json;

use crate::program::{build_directory, repository};

/// The program; built at the first call, if it is not.
pub fn path() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let target = build_directory().parent().expect("the target directory").to_path_buf();
        let mut build = Command::new(env!("CARGO"));
        // Without `--package`, so that the libraries have the features that `cargo test` built them with.
        build.args(["build", "--locked", "--bin", "csi-test-plugin", "--message-format", "json", "--target-dir"]);
        let ran = build.arg(target).current_dir(repository()).output().expect("cargo starts");
        assert!(ran.status.success(), "csi-test-plugin: {}", String::from_utf8_lossy(&ran.stderr));
        let said = String::from_utf8_lossy(&ran.stdout);
        let built = said.lines().filter_map(|l| serde_json::from_str::<Json>(l).ok());
        let mut programs = built.filter_map(|m| Some(PathBuf::from(m["executable"].as_str()?)));
        programs.next_back().expect("the program")
    })
}
