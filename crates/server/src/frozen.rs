//! A server of a state that never changes, such as that of a snapshot file: what such a state lacks, and the machine
//! that refuses every operation.

use std::io::{self, Read, Write};
use std::sync::Arc;

use encamp_model::capability::CapabilityLevel;
use encamp_ops::{Operation, Refusal, Reply};
use encamp_raft::SnapshotWriter;
use encamp_state::{StateStore, Table};

use crate::fsm;

/// The state with what servers derive from its rows: the indexes of its tables, and the counts of its jobs.
pub(crate) fn complete(mut state: StateStore) -> StateStore {
    let index = state.latest_index().max(state.state().index).max(1);
    for table in Table::ALL {
        if state.index_of(table) == 0 {
            state.set_index(table, index);
        }
    }
    state.settle_index();
    if state.summaries().next().is_none() {
        let recount = Operation::ReconcileSummaries { queued: fsm::blocked_counts(&state) };
        fsm::apply(&mut state, index, &recount, fsm::Limits::default());
    }
    state
}

/// Refuses every operation.
pub(crate) struct Machine;

impl encamp_raft::Machine for Machine {
    fn level(&self) -> CapabilityLevel {
        CapabilityLevel::FIRST
    }

    fn apply(&self, _: u64, _: &Arc<Operation>) -> Reply {
        Reply::Refused(Refusal::Frozen)
    }

    fn skip(&self, _: u64) {}

    fn snapshot(&self) -> Box<dyn SnapshotWriter> {
        Box::new(Nothing)
    }

    fn restore(&self, _: u64, _: &mut dyn Read) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// The snapshot of a log without operations.
struct Nothing;

impl SnapshotWriter for Nothing {
    fn level(&self) -> CapabilityLevel {
        CapabilityLevel::FIRST
    }

    fn write(self: Box<Self>, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}
