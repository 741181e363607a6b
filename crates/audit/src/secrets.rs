//! Keyed hashes of secrets. Rows hold them in place of secrets: the same secret gives the same hash, and without the
//! key nobody can test a guess.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use encamp_host::{disk, ids};
use ring::hmac;

/// The length of a key, in bytes.
const LENGTH: usize = 32;

/// Hashes secrets with the key of an agent.
pub struct Hasher(hmac::Key);

impl std::fmt::Debug for Hasher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hasher(<redacted>)")
    }
}

impl Hasher {
    /// With a given key.
    pub fn new(key: &[u8]) -> Hasher {
        Hasher(hmac::Key::new(hmac::HMAC_SHA256, key))
    }

    /// With a key that is forgotten when the process ends.
    ///
    /// # Errors
    /// The system has no random bytes.
    pub fn forgotten() -> io::Result<Hasher> {
        Ok(Hasher::new(&random()?))
    }

    /// With the key of a file, for the agent's user alone. A missing file gets a new key.
    ///
    /// # Errors
    /// The file cannot be read or written, or holds no key.
    pub fn of_file(path: &Path) -> io::Result<Hasher> {
        match fs::read(path) {
            Ok(key) if key.len() == LENGTH => {
                fs::set_permissions(path, Permissions::from_mode(0o600))?;
                Ok(Hasher::new(&key))
            }
            Ok(key) => {
                let text = format!("the file has {} bytes, not the {LENGTH} of a key", key.len());
                Err(io::Error::new(ErrorKind::InvalidData, text))
            }
            Err(e) if e.kind() == ErrorKind::NotFound => {
                let key = random()?;
                store(path, &key)?;
                Ok(Hasher::new(&key))
            }
            Err(e) => Err(e),
        }
    }

    /// The hash of a secret: `hmac-sha256:` and hexadecimal digits.
    pub fn hash(&self, secret: &str) -> String {
        let mut out = "hmac-sha256:".to_string();
        for byte in hmac::sign(&self.0, secret.as_bytes()).as_ref() {
            out.push_str(&format!("{byte:02x}"));
        }
        out
    }
}

fn random() -> io::Result<[u8; LENGTH]> {
    let mut key = [0; LENGTH];
    ids::secret(&mut key).map_err(|e| io::Error::other(e.to_string()))?;
    Ok(key)
}

fn store(path: &Path, key: &[u8]) -> io::Result<()> {
    disk::make_dir(path.parent().unwrap_or(Path::new("/")))?;
    disk::replace(path, key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_secret_has_the_same_hash() {
        // RFC 4231, test case 2.
        let hasher = Hasher::new(b"Jefe");
        let want = "hmac-sha256:5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(hasher.hash("what do ya want for nothing?"), want);
        assert_ne!(hasher.hash("x"), Hasher::new(b"other").hash("x"));
        assert_eq!(format!("{hasher:?}"), "Hasher(<redacted>)");
    }

    #[test]
    fn a_key_is_made_once_and_is_private() {
        let folder = std::env::temp_dir().join(format!("encamp-audit-key-{}", ids::uuid()));
        let path = folder.join("a/hmac.key");
        let first = Hasher::of_file(&path).expect("a key").hash("x");
        assert_eq!(fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&path, Permissions::from_mode(0o644)).expect("changed");
        assert_eq!(Hasher::of_file(&path).expect("the key").hash("x"), first);
        assert_eq!(fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o600);
        fs::write(&path, b"short").expect("written");
        let error = Hasher::of_file(&path).expect_err("no key").to_string();
        assert_eq!(error, "the file has 5 bytes, not the 32 of a key");
        fs::remove_dir_all(folder).expect("removed");
    }
}
