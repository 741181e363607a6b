//! Reads files as this program writes them, with one object per line, block by block in several threads: neither the
//! text nor its compressed form has to be in memory as a whole, and objects are parsed while more text is decompressed.
//!
//! [`blocks`]: where blocks of lines come from. [`compressed`]: those of compressed files. [`part`]: what is parsed of a
//! block.
//!
//! Any other file, and one in which something is wrong, is left to the parser of whole texts, which explains it. What
//! begins as an item of a list need not be one: a block tells where in the file it should begin and where it ends, and
//! each has to begin where the one before it ended.

mod blocks;
mod compressed;
mod part;

use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use self::blocks::{Blocks, Next, Stream};
use self::compressed::Compressed;
use self::part::{Part, Place};
use super::file::SnapshotFile;

pub(super) use self::part::{Kept, Lines};

/// With more threads, memory is the limit.
const MOST_THREADS: usize = 8;

/// Parses a text of at most so many bytes. `None` if it is not as this program writes it.
pub(super) fn parse(text: impl Read + Send, most: u64) -> Option<SnapshotFile> {
    parse_blocks(&Stream::new(text, most, blocks::LENGTH), threads()).map(Lines::into_file)
}

/// Parses a file compressed with zstd or gzip that holds at most so many bytes; what is kept of allocations is up to the
/// caller. `None` if it is not as this program writes it.
pub(super) fn parse_compressed<A: Kept>(file: &[u8], most: u64) -> Option<Lines<A>> {
    parse_blocks(&Compressed::new(file, most)?, threads())
}

/// Applies a function to the number and the lines of each block of such a file, in several threads: blocks are the same
/// as before. `None` if the function gives it for a block, or if the file is damaged.
pub(super) fn each_block(file: &[u8], most: u64, apply: impl Fn(usize, &[u8]) -> Option<()> + Sync) -> Option<()> {
    let taken = take_blocks(&Compressed::new(file, most)?, threads(), |number, _, text| apply(number, text));
    taken.map(|_| ())
}

fn threads() -> usize {
    thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS)
}

/// Parses all blocks in so many threads.
fn parse_blocks<A: Kept>(blocks: &impl Blocks, threads: usize) -> Option<Lines<A>> {
    let mut parts: Vec<Part<A>> = take_blocks(blocks, threads, Part::parse)?;
    parts.sort_unstable_by_key(|part| part.number);
    part::joined(parts)
}

/// Applies a function to the number, the place and the lines of each block, in so many threads; the results in no order.
/// `None` if the function gives it for a block.
fn take_blocks<T: Send>(
    blocks: &impl Blocks,
    threads: usize,
    take: impl Fn(usize, Place, &[u8]) -> Option<T> + Sync,
) -> Option<Vec<T>> {
    let given_up = AtomicBool::new(false);
    let work = || {
        let taken = take_some(blocks, &take, &given_up);
        if taken.is_none() {
            given_up.store(true, Ordering::Relaxed);
            blocks.give_up();
        }
        taken
    };
    let taken: Option<Vec<Vec<T>>> = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let own = work();
        std::iter::once(own).chain(others.into_iter().map(|other| other.join().ok().flatten())).collect()
    });
    Some(taken?.into_iter().flatten().collect())
}

/// Takes one block after the other, as many as the other threads leave. `None` if it or another thread gives up.
fn take_some<T>(
    blocks: &impl Blocks,
    take: &impl Fn(usize, Place, &[u8]) -> Option<T>,
    given_up: &AtomicBool,
) -> Option<Vec<T>> {
    let mut taken = Vec::new();
    let mut room = blocks.room();
    loop {
        if given_up.load(Ordering::Relaxed) {
            return None;
        }
        match blocks.next(&mut room)? {
            Next::Block { number, place, text } => taken.push(take(number, place, text)?),
            Next::End => return Some(taken),
        }
    }
}

#[cfg(test)]
mod tests;
