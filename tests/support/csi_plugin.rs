//! The storage plugin for tests (`tests/csi_plugin`), a program of its own that is not shipped.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value as Json;

/// The program; built at the first call, if it is not.
pub fn path() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target directory");
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--locked", "--package", "csi-test-plugin", "--message-format", "json", "--target-dir"]);
        let ran = build.arg(target).current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("cargo starts");
        assert!(ran.status.success(), "csi-test-plugin: {}", String::from_utf8_lossy(&ran.stderr));
        let said = String::from_utf8_lossy(&ran.stdout);
        let built = said.lines().filter_map(|l| serde_json::from_str::<Json>(l).ok());
        let mut programs = built.filter_map(|m| Some(PathBuf::from(m["executable"].as_str()?)));
        programs.next_back().expect("the program")
    })
}
