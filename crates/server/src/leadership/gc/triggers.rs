//! What starts a run of garbage collection: the tickers of the leader, and callers.

use std::sync::Arc;

use tokio::task::JoinSet;

use crate::evals::core_job::{CoreJob, core_eval};
use crate::leading::Leading;
use encamp_host::simulation::here;
use encamp_model::{SECOND, duration};

/// Forces garbage collection of all eligible objects regardless of age; it runs asynchronously.
pub fn force(server: &Leading) {
    enqueue(server, CoreJob::Forced);
}

/// Enqueues a core evaluation of this kind.
pub(crate) fn enqueue(server: &Leading, kind: CoreJob) {
    let eval = core_eval(kind, server.snapshot().latest_index());
    server.queues().enqueue([(Arc::new(eval), None)]);
}

/// Starts the leader's tickers: the first tick is one interval after the start of its leadership.
pub(crate) fn start_tickers(server: &Leading, tasks: &mut JoinSet<()>) {
    for kind in CoreJob::ALL.iter().copied() {
        let Some(interval) = kind.interval(&server.settings().gc) else { continue };
        let server = server.clone();
        tasks.spawn(here(async move {
            let interval = duration::of_nanos(interval.max(SECOND));
            loop {
                tokio::time::sleep(interval).await;
                enqueue(&server, kind);
            }
        }));
    }
}
