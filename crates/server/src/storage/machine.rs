//! The store as the state machine of the Raft log.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::Instant;

use super::store::Store;
use crate::keyring::Keyring;
use encamp_model::capability::CapabilityLevel;
use encamp_ops::{Operation, Reply};
use encamp_raft::{Machine, SnapshotWriter};
use encamp_state::StoreSnapshot;
use encamp_telemetry::Metrics;

/// Applies the operations of the log to the store, and keeps the keyring up to date with it.
pub(crate) struct StoreMachine {
    pub store: Arc<Store>,
    pub keyring: Arc<Keyring>,
    pub metrics: Metrics,
}

impl Machine for StoreMachine {
    fn level(&self) -> CapabilityLevel {
        self.store.snapshot().capability_level()
    }

    fn apply(&self, index: u64, op: &Arc<Operation>) -> Reply {
        let started = Instant::now();
        let keys = matches!(
            **op,
            Operation::RootKeyUpsert { .. } | Operation::RootKeyDelete { .. } | Operation::Restore { .. }
        );
        if let Operation::RootKeyUpsert { key, .. } = &**op {
            self.keyring.add(key);
        }
        let reply = self.store.apply(index, op);
        if keys {
            self.keyring.follow(&self.store.snapshot());
        }
        self.metrics.time(&format!("nomad.fsm.{}", op.metric()), started.elapsed(), &[]);
        self.metrics.time("raft.fsm.apply", started.elapsed(), &[]);
        reply
    }

    fn skip(&self, index: u64) {
        self.store.skip(index);
    }

    fn snapshot(&self) -> Box<dyn SnapshotWriter> {
        Box::new(Frozen { state: self.store.snapshot(), metrics: self.metrics.clone() })
    }

    fn restore(&self, index: u64, from: &mut dyn Read) -> io::Result<()> {
        let timer = self.metrics.timer("raft.fsm.restore");
        self.store.restore(index, from)?;
        drop(timer);
        self.keyring.follow(&self.store.snapshot());
        Ok(())
    }
}

/// A state to be written, and where the duration is recorded.
pub(crate) struct Frozen {
    pub state: StoreSnapshot,
    pub metrics: Metrics,
}

impl SnapshotWriter for Frozen {
    fn level(&self) -> CapabilityLevel {
        self.state.capability_level()
    }

    fn write(self: Box<Self>, to: &mut dyn Write) -> io::Result<()> {
        let _timer = self.metrics.timer("raft.snapshot.persist");
        Store::write_snapshot(&self.state, to)
    }
}
