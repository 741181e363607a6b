//! What clients did and saw. Times are microseconds since the start of the load.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::place::Place;

/// A time in microseconds since the start of the load.
pub(crate) type Micros = u64;

/// The clock of the histories, and the end of the load.
#[derive(Debug)]
pub(crate) struct Clock {
    start: Instant,
    stopped: AtomicBool,
}

impl Clock {
    /// A clock that starts now.
    pub(crate) fn new() -> Clock {
        Clock { start: Instant::now(), stopped: AtomicBool::new(false) }
    }

    pub(crate) fn now(&self) -> Micros {
        u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// The time that passed since the start of the load.
    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Has the clients stop.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
    }

    pub(crate) fn runs(&self) -> bool {
        !self.stopped.load(Ordering::SeqCst)
    }
}

/// How an operation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The server executed it.
    Done,
    /// The server refused it because of the state, as a check-and-set.
    Refused,
    /// It was not executed.
    Failed,
    /// It may have been executed, or may be executed later.
    Unknown,
}

/// An operation, for figures.
#[derive(Debug, Clone)]
pub(crate) struct Operation {
    pub(crate) client: String,
    pub(crate) server: Place,
    pub(crate) name: &'static str,
    pub(crate) writes: bool,
    pub(crate) from: Micros,
    pub(crate) to: Micros,
    pub(crate) end: End,
}

impl Operation {
    pub(crate) fn json(&self) -> Json {
        json!({"client": self.client, "server": self.server.to_string(), "name": self.name, "writes": self.writes,
            "from": self.from, "to": self.to, "end": format!("{:?}", self.end)})
    }
}

/// An operation on a register.
#[derive(Debug, Clone)]
pub(crate) struct OnRegister {
    pub(crate) key: String,
    /// A read with `stale`.
    pub(crate) stale: bool,
    pub(crate) call: encamp_linear::Call,
}

/// An element that was added to a set, or not.
#[derive(Debug, Clone)]
pub(crate) struct Add {
    pub(crate) set: String,
    pub(crate) element: u64,
    pub(crate) end: End,
}

/// A lock that was acquired.
#[derive(Debug, Clone)]
pub(crate) struct Holding {
    pub(crate) lock: String,
    pub(crate) client: String,
    /// The index of the write that acquired it.
    pub(crate) index: u64,
    /// When the client knew that it held the lock.
    pub(crate) from: Micros,
    /// Until when it could rely on it.
    pub(crate) until: Micros,
}

/// An acknowledged write of a job.
#[derive(Debug, Clone)]
pub(crate) struct JobWrite {
    pub(crate) job: String,
    /// The index of the write.
    pub(crate) index: u64,
}

/// Indexes that one client saw, one after the other.
#[derive(Debug, Clone, Default)]
pub(crate) struct Indexes {
    pub(crate) of: String,
    pub(crate) seen: Vec<u64>,
}

/// An event.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event {
    pub(crate) index: u64,
    pub(crate) kind: String,
    pub(crate) key: String,
}

/// The events that one connection delivered.
#[derive(Debug, Clone)]
pub(crate) struct Segment {
    pub(crate) server: Place,
    pub(crate) events: Vec<Event>,
}

/// All that clients recorded.
#[derive(Debug, Default)]
pub(crate) struct Records {
    pub(crate) operations: Vec<Operation>,
    pub(crate) registers: Vec<OnRegister>,
    pub(crate) adds: Vec<Add>,
    pub(crate) holdings: Vec<Holding>,
    pub(crate) job_writes: Vec<JobWrite>,
    pub(crate) indexes: Vec<Indexes>,
    pub(crate) segments: Vec<Segment>,
    /// Rules that polls of the whole state found broken.
    pub(crate) violations: Vec<String>,
    /// How many polls of the whole state there were.
    pub(crate) polls: u64,
}

impl Records {
    /// Adds the records of another client.
    pub(crate) fn extend(&mut self, other: Records) {
        self.operations.extend(other.operations);
        self.registers.extend(other.registers);
        self.adds.extend(other.adds);
        self.holdings.extend(other.holdings);
        self.job_writes.extend(other.job_writes);
        self.indexes.extend(other.indexes);
        self.segments.extend(other.segments);
        self.violations.extend(other.violations);
        self.polls += other.polls;
    }
}
