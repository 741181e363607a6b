//! Durable files. On threads of a [simulation](mod@crate::simulation) they may be on a simulated disk, which knows what
//! a crash would lose.

use std::fs::{self, DirBuilder, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};

use crate::platform::files::{DirBuilderExt, FileExt, OpenOptionsExt, forget_cached, sync_directory};
use crate::simulation::{self, disk_of};

/// An open file.
#[derive(Debug)]
pub enum File {
    /// In the file system.
    Os(fs::File),
    /// On a simulated disk.
    Simulated(Simulated),
}

/// An open file on a simulated disk, with its current position.
#[derive(Debug)]
pub struct Simulated {
    file: Box<dyn simulation::File>,
    at: Mutex<u64>,
}

impl Simulated {
    fn file(file: Box<dyn simulation::File>) -> File {
        File::Simulated(Simulated { file, at: Mutex::new(0) })
    }

    fn read(&self, into: &mut [u8]) -> io::Result<usize> {
        let mut at = self.at.lock();
        let left = usize::try_from(self.file.length().saturating_sub(*at)).unwrap_or(usize::MAX);
        let n = left.min(into.len());
        if n == 0 {
            return Ok(0);
        }
        self.file.read_at(&mut into[..n], *at)?;
        *at += n as u64;
        Ok(n)
    }

    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut at = self.at.lock();
        self.file.write_at(bytes, *at);
        *at += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn seek(&self, to: SeekFrom) -> io::Result<u64> {
        let mut at = self.at.lock();
        let (base, by) = match to {
            SeekFrom::Start(n) => (0, n as i64),
            SeekFrom::End(n) => (self.file.length(), n),
            SeekFrom::Current(n) => (*at, n),
        };
        *at = base.checked_add_signed(by).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(*at)
    }
}

/// Makes the directory, for the server's user alone, and its parents.
pub fn make_dir(dir: &Path) -> io::Result<()> {
    if disk_of(dir).is_some() {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// Opens a new, empty file, for the server's user alone.
pub fn create(path: &Path) -> io::Result<File> {
    if let Some(disk) = disk_of(path) {
        return disk.create(path).map(Simulated::file);
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(true).mode(0o600);
    options.open(path).map(File::Os)
}

/// Opens a file for reading.
pub fn open(path: &Path) -> io::Result<File> {
    if let Some(disk) = disk_of(path) {
        return disk.open(path).map(Simulated::file);
    }
    fs::File::open(path).map(File::Os)
}

/// Opens a file for reading and writing.
pub fn open_writable(path: &Path) -> io::Result<File> {
    if let Some(disk) = disk_of(path) {
        return disk.open(path).map(Simulated::file);
    }
    OpenOptions::new().read(true).write(true).open(path).map(File::Os)
}

/// Makes names in the directory durable.
pub fn sync_dir(dir: &Path) -> io::Result<()> {
    if let Some(disk) = disk_of(dir) {
        return disk.sync_dir(dir);
    }
    sync_directory(dir)
}

/// Removes a file.
pub fn remove(path: &Path) -> io::Result<()> {
    if let Some(disk) = disk_of(path) {
        return disk.remove(path);
    }
    fs::remove_file(path)
}

/// Gives a file another name; a file that had it is gone.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    if let Some(disk) = disk_of(from) {
        return disk.rename(from, to);
    }
    fs::rename(from, to)
}

/// Replaces a file durably, for the server's user alone: after a crash it has the old content or the new one.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut draft = path.as_os_str().to_owned();
    draft.push(".new");
    let draft = Path::new(&draft);
    let mut file = create(draft)?;
    file.write_all(content)?;
    file.sync_all()?;
    rename(draft, path)?;
    path.parent().map_or(Ok(()), sync_dir)
}

/// Copies a file.
pub fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if disk_of(from).is_some() {
        return io::copy(&mut open(from)?, &mut create(to)?).map(drop);
    }
    fs::copy(from, to).map(drop)
}

/// Names in the directory, in any order. Those that are no text are left out.
pub fn names(dir: &Path) -> io::Result<Vec<String>> {
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
            File::Simulated(on) => Ok(on.file.length()),
        }
    }

    /// Cuts it, or fills it with zeros.
    pub fn set_len(&self, length: u64) -> io::Result<()> {
        match self {
            File::Os(file) => file.set_len(length),
            File::Simulated(on) => {
                on.file.set_length(length);
                Ok(())
            }
        }
    }

    /// Writes all of it at a place.
    pub fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        match self {
            File::Os(file) => file.write_all_at(bytes, at),
            File::Simulated(on) => {
                on.file.write_at(bytes, at);
                Ok(())
            }
        }
    }

    /// Reads from a place as much as was asked for.
    pub fn read_exact_at(&self, into: &mut [u8], at: u64) -> io::Result<()> {
        match self {
            File::Os(file) => file.read_exact_at(into, at),
            File::Simulated(on) => on.file.read_at(into, at),
        }
    }

    /// Makes content and length durable.
    pub fn sync_all(&self) -> io::Result<()> {
        match self {
            File::Os(file) => file.sync_all(),
            File::Simulated(on) => on.file.sync(false),
        }
    }

    /// Makes content durable, and the length if it is needed to read it.
    pub fn sync_data(&self) -> io::Result<()> {
        match self {
            File::Os(file) => file.sync_data(),
            File::Simulated(on) => on.file.sync(true),
        }
    }

    /// Locks it for this process alone, if nobody else has done so.
    pub fn lock(&self) -> Result<(), TryLockError> {
        match self {
            File::Os(file) => file.try_lock(),
            File::Simulated(_) => Ok(()),
        }
    }

    /// Has the system forget what it holds of the file in memory, where it can, so that the disk is read next.
    pub fn forget(&self) {
        if let File::Os(file) = self {
            // Without it, what is in memory is read.
            forget_cached(file);
        }
    }

    /// The same file for the asynchronous runtime.
    pub fn into_stream(self) -> Stream {
        match self {
            File::Os(file) => Stream::Os(tokio::fs::File::from_std(file)),
            File::Simulated(on) => Stream::Simulated(on),
        }
    }
}

impl Read for &File {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            File::Os(file) => (&mut &*file).read(into),
            File::Simulated(on) => on.read(into),
        }
    }
}

impl Write for &File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            File::Os(file) => (&mut &*file).write(bytes),
            File::Simulated(on) => on.write(bytes),
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
            File::Simulated(on) => on.seek(to),
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
pub enum Stream {
    /// In the file system.
    Os(tokio::fs::File),
    /// On a simulated disk.
    Simulated(Simulated),
}

impl AsyncRead for Stream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Stream::Os(file) => Pin::new(file).poll_read(cx, buf),
            Stream::Simulated(on) => {
                let n = on.read(buf.initialize_unfilled())?;
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
            Stream::Simulated(on) => Poll::Ready(on.write(bytes)),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Stream::Os(file) => Pin::new(file).poll_flush(cx),
            Stream::Simulated(_) => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Stream::Os(file) => Pin::new(file).poll_shutdown(cx),
            Stream::Simulated(_) => Poll::Ready(Ok(())),
        }
    }
}

impl AsyncSeek for Stream {
    fn start_seek(mut self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        match &mut *self {
            Stream::Os(file) => Pin::new(file).start_seek(position),
            Stream::Simulated(on) => on.seek(position).map(drop),
        }
    }

    fn poll_complete(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        match &mut *self {
            Stream::Os(file) => Pin::new(file).poll_complete(cx),
            Stream::Simulated(on) => Poll::Ready(on.seek(SeekFrom::Current(0))),
        }
    }
}
