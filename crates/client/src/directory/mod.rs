//! Handles to directories that tasks write to. No path given to a handle leads out of its directory.
//!
//! A task may create links, pipes and devices anywhere in its directories, and swap them while the agent works there
//! with more privileges than the task has. So paths are resolved relative to an open directory: by the kernel
//! (`openat2` with `RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS`) where no link may be followed, name by name with
//! `O_NOFOLLOW` where the kernel does not support that, and where links inside the directory are allowed. The latter
//! also follows absolute links that point into the directory, which the kernel refuses. `build` makes entries,
//! [`remove`] removes trees.

mod build;
pub mod remove;

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, Permissions};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustix::fs::{
    AtFlags, CWD, FileType, Gid, Mode, OFlags, ResolveFlags, Uid, fchmod, fchown, fcntl_getfl, fcntl_setfl, fstat,
    mkdirat, mkfifoat, openat, openat2, readlinkat, renameat, unlinkat,
};
use rustix::io::Errno;

/// Whether a text is safe as the name of a directory, as IDs are.
pub(crate) fn is_id(text: &str) -> bool {
    !text.is_empty() && text.len() <= 64 && text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
}

/// A relative path and what follows it, without `.` and `..`; `None` if that leads above where the path begins.
pub(crate) fn joined(mut base: PathBuf, rest: &Path) -> Option<PathBuf> {
    for part in rest.components() {
        match part {
            Component::Normal(name) => base.push(name),
            Component::ParentDir => {
                if !base.pop() {
                    return None;
                }
            }
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    Some(base)
}

/// Most links that are followed on the way to one file.
const MOST_LINKS: usize = 40;
/// How often the kernel is asked again when a directory was moved while it resolved a path.
const RETRIES: usize = 16;
/// The flags of every open file: no program inherits it, and no terminal becomes the agent's.
const ALWAYS: OFlags = OFlags::CLOEXEC.union(OFlags::NOCTTY);
const DIRECTORY: OFlags = OFlags::DIRECTORY.union(ALWAYS);

/// Why a path of a directory could not be used.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    /// It leads out of the directory.
    #[error("the path leads out of the directory")]
    Escapes,
    /// It goes through a link where none may be.
    #[error("the path goes through a symbolic link")]
    Link,
    /// It is a directory.
    #[error("is a directory")]
    IsDirectory,
    /// It is neither file nor directory, or a file with further names.
    #[error("is no regular file")]
    NotRegular,
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<Errno> for PathError {
    fn from(e: Errno) -> PathError {
        PathError::Io(e.into())
    }
}

impl From<PathError> for io::Error {
    fn from(e: PathError) -> io::Error {
        match e {
            PathError::Io(e) => e,
            PathError::Escapes | PathError::Link | PathError::IsDirectory | PathError::NotRegular => {
                io::Error::new(io::ErrorKind::InvalidInput, e)
            }
        }
    }
}

/// Which links count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// None: a path with a link is an error.
    Refused,
    /// Those that stay inside the directory.
    Inside,
}

/// How paths without links are resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Resolver {
    /// By `openat2`.
    Kernel,
    /// Name by name.
    Stepwise,
}

impl Resolver {
    /// The abilities of this kernel; they are determined once.
    fn of_host() -> Resolver {
        static KNOWN: OnceLock<Resolver> = OnceLock::new();
        *KNOWN.get_or_init(|| {
            let probe = openat2(CWD, "/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::NO_MAGICLINKS);
            if probe.is_ok() { Resolver::Kernel } else { Resolver::Stepwise }
        })
    }
}

/// An open directory; copies share it.
#[derive(Debug, Clone)]
pub struct Directory {
    fd: Arc<OwnedFd>,
    /// Where it was opened; absolute links into it are known by that.
    path: PathBuf,
    resolver: Resolver,
}

/// The file that a path led to.
#[derive(Debug)]
pub struct Entry {
    /// The path from the directory, after all links.
    pub real: PathBuf,
    /// Its metadata.
    pub metadata: Metadata,
}

/// A path, resolved name by name: the open entries from the directory on.
struct Walked(Vec<(OsString, OwnedFd)>);

/// A path of this process that leads to an open file, whatever its name stands for by now.
pub(crate) fn by_descriptor(fd: &impl AsRawFd) -> PathBuf {
    Path::new("/proc/self/fd").join(fd.as_raw_fd().to_string())
}

impl Directory {
    /// Opens a directory that the agent itself made; links in `path` are followed.
    pub fn open(path: &Path) -> io::Result<Directory> {
        let fd = openat(CWD, path, DIRECTORY | OFlags::RDONLY, Mode::empty())?;
        Ok(Directory { fd: Arc::new(fd), path: path.into(), resolver: Resolver::of_host() })
    }

    /// A path by which the system finds this very directory, whatever its name stands for by now. For this process.
    pub(crate) fn by_descriptor(&self) -> PathBuf {
        by_descriptor(&*self.fd)
    }

    /// The same directory, whose paths are resolved without the kernel's help.
    #[cfg(test)]
    fn stepwise(self) -> Directory {
        Directory { resolver: Resolver::Stepwise, ..self }
    }

    /// Opens a directory below.
    pub(crate) fn open_dir(&self, path: impl AsRef<Path>, links: Links) -> Result<Directory, PathError> {
        let path = path.as_ref();
        let (fd, real) = match links {
            Links::Refused => (self.open_unlinked(path, DIRECTORY | OFlags::RDONLY, 0)?, self.path.join(path)),
            Links::Inside => {
                let walked = self.walk(path, links)?;
                (self.reopen(&walked, DIRECTORY | OFlags::RDONLY)?, self.path.join(walked.real()))
            }
        };
        Ok(Directory { fd: Arc::new(fd), path: real, resolver: self.resolver })
    }

    /// Opens a regular file for reading; gives its path after all links, too.
    pub(crate) fn open_file(&self, path: impl AsRef<Path>, links: Links) -> Result<(File, PathBuf), PathError> {
        let path = path.as_ref();
        // A pipe would let the agent wait for a writer.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | ALWAYS;
        let (fd, real) = match links {
            Links::Refused => (self.open_unlinked(path, flags, 0)?, path.to_path_buf()),
            Links::Inside => {
                let walked = self.walk(path, links)?;
                walked.last().map_or(Err(PathError::IsDirectory), |fd| regular(fstat(fd)?.st_mode))?;
                (self.reopen(&walked, flags)?, walked.real())
            }
        };
        regular(fstat(&fd)?.st_mode)?;
        Ok((File::from(fd), real))
    }

    /// The target of a path.
    pub fn entry(&self, path: impl AsRef<Path>, links: Links) -> Result<Entry, PathError> {
        let mut walked = self.walk(path.as_ref(), links)?;
        let real = walked.real();
        let metadata = match walked.0.pop() {
            Some((_, fd)) => File::from(fd).metadata()?,
            None => File::from(self.fd.try_clone()?).metadata()?,
        };
        Ok(Entry { real, metadata })
    }

    /// The metadata of a name in this directory; of a link, those of the link.
    pub fn metadata(&self, name: impl AsRef<OsStr>) -> io::Result<Metadata> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        File::from(openat(&self.fd, single(name.as_ref())?, flags, Mode::empty())?).metadata()
    }

    /// The names in this directory, in any order.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let mut out = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.fd)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                out.push(name.into());
            }
        }
        Ok(out)
    }

    /// Opens a file of this directory for appending; makes it if it is not there. What is no file of its own under that
    /// name, but a link, a pipe, or a file with a second name elsewhere, is replaced.
    pub fn append(&self, name: &str, mode: u32) -> io::Result<File> {
        single(name.as_ref())?;
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NONBLOCK | ALWAYS;
        for _ in 0..RETRIES {
            match self.open_unlinked(Path::new(name), flags, mode) {
                Ok(fd) => {
                    let file = File::from(fd);
                    let found = file.metadata()?;
                    if found.is_file() && found.nlink() == 1 {
                        return Ok(file);
                    }
                }
                // A pipe that nobody reads has no device.
                Err(PathError::Link) => {}
                Err(PathError::Io(e)) if e.raw_os_error() == Some(Errno::NXIO.raw_os_error()) => {}
                Err(e) => return Err(e.into()),
            }
            self.remove_file(name)?;
        }
        Err(PathError::NotRegular.into())
    }

    /// Writes a file below; directories that are missing are made. Readers see the file before or the file after, never
    /// a part. `owner`: user and group, none for the agent's own.
    pub fn replace(
        &self,
        path: impl AsRef<Path>,
        data: &[u8],
        mode: u32,
        owner: Option<(u32, u32)>,
    ) -> Result<(), PathError> {
        let names = plain_names(path.as_ref())?;
        let (name, parents) = names.split_last().ok_or(PathError::Escapes)?;
        let dir = self.make_way(parents.iter().copied(), 0o777)?;
        let mut unfinished = OsString::from(".");
        unfinished.push(name);
        unfinished.push(".new");
        let mut file = dir.create_file(&unfinished)?;
        if let Some((uid, gid)) = owner {
            fchown(&file, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)))?;
        }
        fchmod(&file, Mode::from_raw_mode(mode))?;
        file.write_all(data)?;
        Ok(renameat(&dir.fd, &unfinished, &dir.fd, *name)?)
    }

    /// Makes a directory of this one, with that mode and owner; one that is there gets them, too.
    pub(crate) fn make_dir(&self, name: &str, mode: u32, owner: Option<(u32, u32)>) -> Result<Directory, PathError> {
        match mkdirat(&self.fd, single(name.as_ref())?, Mode::from_raw_mode(0o700)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(e) => return Err(e.into()),
        }
        let dir = self.open_dir(name, Links::Refused)?;
        if let Some((uid, gid)) = owner {
            fchown(&dir.fd, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)))?;
        }
        fchmod(&dir.fd, Mode::from_raw_mode(mode))?;
        Ok(dir)
    }

    /// Opens a directory or file below without access to its contents: to mount something there.
    pub(crate) fn open_place(&self, path: impl AsRef<Path>) -> Result<OwnedFd, PathError> {
        self.open_unlinked(path.as_ref(), OFlags::PATH | OFlags::CLOEXEC, 0)
    }

    /// Makes a pipe of this directory for the agent's user alone, in place of what has the name; gives both ends.
    pub(crate) fn make_pipe(&self, name: &str) -> Result<(File, File), PathError> {
        self.remove_file(name)?;
        mkfifoat(&self.fd, single(name.as_ref())?, Mode::RUSR | Mode::WUSR)?;
        // Opened without waiting for the other end.
        let open =
            |flags: OFlags| Ok::<_, PathError>(File::from(self.open_unlinked(Path::new(name), flags | ALWAYS, 0)?));
        let reader = open(OFlags::RDONLY | OFlags::NONBLOCK)?;
        let writer = open(OFlags::WRONLY | OFlags::NONBLOCK)?;
        let (first, second) = (reader.metadata()?, writer.metadata()?);
        let own = first.uid() == rustix::process::geteuid().as_raw() && first.nlink() == 1;
        if !first.file_type().is_fifo() || !own || (first.dev(), first.ino()) != (second.dev(), second.ino()) {
            return Err(PathError::NotRegular);
        }
        for end in [&reader, &writer] {
            fcntl_setfl(end, fcntl_getfl(end)? - OFlags::NONBLOCK)?;
        }
        Ok((reader, writer))
    }

    /// Makes a listening socket of this directory that all users may connect to, in place of what has the name. It does
    /// not block.
    pub(crate) fn make_socket(&self, name: &str) -> Result<UnixListener, PathError> {
        let mut unfinished = OsString::from(".");
        unfinished.push(single(name.as_ref())?);
        unfinished.push(".new");
        self.remove_file(&unfinished)?;
        // By the descriptor: the path could be too long for an address, or lead elsewhere by now.
        let socket = UnixListener::bind(self.by_descriptor().join(&unfinished))?;
        socket.set_nonblocking(true)?;
        let made = File::from(self.open_unlinked(Path::new(&unfinished), OFlags::PATH | OFlags::CLOEXEC, 0)?);
        let metadata = made.metadata()?;
        let own = metadata.uid() == rustix::process::geteuid().as_raw() && metadata.nlink() == 1;
        if !metadata.file_type().is_socket() || !own {
            return Err(PathError::NotRegular);
        }
        std::fs::set_permissions(by_descriptor(&made), Permissions::from_mode(0o666))?;
        renameat(&self.fd, &unfinished, &self.fd, name)?;
        Ok(socket)
    }

    /// Removes a name that is no directory; one that is not there is fine.
    pub fn remove_file(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        match unlinkat(&self.fd, single(name.as_ref())?, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }

    /// Moves a directory of this one to another one, in place of what is there. False if it is not there or no
    /// directory.
    pub(crate) fn move_dir(&self, name: &str, to: &Directory) -> io::Result<bool> {
        match self.metadata(name) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => return Ok(false),
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(e) => return Err(e),
        }
        to.remove_tree(name)?;
        renameat(&self.fd, name, &to.fd, name)?;
        Ok(true)
    }

    /// Opens a path without a single link in it.
    fn open_unlinked(&self, path: &Path, flags: OFlags, mode: u32) -> Result<OwnedFd, PathError> {
        let names = plain_names(path)?;
        let flags = flags | OFlags::NOFOLLOW;
        let mode = if flags.contains(OFlags::CREATE) { Mode::from_raw_mode(mode) } else { Mode::empty() };
        let cleaned: PathBuf = if names.is_empty() { ".".into() } else { names.iter().collect() };
        if self.resolver == Resolver::Kernel {
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            for _ in 0..RETRIES {
                return match openat2(&self.fd, &cleaned, flags, mode, resolve) {
                    Err(Errno::AGAIN | Errno::INTR) => continue,
                    Err(Errno::XDEV) => Err(PathError::Escapes),
                    opened => linked(opened),
                };
            }
        }
        let Some((name, parents)) = names.split_last() else {
            return linked(openat(&self.fd, ".", flags, mode));
        };
        let parents = self.walk(&parents.iter().collect::<PathBuf>(), Links::Refused)?;
        linked(openat(parents.last().unwrap_or(self.fd.as_fd()), *name, flags, mode))
    }

    /// Opens what a walk led to. Its name may mean something else by now, but nothing elsewhere.
    fn reopen(&self, walked: &Walked, flags: OFlags) -> Result<OwnedFd, PathError> {
        let opened = match walked.0.as_slice() {
            [] => openat(&self.fd, ".", flags, Mode::empty()),
            [(name, _)] => openat(&self.fd, name, flags | OFlags::NOFOLLOW, Mode::empty()),
            [.., (_, parent), (name, _)] => openat(parent, name, flags | OFlags::NOFOLLOW, Mode::empty()),
        };
        linked(opened)
    }

    /// Resolves a path name by name. `..` goes back to the directory that was come through, never to where it is now.
    fn walk(&self, path: &Path, links: Links) -> Result<Walked, PathError> {
        let mut walked = Walked(Vec::new());
        let mut left: Vec<OsString> = steps(path);
        let mut followed = 0;
        while let Some(step) = left.pop() {
            if step == ".." {
                walked.0.pop().ok_or(PathError::Escapes)?;
                continue;
            }
            let from = walked.last().unwrap_or(self.fd.as_fd());
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let fd = openat(from, &step, flags, Mode::empty())?;
            if !FileType::from_raw_mode(fstat(&fd)?.st_mode).is_symlink() {
                walked.0.push((step, fd));
                continue;
            }
            followed += 1;
            if links == Links::Refused {
                return Err(PathError::Link);
            }
            if followed > MOST_LINKS {
                return Err(Errno::LOOP.into());
            }
            let target = readlinkat(&fd, "", Vec::new())?;
            let mut target = Path::new(OsStr::from_bytes(target.as_bytes()));
            if target.is_absolute() {
                target = target.strip_prefix(&self.path).map_err(|_| PathError::Escapes)?;
                walked.0.clear();
            }
            left.extend(steps(target));
        }
        Ok(walked)
    }
}

impl Walked {
    fn last(&self) -> Option<BorrowedFd<'_>> {
        self.0.last().map(|(_, fd)| fd.as_fd())
    }

    fn real(&self) -> PathBuf {
        self.0.iter().map(|(name, _)| name).collect()
    }
}

/// The names of a path, the last one first; `..` stays.
fn steps(path: &Path) -> Vec<OsString> {
    let step = |part: Component| match part {
        Component::Normal(name) => Some(name.to_os_string()),
        Component::ParentDir => Some("..".into()),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    };
    path.components().rev().filter_map(step).collect()
}

/// The names of a path without `..`, below the directory.
fn plain_names(path: &Path) -> Result<Vec<&OsStr>, PathError> {
    let name = |part| match part {
        Component::Normal(name) => Some(Ok(name)),
        Component::CurDir => None,
        Component::ParentDir | Component::RootDir | Component::Prefix(_) => Some(Err(PathError::Escapes)),
    };
    path.components().filter_map(name).collect()
}

/// A name that is one name.
fn single(name: &OsStr) -> io::Result<&OsStr> {
    match plain_names(Path::new(name))?.as_slice() {
        [one] => Ok(*one),
        _ => Err(PathError::Escapes.into()),
    }
}

fn regular(mode: u32) -> Result<(), PathError> {
    match FileType::from_raw_mode(mode) {
        FileType::RegularFile => Ok(()),
        FileType::Directory => Err(PathError::IsDirectory),
        _ => Err(PathError::NotRegular),
    }
}

/// A refused link has an error of its own.
fn linked(opened: rustix::io::Result<OwnedFd>) -> Result<OwnedFd, PathError> {
    match opened {
        Err(Errno::LOOP) => Err(PathError::Link),
        opened => Ok(opened?),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::testing::TempDir;

    /// A directory `in` with links of all kinds, beside a directory `out`; with both resolvers.
    pub(super) fn trees() -> Vec<(TempDir, Directory)> {
        [false, true]
            .map(|stepwise| {
                let dir = TempDir::new("directory");
                let root = dir.path().canonicalize().unwrap().join("in");
                std::fs::create_dir_all(root.join("a/b")).unwrap();
                std::fs::create_dir_all(dir.path().join("out")).unwrap();
                std::fs::write(dir.path().join("out/secret"), "foreign").unwrap();
                std::fs::write(root.join("a/b/f"), "own").unwrap();
                for (target, link) in [
                    ("../out", "up"),
                    ("/etc", "etc"),
                    ("a/b", "down"),
                    ("../down/f", "a/file"),
                    ("loop", "loop"),
                    ("a/../../out/secret", "sly"),
                ] {
                    symlink(target, root.join(link)).unwrap();
                }
                symlink(root.join("a/b"), root.join("absolute")).unwrap();
                let handle = Directory::open(&root).unwrap();
                (dir, if stepwise { handle.stepwise() } else { handle })
            })
            .into()
    }

    fn text(opened: Result<(File, PathBuf), PathError>) -> Result<(String, PathBuf), PathError> {
        let (mut file, real) = opened?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        Ok((text, real))
    }

    #[test]
    fn links_inside_are_followed_and_others_refused() {
        for (_dir, tree) in trees() {
            for path in ["a/b/f", "/a/b/f", "a/./b/../b/f", "down/f", "a/file", "absolute/f", "down/../b/f"] {
                let got = text(tree.open_file(path, Links::Inside)).unwrap();
                assert_eq!(got, ("own".into(), PathBuf::from("a/b/f")), "{path}");
            }
            for path in ["..", "../out/secret", "up/secret", "etc/passwd", "sly", "a/../../out/secret"] {
                let got = text(tree.open_file(path, Links::Inside));
                assert!(matches!(got, Err(PathError::Escapes)), "{path}: {got:?}");
            }
            assert!(text(tree.open_file("loop", Links::Inside)).is_err());
            assert!(matches!(text(tree.open_file("a", Links::Inside)), Err(PathError::IsDirectory)));
            assert_eq!(tree.entry("absolute", Links::Inside).unwrap().real, PathBuf::from("a/b"));
            assert!(tree.entry("", Links::Inside).unwrap().metadata.is_dir());
        }
    }

    #[test]
    fn no_link_is_followed_where_none_may_be() {
        for (_dir, tree) in trees() {
            assert_eq!(text(tree.open_file("a/b/f", Links::Refused)).unwrap().0, "own");
            for path in ["down/f", "a/file", "absolute/f", "up/secret"] {
                let got = text(tree.open_file(path, Links::Refused));
                assert!(matches!(got, Err(PathError::Link)), "{path}: {got:?}");
            }
            for path in ["../out/secret", "/etc/passwd", "a/../../out"] {
                let got = text(tree.open_file(path, Links::Refused));
                assert!(matches!(got, Err(PathError::Escapes)), "{path}: {got:?}");
            }
            assert!(tree.open_dir("down", Links::Refused).is_err());
            assert_eq!(tree.open_dir("down", Links::Inside).unwrap().names().unwrap(), ["f"]);
        }
    }

    #[test]
    fn files_are_written_without_following_links() {
        for (dir, tree) in trees() {
            let root = dir.path().join("in");
            tree.replace("new/x", b"one", 0o600, None).unwrap();
            tree.replace("./new/x", b"two", 0o600, None).unwrap();
            assert_eq!(std::fs::read_to_string(root.join("new/x")).unwrap(), "two");
            assert_eq!(root.join("new/x").metadata().unwrap().permissions().mode() & 0o777, 0o600);
            assert_eq!(std::fs::read_dir(root.join("new")).unwrap().count(), 1);
            for bad in ["", "..", "../x", "a/../../x", "/etc/x", "up/x", "down/x"] {
                assert!(tree.replace(bad, b"x", 0o600, None).is_err(), "{bad}");
            }
            symlink("../out/secret", root.join("log")).unwrap();
            symlink("../out/other", root.join(".log.new")).unwrap();
            tree.append("log", 0o644).unwrap().write_all(b"line").unwrap();
            std::fs::hard_link(dir.path().join("out/secret"), root.join("hard")).unwrap();
            tree.append("hard", 0o644).unwrap().write_all(b"line").unwrap();
            tree.make_pipe("pipe").unwrap();
            tree.append("pipe", 0o644).unwrap().write_all(b"line").unwrap();
            tree.append("log", 0o644).unwrap().write_all(b"s").unwrap();
            assert_eq!(std::fs::read_to_string(root.join("log")).unwrap(), "lines");
            tree.replace("log", b"", 0o600, None).unwrap();
            assert!(tree.make_dir("up", 0o777, None).is_err());
            assert_eq!(std::fs::read_to_string(dir.path().join("out/secret")).unwrap(), "foreign");
            assert_eq!(std::fs::read_dir(dir.path().join("out")).unwrap().count(), 1);
        }
    }

    #[test]
    fn pipes_are_new_and_connected() {
        for (dir, tree) in trees() {
            symlink("../out/secret", dir.path().join("in/pipe")).unwrap();
            let (mut reader, mut writer) = tree.make_pipe("pipe").unwrap();
            writer.write_all(b"through").unwrap();
            drop(writer);
            let mut got = String::new();
            reader.read_to_string(&mut got).unwrap();
            assert_eq!(got, "through");
            assert!(matches!(tree.open_file("pipe", Links::Inside), Err(PathError::NotRegular)));
        }
    }

    #[test]
    fn directories_are_moved_links_are_not() {
        for (dir, tree) in trees() {
            let other = tree.make_dir("other", 0o755, None).unwrap();
            other.make_dir("a", 0o755, None).unwrap().replace("old", b"", 0o600, None).unwrap();
            assert!(tree.move_dir("a", &other).unwrap() && !tree.move_dir("a", &other).unwrap());
            assert!(!tree.move_dir("up", &other).unwrap());
            let moved = dir.path().join("in/other/a");
            assert!(moved.join("b/f").exists() && !moved.join("old").exists());
        }
    }
}
