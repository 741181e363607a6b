//! Small disks for the servers' data, in a separate mount namespace, which ends with the process that holds it, however
//! the test ends. Without the permission to mount there are none.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{FallocateFlags, fallocate, statvfs};

const MOUNT: &str =
    "for d in \"$@\"; do mount -t tmpfs -o size=128m encamp \"$d\" || exit 1; done; echo mounted; exec cat";
/// The file that fills a disk.
const BALLAST: &str = "ballast";
/// Maximum time to fill a disk that is being written to.
const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum number of bytes written to the file at once.
const LARGEST_PIECE: u64 = 8 << 20;

/// Disks mounted on these directories.
pub struct Disks {
    /// Ends with its standard input.
    holder: Child,
}

impl Disks {
    pub fn new(dirs: &[PathBuf]) -> Option<Disks> {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", MOUNT, "mounts"]).args(dirs);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut holder = command.spawn().ok()?;
        let mut line = String::new();
        let said = BufReader::new(holder.stdout.take()?).read_line(&mut line);
        let disks = Disks { holder };
        (said.is_ok() && line == "mounted\n").then_some(disks)
    }

    /// The wrapper command that starts a program in the mount namespace.
    pub fn wrapper(&self) -> Vec<String> {
        ["nsenter".into(), format!("--mount=/proc/{}/ns/mnt", self.holder.id()), "--".into()].into()
    }

    /// The path of a directory in the namespace, as seen from outside.
    pub fn inside(&self, dir: &Path) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{}", self.holder.id(), dir.display()))
    }

    /// Fills a disk until at most `left` bytes are free.
    pub fn fill(&self, dir: &Path, left: u64) {
        let dir = self.inside(dir);
        let ballast = File::create(dir.join(BALLAST)).expect("ballast");
        let deadline = Instant::now() + PATIENCE;
        let (mut filled, mut piece) = (0, LARGEST_PIECE);
        loop {
            let disk = statvfs(&dir).expect("a disk");
            let free = disk.f_bavail * disk.f_frsize;
            if free <= left {
                return;
            }
            // The servers write meanwhile. A piece that no longer fits is not allocated at all, so it must be small at the end.
            let size = piece.min(free - left);
            match fallocate(&ballast, FallocateFlags::empty(), filled, size) {
                Ok(()) => filled += size,
                Err(_) => piece = (size / 2).max(disk.f_frsize),
            }
            assert!(Instant::now() < deadline, "{} can't be filled: {free} bytes are free", dir.display());
        }
    }

    pub fn free(&self, dir: &Path) {
        std::fs::remove_file(self.inside(dir).join(BALLAST)).expect("ballast");
    }
}

impl Drop for Disks {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}
