//! openraft's own tests of storage.

use encamp_model::capability::CapabilityLevel;
use std::sync::Arc;

use openraft::StorageError;
use openraft::testing::{StoreBuilder, Suite};

use super::support::{Recorder, TempDir};
use crate::applier::Applier;
use crate::log::Log;
use crate::snapshots::Snapshots;
use crate::types::{ServerId, Types};

struct OnDisk;

impl StoreBuilder<Types, Log, Applier, TempDir> for OnDisk {
    async fn build(&self) -> Result<(TempDir, Log, Applier), StorageError<ServerId>> {
        let dir = TempDir::new();
        let log = Log::open(dir.path(), CapabilityLevel::BUILD)?;
        let snapshots = Snapshots::open(&dir.path().join("snapshots"), CapabilityLevel::BUILD)?;
        Ok((dir, log, Applier::open(Arc::new(Recorder::default()), snapshots, Arc::default())?))
    }
}

#[test]
fn storage_passes_openrafts_suite() {
    Suite::test_all(OnDisk).expect("passes");
}
