//! Writes snapshot files (`docs/reference/snapshot-format.md`): one object per line, without zero members.
//!
//! The text is never in memory as a whole: objects are written one by one, and allocations can come from an iterator
//! that generates them on demand. What is compressed with zstd is a series of frames of whole lines, so that several
//! threads can decompress it.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use super::compact;
use super::file::{FORMAT_VERSION, SnapshotFile};
use super::replace::{make_private, replace};
use encamp_model::Allocation;

/// Bytes that are collected before they are compressed or written.
const BUFFER: usize = 256 << 10;
/// Text that a frame of a file compressed with zstd holds, and what is left of the last line. Smaller frames compress
/// worse, and with larger ones threads that decompress them need more memory.
const FRAME: usize = 4 << 20;

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// gzip.
    Gzip,
    /// zstd.
    Zstd,
}

impl Compression {
    /// The compression that the ending of a file's name selects: `.gz`, `.zst`, or anything else.
    pub(crate) fn of_name(path: &Path) -> Compression {
        match path.extension().and_then(|e| e.to_str()) {
            Some("gz") => Compression::Gzip,
            Some("zst") => Compression::Zstd,
            _ => Compression::None,
        }
    }
}

/// Writes a snapshot: the file's own allocations and then the `more` ones.
pub fn write(
    out: &mut dyn Write,
    compression: Compression,
    file: &SnapshotFile,
    more: impl IntoIterator<Item = Allocation>,
) -> io::Result<()> {
    match compression {
        Compression::None => write_json(out, file, more),
        Compression::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(out, flate2::Compression::default());
            write_json(&mut encoder, file, more)?;
            encoder.finish().map(drop)
        }
        Compression::Zstd => {
            let mut frames = Frames::new(out, FRAME)?;
            write_json(&mut frames, file, more)?;
            frames.finish()
        }
    }
}

/// Writes a snapshot file, compressed as its name says, and returns its size in bytes. The file appears when it is
/// complete and on disk; until then, and after a failure, what was there before stays.
pub fn save(path: &Path, file: &SnapshotFile, more: impl IntoIterator<Item = Allocation>) -> io::Result<u64> {
    replace(path, |temporary| write_buffered(temporary, path, file, more))
}

/// The same for a file that only its owner may read: snapshots of real clusters hold what jobs are given.
pub fn save_private(path: &Path, file: &SnapshotFile) -> io::Result<u64> {
    replace(path, |temporary| {
        make_private(temporary)?;
        write_buffered(temporary, path, file, [])
    })
}

fn write_buffered(
    target: &mut File,
    path: &Path,
    file: &SnapshotFile,
    more: impl IntoIterator<Item = Allocation>,
) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(BUFFER, target);
    write(&mut out, Compression::of_name(path), file, more)?;
    out.flush()
}

/// Writes the text.
fn write_json(out: &mut dyn Write, file: &SnapshotFile, more: impl IntoIterator<Item = Allocation>) -> io::Result<()> {
    // Named one by one, so that a new member can't be forgotten.
    let SnapshotFile {
        version,
        taken_at,
        source,
        index,
        scheduler_configuration,
        server_settings,
        nodes,
        node_pools,
        namespaces,
        jobs,
        allocations,
        allocation_jobs,
        deployments,
        volumes,
        host_volume_claims,
    } = file;
    let mut text = Text { out, buffer: Vec::with_capacity(BUFFER.saturating_mul(2)), members: 0 };
    text.member("Version", &version.unwrap_or(FORMAT_VERSION))?;
    if !taken_at.is_zero() {
        text.member("TakenAt", taken_at)?;
    }
    if !source.is_empty() {
        text.member("Source", source)?;
    }
    text.member("Index", index)?;
    if let Some(configuration) = scheduler_configuration {
        text.member("SchedulerConfiguration", configuration)?;
    }
    if let Some(settings) = server_settings {
        text.member("ServerSettings", settings)?;
    }
    text.list("NodePools", node_pools)?;
    text.list("Namespaces", namespaces)?;
    text.list("Nodes", nodes)?;
    text.list("Jobs", jobs)?;
    text.list("AllocationJobs", allocation_jobs)?;
    text.list("Deployments", deployments)?;
    text.list("Volumes", volumes)?;
    text.list("HostVolumeClaims", host_volume_claims)?;
    text.list("Allocations", allocations.iter().cloned().chain(more.into_iter().map(Arc::new)))?;
    text.buffer.extend_from_slice(b"\n}\n");
    text.flush(0)
}

/// Compresses a text with zstd, in frames of whole lines that can be decompressed independently of each other.
struct Frames<'a> {
    out: &'a mut dyn Write,
    compressor: zstd::bulk::Compressor<'static>,
    length: usize,
    /// What no frame holds yet.
    text: Vec<u8>,
}

impl<'a> Frames<'a> {
    /// Frames of at least so many bytes of text.
    fn new(out: &'a mut dyn Write, length: usize) -> io::Result<Frames<'a>> {
        let mut compressor = zstd::bulk::Compressor::new(zstd::DEFAULT_COMPRESSION_LEVEL)?;
        compressor.include_checksum(true)?;
        Ok(Frames { out, compressor, length, text: Vec::new() })
    }

    /// Writes a frame of the first bytes of the text.
    fn cut(&mut self, end: usize) -> io::Result<()> {
        let text = self.text.get(..end).unwrap_or_default();
        self.out.write_all(&self.compressor.compress(text)?)?;
        self.text.drain(..end);
        Ok(())
    }

    fn finish(mut self) -> io::Result<()> {
        if self.text.is_empty() { Ok(()) } else { self.cut(self.text.len()) }
    }
}

impl Write for Frames<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        if self.text.len() >= self.length
            && let Some(last) = memchr::memrchr(b'\n', &self.text)
        {
            self.cut(last + 1)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

struct Text<'a> {
    out: &'a mut dyn Write,
    buffer: Vec<u8>,
    members: usize,
}

impl Text<'_> {
    fn name(&mut self, name: &str) -> io::Result<()> {
        self.buffer.extend_from_slice(if self.members == 0 { b"{\n" } else { b",\n" });
        self.members += 1;
        serde_json::to_writer(&mut self.buffer, name)?;
        self.buffer.push(b':');
        Ok(())
    }

    fn member<T: Serialize>(&mut self, name: &str, value: &T) -> io::Result<()> {
        self.name(name)?;
        compact::write(&mut self.buffer, value)?;
        Ok(())
    }

    fn list<T: Serialize>(&mut self, name: &str, items: impl IntoIterator<Item = T>) -> io::Result<()> {
        let mut items = items.into_iter().peekable();
        if items.peek().is_none() {
            return Ok(());
        }
        self.name(name)?;
        let mut before: &[u8] = b"[\n";
        for item in items {
            self.buffer.extend_from_slice(before);
            before = b",\n";
            compact::write(&mut self.buffer, &item)?;
            self.flush(BUFFER)?;
        }
        self.buffer.extend_from_slice(b"\n]");
        Ok(())
    }

    /// Hands on what is collected, if it is that much.
    fn flush(&mut self, at_least: usize) -> io::Result<()> {
        if self.buffer.len() >= at_least {
            self.out.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::Volume;
    use encamp_model::*;

    fn sample() -> SnapshotFile {
        let text = |s: &str| s.to_string();
        let mut csi = CsiVolume { id: text("v"), namespace: text("default"), schedulable: true, ..Default::default() };
        csi.write_allocs.insert(text("a"), None);
        let host =
            HostVolume { id: text("h"), node_id: text("n"), state: HostVolumeState::Ready, ..Default::default() };
        let claim = TaskGroupHostVolumeClaim { id: text("c"), volume_id: text("h"), ..Default::default() };
        let tracked = |id: &str, events| Allocation {
            id: text(id).into(),
            job_id: text("j").into(),
            stored_job_version: Some(0),
            deployment_status: Some(Box::new(AllocDeploymentStatus { healthy: Some(false), ..Default::default() })),
            reschedule_tracker: Some(Box::new(RescheduleTracker { events, ..Default::default() })),
            ..Default::default()
        };
        SnapshotFile {
            version: Some(FORMAT_VERSION),
            taken_at: Time::from_unix_nanos(SECOND),
            source: text("\u{2028}\"\\ test"),
            index: 7,
            scheduler_configuration: Some(SchedulerConfiguration::default()),
            server_settings: Some(ServerSettings::default()),
            nodes: vec![Node { id: text("n"), ..Default::default() }],
            node_pools: vec![NodePool { name: text("all"), ..Default::default() }],
            namespaces: vec![Namespace { name: text("default"), ..Default::default() }],
            jobs: vec![Job { id: text("j"), namespace: text("default"), ..Default::default() }],
            allocations: vec![tracked("a", None).into(), tracked("b", Some(Vec::new())).into()],
            allocation_jobs: vec![Job { id: text("j"), stable: true, ..Default::default() }],
            deployments: vec![Deployment { id: text("d"), ..Default::default() }],
            volumes: vec![Volume::Csi(Box::new(csi)), Volume::Host(Box::new(host))],
            host_volume_claims: vec![claim],
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        for file in [sample(), SnapshotFile { version: Some(FORMAT_VERSION), ..Default::default() }] {
            let mut text = Vec::new();
            write(&mut text, Compression::None, &file, []).unwrap();
            let back: SnapshotFile = serde_json::from_slice(&text).unwrap();
            assert_eq!(serde_json::to_value(&back).unwrap(), serde_json::to_value(&file).unwrap());
        }
        let mut file = sample();
        let mut whole = Vec::new();
        write(&mut whole, Compression::None, &file, []).unwrap();
        let mut parts = Vec::new();
        let more = file.allocations.split_off(1);
        write(&mut parts, Compression::None, &file, more.into_iter().map(std::sync::Arc::unwrap_or_clone)).unwrap();
        assert_eq!(parts, whole);
        assert_eq!(sample().allocations.len(), whole.windows(8).filter(|w| w == b"\"JobID\":").count());
    }

    #[test]
    fn frames_hold_whole_lines() {
        let mut text = Vec::new();
        write(&mut text, Compression::None, &sample(), []).unwrap();
        for length in [1, 50, 1000, 1 << 20] {
            let mut compressed = Vec::new();
            let mut frames = Frames::new(&mut compressed, length).unwrap();
            text.chunks(7).for_each(|piece| frames.write_all(piece).unwrap());
            frames.finish().unwrap();
            assert_eq!(zstd::stream::decode_all(&compressed[..]).unwrap(), text, "{length}");
            let (mut rest, mut count) = (&compressed[..], 0);
            while !rest.is_empty() {
                let (frame, behind) = rest.split_at(zstd::zstd_safe::find_frame_compressed_size(rest).unwrap());
                let lines = zstd::bulk::decompress(frame, text.len()).unwrap();
                assert!(lines.ends_with(b"\n"), "{length}");
                (rest, count) = (behind, count + 1);
            }
            assert_eq!(count > 1, length < 1000, "{length}: {count} frames");
        }
    }

    #[test]
    fn the_name_says_how_to_compress() {
        let of = |name: &str| Compression::of_name(Path::new(name));
        assert_eq!([of("a.json.gz"), of("a.zst")], [Compression::Gzip, Compression::Zstd]);
        assert!(["a.json", "gz", ".zst", "a.gz.json", "a.GZ"].iter().all(|name| of(name) == Compression::None));
    }

    /// Takes so many bytes and no more.
    struct Full(usize);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_is_an_error() {
        for compression in [Compression::None, Compression::Gzip, Compression::Zstd] {
            for room in [0, 20, 100] {
                let error = write(&mut Full(room), compression, &sample(), []).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::StorageFull, "{compression:?} {room}");
            }
        }
    }

    #[test]
    fn only_complete_files_appear() {
        let folder = std::env::temp_dir().join(format!("encamp-save-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("x.json");
        let panicking = std::panic::catch_unwind(|| {
            let more = std::iter::from_fn(|| -> Option<Allocation> { panic!("half-way") });
            save(&path, &sample(), more)
        });
        assert!(panicking.is_err());
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "something is left");
        let size = save(&path, &sample(), []).unwrap();
        assert_eq!(std::fs::read(&path).unwrap().len() as u64, size);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
