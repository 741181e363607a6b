//! Repairs the files of a server: sets aside what is damaged, and keeps what is intact and joined to the newest snapshot.

use std::path::Path;

use openraft::{LogIdOptionExt, Vote};

use super::doubt::{DOUBT, Doubt};
use super::operator::Loss;
use super::survey::{SMALL, Survey, Votes};
use super::{Damage, Owner, SNAPSHOTS};
use crate::error::StoreError;
use crate::files;
use crate::log::synced::{self, Record};
use crate::log::writer::{HELD, PURGED, VOTE, VOTE_COPY, encoded};
use encamp_host::disk;
use encamp_model::capability::CapabilityLevel;

/// How far the term is raised if nothing tells the term of the last vote.
const UNKNOWN: u64 = 1 << 16;

/// Repairs the files in a directory; gives what was damaged. Whether entries or votes may be missing is in the file
/// [`DOUBT`] from the beginning on, so that an interrupted repair is no less careful.
///
/// # Errors
/// A file can't be read or written, a newer build wrote it, or this server is the only one that had what is missing.
pub(super) fn mend(
    dir: &Path,
    supported: CapabilityLevel,
    owner: Owner,
    loss: Loss,
) -> Result<Vec<Damage>, StoreError> {
    let _lock = files::lock(dir)?;
    let survey = Survey::read(dir, supported)?;
    let (alone, accepted) = (survey.is_alone(owner), loss == Loss::Accept);
    for damage in &survey.damages {
        tracing::error!(target: "server.raft.repair", %damage, "a file of the server is damaged");
    }
    if alone && !accepted && survey.loses_entries() {
        let files: Vec<String> = survey.damages.iter().map(ToString::to_string).collect();
        return Err(StoreError::OnlyCopy { path: dir.into(), loss: survey.loss(), damage: files.join("; ") });
    }
    if survey.votes == Votes::Unknown && !alone && !accepted {
        return Err(StoreError::Vote { path: dir.into(), term: 0, held: 0 });
    }
    let lost_vote = matches!(survey.votes, Votes::Lost(_) | Votes::Unknown);
    let doubts = !alone && !accepted && (survey.loses_entries() || lost_vote || survey.record_lost || survey.doubted);
    // Who gives up a vote of an unknown term should not vote in that term again.
    let ahead = if survey.votes == Votes::Unknown { UNKNOWN } else { 1 };
    let raised = doubts || lost_vote || (accepted && (survey.loses_entries() || survey.doubted));
    let term = survey.term + if raised { ahead } else { 0 };
    // Before anything is written over them.
    for path in SMALL.iter().map(|name| dir.join(name)) {
        if survey.damages.iter().any(|d| d.path == path && disk::open(&path).is_ok()) {
            files::copy_aside(&path)?;
        }
    }
    if doubts {
        Doubt { term, why: survey.loss() }.write(dir)?;
    } else {
        files::remove(&dir.join(DOUBT))?;
    }
    let vote = match survey.votes {
        Votes::Known(vote) if !raised => vote,
        Votes::Known(_) | Votes::Lost(_) | Votes::Unknown => {
            // A vote for nobody excludes all others.
            Some(Vote::new(term, owner.id.unwrap_or_default()))
        }
    };
    if let Some(vote) = vote {
        files::replace_all(dir, &[VOTE, VOTE_COPY], &encoded(&vote)?)?;
    }
    segments(dir, &survey)?;
    files::replace(dir, HELD, &encoded(&survey.last.index())?)?;
    synced::make(dir, Record { term, last: survey.last, segment: 0, end: 0 })?;
    let snapshots = dir.join(SNAPSHOTS);
    for damage in survey.damages.iter().filter(|d| d.path.parent() == Some(&snapshots)) {
        files::set_aside(&damage.path)?;
    }
    if doubts {
        tracing::error!(target: "server.raft.repair", dir = %dir.display(), missing = survey.loss(), term,
            "this server takes no part in elections until a leader has given it all that was committed");
    }
    Ok(survey.damages)
}

/// Leaves the segments that are kept.
fn segments(dir: &Path, survey: &Survey) -> Result<(), StoreError> {
    match survey.base {
        Some(base) => files::replace(dir, PURGED, &encoded(&base)?)?,
        None => files::remove(&dir.join(PURGED))?,
    }
    let kept = survey.kept.as_ref().map(|run| run.pieces.clone()).unwrap_or(0..0);
    // From the newest on: what is left of an interrupted repair has no hole.
    for (at, piece) in survey.pieces.iter().enumerate().rev() {
        if !kept.contains(&at) {
            files::set_aside(&piece.path)?;
        } else if piece.flawed {
            files::copy_aside(&piece.path)?;
            let file = disk::open_writable(&piece.path).map_err(StoreError::io("open", &piece.path))?;
            file.set_len(piece.content.end).map_err(StoreError::io("truncate", &piece.path))?;
            file.sync_all().map_err(StoreError::io("sync", &piece.path))?;
        }
    }
    files::sync_dir(dir)
}
