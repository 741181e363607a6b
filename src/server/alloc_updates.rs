//! Reports of nodes are gathered for a moment and written as one entry (`spec/server.md §11`).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use super::error::Error;
use super::handle::Server;
use super::ids;
use super::node_evals::report_evals;
use super::ops::Operation;
use crate::model::Allocation;

/// How long reports are gathered, from the first one on.
const GATHER: Duration = Duration::from_millis(50);

type Outcome = Result<u64, Error>;

#[derive(Default)]
struct Gathered {
    allocs: Vec<Arc<Allocation>>,
    waiting: Vec<oneshot::Sender<Outcome>>,
}

/// The reports that wait to be written.
#[derive(Default)]
pub struct AllocUpdates(Mutex<Gathered>);

impl AllocUpdates {
    /// Writes reports together with those of other nodes; gives the index.
    ///
    /// # Errors
    /// There is no leader, or the state machine refused.
    pub async fn add(&self, server: &Server, allocs: Vec<Allocation>) -> Outcome {
        let (sender, receiver) = oneshot::channel();
        let first = {
            let mut g = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            g.allocs.extend(allocs.into_iter().map(Arc::new));
            g.waiting.push(sender);
            g.waiting.len() == 1
        };
        if first {
            let server = server.clone();
            tokio::spawn(async move {
                tokio::time::sleep(GATHER).await;
                flush(&server).await;
            });
        }
        receiver.await.unwrap_or_else(|_| Err(Error::no_leader()))
    }

    fn take(&self) -> Gathered {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

async fn flush(server: &Server) {
    let Gathered { allocs, waiting } = server.alloc_updates().take();
    let now = ids::now();
    let evals = report_evals(server.snapshot().state(), &allocs, now, &mut ids::uuid);
    let result = server.commit(Operation::AllocClientUpdate { allocs, evals, now }).await.map(|(index, _)| index);
    for w in waiting {
        let _ = w.send(result.clone());
    }
}
