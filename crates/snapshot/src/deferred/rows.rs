//! Decodes allocations of a compressed file when they are asked for.

use std::sync::{Arc, OnceLock};

use super::brief::LinePlace;
use super::{Jobs, Unreadable};
use crate::build_state;
use crate::file::{self, ContentError, SnapshotError};
use crate::lines;
use encamp_model::Allocation;
use encamp_state::AllocEntry;
use encamp_state::lazy::{AllocOrder, AllocRows};
use parking_lot::Mutex;

/// A compressed file in memory.
pub(super) struct Source {
    pub(super) bytes: Vec<u8>,
    /// For messages.
    pub(super) name: String,
    pub(super) unreadable: Unreadable,
}

/// The allocations of a file.
pub(crate) struct FileRows {
    source: Source,
    jobs: Jobs,
    order: Arc<AllocOrder>,
    /// Where the lines are, in the order of slots and IDs.
    places: Vec<LinePlace>,
    decoded: Box<[OnceLock<Arc<AllocEntry>>]>,
    /// Who reads the file does so for all that wait.
    reading: Mutex<()>,
}

impl std::fmt::Debug for FileRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileRows").field("name", &self.source.name).finish_non_exhaustive()
    }
}

/// A line that is asked for: where it is in its block, and the place of its allocation.
type Wanted = (u32, u32, usize);

impl FileRows {
    /// The rows of a file; `places` has the lines by the number of the row.
    pub(super) fn new(source: Source, jobs: Jobs, places: Vec<LinePlace>, order: Arc<AllocOrder>) -> FileRows {
        let places: Vec<LinePlace> = order.rows.iter().filter_map(|row| places.get(*row as usize).copied()).collect();
        let decoded = places.iter().map(|_| OnceLock::new()).collect();
        FileRows { source, jobs, order, places, decoded, reading: Mutex::new(()) }
    }

    fn is_missing(&self, place: usize) -> bool {
        self.decoded.get(place).is_some_and(|row| row.get().is_none())
    }

    /// The lines at some places, by block.
    fn wanted(&self, places: impl Iterator<Item = usize>) -> Vec<Vec<Wanted>> {
        let mut wanted: Vec<Vec<Wanted>> = Vec::new();
        for place in places {
            let Some(LinePlace { block, start, end }) = self.places.get(place).copied() else { continue };
            if wanted.len() <= block as usize {
                wanted.resize_with(block as usize + 1, Vec::new);
            }
            if let Some(of_block) = wanted.get_mut(block as usize) {
                of_block.push((start, end, place));
            }
        }
        wanted
    }

    /// Decodes the allocations at some places, reading through the file once.
    fn decode(&self, places: impl Iterator<Item = usize>) {
        let _reading = self.reading.lock();
        let wanted = self.wanted(places.filter(|place| self.is_missing(*place)));
        let keep = |allocs: Vec<(usize, Allocation)>| {
            for (place, alloc) in allocs {
                // Nobody else has read it since.
                let _ = self.decoded.get(place)?.set(Arc::new(AllocEntry::new(Arc::new(alloc))));
            }
            Some(())
        };
        if !wanted.is_empty() && self.read(&wanted, keep).is_none() {
            self.give_up();
        }
    }

    /// Applies a function to the allocations of each block of lines, with their places in the order of slots and IDs, in
    /// several threads. They are not kept. `None` if the function gives it, or if something is wrong with the file.
    pub(crate) fn for_each(&self, apply: impl Fn(Vec<(usize, Allocation)>) -> Option<()> + Sync) -> Option<()> {
        self.read(&self.wanted(0..self.places.len()), apply)
    }

    fn read(
        &self,
        wanted: &[Vec<Wanted>],
        apply: impl Fn(Vec<(usize, Allocation)>) -> Option<()> + Sync,
    ) -> Option<()> {
        let versions = build_state::versions(&self.jobs.stored);
        let bytes = &self.source.bytes;
        lines::each_block(bytes, file::most_held(bytes.len() as u64), |block, text| {
            let alloc = |(start, end, place): &Wanted| {
                let line = text.get(*start as usize..*end as usize)?;
                let mut alloc: Allocation = serde_json::from_slice(line).ok()?;
                build_state::join_job(&versions, &self.jobs.own, &mut alloc).ok()?;
                Some((*place, alloc))
            };
            apply(wanted.get(block).into_iter().flatten().map(alloc).collect::<Option<_>>()?)
        })
    }

    /// Ends the process: who reads all of the file says what is wrong.
    fn give_up(&self) -> ! {
        let Source { bytes, name, unreadable } = &self.source;
        let other = || SnapshotError::Content { path: name.clone(), problem: ContentError::NotAnObject };
        unreadable(&file::decode(bytes, name).err().unwrap_or_else(other))
    }
}

impl AllocRows for FileRows {
    fn alloc(&self, slot: Option<u32>, position: usize) -> Arc<AllocEntry> {
        let place = self.order.range(slot).start + position;
        if self.is_missing(place) {
            // One by one, it would take longer than all together.
            self.expect_all();
        }
        match self.decoded.get(place).and_then(OnceLock::get) {
            Some(entry) => entry.clone(),
            None => self.give_up(),
        }
    }

    fn expect(&self, slots: &[Option<u32>]) {
        self.decode(slots.iter().flat_map(|slot| self.order.range(*slot)));
    }

    fn expect_all(&self) {
        self.decode(0..self.places.len());
    }
}
