//! The disks of the servers' data directories: each one a file system of its own on a loop device.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::fs::{FallocateFlags, fallocate, statvfs};

use crate::failure::{Failure, Outcome};
use crate::shell::run;

/// The size of a disk. Only what is written takes memory.
const SIZE: &str = "192M";
/// The file that fills a disk.
const BALLAST: &str = "ballast";
/// The largest piece by which that file grows, in bytes.
const LARGEST_PIECE: u64 = 8 << 20;
/// Limits of writes to devices, in bytes per second.
const LIMITS: &str = "/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device";
/// How often an unmount is tried again, and the pause before each try.
const UNMOUNTS: (u32, Duration) = (40, Duration::from_millis(250));

/// A disk of a server.
pub(crate) struct Disk {
    folder: PathBuf,
    device: String,
    /// Major and minor number of the device.
    number: String,
}

/// Whether the system can limit the speed of a disk.
pub(crate) fn has_limits() -> bool {
    Path::new(LIMITS).exists()
}

impl Disk {
    /// Makes a disk in a file, and mounts it on a new directory.
    ///
    /// # Errors
    /// A command fails.
    pub(crate) fn new(image: &Path, folder: &Path) -> Outcome<Disk> {
        let image = image.display().to_string();
        fs::create_dir_all(folder).map_err(|e| Failure::file(folder, e))?;
        run(&["truncate", "-s", SIZE, &image])?;
        run(&["mkfs.ext4", "-q", "-F", "-m", "0", &image])?;
        let device = run(&["losetup", "--show", "-f", &image])?;
        let number = device.strip_prefix("/dev/").map(|name| PathBuf::from(format!("/sys/block/{name}/dev")));
        let number = number.unwrap_or_default();
        let number = fs::read_to_string(&number).map_err(|e| Failure::file(&number, e))?.trim().to_string();
        let disk = Disk { folder: folder.into(), device, number };
        disk.mount()?;
        Ok(disk)
    }

    fn mount(&self) -> Outcome {
        run(&["mount", "-o", "errors=remount-ro,noatime", &self.device, &self.folder.display().to_string()]).map(drop)
    }

    /// Fills the disk until less than a block is free.
    ///
    /// # Errors
    /// The file that fills it cannot be made.
    pub(crate) fn fill(&self) -> Outcome {
        let path = self.folder.join(BALLAST);
        let ballast = File::create(&path).map_err(|e| Failure::file(&path, e))?;
        let (mut filled, mut piece) = (0, LARGEST_PIECE);
        // The server writes meanwhile: a piece that does not fit any more becomes smaller.
        while piece > 0 {
            let disk = statvfs(&self.folder).map_err(|e| Failure::file(&self.folder, e.into()))?;
            let free = disk.f_bavail * disk.f_frsize;
            let size = piece.min(free);
            if size < disk.f_frsize {
                break;
            }
            match fallocate(&ballast, FallocateFlags::empty(), filled, size) {
                Ok(()) => filled += size,
                Err(_) => piece = size / 2,
            }
        }
        Ok(())
    }

    /// Removes the file that fills the disk.
    pub(crate) fn free(&self) {
        // It may be missing: the disk was repaired or wiped.
        let _ = fs::remove_file(self.folder.join(BALLAST));
    }

    /// Has the file system give up, as after an error of the device: it is read-only from now on, for open files, too.
    ///
    /// # Errors
    /// A command fails.
    pub(crate) fn break_off(&self) -> Outcome {
        run(&["mount", "-o", "remount,abort", &self.folder.display().to_string()]).map(drop)
    }

    /// Checks, repairs and mounts the file system again. No process uses it.
    ///
    /// # Errors
    /// A command fails.
    pub(crate) fn repair(&self) -> Outcome {
        let folder = self.folder.display().to_string();
        let (tries, pause) = UNMOUNTS;
        let mut unmounted = run(&["umount", &folder]);
        for _ in 0..tries {
            if unmounted.is_ok() {
                break;
            }
            thread::sleep(pause);
            unmounted = run(&["umount", &folder]);
        }
        unmounted?;
        // Exit code 1: errors were corrected.
        run(&["sh", "-c", "e2fsck -p -f \"$1\"; test $? -le 1", "repair", &self.device])?;
        self.mount()
    }

    /// Limits the speed of writes, in bytes per second; 0 for no limit.
    ///
    /// # Errors
    /// The system refuses it.
    pub(crate) fn limit(&self, speed: u64) -> Outcome {
        let line = format!("{} {speed}", self.number);
        fs::write(LIMITS, line).map_err(|e| Failure::file(Path::new(LIMITS), e))
    }

    /// Removes all files.
    ///
    /// # Errors
    /// A command fails.
    pub(crate) fn wipe(&self) -> Outcome {
        let folder = self.folder.display().to_string();
        run(&["find", &folder, "-mindepth", "1", "-delete"]).map(drop)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let folder = self.folder.display().to_string();
        // A leftover is removed by hand.
        let _ = self.limit(0);
        let _ = run(&["umount", "-l", &folder]);
        let _ = run(&["losetup", "-d", &self.device]);
    }
}
