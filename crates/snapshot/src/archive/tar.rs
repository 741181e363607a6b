//! Headers of the tar layer (`docs/spec/snapshot-archive.md §2`), parsed by the crate `tar`.
//!
//! Its `Archive` does not walk the members: it reads extended settings of any size into memory, and reports neither a
//! member that is cut off nor what follows the last one.

use tar::{EntryType, PaxExtensions};

use super::error::ArchiveError;

/// Bytes of a header, and of what everything is padded to.
pub(crate) const BLOCK: usize = 512;

/// The content of a header.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Header {
    /// A file.
    File {
        /// Its name, as it stands there.
        name: Vec<u8>,
        /// Its length in bytes.
        size: u64,
    },
    /// Settings for the next member, so many bytes of them.
    Extended(u64),
    /// Settings for all members, so many bytes of them.
    Global(u64),
    /// A block of zeros: there are no more members.
    End,
}

fn broken(what: &str) -> ArchiveError {
    ArchiveError::Tar(format!("it is not a server backup archive, or damaged: {what}"))
}

impl Header {
    /// Interprets a header.
    pub(crate) fn parse(header: &tar::Header) -> Result<Header, ArchiveError> {
        if header.as_bytes().iter().all(|b| *b == 0) {
            return Ok(Header::End);
        }
        let mut counted = header.clone();
        counted.set_cksum();
        if header.cksum().ok() != counted.cksum().ok() {
            return Err(broken("a tar header has a wrong checksum"));
        }
        let size = header.entry_size().map_err(|_| broken("a tar header has no size"))?;
        let name = header.path_bytes().into_owned();
        match header.entry_type() {
            EntryType::Regular => Ok(Header::File { name, size }),
            EntryType::XHeader => Ok(Header::Extended(size)),
            EntryType::XGlobalHeader => Ok(Header::Global(size)),
            kind => Err(ArchiveError::Members(format!("{} is {}, not a file", shown(&name), kind_name(kind)))),
        }
    }
}

/// A name as messages show it.
pub(crate) fn shown(name: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(name).chars().filter(|c| !c.is_control()).take(60).collect();
    format!("the member {text:?}")
}

fn kind_name(kind: EntryType) -> &'static str {
    match kind {
        EntryType::Link => "a hard link",
        EntryType::Symlink => "a symbolic link",
        EntryType::Char | EntryType::Block => "a device",
        EntryType::Directory => "a folder",
        EntryType::Fifo => "a pipe",
        _ => "of an unknown kind",
    }
}

/// The extended settings of a member.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Extended {
    /// Its name.
    pub name: Option<Vec<u8>>,
    /// Its length in bytes.
    pub size: Option<u64>,
}

impl Extended {
    /// Reads the settings: lines `LENGTH KEY=VALUE`.
    pub(crate) fn parse(content: &[u8]) -> Result<Extended, ArchiveError> {
        let bad = || broken("extended settings of a tar member cannot be read");
        let mut out = Extended::default();
        for setting in PaxExtensions::new(content) {
            let setting = setting.map_err(|_| bad())?;
            match setting.key_bytes() {
                b"path" => out.name = Some(setting.value_bytes().to_vec()),
                b"size" => out.size = Some(setting.value().ok().and_then(|v| v.parse().ok()).ok_or_else(bad)?),
                _ => {}
            }
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_with_wrong_numbers_are_rejected() {
        let parsed = |size: &[u8; 12], checksum: Option<&[u8; 8]>| {
            let mut header = tar::Header::new_ustar();
            header.set_path("state.bin").unwrap();
            header.as_mut_bytes()[124..136].copy_from_slice(size);
            header.set_cksum();
            if let Some(checksum) = checksum {
                header.as_mut_bytes()[148..156].copy_from_slice(checksum);
            }
            Header::parse(&header).map_err(|e| e.to_string())
        };
        let file = |size| Ok(Header::File { name: b"state.bin".to_vec(), size });
        assert_eq!(parsed(b"00000000644\0", None), file(0o644));
        assert_eq!(parsed(&[0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0], None), file(8 << 30));
        for size in [b"\0\0\0\0\0\0\0\0\0\0\0\0", b"9\0\0\0\0\0\0\0\0\0\0\0"] {
            assert!(parsed(size, None).unwrap_err().contains("has no size"));
        }
        for checksum in [b"0000001\0", b"\0\0\0\0\0\0\0\0"] {
            assert!(parsed(b"00000000644\0", Some(checksum)).unwrap_err().contains("wrong checksum"));
        }
    }

    #[test]
    fn extended_settings() {
        let parsed = Extended::parse(b"18 path=state.bin\n19 size=8589934593\n28 mtime=1795245119.1234567\n").unwrap();
        assert_eq!(parsed, Extended { name: Some(b"state.bin".to_vec()), size: Some((8 << 30) + 1) });
        for bad in [&b"x"[..], b"8 path=x\n", b"99 path=x\n", b"2 \n", b"12 size=abc\n"] {
            assert!(Extended::parse(bad).is_err(), "{bad:?}");
        }
    }
}
