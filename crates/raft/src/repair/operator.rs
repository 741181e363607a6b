//! Examines and repairs the files of a server that does not run, for an operator (`docs/spec/cli.md §14`).

use std::path::Path;

use super::survey::{Survey, Votes};
use super::{Damage, Owner, is_chained, mend};
use crate::error::StoreError;
use crate::files;
use encamp_model::capability::CapabilityLevel;

/// What to do if entries or votes are missing that no other server may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// Nothing is changed.
    Refuse,
    /// They are given up.
    Accept,
}

/// What the files of a server hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Examination {
    /// Files that are damaged.
    pub damages: Vec<Damage>,
    /// The last entry of the log that is intact and joined to the newest snapshot; `None` if there is none.
    pub last_entry: Option<u64>,
    /// Which entries are missing; `None` if all that were acknowledged are there.
    pub missing: Option<String>,
    /// Whether the last vote is missing.
    pub vote_missing: bool,
    /// Whether no other server votes.
    pub alone: bool,
    /// Whether the server waits for all that was committed, from a leader.
    pub in_doubt: bool,
}

impl Examination {
    fn of(survey: &Survey, chained: bool) -> Examination {
        Examination {
            damages: survey.damages.clone(),
            last_entry: survey.last.map(|l| l.index),
            missing: survey.loses_entries().then(|| survey.loss()),
            vote_missing: chained && !matches!(survey.votes, Votes::Known(_)),
            alone: survey.is_alone(unknown()),
            in_doubt: chained && survey.doubted,
        }
    }

    /// Whether there is nothing to repair.
    pub fn is_healthy(&self) -> bool {
        self.damages.is_empty() && self.missing.is_none() && !self.vote_missing && !self.in_doubt
    }
}

/// Whoever owns the files. If they do not tell who votes, nobody else may have what is missing.
fn unknown() -> Owner {
    Owner { id: None, alone: true }
}

/// Checks that there are files of a log.
fn check_there(dir: &Path) -> Result<(), StoreError> {
    let names = files::names(dir)?;
    let there = names.iter().any(|n| crate::log::segment::first_of(n).is_some() || n == crate::log::writer::VOTE);
    if there { Ok(()) } else { Err(StoreError::Absent { path: dir.to_path_buf() }) }
}

/// Examines the log and the snapshots in `dir`; changes nothing.
///
/// # Errors
/// There is no log, the server runs, a file can't be read, or a newer build wrote it.
pub fn examine(dir: &Path) -> Result<Examination, StoreError> {
    check_there(dir)?;
    let _lock = files::lock(dir)?;
    let survey = Survey::read(dir, CapabilityLevel::BUILD)?;
    Ok(Examination::of(&survey, is_chained(dir)?))
}

/// Repairs the log and the snapshots in `dir`, if they are damaged; gives what was found before. What is damaged is set
/// aside. If other servers vote and the loss is not accepted, the server will take no part in elections until a leader
/// has given it all that was committed.
///
/// # Errors
/// See [`examine`]; and entries are missing that no other server has, unless that is accepted; or the log is of the first
/// capability level.
pub fn repair(dir: &Path, loss: Loss) -> Result<Examination, StoreError> {
    let found = examine(dir)?;
    if !found.is_healthy() {
        if !is_chained(dir)? {
            super::attempt(dir, CapabilityLevel::BUILD)?;
        }
        mend::mend(dir, CapabilityLevel::BUILD, unknown(), loss)?;
    }
    Ok(found)
}
