//! Unpacks the archive of a disk. It comes from the agent of another node, which took it from what tasks wrote: names,
//! links, sizes and counts are checked, and nothing is written through a link.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::Permissions;
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Gid, Uid, fchown};
use tar::{EntryType, Header};

use super::{DiskError, MOST_MEMBERS, OVERHEAD, Part, error_member, part};
use crate::artifacts::archive::tape::{Entry, Member, each_member, modified};
use crate::artifacts::archive::{UnpackError, shown};
use crate::artifacts::publish::leads_out;
use crate::directory::{Directory, PathError};

/// The bits of modes that files keep, and those that directories keep: no set-user-ID.
const FILE_MODE: u32 = 0o777;
const DIRECTORY_MODE: u32 = 0o3777;
/// Without root, the owner of a directory needs these to write to it.
const OWNERS: u32 = 0o700;
/// Most bytes of an error of the other side that are shown.
const LONGEST_ERROR: u64 = 4 << 10;
/// Bytes that are copied at once.
const BUFFER: usize = 64 << 10;

/// What is taken of an archive.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    /// The previous allocation.
    pub alloc_id: String,
    /// The tasks of the new one.
    pub tasks: BTreeSet<String>,
    /// The size of its disk, in MiB.
    pub size_mb: u64,
    /// Most entries.
    pub members: u64,
}

impl Wanted {
    /// What is taken of the disk of an allocation, for tasks with a disk of that size.
    pub(crate) fn of(alloc_id: &str, tasks: BTreeSet<String>, size_mb: u64) -> Wanted {
        Wanted { alloc_id: alloc_id.into(), tasks, size_mb, members: MOST_MEMBERS }
    }

    fn bytes(&self) -> u64 {
        self.size_mb.saturating_mul(1 << 20)
    }

    /// The longest archive.
    pub(crate) fn archive_bytes(&self) -> u64 {
        self.bytes().saturating_add(self.members.saturating_mul(OVERHEAD))
    }
}

/// Unpacks an archive into a directory of the agent.
///
/// # Errors
/// The archive is not valid, too large, or says that it is not all of the disk. What was unpacked is of no use then.
pub(crate) fn unpack(from: &mut impl Read, into: &Directory, wanted: &Wanted) -> Result<(), DiskError> {
    let privileged = rustix::process::geteuid().is_root();
    let mut unpacker =
        Unpacker { into, wanted, privileged, bytes: 0, members: 0, error: error_member(&wanted.alloc_id) };
    let unpacked = each_member(from, |entry, member| unpacker.member(entry, member));
    unpacked.map_err(|error| match error {
        DiskError::Archive(UnpackError::Read(e)) if e.kind() == io::ErrorKind::FileTooLarge => {
            DiskError::TooLarge(wanted.size_mb)
        }
        DiskError::Archive(UnpackError::Read(e)) if e.kind() == io::ErrorKind::UnexpectedEof => DiskError::CutOff,
        error => error,
    })
}

struct Unpacker<'a> {
    into: &'a Directory,
    wanted: &'a Wanted,
    /// The agent may give files to others.
    privileged: bool,
    bytes: u64,
    members: u64,
    /// The name of the member that carries an error.
    error: String,
}

/// A place for a member: its directory, and its name there.
struct Place {
    dir: Directory,
    name: OsString,
    shown: String,
}

impl Place {
    fn new(root: &Directory, path: &Path) -> Result<Place, DiskError> {
        let shown = shown(path.as_os_str().as_bytes());
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(UnpackError::Name(shown).into());
        };
        let wrong = |source| UnpackError::Write { name: shown.clone(), source };
        Ok(Place { dir: root.make_dirs(parent).map_err(wrong)?, name: name.into(), shown })
    }

    fn wrong(&self, source: impl Into<PathError>) -> DiskError {
        UnpackError::Write { name: self.shown.clone(), source: source.into() }.into()
    }
}

impl Unpacker<'_> {
    fn member<R: Read>(&mut self, entry: &mut Entry<'_, R>, member: Member) -> Result<(), DiskError> {
        self.members = self.members.saturating_add(1);
        if self.members > self.wanted.members {
            return Err(DiskError::TooMany);
        }
        let Member { name, at, kind } = member;
        if at.as_deref() == Some(Path::new(&self.error)) {
            return Err(DiskError::Remote(text_of(entry)));
        }
        let Some((at, part)) = at.and_then(|at| part(&at, &self.wanted.tasks).map(|part| (at, part))) else {
            // A task that the new version of the job does not have, or a directory on the way.
            return self.copy(entry, &mut io::sink(), &shown(&name));
        };
        match (kind, part) {
            (EntryType::Directory, _) => self.directory(entry.header(), &at),
            (EntryType::Regular, Part::Below) => self.file(entry, &at),
            (EntryType::Symlink, Part::Below) => self.link(entry, &at),
            _ => Err(UnpackError::Type(shown(&name)).into()),
        }
    }

    fn directory(&self, header: &Header, at: &Path) -> Result<(), DiskError> {
        let place = Place::new(self.into, at)?;
        let (mode, owner) = attributes(header, &place.shown)?;
        let dir = place.dir.make_dirs(&place.name).map_err(|e| place.wrong(e))?;
        if self.privileged {
            dir.give_itself(owner).map_err(|e| place.wrong(e))?;
        }
        let needed = if self.privileged { 0 } else { OWNERS };
        dir.set_mode(mode & DIRECTORY_MODE | needed).map_err(|e| place.wrong(e))
    }

    fn file<R: Read>(&mut self, entry: &mut Entry<'_, R>, at: &Path) -> Result<(), DiskError> {
        let place = Place::new(self.into, at)?;
        let (mode, (uid, gid)) = attributes(entry.header(), &place.shown)?;
        let changed = modified(entry);
        let mut file = place.dir.create_file(&place.name).map_err(|e| place.wrong(e))?;
        self.copy(entry, &mut file, &place.shown)?;
        if self.privileged {
            let given = fchown(&file, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
            given.map_err(|e| place.wrong(io::Error::from(e)))?;
        }
        file.set_permissions(Permissions::from_mode(mode & FILE_MODE)).map_err(|e| place.wrong(e))?;
        if let Some(changed) = changed {
            // A time that the file system does not know does no harm.
            let _ = file.set_modified(changed);
        }
        Ok(())
    }

    fn link<R: Read>(&self, entry: &mut Entry<'_, R>, at: &Path) -> Result<(), DiskError> {
        let place = Place::new(self.into, at)?;
        let target = entry.link_name_bytes().unwrap_or_default().into_owned();
        if target.is_empty() || target.contains(&0) {
            return Err(UnpackError::Name(place.shown).into());
        }
        let target = PathBuf::from(OsString::from_vec(target));
        let level = at.components().count().saturating_sub(1);
        if leads_out(&target, level) {
            return Err(DiskError::Link(place.shown));
        }
        let (_, owner) = attributes(entry.header(), &place.shown)?;
        place.dir.make_link(&place.name, &target).map_err(|e| place.wrong(e))?;
        if self.privileged {
            place.dir.give(OsStr::new(&place.name), owner).map_err(|e| place.wrong(e))?;
        }
        Ok(())
    }

    /// Copies the contents of a member, within the size of the disk.
    fn copy<R: Read>(&mut self, from: &mut Entry<'_, R>, to: &mut impl Write, name: &str) -> Result<(), DiskError> {
        let mut buffer = vec![0; BUFFER];
        let mut missing = from.size();
        loop {
            let count = match from.read(&mut buffer) {
                Ok(0) if missing > 0 => return Err(DiskError::CutOff),
                Ok(0) => return Ok(()),
                Ok(count) => count,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(UnpackError::Read(e).into()),
            };
            missing = missing.saturating_sub(count as u64);
            self.bytes = self.bytes.saturating_add(count as u64);
            if self.bytes > self.wanted.bytes() {
                return Err(DiskError::TooLarge(self.wanted.size_mb));
            }
            let data = buffer.get(..count).unwrap_or_default();
            to.write_all(data).map_err(|e| UnpackError::Write { name: name.into(), source: e.into() })?;
        }
    }
}

/// Mode, user and group of a member.
fn attributes(header: &Header, name: &str) -> Result<(u32, (u32, u32)), DiskError> {
    let wrong = || DiskError::Owner(name.into());
    // The highest number stands for "unchanged".
    let id = |read: io::Result<u64>| {
        let id = read.ok().and_then(|id| u32::try_from(id).ok());
        id.filter(|id| *id != u32::MAX).ok_or_else(wrong)
    };
    let mode = header.mode().map_err(|_| wrong())?;
    Ok((mode, (id(header.uid())?, id(header.gid())?)))
}

/// The error of the other side, as far as it is shown.
fn text_of(entry: &mut impl Read) -> String {
    let mut text = Vec::new();
    // What cannot be read of it does not make it less of an error.
    let _ = entry.take(LONGEST_ERROR).read_to_end(&mut text);
    String::from_utf8_lossy(&text).escape_debug().collect()
}
