//! Files of certificates and keys.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use encamp_host::platform::files::OpenOptionsExt;
use encamp_model::SecretString;
use thiserror::Error;
use x509_parser::pem::Pem;

/// The largest file that is read, in bytes.
const LARGEST: u64 = 1 << 20;
/// The label of certificates.
const CERTIFICATE: &str = "CERTIFICATE";

/// A file that cannot be read or written. The texts name it.
#[derive(Debug, Error)]
pub(super) enum FileError {
    /// It is there already.
    #[error("{0} already exists: remove it, or change to another directory")]
    Exists(String),
    /// The system refuses to write it.
    #[error("{file} cannot be written: {source}")]
    Write {
        /// The file.
        file: String,
        /// The reason.
        source: io::Error,
    },
    /// The system refuses to read it.
    #[error("{file} cannot be read: {source}")]
    Read {
        /// The file.
        file: String,
        /// The reason.
        source: io::Error,
    },
    /// It is too large.
    #[error("{0} is larger than 1 MiB")]
    Large(String),
    /// It holds nothing of the wanted kind.
    #[error("{file} contains no {wanted} in PEM format")]
    Nothing {
        /// The file.
        file: String,
        /// What was looked for.
        wanted: &'static str,
    },
}

/// Writes a key, which only its owner may read, and its certificate. Neither file may be there already.
pub(super) fn write_pair(
    directory: &Path,
    (certificate_file, certificate): (&str, &str),
    (key_file, key): (&str, &SecretString),
) -> Result<(), FileError> {
    for file in [certificate_file, key_file] {
        // Also a link to nowhere counts.
        if directory.join(file).symlink_metadata().is_ok() {
            return Err(FileError::Exists(file.into()));
        }
    }
    write_new(directory, key_file, key.expose(), 0o600)?;
    let written = write_new(directory, certificate_file, certificate, 0o644);
    if written.is_err() {
        // A key without a certificate is of no use.
        let _ = fs::remove_file(directory.join(key_file));
    }
    written
}

fn write_new(directory: &Path, file: &str, content: &str, mode: u32) -> Result<(), FileError> {
    let path = directory.join(file);
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::AlreadyExists => FileError::Exists(file.into()),
        _ => FileError::Write { file: file.into(), source },
    };
    let mut opened = OpenOptions::new().write(true).create_new(true).mode(mode).open(&path).map_err(failed)?;
    let written = opened.write_all(content.as_bytes()).and_then(|()| opened.sync_all());
    written.map_err(|source| {
        let _ = fs::remove_file(&path);
        FileError::Write { file: file.into(), source }
    })
}

/// The first certificate of a file, in DER.
pub(super) fn certificate(directory: &Path, file: &str) -> Result<Vec<u8>, FileError> {
    let found = blocks(directory, file)?.into_iter().find(|b| b.label == CERTIFICATE);
    found.map(|b| b.contents).ok_or_else(|| FileError::Nothing { file: file.into(), wanted: "certificate" })
}

/// The first private key of a file, and its label.
pub(super) fn key(directory: &Path, file: &str) -> Result<Pem, FileError> {
    let found = blocks(directory, file)?.into_iter().find(|b| b.label.ends_with("PRIVATE KEY"));
    found.ok_or_else(|| FileError::Nothing { file: file.into(), wanted: "private key" })
}

fn blocks(directory: &Path, file: &str) -> Result<Vec<Pem>, FileError> {
    let path: PathBuf = directory.join(file);
    let unreadable = |source| FileError::Read { file: file.into(), source };
    let metadata = fs::metadata(&path).map_err(unreadable)?;
    if metadata.len() > LARGEST {
        return Err(FileError::Large(file.into()));
    }
    let bytes = fs::read(&path).map_err(unreadable)?;
    // What follows a damaged block is of no use.
    Ok(Pem::iter_from_buffer(&bytes).map_while(Result::ok).collect())
}
