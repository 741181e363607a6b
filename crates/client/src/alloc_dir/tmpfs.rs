//! File systems in memory for the secret and private directories of tasks (`docs/spec/client.md §17`): what is there
//! never reaches a disk.

use std::ffi::CString;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Once;

use procfs::process::Process;
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags};

use super::sharer;
use crate::directory::{Directory, Links};

/// The empty file in each of them, by which the agent knows its own.
const MARK: &str = ".nomad-mount";
/// Type of the file system.
const TMPFS: i128 = 0x0102_1994;
/// The directories of a task that have one.
const NAMES: [&str; 2] = ["secrets", "private"];

/// Mounts one on a directory of a task, unless it is mounted. An agent that is not root, or may not mount, leaves the
/// plain directory.
pub(super) fn mount(task: &Directory, name: &str, mb: u64, mode: u32) -> io::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let dir = task.open_dir(name, Links::Refused)?;
    if is_ours(&dir) {
        return Ok(());
    }
    let owner = if mode & 0o7 == 0 { None } else { sharer() };
    let (uid, gid) = owner.unwrap_or((0, 0));
    let flags = MountFlags::NOEXEC | MountFlags::NOSUID | MountFlags::NODEV;
    let options = format!("size={mb}m,mode={mode:o},uid={uid},gid={gid}");
    let mount = |options: &str| {
        let options = CString::new(options).map_err(|_| Errno::INVAL)?;
        // By the descriptor: the task may have put something else in the place of the path.
        rustix::mount::mount(c"tmpfs", dir.by_descriptor().as_path(), c"tmpfs", flags, Some(options.as_c_str()))
    };
    let mounted = match mount(&format!("{options},noswap")) {
        // An older kernel, which does not know the last option.
        Err(Errno::INVAL) => mount(&options),
        mounted => mounted,
    };
    match mounted {
        Ok(()) => {
            task.open_dir(name, Links::Refused)?.replace(MARK, b"", 0o644, None)?;
            Ok(())
        }
        Err(reason @ (Errno::PERM | Errno::ACCESS | Errno::NOSYS)) => {
            static REPORTED: Once = Once::new();
            REPORTED.call_once(|| {
                tracing::warn!(target: "client", %reason, "the agent can't mount: secrets of tasks are kept on disk");
            });
            Ok(())
        }
        Err(e) => Err(e.into()),
    }
}

/// Whether a directory is the root of a file system that the agent mounted there.
fn is_ours(dir: &Directory) -> bool {
    let in_memory = rustix::fs::statfs(dir.by_descriptor().as_path()).is_ok_and(|s| i128::from(s.f_type) == TMPFS);
    in_memory && dir.metadata(MARK).is_ok_and(|m| m.is_file() && m.uid() == rustix::process::geteuid().as_raw())
}

/// Unmounts those of an allocation. What else is mounted there stays: who mounted it unmounts it.
pub(super) fn unmount_below(alloc: &Path) {
    let Ok(mounts) = Process::myself().and_then(|p| p.mountinfo()) else { return };
    let mut found: Vec<_> = mounts.into_iter().filter(|m| m.fs_type == "tmpfs").map(|m| m.mount_point).collect();
    found.retain(|point| {
        let below = point.strip_prefix(alloc).is_ok_and(|below| below.components().count() == 2);
        below && NAMES.iter().any(|name| point.ends_with(name))
    });
    // The one that was mounted last first.
    for point in found.iter().rev() {
        if let Err(error) = rustix::mount::unmount(point, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW) {
            tracing::warn!(target: "client", path = %point.display(), %error, "failed to unmount");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::AllocDir;
    use crate::testing::TempDir;

    #[test]
    fn secrets_are_in_memory_where_the_agent_is_root() {
        let all = TempDir::new("tmpfs");
        let dirs = AllocDir::new(&all.path().canonicalize().unwrap(), "a");
        dirs.build().unwrap();
        dirs.build_task("t").unwrap();
        dirs.mount_task("t", 2).unwrap();
        dirs.mount_task("t", 2).unwrap();
        let secrets = dirs.task("t").join("secrets");
        let mounted = || {
            let text = std::fs::read_to_string("/proc/self/mounts").unwrap();
            text.lines()
                .filter(|l| l.contains(&dirs.root().display().to_string()))
                .map(String::from)
                .collect::<Vec<_>>()
        };
        let found = mounted();
        if found.is_empty() {
            eprintln!("not run: this user can't mount");
            dirs.destroy().unwrap();
            return;
        }
        assert_eq!(found.len(), 2, "{found:?}");
        let of = |name: &str| found.iter().find(|l| l.contains(name)).unwrap();
        assert!(of("t/secrets").contains("noexec") && of("t/secrets").contains("size=2048k"), "{found:?}");
        assert!(of("t/private").contains("mode=700"), "{found:?}");
        assert!(secrets.join(".nomad-mount").is_file());
        std::fs::write(secrets.join("token"), "x").unwrap();
        dirs.mount_task("t", 2).unwrap();
        assert!(secrets.join("token").is_file(), "what is mounted stays");
        dirs.destroy().unwrap();
        assert!(mounted().is_empty() && !dirs.root().exists());
    }
}
