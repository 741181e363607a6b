//! The directories of an allocation (`docs/spec/client.md §17`).

use std::io;
use std::path::{Path, PathBuf};

use super::directory::remove::NotRemoved;
use super::directory::{Directory, Links, PathError};
use super::drivers::Isolation;

mod tmpfs;

/// The user who owns what tasks share.
const NOBODY: u32 = 65_534;

/// The directory below `alloc` for a disk that arrives from another node.
const ARRIVALS: &str = ".arrivals";

/// The directory of one allocation. Tasks write to all of it but its own names, so nothing below is reached by path
/// alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllocDir {
    all: PathBuf,
    id: String,
}

impl AllocDir {
    /// The directory of an allocation below the directory of all.
    pub fn new(all: &Path, alloc_id: &str) -> AllocDir {
        AllocDir { all: all.into(), id: alloc_id.into() }
    }

    /// Itself.
    pub fn root(&self) -> PathBuf {
        self.all.join(&self.id)
    }

    /// `NOMAD_ALLOC_DIR`.
    pub fn shared(&self) -> PathBuf {
        self.root().join("alloc")
    }

    /// A task's own directory.
    pub fn task(&self, task: &str) -> PathBuf {
        self.root().join(task)
    }

    /// `NOMAD_ALLOC_DIR`, `NOMAD_TASK_DIR` and `NOMAD_SECRETS_DIR`, as a task sees them.
    pub(crate) fn seen_by(&self, task: &str, isolation: Isolation) -> [PathBuf; 3] {
        match isolation {
            Isolation::None => {
                let own = self.task(task);
                [self.shared(), own.join("local"), own.join("secrets")]
            }
            Isolation::Chroot | Isolation::Image => ["/alloc", "/local", "/secrets"].map(PathBuf::from),
        }
    }

    /// A handle on it, for all that is done with files in it.
    pub fn open(&self) -> io::Result<Directory> {
        Directory::open(&self.root())
    }

    /// A handle on a task's own directory.
    pub(crate) fn open_task(&self, task: &str) -> io::Result<Directory> {
        Ok(self.open()?.open_dir(task, Links::Refused)?)
    }

    /// A handle on a task's secrets.
    pub(crate) fn open_secrets(&self, task: &str) -> Result<Directory, PathError> {
        self.open_task(task)?.open_dir("secrets", Links::Refused)
    }

    /// Log files of all tasks.
    pub(crate) fn open_logs(&self) -> io::Result<Directory> {
        Ok(self.open()?.open_dir("alloc/logs", Links::Refused)?)
    }

    /// Makes the shared part; what is there stays.
    pub fn build(&self) -> io::Result<()> {
        let root = Directory::open(&self.all)?.make_dir(&self.id, 0o755, None)?;
        let shared = root.make_dir("alloc", 0o777, sharer())?;
        for dir in ["data", "logs", "tmp"] {
            shared.make_dir(dir, 0o777, sharer())?;
        }
        Ok(())
    }

    /// Makes a task's part; what is there stays.
    pub(crate) fn build_task(&self, task: &str) -> io::Result<()> {
        let root = self.open()?.make_dir(task, 0o777, sharer())?;
        root.make_dir("local", 0o777, sharer())?;
        root.make_dir("secrets", 0o777, sharer())?;
        root.make_dir("private", 0o700, None)?;
        root.make_dir("tmp", 0o1777, sharer())?;
        Ok(())
    }

    /// Mounts file systems in memory on the secret and the private directory of a task, where they are not mounted yet.
    /// An agent that can't mount leaves the plain directories. `secrets_mb`: size of the secrets, 0 for the default.
    pub(crate) fn mount_task(&self, task: &str, secrets_mb: i64) -> io::Result<()> {
        let own = self.open_task(task)?;
        tmpfs::mount(&own, "secrets", u64::try_from(secrets_mb).ok().filter(|mb| *mb > 0).unwrap_or(1), 0o777)?;
        tmpfs::mount(&own, "private", 1, 0o700)
    }

    /// Removes all of it; what is not there is fine.
    ///
    /// # Errors
    /// The first entry that could not be removed, with its full path; all that could be is gone.
    pub fn destroy(&self) -> Result<(), NotRemoved> {
        tmpfs::unmount_below(&self.root());
        match Directory::open(&self.all) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(e) => Err(NotRemoved::io(&self.all, e)),
            Ok(all) => all.remove_tree(&self.id).map_err(|e| e.below(&self.all)),
        }
    }

    /// Moves `alloc/data` and the tasks' `local` out of a previous allocation of this node into this one
    /// (`docs/spec/client.md §9.3`). To be called before the tasks' parts are built.
    pub fn take_over(&self, previous: &AllocDir, tasks: &[String]) -> io::Result<()> {
        match previous.open() {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            from => self.take_from(&from?, tasks),
        }
    }

    /// A new directory for the disk of a previous allocation of another node, before it is moved to its place. Only the
    /// agent can reach it; no task has its name.
    pub(crate) fn arrivals(&self) -> io::Result<Directory> {
        let shared = self.open()?.open_dir("alloc", Links::Refused)?;
        shared.remove_tree(ARRIVALS)?;
        let arrivals = shared.make_dir(ARRIVALS, 0o700, None)?;
        arrivals.make_dir("alloc", 0o700, None)?;
        Ok(arrivals)
    }

    /// Moves what arrived to its place, as [`AllocDir::take_over`] does.
    pub(crate) fn take_arrivals(&self, arrivals: &Directory, tasks: &[String]) -> io::Result<()> {
        self.take_from(arrivals, tasks)?;
        Ok(self.open()?.open_dir("alloc", Links::Refused)?.remove_tree(ARRIVALS)?)
    }

    fn take_from(&self, from: &Directory, tasks: &[String]) -> io::Result<()> {
        let to = self.open()?;
        let shared = to.open_dir("alloc", Links::Refused)?;
        from.open_dir("alloc", Links::Refused)?.move_dir("data", &shared)?;
        for task in tasks {
            match from.open_dir(task, Links::Refused).map_err(io::Error::from) {
                Ok(old) => {
                    old.move_dir("local", &to.make_dir(task, 0o777, sharer())?)?;
                }
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}

/// The owner of shared directories; an unprivileged agent keeps them as its own.
fn sharer() -> Option<(u32, u32)> {
    rustix::process::geteuid().is_root().then_some((NOBODY, NOBODY))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::testing::TempDir;

    #[test]
    fn trees_are_built_moved_and_removed() {
        let all = TempDir::new("dirs");
        let (old, new) = (AllocDir::new(all.path(), "old"), AllocDir::new(all.path(), "new"));
        old.build().unwrap();
        old.build_task("t").unwrap();
        old.build_task("t").unwrap();
        let mode = |p: PathBuf| p.metadata().unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode(old.shared().join("logs")), mode(old.task("t").join("tmp"))), (0o777, 0o1777));
        std::fs::write(old.shared().join("data/x"), "1").unwrap();
        std::fs::write(old.task("t").join("local/y"), "2").unwrap();
        new.build().unwrap();
        new.take_over(&old, &["t".into(), "other".into()]).unwrap();
        new.build_task("t").unwrap();
        assert_eq!(std::fs::read(new.shared().join("data/x")).unwrap(), b"1");
        assert_eq!(std::fs::read(new.task("t").join("local/y")).unwrap(), b"2");
        old.destroy().unwrap();
        old.destroy().unwrap();
        assert!(!old.root().exists());
    }

    #[test]
    fn links_in_place_of_directories_lead_nowhere() {
        let all = TempDir::new("dirs");
        let outside = all.path().join("outside");
        std::fs::create_dir(&outside).unwrap();
        std::fs::set_permissions(&outside, std::fs::Permissions::from_mode(0o750)).unwrap();
        std::fs::write(outside.join("x"), "1").unwrap();
        let (old, new) = (AllocDir::new(all.path(), "old"), AllocDir::new(all.path(), "new"));
        old.build().unwrap();
        old.build_task("t").unwrap();
        for dir in ["alloc/data", "alloc/logs", "t/local", "t/private"] {
            std::fs::remove_dir(old.root().join(dir)).unwrap();
            symlink(&outside, old.root().join(dir)).unwrap();
        }
        assert!(old.build_task("t").is_err() && old.build().is_err() && old.open_logs().is_err());
        new.build().unwrap();
        new.take_over(&old, &["t".into()]).unwrap();
        new.build_task("t").unwrap();
        assert_eq!(std::fs::read_dir(new.task("t").join("local")).unwrap().count(), 0);
        old.destroy().unwrap();
        assert_eq!(outside.metadata().unwrap().permissions().mode() & 0o777, 0o750);
        assert!(outside.join("x").exists());
    }
}
