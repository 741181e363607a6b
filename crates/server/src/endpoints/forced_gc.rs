//! A forced run that somebody waits for (`docs/spec/garbage-collection.md §13.4`). A core evaluation exists in the
//! leader's broker alone, and the leader runs it: its worker notes how the run ended before it ends the evaluation.

use std::sync::Arc;
use std::time::Duration;

use crate::Server;
use crate::error::{Error, ErrorKind};
use crate::evals::broker::QueueName;
use crate::evals::core_job::{CoreJob, core_eval};
use crate::leading::Leading;
use crate::queues::gc_runs::Ended;
use encamp_model::gc::GcReport;
use encamp_model::{JobType, format_duration};

/// How often a caller that waits checks whether it waits in vain.
const CHECK: Duration = Duration::from_millis(250);
/// The longest wait.
pub const LONGEST_WAIT: Duration = Duration::from_secs(600);

fn refused(text: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Internal, text)
}

/// Forces garbage collection and waits for the end of the run, on the leader.
///
/// # Errors
/// The run failed or cannot start, its end was not seen in time, or this server does not lead any more.
pub async fn force_and_wait(server: &Server, wait: Duration) -> Result<GcReport, Error> {
    server.wait_ready().await?;
    let leadership = server.consensus().leadership();
    let (leads, term) = {
        let now = leadership.borrow();
        (now.is_leader, now.term)
    };
    if !leads {
        return Err(Error::no_leader());
    }
    may_run(server)?;
    let runs = server.queues().gc_runs();
    let (number, index) = (runs.next(), server.snapshot().latest_index());
    server.queues().enqueue([(Arc::new(core_eval(CoreJob::Forced, index)), None)]);
    let deadline = tokio::time::Instant::now() + wait.min(LONGEST_WAIT);
    loop {
        // Registered before the check, so that no report is missed in between.
        let changed = runs.changed().notified();
        tokio::pin!(changed);
        changed.as_mut().enable();
        match runs.since(number, index) {
            Some(Ended::Done(report)) => return Ok(report),
            Some(Ended::Failed(error)) => {
                return Err(refused(format!("garbage collection failed: {error}; the servers will try again")));
            }
            None => {}
        }
        let same = {
            let now = leadership.borrow();
            now.is_leader && now.term == term
        };
        if !same {
            let text = "the leader has changed: whether garbage collection was completed is not known; run it again";
            return Err(refused(text));
        }
        may_run(server)?;
        if tokio::time::Instant::now() >= deadline {
            return Err(refused(late(server, wait)));
        }
        let _ = tokio::time::timeout(CHECK, changed).await;
    }
}

/// Whether a core evaluation can run at all.
fn may_run(server: &Server) -> Result<(), Error> {
    if !server.queues().broker().enabled() {
        return Err(refused(
            "garbage collection does not run while the evaluation broker is paused; \
             operator scheduler set-config -pause-eval-broker=false resumes it",
        ));
    }
    if !server.workers().iter().any(|w| w.schedulers.contains(&JobType::Core)) {
        let alone = server.consensus().stats().num_peers == 0;
        let place = if alone { "the only server of the cluster" } else { "the leader" };
        return Err(refused(format!("no worker runs garbage collection: num_schedulers is 0 on {place}")));
    }
    Ok(())
}

/// Why the end of the run was not seen in time.
fn late(server: &Leading, wait: Duration) -> String {
    let stats = server.queues().broker().stats();
    let core = stats.by_queue.get(&QueueName::Scheduler(JobType::Core));
    let nanos = i64::try_from(wait.as_nanos()).unwrap_or(i64::MAX);
    let doing = if core.is_some_and(|q| q.unacked > 0) {
        "it is still running"
    } else {
        "the worker for it is busy with another collection"
    };
    format!("garbage collection did not end within {}: {doing}", format_duration(nanos))
}
