//! Files of commands: job files, files with variables and plan files, for the time of one command.

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

use encamp_host::platform::files::{DirBuilderExt as _, OpenOptionsExt as _};

use crate::error::PageError;
use crate::session::random_id;

/// A directory that only this process and its commands can read. It is removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Directory(PathBuf);

impl Directory {
    /// A new directory in that for temporary files.
    ///
    /// # Errors
    /// It cannot be made.
    pub(crate) fn new() -> Result<Directory, PageError> {
        let path = std::env::temp_dir().join(format!("encamp-ui-{}", random_id()));
        fs::DirBuilder::new().mode(0o700).create(&path).map_err(|e| problem(&path, &e))?;
        Ok(Directory(path))
    }

    /// The path of a file in it, which is written if there is a content.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn file(&self, name: &str, content: Option<&[u8]>) -> Result<String, PageError> {
        let path = self.0.join(name);
        if let Some(content) = content {
            let file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
            file.and_then(|mut file| file.write_all(content)).map_err(|e| problem(&path, &e))?;
        }
        Ok(path.to_string_lossy().into_owned())
    }

    /// How the paths of its files begin.
    pub(crate) fn prefix(&self) -> String {
        format!("{}/", self.0.display())
    }

    /// The content of a file in it.
    pub(crate) fn read(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.0.join(name)).ok()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // Nothing can be done about it here; the directory is private.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn problem(path: &std::path::Path, e: &io::Error) -> PageError {
    PageError::Input(format!("encamp cannot write {}: {e}", path.display()))
}
