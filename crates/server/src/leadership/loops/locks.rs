//! Releases variable locks that are not renewed (`docs/spec/http-api.md §8.4`): the driver of [`LockTimers`].
//!
//! [`LockTimers`]: crate::var_locks::LockTimers

use std::time::Duration;

use futures_util::future::join_all;

use crate::leading::Leading;
use crate::var_locks::Lost;
use encamp_host::ids;
use encamp_model::duration;
use encamp_ops::{Operation, Reply, VariableChange, VariableReply, VariableWrite};

/// Longest sleep, because the machine may be suspended meanwhile.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// Restarts the full TTL of every held lock.
pub fn start(server: &Leading) {
    // While the mutex is held, no write is reported before the locks of the snapshot are known.
    let mut timers = server.queues().locks();
    let store = server.snapshot();
    timers.start(store.variables().filter(|v| v.lock.is_some()).map(|v| &**v), ids::steady());
}

/// Releases expired locks until leadership is lost.
pub(crate) async fn drive(server: Leading) {
    loop {
        let lost = server.queues().locks().expired(ids::steady());
        join_all(lost.iter().map(|l| give_back(&server, l))).await;
        let next = server.queues().locks().next_deadline();
        let until = next.map_or(LONGEST_SLEEP, |t| duration::of_nanos(t.saturating_sub(ids::steady())));
        tokio::time::sleep(until.min(LONGEST_SLEEP)).await;
    }
}

/// Releases a lock, unless it was acquired again. The check-and-set detects an acquisition at the same time.
async fn give_back(server: &Leading, lost: &Lost) {
    loop {
        let stored = server.snapshot().variable(&lost.key.0, &lost.key.1).cloned();
        let held = stored.filter(|v| v.lock.as_ref().is_some_and(|l| l.id == lost.lock_id));
        let Some(variable) = held.filter(|_| server.queues().locks().is_ending(lost)) else { return };
        let write = VariableWrite {
            key: lost.key.clone(),
            change: VariableChange::Release,
            cas: Some(variable.modify_index),
            lock_id: lost.lock_id.clone(),
            now: ids::now(),
        };
        let (namespace, path) = (lost.key.0.as_str(), lost.key.1.as_str());
        match server.commit_shared(Operation::Variable(Box::new(write)).into()).await {
            Ok((_, Reply::Variable(VariableReply::Conflict(_)))) => {}
            Ok((_, Reply::Variable(VariableReply::Written(_)))) => {
                tracing::info!(target: "nomad.variables", namespace, path, "released a lock that was not renewed");
                return;
            }
            Ok(_) => return,
            Err(e) => {
                let error = e.message.as_str();
                tracing::error!(target: "nomad.variables", namespace, path, error, "failed to release a lock");
                server.queues().locks().failed(lost, ids::steady());
                return;
            }
        }
    }
}
