//! The files of the state directory.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;
use serde::{Serialize, de::DeserializeOwned};

use super::records::{AllocRecord, ClientRecord, Stored};
use crate::clock;
use crate::directory::remove::NotRemoved;
use crate::error::{StartError, at};
use encamp_model::{Allocation, SecretString, with_secrets};

/// How long another agent may hold the directory.
const LOCK_WAIT: Duration = Duration::from_secs(5);
/// Begins the first line of JSON files; the checksum follows. Files of the first format have no such line.
const HEAD: &str = "encamp-client-state 2 ";
/// The format in [`HEAD`].
const FORMAT: u32 = 2;
/// How the first line begins in every format that has one; the number of the format follows.
const ANY_HEAD: &str = "encamp-client-state ";
/// Names of the files of the identity.
const CLIENT_ID: &str = "client-id";
const SECRET_ID: &str = "secret-id";
const IDENTITY_CHECKSUM: &str = "identity.checksum";
/// The mounted CSI volumes.
const MOUNTS: &str = "csi-mounts.json";
/// The networks of allocations.
const NETWORKS: &str = "networks";
/// Begins names of allocations that are being forgotten.
const REMOVED: &str = ".removed-";

/// The state directory, or nothing in development mode.
pub struct Store {
    dir: Option<PathBuf>,
    /// Held as long as the agent lives.
    _lock: Option<File>,
}

impl Store {
    /// Stores nothing.
    pub fn none() -> Store {
        Store { dir: None, _lock: None }
    }

    /// Opens a state directory; makes it if it is not there. Waits up to 5 s for another agent to leave it.
    pub fn open(dir: &Path) -> Result<Store, StartError> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(at("creating", dir))?;
        // It holds secrets, also if another user created it.
        let private = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(dir, private).map_err(at("setting the permissions of", dir))?;
        let path = dir.join("lock");
        let lock = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let lock = lock.map_err(at("opening", &path))?;
        let until = Instant::now() + LOCK_WAIT;
        loop {
            match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => break,
                Err(rustix::io::Errno::WOULDBLOCK) if Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(50));
                }
                Err(rustix::io::Errno::WOULDBLOCK) => return Err(StartError::Locked(dir.into())),
                Err(e) => return Err(at("locking", &path)(e.into())),
            }
        }
        let allocs = dir.join("allocs");
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&allocs).map_err(at("creating", &allocs))?;
        Ok(Store { dir: Some(dir.into()), _lock: Some(lock) })
    }

    /// The node's ID and SecretID, generated if none are stored yet; the ID is `host_uuid` if that is a UUID.
    ///
    /// # Errors
    /// The stored identity is damaged, or missing although the node has registered or run something.
    pub fn identity(&self, host_uuid: Option<&str>) -> Result<(String, String), StartError> {
        let random = || clock::uuid().map_err(at("reading", Path::new("/dev/urandom")));
        let made = match host_uuid.and_then(hashed_uuid) {
            Some(id) => id,
            None => random()?,
        };
        let Some(dir) = &self.dir else { return Ok((made, random()?)) };
        let stored = |name: &str| {
            let path = dir.join(name);
            match std::fs::read_to_string(&path) {
                Ok(text) => Ok(Some(text.trim().to_lowercase())),
                Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(e) if e.kind() == io::ErrorKind::InvalidData => Ok(Some(String::new())),
                Err(e) => Err(at("reading", &path)(e)),
            }
        };
        let damaged = |name: &str, why: &str| {
            let advice = format!(
                "restore it from a backup; if the change is wanted, remove {}; to register as a new node instead, end \
                 what still runs of its tasks and remove {}",
                dir.join(IDENTITY_CHECKSUM).display(),
                dir.display()
            );
            StartError::Damaged { path: dir.join(name), why: why.into(), advice }
        };
        let (checksum, id, secret) = (stored(IDENTITY_CHECKSUM)?, stored(CLIENT_ID)?, stored(SECRET_ID)?);
        let known = checksum.is_some() || self.client()?.registered || self.has_allocs();
        for (name, found) in [(CLIENT_ID, &id), (SECRET_ID, &secret)] {
            match found {
                None if known => return Err(damaged(name, "it is missing, although the node is not new")),
                Some(text) if !is_uuid(text) => return Err(damaged(name, "it holds no UUID")),
                _ => {}
            }
        }
        let keep = |name: &str, new: &str| {
            let path = dir.join(name);
            write_whole(&path, new.as_bytes()).map_err(at("writing", &path))
        };
        let (new_id, new_secret) = (id.is_none(), secret.is_none());
        let (id, secret) = (id.unwrap_or(made), secret.map_or_else(random, Ok)?);
        let sum = identity_sum(&id, &secret);
        if checksum.as_ref().is_some_and(|c| *c != sum) {
            let why = format!("its checksum does not fit, or that of {SECRET_ID} does not");
            return Err(damaged(CLIENT_ID, &why));
        }
        if new_id {
            keep(CLIENT_ID, &id)?;
        }
        if new_secret {
            keep(SECRET_ID, &secret)?;
        }
        if checksum.is_none() {
            keep(IDENTITY_CHECKSUM, &sum)?;
        }
        Ok((id, secret))
    }

    /// Replaces the node's SecretID. A crash meanwhile leaves the old one or the new one.
    pub(crate) fn replace_secret(&self, id: &str, secret: &SecretString) -> io::Result<()> {
        let Some(dir) = &self.dir else { return Ok(()) };
        let checksum = dir.join(IDENTITY_CHECKSUM);
        // An identity without a checksum is complete, one with a wrong checksum is damaged.
        match std::fs::remove_file(&checksum) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            Ok(()) | Err(_) => {}
        }
        write_whole(&dir.join(SECRET_ID), secret.expose().as_bytes())?;
        write_whole(&checksum, identity_sum(id, secret.expose()).as_bytes())
    }

    /// Whether anything is known of any allocation.
    fn has_allocs(&self) -> bool {
        let entries = self.dir.iter().filter_map(|d| std::fs::read_dir(d.join("allocs")).ok());
        entries.flatten().flatten().any(|e| !e.file_name().to_string_lossy().starts_with(REMOVED))
    }

    /// The state of the agent itself; empty if it has not run before.
    pub fn client(&self) -> Result<ClientRecord, StartError> {
        let Some(dir) = &self.dir else { return Ok(ClientRecord::default()) };
        let advice = format!("restore it from a backup, or end the node's tasks and remove {}", dir.display());
        Ok(read(&dir.join("client.json"), &advice)?.unwrap_or_default())
    }

    /// Stores what the whole agent knows.
    pub(crate) fn put_client(&self, record: &ClientRecord) -> io::Result<()> {
        self.put("client.json", record)
    }

    /// The CSI volumes that are recorded as mounted; empty if there were none.
    ///
    /// # Errors
    /// The stored records are damaged.
    pub(crate) fn mounts<T: DeserializeOwned + Default>(&self) -> Result<T, StartError> {
        let Some(dir) = &self.dir else { return Ok(T::default()) };
        let path = dir.join(MOUNTS);
        let advice = format!(
            "restore it from a backup, or unmount what is mounted below {} and remove {}",
            dir.join("csi").display(),
            path.display()
        );
        Ok(read(&path, &advice)?.unwrap_or_default())
    }

    /// Stores which CSI volumes are mounted.
    pub(crate) fn put_mounts(&self, records: &impl Serialize) -> io::Result<()> {
        self.put(MOUNTS, records)
    }

    /// The networks that are recorded, by ID of the allocation.
    ///
    /// # Errors
    /// The stored record of a network is damaged.
    pub(crate) fn networks<T: DeserializeOwned>(&self) -> Result<BTreeMap<String, T>, StartError> {
        let Some(dir) = self.dir.as_ref().map(|d| d.join(NETWORKS)) else { return Ok(BTreeMap::new()) };
        let entries = match std::fs::read_dir(&dir) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            Err(e) => return Err(at("reading", &dir)(e)),
        };
        let mut out = BTreeMap::new();
        for entry in entries {
            let path = entry.map_err(at("reading", &dir))?.path();
            let Some(id) = path.file_name().and_then(|n| n.to_str()?.strip_suffix(".json")) else { continue };
            let advice = format!(
                "restore it from a backup, or remove what is left of the allocation's network and remove {}",
                path.display()
            );
            if let Some(record) = read(&path, &advice)? {
                out.insert(id.to_string(), record);
            }
        }
        Ok(out)
    }

    /// Stores the network of an allocation.
    pub(crate) fn put_network(&self, alloc_id: &str, record: &impl Serialize) -> io::Result<()> {
        self.put(&format!("{NETWORKS}/{alloc_id}.json"), record)
    }

    /// Forgets the network of an allocation.
    pub(crate) fn delete_network(&self, alloc_id: &str) -> io::Result<()> {
        let Some(dir) = &self.dir else { return Ok(()) };
        match std::fs::remove_file(dir.join(NETWORKS).join(format!("{alloc_id}.json"))) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Stores an allocation as received.
    pub(crate) fn put_alloc(&self, alloc: &Allocation) -> io::Result<()> {
        self.put(&format!("allocs/{}/alloc.json", alloc.id), alloc)
    }

    /// Stores what became of an allocation.
    pub(crate) fn put_record(&self, id: &str, record: &AllocRecord) -> io::Result<()> {
        self.put(&format!("allocs/{id}/state.json"), record)
    }

    /// Whether an allocation is stored.
    pub(crate) fn knows(&self, id: &str) -> bool {
        self.dir.as_ref().is_some_and(|d| d.join("allocs").join(id).is_dir())
    }

    /// Stores what the servers know of an allocation.
    pub(crate) fn put_acknowledged(&self, alloc: &Allocation) -> io::Result<()> {
        if self.knows(&alloc.id) { self.put(&format!("allocs/{}/acknowledged.json", alloc.id), alloc) } else { Ok(()) }
    }

    /// Forgets an allocation. A crash meanwhile leaves all of it or nothing that counts.
    ///
    /// # Errors
    /// The record that is still there.
    pub fn delete(&self, id: &str) -> Result<(), NotRemoved> {
        let Some(dir) = self.dir.as_ref().map(|d| d.join("allocs")) else { return Ok(()) };
        let (stored, removed) = (dir.join(id), dir.join(format!("{REMOVED}{id}")));
        let gone = |done: io::Result<()>, path: &Path| match done {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(NotRemoved::io(path, e)),
            _ => Ok(()),
        };
        gone(std::fs::remove_dir_all(&removed), &removed)?;
        gone(std::fs::rename(&stored, &removed), &stored)?;
        gone(std::fs::remove_dir_all(&removed), &removed)
    }

    /// The allocations of an earlier run, by ID. One without any task state is forgotten: the servers send it again.
    ///
    /// # Errors
    /// The stored record of an allocation is damaged.
    pub fn load(&self) -> Result<Vec<Stored>, StartError> {
        let Some(dir) = self.dir.as_ref().map(|d| d.join("allocs")) else { return Ok(Vec::new()) };
        let entries = std::fs::read_dir(&dir).map_err(at("reading", &dir))?;
        let mut paths = Vec::new();
        for entry in entries {
            paths.push(entry.map_err(at("reading", &dir))?.path());
        }
        paths.sort();
        let mut out = Vec::new();
        for path in paths {
            let removed = path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(REMOVED));
            let advice = format!(
                "restore it from a backup, or end what still runs of the allocation's tasks and remove {}: the servers \
                 send the allocation again",
                path.display()
            );
            let of = |name: &str| path.join(name);
            let record = if removed { None } else { read::<AllocRecord>(&of("state.json"), &advice)? };
            let Some(record) = record.filter(|r| !r.tasks.is_empty()) else {
                std::fs::remove_dir_all(&path).map_err(at("removing", &path))?;
                continue;
            };
            let missing =
                || StartError::Damaged { path: of("alloc.json"), why: "it is missing".into(), advice: advice.clone() };
            let alloc = read::<Allocation>(&of("alloc.json"), &advice)?.ok_or_else(missing)?;
            out.push(Stored { alloc, record, acknowledged: read(&of("acknowledged.json"), &advice)? });
        }
        Ok(out)
    }

    fn put(&self, name: &str, value: &impl Serialize) -> io::Result<()> {
        let Some(dir) = &self.dir else { return Ok(()) };
        let path = dir.join(name);
        if let Some(parent) = path.parent() {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
        }
        let json = with_secrets(|| serde_json::to_vec(value))?;
        let head = format!("{HEAD}{:08x}\n", crc32fast::hash(&json));
        write_whole(&path, &[head.into_bytes(), json].concat())
    }
}

/// The checksum of the node's identity.
fn identity_sum(id: &str, secret: &str) -> String {
    format!("{:08x}", crc32fast::hash(format!("{id}\n{secret}\n").as_bytes()))
}

/// The format of a file that a newer build wrote.
fn newer_format(bytes: &[u8]) -> Option<u32> {
    let number = bytes.strip_prefix(ANY_HEAD.as_bytes())?.split(|b| *b == b' ').next()?;
    std::str::from_utf8(number).ok()?.parse().ok().filter(|format| *format > FORMAT)
}

/// Reads a JSON file; none if it is not there.
fn read<T: DeserializeOwned>(path: &Path, advice: &str) -> Result<Option<T>, StartError> {
    let damaged = |why: String| StartError::Damaged { path: path.into(), why, advice: advice.into() };
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(at("reading", path)(e)),
    };
    let json = match bytes.strip_prefix(HEAD.as_bytes()) {
        None if newer_format(&bytes).is_some() => {
            let format = newer_format(&bytes).unwrap_or_default();
            return Err(StartError::NewerState { path: path.into(), format, advice: advice.into() });
        }
        // The first format; its first byte tells.
        None => bytes.as_slice(),
        Some(rest) => {
            let (sum, json) = rest.split_at_checked(8).ok_or_else(|| damaged("it is cut off".into()))?;
            let json = json.strip_prefix(b"\n").ok_or_else(|| damaged("its first line is wrong".into()))?;
            if format!("{:08x}", crc32fast::hash(json)).as_bytes() != sum {
                return Err(damaged("its checksum does not fit".into()));
            }
            json
        }
    };
    serde_json::from_slice(json).map(Some).map_err(|e| damaged(e.to_string()))
}

/// Whether a text is a UUID.
pub(crate) fn is_uuid(text: &str) -> bool {
    text.parse::<uuid::fmt::Hyphenated>().is_ok()
}

/// A UUID made of another one, so that the node's ID does not tell the host's.
fn hashed_uuid(text: &str) -> Option<String> {
    use sha2::Digest;
    let digest = sha2::Sha512::digest(text.as_bytes());
    let id = uuid::Uuid::from_slice(digest.get(..16)?).ok()?;
    is_uuid(text).then(|| id.to_string())
}

/// Writes a file that is there completely or not at all.
fn write_whole(path: &Path, text: &[u8]) -> io::Result<()> {
    let new = path.with_extension("new");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all(text)?;
    file.sync_data()?;
    std::fs::rename(&new, path)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::{SharedClientRecord, TaskRecord};
    use super::*;
    use crate::testing::TempDir;

    #[test]
    fn identities_stay() {
        let dir = TempDir::new("store");
        let state = dir.path().join("client");
        let first = Store::open(&state).unwrap().identity(None).unwrap();
        assert_eq!(Store::open(&state).unwrap().identity(None).unwrap(), first);
        let mode = |p: &Path| p.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(
            (mode(&state.join("client-id")), mode(&state.join("secret-id")), mode(&state)),
            (0o600, 0o600, 0o700)
        );
        let host = Some("4c4c4544-0047-4d10-8052-b9c04f4d5332");
        assert_eq!(Store::none().identity(host).unwrap().0, Store::none().identity(host).unwrap().0);
        assert_ne!(Store::none().identity(Some("x")).unwrap().0, Store::none().identity(Some("x")).unwrap().0);
    }

    #[test]
    fn concurrent_changes_are_all_stored() {
        let dir = TempDir::new("store");
        let store = Store::open(dir.path()).unwrap();
        let record = SharedClientRecord::new(ClientRecord::default());
        std::thread::scope(|scope| {
            for n in 0..8 {
                let (store, record) = (&store, &record);
                scope.spawn(move || {
                    for m in 0..16 {
                        let key = format!("{n}-{m}");
                        record.store(store, |r| drop(r.meta.insert(key, None))).unwrap();
                    }
                });
            }
        });
        assert_eq!(store.client().unwrap().meta.len(), 8 * 16);
    }

    #[test]
    fn allocations_come_back() {
        let dir = TempDir::new("store");
        let store = Store::open(dir.path()).unwrap();
        let alloc = |id: &str| Allocation { id: id.into(), name: "j.g[0]".into(), ..Allocation::default() };
        let tasks = [("t".to_string(), TaskRecord { handle: Some(Value::from(7)), ..TaskRecord::default() })].into();
        let record = AllocRecord { tasks, ..AllocRecord::default() };
        for id in ["a", "b", "c"] {
            store.put_alloc(&alloc(id)).unwrap();
        }
        store.put_record("a", &record).unwrap();
        store.put_record("b", &record).unwrap();
        store.put_acknowledged(&alloc("a")).unwrap();
        store.put_acknowledged(&alloc("nobody")).unwrap();
        store.delete("b").unwrap();
        assert!(!store.client().unwrap().registered);
        store.put_client(&ClientRecord { registered: true, ..ClientRecord::default() }).unwrap();
        drop(store);
        let store = Store::open(dir.path()).unwrap();
        let all = store.load().unwrap();
        assert_eq!((all.len(), &all[0].record, store.client().unwrap().registered), (1, &record, true));
        assert_eq!((all[0].alloc.id.as_str(), all[0].acknowledged.is_some()), ("a", true));
    }

    #[test]
    fn a_changed_byte_of_the_identity_is_refused() {
        let dir = TempDir::new("store");
        let (id, secret) = Store::open(dir.path()).unwrap().identity(None).unwrap();
        for (name, text) in [(CLIENT_ID, &id), (SECRET_ID, &secret)] {
            let path = dir.path().join(name);
            for at in 0..text.len() {
                let mut bytes = text.clone().into_bytes();
                bytes[at] = if bytes[at] == b'7' { b'8' } else { b'7' };
                std::fs::write(&path, &bytes).unwrap();
                let error = Store::open(dir.path()).unwrap().identity(None).unwrap_err().to_string();
                assert!(error.contains("is damaged") && error.contains("restore it from a backup"), "{error}");
            }
            std::fs::write(&path, [0xff]).unwrap();
            assert!(Store::open(dir.path()).unwrap().identity(None).is_err());
            std::fs::remove_file(&path).unwrap();
            let error = Store::open(dir.path()).unwrap().identity(None).unwrap_err().to_string();
            assert!(error.contains("it is missing"), "{error}");
            std::fs::write(&path, format!("{text}\n")).unwrap();
            assert_eq!(Store::open(dir.path()).unwrap().identity(None).unwrap(), (id.clone(), secret.clone()));
        }
        // A new secret that is wanted.
        std::fs::write(dir.path().join(SECRET_ID), &id).unwrap();
        std::fs::remove_file(dir.path().join(IDENTITY_CHECKSUM)).unwrap();
        assert_eq!(Store::open(dir.path()).unwrap().identity(None).unwrap(), (id.clone(), id));
    }

    #[test]
    fn a_replaced_secret_is_the_one_of_the_next_start() {
        let dir = TempDir::new("store");
        let (id, old) = Store::open(dir.path()).unwrap().identity(None).unwrap();
        let new = clock::uuid().unwrap();
        Store::open(dir.path()).unwrap().replace_secret(&id, &new.as_str().into()).unwrap();
        assert_eq!(Store::open(dir.path()).unwrap().identity(None).unwrap(), (id.clone(), new.clone()));
        // A crash after the first or second step.
        std::fs::remove_file(dir.path().join(IDENTITY_CHECKSUM)).unwrap();
        assert_eq!(Store::open(dir.path()).unwrap().identity(None).unwrap(), (id, new.clone()));
        assert_ne!(old, new);
    }

    #[test]
    fn a_registered_node_does_not_become_a_new_one() {
        let dir = TempDir::new("store");
        let store = Store::open(dir.path()).unwrap();
        store.put_client(&ClientRecord { registered: true, ..ClientRecord::default() }).unwrap();
        assert!(store.identity(None).is_err(), "registered, but without an ID");
    }

    #[test]
    fn a_changed_byte_of_the_state_is_refused() {
        let dir = TempDir::new("store");
        let store = Store::open(dir.path()).unwrap();
        let alloc = Allocation { id: "a".into(), name: "j.g[0]".into(), ..Allocation::default() };
        let tasks = [("t".to_string(), TaskRecord::default())].into();
        store.put_client(&ClientRecord { registered: true, ..ClientRecord::default() }).unwrap();
        store.put_alloc(&alloc).unwrap();
        store.put_record("a", &AllocRecord { tasks, ..AllocRecord::default() }).unwrap();
        store.put_acknowledged(&alloc).unwrap();
        let intact = || store.load().and_then(|all| Ok((all.len(), store.client()?.registered)));
        assert_eq!(intact().unwrap(), (1, true));
        for name in ["client.json", "allocs/a/alloc.json", "allocs/a/state.json", "allocs/a/acknowledged.json"] {
            let path = dir.path().join(name);
            let whole = std::fs::read(&path).unwrap();
            for at in 0..whole.len() {
                let mut bytes = whole.clone();
                bytes[at] ^= 1;
                std::fs::write(&path, &bytes).unwrap();
                let error = intact().unwrap_err().to_string();
                assert!(error.contains("is damaged") && error.contains("restore it from a backup"), "{at}: {error}");
            }
            std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
            assert!(intact().is_err(), "{name} cut off");
            std::fs::write(&path, &whole).unwrap();
        }
        std::fs::remove_file(dir.path().join("allocs/a/alloc.json")).unwrap();
        assert!(intact().unwrap_err().to_string().contains("it is missing"));
    }

    #[test]
    fn files_of_a_newer_format_are_refused() {
        let dir = TempDir::new("store");
        let store = Store::open(dir.path()).unwrap();
        std::fs::write(dir.path().join("client.json"), "encamp-client-state 3 00000000\n{}").unwrap();
        let refused = store.client().err().expect("refused").to_string();
        assert!(
            refused.contains("client.json has format 3, which a newer build of encamp wrote, or it is damaged"),
            "{refused}"
        );
        assert!(refused.contains("start the newer build on this node again, or restore it from a backup"), "{refused}");
    }

    #[test]
    fn files_of_the_first_format_are_read() {
        let dir = TempDir::new("store");
        let store = Store::open(dir.path()).unwrap();
        std::fs::write(dir.path().join("client.json"), r#"{"registered":true}"#).unwrap();
        assert!(store.client().unwrap().registered);
        // Records of earlier builds know nothing of collection.
        let record: AllocRecord = serde_json::from_str(r#"{"tasks":{},"exceeded":true}"#).unwrap();
        assert_eq!(record, AllocRecord { exceeded: true, ..AllocRecord::default() });
    }
}
