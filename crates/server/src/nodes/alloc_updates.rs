//! Reports of nodes are gathered for a moment and written as one entry (`docs/spec/server.md §11`).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::error::Error;
use crate::handle::Server;
use crate::nodes::node_evals::report_evals;
use encamp_host::ids;
use encamp_model::Allocation;
use encamp_ops::Operation;

/// How long reports are gathered, from the first one on.
const GATHER: Duration = Duration::from_millis(50);
/// How much longer for each report of the writing before: thousands that follow each other share few entries.
const PER_REPORT: Duration = Duration::from_micros(100);
/// The longest time.
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
    /// Somebody sees to it that what is gathered is written.
    writing: bool,
}

/// The reports that wait to be written.
#[derive(Default)]
pub(crate) struct AllocUpdates(Mutex<State>);

impl AllocUpdates {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes reports together with those of other nodes; gives the index.
    ///
    /// # Errors
    /// There is no leader, or the state machine refused.
    pub(crate) async fn add(&self, server: &Server, allocs: Vec<Allocation>) -> Outcome {
        let (sender, receiver) = oneshot::channel();
        let first = {
            let mut state = self.lock();
            state.gathered.allocs.extend(allocs.into_iter().map(Arc::new));
            state.gathered.waiting.push(sender);
            !std::mem::replace(&mut state.writing, true)
        };
        if first {
            server.runtime().spawn(write(Writing { server: server.clone(), over: false }));
        }
        receiver.await.unwrap_or_else(|_| Err(Error::no_leader()))
    }
}

/// Who writes. If it ends before its time, those who wait are told.
struct Writing {
    server: Server,
    over: bool,
}

impl Writing {
    /// What there is to write; `None` if there is nothing: then the next report starts another writing.
    fn take(&mut self) -> Option<Gathered> {
        let mut state = self.server.alloc_updates().lock();
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
            *self.server.alloc_updates().lock() = State::default();
        }
    }
}

/// Writes until there is nothing more. What comes while an entry is being committed goes into the next one.
async fn write(mut writing: Writing) {
    let server = writing.server.clone();
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
