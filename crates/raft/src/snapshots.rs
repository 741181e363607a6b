//! Snapshot files: `<index>-<term>.snap`, or `<index>-<term>.received.snap` if another server created it; a header
//! (magic, version, length and checksum of the description, description), the state, and a trailer (length and checksum
//! of the state, magic). The two newest are retained.

use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use openraft::SnapshotMeta;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};

use super::error::StoreError;
use super::files::{self, UNFINISHED};
use super::machine::SnapshotWriter;
use super::repair::Damage;
use super::room::{Room, Sparing};
use super::types::{Peer, ServerId};
use encamp_host::disk::{self, File, Stream};
use encamp_model::capability::CapabilityLevel;
use encamp_ops::codec;

pub(super) const MAGIC: &[u8; 8] = b"ENCAMPSN";
pub(super) const END: &[u8; 8] = b"SNAPDONE";
/// Magic, version, length and checksum of the description.
pub(super) const HEAD: u64 = 8 + 4 + 4 + 4;
/// Length and checksum of the state, magic.
pub(super) const TAIL: u64 = 8 + 4 + 8;
/// Longest description that is believed, in bytes.
pub(super) const LONGEST_DESCRIPTION: u32 = 1 << 24;
/// How many bytes of a snapshot are written before they are made durable.
const MOST_LOOSE: usize = 8 << 20;
/// How many snapshots stay (`docs/spec/server.md §23`).
const KEPT: usize = 2;

/// The content of a snapshot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Description {
    pub meta: SnapshotMeta<ServerId, Peer>,
    /// Index of the last operation in it.
    pub index: u64,
    /// Index at which its membership was applied.
    pub membership_index: u64,
}

/// An intact snapshot.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub description: Description,
    pub path: PathBuf,
}

impl Found {
    /// Another server made it: this one's log may end before it, until what the snapshot replaces is dropped.
    pub(crate) fn is_received(&self) -> bool {
        self.path.to_string_lossy().ends_with(Origin::Received.suffix())
    }
}

/// The origin of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// This server, of its own state.
    Built,
    /// Another one.
    Received,
}

impl Origin {
    /// The end of the file's name.
    fn suffix(self) -> &'static str {
        match self {
            Origin::Built => ".snap",
            Origin::Received => ".received.snap",
        }
    }
}

/// The snapshots in a directory.
#[derive(Debug, Clone)]
pub(super) struct Snapshots {
    dir: PathBuf,
    /// The highest capability level that is read.
    supported: CapabilityLevel,
    /// The newest one, once it was checked or written.
    known: Arc<Mutex<Option<Found>>>,
    /// How many files were begun.
    begun: Arc<AtomicU64>,
}

/// Writes, counts and sums up.
struct Summed<W> {
    to: W,
    sum: crc32fast::Hasher,
    len: u64,
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.to.write(bytes)?;
        self.sum.update(&bytes[..n]);
        self.len += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Writes, and makes what was written durable bit by bit. All of it at once would hold up the log, whose writes the
/// file system makes durable together with those of other files.
struct Steady {
    file: File,
    /// Bytes that may not be durable yet.
    loose: usize,
}

impl Write for Steady {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.loose >= MOST_LOOSE {
            self.file.sync_data()?;
            self.loose = 0;
        }
        let n = self.file.write(bytes)?;
        self.loose += n;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Snapshots {
    pub(crate) fn open(dir: &Path, supported: CapabilityLevel) -> Result<Snapshots, StoreError> {
        files::make_dir(dir)?;
        files::remove_unfinished(dir)?;
        Ok(Snapshots { dir: dir.to_path_buf(), supported, known: Arc::default(), begun: Arc::default() })
    }

    /// The snapshots of a server that does not run; nothing is made or removed.
    pub(crate) fn existing(dir: &Path) -> Snapshots {
        Snapshots::existing_of(dir, CapabilityLevel::BUILD)
    }

    /// [`Snapshots::existing`] up to a capability level.
    pub(crate) fn existing_of(dir: &Path, supported: CapabilityLevel) -> Snapshots {
        Snapshots { dir: dir.to_path_buf(), supported, known: Arc::default(), begun: Arc::default() }
    }

    /// Paths of all snapshots, newest first.
    pub(crate) fn paths(&self) -> Result<Vec<PathBuf>, StoreError> {
        let names = files::names(&self.dir)?;
        Ok(names.iter().rev().filter(|n| n.ends_with(".snap")).map(|n| self.dir.join(n)).collect())
    }

    /// A number that no file before had: several may be written at the same time.
    pub(crate) fn next(&self) -> u64 {
        self.begun.fetch_add(1, Ordering::Relaxed)
    }

    /// Checks the newest snapshot again. A damaged one is set aside, so that it is sent to nobody.
    ///
    /// # Errors
    /// It can't be renamed.
    pub(crate) fn recheck(&self) -> Result<Option<Damage>, StoreError> {
        let Some(known) = self.known.lock().clone() else { return Ok(None) };
        let Err(error) = check_named(&known.path, self.supported) else { return Ok(None) };
        // Whatever keeps it from being read.
        let damage = Damage::of(&error).unwrap_or_else(|| Damage::new(&known.path, 0, error.to_string()));
        self.give_up(&damage)?;
        Ok(Some(damage))
    }

    /// Sets a damaged snapshot aside.
    ///
    /// # Errors
    /// It can't be renamed.
    pub(crate) fn give_up(&self, damage: &Damage) -> Result<(), StoreError> {
        let mut known = self.known.lock();
        if known.as_ref().is_some_and(|k| k.path == damage.path) {
            *known = None;
        }
        drop(known);
        match files::set_aside(&damage.path) {
            // A newer one has replaced it.
            Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    /// The newest intact snapshot. It is read to its end only once.
    pub(crate) fn current(&self) -> Result<Option<Found>, StoreError> {
        let known = self.known.lock().clone();
        if known.is_some() { Ok(known) } else { self.newest() }
    }

    /// The newest intact snapshot; all of it is checked. An error if a build of a higher capability level wrote all there
    /// are.
    pub(crate) fn newest(&self) -> Result<Option<Found>, StoreError> {
        let (found, damaged) = self.examine()?;
        for error in damaged {
            tracing::error!(target: "server.raft.snapshots", %error, "skipped a snapshot");
        }
        Ok(found)
    }

    /// [`Snapshots::newest`], and the problems of newer ones that are damaged.
    pub(crate) fn examine(&self) -> Result<(Option<Found>, Vec<StoreError>), StoreError> {
        let (mut newer, mut damaged) = (None, Vec::new());
        for path in self.paths()? {
            match check_named(&path, self.supported) {
                Ok(description) => {
                    let found = Found { description, path };
                    *self.known.lock() = Some(found.clone());
                    return Ok((Some(found), damaged));
                }
                // No build is so far ahead of its cluster: the number is not under a checksum.
                Err(StoreError::Newer { path, level, supported }) if level.number() > supported.number() + 2 => {
                    let why = format!("it has the capability level {level}, which no build has");
                    damaged.push(StoreError::Damaged { path, offset: 8, why });
                }
                Err(error @ StoreError::Newer { .. }) => {
                    tracing::error!(target: "server.raft.snapshots", %error, "skipped a snapshot");
                    newer.get_or_insert(error);
                }
                Err(error) => damaged.push(error),
            }
        }
        newer.map_or(Ok((None, damaged)), Err)
    }

    fn name(description: &Description, origin: Origin) -> String {
        let last = description.meta.last_log_id;
        let suffix = origin.suffix();
        format!("{:020}-{:020}{suffix}", last.map_or(0, |l| l.index), last.map_or(0, |l| l.leader_id.term))
    }

    /// Writes a snapshot; it is there, durably, when this returns.
    pub(crate) fn write(
        &self,
        description: &Description,
        state: Box<dyn SnapshotWriter>,
    ) -> Result<PathBuf, StoreError> {
        let (n, name) = (self.next(), Self::name(description, Origin::Built));
        let temporary = self.dir.join(format!("{UNFINISHED}build-{n}-{name}"));
        let written = write_file(&temporary, description, state);
        let written = written.and_then(|()| self.adopt(&temporary, description, Origin::Built));
        if written.is_err() {
            // The disk may be full; the file would keep it so.
            let _ = files::remove(&temporary);
        }
        written
    }

    /// Gives a complete file its name and removes old snapshots.
    pub(crate) fn adopt(
        &self,
        temporary: &Path,
        description: &Description,
        origin: Origin,
    ) -> Result<PathBuf, StoreError> {
        let path = self.dir.join(Self::name(description, origin));
        disk::rename(temporary, &path).map_err(StoreError::io("rename", temporary))?;
        files::sync_dir(&self.dir)?;
        let mut known = self.known.lock();
        // One that took long to write may be older than one that was received meanwhile.
        if known.as_ref().is_none_or(|k| k.description.meta.last_log_id <= description.meta.last_log_id) {
            *known = Some(Found { description: description.clone(), path: path.clone() });
        }
        drop(known);
        for old in self.paths()?.iter().skip(KEPT) {
            files::remove(old)?;
        }
        Ok(path)
    }

    /// An empty file for a snapshot that another server sends.
    pub(crate) fn receive(&self) -> Result<SnapshotFile, StoreError> {
        let path = self.dir.join(format!("{UNFINISHED}received-{}", self.next()));
        let file = files::create(&path)?;
        Ok(SnapshotFile { file: file.into_stream(), path, received: true })
    }

    /// Makes a received snapshot the newest one, if it is intact. `file` may also be another server's own snapshot.
    pub(crate) fn install(
        &self,
        file: &SnapshotFile,
        meta: &SnapshotMeta<ServerId, Peer>,
    ) -> Result<Found, StoreError> {
        let description = check(&file.path, self.supported)?;
        if description.meta != *meta {
            let why = format!("it holds {}, not {meta}", description.meta);
            return Err(StoreError::Damaged { path: file.path.clone(), offset: HEAD, why });
        }
        let mut temporary = file.path.clone();
        if !file.received {
            temporary = self.dir.join(format!("{UNFINISHED}copied-{}", Self::name(&description, Origin::Received)));
            disk::copy(&file.path, &temporary).map_err(StoreError::io("copy", &file.path))?;
        }
        let sync = disk::open(&temporary).and_then(|f| f.sync_all());
        sync.map_err(StoreError::io("sync", &temporary))?;
        let path = self.adopt(&temporary, &description, Origin::Received)?;
        Ok(Found { description, path })
    }
}

fn write_file(path: &Path, description: &Description, state: Box<dyn SnapshotWriter>) -> Result<(), StoreError> {
    let failed = || StoreError::io("write", path);
    let encoded = codec::encode(description).map_err(|e| failed()(io::Error::other(e)))?;
    let mut file = BufWriter::with_capacity(1 << 20, Steady { file: files::create(path)?, loose: 0 });
    let mut head = MAGIC.to_vec();
    head.extend_from_slice(&files::format_of(state.level()).to_le_bytes());
    head.extend_from_slice(&(encoded.len() as u32).to_le_bytes());
    head.extend_from_slice(&crc32fast::hash(&encoded).to_le_bytes());
    file.write_all(&head).and_then(|()| file.write_all(&encoded)).map_err(failed())?;
    let to = Sparing::new(&mut file, Room::of(path.parent().unwrap_or(path)));
    let mut body = Summed { to, sum: crc32fast::Hasher::new(), len: 0 };
    state.write(&mut body).map_err(failed())?;
    let (sum, len) = (body.sum.finalize(), body.len);
    let mut tail = len.to_le_bytes().to_vec();
    tail.extend_from_slice(&sum.to_le_bytes());
    tail.extend_from_slice(END);
    file.write_all(&tail).map_err(failed())?;
    let steady = file.into_inner().map_err(|e| failed()(e.into_error()))?;
    steady.file.sync_all().map_err(StoreError::io("sync", path))
}

/// Reads the head; returns where the state begins and how long it is.
fn open(path: &Path, supported: CapabilityLevel) -> Result<(File, Description, u64, u64), StoreError> {
    let failed = || StoreError::io("read", path);
    let damaged = |offset, why: &str| StoreError::Damaged { path: path.to_path_buf(), offset, why: why.into() };
    let mut file = disk::open(path).map_err(failed())?;
    let length = file.length().map_err(failed())?;
    if length < HEAD + TAIL {
        return Err(damaged(length, "the snapshot is cut off"));
    }
    let mut head = [0; HEAD as usize];
    file.read_exact(&mut head).map_err(failed())?;
    let number = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    if !head.starts_with(MAGIC) {
        return Err(damaged(0, "it is not a snapshot"));
    }
    files::level_of(path, number(8), supported)?;
    let (described, sum) = (number(12), number(16));
    let start = HEAD + u64::from(described);
    if described > LONGEST_DESCRIPTION || length < start + TAIL {
        return Err(damaged(length, "the snapshot is cut off"));
    }
    let mut encoded = vec![0; described as usize];
    file.read_exact(&mut encoded).map_err(failed())?;
    if crc32fast::hash(&encoded) != sum {
        return Err(damaged(HEAD, "the description has a wrong checksum"));
    }
    let description = codec::decode(&encoded).map_err(|e| damaged(HEAD, &e.to_string()))?;
    Ok((file, description, start, length - start - TAIL))
}

/// Reads all of it and compares the checksums.
fn check(path: &Path, supported: CapabilityLevel) -> Result<Description, StoreError> {
    let failed = || StoreError::io("read", path);
    let damaged = |offset, why: &str| StoreError::Damaged { path: path.to_path_buf(), offset, why: why.into() };
    let (file, description, start, len) = open(path, supported)?;
    let mut from = BufReader::with_capacity(1 << 20, file);
    let mut sum = Summed { to: io::sink(), sum: crc32fast::Hasher::new(), len: 0 };
    io::copy(&mut (&mut from).take(len), &mut sum).map_err(failed())?;
    let mut tail = [0; TAIL as usize];
    from.read_exact(&mut tail).map_err(failed())?;
    let mut expected = len.to_le_bytes().to_vec();
    expected.extend_from_slice(&sum.sum.finalize().to_le_bytes());
    expected.extend_from_slice(END);
    if tail != *expected {
        return Err(damaged(start, "the state has a wrong checksum, or was not written to its end"));
    }
    Ok(description)
}

/// [`check`], and whether the name is that of the content: an older copy has another.
fn check_named(path: &Path, supported: CapabilityLevel) -> Result<Description, StoreError> {
    let description = check(path, supported)?;
    let name = path.file_name().and_then(|n| n.to_str());
    if [Origin::Built, Origin::Received].iter().any(|o| name == Some(&Snapshots::name(&description, *o))) {
        return Ok(description);
    }
    let why = format!("it holds the state up to entry {}", description.meta.last_log_id.map_or(0, |l| l.index));
    Err(StoreError::Damaged { path: path.to_path_buf(), offset: HEAD, why })
}

/// The state in a snapshot that was checked.
pub(super) fn state(path: &Path) -> Result<impl Read, StoreError> {
    let (mut file, _, start, len) = open(path, CapabilityLevel::BUILD)?;
    file.seek(SeekFrom::Start(start)).map_err(StoreError::io("read", path))?;
    Ok(BufReader::with_capacity(1 << 20, file).take(len))
}

/// A snapshot in transfer between servers: the entire file.
#[derive(Debug)]
pub struct SnapshotFile {
    file: Stream,
    path: PathBuf,
    /// Removed when dropped, unless it has been given its name.
    received: bool,
}

impl SnapshotFile {
    /// Opens a snapshot for reading.
    pub(super) fn open(path: &Path) -> Result<SnapshotFile, StoreError> {
        let file = disk::open(path).map_err(StoreError::io("open", path))?;
        Ok(SnapshotFile { file: file.into_stream(), path: path.to_path_buf(), received: false })
    }

    /// Stands for a snapshot that could not be made.
    pub(super) fn nothing() -> Result<SnapshotFile, StoreError> {
        SnapshotFile::open(Path::new("/dev/null"))
    }

    /// Waits until all that was received is in the file.
    pub(super) async fn flush(&mut self) -> Result<(), StoreError> {
        let flushed = tokio::io::AsyncWriteExt::flush(&mut self.file).await;
        flushed.map_err(StoreError::io("write", &self.path))
    }
}

impl Drop for SnapshotFile {
    fn drop(&mut self) {
        if self.received {
            let _ = files::remove(&self.path);
        }
    }
}

impl AsyncRead for SnapshotFile {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.file).poll_read(cx, buf)
    }
}

impl AsyncWrite for SnapshotFile {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.file).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.file).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.file).poll_shutdown(cx)
    }
}

impl AsyncSeek for SnapshotFile {
    fn start_seek(mut self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        Pin::new(&mut self.file).start_seek(position)
    }

    fn poll_complete(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        Pin::new(&mut self.file).poll_complete(cx)
    }
}
