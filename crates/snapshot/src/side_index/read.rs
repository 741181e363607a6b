//! Opens an index, and decodes its rows when they are asked for.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use super::container::{Block, Core, Header, JobOf, NODES_AT_ONCE, position, read_id};
use super::read_rows::Reader;
use super::write::JobPositions;
use super::{Content, RowError};
use crate::file::{self, ClusterSnapshot};
use encamp_model::{Allocation, Deployment, Job, Node};
use encamp_state::lazy::{AllocKeys, AllocRows, LazyTables, Rows, StoredNode};
use encamp_state::{AllocEntry, Id, JobEntry, State};

/// The snapshot of an index; `None` if the index is damaged. `content` is the snapshot file.
pub(super) fn open(index: File, index_path: PathBuf, header: &Header, content: Content) -> Option<ClusterSnapshot> {
    let bytes = header.core.read(&index).ok()?;
    let names: Vec<String> = Reader::new(&bytes, &[]).read().ok()?;
    let mut reader = Reader::new(&bytes, &names);
    reader.read::<serde::de::IgnoredAny>().ok()?;
    let core: Core<'_> = reader.read().ok()?;
    let mut snapshot = file::into_state(file::parse(core.small.as_bytes()).ok()?).ok()?;
    snapshot.archived = core.archived;
    snapshot.notes = core.notes;
    if core.source_is_path {
        snapshot.source = content.path.display().to_string();
    }
    let counts = [
        (core.fact_blocks.len(), core.summaries.len().div_ceil(NODES_AT_ONCE as usize)),
        (core.fact_ends.len(), core.summaries.len()),
        (core.record_blocks.len(), core.summaries.len()),
        (core.alloc_starts.len(), core.summaries.len() + 1),
        (core.job_blocks.len(), core.jobs.len()),
        (core.deployment_blocks.len(), core.deployments.len()),
    ];
    if counts.iter().any(|(blocks, rows)| blocks != rows) {
        return None;
    }
    let rows = IndexRows {
        file: index,
        path: index_path,
        content,
        whole: OnceLock::new(),
        facts: core.fact_blocks.into_iter().map(Cell::new).collect(),
        fact_ends: core.fact_ends,
        records: core.record_blocks,
        alloc_starts: core.alloc_starts,
        alloc_blocks: Cell::new(core.alloc_blocks),
        jobs: core.job_blocks.into_iter().map(Cell::new).collect(),
        own_jobs: core.own_jobs.into_iter().map(Cell::new).collect(),
        deployments: core.deployment_blocks,
        keys: core.keys,
        names: names.clone(),
    };
    let tables = LazyTables {
        rows: Arc::new(rows),
        nodes: core.nodes.iter().map(|(id, slot)| (Id::new(id), *slot)).collect(),
        summaries: core.summaries,
        node_index: core.node_index,
        jobs: core.jobs.iter().map(|(namespace, id)| (Id::new(namespace), Id::new(id))).collect(),
        deployments: core.deployments.iter().map(|(id, job, ns)| (Id::new(id), Id::new(job), Id::new(ns))).collect(),
        orphaned: core.orphaned.iter().map(|(node, id)| (Id::new(node), Id::new(id))).collect(),
        index: core.index,
    };
    snapshot.state = snapshot.state.with_lazy(tables)?;
    Some(snapshot)
}

/// A row that several others refer to.
#[derive(Debug)]
struct Cell<T> {
    block: Block,
    decoded: OnceLock<Arc<T>>,
}

impl<T> Cell<T> {
    fn new(block: Block) -> Cell<T> {
        Cell { block, decoded: OnceLock::new() }
    }
}

/// The rows of an index.
#[derive(Debug)]
struct IndexRows {
    file: File,
    path: PathBuf,
    content: Content,
    /// The state of the snapshot file and its jobs, once something in the index was damaged.
    whole: OnceLock<(State, JobPositions)>,
    names: Vec<String>,
    /// The bytes of the blocks of facts.
    facts: Vec<Cell<Vec<u8>>>,
    fact_ends: Vec<u32>,
    records: Vec<Block>,
    alloc_starts: Vec<u32>,
    /// The bytes of the blocks of allocations.
    alloc_blocks: Cell<Vec<u8>>,
    jobs: Vec<Cell<JobEntry>>,
    own_jobs: Vec<Cell<Job>>,
    deployments: Vec<Block>,
    keys: Block,
}

impl IndexRows {
    /// A row; if it is damaged, that of the snapshot file.
    fn sound<T>(&self, row: Result<T, RowError>, other: impl FnOnce(&State, &JobPositions) -> Option<T>) -> T {
        row.unwrap_or_else(|problem| {
            let (state, jobs) = self.whole.get_or_init(|| {
                // The next command does without the index.
                let _ = std::fs::remove_file(&self.path);
                let state = self.content.load().unwrap_or_else(|| (self.content.lost)(&self.path, &problem));
                let jobs = JobPositions::new(&state);
                (state, jobs)
            });
            other(state, jobs).unwrap_or_else(|| (self.content.lost)(&self.path, &problem))
        })
    }

    /// An allocation of the snapshot file. It shares its job with those of the index, as far as that is sound.
    fn alloc_of_file(
        &self,
        state: &State,
        jobs: &JobPositions,
        slot: Option<u32>,
        position: usize,
    ) -> Option<Arc<AllocEntry>> {
        let entry = state.allocs_in_slot(slot)?.iter().nth(position)?;
        let JobOf::Stored(i, version) = jobs.of(&entry.alloc) else { return Some(entry.clone()) };
        let job = self.job_at(i).ok().and_then(|job| job.versions.get(&version));
        let Some(job) = job.cloned() else { return Some(entry.clone()) };
        let alloc = Allocation { job: Some(job), ..(*entry.alloc).clone() };
        Some(Arc::new(AllocEntry { alloc: Arc::new(alloc), ..(**entry).clone() }))
    }

    /// What a block holds.
    fn decode<T>(
        &self,
        block: Option<&Block>,
        read: impl FnOnce(&mut Reader<'_>) -> Result<T, RowError>,
    ) -> Result<T, RowError> {
        let bytes = block.ok_or(RowError::new("a row is missing"))?.read(&self.file)?;
        let mut reader = Reader::new(&bytes, &self.names);
        let value = read(&mut reader)?;
        if reader.is_at_end() { Ok(value) } else { Err(RowError::new("a row is too long")) }
    }

    /// The bytes of a block that are kept.
    fn bytes<'a>(&self, cell: &'a Cell<Vec<u8>>) -> Result<&'a [u8], RowError> {
        if let Some(bytes) = cell.decoded.get() {
            return Ok(bytes);
        }
        let bytes = Arc::new(cell.block.read(&self.file)?);
        Ok(cell.decoded.get_or_init(|| bytes))
    }

    fn facts(&self, slot: u32) -> Result<StoredNode, RowError> {
        let missing = || RowError::new("a row is missing");
        let cell = self.facts.get((slot / NODES_AT_ONCE) as usize).ok_or_else(missing)?;
        let bytes = self.bytes(cell)?;
        let end = |slot: u32| self.fact_ends.get(slot as usize).map(|end| *end as usize);
        let start = if slot.is_multiple_of(NODES_AT_ONCE) { Some(0) } else { end(slot - 1) };
        let range = start.zip(end(slot)).and_then(|(start, end)| bytes.get(start..end));
        let reader = &mut Reader::new(range.ok_or_else(missing)?, &self.names);
        let id = reader.read()?;
        let (info, usage, by_priority) = (reader.read()?, reader.read()?, reader.read()?);
        let count = position(reader)?;
        let allocs = (0..count).map(|_| read_id(reader)).collect::<Result<_, _>>()?;
        if reader.is_at_end() {
            Ok(StoredNode { id, info, usage, by_priority, allocs })
        } else {
            Err(RowError::new("a row is too long"))
        }
    }

    fn stored_alloc(&self, slot: Option<u32>, position: usize) -> Result<Arc<AllocEntry>, RowError> {
        let missing = || RowError::new("a row is missing");
        let first = slot.map_or(self.alloc_starts.len().saturating_sub(1), |slot| slot as usize);
        let place = self.alloc_starts.get(first).map(|start| *start as usize + position).ok_or_else(missing)?;
        let block = self.bytes(&self.alloc_blocks)?.as_chunks().0.get(place).ok_or_else(missing)?;
        self.decode(Some(&Block::of_bytes(*block)), |reader| self.read_alloc(reader))
    }

    fn read_alloc(&self, reader: &mut Reader<'_>) -> Result<Arc<AllocEntry>, RowError> {
        let job = match JobOf::read(reader)? {
            JobOf::None => None,
            JobOf::Own(i) => Some(self.own_job(i)?),
            JobOf::Stored(i, version) => {
                let entry = self.job_at(i)?;
                Some(entry.versions.get(&version).ok_or(RowError::new("a version of a job is missing"))?.clone())
            }
        };
        let alloc: Allocation = reader.read()?;
        let alloc = Allocation { job, ..alloc };
        Ok(Arc::new(AllocEntry::new(Arc::new(alloc))))
    }

    fn own_job(&self, position: usize) -> Result<Arc<Job>, RowError> {
        let cell = self.own_jobs.get(position).ok_or(RowError::new("a job is missing"))?;
        if let Some(known) = cell.decoded.get() {
            return Ok(known.clone());
        }
        let job = self.decode(Some(&cell.block), |reader| reader.read())?;
        Ok(cell.decoded.get_or_init(|| Arc::new(job)).clone())
    }

    fn job_at(&self, position: usize) -> Result<&Arc<JobEntry>, RowError> {
        let cell = self.jobs.get(position).ok_or(RowError::new("a job is missing"))?;
        if let Some(known) = cell.decoded.get() {
            return Ok(known);
        }
        let versions: Vec<Job> = self.decode(Some(&cell.block), |reader| reader.read())?;
        let versions: BTreeMap<u64, Arc<Job>> = versions.into_iter().map(|j| (j.version, Arc::new(j))).collect();
        let current = versions.values().next_back().ok_or(RowError::new("a job has no version"))?.clone();
        Ok(cell.decoded.get_or_init(|| Arc::new(JobEntry { current, versions })))
    }
}

impl AllocRows for IndexRows {
    fn alloc(&self, slot: Option<u32>, position: usize) -> Arc<AllocEntry> {
        self.sound(self.stored_alloc(slot, position), |state, jobs| self.alloc_of_file(state, jobs, slot, position))
    }
}

impl Rows for IndexRows {
    fn node(&self, slot: u32) -> StoredNode {
        self.sound(self.facts(slot), |state, _| state.node_at(slot).map(|entry| StoredNode::of(entry)))
    }

    fn record(&self, slot: u32) -> Arc<Node> {
        let record = self.decode(self.records.get(slot as usize), |reader| Ok(Arc::new(reader.read()?)));
        self.sound(record, |state, _| state.node_at(slot).map(|entry| Arc::clone(&entry.node)))
    }

    fn job(&self, position: usize) -> Arc<JobEntry> {
        self.sound(self.job_at(position).cloned(), |state, _| state.jobs().nth(position).cloned())
    }

    fn deployment(&self, position: usize) -> Arc<Deployment> {
        let deployment = self.decode(self.deployments.get(position), |reader| Ok(Arc::new(reader.read()?)));
        self.sound(deployment, |state, _| state.deployments().nth(position).cloned())
    }

    fn alloc_keys(&self) -> AllocKeys {
        self.sound(self.decode(Some(&self.keys), read_keys), |state, _| Some(state.alloc_keys()))
    }
}

fn read_keys(reader: &mut Reader<'_>) -> Result<AllocKeys, RowError> {
    let mut keys = AllocKeys::default();
    for _ in 0..position(reader)? {
        let job = (read_id(reader)?, read_id(reader)?);
        let count = position(reader)?;
        let row = |reader: &mut Reader<'_>| {
            let id = read_id(reader)?;
            let slot = u32::try_from(reader.number()?).map_err(|_| RowError::new("a slot is too large"))?;
            Ok((id, slot))
        };
        let rows = (0..count).map(|_| row(reader)).collect::<Result<Vec<_>, RowError>>()?;
        keys.add_job(job, rows);
    }
    let order = reader.rest().as_chunks().0.iter().map(|row| u32::from_le_bytes(*row)).collect();
    if keys.set_order(order) { Ok(keys) } else { Err(RowError::new("the order of allocations is wrong")) }
}
