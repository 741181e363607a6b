//! Files with secrets in directories that tasks may write to: no link that a task left there leads elsewhere.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, fchmod, fchown, mkdirat, openat, renameat, unlinkat};

/// Writes a file below `root` that its owner alone can read; directories that are missing are made. Readers see the file
/// before or the file after, never a part. `owner`: user and group, none for the agent's own.
///
/// # Errors
/// The path leads out of `root`, goes through a link, or can't be written.
pub fn write(root: &Path, path: &Path, data: &[u8], owner: Option<(u32, u32)>) -> io::Result<()> {
    let outside = || io::Error::new(io::ErrorKind::InvalidInput, "the path leads out of the task's directory");
    let mut names = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => names.push(name),
            Component::CurDir => {}
            _ => return Err(outside()),
        }
    }
    let name = names.pop().ok_or_else(outside)?;
    let directory = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut dir: OwnedFd = openat(CWD, root, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    for name in names {
        match mkdirat(&dir, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(e) => return Err(e.into()),
        }
        dir = openat(&dir, name, directory, Mode::empty())?;
    }
    let mut unfinished = std::ffi::OsString::from(".");
    unfinished.push(name);
    unfinished.push(".new");
    match unlinkat(&dir, &unfinished, AtFlags::empty()) {
        Ok(()) | Err(rustix::io::Errno::NOENT) => {}
        Err(e) => return Err(e.into()),
    }
    let create = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(openat(&dir, &unfinished, create, Mode::from_raw_mode(0o600))?);
    fchmod(&file, Mode::from_raw_mode(0o600))?;
    if let Some((uid, gid)) = owner {
        fchown(&file, Some(rustix::fs::Uid::from_raw(uid)), Some(rustix::fs::Gid::from_raw(gid)))?;
    }
    file.write_all(data)?;
    Ok(renameat(&dir, &unfinished, &dir, name)?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::testing::TempDir;

    #[test]
    fn links_lead_nowhere() {
        let dir = TempDir::new("secret");
        let (root, other) = (dir.path().join("task"), dir.path().join("other"));
        std::fs::create_dir_all(&root).unwrap();
        std::fs::create_dir_all(&other).unwrap();
        let put = |path: &str, text: &str| write(&root, Path::new(path), text.as_bytes(), None);
        put("secrets/a/token", "one").unwrap();
        put("./secrets/a/token", "two").unwrap();
        let path = root.join("secrets/a/token");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(root.join("secrets/a")).unwrap().count(), 1);
        for bad in ["", "..", "../x", "a/../../x", "/etc/x"] {
            assert!(put(bad, "x").is_err(), "{bad}");
        }
        symlink(&other, root.join("link")).unwrap();
        assert!(put("link/x", "x").is_err());
        symlink(other.join("x"), root.join("file")).unwrap();
        symlink(other.join("y"), root.join(".file.new")).unwrap();
        put("file", "three").unwrap();
        assert_eq!(std::fs::read_to_string(root.join("file")).unwrap(), "three");
        assert_eq!(std::fs::read_dir(&other).unwrap().count(), 0);
    }
}
