//! Snapshot files (`docs/reference/snapshot-format.md`).

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use serde::de::{self, IgnoredAny};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

pub use super::build_state::into_state;
use super::deferred::{self, FileRows, Unreadable};
use super::lines::{self, Lines};
use super::{archive, parallel};
use encamp_api::json::{JsonError, explained};
use encamp_model::json::null_is_default;
use encamp_model::*;
use encamp_state::State;

/// The version this build writes.
pub const FORMAT_VERSION: u64 = 2;
/// The oldest version it reads. Version 1 does not hold [`SnapshotFile::server_settings`].
pub(crate) const OLDEST_VERSION: u64 = 1;
/// The largest decompressed size that is read.
const MAX_SIZE: u64 = 8 << 30;
/// How many times its length a compressed file may hold, and what any may hold: generous for snapshots, far less than
/// blanks.
const MOST_RATIO: u64 = 200;
/// See [`MOST_RATIO`].
const ALWAYS: u64 = 64 << 20;
/// The most that is set aside for decompressing before anything is known about the content.
const MOST_RESERVED: usize = 1 << 30;
/// Room behind that, so that reading the last bytes does not grow it.
const BEYOND: usize = 64 << 10;

/// Shorter texts are parsed as a whole.
const WORTH_THREADS: u64 = 2 << 20;
/// The same of compressed ones.
const WORTH_THREADS_COMPRESSED: u64 = 128 << 10;

/// How gzip files begin.
pub(crate) const GZIP: [u8; 2] = [0x1f, 0x8b];
/// How zstd files begin.
pub(crate) const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// A volume of either kind.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "Type", rename_all = "lowercase")]
pub enum Volume {
    /// A CSI volume.
    Csi(Box<CsiVolume>),
    /// A dynamic host volume.
    Host(Box<HostVolume>),
}

/// Reads the member that names the kind, then the object. The derived code would copy each volume to memory first, and
/// decode that by code of its own for every type that a volume holds.
impl<'de> Deserialize<'de> for Volume {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Volume, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "lowercase")]
        enum Kind {
            Csi,
            Host,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Tag {
            r#type: Kind,
        }
        let text = Box::<RawValue>::deserialize(d)?;
        let object = text.get().as_bytes();
        let volume = serde_json::from_slice::<Tag>(object).and_then(|tag| match tag.r#type {
            Kind::Csi => serde_json::from_slice(object).map(Volume::Csi),
            Kind::Host => serde_json::from_slice(object).map(Volume::Host),
        });
        volume.map_err(|e| {
            // The line and column are those within the volume: the reader of the file adds its own.
            let text = e.to_string();
            de::Error::custom(text.rsplit_once(" at line ").map_or(text.as_str(), |(problem, _)| problem))
        })
    }
}

/// The file as it is written: lists of API objects.
#[null_is_default]
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct SnapshotFile {
    /// Format version.
    pub version: Option<u64>,
    /// When the state was read.
    pub taken_at: Time,
    /// Where it was read: an address or a file.
    pub source: String,
    /// Latest index of the state.
    pub index: u64,
    /// Scheduler configuration; null if the cluster has none.
    pub scheduler_configuration: Option<SchedulerConfiguration>,
    /// The configuration of the servers; null if it is not known.
    pub server_settings: Option<ServerSettings>,
    /// All nodes.
    pub nodes: Vec<Node>,
    /// All node pools.
    pub node_pools: Vec<NodePool>,
    /// All namespaces.
    pub namespaces: Vec<Namespace>,
    /// All stored versions of all jobs.
    pub jobs: Vec<Job>,
    /// All allocations.
    pub allocations: Vec<Arc<Allocation>>,
    /// Jobs as of the placement of allocations, where those differ from the stored version; named by `JobRef`.
    pub allocation_jobs: Vec<Job>,
    /// All deployments.
    pub deployments: Vec<Deployment>,
    /// CSI and host volumes.
    pub volumes: Vec<Volume>,
    /// Claims on sticky host volumes.
    pub host_volume_claims: Vec<TaskGroupHostVolumeClaim>,
}

/// A snapshot ready to plan against.
#[derive(Debug, Clone)]
pub struct ClusterSnapshot {
    /// The state.
    pub state: State,
    /// When it was read.
    pub taken_at: Time,
    /// It comes from a server backup archive.
    pub archived: bool,
    /// Where it was read.
    pub source: String,
    /// Missing parts, as text for the operator.
    pub notes: Vec<String>,
}

impl ClusterSnapshot {
    /// The time that counts as "now" for a plan, Unix nanoseconds: that at which the state was read or saved; if the file
    /// does not say it, the latest time that the state records, and else that of the clock. By the clock, every deadline
    /// of an old state would have passed, and a plan would differ from run to run (`docs/spec/snapshot-archive.md §15`
    /// point 9).
    pub fn now(&self, clock: i64) -> i64 {
        self.taken_at.unix_nanos().or_else(|| latest(&self.state)).unwrap_or(clock)
    }
}

/// The latest time that the state records, Unix nanoseconds; `None` if it records none.
fn latest(state: &State) -> Option<i64> {
    let allocs = state.allocs().map(|e| e.alloc.modify_time.max(e.alloc.create_time));
    let jobs = state.jobs().map(|j| j.current.submit_time);
    let nodes = state.nodes().map(|e| e.node.status_updated_at.saturating_mul(SECOND));
    let deployments = state.deployments().map(|d| d.modify_time.max(d.create_time));
    allocs.chain(jobs).chain(nodes).chain(deployments).max().filter(|time| *time > 0)
}

/// Why a snapshot could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The file can't be opened or read.
    #[error("cannot read snapshot {path:?}: {source}")]
    Io {
        /// The file.
        path: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file is not compressed correctly.
    #[error("cannot decompress snapshot {path:?} ({kind}): {problem}; the file is damaged or incomplete")]
    Compression {
        /// The file.
        path: String,
        /// gzip or zstd.
        kind: &'static str,
        /// The error.
        problem: String,
    },
    /// It is a server backup archive, but not one that can be used.
    #[error("snapshot {path:?} is a server backup archive that is not usable: {problem}")]
    Archive {
        /// The file.
        path: String,
        /// The problem, its location and a remedy.
        problem: archive::ArchiveError,
    },
    /// The content is not a snapshot.
    #[error("snapshot {path:?} is not usable: {problem}")]
    Content {
        /// The file.
        path: String,
        /// The problem and its location.
        problem: ContentError,
    },
}

/// Why the content of a file is no snapshot.
#[derive(Debug, thiserror::Error)]
pub enum ContentError {
    /// The file is too large.
    #[error("it is larger than {} GiB, the limit", MAX_SIZE >> 30)]
    TooLarge,
    /// The JSON is a list.
    #[error("it is a list, not an object")]
    List,
    /// The text is no JSON object.
    #[error(
        "it is not a JSON object, and therefore not a snapshot. snapshot fetch makes snapshots; backups of servers, which \
         operator snapshot save makes, can be used instead. A job file is given as an argument, after the flags"
    )]
    NotAnObject,
    /// The object has no version.
    #[error("it has no Version, so it is not a cluster snapshot; snapshot fetch makes one")]
    NoVersion,
    /// The version is another one than this build reads.
    #[error(
        "Version is {0}, but this program reads versions {OLDEST_VERSION} to {FORMAT_VERSION}; snapshot fetch makes a new one"
    )]
    Version(u64),
    /// The text is not encoded in UTF-8: the offset of the first byte that is not.
    #[error("it is not UTF-8 text (byte {0})")]
    Encoding(usize),
    /// The text ends within the object.
    #[error("the file ends early, at line {line} column {column}: it is incomplete, copy or fetch it again")]
    EndsEarly {
        /// The last line.
        line: usize,
        /// The column of its end.
        column: usize,
    },
    /// The text is not JSON, or a member does not fit the format.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// An object has no ID.
    #[error("{list}[{index}].ID is missing")]
    MissingId {
        /// The name of the list.
        list: &'static str,
        /// The position in the list.
        index: usize,
    },
    /// Two objects have the same ID.
    #[error("{list}[{index}]: {id} is there twice")]
    Duplicate {
        /// The name of the list.
        list: &'static str,
        /// The position of the second one in the list.
        index: usize,
        /// The ID; for jobs with namespace and version.
        id: String,
    },
    /// An allocation refers to a job that the file does not hold.
    #[error("Allocations[{index}].JobRef: AllocationJobs has no item {job}")]
    MissingJob {
        /// The position in the list of allocations.
        index: usize,
        /// The position that it names in the list of jobs.
        job: u32,
    },
}

/// Reads a snapshot file or a server backup archive; which of them it is, and how it is compressed, is recognised by
/// content. `options` say how archives are read.
pub fn load(path: &Path, options: archive::Options) -> Result<ClusterSnapshot, SnapshotError> {
    load_with_rest(path, options).map(|(snapshot, _)| snapshot)
}

/// The same for callers that read few allocations, of large compressed files: each allocation is decoded when it is read.
/// What is wrong with one that nobody reads is not noticed, and what is wrong with one that is read ends the process.
pub fn load_deferred(
    path: &Path,
    options: archive::Options,
    unreadable: Unreadable,
) -> Result<ClusterSnapshot, SnapshotError> {
    load_as(path, options, Some(unreadable)).map(|loaded| loaded.snapshot)
}

/// The same as [`load`], with the records of a server backup that a snapshot file does not hold.
pub fn load_with_rest(
    path: &Path,
    options: archive::Options,
) -> Result<(ClusterSnapshot, Option<archive::Rest>), SnapshotError> {
    load_as(path, options, None).map(|loaded| (loaded.snapshot, loaded.rest))
}

/// A file that was read.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// The snapshot.
    pub(crate) snapshot: ClusterSnapshot,
    /// The records of a server backup that a snapshot file does not hold.
    pub(crate) rest: Option<archive::Rest>,
    /// Where the allocations are that were not decoded.
    pub(crate) rows: Option<Arc<FileRows>>,
}

impl Loaded {
    fn whole(snapshot: ClusterSnapshot) -> Loaded {
        Loaded { snapshot, rest: None, rows: None }
    }
}

/// Reads a file; with [`Unreadable`], allocations of large compressed ones are decoded when they are read.
pub(crate) fn load_as(
    path: &Path,
    options: archive::Options,
    deferred: Option<Unreadable>,
) -> Result<Loaded, SnapshotError> {
    let name = path.display().to_string();
    let io = |source| SnapshotError::Io { path: name.clone(), source };
    let mut file = File::open(path).map_err(io)?;
    // Read once: it may be a pipe.
    let mut start = Vec::new();
    (&mut file).take(archive::PEEK).read_to_end(&mut start).map_err(io)?;
    if archive::is_archive(&start) {
        return load_archive(start.chain(file), name, options)
            .map(|(snapshot, rest)| Loaded { rest: Some(rest), ..Loaded::whole(snapshot) });
    }
    let length = file.metadata().map_or(0, |m| if m.is_file() { m.len() } else { 0 });
    let content = |problem| SnapshotError::Content { path: name.clone(), problem };
    if let Some(file) = load_lines(&start, &file, length) {
        return into_state(checked(file, &name)?).map_err(content).map(Loaded::whole);
    }
    if length > 0 {
        file.seek(SeekFrom::Start(start.len() as u64)).map_err(io)?;
    }
    let mut bytes = load_bytes(start, file, length, &name)?;
    if let Some(unreadable) = deferred.filter(|_| is_worth_blocks(&bytes)) {
        match deferred::load(bytes, &name, unreadable) {
            Ok((snapshot, rows)) => return Ok(Loaded { rows: Some(rows), ..Loaded::whole(snapshot) }),
            Err(unused) => bytes = unused,
        }
    }
    let file = decode(&bytes, &name)?;
    drop(bytes);
    into_state(file).map_err(content).map(Loaded::whole)
}

/// Reads a file that is neither compressed nor a pipe without holding its text; `None` if that is not worth it, or if it
/// is not as this program writes it. The beginning has been read.
fn load_lines(start: &[u8], file: &File, length: u64) -> Option<SnapshotFile> {
    if is_compressed(start) || length < WORTH_THREADS {
        return None;
    }
    lines::parse(start.chain(file), MAX_SIZE)
}

/// Reads all of a file of that length, 0 if it is not known. The beginning has been read.
fn load_bytes(start: Vec<u8>, file: File, length: u64, name: &str) -> Result<Vec<u8>, SnapshotError> {
    let mut bytes = start;
    // Room for the whole file at once, where its length is known: growing by doubling would touch twice what is needed.
    let _ = bytes.try_reserve(usize::try_from(length).unwrap_or(MOST_RESERVED).min(MOST_RESERVED) + BEYOND);
    let most = MAX_SIZE - bytes.len() as u64;
    let read = file.take(most + 1).read_to_end(&mut bytes);
    let read = read.map_err(|source| SnapshotError::Io { path: name.to_string(), source })?;
    if read as u64 > most {
        return Err(SnapshotError::Content { path: name.to_string(), problem: ContentError::TooLarge });
    }
    Ok(bytes)
}

fn is_worth_blocks(bytes: &[u8]) -> bool {
    is_compressed(bytes) && bytes.len() as u64 >= WORTH_THREADS_COMPRESSED
}

fn is_compressed(bytes: &[u8]) -> bool {
    bytes.starts_with(&GZIP) || bytes.starts_with(&ZSTD)
}

fn load_archive(
    file: impl Read,
    name: String,
    options: archive::Options,
) -> Result<(ClusterSnapshot, archive::Rest), SnapshotError> {
    let mut archive =
        archive::read(file, options).map_err(|problem| SnapshotError::Archive { path: name.clone(), problem })?;
    let mut notes = archive.notes();
    let rest = archive.take_rest();
    let mut snapshot = into_state(archive.into_snapshot_file(name.clone()))
        .map_err(|problem| SnapshotError::Content { path: name, problem })?;
    snapshot.archived = true;
    notes.push(if snapshot.taken_at.is_zero() {
        "The backup does not say when it was taken: deadlines are evaluated as of the latest time that it records."
            .into()
    } else {
        format!("The backup was taken at {}: deadlines are evaluated as of then.", snapshot.taken_at)
    });
    notes.append(&mut snapshot.notes);
    Ok((ClusterSnapshot { notes, ..snapshot }, rest))
}

/// Reads a snapshot from memory; `name` is for messages.
pub fn read(bytes: &[u8], name: &str) -> Result<ClusterSnapshot, SnapshotError> {
    into_state(decode(bytes, name)?).map_err(|problem| SnapshotError::Content { path: name.to_string(), problem })
}

/// Decompresses and parses; the text is gone when this returns. `name` is for messages.
pub(crate) fn decode(bytes: &[u8], name: &str) -> Result<SnapshotFile, SnapshotError> {
    if let Some(file) = decode_lines(bytes) {
        return checked(file, name);
    }
    let file = match decompress(bytes, name)? {
        Some(plain) => parse(&plain),
        None => parse(bytes),
    };
    file.map_err(|problem| SnapshotError::Content { path: name.to_string(), problem })
}

/// Decompresses and parses block by block; `None` if that is not worth it, or if the text is not as this program writes
/// it.
fn decode_lines(bytes: &[u8]) -> Option<SnapshotFile> {
    let length = bytes.len() as u64;
    if is_worth_blocks(bytes) {
        lines::parse_compressed(bytes, most_held(length)).map(Lines::into_file)
    } else if length >= WORTH_THREADS {
        lines::parse(bytes, MAX_SIZE)
    } else {
        None
    }
}

/// The file, if this build reads its version.
fn checked(file: SnapshotFile, name: &str) -> Result<SnapshotFile, SnapshotError> {
    let version = check_version(file.version);
    version.map_err(|problem| SnapshotError::Content { path: name.to_string(), problem })?;
    Ok(file)
}

/// The most that is read of a compressed file of that length.
pub(crate) fn most_held(length: u64) -> u64 {
    length.saturating_mul(MOST_RATIO).saturating_add(ALWAYS).min(MAX_SIZE)
}

/// The text of a gzip or zstd file; `None` if the file is neither. `name` is for messages.
pub fn decompress(bytes: &[u8], name: &str) -> Result<Option<Vec<u8>>, SnapshotError> {
    let (kind, reader): (&'static str, Box<dyn Read + '_>) = if bytes.starts_with(&GZIP) {
        ("gzip", Box::new(flate2::read::MultiGzDecoder::new(bytes)))
    } else if bytes.starts_with(&ZSTD) {
        let decoder = zstd::stream::read::Decoder::with_buffer(bytes).map_err(|e| SnapshotError::Compression {
            path: name.to_string(),
            kind: "zstd",
            problem: e.to_string(),
        })?;
        ("zstd", Box::new(decoder))
    } else {
        return Ok(None);
    };
    let problem = |problem: String| SnapshotError::Compression { path: name.to_string(), kind, problem };
    let mut out = Vec::new();
    let most = most_held(bytes.len() as u64);
    // Room that is not written to costs nothing, and growing by doubling would touch twice what is needed. Where the
    // system refuses, growing it is. The end is noticed by reading beyond it.
    let _ = out.try_reserve(usize::try_from(most).unwrap_or(MOST_RESERVED).min(MOST_RESERVED) + BEYOND);
    reader.take(most + 1).read_to_end(&mut out).map_err(|e| problem(e.to_string()))?;
    if out.len() as u64 > most {
        let text = format!(
            "it holds more than {} MiB, the limit for a file of {} bytes ({MOST_RATIO} times its size and {} MiB)",
            most >> 20,
            bytes.len(),
            ALWAYS >> 20
        );
        return Err(problem(text));
    }
    Ok(Some(out))
}

/// Whether a file that was to be something else seems to hold the state of a cluster: a compressed file, or a JSON
/// object with a version and nodes.
pub fn looks_like_one(bytes: &[u8]) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Members {
        version: u64,
        #[serde(default)]
        nodes: Option<IgnoredAny>,
        #[serde(default)]
        jobs: Option<IgnoredAny>,
        #[serde(default)]
        allocations: Option<IgnoredAny>,
    }
    if is_compressed(bytes) {
        return true;
    }
    let text = bytes.trim_ascii_start();
    text.starts_with(b"{")
        && serde_json::from_slice::<Members>(text).is_ok_and(|m| {
            let Members { version, nodes, jobs, allocations } = m;
            version > 0 && (nodes.is_some() || jobs.is_some() || allocations.is_some())
        })
}

/// Parses the JSON.
///
/// # Errors
/// The text is no snapshot of a version that this build reads.
pub fn parse(json: &[u8]) -> Result<SnapshotFile, ContentError> {
    // A list would be taken for the members in order.
    if json.trim_ascii_start().first() == Some(&b'[') {
        return Err(ContentError::List);
    }
    if json.trim_ascii_start().first().is_some_and(|first| *first != b'{') {
        return Err(ContentError::NotAnObject);
    }
    let file = match parallel::parse(json) {
        Some(file) => file,
        None => serde_json::from_slice::<SnapshotFile>(json).map_err(|e| explain(json, e))?,
    };
    check_version(file.version)?;
    Ok(file)
}

pub(crate) fn check_version(version: Option<u64>) -> Result<(), ContentError> {
    match version {
        Some(OLDEST_VERSION..=FORMAT_VERSION) => Ok(()),
        Some(v) => Err(ContentError::Version(v)),
        None => Err(ContentError::NoVersion),
    }
}

fn explain(json: &[u8], first: serde_json::Error) -> ContentError {
    if let Err(e) = std::str::from_utf8(json) {
        return ContentError::Encoding(e.valid_up_to());
    }
    if first.is_eof() {
        return ContentError::EndsEarly { line: first.line(), column: first.column() };
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Header {
        version: Option<u64>,
    }
    // A wrong version explains everything else that does not fit.
    if let Ok(h) = serde_json::from_slice::<Header>(json)
        && let Err(e) = check_version(h.version)
    {
        return e;
    }
    explained(json, first).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(json: &str) -> String {
        read(json.as_bytes(), "f").err().map(|e| e.to_string()).unwrap_or_default()
    }

    #[test]
    fn bad_files_are_explained() {
        for (json, want) in [
            ("{}", "it has no Version"),
            (r#"{"Version": 7, "Nodes": 3}"#, "Version is 7, but this program reads versions 1 to 2"),
            (r#"{"Version": 1, "Nodes": ["#, "the file ends early, at line 1 column 25: it is incomplete"),
            (
                r#"{"Version": 1, "Nodes": [{"ID": "a", "NodeResources": {"Memory": {"MemoryMB": "x"}}}]}"#,
                "Nodes[0].NodeResources.Memory.MemoryMB: invalid type",
            ),
            (r#"{"Version": 1, "Nodes": [{"Name": "a"}]}"#, "Nodes[0].ID is missing"),
            (r#"{"Version": 1, "Nodes": [{"ID": "a"}, {"ID": "a"}]}"#, "Nodes[1]: a is there twice"),
            ("[1]", "it is a list, not an object"),
            ("", "ends early"),
        ] {
            let got = problem(json);
            assert!(got.contains(want), "{json}: {got}");
        }
        assert!(read(&[0x7b, 0xff], "f").err().unwrap().to_string().contains("not UTF-8"));
        assert!(read(&[0x1f, 0x8b, 0, 0], "f").err().unwrap().to_string().contains("gzip"));
        assert!(read(&[0x28, 0xb5, 0x2f, 0xfd, 1], "f").err().unwrap().to_string().contains("zstd"));
        let deep = format!(r#"{{"Version": 1, "Nodes": {}"#, "[".repeat(100_000));
        assert!(problem(&deep).contains("not usable"));
    }

    #[test]
    fn allocations_share_the_stored_job() {
        let json = r#"{"Version": 1, "Index": 9, "Jobs": [{"ID": "j", "Namespace": "default", "Version": 2}],
            "Allocations": [{"ID": "a", "JobID": "j", "Namespace": "default", "JobVersion": 2},
                            {"ID": "b", "JobID": "j", "Namespace": "default", "JobVersion": 3}]}"#;
        let s = read(json.as_bytes(), "f").unwrap();
        let job = s.state.job("default", "j").unwrap();
        assert!(Arc::ptr_eq(job, s.state.alloc("a").unwrap().alloc.job.as_ref().unwrap()));
        assert!(s.state.alloc("b").unwrap().alloc.job.is_none());
        assert_eq!((s.state.index, s.notes.len()), (9, 1));
    }
}
