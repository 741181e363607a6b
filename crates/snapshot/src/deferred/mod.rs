//! States of compressed snapshot files of which allocations are decoded when they are read. A plan of a job needs of
//! most allocations what tables and sums need; to decode the rest would take most of the time and of the memory.
//!
//! [`brief`]: what is read of an allocation at once. [`rows`]: decoding the rest, from the file's bytes in memory.

mod brief;
mod rows;

use std::sync::Arc;

use self::brief::{Brief, LinePlace};
pub(crate) use self::rows::FileRows;
use self::rows::Source;

use super::build_state;
use super::file::{ClusterSnapshot, SnapshotError, check_version, most_held};
use super::lines::{self, Lines};
use encamp_model::{Job, Time};
use encamp_state::lazy::AllocFacts;
use encamp_state::{Rows, State};

/// What ends the process if an allocation that is asked for later turns out not to be one. Readers of a state have no use
/// for an error.
pub type Unreadable = fn(&SnapshotError) -> !;

/// The jobs that allocations of a file may name.
#[derive(Debug)]
struct Jobs {
    stored: Vec<Arc<Job>>,
    own: Vec<Arc<Job>>,
}

/// A snapshot, and where its allocations are.
type Deferred = (ClusterSnapshot, Arc<FileRows>);

/// The state of a compressed file. The error is the file again, if it is not as this program writes it, or if something
/// is wrong with it: whoever reads all of it finds out what. `name` is that of the file.
pub(super) fn load(bytes: Vec<u8>, name: &str, unreadable: Unreadable) -> Result<Deferred, Vec<u8>> {
    match parsed(&bytes) {
        Some(parsed) => parsed.into_snapshot(Source { bytes, name: name.to_string(), unreadable }),
        None => Err(bytes),
    }
}

/// A file of which allocations are not decoded.
struct Parsed {
    rows: Rows,
    facts: Vec<AllocFacts>,
    places: Vec<LinePlace>,
    jobs: Jobs,
    taken_at: Time,
    source: String,
    notes: Vec<String>,
}

fn parsed(bytes: &[u8]) -> Option<Parsed> {
    let Lines { mut file, allocations } = lines::parse_compressed::<Brief>(bytes, most_held(bytes.len() as u64))?;
    check_version(file.version).and_then(|()| build_state::checked(&file)).ok()?;
    // Without the time of the snapshot, all allocations would be read to find the latest.
    if !file.allocations.is_empty() || file.taken_at.is_zero() {
        return None;
    }
    let (taken_at, source) = (file.taken_at, std::mem::take(&mut file.source));
    let own = std::mem::take(&mut file.allocation_jobs);
    let mut rows = build_state::rows(file);
    let own = build_state::shared(&build_state::versions(&rows.jobs), own);
    let jobs = Jobs { own, stored: rows.jobs.clone() };
    let newest = allocations.iter().map(|a| a.modify_index).max().unwrap_or_default();
    rows.index = rows.index.max(newest);
    let (facts, places, orphans) = facts(allocations, &jobs)?;
    Some(Parsed { rows, facts, places, jobs, taken_at, source, notes: build_state::notes(orphans) })
}

impl Parsed {
    fn into_snapshot(self, file: Source) -> Result<Deferred, Vec<u8>> {
        let Parsed { rows, facts, places, jobs, taken_at, source, notes } = self;
        if !State::are_identified(&facts) {
            return Err(file.bytes);
        }
        let (state, rows) = State::load_with_facts(rows, facts, |order| FileRows::new(file, jobs, places, order));
        Ok((ClusterSnapshot { state, taken_at, archived: false, source, notes }, rows))
    }
}

/// What a state needs to know of allocations; where their lines are; and how many have no job although they may run.
/// `None` if one names a job that is not there.
fn facts(allocations: Vec<Brief>, jobs: &Jobs) -> Option<(Vec<AllocFacts>, Vec<LinePlace>, usize)> {
    let versions = build_state::versions(&jobs.stored);
    let (mut facts, mut places) = (Vec::with_capacity(allocations.len()), Vec::with_capacity(allocations.len()));
    let mut orphans = 0;
    for (row, a) in (0..).zip(allocations) {
        let (namespace, job_id) = (a.job.namespace.clone(), a.job.job_id.clone());
        let priority = build_state::job_of(&versions, &jobs.own, a.job).ok()?.map(|job| job.priority);
        orphans += usize::from(priority.is_none() && !a.phase.terminal());
        places.push(a.place);
        facts.push(AllocFacts {
            row,
            id: a.id,
            node_id: a.node_id,
            namespace,
            job_id,
            priority,
            usage: a.usage,
            phase: a.phase,
        });
    }
    Some((facts, places, orphans))
}
