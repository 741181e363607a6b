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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::minisign;
    use std::path::PathBuf;

    struct Release {
        place: PathBuf,
    }

    impl Release {
        /// Two signed files.
        fn new(name: &str) -> Release {
            let place = std::env::temp_dir().join(format!("xtask-release-{}-{name}", std::process::id()));
            let release = Release { place };
            std::fs::create_dir_all(release.files()).unwrap();
            std::fs::write(release.files().join("a.tar.gz"), "archive").unwrap();
            std::fs::write(release.files().join("b.deb"), "package").unwrap();
            for key in ["key", "other"] {
                minisign::write_new_key(&release.place.join(key)).unwrap();
            }
            let key = SecretKey::parse(&read_text(&release.place.join("key")).unwrap()).unwrap();
            write_sums(&release.files(), Some(&key), "test").unwrap();
            release
        }

        fn files(&self) -> PathBuf {
            self.place.join("dist")
        }

        fn verified(&self, key: &str) -> Result<usize, String> {
            verify(&self.place.join(key), &self.files()).map_err(|e| e.to_string())
        }
    }

    impl Drop for Release {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.place);
        }
    }

    #[test]
    fn what_was_signed_is_valid_and_everything_else_refused() {
        let release = Release::new("valid");
        assert_eq!(release.verified("key.pub"), Ok(2));
        assert!(release.verified("other.pub").is_err(), "another key");

        let changes: [(&str, &str, Option<&str>); 4] = [
            ("changed", "a.tar.gz", Some("archivf")),
            ("removed", "b.deb", None),
            ("added", "c.rpm", Some("another")),
            ("emptied", "b.deb", Some("")),
        ];
        for (name, file, content) in changes {
            let release = Release::new(name);
            let path = release.files().join(file);
            match content {
                Some(content) => std::fs::write(path, content).unwrap(),
                None => std::fs::remove_file(path).unwrap(),
            }
            let refused = release.verified("key.pub").unwrap_err();
            assert!(refused.contains(file), "{name}: {refused}");
        }
    }

    #[test]
    fn sums_that_were_written_again_are_refused() {
        let release = Release::new("sums");
        std::fs::write(release.files().join("a.tar.gz"), "attack").unwrap();
        let signature = read_text(&release.files().join(SIGNATURE)).unwrap();
        write_sums(&release.files(), None, "").unwrap();
        std::fs::write(release.files().join(SIGNATURE), signature).unwrap();
        assert!(release.verified("key.pub").is_err());
        std::fs::remove_file(release.files().join(SIGNATURE)).unwrap();
        assert!(release.verified("key.pub").is_err(), "without a signature");
    }
}
