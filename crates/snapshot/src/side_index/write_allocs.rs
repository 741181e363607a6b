//! Writes the allocations of an index, each as a block of its own.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use parking_lot::Mutex;

use super::RowError;
use super::container::{Block, NODES_AT_ONCE};
use super::write::{JobPositions, MOST_THREADS, Out, encoded};
use super::write_rows::Writer;
use crate::deferred::FileRows;
use encamp_model::Allocation;
use encamp_state::State;

/// Where allocations are.
pub(super) struct Written {
    /// Where those of each slot begin, and at the end those whose nodes are not stored.
    pub(super) starts: Vec<u32>,
    /// Their blocks, by slot and ID.
    pub(super) blocks: Vec<Block>,
}

/// Writes the allocations of a state of so many slots. If they were not decoded, `rows` has them.
pub(super) fn write(
    out: &Out<'_>,
    state: &State,
    rows: Option<&FileRows>,
    jobs: &JobPositions,
    slots: u32,
) -> io::Result<Written> {
    let too_many = || io::Error::other("there are too many allocations");
    let (mut starts, mut count) = (Vec::with_capacity(slots as usize + 1), 0_u32);
    for slot in (0..slots).map(Some).chain([None]) {
        starts.push(count);
        let length = state.allocs_in_slot(slot).map_or(0, |allocs| allocs.len());
        count = u32::try_from(length).ok().and_then(|length| count.checked_add(length)).ok_or_else(too_many)?;
    }
    let blocks = match rows {
        Some(rows) => from_file(out, rows, jobs, count)?,
        None => from_state(out, state, jobs, slots)?,
    };
    if blocks.len() == count as usize { Ok(Written { starts, blocks }) } else { Err(too_many()) }
}

fn encode(writer: &mut Writer<'_>, alloc: &Allocation, jobs: &JobPositions) -> Result<(), RowError> {
    jobs.of(alloc).write(writer);
    writer.write_without(alloc, "Job")
}

/// Reads through the snapshot file again: a block of its lines is in memory for each thread, not the allocations.
fn from_file(out: &Out<'_>, rows: &FileRows, jobs: &JobPositions, count: u32) -> io::Result<Vec<Block>> {
    let blocks = Mutex::new(vec![Block::default(); count as usize]);
    let failure = Mutex::new(None);
    let read = rows.for_each(|allocs| {
        let (mut writer, mut ends) = (Writer::new(&out.names), Vec::with_capacity(allocs.len()));
        let written = allocs.iter().try_for_each(|(_, alloc)| {
            encode(&mut writer, alloc, jobs).map_err(encoded)?;
            ends.push(writer.out.len());
            io::Result::Ok(())
        });
        match written.and_then(|()| out.put_blocks(&writer.out, &ends)) {
            Ok(written) => {
                let mut blocks = blocks.lock();
                for ((place, _), block) in allocs.iter().zip(written) {
                    *blocks.get_mut(*place)? = block;
                }
                Some(())
            }
            Err(e) => {
                *failure.lock() = Some(e);
                None
            }
        }
    });
    match (read, failure.into_inner()) {
        (Some(()), None) => Ok(blocks.into_inner()),
        (_, failure) => Err(failure.unwrap_or_else(|| io::Error::other("an allocation cannot be read"))),
    }
}

/// Some slots that one thread wrote: the first one, and the blocks of their allocations.
type OfSlots = (u32, Vec<Block>);

fn from_state(out: &Out<'_>, state: &State, jobs: &JobPositions, slots: u32) -> io::Result<Vec<Block>> {
    let next = AtomicU32::new(0);
    let some = || -> io::Result<Vec<OfSlots>> {
        let mut written = Vec::new();
        loop {
            let start = next.fetch_add(NODES_AT_ONCE, Ordering::Relaxed);
            if start >= slots {
                return Ok(written);
            }
            let range = start..start.saturating_add(NODES_AT_ONCE).min(slots);
            written.push((start, of_slots(out, state, jobs, range.map(Some))?));
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    let mut written = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(some)).collect();
        let mut written = some()?;
        for other in others {
            written.extend(other.join().map_err(|_| io::Error::other("a thread ended early"))??);
        }
        io::Result::Ok(written)
    })?;
    written.sort_unstable_by_key(|(start, _)| *start);
    let mut blocks: Vec<Block> = written.into_iter().flat_map(|(_, blocks)| blocks).collect();
    blocks.extend(of_slots(out, state, jobs, [None])?);
    Ok(blocks)
}

fn of_slots(
    out: &Out<'_>,
    state: &State,
    jobs: &JobPositions,
    slots: impl IntoIterator<Item = Option<u32>>,
) -> io::Result<Vec<Block>> {
    let entries = slots.into_iter().filter_map(|slot| state.allocs_in_slot(slot)).flatten();
    out.put_each(entries, |writer, entry| encode(writer, &entry.alloc, jobs))
}
