//! What runs a state machine over the store: it looks whenever something it watches was written, or a time of its own
//! has come, and writes what follows.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::model::SECOND;
use crate::server::Server;
use crate::server::ids;
use crate::server::ops::Operation;
use crate::server::watch::WatchKey;
use crate::state::StateStore;

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

/// How often something may be done per second, with bursts.
#[derive(Debug)]
pub struct Rate {
    per_second: f64,
    burst: f64,
    left: f64,
    at: i64,
}

impl Rate {
    /// `per_second` and bursts of `burst`; both are at least 1.
    pub fn new(per_second: f64, burst: f64) -> Rate {
        let burst = burst.max(1.0);
        Rate { per_second: per_second.max(1.0), burst, left: burst, at: i64::MIN }
    }

    /// Counts one; gives how long to wait for it in nanoseconds. `now` in Unix nanoseconds.
    pub fn take(&mut self, now: i64) -> i64 {
        let passed = now.saturating_sub(self.at).max(0) as f64 / SECOND as f64;
        self.left = (self.left + passed * self.per_second).min(self.burst) - 1.0;
        self.at = now;
        (-self.left.min(0.0) / self.per_second * SECOND as f64) as i64
    }
}

fn nanos(n: i64) -> Duration {
    Duration::from_nanos(n.max(0).unsigned_abs())
}

/// Runs a machine until leadership ends. Reads of the store are limited to `rate`.
pub async fn run<M: Machine>(server: Server, mut machine: M, mut rate: Rate) {
    let mut new_id = ids::uuid;
    loop {
        tokio::time::sleep(nanos(rate.take(ids::now()))).await;
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
                let sleep = nanos(next.saturating_sub(ids::now())).min(LONGEST_SLEEP);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_allow_bursts() {
        let mut r = Rate::new(100.0, 3.0);
        assert_eq!([r.take(0), r.take(0), r.take(0)], [0, 0, 0]);
        assert_eq!([r.take(0), r.take(0)], [SECOND / 100, SECOND / 50]);
        assert_eq!(r.take(SECOND), 0);
        assert_eq!([r.take(SECOND), r.take(SECOND), r.take(SECOND)], [0, 0, SECOND / 100]);
        assert_eq!(r.take(0), SECOND / 50, "the clock may go back");
    }
}
