//! Batches the allocation updates of nodes for a short time and writes them together (`docs/spec/server.md §11`): in one
//! operation, or in several if there are many.

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
/// Most updates in one operation. All servers apply it in one step, for which other writes wait: between the operations
/// of a batch there is room for them.
const MOST_AT_ONCE: usize = 1024;

type Outcome = Result<u64, Error>;

/// The updates of one call, and who waits for them.
struct Reported {
    allocs: Vec<Arc<Allocation>>,
    waiting: oneshot::Sender<Outcome>,
}

#[derive(Default)]
struct State {
    gathered: Vec<Reported>,
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
        let reported = Reported { allocs: allocs.into_iter().map(Arc::new).collect(), waiting: sender };
        let first = {
            let mut state = self.0.lock();
            state.gathered.push(reported);
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
    fn take(&mut self) -> Option<Vec<Reported>> {
        let mut state = self.updates.0.lock();
        if state.gathered.is_empty() {
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

/// Writes until there are no more updates. Updates that arrive while others are being committed go into the next batch.
async fn write(server: Leading, mut writing: Writing) {
    let mut gather = GATHER;
    loop {
        tokio::time::sleep(gather).await;
        let Some(reported) = writing.take() else { return };
        let count = reported.iter().map(|r| r.allocs.len()).sum::<usize>();
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        gather = PER_REPORT.saturating_mul(count).saturating_add(GATHER).min(LONGEST);
        let mut result = Ok(0);
        for Part { allocs, waiting } in parts(reported) {
            // The updates of a call may be in several parts: after one that failed, none counts as written.
            if result.is_ok() {
                result = commit(&server, allocs).await;
            }
            for w in waiting {
                let _ = w.send(result.clone());
            }
        }
    }
}

async fn commit(server: &Leading, allocs: Vec<Arc<Allocation>>) -> Outcome {
    let now = ids::now();
    let evals = report_evals(server.snapshot().state(), &allocs, now, &mut ids::uuid);
    server.commit(Operation::AllocClientUpdate { allocs, evals, now }).await.map(|(index, _)| index)
}

/// The updates of one operation, and the calls whose last update is among them.
#[derive(Default)]
struct Part {
    allocs: Vec<Arc<Allocation>>,
    waiting: Vec<oneshot::Sender<Outcome>>,
}

/// Distributes updates to operations, in their order.
fn parts(reported: Vec<Reported>) -> Vec<Part> {
    let mut parts: Vec<Part> = vec![Part::default()];
    for Reported { allocs, waiting } in reported {
        for alloc in allocs {
            let full = parts.last().is_none_or(|part| part.allocs.len() >= MOST_AT_ONCE);
            if full {
                parts.push(Part::default());
            }
            if let Some(part) = parts.last_mut() {
                part.allocs.push(alloc);
            }
        }
        if let Some(part) = parts.last_mut() {
            part.waiting.push(waiting);
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_bounded_and_calls_wait_for_their_last_update() {
        let mut receivers = Vec::new();
        let mut number = 0;
        let mut reported = |count: usize| {
            let (waiting, receiver) = oneshot::channel();
            receivers.push(receiver);
            let allocs = (0..count).map(|_| {
                number += 1;
                Arc::new(Allocation { modify_index: number, ..Allocation::default() })
            });
            Reported { allocs: allocs.collect(), waiting }
        };
        let calls = [1, MOST_AT_ONCE - 1, 5, 3 * MOST_AT_ONCE, 7].map(&mut reported);
        let mut parts = parts(calls.into());
        let sizes: Vec<usize> = parts.iter().map(|p| p.allocs.len()).collect();
        assert_eq!(sizes, [MOST_AT_ONCE, MOST_AT_ONCE, MOST_AT_ONCE, MOST_AT_ONCE, 12]);
        let order = parts.iter().flat_map(|p| &p.allocs).map(|a| a.modify_index);
        assert!(order.eq(1..=number), "in the order of the calls");
        let mut heard = Vec::new();
        for (n, part) in parts.drain(..).enumerate() {
            part.waiting.into_iter().for_each(|w| w.send(Ok(n as u64)).unwrap());
        }
        receivers.iter_mut().for_each(|r| heard.push(r.try_recv().unwrap().unwrap()));
        assert_eq!(heard, [0, 0, 1, 4, 4]);
    }
}
