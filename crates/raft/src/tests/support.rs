//! Directories and a small state for tests.

use encamp_model::capability::CapabilityLevel;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::{Consensus, Machine, Peer, Settings, SnapshotWriter};
use encamp_ops::{Operation, Reply};

/// A directory that goes with the test.
#[derive(Debug)]
pub(crate) struct TempDir(PathBuf);

impl TempDir {
    pub(crate) fn new() -> TempDir {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("encamp-raft-{}-{n}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("temp dir");
        TempDir(dir)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Remembers what was done at each index.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    /// 1 for an operation, 0 for an entry without one; index 1 first.
    pub seen: Mutex<Vec<u8>>,
    pub restored: AtomicU64,
    /// Whether the cluster has the capability level of this build.
    pub raised: bool,
}

fn level(raised: bool) -> CapabilityLevel {
    if raised { CapabilityLevel::BUILD } else { CapabilityLevel::FIRST }
}

impl Recorder {
    pub(crate) fn applied(&self) -> u64 {
        self.seen.lock().unwrap().iter().map(|s| u64::from(*s)).sum()
    }

    fn push(&self, index: u64, what: u8) {
        let mut seen = self.seen.lock().unwrap();
        seen.push(what);
        assert_eq!(seen.len() as u64, index, "indexes rise by one");
    }
}

struct Frozen(Vec<u8>, bool);

impl SnapshotWriter for Frozen {
    fn level(&self) -> CapabilityLevel {
        level(self.1)
    }

    fn write(self: Box<Self>, to: &mut dyn Write) -> io::Result<()> {
        to.write_all(&self.0)
    }
}

impl Machine for Recorder {
    fn level(&self) -> CapabilityLevel {
        level(self.raised)
    }

    fn apply(&self, index: u64, _: &Arc<Operation>) -> Reply {
        self.push(index, 1);
        Reply::Evaluations(vec![index.to_string()])
    }

    fn skip(&self, index: u64) {
        self.push(index, 0);
    }

    fn snapshot(&self) -> Box<dyn SnapshotWriter> {
        Box::new(Frozen(self.seen.lock().unwrap().clone(), self.raised))
    }

    fn restore(&self, index: u64, from: &mut dyn Read) -> io::Result<()> {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes)?;
        assert_eq!(bytes.len() as u64, index);
        *self.seen.lock().unwrap() = bytes;
        self.restored.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

pub(crate) fn peer(n: u64) -> Peer {
    Peer { name: format!("server-{n}.global"), address: format!("127.0.0.1:{}", 4646 + n) }
}

pub(crate) fn alone(dir: &TempDir) -> Settings {
    Settings::alone(dir.path().join("raft"), 1.into(), peer(1))
}

/// Waits until it holds, at most 20 s.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < end, "{what} did not happen");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub(crate) async fn led(node: &Consensus) {
    let mut watch = node.leadership();
    let leads = watch.wait_for(|l| l.is_leader);
    tokio::time::timeout(Duration::from_secs(20), leads).await.expect("a leader in time").expect("running");
}
