//! The file that holds a running cluster as a language server read it last. A lock beside it shows whether the server still
//! lives, whatever its process ID has become: the system releases the lock of a process that was killed, and the next
//! server removes both files.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use encamp_host::platform::files;

/// The beginning of the names.
const PREFIX: &str = "lsp-";
/// The end of the name of a cluster.
const DATA: &str = ".json.zst";
/// The end of the name of a lock.
const LOCK: &str = ".lock";
/// Servers with one process ID, as in several containers that share a directory.
const MAX_NAMESAKES: u32 = 100;

/// A file that belongs to this process, and goes with it.
#[derive(Debug)]
pub(super) struct FetchedFile {
    data: PathBuf,
    lock: PathBuf,
    /// Locked.
    _file: File,
}

impl FetchedFile {
    /// Takes a name in a directory, which is made if it is not there. The file itself is not made.
    ///
    /// # Errors
    /// The directory cannot be written to.
    pub(super) fn take(directory: &Path) -> io::Result<FetchedFile> {
        std::fs::create_dir_all(directory)?;
        let process = std::process::id();
        for number in 0..MAX_NAMESAKES {
            let stem = format!("{PREFIX}{process}-{number}");
            let lock = directory.join(format!("{stem}{LOCK}"));
            let file = OpenOptions::new().create(true).truncate(false).write(true).open(&lock)?;
            // Another server may have removed the file before it was locked.
            if is_locked(&file)? && files::is_at(&file, &lock)? {
                return Ok(FetchedFile { data: directory.join(format!("{stem}{DATA}")), lock, _file: file });
            }
        }
        Err(io::Error::other("too many language servers"))
    }

    /// Where the cluster is written to.
    pub(super) fn path(&self) -> &Path {
        &self.data
    }
}

impl Drop for FetchedFile {
    fn drop(&mut self) {
        // A file that was not written, or is gone already, needs no removal.
        let _ = std::fs::remove_file(&self.data);
        files::remove_lock(&self.lock);
    }
}

/// Whether this process has the lock of a file now.
fn is_locked(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(e)) => Err(e),
    }
}

/// Removes the files of servers that no longer live. Those of other users, and those that cannot be read, stay.
pub(super) fn remove_abandoned(directory: &Path) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(rest) = name.to_str().and_then(|name| name.strip_prefix(PREFIX)) else { continue };
        let Some(stem) = rest.strip_suffix(LOCK).or_else(|| rest.strip_suffix(DATA)) else { continue };
        // Links are none of our files.
        if entry.file_type().is_ok_and(|kind| kind.is_file()) {
            remove_if_abandoned(directory, stem);
        }
    }
}

fn remove_if_abandoned(directory: &Path, stem: &str) {
    let file = |end: &str| directory.join(format!("{PREFIX}{stem}{end}"));
    let lock = file(LOCK);
    match OpenOptions::new().write(true).open(&lock) {
        // While this process has the lock, nobody takes the name.
        Ok(held) => {
            if is_locked(&held).is_ok_and(|locked| locked) {
                let _ = std::fs::remove_file(file(DATA));
                files::remove_lock(&lock);
            }
        }
        // A file without a lock has no server: the lock is made before it and removed after it.
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            let _ = std::fs::remove_file(file(DATA));
        }
        Err(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory of its own for each test.
    struct Directory(PathBuf);

    impl Directory {
        fn new(name: &str) -> Directory {
            let path = std::env::temp_dir().join(format!("encamp-fetched-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).expect("a directory");
            Directory(path)
        }

        fn names(&self) -> Vec<String> {
            let entries = std::fs::read_dir(&self.0).expect("the directory");
            let mut names: Vec<String> =
                entries.map(|e| e.expect("an entry").file_name().into_string().expect("UTF-8")).collect();
            names.sort();
            names
        }
    }

    impl Drop for Directory {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn files_go_with_their_server() {
        let directory = Directory::new("own");
        let (first, second) =
            (FetchedFile::take(&directory.0).expect("a name"), FetchedFile::take(&directory.0).expect("another name"));
        assert_ne!(first.path(), second.path());
        std::fs::write(first.path(), "a").expect("a file");
        std::fs::write(second.path(), "b").expect("a file");
        drop(first);
        remove_abandoned(&directory.0);
        assert_eq!(std::fs::read_to_string(second.path()).expect("the file of a server that lives"), "b");
        assert_eq!(directory.names().len(), 2);
        drop(second);
        assert!(directory.names().is_empty());
    }

    #[test]
    fn files_of_servers_that_were_killed_are_removed() {
        let directory = Directory::new("killed");
        let write = |name: &str| std::fs::write(directory.0.join(name), "x").expect("a file");
        // A lock that nobody holds, with its file and without; a file without a lock; names of others.
        for name in
            ["lsp-1-0.lock", "lsp-1-0.json.zst", "lsp-2-0.lock", "lsp-3.json.zst", "lsp-4.txt", "cluster.json.zst"]
        {
            write(name);
        }
        remove_abandoned(&directory.0);
        assert_eq!(directory.names(), ["cluster.json.zst", "lsp-4.txt"]);
    }
}
