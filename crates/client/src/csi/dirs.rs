//! Directories of storage plugins. Names come from jobs and servers: none leads out of the directory.

use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::records::MountKey;
use crate::directory::is_id;
use crate::hex::hex;

/// The longest path of a socket in bytes: `sun_path` without the zero at its end.
const LONGEST_SOCKET: usize = 107;
/// The name of a socket.
pub(crate) const SOCKET: &str = "csi.sock";

/// The directory of a node for storage plugins.
#[derive(Debug, Clone)]
pub(crate) struct Dirs(PathBuf);

/// Why a plugin has no socket.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SocketError {
    /// Sockets can not have such a path.
    #[error(
        "the path of the plugin's socket has {0} bytes, at most {LONGEST_SOCKET} are possible; choose a shorter state_dir"
    )]
    Length(usize),
    /// A directory or an old socket is in the way.
    #[error("{}: {source}", path.display())]
    Io {
        /// What can't be made or removed.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

impl Dirs {
    pub(crate) fn new(dir: PathBuf) -> Dirs {
        Dirs(dir)
    }

    /// The socket of a plugin task: `plugins/<alloc ID>/<8 hex digits of the task's name>/csi.sock`. The name of the task
    /// itself would often make the path too long.
    pub(crate) fn socket(&self, alloc_id: &str, task: &str) -> PathBuf {
        self.plugins(alloc_id).join(hash(task, 4)).join(SOCKET)
    }

    fn plugins(&self, alloc_id: &str) -> PathBuf {
        self.0.join("plugins").join(directory_of(alloc_id))
    }

    /// Where a plugin stages a volume: `staging/<plugin>/<volume>`, both as 32 hex digits.
    pub(crate) fn staging(&self, plugin_id: &str, external_id: &str) -> PathBuf {
        self.0.join("staging").join(hash(plugin_id, 16)).join(hash(external_id, 16))
    }

    /// Where a volume is mounted for an allocation: `per-alloc/<alloc ID>/<namespace and volume as 32 hex digits>`.
    pub(crate) fn target(&self, key: &MountKey) -> PathBuf {
        let volume = hash(&format!("{}\n{}", key.namespace, key.volume_id), 16);
        self.0.join("per-alloc").join(directory_of(&key.alloc_id)).join(volume)
    }

    /// Makes the directory of a plugin's socket, and removes the socket of an earlier run of the plugin.
    ///
    /// # Errors
    /// The path is too long for a socket, or the file system refuses.
    pub(crate) fn prepare_socket(&self, alloc_id: &str, task: &str) -> Result<(), SocketError> {
        let socket = self.socket(alloc_id, task);
        let length = socket.as_os_str().len();
        if length > LONGEST_SOCKET {
            return Err(SocketError::Length(length));
        }
        let failed = |path: &Path| {
            let path = path.to_path_buf();
            move |source| SocketError::Io { path, source }
        };
        if let Some(dir) = socket.parent() {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(failed(dir))?;
        }
        match std::fs::remove_file(&socket) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(failed(&socket)(e)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Makes the directories of all mounts; gives them.
    ///
    /// # Errors
    /// The file system refuses.
    pub(crate) fn prepare_mounts(&self) -> Result<[PathBuf; 2], SocketError> {
        let dirs = ["staging", "per-alloc"].map(|name| self.0.join(name));
        for dir in &dirs {
            let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
            made.map_err(|source| SocketError::Io { path: dir.clone(), source })?;
        }
        Ok(dirs)
    }

    /// Removes the sockets of the plugins of an allocation that ended, with their directories. What else is in them
    /// stays.
    pub(crate) fn remove_sockets(&self, alloc_id: &str) {
        let dir = self.plugins(alloc_id);
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            // Each may be gone already; none is of use any more.
            let _ = std::fs::remove_file(entry.path().join(SOCKET));
            let _ = std::fs::remove_dir(entry.path());
        }
        let _ = std::fs::remove_dir(dir);
    }
}

/// The name of the directory of an allocation.
fn directory_of(alloc_id: &str) -> String {
    if is_id(alloc_id) { alloc_id.to_string() } else { hash(alloc_id, 16) }
}

/// The first bytes of the SHA-256 checksum of a text, as hexadecimal digits.
fn hash(text: &str, bytes: usize) -> String {
    let digest = Sha256::digest(text);
    hex(digest.get(..bytes).unwrap_or(&digest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TempDir;

    #[test]
    fn names_do_not_lead_out() {
        let dirs = Dirs::new("/c".into());
        let id = "8f9a1c2d-0000-4000-8000-000000000001";
        let socket = dirs.socket(id, "plugin");
        assert!(socket.starts_with(format!("/c/plugins/{id}")), "{socket:?}");
        assert_ne!(socket, dirs.socket(id, "other"));
        for name in ["..", "a/b", "", "/", "../../x", "ä"] {
            let socket = dirs.socket(name, name);
            assert!(socket.starts_with("/c/plugins") && socket.components().count() == 6, "{socket:?}");
            let key = MountKey { alloc_id: name.into(), namespace: name.into(), volume_id: name.into() };
            for path in [dirs.target(&key), dirs.staging(name, name)] {
                let plain = |c: std::path::Component| matches!(c, std::path::Component::Normal(_));
                assert!(path.components().count() == 5 && path.components().skip(1).all(plain), "{path:?}");
            }
        }
    }

    #[test]
    fn sockets_of_earlier_runs_are_removed() {
        let dir = TempDir::new("csi-dirs");
        let dirs = Dirs::new(dir.path().join("csi"));
        dirs.prepare_socket("a", "t").unwrap();
        let socket = dirs.socket("a", "t");
        std::fs::write(&socket, "").unwrap();
        dirs.prepare_socket("a", "t").unwrap();
        assert!(!socket.exists() && socket.parent().unwrap().is_dir());
        std::fs::write(&socket, "").unwrap();
        dirs.remove_sockets("a");
        assert!(!dirs.plugins("a").exists());
        let long = Dirs::new(dir.path().join("x".repeat(100)));
        assert!(matches!(long.prepare_socket("a", "t"), Err(SocketError::Length(108..))));
    }
}
