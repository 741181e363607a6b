//! Puts files of the host into the root of a task (`chroot_env`, `docs/spec/client.md §17`).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{DirEntry, File, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use crate::directory::{Directory, PathError};

/// Why files of the host are not in the root of a task.
#[derive(Debug, thiserror::Error)]
#[error("failed to embed {}: {source}", path.display())]
pub(super) struct EmbedError {
    /// What of the host.
    path: PathBuf,
    /// The reason.
    source: io::Error,
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> EmbedError {
    let path = path.to_path_buf();
    move |source| EmbedError { path, source }
}

/// The names of a path; none if it leads out of its root.
fn names(path: &str) -> Option<PathBuf> {
    let mut out = PathBuf::new();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(name) => out.push(name),
            Component::RootDir | Component::CurDir => {}
            Component::ParentDir | Component::Prefix(_) => return None,
        }
    }
    Some(out)
}

/// What is embedded, relative to the root of the task; the task can't change it, as it may share the files with the
/// host.
pub(super) fn embedded(chroot_env: &BTreeMap<String, String>) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for (source, to) in chroot_env {
        match names(to) {
            None => {}
            // The root itself stays the task's own.
            Some(to) if to.as_os_str().is_empty() => {
                let entries = std::fs::read_dir(source).into_iter().flatten().flatten();
                out.extend(entries.map(|e| PathBuf::from(e.file_name())));
            }
            Some(to) => out.push(to),
        }
    }
    out.sort();
    out.dedup();
    out
}

/// Links or copies the files of the host into the root of a task. What is there already stays. `kept_out`: directories
/// of the agent itself.
pub(super) fn embed(
    root: &Path,
    chroot_env: &BTreeMap<String, String>,
    kept_out: &[PathBuf],
) -> Result<(), EmbedError> {
    let root = Directory::open(root).map_err(at(root))?;
    for (source, to) in chroot_env {
        let from = PathBuf::from(source);
        let (Some(to), Ok(found)) = (names(to), from.symlink_metadata()) else { continue };
        let (parents, name) = match (to.parent(), to.file_name()) {
            (Some(parents), Some(name)) => (parents, name.to_os_string()),
            _ if found.is_dir() => {
                embed_directory(&from, &root, kept_out)?;
                continue;
            }
            _ => continue,
        };
        let mut dir = root.clone();
        for parent in parents {
            dir = match dir.make_new_dir(parent, 0o755) {
                Ok(dir) => dir,
                // A link in its place leads to what is embedded elsewhere.
                Err(PathError::Link) => break,
                Err(e) => return Err(at(&from)(e.into())),
            };
        }
        embed_one(&from, &found, &dir, name, kept_out)
            .and_then(|below| below.map_or(Ok(()), |below| embed_directory(&from, &below, kept_out)))?;
    }
    Ok(())
}

/// Embeds what is in a directory, and below.
fn embed_directory(from: &Path, to: &Directory, kept_out: &[PathBuf]) -> Result<(), EmbedError> {
    let mut left = vec![(from.to_path_buf(), to.clone())];
    while let Some((from, to)) = left.pop() {
        let entries = match std::fs::read_dir(&from) {
            // Removed meanwhile.
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            entries => entries.map_err(at(&from))?,
        };
        for entry in entries {
            let entry: DirEntry = entry.map_err(at(&from))?;
            let path = entry.path();
            let Ok(found) = entry.metadata() else { continue };
            if is_secret(&found) {
                continue;
            }
            if let Some(below) = embed_one(&path, &found, &to, entry.file_name(), kept_out)? {
                left.push((path, below));
            }
        }
    }
    Ok(())
}

/// Whether something is for the root user of the host alone: tasks may have the capability to read all files that they
/// see.
fn is_secret(found: &Metadata) -> bool {
    let others = if found.is_dir() { 0o001 } else { 0o004 };
    found.uid() == 0 && !found.file_type().is_symlink() && found.mode() & others == 0
}

/// Embeds one entry; of a directory, the new directory is given, whose contents are to follow.
fn embed_one(
    from: &Path,
    found: &Metadata,
    to: &Directory,
    name: OsString,
    kept_out: &[PathBuf],
) -> Result<Option<Directory>, EmbedError> {
    let kind = found.file_type();
    let done = if kind.is_dir() {
        if kept_out.iter().any(|own| own == from) {
            return Ok(None);
        }
        match to.make_like(&name, found) {
            Ok(below) => return Ok(Some(below)),
            // Something else has the name already, and stays.
            Err(PathError::Link | PathError::NotRegular) => return Ok(None),
            Err(e) => Err(e.into()),
        }
    } else if kind.is_symlink() {
        std::fs::read_link(from).and_then(|target| to.link_symbolically(&name, &target))
    } else if kind.is_file() {
        match to.link_file(from, &name) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => copy(from, found, to, &name),
            linked => linked,
        }
    } else {
        Ok(())
    };
    match done {
        Err(e) if matches!(e.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound) => Ok(None),
        done => done.map(|()| None).map_err(at(from)),
    }
}

/// Copies a file with owner and mode.
fn copy(from: &Path, found: &Metadata, to: &Directory, name: &OsString) -> io::Result<()> {
    let mut source = File::open(from)?;
    let mut file = to.create_new(name, (found.uid(), found.gid()))?;
    io::copy(&mut source, &mut file)?;
    file.set_permissions(std::fs::Permissions::from_mode(found.mode() & 0o7777))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::testing::TempDir;

    #[test]
    fn files_of_the_host_are_linked() {
        let all = TempDir::new("chroot");
        let (host, root) = (all.path().join("host"), all.path().join("root"));
        for dir in ["bin/deep", "agent/allocs", "skipped"] {
            std::fs::create_dir_all(host.join(dir)).unwrap();
        }
        std::fs::create_dir_all(root.join("etc")).unwrap();
        std::fs::write(host.join("bin/sh"), "1").unwrap();
        std::fs::write(host.join("bin/deep/x"), "2").unwrap();
        std::fs::write(host.join("agent/allocs/y"), "3").unwrap();
        std::fs::set_permissions(host.join("bin"), std::fs::Permissions::from_mode(0o751)).unwrap();
        symlink("sh", host.join("bin/bash")).unwrap();
        symlink("/nowhere", root.join("trap")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(host.join("bin/socket")).unwrap();
        std::fs::write(root.join("etc/own"), "mine").unwrap();
        std::fs::write(host.join("own"), "host").unwrap();
        let host_path = |p: &str| host.join(p).display().to_string();
        let env: BTreeMap<String, String> = [
            (host_path("bin"), "/usr/bin"),
            (host_path("agent"), "/agent"),
            (host_path("missing"), "/missing"),
            (host_path("own"), "/etc/own"),
            (host_path("skipped"), "/../out"),
            (host_path("bin/deep"), "trap"),
        ]
        .map(|(k, v)| (k, v.to_string()))
        .into();
        let kept_out = [host.join("agent/allocs")];
        embed(&root, &env, &kept_out).unwrap();
        embed(&root, &env, &kept_out).unwrap();
        let same = |a: &Path, b: &Path| a.metadata().unwrap().ino() == b.metadata().unwrap().ino();
        assert!(same(&host.join("bin/sh"), &root.join("usr/bin/sh")), "linked");
        assert!(same(&host.join("bin/deep/x"), &root.join("usr/bin/deep/x")));
        assert_eq!(std::fs::read_link(root.join("usr/bin/bash")).unwrap(), Path::new("sh"));
        assert_eq!(root.join("usr/bin").metadata().unwrap().mode() & 0o777, 0o751);
        assert_eq!(std::fs::read(root.join("etc/own")).unwrap(), b"mine");
        assert!(root.join("agent").is_dir() && !root.join("agent/allocs").exists());
        assert!(!root.join("missing").exists() && !root.join("usr/bin/socket").exists());
        assert!(root.join("trap").is_symlink() && !all.path().join("out").exists());
        assert_eq!(embedded(&env), ["agent", "etc/own", "missing", "trap", "usr/bin"].map(PathBuf::from));
        let whole = BTreeMap::from([(host.display().to_string(), "/".to_string())]);
        embed(&root, &whole, &kept_out).unwrap();
        assert!(root.join("bin/deep/x").is_file());
        assert_eq!(embedded(&whole), ["agent", "bin", "own", "skipped"].map(PathBuf::from));
    }
}
