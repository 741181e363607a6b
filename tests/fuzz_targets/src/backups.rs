//! Files of clusters: snapshots in JSON, server backups, and the side indexes of both.

use std::collections::HashSet;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use encamp_snapshot::archive::{self, Options};
use encamp_snapshot::file::ClusterSnapshot;
use encamp_snapshot::side_index::{self, Folder, Indexes, Least, RowError};
use encamp_snapshot::{diff, inspect, unload};
use encamp_state::State;

use crate::pieces::Pieces;
use crate::scratch::Scratch;

/// When the archives of a target were made, Unix seconds.
const MTIME: u64 = 1_700_000_000;

/// All that commands do with a snapshot.
fn use_of(snapshot: &ClusterSnapshot) {
    let _ = inspect::inspect(snapshot, snapshot.now(0));
    let compared = diff::diff(snapshot, snapshot);
    assert!(compared.equal, "a snapshot differs from itself");
    drop(unload::to_file(snapshot));
}

/// A snapshot file, plain or compressed.
pub(crate) fn snapshot_file(data: &[u8]) -> bool {
    match encamp_snapshot::read(data, "cluster.json") {
        Ok(snapshot) => {
            use_of(&snapshot);
            true
        }
        Err(error) => error.to_string().is_empty(),
    }
}

/// A server backup behind an odd byte; else the records that one holds, in a container that is right.
pub(crate) fn archive(data: &[u8]) -> bool {
    let Some((first, rest)) = data.split_first() else { return false };
    let options = Options { lenient: first & 2 == 0 };
    if first & 1 == 1 {
        return read_archive(rest, options);
    }
    let mut numbers = 0u64;
    let mut fresh = || {
        numbers += 1;
        format!("00000000-0000-0000-0000-{numbers:012}")
    };
    let _ = archive::redact(rest, &mut fresh);
    let meta = serde_json::json!({
        "Version": 1, "ID": "2-7-1700000000000", "Index": 7, "Term": 2, "Peers": "", "ConfigurationIndex": 1,
        "Configuration": {"Servers": []},
    });
    let serde_json::Value::Object(meta) = meta else { return false };
    let mut file = Vec::new();
    archive::write(meta, rest, MTIME, &mut file).is_ok() && read_archive(&file, options)
}

fn read_archive(file: &[u8], options: Options) -> bool {
    let _ = archive::read_undecoded(file);
    let Ok(archive) = archive::read(file, options) else { return false };
    let _ = (archive.ignored().count(), archive.meta.taken_at());
    if let Ok(snapshot) = encamp_snapshot::read(file, "backup.snap") {
        use_of(&snapshot);
    }
    true
}

/// A snapshot with its index, as the first plan on it leaves them.
struct Indexed {
    scratch: Scratch,
    snapshot: PathBuf,
    /// The place of the index, and its bytes.
    index: PathBuf,
    bytes: Vec<u8>,
    blocks: Vec<Block>,
}

impl Indexed {
    fn new() -> Indexed {
        let scratch = Scratch::new("index").expect("a directory");
        let snapshot = scratch.path().join("cluster.json");
        let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/preemption/cluster.json");
        std::fs::copy(demo, &snapshot).expect("the fixture");
        let loaded = side_index::load(&snapshot, Options::default(), &indexes(&scratch)).expect("a snapshot");
        loaded.unwritten.expect("no index yet").write().expect("an index");
        let index = indexes(&scratch).folder.list().first().expect("an index").path.clone();
        let bytes = std::fs::read(&index).expect("the index");
        let blocks = blocks(&bytes);
        Indexed { scratch, snapshot, index, bytes, blocks }
    }
}

fn indexes(scratch: &Scratch) -> Indexes {
    let lost: side_index::Lost = |path: &Path, error: &RowError| panic!("{}: {error}", path.display());
    let folder = Folder::new(scratch.path());
    Indexes { folder, lost, deferred: None, least: Least { compressed: 0, plain: 0 } }
}

/// Changes of the side index of a fixture, whose checksums are made right again. Whatever the index holds, the state is
/// read from it, or from the snapshot file.
pub(crate) fn side_index(data: &[u8]) -> bool {
    static INDEXED: OnceLock<Indexed> = OnceLock::new();
    let indexed = INDEXED.get_or_init(Indexed::new);
    let mut bytes = indexed.bytes.clone();
    let mut pieces = Pieces(data);
    while !pieces.0.is_empty() {
        let (at, value) = (pieces.number(), pieces.byte());
        let length = bytes.len();
        if let Some(byte) = bytes.get_mut(at % length) {
            *byte = byte.wrapping_add(value);
        }
    }
    with_sums(&indexed.blocks, core_of(&indexed.bytes), &mut bytes);
    let file = std::fs::File::create(&indexed.index).expect("the index");
    encamp_snapshot::replace::make_private(&file).expect("a private file");
    file.write_all_at(&bytes, 0).expect("the index");
    drop(file);
    let loaded = side_index::load(&indexed.snapshot, Options::default(), &indexes(&indexed.scratch));
    let loaded = loaded.expect("the snapshot file is right");
    rows(&loaded.snapshot.state);
    // Without an index, the next reader would like one.
    loaded.unwritten.is_none()
}

/// Reads every row.
fn rows(state: &State) {
    let mut length = 0;
    length += state.nodes().map(|n| n.node.id.len()).sum::<usize>();
    length += state.jobs().map(|j| j.versions.len()).sum::<usize>();
    length += state.allocs().map(|a| a.alloc.id.len()).sum::<usize>();
    length += state.deployments().map(|d| d.id.len()).sum::<usize>();
    std::hint::black_box(length);
}

/// Length of the header of an index, and where the place of its core is in it.
const HEADER: (usize, usize) = (112, 92);

/// A part of an index with a checksum of its own.
struct Block {
    begin: usize,
    end: usize,
    sum: u32,
}

/// Where the core of an index begins.
fn core_of(index: &[u8]) -> usize {
    let at = index.get(HEADER.1..).and_then(|b| b.first_chunk()).map_or(0, |b| u64::from_le_bytes(*b));
    usize::try_from(at).unwrap_or(usize::MAX)
}

/// The blocks of an index. They follow one another from the header to the core; where one ends is where its checksum is
/// among those that are stored.
fn blocks(index: &[u8]) -> Vec<Block> {
    let stored: HashSet<[u8; 4]> = index.windows(4).filter_map(|w| w.first_chunk().copied()).collect();
    let (mut blocks, mut begin, core) = (Vec::new(), HEADER.0, core_of(index));
    while begin < core {
        let mut hasher = crc32fast::Hasher::new();
        let end = (begin..core).find(|at| {
            hasher.update(index.get(*at..at + 1).unwrap_or_default());
            let sum = hasher.clone().finalize();
            // Short blocks would find their sum by chance.
            at - begin >= 3 && (stored.contains(&sum.to_be_bytes()) || stored.contains(&sum.to_le_bytes()))
        });
        let Some(end) = end.map(|last| last + 1) else { break };
        let sum = index.get(begin..end).map_or(0, crc32fast::hash);
        blocks.push(Block { begin, end, sum });
        begin = end;
    }
    blocks
}

/// Puts the checksums of changed blocks wherever they are stored, and those of core and header.
fn with_sums(blocks: &[Block], core: usize, bytes: &mut [u8]) {
    for Block { begin, end, sum } in blocks {
        let new = bytes.get(*begin..*end).map_or(0, crc32fast::hash);
        if new != *sum {
            let area = bytes.get_mut(*end..).unwrap_or_default();
            replace(area, sum.to_le_bytes(), new.to_le_bytes());
            replace(area, sum.to_be_bytes(), new.to_be_bytes());
        }
    }
    put_sum(bytes, core..bytes.len(), HEADER.1 + 12);
    put_sum(bytes, 0..HEADER.0 - 4, HEADER.0 - 4);
}

/// Writes the checksum of a range at a place.
fn put_sum(bytes: &mut [u8], range: std::ops::Range<usize>, at: usize) {
    let Some(sum) = bytes.get(range).map(crc32fast::hash) else { return };
    if let Some(place) = bytes.get_mut(at..at + 4) {
        place.copy_from_slice(&sum.to_le_bytes());
    }
}

/// Replaces every occurrence of four bytes.
fn replace(area: &mut [u8], old: [u8; 4], new: [u8; 4]) {
    let found: Vec<usize> = area.windows(4).enumerate().filter(|(_, w)| *w == old).map(|(at, _)| at).collect();
    for at in found {
        if let Some(place) = area.get_mut(at..at + 4) {
            place.copy_from_slice(&new);
        }
    }
}
