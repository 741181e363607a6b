//! Members of archives: their names, and how they are written.

use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use super::bounds::{Budget, UnpackError};
use crate::directory::{Directory, Links, PathError};

/// How deep directories of an artifact may be.
pub(crate) const MOST_LEVELS: usize = 128;
/// The bits of modes that files keep: no set-user-ID, none that lets others write.
const FILE_MODE: u32 = 0o755;

/// The path of a member below the directory; none for the directory itself.
pub(super) fn path(name: &[u8]) -> Result<Option<PathBuf>, UnpackError> {
    let refused = || UnpackError::Name(shown(name));
    if name.contains(&0) {
        return Err(refused());
    }
    let mut out = PathBuf::new();
    let mut levels = 0;
    for part in Path::new(OsStr::from_bytes(name)).components() {
        match part {
            Component::Normal(part) => out.push(part),
            Component::CurDir => continue,
            Component::RootDir | Component::ParentDir | Component::Prefix(_) => return Err(refused()),
        }
        levels += 1;
        if levels > MOST_LEVELS {
            return Err(refused());
        }
    }
    Ok((levels > 0).then_some(out))
}

/// A name in an error.
pub(crate) fn shown(name: &[u8]) -> String {
    const MOST: usize = 200;
    let name = String::from_utf8_lossy(name);
    match name.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", name.get(..end).unwrap_or_default()),
        None => name.into_owned(),
    }
}

/// A place for a member: its directory, which is made, and its name there.
pub(super) struct Place {
    dir: Directory,
    name: std::ffi::OsString,
    /// As errors show it.
    shown: String,
}

impl Place {
    pub(super) fn new(root: &Directory, path: &Path) -> Result<Place, UnpackError> {
        let shown = shown(path.as_os_str().as_bytes());
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(UnpackError::Name(shown));
        };
        let wrong = |source| UnpackError::Write { name: shown.clone(), source };
        Ok(Place { dir: root.make_dirs(parent).map_err(wrong)?, name: name.into(), shown })
    }

    fn wrong(&self, source: impl Into<PathError>) -> UnpackError {
        UnpackError::Write { name: self.shown.clone(), source: source.into() }
    }

    /// Makes a directory.
    pub(super) fn directory(&self, mode: u32) -> Result<(), UnpackError> {
        let dir = self.dir.make_dirs(&self.name).map_err(|e| self.wrong(e))?;
        // Its owner adds entries and moves it.
        dir.set_mode(mode & FILE_MODE | 0o700).map_err(|e| self.wrong(e))
    }

    /// Writes a file.
    pub(super) fn file(
        &self,
        from: &mut impl std::io::Read,
        mode: u32,
        budget: &mut Budget,
    ) -> Result<File, UnpackError> {
        let mut file = self.dir.create_file(&self.name).map_err(|e| self.wrong(e))?;
        budget.copy(from, &mut file, &self.shown)?;
        file.set_permissions(Permissions::from_mode(mode & FILE_MODE | 0o400)).map_err(|e| self.wrong(e))?;
        Ok(file)
    }

    /// Makes a symbolic link. Nothing is ever written through it; where it leads is checked in the end.
    pub(super) fn link(&self, target: &[u8]) -> Result<(), UnpackError> {
        if target.is_empty() || target.contains(&0) {
            return Err(UnpackError::Name(self.shown.clone()));
        }
        self.dir.make_link(&self.name, Path::new(OsStr::from_bytes(target))).map_err(|e| self.wrong(e))
    }

    /// Gives an earlier file of the archive this name, too.
    pub(super) fn hard_link(&self, root: &Directory, to: &Path) -> Result<(), UnpackError> {
        let refused = || UnpackError::HardLink(self.shown.clone());
        let (Some(parent), Some(name)) = (to.parent(), to.file_name()) else { return Err(refused()) };
        let dir = root.open_dir(parent, Links::Refused).map_err(|_| refused())?;
        if !dir.metadata(name).is_ok_and(|m| m.is_file()) {
            return Err(refused());
        }
        dir.make_hard_link(name, &self.dir, &self.name).map_err(|e| self.wrong(e))
    }
}
