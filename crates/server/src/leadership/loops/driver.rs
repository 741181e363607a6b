//! Runs a state machine over the store: the machine is evaluated whenever an object it watches was written or one of
//! its timers fired, and its operations are then written.

use std::sync::Arc;
use std::time::Duration;

use crate::leading::Leading;
use crate::storage::watch::WatchKey;
use encamp_host::ids;
use encamp_host::threads::Instant;
use encamp_model::duration;
use encamp_model::token_bucket::TokenBucket;
use encamp_ops::Operation;
use encamp_state::StateStore;

/// The pause after an evaluation, as a multiple of its duration.
const SHARE: u32 = 4;
/// The longest such pause.
const LONGEST_REST: Duration = Duration::from_millis(500);

/// Pause after a failed write.
const RETRY: Duration = Duration::from_secs(1);
/// Longest sleep until a wall-clock time, because the clock may be set meanwhile.
const LONGEST_SLEEP: Duration = Duration::from_secs(5);

/// A state machine over the store. Its output depends on the store and its own memory only; the clock and new IDs are
/// passed in.
pub trait Machine: Send {
    /// Its name in log messages.
    const NAME: &'static str;

    /// Evaluates the store at a time in Unix nanoseconds. Returns the operations to write now, in this order.
    fn look(&mut self, store: &StateStore, now: i64, new_id: &mut dyn FnMut() -> String) -> Vec<Operation>;

    /// The next time to evaluate, even if nothing is written.
    fn next(&self) -> Option<i64>;

    /// The watched keys, in order of their kind.
    fn keys(&self) -> Vec<WatchKey>;

    /// Called when not all of its operations could be written.
    fn failed(&mut self);
}

/// Runs a machine until leadership is lost. Reads of the store are limited to `rate`.
pub async fn run<M: Machine>(server: Leading, mut machine: M, mut rate: TokenBucket) {
    let mut new_id = ids::uuid;
    loop {
        tokio::time::sleep(duration::of_nanos(rate.take(ids::steady(), 1.0))).await;
        let keys = machine.keys();
        // Registered before the store is read, so that no write is missed.
        let waiter = server.store().watches().wait_for(keys.clone());
        let begun = Instant::now();
        let work = machine.look(&server.snapshot(), ids::now(), &mut new_id);
        // An expensive evaluation is followed by a longer pause, so that no machine keeps a processor busy.
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

async fn write(server: &Leading, name: &str, work: Vec<Operation>) -> bool {
    for op in work {
        let metric = op.metric();
        if let Err(e) = server.commit_shared(Arc::new(op)).await {
            let error = e.message.as_str();
            tracing::error!(target: "nomad", machine = name, operation = metric, error, "failed to write; retrying");
            return false;
        }
    }
    true
}
