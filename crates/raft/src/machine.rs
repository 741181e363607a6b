//! The interface of the replicated state machine.

use std::io::{self, Read, Write};
use std::sync::Arc;

use encamp_model::capability::CapabilityLevel;
use encamp_ops::{Operation, Reply};

/// The state that is built by applying the log. Calls to `apply`, `skip`, `snapshot` and `restore` never overlap and
/// come in the order of the log; indexes rise by one from call to call, from 1 in an empty state.
///
/// A call that panics stops the node: the state can't be trusted any more.
pub trait Machine: Send + Sync + 'static {
    /// The capability level of the cluster, according to the state: the form of new entries.
    fn level(&self) -> CapabilityLevel;

    /// Applies one operation. The reply says what it refuses.
    fn apply(&self, index: u64, op: &Arc<Operation>) -> Reply;

    /// An entry without an operation: the index moves, nothing else.
    fn skip(&self, index: u64);

    /// A handle on the state as it is now; it must be cheap. Writing happens on another thread, while more is applied.
    fn snapshot(&self) -> Box<dyn SnapshotWriter>;

    /// Replaces the state by what [`SnapshotWriter::write`] wrote; the checksum has been checked. `index` is the index
    /// of the last operation in it. An error must leave the state as it was.
    fn restore(&self, index: u64, from: &mut dyn Read) -> io::Result<()>;
}

/// A state to be written.
pub trait SnapshotWriter: Send {
    /// What a server has to support to read it.
    fn level(&self) -> CapabilityLevel;

    /// Writes all of it; runs on a thread that may block.
    fn write(self: Box<Self>, to: &mut dyn Write) -> io::Result<()>;
}
