//! The root of an isolated task: its mounts (`docs/spec/client.md §23.2`).
//!
//! All is done by open directories below the new root, as a task may have left links there in an earlier run. Nothing
//! of it is seen outside of the mount namespace, and nothing is left of it when the last process of the task ends.

use std::ffi::CStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, makedev, mknodat, openat, symlinkat};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_bind_recursive, mount_change, mount_move,
    mount_remount, unmount,
};
use rustix::process::{chdir, chroot, pivot_root};

use super::inside::Inside;
use crate::directory::{Directory, Links, PathError, by_descriptor};
use crate::drivers::network::TaskNetwork;
use crate::drivers::{Mount, Propagation};

/// Flags of every mount of a task: no devices, and no programs that gain privileges.
const ALWAYS: MountFlags = MountFlags::NODEV.union(MountFlags::NOSUID);
/// Those of file systems of the kernel.
const OF_KERNEL: MountFlags = ALWAYS.union(MountFlags::NOEXEC);
/// Devices in `/dev`: name, major and minor number.
const DEVICES: [(&str, u32, u32); 6] =
    [("null", 1, 3), ("zero", 1, 5), ("full", 1, 7), ("random", 1, 8), ("urandom", 1, 9), ("tty", 5, 0)];
/// Links in `/dev`.
const LINKS: [(&str, &str); 5] = [
    ("ptmx", "pts/ptmx"),
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
];
/// What is hidden of `/proc` and `/sys`.
const MASKED: [&str; 13] = [
    "proc/acpi",
    "proc/asound",
    "proc/kcore",
    "proc/keys",
    "proc/latency_stats",
    "proc/sched_debug",
    "proc/scsi",
    "proc/timer_list",
    "proc/timer_stats",
    "proc/kmsg",
    "sys/firmware",
    "sys/devices/virtual/powercap",
    "sys/kernel/security",
];
/// What can only be read of `/proc`.
const READ_ONLY: [&str; 5] = ["proc/sys", "proc/sysrq-trigger", "proc/irq", "proc/bus", "proc/fs"];

/// Why a task has no root.
#[derive(Debug, thiserror::Error)]
#[error("failed to mount {} of the task: {source}", what.display())]
pub(crate) struct RootError {
    what: PathBuf,
    source: io::Error,
}

fn at<E: Into<io::Error>>(what: impl Into<PathBuf>) -> impl FnOnce(E) -> RootError {
    let what = what.into();
    move |e| RootError { what, source: e.into() }
}

/// The new root, as far as it is built.
struct Root(Directory);

impl Root {
    /// Opens what is at a path now, mounts included.
    fn place(&self, path: impl AsRef<Path>) -> Result<OwnedFd, PathError> {
        self.0.open_place(path)
    }

    /// Makes the directories of a path that are missing.
    fn make(&self, path: &Path) -> Result<Directory, PathError> {
        path.iter().try_fold(self.0.clone(), |dir, name| dir.make_new_dir(name, 0o755))
    }

    /// Makes the place for a mount: a directory, or an empty file where a file is mounted.
    fn prepare(&self, path: &Path, is_dir: bool) -> Result<(), PathError> {
        if is_dir {
            return self.make(path).map(drop);
        }
        let (parent, name) = (path.parent().unwrap_or(Path::new("")), path.file_name().ok_or(PathError::Escapes)?);
        match self.make(parent)?.create_new(name, (0, 0)) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => Err(e.into()),
            _ => Ok(()),
        }
    }

    /// Mounts a file system.
    fn mount(&self, kind: &CStr, path: &str, flags: MountFlags, options: Option<&CStr>) -> Result<(), RootError> {
        let place = self.place(path).map_err(at(path))?;
        mount(kind, by_descriptor(&place).as_path(), kind, flags, options).map_err(at(path))
    }

    /// Changes the flags of what is mounted at a path.
    fn remount(&self, path: &Path, flags: MountFlags) -> Result<(), RootError> {
        let place = self.place(path).map_err(at(path))?;
        mount_remount(by_descriptor(&place).as_path(), flags | MountFlags::BIND, c"").map_err(at(path))
    }

    /// Makes a part of the root read-only; what is not there, or is a link, needs nothing.
    fn protect(&self, path: &Path, flags: MountFlags) -> Result<(), RootError> {
        let place = match self.place(path) {
            Ok(place) => place,
            Err(PathError::Link) => return Ok(()),
            Err(PathError::Io(e)) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(PathError::Io(e)) if e.raw_os_error() == Some(Errno::NOTDIR.raw_os_error()) => return Ok(()),
            Err(e) => return Err(at(path)(e)),
        };
        let link = rustix::fs::fstat(&place).map_err(at(path))?;
        if FileType::from_raw_mode(link.st_mode).is_symlink() {
            return Ok(());
        }
        let place = by_descriptor(&place);
        mount_bind_recursive(place.as_path(), place.as_path()).map_err(at(path))?;
        self.remount(path, flags | MountFlags::RDONLY)
    }

    /// Hides a file or a directory of a file system of the kernel.
    fn mask(&self, path: &str) -> Result<(), RootError> {
        let Ok(place) = self.place(path) else { return Ok(()) };
        let is_dir = FileType::from_raw_mode(rustix::fs::fstat(&place).map_err(at(path))?.st_mode).is_dir();
        let place = by_descriptor(&place);
        let masked = if is_dir {
            let options = Some(c"size=4k,mode=0");
            mount(c"tmpfs", place.as_path(), c"tmpfs", OF_KERNEL | MountFlags::RDONLY, options)
        } else {
            mount_bind("/dev/null", place.as_path())
        };
        masked.map_err(at(path))
    }

    /// Mounts a directory of the host that is open already.
    fn attach(&self, from: &OwnedFd, path: &Path, recursive: bool, flags: MountFlags) -> Result<(), RootError> {
        let place = self.place(path).map_err(at(path))?;
        let (from, to) = (by_descriptor(from), by_descriptor(&place));
        let bound = if recursive {
            mount_bind_recursive(from.as_path(), to.as_path())
        } else {
            mount_bind(from.as_path(), to.as_path())
        };
        bound.map_err(at(path))?;
        self.remount(path, flags)
    }

    /// Writes the files of `/etc` that differ from the host's, where the task can't change them, and makes places for
    /// them: regular files, as the host's may be links.
    fn write_etc(&self, files: &[(String, String)]) -> Result<Vec<(PathBuf, OwnedFd)>, PathError> {
        if files.is_empty() {
            return Ok(Vec::new());
        }
        let (private, etc) = (self.0.open_dir("private", Links::Refused)?, self.make(Path::new("etc"))?);
        TaskNetwork::write_files(&private, files)?;
        let place = |(name, _): &(String, String)| {
            if etc.metadata(name).is_ok_and(|found| !found.is_file()) {
                etc.remove_file(name)?;
            }
            let path = Path::new("etc").join(name);
            self.prepare(&path, false)?;
            Ok((path, private.open_place(name)?))
        };
        files.iter().map(place).collect()
    }

    /// Mounts a volume.
    fn volume(&self, volume: &Mount, from: &OwnedFd) -> Result<(), RootError> {
        let path = inside(&volume.task);
        let kind = FileType::from_raw_mode(rustix::fs::fstat(from).map_err(at(&path))?.st_mode);
        let mut flags = MountFlags::NOSUID;
        if !kind.is_block_device() && !kind.is_char_device() {
            flags |= MountFlags::NODEV;
        }
        if volume.read_only {
            flags |= MountFlags::RDONLY;
        }
        self.attach(from, &path, true, flags)?;
        let place = self.place(&path).map_err(at(&path))?;
        let propagation = match volume.propagation {
            Propagation::Private => MountPropagationFlags::PRIVATE,
            Propagation::HostToTask | Propagation::Bidirectional => MountPropagationFlags::DOWNSTREAM,
        };
        let changed = mount_change(by_descriptor(&place).as_path(), propagation | MountPropagationFlags::REC);
        changed.map_err(at(&path))
    }

    /// Makes `/dev`.
    fn devices(&self) -> Result<(), RootError> {
        let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
        self.mount(c"tmpfs", "dev", flags, Some(c"size=64k,mode=755"))?;
        let dev = self.place("dev").map_err(at("dev"))?;
        for (name, major, minor) in DEVICES {
            let mode = Mode::from_raw_mode(0o666);
            let made = mknodat(&dev, name, FileType::CharacterDevice, mode, makedev(major, minor));
            made.map_err(at(Path::new("dev").join(name)))?;
        }
        for (name, target) in LINKS {
            symlinkat(target, &dev, name).map_err(at(Path::new("dev").join(name)))?;
        }
        for dir in ["dev/pts", "dev/shm", "dev/mqueue"] {
            self.make(Path::new(dir)).map_err(at(dir))?;
        }
        let options = c"newinstance,ptmxmode=0666,mode=0620,gid=5";
        self.mount(c"devpts", "dev/pts", MountFlags::NOSUID | MountFlags::NOEXEC, Some(options))?;
        self.mount(c"tmpfs", "dev/shm", OF_KERNEL, Some(c"size=64m,mode=1777"))?;
        match mount(c"mqueue", self.path("dev/mqueue")?.1.as_path(), c"mqueue", OF_KERNEL, None::<&CStr>) {
            // A kernel without message queues.
            Ok(()) | Err(Errno::NODEV) => {}
            Err(e) => return Err(at("dev/mqueue")(e)),
        }
        // Nodes that a task could make there would be usable: elsewhere, none is.
        self.remount(Path::new("dev"), flags | MountFlags::RDONLY)
    }

    fn path(&self, path: &str) -> Result<(OwnedFd, PathBuf), RootError> {
        let place = self.place(path).map_err(at(path))?;
        let by = by_descriptor(&place);
        Ok((place, by))
    }
}

/// A path of the task, from its root on.
fn inside(path: &Path) -> PathBuf {
    path.strip_prefix("/").unwrap_or(path).to_path_buf()
}

/// Opens a file or directory of the host to mount it.
fn of_host(path: &Path) -> Result<OwnedFd, RootError> {
    openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(at(path))
}

/// Makes the root of a task that of this process, which is alone in its mount namespace; `alloc`: the directory of its
/// allocation.
pub(super) fn enter(order: &Inside, alloc: &Path) -> Result<(), RootError> {
    rustix::process::umask(Mode::empty());
    let path = order.root.as_path();
    mount_bind_recursive(path, path).map_err(at(path))?;
    let root = Root(Directory::open(path).map_err(at(path))?);
    root.remount(Path::new(""), ALWAYS)?;
    let volumes: Vec<(&Mount, OwnedFd)> =
        order.mounts.iter().map(|m| Ok((m, of_host(&m.host)?))).collect::<Result<_, RootError>>()?;
    // All places first: what is embedded can't be changed later.
    for dir in ["dev", "proc", "sys", "alloc"] {
        root.make(Path::new(dir)).map_err(at(dir))?;
    }
    for (volume, from) in &volumes {
        let is_dir = FileType::from_raw_mode(rustix::fs::fstat(from).map_err(at(&volume.host))?.st_mode).is_dir();
        root.prepare(&inside(&volume.task), is_dir).map_err(at(&volume.task))?;
    }
    let etc = root.write_etc(&order.etc).map_err(at("etc"))?;
    for path in &order.read_only {
        root.protect(path, ALWAYS)?;
    }
    let shared = Directory::open(alloc).and_then(|d| Ok(d.open_dir("alloc", Links::Refused)?)).map_err(at("alloc"))?;
    let place = |path: &str| shared.open_place(path).map_err(at("alloc"));
    root.attach(&place("")?, Path::new("alloc"), false, ALWAYS)?;
    root.attach(&place("logs")?, Path::new("alloc/logs"), false, ALWAYS | MountFlags::RDONLY)?;
    // A place for the agent alone.
    root.mask("private")?;
    root.mount(c"proc", "proc", OF_KERNEL, None)?;
    root.mount(c"sysfs", "sys", OF_KERNEL | MountFlags::RDONLY, None)?;
    MASKED.iter().try_for_each(|path| root.mask(path))?;
    READ_ONLY.iter().try_for_each(|path| root.protect(Path::new(path), OF_KERNEL))?;
    etc.iter().try_for_each(|(path, file)| root.attach(file, path, false, ALWAYS | MountFlags::RDONLY))?;
    root.devices()?;
    volumes.iter().try_for_each(|(volume, from)| root.volume(volume, from))?;
    drop((volumes, etc));
    chdir(path).map_err(at("/"))?;
    if order.pivot {
        pivot_root(".", ".").map_err(at("/"))?;
        // The old root, which is on top of the new one now.
        unmount(".", UnmountFlags::DETACH).map_err(at("/"))?;
    } else {
        mount_move(".", "/").map_err(at("/"))?;
        chroot(".").map_err(at("/"))?;
    }
    chdir("/").map_err(at("/"))?;
    rustix::process::umask(Mode::from_raw_mode(0o022));
    Ok(())
}

/// The devices among the volumes of a task, as rules of the devices controller.
pub(super) fn device_rules(mounts: &[Mount]) -> Vec<String> {
    use std::os::unix::fs::MetadataExt;
    let rule = |mount: &Mount| {
        let found = mount.host.metadata().ok()?;
        let kind = match found.file_type() {
            kind if kind.is_block_device() => 'b',
            kind if kind.is_char_device() => 'c',
            _ => return None,
        };
        let (major, minor) = (rustix::fs::major(found.rdev()), rustix::fs::minor(found.rdev()));
        Some(format!("{kind} {major}:{minor} {}", if mount.read_only { "r" } else { "rw" }))
    };
    mounts.iter().filter_map(rule).collect()
}
