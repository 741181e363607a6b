//! Where the files of consensus lie: in the file system. In the deterministic test of a cluster, paths below `/simulated` are on
//! disks in memory, which know what a crash would lose.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};

use rustix::fs::{FlockOperation, flock};
use tokio::io::{AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};

#[cfg(test)]
use crate::deterministic::disk as simulated;
#[cfg(test)]
use crate::deterministic::sim::disk_of;

/// An open file.
#[derive(Debug)]
pub(super) enum File {
    Os(fs::File),
    #[cfg(test)]
    Simulated(simulated::File),
}

/// Makes the directory, for the server's user alone, and its parents.
pub(super) fn make_dir(dir: &Path) -> io::Result<()> {
    #[cfg(test)]
    if disk_of(dir).is_some() {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// Opens a new, empty file, for the server's user alone.
pub(super) fn create(path: &Path) -> io::Result<File> {
    #[cfg(test)]
    if let Some(disk) = disk_of(path) {
        return disk.create(path).map(File::Simulated);
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(true).mode(0o600);
    options.open(path).map(File::Os)
}

/// Opens a file for reading.
pub(super) fn open(path: &Path) -> io::Result<File> {
    #[cfg(test)]
    if let Some(disk) = disk_of(path) {
        return disk.open(path).map(File::Simulated);
    }
    fs::File::open(path).map(File::Os)
}

/// Opens a file for reading and writing.
pub(super) fn open_writable(path: &Path) -> io::Result<File> {
    #[cfg(test)]
    if let Some(disk) = disk_of(path) {
        return disk.open(path).map(File::Simulated);
    }
    OpenOptions::new().read(true).write(true).open(path).map(File::Os)
}

/// Makes names in the directory durable.
pub(super) fn sync_dir(dir: &Path) -> io::Result<()> {
    #[cfg(test)]
    if let Some(disk) = disk_of(dir) {
        return disk.sync_dir(dir);
    }
    fs::File::open(dir).and_then(|d| d.sync_all())
}

/// Removes a file.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    #[cfg(test)]
    if let Some(disk) = disk_of(path) {
        return disk.remove(path);
    }
    fs::remove_file(path)
}

/// Gives a file another name; a file that had it is gone.
pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(test)]
    if let Some(disk) = disk_of(from) {
        return disk.rename(from, to);
    }
    fs::rename(from, to)
}

/// Copies a file.
pub(super) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(test)]
    if disk_of(from).is_some() {
        return io::copy(&mut open(from)?, &mut create(to)?).map(drop);
    }
    fs::copy(from, to).map(drop)
}

/// Names in the directory, in any order. Those that are no text are left out.
pub(super) fn names(dir: &Path) -> io::Result<Vec<String>> {
    #[cfg(test)]
    if let Some(disk) = disk_of(dir) {
        return Ok(disk.names(dir));
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(dir)? {
        names.extend(entry?.file_name().into_string());
    }
    Ok(names)
}

impl File {
    /// Its length in bytes.
    pub fn length(&self) -> io::Result<u64> {
        match self {
            File::Os(file) => file.metadata().map(|m| m.len()),
            #[cfg(test)]
            File::Simulated(file) => Ok(file.length()),
        }
    }

    /// Cuts it, or fills it with zeros.
    pub fn set_len(&self, length: u64) -> io::Result<()> {
        match self {
            File::Os(file) => file.set_len(length),
            #[cfg(test)]
            File::Simulated(file) => {
                file.set_length(length);
                Ok(())
            }
        }
    }

    /// Writes all of it at a place.
    pub fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        match self {
            File::Os(file) => file.write_all_at(bytes, at),
            #[cfg(test)]
            File::Simulated(file) => {
                file.write_at(bytes, at);
                Ok(())
            }
        }
    }

    /// Reads from a place as much as was asked for.
    pub fn read_exact_at(&self, into: &mut [u8], at: u64) -> io::Result<()> {
        match self {
            File::Os(file) => file.read_exact_at(into, at),
            #[cfg(test)]
            File::Simulated(file) => file.read_at(into, at),
        }
    }

    /// Makes content and length durable.
    pub fn sync_all(&self) -> io::Result<()> {
        match self {
            File::Os(file) => file.sync_all(),
            #[cfg(test)]
            File::Simulated(file) => file.sync(false),
        }
    }

    /// Makes content durable, and the length if it is needed to read it.
    pub fn sync_data(&self) -> io::Result<()> {
        match self {
            File::Os(file) => file.sync_data(),
            #[cfg(test)]
            File::Simulated(file) => file.sync(true),
        }
    }

    /// Locks it for this process alone, if nobody else has done so.
    pub fn lock(&self) -> rustix::io::Result<()> {
        match self {
            File::Os(file) => flock(file, FlockOperation::NonBlockingLockExclusive),
            #[cfg(test)]
            File::Simulated(_) => Ok(()),
        }
    }

    /// The same file for the asynchronous runtime.
    pub fn into_stream(self) -> Stream {
        match self {
            File::Os(file) => Stream::Os(tokio::fs::File::from_std(file)),
            #[cfg(test)]
            File::Simulated(file) => Stream::Simulated(file),
        }
    }
}

impl Read for &File {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            File::Os(file) => (&mut &*file).read(into),
            #[cfg(test)]
            File::Simulated(file) => (&mut &*file).read(into),
        }
    }
}

impl Write for &File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            File::Os(file) => (&mut &*file).write(bytes),
            #[cfg(test)]
            File::Simulated(file) => (&mut &*file).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for &File {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            File::Os(file) => (&mut &*file).seek(to),
            #[cfg(test)]
            File::Simulated(file) => (&mut &*file).seek(to),
        }
    }
}

impl Read for File {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        (&*self).read(into)
    }
}

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for File {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        (&*self).seek(to)
    }
}

/// An open file of the asynchronous runtime.
#[derive(Debug)]
pub(super) enum Stream {
    Os(tokio::fs::File),
    #[cfg(test)]
    Simulated(simulated::File),
}

impl AsyncRead for Stream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Stream::Os(file) => Pin::new(file).poll_read(cx, buf),
            #[cfg(test)]
            Stream::Simulated(file) => {
                let n = (&*file).read(buf.initialize_unfilled())?;
                buf.advance(n);
                Poll::Ready(Ok(()))
            }
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut *self {
            Stream::Os(file) => Pin::new(file).poll_write(cx, bytes),
            #[cfg(test)]
            Stream::Simulated(file) => Poll::Ready((&*file).write(bytes)),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Stream::Os(file) => Pin::new(file).poll_flush(cx),
            #[cfg(test)]
            Stream::Simulated(_) => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Stream::Os(file) => Pin::new(file).poll_shutdown(cx),
            #[cfg(test)]
            Stream::Simulated(_) => Poll::Ready(Ok(())),
        }
    }
}

impl AsyncSeek for Stream {
    fn start_seek(mut self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        match &mut *self {
            Stream::Os(file) => Pin::new(file).start_seek(position),
            #[cfg(test)]
            Stream::Simulated(file) => (&*file).seek(position).map(drop),
        }
    }

    fn poll_complete(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        match &mut *self {
            Stream::Os(file) => Pin::new(file).poll_complete(cx),
            #[cfg(test)]
            Stream::Simulated(file) => Poll::Ready((&*file).stream_position()),
        }
    }
}
