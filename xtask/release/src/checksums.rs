//! SHA-256 sums of the files of a release, and their verification.

use std::fmt::Write;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::failure::{Failure, Outcome, read, read_text, write};
use crate::minisign::{PublicKey, SecretKey};

/// The file with the sums.
pub(crate) const SUMS: &str = "SHA256SUMS";
/// The file with its signature.
pub(crate) const SIGNATURE: &str = "SHA256SUMS.minisig";

/// The SHA-256 sum of bytes, hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut out, byte| {
        // Writing to a string cannot fail.
        let _ = write!(out, "{byte:02x}");
        out
    })
}

/// Writes the sums of all files of a directory, and signs them if there is a key.
///
/// # Errors
/// A file cannot be read or written.
pub(crate) fn write_sums(directory: &Path, key: Option<&SecretKey>, trusted_comment: &str) -> Outcome<()> {
    let mut out = String::new();
    for name in listed(directory)? {
        let _ = writeln!(out, "{}  {name}", sha256(&read(&directory.join(&name))?));
    }
    write(&directory.join(SUMS), out.as_bytes())?;
    match key {
        Some(key) => write(&directory.join(SIGNATURE), key.sign(out.as_bytes(), trusted_comment)?.as_bytes()),
        None => Ok(()),
    }
}

/// Verifies the signature of the sums and the sums of all files; returns the number of files.
///
/// # Errors
/// The signature is not of this key, a file differs or is missing, or there is a file without a sum.
pub(crate) fn verify(key: &Path, directory: &Path) -> Outcome<usize> {
    let key = PublicKey::parse(&read_text(key)?)?;
    let sums = read(&directory.join(SUMS))?;
    key.verify(&sums, &read_text(&directory.join(SIGNATURE))?)?;
    let sums = String::from_utf8(sums).map_err(|_| Failure::Refused(format!("{SUMS} is no text")))?;
    let mut named = Vec::new();
    for line in sums.lines() {
        let (sum, name) =
            line.split_once("  ").ok_or_else(|| Failure::Refused(format!("{SUMS}: {line:?} is no sum")))?;
        if sha256(&read(&directory.join(name))?) != sum {
            return Err(Failure::Refused(format!("{name} is not the file that was signed")));
        }
        named.push(name.to_string());
    }
    match listed(directory)?.into_iter().find(|name| !named.contains(name)) {
        Some(name) => Err(Failure::Refused(format!("{name} has no sum in {SUMS}"))),
        None => Ok(named.len()),
    }
}

/// The files of a directory that have a sum, by name.
fn listed(directory: &Path) -> Outcome<Vec<String>> {
    let entries = std::fs::read_dir(directory).map_err(|e| Failure::file(directory, e))?;
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|e| Failure::file(directory, e))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_file() && name != SUMS && name != SIGNATURE {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}
