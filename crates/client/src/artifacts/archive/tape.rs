//! Unpacks tar archives.

use std::cell::Cell;
use std::io::{self, Read};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use tar::EntryType;

use super::bounds::{Budget, UnpackError};
use super::members::{Place, path, shown};
use crate::directory::Directory;

/// How much may be read between two members: headers, long names, extensions. The library keeps that in memory.
const HEADERS: u64 = 1 << 20;

/// A reader that reads the headers of a member up to a bound, and its contents without one.
pub(crate) struct Bounded<R> {
    inner: R,
    /// What may be read of headers; none: contents are read.
    left: Rc<Cell<Option<u64>>>,
    /// Too much was to be read.
    exceeded: Rc<Cell<bool>>,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(left) = self.left.get() else { return self.inner.read(buffer) };
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        if most == 0 && !buffer.is_empty() {
            self.exceeded.set(true);
            return Err(io::Error::other("the header is too long"));
        }
        let count = self.inner.read(buffer.get_mut(..most).unwrap_or_default())?;
        self.left.set(Some(left.saturating_sub(u64::try_from(count).unwrap_or(u64::MAX))));
        Ok(count)
    }
}

/// A member of a tar archive.
pub(crate) struct Member {
    /// Its name, as the archive has it.
    pub name: Vec<u8>,
    /// Where it belongs, below the directory that is unpacked to; none: it is that directory.
    pub at: Option<PathBuf>,
    /// Its kind. Old archives mark directories only by their names; they are directories here.
    pub kind: EntryType,
}

/// A member as it is read.
pub(crate) type Entry<'a, R> = tar::Entry<'a, Bounded<R>>;

/// Hands all members to a function, which has to read those with contents to their ends. Their names are checked.
pub(crate) fn each_member<R: Read, E: From<UnpackError>>(
    from: R,
    mut take: impl FnMut(&mut Entry<'_, R>, Member) -> Result<(), E>,
) -> Result<(), E> {
    let (left, exceeded) = (Rc::new(Cell::new(Some(HEADERS))), Rc::new(Cell::new(false)));
    let wrong = |e: io::Error| if exceeded.get() { UnpackError::Header } else { UnpackError::Read(e) };
    let mut archive = tar::Archive::new(Bounded { inner: from, left: left.clone(), exceeded: exceeded.clone() });
    let mut entries = archive.entries().map_err(wrong)?;
    loop {
        left.set(Some(HEADERS));
        let Some(entry) = entries.next() else { return Ok(()) };
        let mut entry = entry.map_err(wrong)?;
        left.set(None);
        let kind = entry.header().entry_type();
        if matches!(kind, EntryType::XGlobalHeader) {
            continue;
        }
        let name = entry.path_bytes().into_owned();
        let at = path(&name)?;
        let is_directory = kind == EntryType::Regular && name.ends_with(b"/");
        let kind = if is_directory { EntryType::Directory } else { kind };
        take(&mut entry, Member { name, at, kind })?;
    }
}

/// Unpacks all members into a directory.
pub(super) fn unpack(from: impl Read, root: &Directory, budget: &mut Budget) -> Result<(), UnpackError> {
    each_member(from, |entry, member| {
        budget.add_member()?;
        let Member { name, at, kind } = member;
        let Some(at) = at else {
            // The directory itself, as archives of `.` have it.
            return if kind == EntryType::Directory { Ok(()) } else { Err(UnpackError::Name(shown(&name))) };
        };
        let mode = entry.header().mode().unwrap_or(0o644);
        match kind {
            EntryType::Directory => Place::new(root, &at)?.directory(mode),
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                let modified = modified(entry);
                let file = Place::new(root, &at)?.file(entry, mode, budget)?;
                if let Some(modified) = modified {
                    // A time that the file system does not know does no harm.
                    let _ = file.set_modified(modified);
                }
                Ok(())
            }
            EntryType::Symlink => {
                let target = entry.link_name_bytes().unwrap_or_default().into_owned();
                Place::new(root, &at)?.link(&target)
            }
            EntryType::Link => {
                let target = entry.link_name_bytes().unwrap_or_default().into_owned();
                let target = path(&target)?.ok_or_else(|| UnpackError::HardLink(shown(&name)))?;
                Place::new(root, &at)?.hard_link(root, &target)
            }
            _ => Err(UnpackError::Type(shown(&name))),
        }
    })
}

/// When the file of a member was changed, if the archive says so.
pub(crate) fn modified<R: Read>(entry: &Entry<'_, R>) -> Option<SystemTime> {
    let seconds = entry.header().mtime().ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}
