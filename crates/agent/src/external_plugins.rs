//! Programs in `plugin_dir` are external task drivers and devices, which this agent does not run
//! (`docs/spec/client.md §24`). The log names each one that is ignored, and each `plugin` block that configures none of
//! the agent's own drivers.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::Config;
use encamp_client::drivers::BUILT_IN;

/// The number of programs that are named.
const MOST: usize = 64;

/// Logs what is ignored.
pub(super) fn warn(config: &Config) {
    for path in programs(&config.plugin_dir()) {
        tracing::warn!(target: "agent", path = %path.display(), "the program is ignored: external plugins are not supported");
    }
    for name in config.plugin.keys().filter(|name| !BUILT_IN.contains(&name.as_str())) {
        tracing::warn!(
            target: "agent",
            plugin = name,
            "the plugin block is ignored: there is no driver of that name, and external plugins are not supported"
        );
    }
}

/// The executable files of a directory, sorted; none if it is not there.
fn programs(dir: &Path) -> Vec<PathBuf> {
    let entries = dir.read_dir().into_iter().flatten().flatten().map(|e| e.path());
    let executable = |p: &PathBuf| p.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0);
    let mut found: Vec<PathBuf> = entries.filter(executable).take(MOST).collect();
    found.sort();
    found
}
