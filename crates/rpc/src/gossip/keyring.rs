//! The keys that encrypt gossip: one encrypts, all of them decrypt. They are kept in a file of the server's data
//! directory (`docs/spec/agent-config.md §5`).

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use encamp_host::{disk, ids};
use encamp_model::{GossipKey, KeyChange, SecretBytes, SecretString};

/// The name of the file in the server's data directory: a JSON list of keys, the primary key first.
pub const KEYRING_FILE: &str = "serf.keyring";
/// Most keys of a keyring: each of them is tried on a datagram that no other key decrypts.
pub const MOST_KEYS: usize = 16;
/// Largest keyring file that is read, in bytes.
const LONGEST_FILE: u64 = 16 << 10;

/// One key, ready for use.
pub(crate) struct Cipher {
    key: GossipKey,
    sealing: LessSafeKey,
}

impl Cipher {
    fn new(key: GossipKey) -> Result<Arc<Cipher>, KeyringFileError> {
        let bytes = key.bytes();
        let mut digest = Sha256::new();
        digest.update(b"encamp gossip 1");
        digest.update(bytes.expose());
        let sealing = UnboundKey::new(&AES_256_GCM, &digest.finalize()).map_err(|_| KeyringFileError::Cipher)?;
        Ok(Arc::new(Cipher { key, sealing: LessSafeKey::new(sealing) }))
    }

    /// The nonce and the encrypted content; none if there is no nonce. `purpose` keeps messages of one kind from being
    /// taken for another kind.
    pub(crate) fn seal(&self, purpose: u8, content: &[u8]) -> Option<Vec<u8>> {
        // Random nonces are fine for the few datagrams of a server's life.
        let (a, b) = (ids::random().to_le_bytes(), ids::random().to_le_bytes());
        let mut nonce = [0u8; NONCE_LEN];
        nonce[..8].copy_from_slice(&a);
        nonce[8..].copy_from_slice(&b[..NONCE_LEN - 8]);
        let mut body = content.to_vec();
        let aad = Aad::from([purpose]);
        self.sealing.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), aad, &mut body).ok()?;
        Some([nonce.as_slice(), &body].concat())
    }

    /// What [`Cipher::seal`] encrypted with this key for this purpose.
    pub(crate) fn open(&self, purpose: u8, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, body) = sealed.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut body = body.to_vec();
        let content = self.sealing.open_in_place(nonce, Aad::from([purpose]), &mut body).ok()?;
        Some(content.to_vec())
    }
}

/// Why a keyring cannot be loaded or stored. The texts contain no key.
#[derive(Debug, thiserror::Error)]
pub enum KeyringFileError {
    /// The file cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file is larger than any keyring.
    #[error("it has {0} bytes, more than any keyring")]
    Large(u64),
    /// The file is no JSON list of keys, or one of them is invalid.
    #[error("it is not a JSON list of keys in base64, each of 16, 24 or 32 bytes")]
    Content,
    /// The file has no keys.
    #[error("it holds no key")]
    Empty,
    /// The file has too many keys.
    #[error("it holds {0} keys, more than {MOST_KEYS}")]
    TooMany(usize),
    /// The key of the cipher cannot be derived.
    #[error("the cipher takes no key")]
    Cipher,
}

/// Why a server does not change its keyring.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum KeyRefusal {
    /// The server does not encrypt gossip.
    #[error("gossip is not encrypted: set server.encrypt")]
    NotEncrypted,
    /// A key cannot become the primary key before it is installed.
    #[error("the key is not installed")]
    NotInstalled,
    /// The primary key cannot be removed.
    #[error("the key is the primary key: use another one first")]
    Primary,
    /// The keyring is full.
    #[error("the keyring holds {MOST_KEYS} keys: remove one first")]
    Full,
    /// The changed keyring could not be stored; the text is the reason.
    #[error("the keyring cannot be stored: {0}")]
    NotStored(String),
}

/// The keys after a change, the primary key first.
///
/// # Errors
/// A server with these keys refuses the change.
pub(crate) fn after(change: &KeyChange, keys: &[GossipKey]) -> Result<Vec<GossipKey>, KeyRefusal> {
    let primary = keys.first().ok_or(KeyRefusal::NotEncrypted)?;
    let others_than = |key: &GossipKey| keys.iter().filter(|k| *k != key).cloned().collect::<Vec<_>>();
    match change {
        KeyChange::Install(key) if keys.contains(key) => Ok(keys.to_vec()),
        KeyChange::Install(_) if keys.len() >= MOST_KEYS => Err(KeyRefusal::Full),
        KeyChange::Install(key) => Ok([keys, std::slice::from_ref(key)].concat()),
        KeyChange::Use(key) if !keys.contains(key) => Err(KeyRefusal::NotInstalled),
        KeyChange::Use(key) => Ok([vec![key.clone()], others_than(key)].concat()),
        KeyChange::Remove(key) if key == primary => Err(KeyRefusal::Primary),
        KeyChange::Remove(key) => Ok(others_than(key)),
    }
}

/// The keys that encrypt gossip; clones share them. Without keys, gossip is not encrypted.
#[derive(Clone)]
pub struct Keyring(Arc<Inner>);

struct Inner {
    /// The primary key first.
    ciphers: RwLock<Vec<Arc<Cipher>>>,
    /// Where the keys are kept, if they survive the process; held while they change.
    file: Mutex<Option<PathBuf>>,
}

impl Keyring {
    /// In memory only, with one key or none.
    ///
    /// # Errors
    /// The cipher takes no key.
    pub fn in_memory(key: Option<GossipKey>) -> Result<Keyring, KeyringFileError> {
        Keyring::new(key.into_iter().collect(), None)
    }

    /// The keys in the file of a server's data directory. Without the file, `configured` is the only key, and is
    /// stored.
    ///
    /// # Errors
    /// The file cannot be used, or not be written.
    pub fn open(dir: &Path, configured: Option<GossipKey>) -> Result<Keyring, KeyringFileError> {
        let path = dir.join(KEYRING_FILE);
        let keys = match read(&path)? {
            Some(stored) => stored,
            None => {
                let keys: Vec<GossipKey> = configured.into_iter().collect();
                if !keys.is_empty() {
                    write(&path, &keys)?;
                }
                keys
            }
        };
        Keyring::new(keys, Some(path))
    }

    fn new(keys: Vec<GossipKey>, file: Option<PathBuf>) -> Result<Keyring, KeyringFileError> {
        let ciphers: Result<Vec<_>, _> = keys.into_iter().map(Cipher::new).collect();
        Ok(Keyring(Arc::new(Inner { ciphers: RwLock::new(ciphers?), file: Mutex::new(file) })))
    }

    /// Whether there is a key.
    pub fn encrypts(&self) -> bool {
        !self.0.ciphers.read().is_empty()
    }

    /// The keys, the primary key first.
    pub fn keys(&self) -> Vec<GossipKey> {
        self.0.ciphers.read().iter().map(|c| c.key.clone()).collect()
    }

    /// The key that encrypts.
    pub(crate) fn primary(&self) -> Option<Arc<Cipher>> {
        self.0.ciphers.read().first().cloned()
    }

    /// What was encrypted with one of the keys, and which one.
    pub(crate) fn open_sealed(&self, purpose: u8, sealed: &[u8]) -> Option<(Vec<u8>, Arc<Cipher>)> {
        let ciphers = self.0.ciphers.read().clone();
        ciphers.into_iter().find_map(|c| Some((c.open(purpose, sealed)?, c)))
    }

    /// Changes the keys, and gives those after the change. The changed keyring is on disk before it is used. Blocks
    /// while it is written.
    ///
    /// # Errors
    /// See [`KeyRefusal`]; nothing is changed then.
    pub fn change(&self, change: &KeyChange) -> Result<Vec<GossipKey>, KeyRefusal> {
        let file = self.0.file.lock();
        let before = self.keys();
        let after = after(change, &before)?;
        if after == before {
            return Ok(after);
        }
        let not_stored = |e: KeyringFileError| KeyRefusal::NotStored(e.to_string());
        let ciphers: Result<Vec<_>, _> = after.iter().cloned().map(Cipher::new).collect();
        let ciphers = ciphers.map_err(not_stored)?;
        if let Some(path) = file.as_deref() {
            write(path, &after).map_err(not_stored)?;
        }
        *self.0.ciphers.write() = ciphers;
        tracing::info!(target: "nomad", change = change.name(), keys = after.len(), "gossip keyring changed");
        Ok(after)
    }
}

/// The keys in a file; `None` if there is no file.
fn read(path: &Path) -> Result<Option<Vec<GossipKey>>, KeyringFileError> {
    let file = match disk::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(e.into()),
    };
    let length = file.length()?;
    if length > LONGEST_FILE {
        return Err(KeyringFileError::Large(length));
    }
    // With room for all of it: the bytes are not moved, and no copy stays behind.
    let mut bytes = Vec::with_capacity(usize::try_from(LONGEST_FILE).unwrap_or_default());
    file.take(LONGEST_FILE).read_to_end(&mut bytes)?;
    let bytes = SecretBytes::from(bytes);
    let texts: Vec<SecretString> = serde_json::from_slice(bytes.expose()).map_err(|_| KeyringFileError::Content)?;
    let mut keys: Vec<GossipKey> = Vec::new();
    for text in texts {
        let key = GossipKey::try_from(text).map_err(|_| KeyringFileError::Content)?;
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    match keys.len() {
        0 => Err(KeyringFileError::Empty),
        n if n > MOST_KEYS => Err(KeyringFileError::TooMany(n)),
        _ => Ok(Some(keys)),
    }
}

fn write(path: &Path, keys: &[GossipKey]) -> Result<(), KeyringFileError> {
    let texts: Vec<&str> = keys.iter().map(GossipKey::expose).collect();
    let json = SecretBytes::from(serde_json::to_vec_pretty(&texts).map_err(io::Error::from)?);
    Ok(disk::replace(path, json.expose())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    fn text(byte: u8) -> String {
        STANDARD.encode([byte; 32])
    }

    fn key(byte: u8) -> GossipKey {
        GossipKey::parse(&text(byte)).expect("a key")
    }

    /// A directory that is removed at the end.
    struct Dir(PathBuf);

    impl Dir {
        fn new(test: &str) -> Dir {
            let path = std::env::temp_dir().join(format!("encamp-keyring-{test}-{}", std::process::id()));
            std::fs::create_dir_all(&path).expect("a directory");
            Dir(path)
        }

        fn file(&self) -> PathBuf {
            self.0.join(KEYRING_FILE)
        }

        fn stored(&self) -> Vec<String> {
            let bytes = std::fs::read(self.file()).expect("the file");
            serde_json::from_slice(&bytes).expect("a list")
        }
    }

    impl Drop for Dir {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn changes_keep_one_primary_key() {
        let [a, b, c] = [1, 2, 3].map(key);
        let full: Vec<GossipKey> = (1..=16).map(key).collect();
        use KeyChange::{Install, Remove, Use};
        use KeyRefusal::{Full, NotEncrypted, NotInstalled, Primary};
        for (keys, change, want) in [
            (vec![a.clone()], Install(b.clone()), Ok(vec![a.clone(), b.clone()])),
            (vec![a.clone(), b.clone()], Install(b.clone()), Ok(vec![a.clone(), b.clone()])),
            (vec![a.clone(), b.clone(), c.clone()], Use(c.clone()), Ok(vec![c.clone(), a.clone(), b.clone()])),
            (vec![a.clone(), b.clone()], Use(a.clone()), Ok(vec![a.clone(), b.clone()])),
            (vec![a.clone()], Use(b.clone()), Err(NotInstalled)),
            (vec![b.clone(), a.clone()], Remove(a.clone()), Ok(vec![b.clone()])),
            (vec![a.clone()], Remove(b.clone()), Ok(vec![a.clone()])),
            (vec![a.clone(), b.clone()], Remove(a.clone()), Err(Primary)),
            (vec![], Install(a.clone()), Err(NotEncrypted)),
            (vec![], Remove(a.clone()), Err(NotEncrypted)),
            (full.clone(), Install(key(17)), Err(Full)),
            (full.clone(), Install(b.clone()), Ok(full)),
        ] {
            assert_eq!(after(&change, &keys), want, "{}", change.name());
        }
    }

    #[test]
    fn the_file_survives_and_wins_over_the_configuration() {
        let dir = Dir::new("survives");
        let open = |configured| Keyring::open(&dir.0, configured).expect("a keyring");
        assert!(!open(None).encrypts() && !dir.file().exists(), "no key, no file");

        let keyring = open(Some(key(1)));
        assert_eq!((keyring.keys(), dir.stored()), (vec![key(1)], vec![text(1)]));
        assert_eq!(std::fs::metadata(dir.file()).expect("the file").mode() & 0o777, 0o600);
        keyring.change(&KeyChange::Install(key(2))).expect("installed");
        keyring.change(&KeyChange::Use(key(2))).expect("used");
        assert_eq!(dir.stored(), [text(2), text(1)]);
        assert_eq!(open(Some(key(3))).keys(), [key(2), key(1)]);
        keyring.change(&KeyChange::Remove(key(1))).expect("removed");
        assert_eq!(open(None).keys(), [key(2)], "the file alone turns encryption on");
        assert_eq!(std::fs::metadata(dir.file()).expect("the file").mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(&dir.0).expect("a directory").count(), 1, "no draft is left");
    }

    #[test]
    fn a_change_that_cannot_be_stored_is_not_made() {
        let dir = Dir::new("unstored");
        let keyring = Keyring::open(&dir.0, Some(key(1))).expect("a keyring");
        // A directory is in the way of the draft, whoever runs the test.
        std::fs::create_dir(dir.0.join("serf.keyring.new")).expect("a directory");
        let refused = keyring.change(&KeyChange::Install(key(2))).expect_err("refused");
        assert!(matches!(refused, KeyRefusal::NotStored(_)) && !refused.to_string().contains(&text(2)), "{refused}");
        assert_eq!((keyring.keys(), dir.stored()), (vec![key(1)], vec![text(1)]));
        assert_eq!(keyring.change(&KeyChange::Install(key(1))), Ok(vec![key(1)]), "nothing has to be stored");
    }

    #[test]
    fn damaged_files_are_refused_without_showing_keys() {
        let dir = Dir::new("damaged");
        let many: Vec<String> = (1..=17).map(text).collect();
        for (content, want) in [
            (String::new(), "not a JSON list"),
            ("[]".into(), "holds no key"),
            (format!("[{:?}", text(9)), "not a JSON list"),
            (format!("[{:?}, \"CQkJCQkJCQk=\"]", text(9)), "not a JSON list"),
            (format!("{{\"key\": {:?}}}", text(9)), "not a JSON list"),
            (serde_json::to_string(&many).expect("JSON"), "holds 17 keys"),
            (" ".repeat(20_000), "20000 bytes"),
        ] {
            std::fs::write(dir.file(), &content).expect("written");
            let refused = Keyring::open(&dir.0, Some(key(1))).err().expect("refused").to_string();
            assert!(refused.contains(want) && !refused.contains("CQkJ"), "{content}: {refused}");
        }
        std::fs::write(dir.file(), format!("[{0:?}, {0:?}]", text(9))).expect("written");
        assert_eq!(Keyring::open(&dir.0, None).expect("a keyring").keys(), [key(9)], "a repeated key counts once");
        std::fs::set_permissions(dir.file(), std::fs::Permissions::from_mode(0o600)).expect("set");
    }
}
