//! A server in doubt: it may have acknowledged entries, or granted votes, that its files do not tell of.
//!
//! Others count on a server's word twice: an entry is committed because a majority has it, and a candidate leads because a
//! majority has voted for it. A server in doubt gives no new word until the old one can do no harm:
//!
//! 1. When it notices the damage it raises its term above every term in which it has voted or acknowledged, and writes that
//!    down. No leader of an earlier term can count on it any more, however late its answers arrive.
//! 2. It neither stands for election nor grants votes, so that a leader of a later term is elected by others alone. Of
//!    those, one has every entry that was committed with the help of this server.
//! 3. It takes entries and snapshots from such a leader. Once it has an entry of that leader's term, durably, that is
//!    committed, it has all entries before it, and with them all that it may have helped to commit. The doubt is over.
//!
//! The file `doubt` keeps this over restarts: 8 bytes that name it, the term as 8 bytes, and the reason as text.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use openraft::raft::VoteResponse;
use parking_lot::Mutex;

use super::Damage;
use crate::error::StoreError;
use crate::files;
use crate::types::ServerId;
use crate::{Answer, Consensus};
use encamp_host::threads::{self, Instant};

/// Name of the file.
pub(crate) const DOUBT: &str = "doubt";
/// Begins its content: that of another file is none.
const NAME: &[u8; 8] = b"in doubt";
/// How often it is checked whether the doubt is over.
const LOOK: Duration = Duration::from_millis(100);
/// How often the operator is told of a doubt that lasts.
const REMIND: Duration = Duration::from_secs(30);

/// What a server in doubt waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Doubt {
    /// Leaders of this term and of later ones know nothing of the words that it gave before.
    pub term: u64,
    /// What is missing.
    pub why: String,
}

impl Doubt {
    /// Reads the file; `None` if there is no doubt.
    ///
    /// # Errors
    /// It can't be read, or is damaged.
    pub(crate) fn read(dir: &Path) -> Result<Option<Doubt>, StoreError> {
        let Some(bytes) = files::read(dir, DOUBT)? else { return Ok(None) };
        let damaged = || StoreError::Damaged { path: dir.join(DOUBT), offset: 0, why: "it is another file".into() };
        let (term, why) = bytes.strip_prefix(NAME).and_then(|b| b.split_first_chunk()).ok_or_else(damaged)?;
        Ok(Some(Doubt { term: u64::from_le_bytes(*term), why: String::from_utf8_lossy(why).into_owned() }))
    }

    /// Writes the file, durably.
    pub(crate) fn write(&self, dir: &Path) -> Result<(), StoreError> {
        files::replace(dir, DOUBT, &[&NAME[..], &self.term.to_le_bytes(), self.why.as_bytes()].concat())
    }
}

/// What became of the files of a running server.
#[derive(Debug, Default)]
pub(crate) struct Health {
    damages: Mutex<Vec<Damage>>,
    /// The term that it waits for; 0 if it is not in doubt.
    term: AtomicU64,
}

impl Health {
    pub(crate) fn new(damages: Vec<Damage>, doubt: Option<&Doubt>) -> Arc<Health> {
        let term = AtomicU64::new(doubt.map_or(0, |d| d.term));
        Arc::new(Health { damages: Mutex::new(damages), term })
    }

    /// A file was found damaged while the server ran.
    pub(crate) fn note(&self, damage: Damage) {
        tracing::error!(target: "server.raft.repair", %damage, "a file of the server is damaged");
        self.damages.lock().push(damage);
    }

    /// The term that it waits for; `None` if it is not in doubt.
    pub(crate) fn doubt(&self) -> Option<u64> {
        Some(self.term.load(Ordering::Acquire)).filter(|term| *term > 0)
    }
}

/// The state of the files of a server (`docs/spec/server.md §23.4`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StorageHealth {
    /// What was damaged when it started, or found since. All of it was set aside.
    pub damages: Vec<Damage>,
    /// Whether entries or votes may be missing: it takes no part in elections until a leader has given it all that was
    /// committed.
    pub in_doubt: bool,
}

impl Consensus {
    /// The state of its files.
    pub fn storage_health(&self) -> StorageHealth {
        let health = self.health();
        StorageHealth { damages: health.damages.lock().clone(), in_doubt: health.doubt().is_some() }
    }

    /// Whether it takes no part in elections.
    pub(crate) fn in_doubt(&self) -> bool {
        self.health().doubt().is_some()
    }

    /// The answer to a candidate while it is in doubt: no vote.
    pub(crate) async fn no_vote(&self) -> Answer {
        let known = self.raft().metrics().borrow().vote;
        let vote = self.raft().with_raft_state(|s| *s.vote_ref()).await.unwrap_or(known);
        let last_log_id = self.log().last();
        Answer::Vote(Ok(VoteResponse::<ServerId> { vote, vote_granted: false, last_log_id }))
    }

    /// Ends the doubt once this server has all that was committed, and tells of it until then.
    pub(crate) async fn resolve_doubt(self, dir: std::path::PathBuf) {
        let Some(term) = self.health().doubt() else { return };
        let mut told = Instant::now();
        loop {
            tokio::time::sleep(LOOK).await;
            if self.leadership().borrow().failed.is_some() {
                return;
            }
            if self.has_caught_up(term) {
                let dir = dir.clone();
                let removed = threads::unblock(move || {
                    files::remove(&dir.join(DOUBT))?;
                    files::sync_dir(&dir)
                });
                if matches!(removed.await, Ok(Ok(()))) {
                    break;
                }
            }
            if told.elapsed() >= REMIND {
                told = Instant::now();
                let leader = self.leadership().borrow().leader.is_some();
                tracing::error!(target: "server.raft.repair", dir = %dir.display(), leader,
                    "entries or votes of this server may be missing: it takes no part in elections until a leader that \
                     the other servers elect has given it all that was committed; if a majority of the servers is in \
                     this state, nobody leads: stop them, restore one from a backup or give up what is missing by \
                     `encamp operator raft repair -accept-loss`, and start them");
            }
        }
        self.health().term.store(0, Ordering::Release);
        tracing::info!(target: "server.raft.repair", dir = %dir.display(), "repaired: this server has all that was committed");
    }

    /// Whether it holds an entry, durably, that a leader of a term or of a later one has committed.
    fn has_caught_up(&self, term: u64) -> bool {
        let applied = self.raft().metrics().borrow().last_applied;
        applied.is_some_and(|a| a.leader_id.term >= term && self.log().is_durable(a))
    }
}
