//! Unpacks zip archives.

use std::fs::File;
use std::io::{BufReader, Read};

use rustix::fs::FileType;
use zip::ZipArchive;

use super::bounds::{Budget, UnpackError};
use super::members::{Place, path, shown};
use crate::directory::Directory;

/// The longest target of a symbolic link.
const LONGEST_TARGET: u64 = 4096;

/// Unpacks all members into a directory.
pub(super) fn unpack(from: File, root: &Directory, budget: &mut Budget) -> Result<(), UnpackError> {
    let mut archive = ZipArchive::new(BufReader::new(from))?;
    for index in 0..archive.len() {
        budget.add_member()?;
        let mut member = archive.by_index(index)?;
        let name = member.name_raw().to_vec();
        let mode = member.unix_mode();
        let Some(at) = path(&name)? else {
            if member.is_dir() {
                continue;
            }
            return Err(UnpackError::Name(shown(&name)));
        };
        if member.is_dir() {
            Place::new(root, &at)?.directory(mode.unwrap_or(0o755))?;
            continue;
        }
        // Archives of other systems have no types.
        let kind = mode.map(FileType::from_raw_mode);
        match kind {
            Some(FileType::Symlink) => {
                let mut target = Vec::new();
                (&mut member).take(LONGEST_TARGET + 1).read_to_end(&mut target).map_err(UnpackError::Read)?;
                if target.len() as u64 > LONGEST_TARGET {
                    return Err(UnpackError::Name(shown(&name)));
                }
                Place::new(root, &at)?.link(&target)?;
            }
            None | Some(FileType::RegularFile | FileType::Unknown) => {
                Place::new(root, &at)?.file(&mut member, mode.unwrap_or(0o644), budget)?;
            }
            Some(_) => return Err(UnpackError::Type(shown(&name))),
        }
    }
    Ok(())
}
