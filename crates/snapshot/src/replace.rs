//! Replaces files atomically: a file appears when it is complete.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use encamp_host::platform::files;
use parking_lot::{Mutex, MutexGuard};

/// The temporary files of this process. Locked while one of them is created, removed or gets its final name.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock()
}

/// Removes all files that are not complete, for a process that is about to end: after this no call of [`replace`]
/// begins or completes, each waits until the process ends.
pub fn abandon() {
    let paths = unfinished();
    for path in paths.iter() {
        let _ = std::fs::remove_file(path);
    }
    std::mem::forget(paths);
}

/// Lets nobody but its owner read a file.
///
/// # Errors
/// The permissions cannot be set.
pub fn make_private(file: &File) -> io::Result<()> {
    files::make_private(file)
}

/// Writes a file and returns its size in bytes. It appears when it is complete and on disk; until then, and after a
/// failure, what was there before stays. Where the path is a symbolic link, the file that it leads to is written. A
/// file that was there before keeps its permissions, and its owner as far as this process may give files away.
pub fn replace(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<u64> {
    let target = match std::fs::canonicalize(path) {
        Ok(target) => target,
        Err(e) if e.kind() == io::ErrorKind::NotFound => path.to_path_buf(),
        Err(e) => return Err(e),
    };
    let before = std::fs::metadata(&target).ok();
    match &before {
        Some(m) if m.is_dir() => return Err(io::Error::from(io::ErrorKind::IsADirectory)),
        Some(m) if !m.is_file() => return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")),
        _ => {}
    }
    let (mut temporary, unfinished) = Unfinished::create(&target)?;
    if let Some(before) = before {
        // Before anything is in it that not everybody may read.
        files::keep_owner(&temporary, &before);
        temporary.set_permissions(before.permissions())?;
    }
    write(&mut temporary)?;
    temporary.sync_all()?;
    let size = temporary.metadata()?.len();
    unfinished.finish(&target)?;
    // The new name has to survive a crash too; not every system can open a directory for that.
    if let Ok(folder) = File::open(folder_of(&target)) {
        let _ = folder.sync_all();
    }
    Ok(size)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A temporary file beside the real one, removed unless it is finished.
struct Unfinished {
    path: PathBuf,
    finished: bool,
}

impl Unfinished {
    fn create(target: &Path) -> io::Result<(File, Unfinished)> {
        if target.file_name().is_none() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path names no file"));
        }
        let mut paths = unfinished();
        let mut attempt = 0_u32;
        loop {
            let path = folder_of(target).join(format!(".encamp-{}-{attempt}.tmp", std::process::id()));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => {
                    paths.push(path.clone());
                    return Ok((file, Unfinished { path, finished: false }));
                }
                // Left by a process of the same number that was killed.
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && attempt < 1000 => attempt += 1,
                Err(e) => return Err(e),
            }
        }
    }

    /// Gives the file its final name.
    fn finish(mut self, target: &Path) -> io::Result<()> {
        let mut paths = unfinished();
        std::fs::rename(&self.path, target)?;
        paths.retain(|path| *path != self.path);
        self.finished = true;
        Ok(())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.finished {
            let mut paths = unfinished();
            let _ = std::fs::remove_file(&self.path);
            paths.retain(|path| *path != self.path);
        }
    }
}
