//! Output of tasks in files (`docs/spec/client.md §20`).
//!
//! - [`rotate`]: writing them. [`choose`]: where reading them begins and goes on. [`stream`]: reading them while they grow.

pub mod choose;
pub mod rotate;
pub mod stream;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// The files `<name>.<n>` of a directory: size by n.
pub fn files(dir: &Path, name: &str) -> io::Result<BTreeMap<u64, u64>> {
    let mut out = BTreeMap::new();
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let Some(text) = entry.file_name().to_str().map(String::from) else { continue };
        let Some(n) = text.strip_prefix(name).and_then(|t| t.strip_prefix('.')).and_then(|n| n.parse().ok()) else {
            continue;
        };
        // A file may be deleted while we look.
        if let Ok(meta) = entry.metadata() {
            out.insert(n, meta.len());
        }
    }
    Ok(out)
}
