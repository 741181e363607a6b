//! The periodic dispatcher (`docs/spec/server.md §14`): launches periodic jobs that are due.

use std::time::Duration;

use crate::error::Error;
use crate::jobs::periodic::{check_force, evaluation, may_launch, missed_launch};
use crate::leading::Leading;
use encamp_host::ids;
use encamp_model::{Job, duration};
use encamp_ops::{JobRegister, Operation};
use encamp_plan::launches::child;

/// Longest sleep, because the wall clock may be set or the machine suspended meanwhile.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// A completed launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launched {
    /// ID of the child job.
    pub job_id: String,
    /// The evaluation of the child job.
    pub eval_id: String,
    /// The index at which child job and evaluation were written.
    pub index: u64,
}

/// Starts tracking and catches up on missed launches, once per job (`docs/spec/server.md §14.5`). `now` is in Unix
/// nanoseconds.
///
/// # Errors
/// The last launch of a job is unknown. A launch that fails is logged and not retried.
pub(crate) async fn catch_up(server: &Leading, now: i64) -> Result<(), Error> {
    let store = {
        // While the mutex is held, no write is reported before the jobs of the snapshot are tracked.
        let mut tracker = server.queues().periodic();
        tracker.set_enabled(true);
        let store = server.snapshot();
        for entry in store.state().jobs() {
            if let Err(e) = tracker.update(&entry.current, now) {
                log_failure(&entry.current, &e);
            }
        }
        store
    };
    let jobs: Vec<_> = server.queues().periodic().jobs().cloned().collect();
    for job in jobs {
        let Some(current) = store.state().job(&job.namespace, &job.id) else { continue };
        let last = store.launch(&job.namespace, &job.id).and_then(|l| l.launch.unix_nanos());
        if missed_launch(current, last, now)? {
            tracing::debug!(target: "nomad.periodic", job = job.id.as_str(), "launching since launches were missed");
            launch_unless_overlap(server, &job, now, now).await;
        }
    }
    Ok(())
}

/// Launches jobs when they are due, until leadership is lost.
pub(crate) async fn drive(server: Leading) {
    loop {
        let next = server.queues().periodic().next_deadline();
        let until = next.map_or(LONGEST_SLEEP, |t| duration::of_nanos(t.saturating_sub(ids::now())));
        tokio::select! {
            biased;
            () = tokio::time::sleep(until.min(LONGEST_SLEEP)) => {}
            () = server.queues().periodic_changed().notified() => {}
        }
        launch_due(&server, ids::now()).await;
    }
}

/// Launches the jobs that are due at a time in Unix nanoseconds (`docs/spec/server.md §14.3`).
pub(crate) async fn launch_due(server: &Leading, now: i64) {
    loop {
        let due = server.queues().periodic().pop_due(now);
        let Some(due) = due else { return };
        launch_unless_overlap(server, &due.job, due.at, now).await;
    }
}

async fn launch_unless_overlap(server: &Leading, job: &Job, at: i64, now: i64) {
    if !may_launch(&server.snapshot(), job) {
        let job = job.id.as_str();
        tracing::debug!(target: "nomad.periodic", job, "skipping launch of periodic job because job prohibits overlap");
        return;
    }
    if let Err(e) = launch(server, job, at, now).await {
        log_failure(job, &e);
    }
}

fn log_failure(job: &Job, error: &dyn std::error::Error) {
    let (namespace, job) = (job.namespace.as_str(), job.id.as_str());
    tracing::error!(target: "nomad.periodic", job, namespace, %error, "failed to launch periodic job");
}

async fn launch(server: &Leading, job: &Job, at: i64, now: i64) -> Result<Launched, Error> {
    let child = child(job, at, now);
    let eval = evaluation(&child, now, ids::uuid());
    let (job_id, eval_id) = (child.id.clone(), eval.id.to_string());
    tracing::debug!(target: "nomad.periodic", job = job_id.as_str(), "launching job");
    let r = JobRegister { job: child.into(), eval: Some(eval), submission: None, enforce_index: None, now };
    let (index, _) = server.commit_shared(Operation::JobRegister(Box::new(r)).into()).await?;
    Ok(Launched { job_id, eval_id, index })
}

/// Forces a launch of a periodic job, regardless of its running children; its schedule is not changed
/// (`docs/spec/server.md §14.4`).
///
/// # Errors
/// The job is unknown or is not periodic (with the texts of `docs/spec/server.md §14.4`), or there is no leader.
pub async fn force(server: &Leading, namespace: &str, id: &str) -> Result<Launched, Error> {
    server.wait_ready().await?;
    let store = server.snapshot();
    check_force(id, store.state().job(namespace, id).map(|j| &**j))?;
    let job = server.queues().periodic().force(namespace, id)?;
    let now = ids::now();
    launch(server, &job, now, now).await
}
