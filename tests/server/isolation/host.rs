//! What a host has that tasks must not reach, and what it looks like afterwards.

use std::net::{TcpListener, TcpStream};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Child, Command};

use super::escapes::{Kind, not_made};
use super::file;
use crate::program::Folder;
use encamp_test_support::notes;

/// The content of a file of the host's root user.
pub const SECRET: &str = "secret of the host";

/// Files, sockets, a process, shared memory and a key of the host.
pub struct Host {
    /// A file of the root user.
    pub canary: PathBuf,
    /// A directory that tasks see at `/tools` and may not write to.
    tools: PathBuf,
    data: PathBuf,
    daemon: PathBuf,
    listener: TcpListener,
    abstract_name: String,
    segment: Segment,
    key: Key,
    process: Child,
    /// They listen.
    _sockets: [UnixListener; 2],
}

impl Host {
    /// `None`, with a message: the attempts can't be made here.
    pub fn new(folder: &Folder, name: &str) -> Option<Host> {
        if cfg!(not(target_arch = "x86_64")) {
            notes::skipped("attempts to escape", "they use the numbers of system calls of x86-64");
            return None;
        }
        let tools = folder.path().join("tools");
        std::fs::create_dir_all(&tools).expect("a folder");
        std::fs::write(tools.join("attempts.pl"), file("tests/server/isolation/attempts.pl")).expect("a file");
        std::fs::write(tools.join("mine"), "mine").expect("a file");
        std::fs::write(tools.join("secret"), "secret").expect("a file");
        std::fs::set_permissions(tools.join("secret"), std::fs::Permissions::from_mode(0o600)).expect("a mode");
        let canary = folder.file("canary", SECRET);
        std::fs::set_permissions(&canary, std::fs::Permissions::from_mode(0o600)).expect("a mode");
        let daemon = folder.path().join("daemon.sock");
        let abstract_name = format!("encamp-{name}-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&abstract_name).expect("an address");
        let sockets = [UnixListener::bind_addr(&address), UnixListener::bind(&daemon)].map(|s| s.expect("a socket"));
        let Some((segment, key)) = Segment::new(name).zip(Key::new(name)) else {
            notes::skipped("attempts to escape", "perl, shared memory or keys are missing");
            return None;
        };
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        // From the host, all of that can be reached.
        TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
        UnixStream::connect_addr(&address).expect("a connection");
        UnixStream::connect(&daemon).expect("a connection");
        Some(Host {
            canary,
            tools,
            data: folder.path().join("data"),
            daemon,
            listener,
            abstract_name,
            segment,
            key,
            process: Command::new("sleep").arg("600").spawn().expect("a process of the host"),
            _sockets: sockets,
        })
    }

    /// The arguments of the program that makes the attempts.
    pub fn arguments(&self, kind: Kind) -> Vec<String> {
        let text = |path: &PathBuf| path.display().to_string();
        vec![
            "/tools/attempts.pl".into(),
            not_made(kind),
            text(&self.canary),
            self.process.id().to_string(),
            self.listener.local_addr().expect("an address").port().to_string(),
            self.abstract_name.clone(),
            self.segment.0.to_string(),
            format!("{}/alloc/${{NOMAD_ALLOC_ID}}/victim/secrets/key", self.data.display()),
            text(&self.data),
            text(&self.daemon),
            self.key.0.clone(),
        ]
    }

    /// Checks that what could have been changed was not.
    pub fn stays_unharmed(mut self) {
        assert_eq!(std::fs::read_to_string(self.tools.join("mine")).expect("a file"), "mine");
        let mode = self.tools.join("mine").metadata().expect("a file").permissions().mode() & 0o777;
        assert_ne!(mode, 0o777);
        assert_eq!(std::fs::read_to_string(&self.canary).expect("a file"), SECRET);
        assert!(self.process.try_wait().expect("a process").is_none());
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Runs a program of perl; whether it succeeded.
fn perl(script: &str, args: &[&str]) -> bool {
    Command::new("perl").args(["-e", script]).args(args).status().is_ok_and(|s| s.success())
}

/// A number of this process and of a name.
fn number(name: &str) -> Option<i32> {
    let of_name: u8 = name.bytes().fold(0, u8::wrapping_add);
    Some(i32::try_from(std::process::id()).ok()? + 0x4000_0000 + (i32::from(of_name) << 22))
}

/// A segment of shared memory of the host, which is removed in the end.
struct Segment(i32);

impl Segment {
    fn new(name: &str) -> Option<Segment> {
        let key = number(name)?;
        perl(&format!("defined shmget({key}, 4096, 0666 | 01000) or exit 1"), &[]).then_some(Segment(key))
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        perl(&format!("my $unused = 0; shmctl(shmget({}, 0, 0), 0, $unused)", self.0), &[]);
    }
}

/// A key of the root user of the host, which is removed in the end.
struct Key(String);

impl Key {
    fn new(name: &str) -> Option<Key> {
        let key = format!("encamp-{name}-{}", std::process::id());
        // `add_key` to the key ring of the user; then `keyctl` finds it there.
        let script = "my ($k, $t, $s) = (shift, 'user', 'secret'); exit 1 if syscall(248, $t, $k, $s, 6, -4) < 0; \
                      exit(syscall(250, 10, -4, $t, $k, 0) < 0)";
        perl(script, &[&key]).then_some(Key(key))
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        let script = "my ($k, $t) = (shift, 'user'); my $id = syscall(250, 10, -4, $t, $k, 0); syscall(250, 9, $id, -4) if $id >= 0";
        perl(script, &[&self.0]);
    }
}
