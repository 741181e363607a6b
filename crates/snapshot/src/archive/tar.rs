//! Headers of the tar layer (`docs/spec/snapshot-archive.md §2`), parsed as strictly as its few members allow.

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
    /// Reads a header.
    pub(crate) fn parse(block: &[u8; BLOCK]) -> Result<Header, ArchiveError> {
        if block.iter().all(|b| *b == 0) {
            return Ok(Header::End);
        }
        let stored = number(&block[148..156]);
        let sum: u64 =
            block.iter().enumerate().map(|(i, b)| if (148..156).contains(&i) { 32 } else { u64::from(*b) }).sum();
        if stored != Some(sum) {
            return Err(broken("a tar header has a wrong checksum"));
        }
        let size = number(&block[124..136]).ok_or_else(|| broken("a tar header has no size"))?;
        let mut name = text(&block[..100]).to_vec();
        if &block[257..263] == b"ustar\0" && block[345] != 0 {
            name = [text(&block[345..500]), b"/", &name].concat();
        }
        match block[156] {
            b'0' | 0 => Ok(Header::File { name, size }),
            b'x' => Ok(Header::Extended(size)),
            b'g' => Ok(Header::Global(size)),
            kind => Err(ArchiveError::Members(format!("{} is {}, not a file", shown(&name), kind_name(kind)))),
        }
    }
}

/// A name as messages show it.
pub(crate) fn shown(name: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(name).chars().filter(|c| !c.is_control()).take(60).collect();
    format!("the member {text:?}")
}

fn kind_name(kind: u8) -> &'static str {
    match kind {
        b'1' => "a hard link",
        b'2' => "a symbolic link",
        b'3' | b'4' => "a device",
        b'5' => "a folder",
        b'6' => "a pipe",
        _ => "of an unknown kind",
    }
}

fn text(field: &[u8]) -> &[u8] {
    field.split(|b| *b == 0).next().unwrap_or_default()
}

/// A number of a header: octal text, or binary where the first bit is set.
fn number(field: &[u8]) -> Option<u64> {
    if let [first @ 0x80..=0xff, rest @ ..] = field {
        let high = u64::from(first & 0x7f);
        return rest.iter().try_fold(high, |n, b| n.checked_mul(256).map(|n| n | u64::from(*b)));
    }
    let digits = std::str::from_utf8(text(field)).ok()?.trim_matches(' ');
    if digits.is_empty() || digits.starts_with('+') {
        return None;
    }
    u64::from_str_radix(digits, 8).ok()
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
    pub(crate) fn parse(mut content: &[u8]) -> Result<Extended, ArchiveError> {
        let bad = || broken("extended settings of a tar member cannot be read");
        let decimal = |digits: &[u8]| std::str::from_utf8(digits).ok().and_then(|d| d.parse::<u64>().ok());
        let mut out = Extended::default();
        while !content.is_empty() {
            let space = content.iter().position(|b| *b == b' ').ok_or_else(bad)?;
            let length = decimal(&content[..space]).and_then(|n| usize::try_from(n).ok()).ok_or_else(bad)?;
            let line = content.get(space + 1..length).and_then(|l| l.strip_suffix(b"\n")).ok_or_else(bad)?;
            let equals = line.iter().position(|b| *b == b'=').ok_or_else(bad)?;
            let value = &line[equals + 1..];
            match &line[..equals] {
                b"path" => out.name = Some(value.to_vec()),
                b"size" => out.size = Some(decimal(value).ok_or_else(bad)?),
                _ => {}
            }
            content = &content[length..];
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(number(b"0000644\0"), Some(0o644));
        assert_eq!(number(b"  755 \0\0"), Some(0o755));
        assert_eq!(number(&[0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0]), Some(8 << 30));
        for bad in [&b"\0\0"[..], b"9\0", b"+7\0", &[0xff; 12]] {
            assert_eq!(number(bad), None, "{bad:?}");
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
