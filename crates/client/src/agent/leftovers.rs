//! Directories of allocations that could not be removed: they are tried again, and shown (`docs/spec/client.md §27.5`).

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::super::runner::alloc::AllocRunner;
use super::super::runner::collect::remove_all;
use super::Agent;
use crate::clock;
use crate::directory::remove::NotRemoved;
use crate::store::{Stored, is_uuid};
use encamp_model::stats::{LeftoverDirectory, LocalCollectionStats};
use encamp_model::{NodeEvent, Time};

/// Most directories that are shown; all are counted.
const MOST_SHOWN: usize = 20;
/// Longest path that is shown, in characters.
const LONGEST_PATH: usize = 500;

/// A path as it is shown: tasks choose names, which may contain anything.
fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    let escaped = text.chars().flat_map(|c| {
        let escape = if c.is_control() { Some(c.escape_default()) } else { None };
        let plain = escape.is_none().then_some(c);
        escape.into_iter().flatten().chain(plain)
    });
    escaped.take(LONGEST_PATH).collect()
}

impl Agent {
    /// Notes that something of an allocation could not be removed; `runner`: its runner, unless this was another try.
    pub(super) async fn not_removed(&self, id: &str, runner: Option<&AllocRunner>, failure: &NotRemoved) {
        let (path, error) = (shown(&failure.path), failure.reason.to_string());
        let now = clock::now();
        let first = self.gc.leftovers.lock().failed(id, path.clone().into(), error.clone(), Instant::now(), now);
        self.gc.leftovers_changed.notify_one();
        let text = "the directory of the allocation could not be removed; it is tried again";
        if first {
            tracing::warn!(target: "client.gc", alloc_id = id, path, error, "{text}");
        } else {
            tracing::debug!(target: "client.gc", alloc_id = id, path, error, "{text}");
        }
        let Some(runner) = runner else { return };
        if runner.report_removal().await {
            let details = [("alloc_id", id.to_string()), ("path", path), ("error", error)];
            self.event(NodeEvent {
                message: format!("Local collection could not remove the directory of allocation {id}"),
                subsystem: "Storage".into(),
                details: details.into_iter().map(|(key, value)| (key.to_string(), value)).collect(),
                timestamp: Time::from_unix_nanos(now),
                create_index: 0,
            });
        }
    }

    /// Tells of directories that have the names of allocations, but of none that the node knows. They stay: only who
    /// lost or copied the node's state knows whether tasks still use them.
    pub(super) fn report_unknown(&self, stored: &[Stored]) {
        let Ok(entries) = std::fs::read_dir(&self.shared.alloc_dir) else { return };
        let known: BTreeSet<&str> = stored.iter().map(|s| s.alloc.id.as_str()).collect();
        let names = entries.flatten().filter_map(|e| e.file_name().into_string().ok());
        let unknown: Vec<String> = names.filter(|n| is_uuid(n) && !known.contains(n.as_str())).collect();
        let dir = self.shared.alloc_dir.display();
        for name in unknown.iter().take(MOST_SHOWN) {
            tracing::warn!(target: "client.gc", path = %format!("{dir}/{name}"), "directory of an unknown allocation; remove it if no task uses it");
        }
        if unknown.len() > MOST_SHOWN {
            let count = unknown.len();
            tracing::warn!(target: "client.gc", path = %dir, count, "directories of unknown allocations");
        }
    }

    /// Tries again to remove what could not be removed, until the end.
    pub(super) async fn remove_leftovers_forever(self: Arc<Self>) {
        loop {
            let next = self.gc.leftovers.lock().next();
            let due = async {
                match next {
                    Some(at) => tokio::time::sleep_until(at.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = due => {}
                () = self.gc.leftovers_changed.notified() => {}
                () = self.stopped() => return,
            }
            let due = self.gc.leftovers.lock().take_due(Instant::now());
            due.into_iter().for_each(|id| drop(tokio::spawn(self.clone().remove_again(id))));
        }
    }

    async fn remove_again(self: Arc<Self>, id: String) {
        let Ok(slot) = self.gc.slots.clone().acquire_owned().await else { return };
        let (shared, of) = (self.shared.clone(), id.clone());
        let removed = tokio::task::spawn_blocking(move || remove_all(&shared, &of)).await;
        drop(slot);
        match removed {
            Ok(Ok(())) => {
                let tries = self.gc.leftovers.lock().removed(&id).unwrap_or_default();
                tracing::info!(target: "client.gc", alloc_id = id, failed = tries, "the directory of the allocation was removed");
            }
            Ok(Err(failure)) => self.not_removed(&id, None, &failure).await,
            Err(error) => {
                let failure = NotRemoved::io(self.shared.alloc_dir.join(&id), std::io::Error::other(error));
                self.not_removed(&id, None, &failure).await;
            }
        }
        self.shared.collect.notify_one();
    }

    /// The directories that could not be removed; none: there are none.
    pub(super) fn collection_stats(&self) -> Option<LocalCollectionStats> {
        let leftovers = self.gc.leftovers.lock();
        let (wall, now) = (clock::now(), Instant::now());
        let at = |at: Instant| {
            let left = i64::try_from(at.saturating_duration_since(now).as_nanos()).unwrap_or(i64::MAX);
            wall.saturating_add(left)
        };
        let all = leftovers.all();
        let not_removed = all.len();
        let directories = all.take(MOST_SHOWN).map(|(id, leftover)| LeftoverDirectory {
            alloc_id: id.clone(),
            path: leftover.path.to_string_lossy().into_owned(),
            error: leftover.reason.clone(),
            tries: leftover.tries,
            failed_since: leftover.since,
            next_try: leftover.next.map_or(wall, at),
        });
        let directories = directories.collect();
        (not_removed > 0).then_some(LocalCollectionStats { not_removed: not_removed as u64, directories })
    }

    /// How many directories could not be removed.
    pub(super) fn leftover_count(&self) -> usize {
        self.gc.leftovers.lock().all().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_tasks_chose_are_shown_safely() {
        assert_eq!(shown(Path::new("/a/\u{1b}[2J\n/ä")), "/a/\\u{1b}[2J\\n/ä");
        assert_eq!(shown(Path::new(&"x".repeat(9_000))).len(), LONGEST_PATH);
    }
}
