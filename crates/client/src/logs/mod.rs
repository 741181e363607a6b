//! Log files of tasks (`docs/spec/client.md §20`).
//!
//! - [`rotate`]: writes them. [`choose`]: where to start and to continue reading. [`stream`]: reads them while they
//!   grow.

pub mod choose;
pub mod rotate;
pub mod stream;

use std::collections::BTreeMap;
use std::io;

use super::directory::Directory;

/// The regular files `<name>.<n>` of a directory: size by n.
pub fn files(dir: &Directory, name: &str) -> io::Result<BTreeMap<u64, u64>> {
    let mut out = BTreeMap::new();
    for file in dir.names()? {
        let Some(text) = file.to_str() else { continue };
        let Some(n) = text.strip_prefix(name).and_then(|t| t.strip_prefix('.')).and_then(|n| n.parse().ok()) else {
            continue;
        };
        // A file may be deleted while we look.
        if let Some(meta) = dir.metadata(text).ok().filter(|m| m.is_file()) {
            out.insert(n, meta.len());
        }
    }
    Ok(out)
}
