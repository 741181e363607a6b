//! The directory of the files that targets hand over.

use std::io;
use std::path::{Path, PathBuf};

/// A directory in memory where there is one; it goes when it is dropped.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// A new, empty directory.
    pub(crate) fn new(of: &str) -> io::Result<Scratch> {
        let memory = Path::new("/dev/shm");
        let base = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
        let dir = base.join(format!("encamp-fuzz-{of}-{}", std::process::id()));
        match std::fs::remove_dir_all(&dir) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        std::fs::create_dir_all(&dir)?;
        Ok(Scratch(dir))
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
