//! Examines the files of a server and finds out what of them is intact. Changes nothing.

use std::path::{Path, PathBuf};

use openraft::{EntryPayload, LogIdOptionExt, Vote};

use super::doubt::{DOUBT, Doubt};
use super::{Damage, Owner, SNAPSHOTS};
use crate::error::StoreError;
use crate::files;
use crate::log::segment::{self, Content, Segment};
use crate::log::synced::{self, Record};
use crate::log::writer::{HELD, PURGED, VOTE, VOTE_COPY};
use crate::log::{later, read_small};
use crate::snapshots::{Found, Snapshots};
use crate::types::{EntryId, ServerId};
use encamp_model::capability::CapabilityLevel;

/// A segment file.
pub(super) struct Piece {
    pub path: PathBuf,
    /// Index with which it begins.
    first: u64,
    /// `None` if its head is damaged.
    segment: Option<Segment>,
    pub content: Content,
    /// Whether the file goes on behind the intact frames, and not because of a crash.
    pub flawed: bool,
}

impl Piece {
    /// The index after its last intact entry.
    fn next(&self) -> u64 {
        self.content.entries.last().map_or(self.first, |e| e.id.index + 1)
    }

    /// Whether the other one goes on where this one ends.
    fn goes_on_in(&self, other: &Piece) -> bool {
        let (Some(_), Some(next)) = (&self.segment, &other.segment) else { return false };
        !self.flawed && self.next() == other.first && next.previous.is_none_or(|p| p == self.content.seal)
    }
}

/// Pieces that follow each other, by their places in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Run {
    pub pieces: std::ops::Range<usize>,
}

/// What the files tell of votes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Votes {
    /// This is the last vote, or there was none.
    Known(Option<Vote<ServerId>>),
    /// It is missing; this is the latest term in which this server can have voted.
    Lost(u64),
    /// It is missing, and nothing tells the term.
    Unknown,
}

/// What the files hold.
pub(super) struct Survey {
    pub damages: Vec<Damage>,
    /// Segments, from the oldest on.
    pub pieces: Vec<Piece>,
    /// Those that stay; none if the log goes on behind the snapshot.
    pub kept: Option<Run>,
    /// The last entry before those that stay.
    pub base: Option<EntryId>,
    /// The last entry that stays, or is in the snapshot.
    pub last: Option<EntryId>,
    /// The highest index of an entry that was there.
    pub seen: Option<u64>,
    /// Whether there may have been more entries than those that were seen.
    pub open_end: bool,
    pub votes: Votes,
    /// The latest term that any file tells of.
    pub term: u64,
    /// The record of what was acknowledged can't be used.
    pub record_lost: bool,
    /// An earlier doubt is not over, or its file is damaged.
    pub doubted: bool,
    /// The last known voters; `None` if none are known.
    pub voters: Option<Vec<ServerId>>,
}

/// Whether a segment is there that older builds refuse.
pub(super) fn has_chained_segment(dir: &Path, names: &[String]) -> bool {
    let segments = names.iter().filter_map(|n| Some((segment::first_of(n)?, n)));
    segments.into_iter().any(
        |(first, name)| matches!(Segment::open_read_only(dir, name, first, false), Ok(Some(s)) if s.previous.is_some()),
    )
}

impl Survey {
    /// Examines the files in a directory.
    ///
    /// # Errors
    /// A file can't be read, or a newer build wrote it.
    pub(super) fn read(dir: &Path, supported: CapabilityLevel) -> Result<Survey, StoreError> {
        let mut damages = Vec::new();
        let stored = sound(synced::read(dir), &mut damages)?.flatten();
        let record_lost = stored.is_none_or(|s| !s.whole);
        if let Some(stored) = stored.filter(|s| !s.whole) {
            let why = format!(
                "a record in it has a wrong checksum; the other one ends with entry {:?}",
                stored.record.last.index()
            );
            damages.push(Damage::new(&dir.join(synced::SYNCED), 0, why));
        }
        let record = stored.map(|s| s.record).unwrap_or_default();
        let purged = sound(read_small::<EntryId>(dir, PURGED), &mut damages)?.flatten();
        let held = sound(read_small::<Option<u64>>(dir, HELD), &mut damages)?.flatten().flatten();
        let pieces = pieces(dir, record, &mut damages)?;
        let (snapshot, bad) = match Snapshots::existing_of(&dir.join(SNAPSHOTS), supported).examine() {
            Err(StoreError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => (None, Vec::new()),
            found => found?,
        };
        damages.extend(bad.iter().filter_map(Damage::of));
        let in_snapshot = snapshot.as_ref().and_then(|s| s.description.meta.last_log_id);
        let runs = runs(&pieces, purged, &mut damages);
        let (kept, base) = choose(&pieces, &runs, purged, in_snapshot);
        let last_of = |run: &Run| {
            let entries = pieces[run.pieces.clone()].iter().rev().find_map(|p| p.content.entries.last());
            entries.map(|e| e.id)
        };
        let last = kept.as_ref().and_then(last_of).max(base);
        let highest = pieces.iter().filter_map(|p| p.content.entries.last()).map(|e| e.id.index).max();
        let seen = highest.max(held).max(record.last.index());
        check_record(dir, &pieces, kept.as_ref(), record, &mut damages);
        let open_end = kept.as_ref().map_or(!pieces.is_empty(), |run| {
            let cut_off = pieces.get(run.pieces.end - 1).is_some_and(|p| p.flawed);
            cut_off || run.pieces.end < pieces.len() || conflicts(&pieces, run, record)
        });
        let doubt = sound(Doubt::read(dir), &mut damages)?;
        let doubted = !matches!(doubt, Some(None));
        let doubt_term = doubt.flatten().map_or(0, |d| d.term);
        let terms = pieces.iter().flat_map(|p| &p.content.entries).map(|e| e.id.leader_id.term).max();
        let told = terms.unwrap_or(0).max(in_snapshot.map_or(0, |l| l.leader_id.term)).max(doubt_term).max(record.term);
        let (votes, term) = votes(dir, stored.is_some(), told, &mut damages)?;
        let voters = voters(&pieces, snapshot.as_ref());
        Ok(Survey { damages, pieces, kept, base, last, seen, open_end, votes, term, record_lost, doubted, voters })
    }

    /// Whether nobody but this server has its entries.
    pub(super) fn is_alone(&self, owner: Owner) -> bool {
        match self.voters.as_deref() {
            Some([voter]) => owner.id.is_none_or(|id| id == *voter),
            Some(_) => false,
            None => owner.alone,
        }
    }

    /// Whether entries are missing.
    pub(super) fn loses_entries(&self) -> bool {
        self.open_end || self.seen > self.last.index()
    }

    /// Which entries are missing, for the operator.
    pub(super) fn loss(&self) -> String {
        let next = self.last.index().map_or(0, |i| i + 1);
        let upto = self.seen.filter(|s| *s >= next);
        let more = if self.open_end { ", and maybe later ones" } else { "" };
        match (upto, self.loses_entries()) {
            (Some(upto), _) => format!("entries {next} to {upto}{more} are missing"),
            (None, true) => format!("entries from {next} on may be missing"),
            (None, false) => "no entry is known to be missing".into(),
        }
    }
}

/// The value of a file; `None` if it is damaged.
fn sound<T>(read: Result<T, StoreError>, damages: &mut Vec<Damage>) -> Result<Option<T>, StoreError> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(error) => match Damage::of(&error) {
            // Another build wrote the segment: its number is under a checksum.
            Some(damage) if matches!(&error, StoreError::Format { .. }) && segment::is_name(&damage.path) => Err(error),
            Some(damage) => {
                damages.push(damage);
                Ok(None)
            }
            None => Err(error),
        },
    }
}

/// All segments with their intact frames.
fn pieces(dir: &Path, record: Record, damages: &mut Vec<Damage>) -> Result<Vec<Piece>, StoreError> {
    let names = files::names(dir)?;
    let found: Vec<_> = names.iter().filter_map(|n| Some((segment::first_of(n)?, n))).collect();
    let mut pieces = Vec::new();
    for (i, (first, name)) in found.iter().enumerate() {
        let (newest, path, first) = (i + 1 == found.len(), dir.join(name), *first);
        let opened = sound(Segment::open_read_only(dir, name, first, newest), damages)?;
        let known = if record.segment == first { record.end } else { 0 };
        match opened {
            // Its making was interrupted.
            Some(None) if known == 0 => {}
            Some(None) => {
                damages.push(Damage::new(&path, 0, segment::EMPTY));
                pieces.push(Piece { path, first, segment: None, content: Content::default(), flawed: true });
            }
            None => {
                pieces.push(Piece { path, first, segment: None, content: Content::default(), flawed: true });
            }
            Some(Some(segment)) => {
                let content = segment.frames()?;
                let flawed = sound(segment.judge(&content, newest, known), damages)?.is_none();
                pieces.push(Piece { path, first, segment: Some(segment), content, flawed });
            }
        }
    }
    Ok(pieces)
}

/// The pieces that follow each other.
fn runs(pieces: &[Piece], purged: Option<EntryId>, damages: &mut Vec<Damage>) -> Vec<Run> {
    // Of segments that are to be removed some may be gone.
    let purged = |p: &Piece| purged.is_some_and(|id| p.next() <= id.index + 1);
    let mut runs: Vec<Run> = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|b| pieces.get(b));
        if let (Some(before), Some(run)) = (before, runs.last_mut())
            && before.goes_on_in(piece)
        {
            run.pieces.end = at + 1;
            continue;
        }
        if let Some(before) = before.filter(|b| !b.flawed && piece.segment.is_some() && !purged(b)) {
            let damage = if before.next() == piece.first {
                Damage::new(&piece.path, 0, "it does not follow the segment before it")
            } else {
                let why = format!(
                    "it ends before entry {}, but the next segment begins with entry {}",
                    before.next(),
                    piece.first
                );
                Damage::new(&before.path, before.content.end, why)
            };
            damages.push(damage);
        }
        if piece.segment.is_some() {
            runs.push(Run { pieces: at..at + 1 });
        } else {
            // Nothing goes on in it.
            runs.push(Run { pieces: at..at });
        }
    }
    runs.retain(|r| !r.pieces.is_empty());
    runs
}

/// The run that stays, and the last entry before it. All entries up to `in_snapshot` are in the newest intact snapshot.
fn choose(
    pieces: &[Piece],
    runs: &[Run],
    purged: Option<EntryId>,
    in_snapshot: Option<EntryId>,
) -> (Option<Run>, Option<EntryId>) {
    let of = |run: &Run| &pieces[run.pieces.clone()];
    let start = |run: &Run| of(run).first().map_or(0, |p| p.first);
    let next = |run: &Run| of(run).last().map_or(0, Piece::next);
    let id_at = |run: &Run, index: u64| {
        let mut entries = of(run).iter().flat_map(|p| &p.content.entries);
        entries.find(|e| e.id.index == index).map(|e| e.id)
    };
    // Entries of a run can be applied to a state that ends with `base`.
    let joins = |run: &Run, base: Option<EntryId>| {
        let follows = start(run) == base.map_or(0, |b| b.index + 1);
        let within = base.is_some_and(|b| id_at(run, b.index) == Some(b));
        (follows && next(run) >= start(run)) || within
    };
    // The state up to the purged entries is in the snapshot alone.
    let purged_is_there = purged.index() <= in_snapshot.index();
    let joined = |base: Option<EntryId>| runs.iter().rev().find(|r| joins(r, base)).cloned();
    let from_purged = if purged_is_there { joined(purged) } else { None };
    let Some(snapshot) = in_snapshot else { return (from_purged, None) };
    match joined(Some(snapshot)) {
        Some(run) if from_purged.as_ref() == Some(&run) => (Some(run), purged),
        Some(run) => (Some(run), Some(snapshot)),
        // What there is of the log ends before the snapshot does.
        None => (None, Some(snapshot)),
    }
}

/// Whether the kept entries are other ones than those that were acknowledged.
fn conflicts(pieces: &[Piece], run: &Run, record: Record) -> bool {
    let Some(last) = record.last else { return false };
    let mut entries = pieces[run.pieces.clone()].iter().flat_map(|p| &p.content.entries);
    entries.any(|e| e.id.index == last.index && e.id != last)
}

/// Reports a log that ends before what it acknowledged, although all its frames are intact.
fn check_record(dir: &Path, pieces: &[Piece], kept: Option<&Run>, record: Record, damages: &mut Vec<Damage>) {
    let (Some(newest), Some(last)) = (pieces.last().filter(|p| !p.flawed), record.last) else {
        if let (None, true, Some(last)) = (pieces.last(), damages.is_empty(), record.last) {
            let why = format!("the segments of the log are missing; it ended with entry {}", last.index);
            damages.push(Damage::new(dir, 0, why));
        }
        return;
    };
    if newest.next() <= last.index {
        let why = format!(
            "the segment ends with entry {:?}, but entry {} was acknowledged",
            newest.next().checked_sub(1),
            last.index
        );
        damages.push(Damage::new(&newest.path, newest.content.end, why));
    } else if kept.is_some_and(|run| conflicts(pieces, run, record)) {
        damages.push(Damage::new(&newest.path, 0, format!("it holds another entry than the acknowledged {last}")));
    } else if newest.next() == last.index + 1 && newest.first == record.segment && newest.content.end < record.end {
        damages.push(Damage::new(&newest.path, newest.content.end, "the end of the segment is missing"));
    }
}

/// The last vote, and the latest term of all. `told` is the latest term that other files tell of, and `recorded` whether
/// the record of what was acknowledged is among them.
fn votes(dir: &Path, recorded: bool, told: u64, damages: &mut Vec<Damage>) -> Result<(Votes, u64), StoreError> {
    let copies = [VOTE, VOTE_COPY].map(|name| read_small::<Vote<ServerId>>(dir, name));
    let [vote, copy] = copies;
    let (vote, copy) = (sound(vote, damages)?.flatten(), sound(copy, damages)?.flatten());
    let latest = later(vote, copy);
    let term = latest.map_or(0, |v| v.leader_id.term);
    if term >= told {
        return Ok((Votes::Known(latest), term));
    }
    if latest.is_some() || damages.is_empty() {
        let why = format!("the vote is of term {term}, but the server took part in term {told}");
        damages.push(Damage::new(&dir.join(VOTE), 0, why));
    }
    Ok((if recorded { Votes::Lost(told) } else { Votes::Unknown }, told))
}

/// The last voters that an intact entry or the snapshot names.
fn voters(pieces: &[Piece], snapshot: Option<&Found>) -> Option<Vec<ServerId>> {
    let in_snapshot = snapshot.map(|s| &s.description.meta.last_membership);
    let at = in_snapshot.and_then(|m| m.log_id().index());
    for piece in pieces.iter().rev() {
        let Some(segment) = &piece.segment else { continue };
        for entry in piece.content.entries.iter().rev().filter(|e| Some(e.id.index) > at) {
            let read = segment.read(entry.id, entry.offset, entry.len, entry.previous);
            if let Ok(EntryPayload::Membership(members)) = read.map(|e| e.payload) {
                return Some(members.voter_ids().collect());
            }
        }
    }
    in_snapshot.map(|m| m.voter_ids().collect())
}

/// Names of the small files that a repair writes anew.
pub(super) const SMALL: [&str; 6] = [VOTE, VOTE_COPY, PURGED, HELD, synced::SYNCED, DOUBT];
