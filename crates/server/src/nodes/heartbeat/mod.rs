//! Heartbeats: every node has a timer that it must keep from firing (`docs/spec/server.md §9.1, §9.2`).
//!
//! - This file: [`Heartbeats`], how long nodes may be silent. Times are Unix nanoseconds, durations nanoseconds.
//! - `wheel`: the timers. [`herd`]: nodes that fall silent together.

pub(crate) mod herd;
mod wheel;

#[cfg(test)]
mod tests;

use thiserror::Error;

use encamp_model::SECOND;
use wheel::Wheel;

/// How often nodes are to be heard of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeartbeatSettings {
    /// Heartbeats that all nodes together send per second (`max_heartbeats_per_second`).
    pub max_per_second: f64,
    /// The shortest time a node is told (`min_heartbeat_ttl`).
    pub min_ttl: i64,
    /// How much longer the server waits (`heartbeat_grace`).
    pub grace: i64,
    /// How long a new leader waits for each node (`failover_heartbeat_ttl`).
    pub failover_ttl: i64,
}

impl Default for HeartbeatSettings {
    fn default() -> HeartbeatSettings {
        HeartbeatSettings { max_per_second: 50.0, min_ttl: 10 * SECOND, grace: 10 * SECOND, failover_ttl: 300 * SECOND }
    }
}

impl HeartbeatSettings {
    /// The time to tell a node when `timers` nodes have one: the base, and up to once more of it, drawn with a random
    /// number.
    pub fn ttl(&self, timers: usize, random: u64) -> i64 {
        let spread = timers as f64 / self.max_per_second;
        // Too large for nanoseconds, or not a number: the conversion gives the nearest possible.
        let base = if spread.is_finite() { (spread * SECOND as f64) as i64 } else { 0 };
        let base = base.max(self.min_ttl).max(0);
        let extra = random.checked_rem(base.unsigned_abs()).unwrap_or(0);
        base.saturating_add_unsigned(extra)
    }
}

/// A heartbeat arrived at a server that is not the leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("failed to reset heartbeat since server is not leader")]
pub struct NotLeader;

/// The timers of all nodes but those that are down. Runs on the leader only.
#[derive(Debug, Default)]
pub struct Heartbeats {
    settings: HeartbeatSettings,
    leader: bool,
    wheel: Wheel,
}

impl Heartbeats {
    /// No timers; not the leader.
    pub fn new(settings: HeartbeatSettings) -> Heartbeats {
        Heartbeats { settings, leader: false, wheel: Wheel::default() }
    }

    /// Becomes the leader: every node (all that are not down) gets the failover time.
    pub fn start<S: AsRef<str>>(&mut self, nodes: impl IntoIterator<Item = S>, now: i64) {
        self.wheel.clear();
        self.leader = true;
        let deadline = now.saturating_add(self.settings.failover_ttl);
        for node in nodes {
            self.wheel.set(node.as_ref(), deadline, now);
        }
    }

    /// Is not the leader any more: forgets all timers.
    pub fn stop(&mut self) {
        self.leader = false;
        self.wheel.clear();
    }

    /// The node was heard of. Returns the time until its next heartbeat; the timer itself runs for that and the grace.
    pub fn reset(&mut self, node: &str, now: i64, random: u64) -> Result<i64, NotLeader> {
        if !self.leader {
            return Err(NotLeader);
        }
        let ttl = self.settings.ttl(self.wheel.len(), random);
        self.wheel.set(node, now.saturating_add(ttl).saturating_add(self.settings.grace), now);
        Ok(ttl)
    }

    /// The node is gone or down: it has no timer any more. Tells whether it had one.
    pub fn remove(&mut self, node: &str) -> bool {
        self.wheel.remove(node)
    }

    /// Whether the node has a timer.
    pub fn contains(&self, node: &str) -> bool {
        self.wheel.contains(node)
    }

    /// Removes the timers that fired and returns their nodes, the longest overdue first.
    pub fn expired(&mut self, now: i64) -> Vec<String> {
        self.wheel.expired(now)
    }

    /// A time at which to call [`Heartbeats::expired`]: no timer fires before.
    pub fn next_deadline(&self) -> Option<i64> {
        self.wheel.next_deadline()
    }

    /// How many timers run (gauge `heartbeat.active`).
    pub fn active(&self) -> usize {
        self.wheel.len()
    }
}
