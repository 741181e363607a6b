//! The counters of a fleet of nodes.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// Counters of a fleet.
#[derive(Debug, Default)]
pub struct Tally {
    /// Nodes that are registered and run.
    pub live: AtomicU64,
    /// Heartbeats that were answered.
    pub beats: AtomicU64,
    /// Heartbeats that found their node given up by the servers.
    pub expired: AtomicU64,
    /// Calls that failed.
    pub errors: AtomicU64,
    /// Allocations that run.
    pub running: AtomicU64,
    /// Allocations that were asked to stop, and did, as the servers know.
    pub stopped: AtomicU64,
    /// When the last TTL that a server gave ends, in Unix nanoseconds.
    last_ttl: AtomicI64,
}

impl Tally {
    /// Counts.
    pub fn add(counter: &AtomicU64, n: usize) {
        counter.fetch_add(n as u64, Ordering::Relaxed);
    }

    /// Counts down.
    pub fn take(counter: &AtomicU64, n: usize) {
        counter.fetch_sub(n as u64, Ordering::Relaxed);
    }

    /// The value of a counter.
    pub fn get(counter: &AtomicU64) -> u64 {
        counter.load(Ordering::Relaxed)
    }

    /// A server gave a TTL that ends then.
    pub(crate) fn ttl_until(&self, time: i64) {
        self.last_ttl.fetch_max(time, Ordering::Relaxed);
    }

    /// When the last TTL ends, in Unix nanoseconds.
    pub(crate) fn last_ttl(&self) -> i64 {
        self.last_ttl.load(Ordering::Relaxed)
    }
}
