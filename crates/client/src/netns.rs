//! Network namespaces of allocations (`docs/spec/client.md §15.1`): they begin with only a loopback interface.
//!
//! Its loopback is enabled by one netlink message, written here: libraries for that need an asynchronous runtime, or
//! calls that are not safe.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use rustix::mount::{UnmountFlags, mount_bind, unmount};
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};

/// First argument of the program that makes a network namespace and gives it the path that follows.
pub(crate) const ARGUMENT: &str = "network-namespace";
/// Where namespaces have their names.
const DIR: &str = "/var/run/netns";
/// How often a name may be mounted over.
const MOST_MOUNTS: usize = 8;
/// Type of the file system that namespaces are files of.
const NAMESPACES: i128 = 0x6e73_6673;
/// The message of rtnetlink(7) that changes an interface.
const RTM_NEWLINK: u16 = 16;
/// Flags of a message: a request that the kernel acknowledges.
const ACKNOWLEDGED: u16 = 0x5;
/// The flag of interfaces that are up.
const IFF_UP: u32 = 1;
/// The number of the loopback interface in every network namespace.
const LOOPBACK: u32 = 1;

/// Where the namespace of an allocation has its name.
pub fn path(alloc_id: &str) -> PathBuf {
    Path::new(DIR).join(alloc_id)
}

/// Why a namespace was not made.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// The program that makes it did not run.
    #[error("failed to create a network namespace: {0}")]
    Program(#[from] io::Error),
    /// The program could not make it, and wrote why.
    #[error("failed to create a network namespace: {0}")]
    Refused(String),
}

/// Makes the namespace of an allocation, by `program` (it calls [`main`]); one that is there stays.
pub fn create(program: &Path, alloc_id: &str) -> Result<PathBuf, CreateError> {
    let path = path(alloc_id);
    if is_namespace(&path) {
        return Ok(path);
    }
    let made = Command::new(program).arg(ARGUMENT).arg(&path).env_clear().stdin(Stdio::null()).output()?;
    if made.status.success() {
        return Ok(path);
    }
    let why = String::from_utf8_lossy(&made.stderr);
    Err(CreateError::Refused(why.trim().to_string()))
}

/// Gives the namespace of a process of this host the name of an allocation's; what had that name before loses it.
pub(crate) fn name_that_of(pid: u32, alloc_id: &str) -> io::Result<PathBuf> {
    let (own, other) = (Path::new("/proc/self/ns/net"), PathBuf::from(format!("/proc/{pid}/ns/net")));
    if std::fs::read_link(own)? == std::fs::read_link(&other)? {
        return Err(io::Error::other("it is the network of the host"));
    }
    remove(alloc_id)?;
    DirBuilder::new().recursive(true).mode(0o755).create(DIR)?;
    let path = path(alloc_id);
    File::create(&path)?;
    mount_bind(&other, &path).inspect_err(|_| drop(std::fs::remove_file(&path)))?;
    Ok(path)
}

/// Removes the namespace of an allocation; one that is not there is fine.
pub fn remove(alloc_id: &str) -> io::Result<()> {
    let path = path(alloc_id);
    // A program of an agent that was killed meanwhile may have mounted over it.
    for _ in 0..MOST_MOUNTS {
        if !is_namespace(&path) {
            break;
        }
        unmount(&path, UnmountFlags::DETACH)?;
    }
    match std::fs::remove_file(&path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// Moves this thread, and what it starts, into a namespace.
pub fn enter(path: &Path) -> io::Result<()> {
    Ok(move_into_link_name_space(File::open(path)?.as_fd(), Some(LinkNameSpaceType::Network))?)
}

/// Whether a name stands for a namespace, and not for what is left of one.
pub(crate) fn is_namespace(path: &Path) -> bool {
    rustix::fs::statfs(path).is_ok_and(|s| i128::from(s.f_type) == NAMESPACES)
}

/// The whole life of the program that makes a namespace; `None` if the arguments ask for something else.
pub fn main() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    if args.next()? != ARGUMENT {
        return None;
    }
    let path = PathBuf::from(args.next()?);
    Some(match make(&path) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    })
}

/// Leaves the namespace of this process for a new one, and gives that a name by which it stays.
fn make(path: &Path) -> io::Result<()> {
    let parent = path.parent().unwrap_or(Path::new(DIR));
    DirBuilder::new().recursive(true).mode(0o755).create(parent)?;
    unshare_network()?;
    set_loopback_up()?;
    File::create(path)?;
    mount_bind("/proc/self/ns/net", path).map_err(|e| {
        // Without the mount the name stands for nothing.
        let _ = std::fs::remove_file(path);
        e.into()
    })
}

/// Sets the loopback interface of this network namespace up.
fn set_loopback_up() -> io::Result<()> {
    let socket = rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    let mut request = Vec::new();
    request.extend(32_u32.to_ne_bytes());
    request.extend(RTM_NEWLINK.to_ne_bytes());
    request.extend(ACKNOWLEDGED.to_ne_bytes());
    // Sequence and port; then family and type of the interface, which the kernel ignores here.
    request.extend([0; 8 + 4]);
    for word in [LOOPBACK, IFF_UP, IFF_UP] {
        request.extend(word.to_ne_bytes());
    }
    rustix::net::sendto(&socket, &request, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut buffer = [0; 4096];
    let (length, _) = rustix::net::recv(&socket, &mut buffer, RecvFlags::empty())?;
    // The answer contains the negative number of an error, 0 for none.
    match buffer.get(..length).and_then(|answer| answer.get(16..)?.first_chunk()).map(|n| i32::from_ne_bytes(*n)) {
        Some(0) => Ok(()),
        Some(error) => Err(io::Error::from_raw_os_error(error.wrapping_neg())),
        None => Err(io::Error::other("the kernel's answer is cut off")),
    }
}

/// Gives this thread a network of its own.
#[expect(deprecated, reason = "what the newer function warns of concerns shared open files alone")]
fn unshare_network() -> rustix::io::Result<()> {
    rustix::thread::unshare(UnshareFlags::NEWNET)
}
