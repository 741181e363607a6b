//! What runs a state machine over the store: it looks whenever something it watches was written, or a time of its own
//! has come, and writes what follows.

use std::sync::Arc;
use std::time::Duration;

use crate::Server;
use crate::rate::Rate;
use crate::storage::watch::WatchKey;
use encamp_host::ids;
use encamp_host::threads::Instant;
use encamp_model::duration;
use encamp_ops::Operation;
use encamp_state::StateStore;

/// How many times as long as a look took the next one waits.
const SHARE: u32 = 4;
/// The longest such wait.
const LONGEST_REST: Duration = Duration::from_millis(500);

/// Wait after a write that failed.
const RETRY: Duration = Duration::from_secs(1);
/// Longest sleep towards a time of the wall clock, which may be set meanwhile.
const LONGEST_SLEEP: Duration = Duration::from_secs(5);

/// A state machine over the store. What it wants is a function of the store and its own memory; it gets the clock and
/// IDs handed in.
pub trait Machine: Send {
    /// Its name in the log.
    const NAME: &'static str;

    /// Looks at the store at a time, in Unix nanoseconds: what is to be written now, in this order.
    fn look(&mut self, store: &StateStore, now: i64, new_id: &mut dyn FnMut() -> String) -> Vec<Operation>;

    /// When it wants to look again, even if nothing is written.
    fn next(&self) -> Option<i64>;

    /// Whose writes make it look again, in the order of their kind.
    fn keys(&self) -> Vec<WatchKey>;

    /// What it asked for was not written, at least not all of it.
    fn failed(&mut self);
}

/// Runs a machine until leadership ends. Reads of the store are limited to `rate`.
pub async fn run<M: Machine>(server: Server, mut machine: M, mut rate: Rate) {
    let mut new_id = ids::uuid;
    loop {
        tokio::time::sleep(duration::of_nanos(rate.take(ids::now()))).await;
        let keys = machine.keys();
        // The place is taken before the store is read: no write is missed.
        let waiter = server.store().watches().wait_for(keys.clone());
        let begun = Instant::now();
        let work = machine.look(&server.snapshot(), ids::now(), &mut new_id);
        // A look at something large waits longer for the next: no machine keeps a processor busy.
        let rest = begun.elapsed().saturating_mul(SHARE).min(LONGEST_REST);
        if !write(&server, M::NAME, work).await {
            machine.failed();
            tokio::time::sleep(RETRY).await;
            continue;
        }
        tokio::time::sleep(rest).await;
        if machine.keys() != keys {
            continue;
        }
        match machine.next() {
            Some(next) => {
                let sleep = duration::of_nanos(next.saturating_sub(ids::now())).min(LONGEST_SLEEP);
                let _ = tokio::time::timeout(sleep, waiter.changed()).await;
            }
            None => waiter.changed().await,
        }
    }
}

async fn write(server: &Server, name: &str, work: Vec<Operation>) -> bool {
    for op in work {
        let metric = op.metric();
        if let Err(e) = server.commit_shared(Arc::new(op)).await {
            let error = e.message.as_str();
            tracing::error!(target: "nomad", machine = name, operation = metric, error, "failed to write; trying again");
            return false;
        }
    }
    true
}
