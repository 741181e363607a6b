//! Writers and readers during faults.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::SERVERS;
use crate::agent::call;
use crate::crash_support::checks::LISTS;
use crate::crash_support::ledger::End;
use crate::crash_support::writers::Writer;

/// Maximum time of a writer, and of a probe, to wait for one answer.
const PATIENCE: Duration = Duration::from_secs(2);
const IMPATIENCE: Duration = Duration::from_secs(1);
/// Pause between two writes: the servers have to be under load, but not at their limit, where leaders are lost for
/// other reasons.
const PAUSE: Duration = Duration::from_millis(25);
/// Pause after an unsuccessful answer.
const AGAIN: Duration = Duration::from_millis(50);

/// The state shared by the writers.
pub struct Load {
    ports: [u16; SERVERS],
    over: AtomicBool,
    /// The number of writes with unknown outcome.
    pub unknown: AtomicUsize,
    wrong: Mutex<Vec<String>>,
    /// The highest reported index of each list.
    indexes: Mutex<BTreeMap<&'static str, u64>>,
    /// Variables written by probes.
    probes: Mutex<Vec<String>>,
}

/// The results of the load.
pub struct LoadResult {
    pub wrong: Vec<String>,
    pub indexes: BTreeMap<&'static str, u64>,
    pub probes: Vec<String>,
    pub unknown: usize,
}

/// Stops the load, also when the test fails.
pub struct Ends<'a>(pub &'a Load);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::SeqCst);
    }
}

impl Load {
    pub fn new(ports: [u16; SERVERS]) -> Load {
        Load {
            ports,
            over: AtomicBool::new(false),
            unknown: AtomicUsize::new(0),
            wrong: Mutex::default(),
            indexes: Mutex::default(),
            probes: Mutex::default(),
        }
    }

    fn over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    fn wrong(&self, why: String) {
        self.wrong.lock().expect("a lock").push(why);
    }

    /// Runs a writer against one server, and against the next one after an unsuccessful answer.
    pub fn write(&self, writer: &mut Writer, mut at: usize) {
        writer.ledger.patience = PATIENCE;
        while !self.over() {
            writer.ledger.port = self.ports[at % SERVERS];
            match writer.step() {
                Ok(()) => thread::sleep(PAUSE),
                Err(End::Wrong(why)) => return self.wrong(why),
                Err(End::Gone(_)) => {
                    self.unknown.fetch_add(1, Ordering::SeqCst);
                    at += 1;
                    thread::sleep(AGAIN);
                }
            }
        }
    }

    /// Checks that the indexes of lists never decrease.
    pub fn watch(&self) {
        for (path, at) in LISTS.iter().cycle().zip((0..SERVERS).cycle()) {
            if self.over() {
                return;
            }
            match call(self.ports[at], "GET", path, "", IMPATIENCE) {
                Ok(reply) if reply.status == 200 => {
                    let mut seen = self.indexes.lock().expect("a lock");
                    let known = seen.entry(path).or_default();
                    if reply.index < *known {
                        self.wrong(format!("{path} of server {at} went back from {known} to {}", reply.index));
                    }
                    *known = (*known).max(reply.index);
                }
                _ => thread::sleep(AGAIN),
            }
            thread::sleep(PAUSE);
        }
    }

    /// Retries a write through a server until it succeeds. Returns the time since `begin`.
    pub fn probe(&self, at: usize, name: &str, begin: Instant, longest: Duration) -> Option<Duration> {
        let path = format!("probe/{name}-{at}");
        let body = "{\"Items\":{\"is\":\"here\"}}";
        while begin.elapsed() < longest {
            match call(self.ports[at], "PUT", &format!("/v1/var/{path}"), body, IMPATIENCE) {
                Ok(reply) if reply.status == 200 => {
                    let took = begin.elapsed();
                    self.probes.lock().expect("a lock").push(path);
                    return Some(took);
                }
                Ok(reply) if reply.status < 500 => self.wrong(format!("{path}: {} {}", reply.status, reply.body)),
                _ => {}
            }
            thread::sleep(AGAIN);
        }
        None
    }

    pub fn finish(self) -> LoadResult {
        LoadResult {
            wrong: self.wrong.into_inner().expect("a lock"),
            indexes: self.indexes.into_inner().expect("a lock"),
            probes: self.probes.into_inner().expect("a lock"),
            unknown: self.unknown.into_inner(),
        }
    }
}
