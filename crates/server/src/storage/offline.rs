//! The state of a server that does not run, from its Raft log and snapshots (`docs/spec/cli.md §14`).

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use encamp_model::capability::CapabilityLevel;
use encamp_ops::{Operation, Reply};
use encamp_raft::{Machine, SnapshotWriter, StoreError, StoredLog};

use super::machine::Frozen;
use super::store::Store;
use crate::fsm::Limits;
use encamp_state::StoreSnapshot;
use encamp_telemetry::Metrics;

/// Restores the newest snapshot of a log and applies the operations after it up to an index.
///
/// # Errors
/// The snapshot cannot be restored, or entries between it and the log are missing.
pub fn replay(log: &StoredLog, upto: u64) -> Result<StoreSnapshot, StoreError> {
    let store = Store::new(Limits::default(), 1);
    log.replay(&Replay(store.clone()), upto)?;
    Ok(store.snapshot())
}

/// The directory of the log of a server; `dir` is that directory, or the data directory of its agent.
pub fn log_directory(dir: &Path) -> PathBuf {
    let places = [dir.join("server/raft"), dir.join("raft")];
    places.into_iter().find(|place| place.is_dir()).unwrap_or_else(|| dir.to_path_buf())
}

/// Applies operations to a store and nothing else.
struct Replay(Arc<Store>);

impl Machine for Replay {
    fn level(&self) -> CapabilityLevel {
        self.0.snapshot().capability_level()
    }

    fn apply(&self, index: u64, op: &Arc<Operation>) -> Reply {
        self.0.apply(index, op)
    }

    fn skip(&self, index: u64) {
        self.0.skip(index);
    }

    fn snapshot(&self) -> Box<dyn SnapshotWriter> {
        Box::new(Frozen { state: self.0.snapshot(), metrics: Metrics::default() })
    }

    fn restore(&self, index: u64, from: &mut dyn Read) -> io::Result<()> {
        self.0.restore(index, from)
    }
}
