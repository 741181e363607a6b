//! What a node remembers between runs (`docs/spec/client.md §25`): files below its state directory, each written whole.
//!
//! `client-id` and `secret-id` hold the node's identity; `client.json` what the whole agent knows; `allocs/<id>/` an
//! allocation as received (`alloc.json`) and what became of it (`state.json`).

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::clock;
use super::drivers::DriverNetwork;
use super::drivers::supervisor::write_whole;
use super::error::{StartError, at};
use encamp_model::{AllocDeploymentStatus, Allocation, SignedIdentity, TaskState};

/// How long another agent may hold the directory.
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// The state directory, or nothing in development mode.
pub struct Store {
    dir: Option<PathBuf>,
    /// Held as long as the agent lives.
    _lock: Option<File>,
}

/// What the whole agent knows. Holds secrets.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientRecord {
    /// The node has registered before.
    pub registered: bool,
    /// Its signed identity.
    pub identity: String,
    /// Meta set at run time; none: removed.
    pub meta: BTreeMap<String, Option<String>>,
    /// Host volumes made at run time, by ID.
    pub volumes: BTreeMap<String, VolumeRecord>,
}

/// A host volume made at run time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VolumeRecord {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// What made it; empty: it was there.
    pub plugin: String,
    /// How it was made.
    pub parameters: BTreeMap<String, String>,
}

/// What became of an allocation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AllocRecord {
    /// By task.
    pub tasks: BTreeMap<String, TaskRecord>,
    /// Its health.
    pub deployment_status: Option<AllocDeploymentStatus>,
    /// It ran longer than it may.
    pub exceeded: bool,
    /// Tokens of its tasks. Secrets.
    pub identities: Vec<SignedIdentity>,
}

/// What became of a task.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskRecord {
    /// State, events, restarts.
    pub state: TaskState,
    /// What its driver needs to find it again.
    pub handle: Option<Value>,
    /// Its driver's network.
    pub network: Option<DriverNetwork>,
    /// Its directory was built.
    pub built: bool,
    /// It ended, and everything that follows was done.
    pub complete: bool,
}

/// An allocation of an earlier run.
pub struct Stored {
    /// As received.
    pub alloc: Allocation,
    /// What became of it.
    pub record: AllocRecord,
    /// What the servers know of it.
    pub acknowledged: Option<Allocation>,
}

impl Store {
    /// Stores nothing.
    pub fn none() -> Store {
        Store { dir: None, _lock: None }
    }

    /// Opens a state directory; makes it if it is not there. Waits up to 5 s for another agent to leave it.
    pub fn open(dir: &Path) -> Result<Store, StartError> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(at("creating", dir))?;
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
        std::fs::create_dir_all(&allocs).map_err(at("creating", &allocs))?;
        Ok(Store { dir: Some(dir.into()), _lock: Some(lock) })
    }

    /// The identity of the node: ID and SecretID. Made up if there is none yet; `host_uuid` gives the ID if it is one.
    pub fn identity(&self, host_uuid: Option<&str>) -> Result<(String, String), StartError> {
        let random = || clock::uuid().map_err(at("reading", Path::new("/dev/urandom")));
        let made = match host_uuid.and_then(hashed_uuid) {
            Some(id) => id,
            None => random()?,
        };
        let Some(dir) = &self.dir else { return Ok((made, random()?)) };
        let keep = |name: &str, new: String| -> Result<String, StartError> {
            let path = dir.join(name);
            match std::fs::read_to_string(&path) {
                Ok(text) if !text.trim().is_empty() => Ok(text.trim().to_lowercase()),
                Err(e) if e.kind() != io::ErrorKind::NotFound => Err(at("reading", &path)(e)),
                _ => {
                    write_whole(&path, new.as_bytes()).map_err(at("writing", &path))?;
                    Ok(new)
                }
            }
        };
        Ok((keep("client-id", made)?, keep("secret-id", random()?)?))
    }

    /// What the whole agent knew; nothing if it can't be read.
    pub fn client(&self) -> ClientRecord {
        self.dir.as_ref().and_then(|d| read(&d.join("client.json"))).unwrap_or_default()
    }

    /// Stores what the whole agent knows.
    pub fn put_client(&self, record: &ClientRecord) -> io::Result<()> {
        self.put("client.json", record)
    }

    /// Stores an allocation as received.
    pub fn put_alloc(&self, alloc: &Allocation) -> io::Result<()> {
        self.put(&format!("allocs/{}/alloc.json", alloc.id), alloc)
    }

    /// Stores what became of an allocation.
    pub fn put_record(&self, id: &str, record: &AllocRecord) -> io::Result<()> {
        self.put(&format!("allocs/{id}/state.json"), record)
    }

    /// Stores what the servers know of an allocation.
    pub fn put_acknowledged(&self, alloc: &Allocation) -> io::Result<()> {
        let known = self.dir.as_ref().is_some_and(|d| d.join("allocs").join(&alloc.id).is_dir());
        if known { self.put(&format!("allocs/{}/acknowledged.json", alloc.id), alloc) } else { Ok(()) }
    }

    /// Forgets an allocation.
    pub fn delete(&self, id: &str) -> io::Result<()> {
        let Some(dir) = &self.dir else { return Ok(()) };
        match std::fs::remove_dir_all(dir.join("allocs").join(id)) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    }

    /// The allocations of an earlier run, by ID. One without any task state is forgotten: the servers send it again.
    pub fn load(&self) -> Vec<Stored> {
        let Some(dir) = &self.dir else { return Vec::new() };
        let entries = std::fs::read_dir(dir.join("allocs")).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|e| e.path()).collect();
        paths.sort();
        let mut out = Vec::new();
        for path in paths {
            let alloc = read::<Allocation>(&path.join("alloc.json"));
            let record = read::<AllocRecord>(&path.join("state.json")).filter(|r| !r.tasks.is_empty());
            match (alloc, record) {
                (Some(alloc), Some(record)) => {
                    let acknowledged = read(&path.join("acknowledged.json"));
                    out.push(Stored { alloc, record, acknowledged });
                }
                _ => drop(std::fs::remove_dir_all(&path)),
            }
        }
        out
    }

    fn put(&self, name: &str, value: &impl Serialize) -> io::Result<()> {
        let Some(dir) = &self.dir else { return Ok(()) };
        let path = dir.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        write_whole(&path, &serde_json::to_vec(value)?)
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let text = std::fs::read(path).ok()?;
    serde_json::from_slice(&text)
        .inspect_err(|e| tracing::warn!(target: "client", path = %path.display(), error = %e, "unreadable state"))
        .ok()
}

/// A UUID made of another one, so that the node's ID does not tell the host's.
fn hashed_uuid(text: &str) -> Option<String> {
    use sha2::Digest;
    let valid = text.len() == 36 && text.chars().all(|c| c == '-' || c.is_ascii_hexdigit());
    let digest = sha2::Sha512::digest(text.as_bytes());
    let hex: String = digest.iter().take(16).map(|b| format!("{b:02x}")).collect();
    let parts: Vec<&str> = [0..8, 8..12, 12..16, 16..20, 20..32].into_iter().filter_map(|r| hex.get(r)).collect();
    valid.then(|| parts.join("-"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

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
        std::fs::write(dir.path().join("client.json"), "{").unwrap();
        assert!(!store.client().registered);
        store.put_client(&ClientRecord { registered: true, ..ClientRecord::default() }).unwrap();
        drop(store);
        let store = Store::open(dir.path()).unwrap();
        let all = store.load();
        assert_eq!((all.len(), &all[0].record, store.client().registered), (1, &record, true));
        assert_eq!((all[0].alloc.id.as_str(), all[0].acknowledged.is_some()), ("a", true));
    }
}
