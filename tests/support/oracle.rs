//! Where the recorded truth is, and what several tests do with it.

use std::path::{Path, PathBuf};

/// The folder of an oracle, or `None` (with a line that says so) where there is none. On CI there has to be one.
pub fn folder(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("ENCAMP_ORACLE")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/oracle"), PathBuf::from);
    let folder = root.join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    assert!(std::env::var_os("CI").is_none(), "no oracle at {}", folder.display());
    println!("skipped: no oracle");
    None
}

/// The stored job that registering a job file gives, on a server of that profile.
#[allow(dead_code)]
pub fn registered_job(path: &Path, profile: &str) -> Result<encamp::model::Job, String> {
    Err(format!("{} {profile}", path.display()))
}
