//! The task API: the HTTP API on a Unix socket in a task's `secrets` directory (`docs/spec/http-api.md §7.10`,
//! `docs/spec/client.md §10.3`). What is spoken on the socket is behind the trait [`TaskApi`].

use std::fmt;
use std::io;
use std::os::unix::net::UnixListener;

use super::alloc_dir::AllocDir;
use super::directory::PathError;

/// The name of the socket in the task's `secrets` directory.
pub(crate) const SOCKET: &str = "api.sock";

/// A task that connects to its socket.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TaskName {
    /// The ID of its allocation.
    pub alloc_id: String,
    /// Its name in the job.
    pub task: String,
}

impl fmt::Display for TaskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task {} of allocation {}", self.task, self.alloc_id)
    }
}

/// Serves the HTTP API to tasks.
pub trait TaskApi: fmt::Debug + Send + Sync {
    /// Serves the API on a listening socket that does not block, until what it gives is dropped. Every request needs a
    /// token.
    ///
    /// # Errors
    /// The socket cannot be used.
    fn serve(&self, socket: UnixListener, task: TaskName) -> io::Result<Box<dyn Send + Sync>>;
}

/// Makes the socket of a task, in place of one of an earlier run. All users may connect to it.
pub(crate) fn listen(dirs: &AllocDir, task: &str) -> Result<UnixListener, PathError> {
    dirs.open_secrets(task)?.make_socket(SOCKET)
}

/// Removes the socket of a task.
pub(crate) fn remove(dirs: &AllocDir, task: &str) -> Result<(), PathError> {
    Ok(dirs.open_secrets(task)?.remove_file(SOCKET)?)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::testing::TempDir;

    #[test]
    fn all_users_may_connect_and_a_later_socket_replaces_the_first() {
        // Longer than what the address of a socket can hold.
        let all = TempDir::new(&"x".repeat(120));
        let dirs = AllocDir::new(all.path(), "a");
        dirs.build().unwrap();
        dirs.build_task("t").unwrap();
        let first = listen(&dirs, "t").unwrap();
        let second = listen(&dirs, "t").unwrap();
        let path = dirs.task("t").join("secrets").join(SOCKET);
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o666);
        let near = TempDir::new("s");
        symlink(dirs.task("t"), near.path().join("t")).unwrap();
        let mut connection = UnixStream::connect(near.path().join("t/secrets").join(SOCKET)).unwrap();
        connection.write_all(b"x").unwrap();
        second.set_nonblocking(false).unwrap();
        let mut got = [0];
        second.accept().unwrap().0.read_exact(&mut got).unwrap();
        assert_eq!(got, *b"x");
        assert_eq!(first.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock);
        assert_eq!(std::fs::read_dir(dirs.task("t").join("secrets")).unwrap().count(), 1);
        remove(&dirs, "t").unwrap();
        remove(&dirs, "t").unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn links_of_a_task_lead_no_socket_elsewhere() {
        let all = TempDir::new("api");
        let outside = TempDir::new("outside");
        let dirs = AllocDir::new(all.path(), "a");
        dirs.build().unwrap();
        dirs.build_task("t").unwrap();
        let secrets = dirs.task("t").join("secrets");
        symlink(outside.path().join("file"), secrets.join(SOCKET)).unwrap();
        listen(&dirs, "t").unwrap();
        assert!(!secrets.join(SOCKET).is_symlink());
        remove(&dirs, "t").unwrap();
        std::fs::remove_dir(&secrets).unwrap();
        symlink(outside.path(), &secrets).unwrap();
        assert!(listen(&dirs, "t").is_err());
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
    }
}
