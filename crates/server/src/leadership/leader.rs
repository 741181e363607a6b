//! The leader's duties besides scheduling (`docs/spec/server.md §2`, `§5`): it takes over when this server is elected,
//! drives queues and timers, and hands over when leadership is lost.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::csi::watcher;
use crate::error::Error;
use crate::evals::broker::CANCEL_BATCH;
use crate::evals::eval_lifecycle;
use crate::evals::reapers;
use crate::keyring::new_key;
use crate::leadership::gc::triggers::start_tickers;
use crate::leading::Leading;
use crate::nodes::expired_nodes::ExpiredNodes;
use crate::nodes::node_status;
use crate::pipeline::workers::Workers;
use encamp_host::ids;
use encamp_host::simulation::here;
use encamp_model::*;
use encamp_ops::Operation;

/// How often timers are checked.
const TICK: Duration = Duration::from_millis(100);
/// How long one poll for failed evaluations waits.
const LOOK: Duration = Duration::from_secs(1);
/// Maximum number of evaluations that enter the broker while it is locked once.
const REFILL: usize = 4096;
/// Pause before establishing leadership is retried.
const RETRY: Duration = Duration::from_secs(5);

/// How long a restore waits for in-flight plans before it replaces the state.
const PLANS_WAIT: Duration = Duration::from_secs(10);

/// A snapshot that replaces the state, and the channel that receives the resulting index.
pub(crate) type Restore = (Bytes, oneshot::Sender<Result<u64, Error>>);

/// Follows leader elections until the server stops.
pub(crate) async fn follow(server: Leading, workers: Arc<Workers>, mut restores: mpsc::Receiver<Restore>) {
    let mut leadership = server.consensus().leadership();
    let mut tasks: Option<JoinSet<()>> = None;
    let mut term = 0;
    loop {
        let (leads, failed, now_term) = {
            let l = leadership.borrow_and_update();
            (l.is_leader, l.failed.clone(), l.term)
        };
        if tasks.is_some() && (!leads || now_term != term) {
            tasks = None;
            revoke(&server, &workers);
        }
        if let Some(why) = failed.as_ref().filter(|_| !server.queues().stopping()) {
            tracing::error!(target: "nomad.raft", error = why.as_str(), "consensus has stopped");
        }
        if server.queues().stopping() || failed.is_some() {
            revoke(&server, &workers);
            return;
        }
        if leads && tasks.is_none() {
            match establish(&server, &workers).await {
                Ok(started) => {
                    tracing::info!(target: "nomad", "cluster leadership acquired");
                    (tasks, term) = (Some(started), now_term);
                }
                Err(e) => {
                    tracing::error!(target: "nomad", error = e.message.as_str(), "failed to establish leadership");
                    revoke(&server, &workers);
                    tokio::time::sleep(RETRY).await;
                    continue;
                }
            }
        }
        tokio::select! {
            biased;
            changed = leadership.changed() => if changed.is_err() {
                revoke(&server, &workers);
                return;
            },
            Some((state, answer)) = restores.recv() => {
                // The queues contain evaluations of the old state; they are filled again from the new state.
                tasks = None;
                revoke(&server, &workers);
                // The requester may be gone.
                let _ = answer.send(restore(&server, state).await);
            }
        }
    }
}

/// Replaces the state as soon as no plan for the old state is in flight.
async fn restore(server: &Leading, state: Bytes) -> Result<u64, Error> {
    let no_plans_in_flight = async {
        while !server.queues().no_plans_in_flight() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    if tokio::time::timeout(PLANS_WAIT, no_plans_in_flight).await.is_err() {
        return Err(Error::internal("in-flight plans were not committed in time"));
    }
    let (index, _) = server.commit_shared(Arc::new(Operation::Restore { state })).await?;
    tracing::info!(target: "nomad", index, "state restored from a snapshot");
    Ok(index)
}

/// Establishes leadership (`docs/spec/server.md §2.2`).
async fn establish(server: &Leading, workers: &Workers) -> Result<JoinSet<()>, Error> {
    let _timer = server.metrics().timer("nomad.leader.establish_leadership");
    let barrier = server.metrics().timer("nomad.leader.barrier");
    server.commit_shared(Arc::new(Operation::Barrier)).await?;
    drop(barrier);
    workers.pause(true);
    let store = server.snapshot();
    if store.autopilot().is_none() {
        let config = server.settings().autopilot.clone();
        server.commit_shared(Arc::new(Operation::Autopilot { config, cas: None })).await?;
    }
    if store.state().scheduler_config.is_none() {
        let config = server.settings().scheduler_config.clone();
        server.commit_shared(Arc::new(Operation::SchedulerConfig { config, cas: None })).await?;
    }
    if store.cluster_metadata().is_none() {
        let meta = ClusterMetadata { cluster_id: ids::uuid(), create_time: ids::now() };
        server.commit_shared(Arc::new(Operation::ClusterMetadata(meta))).await?;
    }
    super::level::raise_alone(server).await?;
    server.queues().set_planning(true);
    evaluate_unless_paused(server);
    start_heartbeats(server);
    server.set_ready(true);
    let mut tasks = JoinSet::new();
    tasks.spawn(here(first_key(server.clone())));
    tasks.spawn(here(ticker(server.clone())));
    tasks.spawn(here(failed_reaper(server.clone())));
    tasks.spawn(here(duplicate_reaper(server.clone())));
    tasks.spawn(here(cancelable_reaper(server.clone())));
    tasks.spawn(here(unblock_failed(server.clone())));
    tasks.spawn(here(watcher::run(server.clone())));
    start_tickers(server, &mut tasks);
    crate::leadership::metrics::start(server, &mut tasks);
    crate::leadership::loops::start(server, &mut tasks).await?;
    Ok(tasks)
}

/// Revokes leadership (`docs/spec/server.md §2.3`).
fn revoke(server: &Leading, workers: &Workers) {
    let _timer = server.metrics().timer("nomad.leader.revoke_leadership");
    server.set_ready(false);
    server.queues().set_planning(false);
    server.queues().set_evaluating(false);
    server.queues().locks().stop();
    server.queues().heartbeats().stop();
    server.queues().periodic().set_enabled(false);
    workers.pause(false);
}

/// Enables or disables the broker and the tracker of blocked evaluations according to the scheduler configuration, and
/// fills the broker from the store when it becomes enabled (`docs/spec/server.md §2.2` steps 7 and 9, `§2.4`).
pub(crate) fn evaluate_unless_paused(server: &Leading) {
    let paused = server.snapshot().state().scheduler_config.as_ref().is_some_and(|c| c.pause_eval_broker);
    let was = server.queues().broker().enabled();
    server.queues().set_evaluating(!paused);
    if paused || was {
        return;
    }
    let stored = server.snapshot();
    let mut evals = eval_lifecycle::to_refill(&stored).peekable();
    // In parts: a write waits for the lock of the broker.
    while evals.peek().is_some() {
        let mut broker = server.queues().broker();
        // A write is either in this state, or reaches the enabled broker once the lock is released.
        eval_lifecycle::restore(&server.snapshot(), evals.by_ref().take(REFILL), ids::steady(), &mut broker);
        server.queues().wake_workers(&mut broker);
    }
}

/// Creates the first root key of a new cluster (`docs/spec/server.md §2.2` step 12).
async fn first_key(server: Leading) {
    while let Err(e) = make_first_key(&server).await {
        tracing::error!(target: "nomad", error = e.message.as_str(), "failed to initialize the keyring");
        tokio::time::sleep(RETRY).await;
    }
}

async fn make_first_key(server: &Leading) -> Result<(), Error> {
    if server.snapshot().root_keys().next().is_some() {
        return Ok(());
    }
    let key = new_key(RootKeyState::Active, 0).await?;
    let id = key.meta.key_id.clone();
    server.commit_shared(Arc::new(Operation::RootKeyUpsert { key, rekey: false })).await?;
    tracing::info!(target: "nomad.core", key_id = id.as_str(), "initialized keyring");
    Ok(())
}

fn start_heartbeats(server: &Leading) {
    let store = server.snapshot();
    let alive = store.state().nodes().filter(|n| n.node.status != NodeStatus::Down).map(|n| n.node.id.as_str());
    server.queues().heartbeats().start(alive, ids::steady());
}

/// Drives the timers of the queues and the missed heartbeats of nodes.
async fn ticker(server: Leading) {
    let mut every = tokio::time::interval(TICK);
    every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut expired = ExpiredNodes::default();
    loop {
        every.tick().await;
        for lost in server.queues().tick() {
            tracing::warn!(target: "nomad", eval_id = lost.eval.id.as_str(), "nack timer of an evaluation fired");
        }
        let now = ids::steady();
        let fired = server.queues().heartbeats().expired(now);
        let nodes = expired.take(fired, now);
        if !nodes.is_empty() {
            tokio::spawn(here(node_status::missed_heartbeats(server.clone(), nodes)));
        }
    }
}

/// Fails evaluations that reached the delivery limit (`docs/spec/server.md §5.1`).
async fn failed_reaper(server: Leading) {
    loop {
        let delivery = {
            let mut broker = server.queues().broker();
            broker.dequeue_failed(ids::steady(), ids::uuid).ok().flatten()
        };
        let Some(d) = delivery else {
            tokio::time::sleep(LOOK).await;
            continue;
        };
        tracing::warn!(target: "nomad", eval_id = d.eval.id.as_str(), "eval reached delivery limit, marking as failed");
        let exists = server.snapshot().state().job(&d.eval.namespace, &d.eval.job_id).is_some();
        let evals = reapers::failed(&d.eval, exists, ids::now(), ids::random(), ids::uuid);
        let op = Arc::new(Operation::EvalUpdate { evals });
        let written = match &*op {
            Operation::EvalUpdate { evals } if evals.is_empty() => Ok(()),
            _ => server.commit_shared(op.clone()).await.map(drop),
        };
        match written {
            Ok(()) => drop(server.queues().ack(&d.eval.id, &d.token)),
            Err(e) => tracing::error!(target: "nomad", error = e.message.as_str(), "failed to update failed eval"),
        }
    }
}

/// Cancels duplicate blocked evaluations (`docs/spec/server.md §5.2`).
async fn duplicate_reaper(server: Leading) {
    loop {
        tokio::time::sleep(LOOK).await;
        let duplicates = server.queues().blocked().take_duplicates();
        if duplicates.is_empty() {
            continue;
        }
        let evals = reapers::duplicates(&duplicates, ids::now());
        if let Err(e) = server.commit_shared(Arc::new(Operation::EvalUpdate { evals })).await {
            tracing::error!(target: "nomad", error = e.message.as_str(), "failed to update duplicate evals");
            server.queues().blocked().put_back_duplicates(duplicates);
        }
    }
}

/// Load shedding (`docs/spec/server.md §5.3`): cancels evaluations that were superseded by newer ones, in large
/// batches.
async fn cancelable_reaper(server: Leading) {
    let interval = duration::of_nanos(reapers::REAP_INTERVAL);
    let mut every = tokio::time::interval(interval);
    every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            _ = every.tick() => {}
            () = server.queues().acked().notified() => {}
        }
        // One after another: other writes come in between.
        while let Some(written) = cancel_batch(&server).await {
            if let Err((e, batch)) = written {
                tracing::error!(target: "nomad", error = e.message.as_str(), "failed to cancel evaluations");
                server.queues().broker().put_back(batch);
                tokio::time::sleep(LOOK).await;
            }
        }
    }
}

/// Cancels the next batch; `None` if there is none. A batch that could not be written is returned.
async fn cancel_batch(server: &Leading) -> Option<Result<(), (Error, Vec<Arc<Evaluation>>)>> {
    let batch = server.queues().broker().take_cancelable(CANCEL_BATCH);
    if batch.is_empty() {
        return None;
    }
    // A deliberate bug, to verify that the deterministic cluster test finds it.
    #[cfg(test)]
    if crate::deterministic::sim::has(crate::deterministic::sim::Bug::LostCancel) {
        return Some(Ok(()));
    }
    let written = server.commit_shared(Arc::new(reapers::cancelled(&batch, ids::now()))).await;
    Some(written.map(drop).map_err(|e| (e, batch)))
}

/// Retries evaluations whose plans were rejected too often (`docs/spec/server.md §8.4`).
async fn unblock_failed(server: Leading) {
    let mut every = tokio::time::interval(duration::of_nanos(crate::evals::blocked::FAILED_UNBLOCK_INTERVAL));
    every.tick().await;
    loop {
        every.tick().await;
        server.queues().unblock_failed();
    }
}
