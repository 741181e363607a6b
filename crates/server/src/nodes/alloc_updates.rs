//! Batches the allocation updates of nodes for a short time and writes them as one log entry
//! (`docs/spec/server.md §11`).

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::error::Error;
use crate::leading::Leading;
use crate::nodes::report_evals::report_evals;
use encamp_host::ids;
use encamp_model::Allocation;
use encamp_ops::Operation;

/// How long updates are batched, from the first one on.
const GATHER: Duration = Duration::from_millis(50);
/// Additional time per update in the previous batch: thousands of updates in succession share a few entries.
const PER_REPORT: Duration = Duration::from_micros(100);
/// The longest batching time.
const LONGEST: Duration = Duration::from_millis(250);

type Outcome = Result<u64, Error>;

#[derive(Default)]
struct Gathered {
    allocs: Vec<Arc<Allocation>>,
    waiting: Vec<oneshot::Sender<Outcome>>,
}

#[derive(Default)]
struct State {
    gathered: Gathered,
    /// Whether a task is running that writes the batched updates.
    writing: bool,
}

/// The updates that wait to be written; clones share them.
#[derive(Clone, Default)]
pub(crate) struct AllocUpdates(Arc<Mutex<State>>);

impl AllocUpdates {
    /// Writes updates together with those of other nodes. Returns the index.
    ///
    /// # Errors
    /// There is no leader, or the state machine refused the operation.
    pub(crate) async fn add(&self, server: &Leading, allocs: Vec<Allocation>) -> Outcome {
        let (sender, receiver) = oneshot::channel();
        let first = {
            let mut state = self.0.lock();
            state.gathered.allocs.extend(allocs.into_iter().map(Arc::new));
            state.gathered.waiting.push(sender);
            !std::mem::replace(&mut state.writing, true)
        };
        if first {
            server.runtime().spawn(write(server.clone(), Writing { updates: self.clone(), over: false }));
        }
        receiver.await.unwrap_or_else(|_| Err(Error::no_leader()))
    }
}

/// The running writer. If it ends early, the waiting callers are notified.
struct Writing {
    updates: AllocUpdates,
    over: bool,
}

impl Writing {
    /// Takes the updates to write; `None` if there are none: the next update then starts another writer.
    fn take(&mut self) -> Option<Gathered> {
        let mut state = self.updates.0.lock();
        if state.gathered.waiting.is_empty() {
            state.writing = false;
            self.over = true;
            return None;
        }
        Some(std::mem::take(&mut state.gathered))
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        if !self.over {
            *self.updates.0.lock() = State::default();
        }
    }
}

/// Writes until there are no more updates. Updates that arrive while an entry is being committed go into the next one.
async fn write(server: Leading, mut writing: Writing) {
    let mut gather = GATHER;
    loop {
        tokio::time::sleep(gather).await;
        let Some(Gathered { allocs, waiting }) = writing.take() else { return };
        let count = u32::try_from(allocs.len()).unwrap_or(u32::MAX);
        gather = PER_REPORT.saturating_mul(count).saturating_add(GATHER).min(LONGEST);
        let now = ids::now();
        let evals = report_evals(server.snapshot().state(), &allocs, now, &mut ids::uuid);
        let result = server.commit(Operation::AllocClientUpdate { allocs, evals, now }).await.map(|(index, _)| index);
        for w in waiting {
            let _ = w.send(result.clone());
        }
    }
}
