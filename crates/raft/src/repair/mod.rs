//! Storage that repairs itself (`docs/spec/server.md §23.4`).
//!
//! `crate::log` and `crate::snapshots` find damage: a flipped bit, a lost, misdirected or swapped write, a file that is cut
//! off, an older copy of a file. Then [`open`] has all files examined ([`survey`]), sets aside what is damaged, and keeps
//! what is intact and joined to the newest intact snapshot ([`mend`]). If entries may be missing that this server
//! acknowledged, or its vote, it is in doubt ([`doubt`]): it takes no part in elections until a leader of a later term has
//! given it all that was committed. A server that is the only voter does not start then: it would give up silently what
//! nobody else has.
//!
//! Damaged files are renamed, never removed.

pub(crate) mod doubt;
mod mend;
pub(crate) mod operator;
pub(crate) mod scrub;
mod survey;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};

use openraft::LogIdOptionExt;

use super::error::StoreError;
use super::files;
use super::log::{Loaded, Log, segment, synced, writer};
use super::snapshots::Snapshots;
use super::types::ServerId;
use encamp_model::capability::CapabilityLevel;

use doubt::{DOUBT, Doubt};

/// How often the files are repaired at a start: the damage that is found last may lie behind another.
const ATTEMPTS: usize = 4;
/// The directory of the snapshots.
pub(crate) const SNAPSHOTS: &str = "snapshots";

/// A damaged file of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The file.
    pub path: PathBuf,
    /// Offset of the damage, in bytes.
    pub offset: u64,
    /// What is wrong with it.
    pub why: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at offset {}: {}", self.path.display(), self.offset, self.why)
    }
}

impl Damage {
    pub(crate) fn new(path: &Path, offset: u64, why: impl Into<String>) -> Damage {
        Damage { path: path.to_path_buf(), offset, why: why.into() }
    }

    /// The damage that an error tells of.
    pub(crate) fn of(error: &StoreError) -> Option<Damage> {
        match error {
            StoreError::Damaged { path, offset, why } => Some(Damage::new(path, *offset, why.clone())),
            // The number is not under the checksum of small files and snapshots. That of segments is: see `sound`.
            StoreError::Format { path, format } => {
                Some(Damage::new(path, 0, format!("it has the format {format}, which no build writes there")))
            }
            _ => None,
        }
    }
}

/// The server whose files they are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Owner {
    /// Its ID; `None` if it is not known.
    pub id: Option<ServerId>,
    /// Whether it is the only voter, if its files do not tell.
    pub alone: bool,
}

/// Log and snapshots, opened.
pub(crate) struct Opened {
    pub log: Log,
    pub snapshots: Snapshots,
    /// What was damaged.
    pub damages: Vec<Damage>,
    /// Whether entries or votes may be missing.
    pub doubt: Option<Doubt>,
}

/// Opens log and snapshots in a directory, and repairs them if they are damaged.
///
/// # Errors
/// The directory is in use or can't be written, a newer build wrote it, or what is damaged can't be repaired from other
/// servers.
pub(crate) fn open(dir: &Path, supported: CapabilityLevel, owner: Owner) -> Result<Opened, StoreError> {
    let mut damages = Vec::new();
    let mut left = ATTEMPTS;
    loop {
        let error = match attempt(dir, supported) {
            Ok(found) => {
                damages.extend(found.damages);
                return Ok(Opened { log: found.log.start()?, snapshots: found.snapshots, damages, doubt: found.doubt });
            }
            Err(error) => error,
        };
        left -= 1;
        if left == 0 || !repairable(&error) || !is_chained(dir)? {
            return Err(error);
        }
        tracing::error!(target: "server.raft.repair", %error, "the files of the server are damaged");
        damages.extend(mend::mend(dir, supported, owner, operator::Loss::Refuse)?);
    }
}

/// What an attempt found.
struct Found {
    log: Loaded,
    snapshots: Snapshots,
    damages: Vec<Damage>,
    doubt: Option<Doubt>,
}

fn attempt(dir: &Path, supported: CapabilityLevel) -> Result<Found, StoreError> {
    let log = Loaded::read(dir, supported)?;
    let doubt = Doubt::read(dir)?;
    let term = log.vote().map_or(0, |v| v.leader_id.term);
    if let Some(doubt) = doubt.as_ref().filter(|d| d.term > term) {
        return Err(StoreError::Vote { path: dir.join(DOUBT), term, held: doubt.term });
    }
    let snapshots = Snapshots::open(&dir.join(SNAPSHOTS), supported)?;
    let (newest, bad) = snapshots.examine()?;
    let (purged, restored) = (log.purged(), newest.as_ref().and_then(|f| f.description.meta.last_log_id));
    if restored.index() < purged.index() {
        return Err(StoreError::Gap { path: dir.into(), purged: purged.map_or(0, |p| p.index) });
    }
    if let (Some(found), Some(held)) = (newest, restored) {
        let last = log.last().index();
        // A server's own snapshot holds nothing that its log did not, and who has a snapshot has followed a leader.
        if log.vote().is_none() || (!found.is_received() && last < Some(held.index)) {
            return Err(StoreError::Lost { path: dir.into(), last, held: held.index });
        }
    }
    let damages: Vec<_> = bad.iter().filter_map(Damage::of).collect();
    for damage in &damages {
        tracing::error!(target: "server.raft.repair", %damage, "skipped a snapshot");
        if is_chained(dir)? {
            files::set_aside(&damage.path)?;
        }
    }
    Ok(Found { log, snapshots, damages, doubt })
}

/// Whether it is damage of files, and nothing else.
fn repairable(error: &StoreError) -> bool {
    match error {
        StoreError::Damaged { .. } | StoreError::Gap { .. } | StoreError::Lost { .. } | StoreError::Vote { .. } => true,
        StoreError::Format { path, .. } => !segment::is_name(path),
        StoreError::Io { .. }
        | StoreError::Newer { .. }
        | StoreError::Locked { .. }
        | StoreError::Absent { .. }
        | StoreError::OnlyCopy { .. }
        | StoreError::Refused(_)
        | StoreError::NoRoom { .. }
        | StoreError::Closed
        | StoreError::Codec { .. }
        | StoreError::NotConsecutive { .. }
        | StoreError::Machine(_) => false,
    }
}

/// Whether the log has the capability `chained-log`: no older build may take over, so that the files of this build count.
fn is_chained(dir: &Path) -> Result<bool, StoreError> {
    let names = files::names(dir)?;
    let marks = [synced::SYNCED, writer::VOTE_COPY, DOUBT];
    Ok(names.iter().any(|n| marks.contains(&n.as_str())) || survey::has_chained_segment(dir, &names))
}
