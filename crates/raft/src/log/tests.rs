//! Tests of the log on disk.

use std::fs;
use std::path::PathBuf;

use openraft::{CommittedLeaderId, EntryPayload, LogId};
use proptest::prelude::*;

use super::frame::HEADER;
use super::writer::Flushed;
use super::*;
use crate::tests::support::TempDir;
use crate::types::Batch;
use encamp_ops::Operation;

/// Small, so that a few entries fill several.
const SMALL: u64 = 200;

fn id(term: u64, index: u64) -> EntryId {
    LogId::new(CommittedLeaderId::new(term, 7.into()), index)
}

fn entry(term: u64, index: u64, ops: usize) -> Entry<Types> {
    let payload = match ops {
        0 => EntryPayload::Blank,
        n => EntryPayload::Normal(barriers(n, CapabilityLevel::FIRST)),
    };
    Entry { log_id: id(term, index), payload }
}

fn barriers(n: usize, level: CapabilityLevel) -> Batch {
    Batch::new((0..n).map(|_| Arc::new(Operation::Barrier)).collect(), level).expect("encoded")
}

/// An entry of a cluster of the level of this build.
fn raised(term: u64, index: u64) -> Entry<Types> {
    Entry { log_id: id(term, index), payload: EntryPayload::Normal(barriers(1, CapabilityLevel::BUILD)) }
}

#[tokio::test]
async fn a_log_with_an_entry_of_a_higher_level_is_refused_by_a_lower_one() {
    let dir = TempDir::new();
    let open = |level| Log::open(dir.path(), level);
    let log = open(CapabilityLevel::BUILD).expect("opens");
    append(&log, (0..3).map(|i| entry(1, i, 1)).collect()).await.expect("appended");
    append(&log, vec![raised(1, 3)]).await.expect("appended");
    log.close().await.expect("closed");
    assert_eq!(segments(dir.path()).len(), 2, "the higher level begins a segment");
    let error = open(CapabilityLevel::FIRST).expect_err("refused");
    assert!(matches!(error, StoreError::Newer { level: CapabilityLevel::BUILD, .. }), "{error}");
    assert!(error.to_string().contains("Start a build of level 2 on this data directory"), "{error}");

    // The entry was never agreed upon: without it, the lower level reads the log again.
    let log = open(CapabilityLevel::BUILD).expect("opens");
    log.cut(3).await.expect("truncated");
    append(&log, vec![entry(2, 3, 1)]).await.expect("appended");
    log.close().await.expect("closed");
    let log = open(CapabilityLevel::FIRST).expect("opens");
    assert_eq!(all(&log).await.len(), 4);

    // Entries of a lower level that follow one of a higher level do not make the log one of the lower level.
    append(&log, vec![raised(2, 4), entry(2, 5, 1)]).await.expect("appended");
    log.close().await.expect("closed");
    assert!(open(CapabilityLevel::FIRST).is_err());
    assert_eq!(all(&open(CapabilityLevel::BUILD).expect("opens")).await.len(), 6);
}

/// The mark that tells entries apart.
fn mark(entry: &Entry<Types>) -> (EntryId, u32) {
    (entry.log_id, crate::types::width(&entry.payload))
}

async fn append(log: &Log, entries: Vec<Entry<Types>>) -> Result<(), StoreError> {
    log.append_now(entries).await
}

async fn all(log: &Log) -> Vec<(EntryId, u32)> {
    log.read(0, u64::MAX, usize::MAX).await.expect("readable").iter().map(mark).collect()
}

fn segments(dir: &Path) -> Vec<PathBuf> {
    let names = files::names(dir).expect("names");
    names.iter().filter(|n| n.ends_with(".seg")).map(|n| dir.join(n)).collect()
}

/// A log with entries 0 to 9 in small segments, closed.
async fn ten(dir: &Path, segment_bytes: u64) -> Vec<(EntryId, u32)> {
    let log = Log::open_with(dir, segment_bytes, CapabilityLevel::BUILD).expect("opens");
    for i in 0..10 {
        append(&log, vec![entry(1, i, i as usize % 3)]).await.expect("appended");
    }
    let found = all(&log).await;
    log.close().await.expect("closed");
    found
}

/// Has a log look as after a crash: nobody wrote down where it ended.
fn crashed(dir: &Path) {
    files::remove(&dir.join(HELD)).expect("removed");
}

async fn reopened(dir: &Path) -> Vec<(EntryId, u32)> {
    let log = Log::open_with(dir, SMALL, CapabilityLevel::BUILD).expect("opens");
    let found = all(&log).await;
    log.close().await.expect("closed");
    found
}

#[tokio::test]
async fn entries_survive_reopening() {
    let dir = TempDir::new();
    let before = ten(dir.path(), SMALL).await;
    assert_eq!(before.len(), 10);
    assert!(segments(dir.path()).len() > 2);
    assert_eq!(reopened(dir.path()).await, before);
    let log = Log::open_with(dir.path(), SMALL, CapabilityLevel::BUILD).expect("opens");
    append(&log, vec![entry(2, 10, 1), entry(2, 11, 0)]).await.expect("appended");
    let (part, limited) = (log.read(4, 7, usize::MAX).await, log.read(4, 9, 1).await);
    assert_eq!(part.expect("readable").iter().map(mark).collect::<Vec<_>>(), before[4..7]);
    assert_eq!(limited.expect("readable").len(), 1);
    assert_eq!(log.last(), Some(id(2, 11)));
    assert_eq!(log.width_between(Some(3), Some(8)), all(&log).await[4..9].iter().map(|e| u64::from(e.1)).sum::<u64>());
    assert!(matches!(append(&log, vec![entry(2, 13, 0)]).await, Err(StoreError::NotConsecutive { last: 11, got: 13 })));
    for file in segments(dir.path()) {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(file).expect("there").permissions().mode() & 0o777, 0o600);
    }
}

#[tokio::test]
async fn truncating_and_purging_survive_reopening() {
    for from in 0..=10 {
        let dir = TempDir::new();
        let before = ten(dir.path(), SMALL).await;
        let log = Log::open_with(dir.path(), SMALL, CapabilityLevel::BUILD).expect("opens");
        log.cut(from).await.expect("cut");
        assert_eq!(all(&log).await, before[..from as usize]);
        append(&log, vec![entry(3, from, 1)]).await.expect("appended");
        let expected: Vec<_> = before[..from as usize].iter().copied().chain([(id(3, from), 1)]).collect();
        assert_eq!(all(&log).await, expected);
        log.close().await.expect("closed");
        assert_eq!(reopened(dir.path()).await, expected);
    }
    for upto in [0, 1, 5, 8, 9, 20] {
        let dir = TempDir::new();
        let before = ten(dir.path(), SMALL).await;
        let count = segments(dir.path()).len();
        let log = Log::open_with(dir.path(), SMALL, CapabilityLevel::BUILD).expect("opens");
        log.drop_upto(id(1, upto)).await.expect("purged");
        let left: Vec<_> = before.iter().filter(|e| e.0.index > upto).copied().collect();
        assert_eq!(all(&log).await, left);
        assert!(upto < 5 || segments(dir.path()).len() < count, "whole segments go");
        append(&log, vec![entry(3, 10.max(upto + 1), 1)]).await.expect("appended");
        log.close().await.expect("closed");
        let log = Log::open_with(dir.path(), SMALL, CapabilityLevel::BUILD).expect("opens");
        assert_eq!(log.purged(), Some(id(1, upto)));
        assert_eq!(all(&log).await.len(), left.len() + 1);
    }
}

#[tokio::test]
async fn a_torn_tail_is_cut_off_at_every_byte() {
    let dir = TempDir::new();
    let before = ten(dir.path(), SEGMENT_BYTES).await;
    let path = segments(dir.path()).pop().expect("a segment");
    let whole = fs::read(&path).expect("readable");
    // Two more entries in one write, which the crash interrupts.
    let log = Log::open(dir.path(), CapabilityLevel::BUILD).expect("opens");
    append(&log, vec![entry(1, 10, 2), entry(1, 11, 40)]).await.expect("appended");
    log.close().await.expect("closed");
    let more = fs::read(&path).expect("readable");
    for len in whole.len()..more.len() {
        for zeros in [0, more.len() - len] {
            let torn = [&more[..len], &vec![0; zeros][..]].concat();
            fs::write(&path, &torn).expect("written");
            crashed(dir.path());
            match Log::open(dir.path(), CapabilityLevel::BUILD) {
                Ok(log) => {
                    let found = all(&log).await;
                    assert_eq!(found[..10], before);
                    assert!(found.len() < 12);
                    let next = found.len() as u64;
                    append(&log, vec![entry(2, next, 1)]).await.expect("appended");
                    log.close().await.expect("closed");
                    assert_eq!(reopened(dir.path()).await.len() as u64, next + 1);
                }
                // Zeros inside of a sector are not what a crash leaves.
                Err(e) => assert!(zeros > 0 && matches!(e, StoreError::Damaged { .. }), "{len} {zeros}: {e}"),
            }
        }
    }
    // A sector of zeros is; also when a later one was written.
    let big = vec![entry(1, 10, 300), entry(1, 11, 300)];
    fs::write(&path, &whole).expect("written");
    crashed(dir.path());
    let log = Log::open(dir.path(), CapabilityLevel::BUILD).expect("opens");
    append(&log, big).await.expect("appended");
    log.close().await.expect("closed");
    let mut hole = fs::read(&path).expect("readable");
    let sector = (whole.len() / 512 + 2) * 512;
    hole[sector..sector + 512].fill(0);
    fs::write(&path, &hole).expect("written");
    crashed(dir.path());
    assert_eq!(reopened(dir.path()).await, before);
}

#[tokio::test]
async fn missing_and_cut_segments_are_refused() {
    let lost = |dir: &Path, what: &str| {
        let error = Log::open_with(dir, SMALL, CapabilityLevel::BUILD).expect_err(what);
        assert!(matches!(error, StoreError::Lost { held: 9, .. } | StoreError::Damaged { .. }), "{what}: {error}");
        assert!(error.to_string().contains("restore the server's data directory"), "{error}");
    };
    let fresh = || async {
        let dir = TempDir::new();
        ten(dir.path(), SMALL).await;
        dir
    };
    let dir = fresh().await;
    let count = segments(dir.path()).len();
    for (n, path) in segments(dir.path()).into_iter().enumerate() {
        let dir = fresh().await;
        fs::remove_file(dir.path().join(path.file_name().expect("a name"))).expect("removed");
        lost(dir.path(), &format!("segment {n} of {count}"));
    }
    segments(dir.path()).iter().for_each(|s| fs::remove_file(s).expect("removed"));
    lost(dir.path(), "all segments");
    // Cut between two frames, where a crash would not have left a trace either.
    let dir = TempDir::new();
    ten(dir.path(), SEGMENT_BYTES).await;
    let path = segments(dir.path()).pop().expect("a segment");
    let whole = fs::read(&path).expect("readable");
    for len in (HEAD as usize..whole.len()).step_by(7) {
        fs::write(&path, &whole[..len]).expect("written");
        lost(dir.path(), &format!("cut at {len}"));
    }
}

#[tokio::test]
async fn entries_that_a_leader_took_back_are_not_missed() {
    let dir = TempDir::new();
    ten(dir.path(), SMALL).await;
    let log = Log::open_with(dir.path(), SMALL, CapabilityLevel::BUILD).expect("opens");
    log.cut(4).await.expect("cut");
    // The process ends without closing the log.
    drop(log);
    let opened = || Log::open_with(dir.path(), SMALL, CapabilityLevel::BUILD);
    let mut log = opened();
    for _ in 0..500 {
        if !matches!(log, Err(StoreError::Locked { .. })) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        log = opened();
    }
    assert_eq!(log.expect("opens").last(), Some(id(1, 3)));
}

#[tokio::test]
async fn damage_to_acknowledged_entries_is_an_error() {
    for segment_bytes in [SMALL, SEGMENT_BYTES] {
        let dir = TempDir::new();
        ten(dir.path(), segment_bytes).await;
        for path in segments(dir.path()) {
            let whole = fs::read(&path).expect("readable");
            for at in 0..whole.len() {
                let mut changed = whole.clone();
                changed[at] ^= 0x55;
                fs::write(&path, &changed).expect("written");
                match Log::open_with(dir.path(), SMALL, CapabilityLevel::BUILD) {
                    Err(StoreError::Damaged { path: named, offset, why }) => {
                        assert_eq!(named, path);
                        assert!(offset as usize <= at && at < offset as usize + HEADER + 400, "{at}: {offset} {why}");
                    }
                    other => panic!("byte {at} of {}: {other:?}", path.display()),
                }
            }
            fs::write(&path, &whole).expect("written");
        }
        // A missing segment is noticed too.
        if let [_, second, ..] = &segments(dir.path())[..] {
            fs::remove_file(second).expect("removed");
            assert!(matches!(
                Log::open_with(dir.path(), SMALL, CapabilityLevel::BUILD),
                Err(StoreError::Damaged { .. })
            ));
        }
    }
}

#[tokio::test]
async fn votes_and_commits_are_kept() {
    let dir = TempDir::new();
    ten(dir.path(), SMALL).await;
    let log = Log::open(dir.path(), CapabilityLevel::BUILD).expect("opens");
    log.keep_vote(&Vote::new_committed(4, 7.into())).await.expect("kept");
    log.core.index.lock().committed = Some(id(1, 6));
    log.close().await.expect("closed");
    let log = Log::open(dir.path(), CapabilityLevel::BUILD).expect("opens");
    assert_eq!(log.core.index.lock().vote, Some(Vote::new(4, 7.into())), "leads no more after a restart");
    assert_eq!(log.committed(), Some(id(1, 6)));
    log.cut(6).await.expect("cut");
    log.close().await.expect("closed");
    fs::write(dir.path().join("vote"), b"rubbish").expect("written");
    assert!(matches!(Log::open(dir.path(), CapabilityLevel::BUILD), Err(StoreError::Damaged { .. })));
}

#[tokio::test]
async fn files_of_another_format_are_refused() {
    // A server that has voted has no more than its vote: format 1 began with the checksum.
    let dir = TempDir::new();
    let old = codec::encode(&serde_json::json!({"leader_id": {"term": 4, "node_id": "x"}, "committed": false}));
    let old = old.expect("encoded");
    let path = dir.path().join("vote");
    fs::write(&path, [&crc32fast::hash(&old).to_le_bytes()[..], &old].concat()).expect("written");
    let error = Log::open(dir.path(), CapabilityLevel::BUILD).expect_err("refused").to_string();
    let expected = format!(
        "{} has format 1, which another version of encamp wrote; this version reads only format 2. Run the other \
         version on the data directory, or remove the directory and let the server rejoin its cluster; to move the \
         state of an entire cluster, use `operator snapshot save` and `operator snapshot restore`",
        path.display()
    );
    assert_eq!(error, expected);

    for (format, problem) in [(1, "has format 1, "), (9, "is of capability level 8, ")] {
        let dir = TempDir::new();
        ten(dir.path(), SMALL).await;
        let path = segments(dir.path()).swap_remove(0);
        let mut bytes = fs::read(&path).expect("readable");
        bytes[8] = format;
        let sum = crc32fast::hash(&bytes[..20]);
        bytes[20..24].copy_from_slice(&sum.to_le_bytes());
        fs::write(&path, &bytes).expect("written");
        let error = Log::open_with(dir.path(), SMALL, CapabilityLevel::BUILD).expect_err("refused").to_string();
        assert!(error.starts_with(&format!("{} {problem}", path.display())), "{error}");
        // A damaged number is damage.
        bytes[20] ^= 1;
        fs::write(&path, &bytes).expect("written");
        assert!(matches!(Log::open_with(dir.path(), SMALL, CapabilityLevel::BUILD), Err(StoreError::Damaged { .. })));
    }
}

#[tokio::test]
async fn a_second_process_is_kept_out() {
    let dir = TempDir::new();
    let log = Log::open(dir.path(), CapabilityLevel::BUILD).expect("opens");
    let error = Log::open(dir.path(), CapabilityLevel::BUILD).expect_err("locked");
    assert!(matches!(error, StoreError::Locked { .. }), "{error}");
    log.close().await.expect("closed");
    assert!(matches!(append(&log, vec![entry(1, 0, 0)]).await, Err(StoreError::Closed)));
    Log::open(dir.path(), CapabilityLevel::BUILD).expect("opens again");
}

#[tokio::test]
async fn after_a_failed_write_nothing_is_acknowledged() {
    let dir = TempDir::new();
    let log = Log::open(dir.path(), CapabilityLevel::BUILD).expect("opens");
    append(&log, vec![entry(1, 0, 1)]).await.expect("appended");
    // A disk without room.
    let good = log.core.index.lock().segments.clone();
    log.break_disk();
    let error = append(&log, vec![entry(1, 1, 1)]).await.expect_err("no room").to_string();
    assert!(error.contains("No space left") && error.contains("free some space"), "{error}");
    // Room again: still refused, because nobody knows what the file holds.
    log.core.index.lock().segments = good;
    for error in [append(&log, vec![entry(1, 2, 1)]).await, log.cut(0).await, log.keep_vote(&Vote::default()).await] {
        assert!(matches!(error, Err(StoreError::Refused(_))), "{error:?}");
    }
    assert!(log.failure().is_some());
    assert!(log.close().await.is_err());
    assert_eq!(reopened(dir.path()).await, [(id(1, 0), 1)]);
}

#[test]
fn a_file_in_the_way_is_a_clear_error() {
    let dir = TempDir::new();
    let file = dir.path().join("raft");
    fs::write(&file, b"").expect("written");
    let error = Log::open(&file, CapabilityLevel::BUILD).expect_err("not a directory").to_string();
    assert!(error.contains("raft"), "{error}");
}

#[tokio::test]
async fn waiting_appends_share_a_write() {
    let dir = TempDir::new();
    let log = Log::open(dir.path(), CapabilityLevel::BUILD).expect("opens");
    let mut waiting = Vec::new();
    for i in 0..200 {
        let (done, finished) = oneshot::channel();
        log.add(vec![entry(1, i, 1)], Flushed::Caller(done)).expect("taken");
        waiting.push(finished);
    }
    for finished in waiting {
        finished.await.expect("a reply").expect("durable");
    }
    let bytes = fs::read(&segments(dir.path())[0]).expect("readable");
    // The durable length in a frame tells how many writes there were.
    let mut lengths: Vec<_> = (0..bytes.len() - HEADER)
        .filter_map(|at| frame::Header::decode(bytes[at..].first_chunk()?))
        .map(|h| h.durable)
        .collect();
    assert_eq!(lengths.len(), 200);
    lengths.dedup();
    assert!(lengths.len() < 150, "{} writes", lengths.len());
    assert_eq!(all(&log).await.len(), 200);
}

#[derive(Debug, Clone)]
enum Step {
    Append(Vec<usize>),
    Truncate(u64),
    Purge(u64),
    Commit(u64),
    Reopen,
    Read(u64, u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => prop::collection::vec(0..20_usize, 1..6).prop_map(Step::Append),
        1 => (0..8_u64).prop_map(Step::Truncate),
        1 => (0..8_u64).prop_map(Step::Purge),
        1 => (0..8_u64).prop_map(Step::Commit),
        1 => Just(Step::Reopen),
        2 => (0..60_u64, 0..60_u64).prop_map(|(a, b)| Step::Read(a, b)),
    ];
    prop::collection::vec(step, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The log against a plain list.
    #[test]
    fn the_log_is_a_list(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
        runtime.block_on(async {
            let dir = TempDir::new();
            let mut log = Log::open_with(dir.path(), SMALL, CapabilityLevel::BUILD).expect("opens");
            let (mut model, mut purged, mut term): (Vec<(EntryId, u32)>, Option<EntryId>, u64) = (vec![], None, 1);
            for step in steps {
                let next = model.last().map(|e| e.0).or(purged).map_or(0, |e| e.index + 1);
                match step {
                    Step::Append(sizes) => {
                        let entries: Vec<_> = sizes.iter().zip(next..).map(|(ops, i)| entry(term, i, *ops)).collect();
                        model.extend(entries.iter().map(mark));
                        append(&log, entries).await.expect("appended");
                    }
                    Step::Truncate(back) => {
                        let from = next.saturating_sub(back).max(purged.map_or(0, |p| p.index + 1));
                        term += 1;
                        log.cut(from).await.expect("cut");
                        model.retain(|e| e.0.index < from);
                    }
                    Step::Purge(count) => {
                        let Some(upto) = model.get(count as usize).map(|e| e.0) else { continue };
                        log.drop_upto(upto).await.expect("purged");
                        model.retain(|e| e.0.index > upto.index);
                        purged = Some(upto);
                    }
                    Step::Commit(count) => {
                        let committed = model.get(count as usize).map(|e| e.0);
                        if committed.is_some() {
                            log.core.index.lock().committed = committed;
                        }
                    }
                    Step::Reopen => {
                        log.close().await.expect("closed");
                        log = Log::open_with(dir.path(), SMALL, CapabilityLevel::BUILD).expect("opens");
                        let committed = log.committed();
                        assert!(committed.is_none_or(|c| model.iter().any(|e| e.0 == c) || Some(c.index) <= purged.map(|p| p.index)));
                    }
                    Step::Read(from, to) => {
                        let expected: Vec<_> = model.iter().filter(|e| (from..to).contains(&e.0.index)).copied().collect();
                        let found = log.read(from, to, usize::MAX).await.expect("readable");
                        assert_eq!(found.iter().map(mark).collect::<Vec<_>>(), expected);
                    }
                }
                assert_eq!(log.last(), model.last().map(|e| e.0).or(purged));
                assert_eq!(log.purged(), purged);
                assert_eq!(all(&log).await, model);
            }
        });
    }
}

#[test]
fn an_entry_that_holds_other_operations_than_its_header_says_is_refused() {
    let encoded = frame::Encoded::new(&entry(1, 5, 2)).expect("encoded");
    let mut bytes = Vec::new();
    encoded.write(0, None, &mut bytes);
    assert!(frame::decode_entry(&bytes, id(1, 5), None).is_ok());
    // The number of operations, with the checksum that belongs to it.
    bytes[12] = 9;
    let sum = crc32fast::hash(&bytes[..HEADER - 4]);
    bytes[HEADER - 4..HEADER].copy_from_slice(&sum.to_le_bytes());
    let refused = frame::decode_entry(&bytes, id(1, 5), None).expect_err("refused").to_string();
    assert_eq!(refused, "it holds 2 operations, but its header says 9");
}
