//! Heartbeats: every node has a timer that fires unless the node sends heartbeats (`docs/spec/server.md §9.1, §9.2`).
//!
//! - This file: [`Heartbeats`], the expiry of nodes. Times are nanoseconds of a clock that nobody sets.
//! - `wheel`: the timers.

mod wheel;

#[cfg(test)]
mod tests;

use crate::error::{Error, ErrorKind};
use crate::settings::HeartbeatSettings;
use wheel::Wheel;

/// The text of [`NotLeader`].
const NOT_LEADER: &str = "failed to reset heartbeat since server is not leader";

/// A heartbeat arrived at a server that is not the leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{}", NOT_LEADER)]
pub struct NotLeader;

impl From<NotLeader> for Error {
    fn from(_: NotLeader) -> Error {
        Error::new(ErrorKind::NotLeader, NOT_LEADER)
    }
}

/// The timers of all nodes except those that are down. Only used on the leader.
#[derive(Debug, Default)]
pub struct Heartbeats {
    settings: HeartbeatSettings,
    leader: bool,
    wheel: Wheel,
}

impl Heartbeats {
    /// Returns an instance without timers, not leading.
    pub fn new(settings: HeartbeatSettings) -> Heartbeats {
        Heartbeats { settings, leader: false, wheel: Wheel::default() }
    }

    /// Called when this server becomes the leader: starts the timers of these nodes (all that are not down) with the
    /// failover TTL.
    pub fn start<S: AsRef<str>>(&mut self, nodes: impl IntoIterator<Item = S>, now: i64) {
        self.wheel.clear();
        self.leader = true;
        let deadline = now.saturating_add(self.settings.failover_ttl);
        for node in nodes {
            self.wheel.set(node.as_ref(), deadline, now);
        }
    }

    /// Called when leadership is lost: removes all timers.
    pub fn stop(&mut self) {
        self.leader = false;
        self.wheel.clear();
    }

    /// Restarts the timer of a node after a heartbeat. Returns the TTL; the timer itself also includes the grace
    /// period.
    pub fn reset(&mut self, node: &str, now: i64, random: u64) -> Result<i64, NotLeader> {
        if !self.leader {
            return Err(NotLeader);
        }
        let ttl = self.settings.ttl(self.wheel.len(), random);
        self.wheel.set(node, now.saturating_add(ttl).saturating_add(self.settings.grace), now);
        Ok(ttl)
    }

    /// Removes the timer of a node that is gone or down. Returns whether there was one.
    pub fn remove(&mut self, node: &str) -> bool {
        self.wheel.remove(node)
    }

    /// Whether the node has a timer.
    pub fn contains(&self, node: &str) -> bool {
        self.wheel.contains(node)
    }

    /// Removes the timers that fired and returns their nodes, longest overdue first.
    pub fn expired(&mut self, now: i64) -> Vec<String> {
        self.wheel.expired(now)
    }

    /// When to call [`Heartbeats::expired`] next: no timer fires earlier.
    pub fn next_deadline(&self) -> Option<i64> {
        self.wheel.next_deadline()
    }

    /// The number of running timers (gauge `heartbeat.active`).
    pub fn active(&self) -> usize {
        self.wheel.len()
    }
}
