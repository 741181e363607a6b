//! The directories of an allocation (`docs/spec/client.md §17`).

use std::io;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

/// The user who owns what tasks share.
const NOBODY: u32 = 65_534;

/// The directory of one allocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllocDir {
    root: PathBuf,
}

impl AllocDir {
    /// The directory of an allocation below the directory of all.
    pub fn new(all: &Path, alloc_id: &str) -> AllocDir {
        AllocDir { root: all.join(alloc_id) }
    }

    /// Itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// `NOMAD_ALLOC_DIR`.
    pub fn shared(&self) -> PathBuf {
        self.root.join("alloc")
    }

    /// Log files of all tasks.
    pub fn logs(&self) -> PathBuf {
        self.root.join("alloc/logs")
    }

    /// A task's own directory.
    pub fn task(&self, task: &str) -> PathBuf {
        self.root.join(task)
    }

    /// Makes the shared part; what is there stays.
    pub fn build(&self) -> io::Result<()> {
        make(&self.root, 0o755, false)?;
        for dir in ["alloc", "alloc/data", "alloc/logs", "alloc/tmp"] {
            make(&self.root.join(dir), 0o777, true)?;
        }
        Ok(())
    }

    /// Makes a task's part; what is there stays.
    pub fn build_task(&self, task: &str) -> io::Result<()> {
        let root = self.task(task);
        make(&root, 0o777, true)?;
        make(&root.join("local"), 0o777, true)?;
        make(&root.join("secrets"), 0o777, true)?;
        make(&root.join("private"), 0o700, false)?;
        make(&root.join("tmp"), 0o1777, true)
    }

    /// Removes all of it; what is not there is fine.
    pub fn destroy(&self) -> io::Result<()> {
        match std::fs::remove_dir_all(&self.root) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    }

    /// Moves `alloc/data` and the tasks' `local` out of a previous allocation of this node into this one
    /// (`docs/spec/client.md §9.3`). To be called before the tasks' parts are built.
    pub fn take_over(&self, previous: &AllocDir, tasks: &[String]) -> io::Result<()> {
        let moved = |from: PathBuf, to: PathBuf| -> io::Result<()> {
            if !from.is_dir() {
                return Ok(());
            }
            match std::fs::remove_dir_all(&to) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
                _ => {}
            }
            std::fs::rename(from, to)
        };
        moved(previous.shared().join("data"), self.shared().join("data"))?;
        for task in tasks {
            make(&self.task(task), 0o777, true)?;
            moved(previous.task(task).join("local"), self.task(task).join("local"))?;
        }
        Ok(())
    }
}

fn make(path: &Path, mode: u32, shared: bool) -> io::Result<()> {
    std::fs::create_dir_all(path)?;
    // Creation obeys the agent's mask; these modes do not.
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))?;
    if shared && rustix::process::geteuid().is_root() {
        chown(path, Some(NOBODY), Some(NOBODY))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
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
        assert_eq!((mode(old.logs()), mode(old.task("t").join("tmp"))), (0o777, 0o1777));
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
}
