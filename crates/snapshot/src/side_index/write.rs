//! Writes an index.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use encamp_host::platform::files::FileExt;
use parking_lot::Mutex;
use rustc_hash::FxBuildHasher;

use super::RowError;
use super::container::{Block, Core, HEADER, Header, JobOf, NODES_AT_ONCE, Owner, write_id};
use super::content::Hash;
use super::write_allocs;
use super::write_rows::{Names, Writer};
use crate::file::Loaded;
use crate::unload;
use encamp_model::{Allocation, Job};
use encamp_state::{Id, State};

/// With more threads, memory is the limit.
pub(super) const MOST_THREADS: usize = 8;

/// Writes the index of a snapshot.
///
/// # Errors
/// Writing fails, or the state is none that a file can hold.
pub(super) fn write(file: &File, loaded: &Loaded, path: &Path, owner: Owner, content: Hash) -> io::Result<()> {
    let out = Out { file, end: AtomicU64::new(HEADER as u64), names: Names::default() };
    let bytes = core(&out, loaded, path)?;
    let core = out.put(&bytes)?;
    file.write_all_at(&Header { owner, content, core }.bytes(), 0)
}

pub(super) fn encoded(e: RowError) -> io::Error {
    io::Error::other(e)
}

/// The file, as all threads write it.
pub(super) struct Out<'f> {
    file: &'f File,
    /// Where the next bytes are written.
    end: AtomicU64,
    pub(super) names: Names,
}

/// Where the jobs of allocations are.
#[derive(Debug)]
pub(super) struct JobPositions {
    /// The stored versions of jobs, by address.
    stored: HashMap<usize, JobOf, FxBuildHasher>,
    own: Mutex<OwnJobs>,
}

/// Jobs of allocations that are no stored versions, each once.
#[derive(Debug, Default)]
struct OwnJobs {
    jobs: Vec<Arc<Job>>,
    /// By address: it stays theirs, because the jobs are kept.
    positions: HashMap<usize, usize>,
}

impl JobPositions {
    pub(super) fn new(state: &State) -> JobPositions {
        let versions = state.jobs().enumerate().flat_map(|(position, entry)| {
            let at =
                move |(version, job): (&u64, &Arc<Job>)| (Arc::as_ptr(job).addr(), JobOf::Stored(position, *version));
            entry.versions.iter().map(at)
        });
        JobPositions { stored: versions.collect(), own: Mutex::default() }
    }

    pub(super) fn of(&self, alloc: &Allocation) -> JobOf {
        let Some(job) = &alloc.job else { return JobOf::None };
        let address = Arc::as_ptr(job).addr();
        if let Some(stored) = self.stored.get(&address) {
            return *stored;
        }
        let mut own = self.own.lock();
        let OwnJobs { jobs, positions } = &mut *own;
        JobOf::Own(*positions.entry(address).or_insert_with(|| {
            jobs.push(job.clone());
            jobs.len() - 1
        }))
    }
}

impl Out<'_> {
    fn offset(&self, length: usize) -> u64 {
        self.end.fetch_add(length as u64, Ordering::Relaxed)
    }

    fn put(&self, bytes: &[u8]) -> io::Result<Block> {
        let offset = self.offset(bytes.len());
        self.file.write_all_at(bytes, offset)?;
        Block::new(offset, bytes)
    }

    /// Writes what a writer holds in the blocks that end at the given places.
    pub(super) fn put_blocks(&self, bytes: &[u8], ends: &[usize]) -> io::Result<Vec<Block>> {
        let offset = self.offset(bytes.len());
        self.file.write_all_at(bytes, offset)?;
        let starts = std::iter::once(&0).chain(ends);
        let block = |(start, end): (&usize, &usize)| {
            Block::new(offset + *start as u64, bytes.get(*start..*end).unwrap_or_default())
        };
        starts.zip(ends).map(block).collect()
    }

    /// Writes a block per value.
    pub(super) fn put_each<T>(
        &self,
        values: impl IntoIterator<Item = T>,
        encode: impl Fn(&mut Writer<'_>, T) -> Result<(), RowError>,
    ) -> io::Result<Vec<Block>> {
        let (mut writer, mut ends) = (Writer::new(&self.names), Vec::new());
        for value in values {
            encode(&mut writer, value).map_err(encoded)?;
            ends.push(writer.out.len());
        }
        self.put_blocks(&writer.out, &ends)
    }
}

/// Writes all rows; the bytes of the core.
fn core(out: &Out<'_>, loaded: &Loaded, path: &Path) -> io::Result<Vec<u8>> {
    let snapshot = &loaded.snapshot;
    let state = &snapshot.state;
    let slots = u32::try_from(state.slot_count()).map_err(io::Error::other)?;
    let nodes: Vec<(Id, u32)> = state.node_slots().collect();
    if nodes.len() != slots as usize {
        return Err(io::Error::other("slots are free"));
    }
    let jobs = JobPositions::new(state);
    let NodeBlocks { fact_blocks, fact_ends, record_blocks } = nodes_of(out, state, slots)?;
    let allocs = write_allocs::write(out, state, loaded.rows.as_deref(), &jobs, slots)?;
    let alloc_blocks = out.put(&allocs.blocks.iter().flat_map(|block| block.bytes()).collect::<Vec<_>>())?;
    let job_blocks = out
        .put_each(state.jobs(), |writer, job| writer.write(&job.versions.values().map(|j| &**j).collect::<Vec<_>>()))?;
    let own_jobs = std::mem::take(&mut jobs.own.lock().jobs);
    let own_jobs = out.put_each(own_jobs, |writer, job| writer.write(&*job))?;
    let deployment_blocks = out.put_each(state.deployments(), |writer, d| writer.write(&**d))?;
    let keys = out.put_each([()], |writer, ()| {
        write_keys(writer, state);
        Ok(())
    })?;
    let source_is_path = snapshot.archived && snapshot.source == path.display().to_string();
    let small = serde_json::to_string(&unload::small_tables(snapshot))?;
    let node_ids: Vec<(String, u32)> = nodes.iter().map(|(id, slot)| (id.to_string(), *slot)).collect();
    let core = Core {
        small: &small,
        archived: snapshot.archived,
        source_is_path,
        notes: snapshot.notes.clone(),
        index: state.index,
        nodes: node_ids.iter().map(|(id, slot)| (id.as_str(), *slot)).collect(),
        summaries: (0..slots).filter_map(|slot| state.node_summary(slot)).collect(),
        node_index: state.node_index().clone(),
        fact_blocks,
        fact_ends,
        record_blocks,
        alloc_starts: allocs.starts,
        alloc_blocks,
        orphaned: state.orphaned().map(|(node, id)| (node.to_string(), id.to_string())).collect(),
        jobs: state.jobs().map(|j| (j.current.namespace.as_str(), j.current.id.as_str())).collect(),
        job_blocks,
        own_jobs,
        deployments: state.deployments().map(|d| (d.id.as_str(), d.job_id.as_str(), d.namespace.as_str())).collect(),
        deployment_blocks,
        keys: keys.first().copied().unwrap_or_default(),
    };
    let mut writer = Writer::new(&out.names);
    writer.write(&core).map_err(encoded)?;
    // Readers need the names before.
    let mut named = Writer::new(&out.names);
    named.write(&out.names.list()).map_err(encoded)?;
    named.out.append(&mut writer.out);
    Ok(named.out)
}

/// The blocks of nodes.
#[derive(Default)]
struct NodeBlocks {
    fact_blocks: Vec<Block>,
    fact_ends: Vec<u32>,
    record_blocks: Vec<Block>,
}

/// Writes nodes, without their allocations.
fn nodes_of(out: &Out<'_>, state: &State, slots: u32) -> io::Result<NodeBlocks> {
    let mut all = NodeBlocks::default();
    let mut facts = Writer::new(&out.names);
    for start in (0..slots).step_by(NODES_AT_ONCE as usize) {
        let range = start..start.saturating_add(NODES_AT_ONCE).min(slots);
        all.fact_ends.append(&mut write_facts(&mut facts, range.clone(), state).map_err(encoded)?);
        all.fact_blocks.push(out.put(&facts.out)?);
        facts.out.clear();
        let records = range.filter_map(|slot| state.node_at(slot));
        all.record_blocks.append(&mut out.put_each(records, |writer, entry| writer.write(&**entry.node))?);
    }
    Ok(all)
}

/// Encodes the facts of nodes; where those of each end.
fn write_facts(writer: &mut Writer<'_>, slots: Range<u32>, state: &State) -> Result<Vec<u32>, RowError> {
    let mut ends = Vec::new();
    for slot in slots {
        let entry = state.node_at(slot).ok_or(RowError::new("a slot is free"))?;
        writer.write(entry.node.id())?;
        writer.write(&*entry.info)?;
        writer.write(&entry.usage)?;
        writer.write(&entry.by_priority)?;
        writer.number(entry.allocs.len() as u64);
        entry.allocs.ids().for_each(|id| write_id(writer, id));
        ends.push(u32::try_from(writer.out.len()).map_err(|_| RowError::new("facts are too long"))?);
    }
    Ok(ends)
}

fn write_keys(writer: &mut Writer<'_>, state: &State) {
    let keys = state.alloc_keys();
    writer.number(keys.jobs().count() as u64);
    for ((job, namespace), rows) in keys.jobs() {
        write_id(writer, job);
        write_id(writer, namespace);
        writer.number(rows.len() as u64);
        for (id, slot) in rows {
            write_id(writer, id);
            writer.number(u64::from(*slot));
        }
    }
    keys.order().iter().for_each(|row| writer.out.extend_from_slice(&row.to_le_bytes()));
}
