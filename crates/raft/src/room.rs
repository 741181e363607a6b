//! Free disk space. Operations are refused before the disk is full: a log that could not be written accepts nothing
//! until the server is restarted, while refusals end as soon as there is space.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use encamp_host::platform::files;

use super::error::StoreError;

/// Disk space that is kept free for in-flight writes and for votes, in bytes.
const RESERVE: u64 = 16 << 20;
/// How much of a large file is written between two checks, in bytes.
const LOOK: usize = 1 << 20;
/// On small disks, the share of the disk that is kept free: one of so many.
const SHARE: u64 = 32;

/// The disk that holds a directory.
#[derive(Debug, Clone)]
pub(super) struct Room(PathBuf);

impl Room {
    pub(crate) fn of(dir: &Path) -> Room {
        Room(dir.to_path_buf())
    }

    /// Whether more may be written. A disk that does not report its free space counts as free.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        files::space(&self.0).map_or(Ok(()), |disk| judge(&self.0, disk.free, disk.total))
    }
}

fn judge(dir: &Path, free: u64, total: u64) -> Result<(), StoreError> {
    let reserve = RESERVE.min(total / SHARE);
    if free >= reserve { Ok(()) } else { Err(StoreError::NoRoom { path: dir.to_path_buf(), free, reserve }) }
}

/// Writes as long as more than that is free.
pub(super) struct Sparing<W> {
    to: W,
    room: Room,
    /// How much may be written until it is looked again.
    left: usize,
}

impl<W: Write> Sparing<W> {
    pub(crate) fn new(to: W, room: Room) -> Sparing<W> {
        Sparing { to, room, left: 0 }
    }
}

impl<W: Write> Write for Sparing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.left == 0 {
            self.room.check().map_err(|e| io::Error::other(e.to_string()))?;
            self.left = LOOK;
        }
        let n = self.to.write(&bytes[..bytes.len().min(self.left)])?;
        self.left -= n;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_the_disk_is_kept_free() {
        let dir = Path::new("/data");
        let refused = judge(dir, (16 << 20) - 1, 1 << 40).expect_err("too little").to_string();
        assert_eq!(
            refused,
            "the disk of /data is nearly full: 16383 KiB are free, 16384 KiB are reserved for the server's log; free some space"
        );
        for (free, total, fits) in
            [(16 << 20, 1 << 40, true), (1 << 20, 32 << 20, true), ((1 << 20) - 1, 32 << 20, false), (0, 0, true)]
        {
            assert_eq!(judge(dir, free, total).is_ok(), fits, "{free} of {total}");
        }
        assert!(Room::of(Path::new("/nosuch")).check().is_ok());
    }
}
