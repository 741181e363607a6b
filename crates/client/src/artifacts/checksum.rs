//! Checksums of downloaded files (`docs/spec/client.md §18`).

use std::io::{self, Read};

use crate::hex::hex;
use reqwest::Url;
use sha2::Digest;

/// A hash function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Algorithm {
    /// MD5.
    Md5,
    /// SHA-1.
    Sha1,
    /// SHA-256.
    Sha256,
    /// SHA-512.
    Sha512,
}

impl Algorithm {
    fn of_name(name: &str) -> Option<Algorithm> {
        Some(match name {
            "md5" => Algorithm::Md5,
            "sha1" => Algorithm::Sha1,
            "sha256" => Algorithm::Sha256,
            "sha512" => Algorithm::Sha512,
            _ => return None,
        })
    }

    fn of_length(digits: usize) -> Option<Algorithm> {
        let all = [Algorithm::Md5, Algorithm::Sha1, Algorithm::Sha256, Algorithm::Sha512];
        all.into_iter().find(|a| a.digits() == digits)
    }

    fn digits(self) -> usize {
        match self {
            Algorithm::Md5 => 32,
            Algorithm::Sha1 => 40,
            Algorithm::Sha256 => 64,
            Algorithm::Sha512 => 128,
        }
    }

    /// The hash of everything that a reader gives, in hexadecimal.
    fn hash(self, from: impl Read) -> io::Result<String> {
        match self {
            Algorithm::Md5 => hash::<md5::Md5>(from),
            Algorithm::Sha1 => hash::<sha1::Sha1>(from),
            Algorithm::Sha256 => hash::<sha2::Sha256>(from),
            Algorithm::Sha512 => hash::<sha2::Sha512>(from),
        }
    }
}

fn hash<D: Digest>(mut from: impl Read) -> io::Result<String> {
    let mut digest = D::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => digest.update(buffer.get(..n).unwrap_or_default()),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(hex(&digest.finalize()))
}

/// Why a checksum can't be used, or does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ChecksumError {
    /// It is not `type:value`.
    #[error("checksum must be given as \"type:value\"; got {0:?}")]
    Form(String),
    /// There is no such type.
    #[error("unsupported checksum type: {0}")]
    Type(String),
    /// The value does not fit the type.
    #[error("invalid {0} checksum")]
    Value(String),
    /// The URL of the file of checksums can't be used.
    #[error("the URL of the checksum file must be of scheme http or https")]
    Url,
    /// The file of checksums does not have the file.
    #[error("the checksum file has no checksum of {0:?}")]
    NotListed(String),
    /// The file is another one.
    #[error("checksum did not match: expected {expected}, got {found}")]
    Mismatch {
        /// The one in the job file.
        expected: String,
        /// The one of the file.
        found: String,
    },
}

/// What a file must be.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Checksum {
    /// The hash.
    Hash(Hash),
    /// A file of checksums.
    File(Url),
}

/// A hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hash {
    algorithm: Algorithm,
    /// In lower case.
    value: String,
}

impl Hash {
    fn new(algorithm: Algorithm, value: &str) -> Option<Hash> {
        let fits = value.len() == algorithm.digits() && value.bytes().all(|b| b.is_ascii_hexdigit());
        fits.then(|| Hash { algorithm, value: value.to_ascii_lowercase() })
    }

    /// Compares the contents of a file with the hash.
    pub(crate) fn check(&self, from: impl Read) -> io::Result<Result<(), ChecksumError>> {
        let found = self.algorithm.hash(from)?;
        Ok(if found == self.value {
            Ok(())
        } else {
            Err(ChecksumError::Mismatch { expected: self.value.clone(), found })
        })
    }
}

impl Checksum {
    /// Reads the option `checksum`.
    pub(crate) fn parse(text: &str) -> Result<Checksum, ChecksumError> {
        let text = text.trim();
        let Some((kind, value)) = text.split_once(':') else { return Err(ChecksumError::Form(text.into())) };
        if kind == "file" {
            let url = Url::parse(value).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
            return url.map(Checksum::File).ok_or(ChecksumError::Url);
        }
        let algorithm = Algorithm::of_name(kind).ok_or_else(|| ChecksumError::Type(kind.into()))?;
        Hash::new(algorithm, value).map(Checksum::Hash).ok_or_else(|| ChecksumError::Value(kind.into()))
    }
}

/// The hash of a file in a list of checksums: lines as `sha256sum` writes them, with or without `--tag`, or a single
/// hash.
pub(crate) fn listed(list: &str, name: &str) -> Result<Hash, ChecksumError> {
    let lines = || list.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#'));
    let of = |value: &str| Hash::new(Algorithm::of_length(value.len())?, value);
    let ours = |listed: &str| listed.rsplit('/').next() == Some(name);
    let found = lines().find_map(|line| {
        if let Some((before, value)) = line.rsplit_once(") = ") {
            let (_, listed) = before.split_once(" (")?;
            return of(value.trim()).filter(|_| ours(listed));
        }
        let (value, listed) = line.split_once(char::is_whitespace)?;
        of(value).filter(|_| ours(listed.trim_start().trim_start_matches('*')))
    });
    let only = || {
        let mut all = lines();
        all.next().and_then(of).filter(|_| all.next().is_none())
    };
    found.or_else(only).ok_or_else(|| ChecksumError::NotListed(name.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY_MD5: &str = "d41d8cd98f00b204e9800998ecf8427e";
    const EMPTY_SHA1: &str = "da39a3ee5e6b4b0d3255bfef95601890afd80709";

    #[test]
    fn checksums_hold_or_do_not() {
        for (text, holds) in [
            (format!("md5:{EMPTY_MD5}"), true),
            (format!(" sha1:{}", EMPTY_SHA1.to_uppercase()), true),
            (format!("sha256:{}", "0".repeat(64)), false),
            (format!("sha512:{}", "0".repeat(128)), false),
        ] {
            let Ok(Checksum::Hash(hash)) = Checksum::parse(&text) else { panic!("{text}") };
            assert_eq!(hash.check(&b""[..]).unwrap().is_ok(), holds, "{text}");
        }
        for (text, want) in [
            ("x", "checksum must be given as \"type:value\"; got \"x\""),
            ("crc:12", "unsupported checksum type: crc"),
            ("md5:12", "invalid md5 checksum"),
            ("file:/etc/passwd", "the URL of the checksum file must be of scheme http or https"),
            ("file:file:///etc/passwd", "the URL of the checksum file must be of scheme http or https"),
        ] {
            assert_eq!(Checksum::parse(text).unwrap_err().to_string(), want);
        }
    }

    #[test]
    fn lists_of_checksums() {
        let hash = |algorithm, value| Hash::new(algorithm, value).unwrap();
        let list = format!("# all\n{EMPTY_MD5}  other\n{EMPTY_MD5} *dir/x\nSHA1 (y (1)) = {EMPTY_SHA1}\n");
        assert_eq!(listed(&list, "x"), Ok(hash(Algorithm::Md5, EMPTY_MD5)));
        assert_eq!(listed(&list, "y (1)"), Ok(hash(Algorithm::Sha1, EMPTY_SHA1)));
        assert_eq!(listed(&list, "z"), Err(ChecksumError::NotListed("z".into())));
        assert_eq!(listed(&format!("{EMPTY_SHA1}\n"), "z"), Ok(hash(Algorithm::Sha1, EMPTY_SHA1)));
        assert!(listed("", "z").is_err() && listed("\u{fffd} ( ) = \n", "z").is_err());
    }
}
