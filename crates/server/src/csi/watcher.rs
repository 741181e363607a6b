//! Frees the claims of allocations that have ended (`docs/spec/garbage-collection.md §8`), on the leader: what a node
//! did not release itself because it failed, or because the calls failed.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;

use super::release;
use crate::leading::Leading;
use encamp_host::simulation::here;
use encamp_model::*;
use encamp_state::{StateStore, Table};

/// How often the state is read.
const LOOK: Duration = Duration::from_secs(1);
/// The volumes that are worked on at the same time.
const MOST_VOLUMES: usize = 16;
/// The wait after the first failure; it doubles with each further one.
const FIRST_WAIT: Duration = Duration::from_secs(5);
const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// The allocations whose claims on a volume are to be released: those whose release has begun, and those that are gone
/// or have ended on their node. In the order of their IDs.
pub fn releasable(store: &StateStore, volume: &CsiVolume) -> Vec<String> {
    let ended = |id: &String| store.state().alloc(id).is_none_or(|a| a.alloc.client_terminal());
    let mut found: Vec<String> =
        volume.claiming().filter(|id| volume.past_claims.contains_key(*id) || ended(id)).cloned().collect();
    found.sort();
    found.dedup();
    found
}

/// When a volume whose release failed is tried again.
#[derive(Debug, Clone, Copy)]
struct Retry {
    at: Instant,
    wait: Duration,
}

impl Retry {
    fn after(before: Option<Retry>, now: Instant) -> Retry {
        let wait = before.map_or(FIRST_WAIT, |r| (r.wait * 2).min(LONGEST_WAIT));
        Retry { at: now + wait, wait }
    }
}

/// Watches the volumes as long as this server leads.
pub(crate) async fn run(server: Leading) {
    let (mut seen, mut waits) = ([0; 3], BTreeMap::<(String, String), Retry>::new());
    let mut running: JoinSet<((String, String), bool)> = JoinSet::new();
    let mut busy: Vec<(String, String)> = Vec::new();
    loop {
        tokio::time::sleep(LOOK).await;
        while let Some(ended) = running.try_join_next() {
            // A task that was cancelled has no key: nothing cancels them but the end of the leadership.
            let Ok((key, freed)) = ended else { continue };
            busy.retain(|k| *k != key);
            let before = waits.remove(&key);
            if !freed {
                waits.insert(key, Retry::after(before, Instant::now()));
            }
            seen = [0; 3];
        }
        let snapshot = server.snapshot();
        let tables = [Table::CsiVolumes, Table::Allocs, Table::Nodes].map(|t| snapshot.index_of(t));
        let now = Instant::now();
        let due = waits.values().any(|r| r.at <= now);
        if !due && seen == tables {
            continue;
        }
        seen = tables;
        waits.retain(|(namespace, id), _| snapshot.state().csi_volume(namespace, id).is_some());
        for volume in snapshot.state().csi_volumes() {
            let key = (volume.namespace.clone(), volume.id.clone());
            if busy.contains(&key) || waits.get(&key).is_some_and(|r| r.at > now) {
                continue;
            }
            let allocs = releasable(&snapshot, volume);
            if allocs.is_empty() {
                continue;
            }
            if busy.len() >= MOST_VOLUMES {
                // The next look continues.
                seen = [0; 3];
                break;
            }
            busy.push(key.clone());
            running.spawn(here(release_all(server.clone(), key, allocs)));
        }
    }
}

/// Releases claims of one volume, one after the other. Returns whether all were freed.
async fn release_all(server: Leading, key: (String, String), allocs: Vec<String>) -> ((String, String), bool) {
    let _lock = server.csi().lock(&key.0, &key.1).await;
    let mut freed = true;
    for alloc in allocs {
        if let Err(error) = release::free(&server, &key, &alloc, false).await {
            tracing::error!(
                target: "nomad.volumes_watcher", namespace = key.0.as_str(), volume_id = key.1.as_str(),
                alloc_id = alloc.as_str(), error = error.message.as_str(), "failed to release a claim"
            );
            freed = false;
        }
    }
    (key, freed)
}
