//! The cache between two fetches: a snapshot file per cluster in the user's cache directory, readable only by the user.
//!
//! The cache only saves requests: a cached object is used if the cluster's lists show that it has not changed. A cache
//! that can't be read counts as empty, and a failure to write it is not an error.

use std::fs::{self, DirBuilder};
use std::io;
use std::path::{Path, PathBuf};

use encamp_host::platform::files::DirBuilderExt;
use sha2::{Digest, Sha256};

use super::Collected;
use crate::file::{self, FORMAT_VERSION, SnapshotFile};
use crate::save;

/// The place of one cluster's cache.
#[derive(Debug, Clone)]
pub struct Cache {
    file: PathBuf,
}

impl Cache {
    /// The cache of a cluster in a directory that belongs to the user.
    pub fn new(folder: &Path, address: &str, region: Option<&str>) -> Cache {
        let mut hash = Sha256::new();
        hash.update(address.trim_end_matches('/'));
        hash.update([0]);
        hash.update(region.unwrap_or_default());
        let name: String = hash.finalize().iter().take(16).map(|b| format!("{b:02x}")).collect();
        Cache { file: folder.join("clusters").join(format!("{name}.json.zst")) }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.file
    }

    /// The objects of the last fetch, and the index it had come to.
    pub fn load(&self) -> (Collected, u64) {
        let Ok(bytes) = fs::read(&self.file) else { return Default::default() };
        let name = self.file.display().to_string();
        match file::decode(&bytes, &name) {
            Ok(file) => {
                let index = file.index;
                (Collected::from_file(file), index)
            }
            Err(_) => Default::default(),
        }
    }

    /// Keeps what was collected.
    pub fn store(&self, collected: Collected, index: u64) -> io::Result<()> {
        if let Some(folder) = self.file.parent() {
            create_private(folder)?;
        }
        let file = SnapshotFile {
            version: Some(FORMAT_VERSION),
            index,
            nodes: collected.nodes.into_values().collect(),
            jobs: collected.jobs.into_values().flatten().collect(),
            allocations: collected.allocations.into_values().collect(),
            ..SnapshotFile::default()
        };
        save::save_private(&self.file, &file).map(|_| ())
    }
}

/// A directory only the user can look into.
fn create_private(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}
