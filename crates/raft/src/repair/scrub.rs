//! Reads all files of a running server again and again, at a limited rate, so that damage is found while the state in memory
//! is intact, and while other servers have their copies.
//!
//! A running server lacks nothing: what is damaged is set aside and written anew from memory. In place of a damaged
//! segment there is a new snapshot. Should the server end before that, its start repairs what is left.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use openraft::RaftMetrics;

use super::Damage;
use crate::Consensus;
use crate::arrival::Arrival;
use crate::error::StoreError;
use crate::log::scrub::{Extent, keep_copy};
use crate::snapshots::Snapshots;
use crate::types::{Peer, ServerId};
use encamp_host::disk::{self, File};
use encamp_host::threads;
use encamp_telemetry::Metrics;

/// How many bytes are read at once.
const PIECE: u64 = 256 << 10;
/// How long a snapshot in place of a damaged segment may take. The next pass tries again.
const REPLACE: Duration = Duration::from_secs(600);

/// How the files are read again (`docs/spec/server.md §23.4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scrubbing {
    /// The pause before each pass over all files.
    pub pause: Duration,
    /// Most bytes read in a second.
    pub rate: u64,
}

impl Default for Scrubbing {
    fn default() -> Scrubbing {
        Scrubbing { pause: Duration::from_secs(3600), rate: 4 << 20 }
    }
}

/// Reads files, and not faster than it may.
struct Reader {
    rate: u64,
    metrics: Metrics,
}

impl Reader {
    /// Gives the first bytes of a file, piece by piece; all of them if `length` is none.
    async fn read(&self, path: &Path, length: Option<u64>, mut take: impl FnMut(&[u8])) -> Result<(), StoreError> {
        let opened = path.to_path_buf();
        let (file, length) = blocking(move || {
            let file = disk::open(&opened).map_err(StoreError::io("open", &opened))?;
            // What the system has in memory says nothing about the disk.
            file.forget();
            let length = match length {
                Some(length) => length,
                None => file.length().map_err(StoreError::io("read", &opened))?,
            };
            Ok((Arc::new(file), length))
        })
        .await?;
        let mut at = 0;
        while at < length {
            let piece = PIECE.min(length - at);
            let bytes = read_at(file.clone(), path.to_path_buf(), at, piece).await?;
            take(&bytes);
            at += piece;
            self.metrics.count("raft.storage.scrubbed_bytes", piece, &[]);
            tokio::time::sleep(Duration::from_secs_f64(piece as f64 / self.rate.max(1) as f64)).await;
        }
        Ok(())
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    threads::unblock(work).await.map_err(|e| StoreError::Machine(format!("reading a file stopped: {e}")))?
}

async fn read_at(file: Arc<File>, path: PathBuf, at: u64, length: u64) -> Result<Vec<u8>, StoreError> {
    blocking(move || {
        let mut bytes = vec![0; length as usize];
        file.read_exact_at(&mut bytes, at).map_err(StoreError::io("read", &path))?;
        Ok(bytes)
    })
    .await
}

/// Whether a file is gone.
fn is_absent(error: &StoreError) -> bool {
    matches!(error, StoreError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound)
}

impl Consensus {
    /// Reads all files again and again.
    pub(crate) async fn scrub(self, scrubbing: Scrubbing, snapshots: Snapshots, metrics: Metrics) {
        let mut leadership = self.leadership();
        let reader = Reader { rate: scrubbing.rate, metrics };
        loop {
            let pass = async {
                tokio::time::sleep(scrubbing.pause).await;
                self.scrub_all(&reader, &snapshots).await
            };
            let stopped = leadership.wait_for(|l| l.failed.is_some());
            tokio::select! {
                biased;
                done = pass => {
                    if let Err(error) = done {
                        tracing::warn!(target: "server.raft.repair", %error, "failed to read the files again; retrying later");
                    }
                }
                _ = stopped => return,
            }
        }
    }

    async fn scrub_all(&self, reader: &Reader, snapshots: &Snapshots) -> Result<(), StoreError> {
        for damage in self.log().recheck().await? {
            self.health().note(damage);
        }
        self.scrub_snapshots(reader, snapshots).await?;
        let mut damaged = false;
        for extent in self.log().extents() {
            if let Some(damage) = self.damage_of(reader, &extent).await? {
                self.health().note(damage);
                let path = extent.segment.path.clone();
                blocking(move || {
                    keep_copy(&path);
                    Ok(())
                })
                .await?;
                damaged = true;
            }
        }
        if damaged && !self.replace_log().await? {
            tracing::error!(target: "server.raft.repair",
                "no snapshot has replaced the damaged segments yet; retrying later");
        }
        Ok(())
    }

    /// The damage of a segment. A segment that was cut meanwhile is none.
    async fn damage_of(&self, reader: &Reader, extent: &Extent) -> Result<Option<Damage>, StoreError> {
        let mut found = None;
        // What is written while it is read may look damaged once.
        for _ in 0..2 {
            let (length, mut bytes) = (extent.length()?, Vec::new());
            let read = reader.read(&extent.segment.path, Some(length), |piece| bytes.extend_from_slice(piece)).await;
            found = match read {
                Ok(()) => extent.damage(&bytes),
                Err(error) => Some(Damage::new(&extent.segment.path, bytes.len() as u64, error.to_string())),
            };
            if found.is_none() || !self.log().still_holds(extent) {
                return Ok(None);
            }
        }
        Ok(found)
    }

    async fn scrub_snapshots(&self, reader: &Reader, snapshots: &Snapshots) -> Result<(), StoreError> {
        for (n, path) in snapshots.paths()?.into_iter().enumerate() {
            let mut content = Arrival::default();
            let damage = match reader.read(&path, None, |piece| content.take(piece)).await {
                // A newer one has replaced it.
                Err(error) if is_absent(&error) => continue,
                Err(error) => Damage::new(&path, 0, error.to_string()),
                Ok(()) if content.is_intact() => continue,
                Ok(()) => Damage::new(&path, 0, "a checksum of the snapshot is wrong"),
            };
            let (given_up, all) = (damage.clone(), snapshots.clone());
            blocking(move || all.give_up(&given_up)).await?;
            self.health().note(damage);
            if n == 0 && self.snapshot().await.is_err() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Puts a snapshot in the place of all entries so far. `false` if that took too long.
    async fn replace_log(&self) -> Result<bool, StoreError> {
        self.log().begin_segment().await?;
        let Some(last) = self.log().last() else { return Ok(true) };
        let reaches = |what: fn(&RaftMetrics<ServerId, Peer>) -> Option<crate::types::EntryId>| {
            let mut metrics = self.raft().metrics();
            async move {
                let there = metrics.wait_for(|m| what(m) >= Some(last) || m.running_state.is_err());
                tokio::time::timeout(REPLACE, there).await.is_ok_and(|m| m.is_ok_and(|m| m.running_state.is_ok()))
            }
        };
        if !reaches(|m| m.last_applied).await || self.snapshot().await.is_err() || !reaches(|m| m.snapshot).await {
            return Ok(false);
        }
        let asked = self.raft().trigger().purge_log(last.index).await;
        Ok(asked.is_ok() && reaches(|m| m.purged).await)
    }
}
