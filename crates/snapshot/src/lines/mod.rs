//! Reads files as this program writes them, with one object per line, block by block in several threads: neither the
//! text nor its compressed form has to be in memory as a whole, and objects are parsed while more text is decompressed.
//!
//! [`blocks`]: where blocks of lines come from. [`part`]: what is parsed of a block.
//!
//! Any other file, and one in which something is wrong, is left to the parser of whole texts, which explains it. What
//! begins as an item of a list need not be one: a block tells where in the file it should begin and where it ends, and
//! each has to begin where the one before it ended.

mod blocks;
mod part;

use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use self::blocks::{Blocks, Frames, Next, Stream};
use self::part::Part;
use super::file::SnapshotFile;

/// With more threads, memory is the limit.
const MOST_THREADS: usize = 8;

/// Parses a text of at most so many bytes. `None` if it is not as this program writes it.
pub(super) fn parse(text: impl Read + Send, most: u64) -> Option<SnapshotFile> {
    parse_blocks(&Stream::new(text, most, blocks::LENGTH), threads())
}

/// Parses a file compressed with zstd that holds at most so many bytes; its frames are decompressed in several threads.
/// `None` if it is not as this program writes it.
pub(super) fn parse_zstd(file: &[u8], most: u64) -> Option<SnapshotFile> {
    match Frames::new(file, most) {
        Some(frames) => parse_blocks(&frames, threads()),
        None => parse(zstd::stream::read::Decoder::with_buffer(file).ok()?, most),
    }
}

fn threads() -> usize {
    thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS)
}

/// Parses all blocks in so many threads.
fn parse_blocks(blocks: &impl Blocks, threads: usize) -> Option<SnapshotFile> {
    let given_up = AtomicBool::new(false);
    let work = || {
        let parts = parse_some(blocks, &given_up);
        if parts.is_none() {
            given_up.store(true, Ordering::Relaxed);
            blocks.give_up();
        }
        parts
    };
    let parts: Option<Vec<Vec<Part>>> = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let own = work();
        std::iter::once(own).chain(others.into_iter().map(|other| other.join().ok().flatten())).collect()
    });
    let mut parts: Vec<Part> = parts?.into_iter().flatten().collect();
    parts.sort_unstable_by_key(|part| part.number);
    part::joined(parts)
}

/// Parses one block after the other, as many as the other threads leave. `None` if it or another thread gives up.
fn parse_some(blocks: &impl Blocks, given_up: &AtomicBool) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    let mut room = blocks.room();
    loop {
        if given_up.load(Ordering::Relaxed) {
            return None;
        }
        match blocks.next(&mut room)? {
            Next::Block { number, place, text } => parts.push(Part::parse(number, place, text)?),
            Next::End => return Some(parts),
        }
    }
}

#[cfg(test)]
mod tests;
