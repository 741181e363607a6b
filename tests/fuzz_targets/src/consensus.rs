//! Files of the Raft log and its snapshots. Half of the inputs get the right checksums, so that what lies behind them is
//! reached: a disk changes bytes and not their checksums, but a faulty writer makes both.

use std::path::Path;

use encamp_raft::StoredLog;
use encamp_server::storage::{offline, persist};

use crate::scratch::Scratch;

/// Length of the head of a segment, with its checksum.
const SEGMENT: usize = 24;
/// Length of the head of a frame, with its checksum.
const FRAME: usize = 64;
/// Length of the head and of the tail of a snapshot.
const SNAPSHOT: (usize, usize) = (20, 20);

fn number(bytes: &[u8], at: usize) -> usize {
    let found = bytes.get(at..).and_then(|b| b.first_chunk());
    usize::try_from(found.map_or(0, |b| u32::from_le_bytes(*b))).unwrap_or(usize::MAX)
}

/// Writes the checksum of a range at a place, as far as both are there.
fn sum(bytes: &mut [u8], range: std::ops::Range<usize>, at: usize) {
    let Some(hash) = bytes.get(range).map(crc32fast::hash) else { return };
    if let Some(place) = bytes.get_mut(at..at + 4) {
        place.copy_from_slice(&hash.to_le_bytes());
    }
}

/// A segment with the checksums that it should have.
fn segment_with_sums(mut bytes: Vec<u8>) -> Vec<u8> {
    sum(&mut bytes, 0..SEGMENT - 4, SEGMENT - 4);
    let mut at = SEGMENT;
    while at + FRAME <= bytes.len() {
        let end = at.saturating_add(FRAME).saturating_add(number(&bytes, at + 8)).min(bytes.len());
        sum(&mut bytes, at + FRAME..end, at + FRAME - 8);
        sum(&mut bytes, at..at + FRAME - 4, at + FRAME - 4);
        at = end;
    }
    bytes
}

/// A snapshot with the checksums that it should have.
fn snapshot_with_sums(mut bytes: Vec<u8>) -> Vec<u8> {
    let (head, tail) = SNAPSHOT;
    let Some(state_end) = bytes.len().checked_sub(tail) else { return bytes };
    let description = number(&bytes, 12);
    let state = head.saturating_add(description).min(state_end);
    sum(&mut bytes, head..state, head - 4);
    sum(&mut bytes, state..state_end, state_end + 8);
    if let Some(length) = bytes.get_mut(state_end..state_end + 8) {
        length.copy_from_slice(&((state_end - state) as u64).to_le_bytes());
    }
    bytes
}

fn first_index(segment: &[u8]) -> u64 {
    segment.get(12..20).and_then(|b| b.first_chunk()).map_or(0, |b| u64::from_le_bytes(*b))
}

fn put(dir: &Path, name: &str, content: &[u8]) {
    std::fs::create_dir_all(dir).expect("a directory");
    std::fs::write(dir.join(name), content).expect("a file");
}

/// One segment of a log: all its entries are read.
pub(crate) fn log(data: &[u8]) -> bool {
    let Some((first, rest)) = data.split_first() else { return false };
    let segment = if first % 2 == 0 { segment_with_sums(rest.to_vec()) } else { rest.to_vec() };
    let scratch = Scratch::new("log").expect("a directory");
    put(scratch.path(), &format!("log-{:020}.seg", first_index(&segment)), &segment);
    let Ok(log) = StoredLog::open(scratch.path()) else { return false };
    let (mut count, mut last) = (0, None);
    let visited = log.visit(|entry| {
        assert!(last.is_none_or(|last| entry.index == last + 1), "the indexes have a gap");
        last = Some(entry.index);
        count += 1;
        drop(format!("{:?}", entry.content));
        true
    });
    assert!(visited.is_err() || count == log.len(), "{count} entries of {}", log.len());
    visited.is_ok() && count > 0
}

/// A snapshot file behind a byte below 128; else the state in a snapshot.
pub(crate) fn snapshot(data: &[u8]) -> bool {
    let Some((first, rest)) = data.split_first() else { return false };
    if *first >= 128 {
        return state(rest);
    }
    let snapshot = if first % 2 == 0 { snapshot_with_sums(rest.to_vec()) } else { rest.to_vec() };
    let scratch = Scratch::new("snapshot").expect("a directory");
    let mut empty = b"ENCAMPLG".to_vec();
    empty.extend(2u32.to_le_bytes());
    empty.extend([0; 12]);
    put(scratch.path(), "log-00000000000000000000.seg", &segment_with_sums(empty));
    put(&scratch.path().join("snapshots"), "00000000000000000009-00000000000000000001.snap", &snapshot);
    let Ok(log) = StoredLog::open(scratch.path()) else { return false };
    offline::replay(&log, u64::MAX).is_ok_and(|state| state.latest_index() > 0)
}

/// The state: shown as it is stored, and read into a store, which can be written and read again.
fn state(bytes: &[u8]) -> bool {
    let mut tables = persist::Tables::new();
    let _ = persist::visit(&mut &*bytes, |found| found.add_to(&mut tables).map_err(std::io::Error::other));
    drop(tables);
    let Ok(store) = persist::read(&mut &*bytes) else { return false };
    let mut written = Vec::new();
    persist::write(&store, &mut written).expect("a state that was read can be written");
    persist::read(&mut written.as_slice()).expect("and read again");
    true
}
