//! What is launched in each hour, and what is free in it.

use encamp_model::SECOND;
use serde::Serialize;

use crate::what_if::headroom::Room;

/// Nanoseconds of an hour.
pub const HOUR: i64 = 3600 * SECOND;

/// What launches want: allocations and their resources.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Demand {
    /// Allocations.
    pub allocations: i64,
    /// MHz.
    #[serde(rename = "CPU")]
    pub cpu: i64,
    /// MB of memory.
    #[serde(rename = "MemoryMB")]
    pub memory_mb: i64,
}

impl Demand {
    /// Adds another demand.
    pub(super) fn add(&mut self, other: Demand) {
        self.allocations = self.allocations.saturating_add(other.allocations);
        self.cpu = self.cpu.saturating_add(other.cpu);
        self.memory_mb = self.memory_mb.saturating_add(other.memory_mb);
    }
}

/// One hour, or the part of it that belongs to the period.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Hour {
    /// When it begins, Unix nanoseconds.
    #[serde(skip)]
    pub start: i64,
    /// Jobs that are launched.
    pub launches: i64,
    /// Launches that are left out, since an earlier run goes on.
    pub skipped: i64,
    /// What the launched jobs want.
    pub demand: Demand,
    /// How many of these allocations cannot be placed when they are launched.
    pub unplaced: i64,
    /// The capacity of ready nodes, and what is free of it when the hour begins.
    pub at_start: Room,
    /// What is free of it at the moment with the least.
    #[serde(rename = "LeastCPUFree")]
    pub least_cpu_free: i64,
    /// MB of memory.
    #[serde(rename = "LeastMemoryFreeMB")]
    pub least_memory_free_mb: i64,
}

/// The hours of a period.
#[derive(Debug, Clone)]
pub(super) struct Hours {
    hours: Vec<Hour>,
    /// The capacity since the last change.
    room: Room,
}

impl Hours {
    /// The hours from the one that holds a time on (both Unix nanoseconds). `room` is the capacity then.
    pub(super) fn new(from: i64, room: Room) -> Hours {
        let mut hours = Hours { hours: Vec::new(), room };
        hours.begin(from.div_euclid(HOUR).saturating_mul(HOUR));
        hours
    }

    fn begin(&mut self, start: i64) {
        let Room { cpu_free, memory_free_mb, .. } = self.room;
        let hour = Hour {
            start,
            at_start: self.room,
            least_cpu_free: cpu_free,
            least_memory_free_mb: memory_free_mb,
            ..Hour::default()
        };
        self.hours.push(hour);
    }

    /// Goes on to the hour that holds a time.
    pub(super) fn advance(&mut self, now: i64) {
        while let Some(next) = self.hours.last().map(|h| h.start.saturating_add(HOUR)).filter(|next| *next <= now) {
            self.begin(next);
        }
    }

    /// The capacity changed.
    pub(super) fn see(&mut self, room: Room) {
        self.room = room;
        if let Some(hour) = self.hours.last_mut() {
            hour.least_cpu_free = hour.least_cpu_free.min(room.cpu_free);
            hour.least_memory_free_mb = hour.least_memory_free_mb.min(room.memory_free_mb);
        }
    }

    /// The present hour.
    pub(super) fn present(&mut self) -> Option<&mut Hour> {
        self.hours.last_mut()
    }

    /// All hours until a time, Unix nanoseconds.
    pub(super) fn finish(mut self, until: i64) -> Vec<Hour> {
        self.advance(until.saturating_sub(1));
        self.hours
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_know_the_least_that_is_free() {
        let room = |cpu_free| Room { cpu: 100, cpu_free, memory_free_mb: cpu_free, ..Room::default() };
        let mut hours = Hours::new(10 * HOUR + 7, room(90));
        hours.see(room(40));
        hours.see(room(60));
        hours.advance(12 * HOUR);
        hours.see(room(80));
        let all = hours.finish(13 * HOUR);
        let seen: Vec<(i64, i64, i64)> =
            all.iter().map(|h| (h.start / HOUR, h.at_start.cpu_free, h.least_cpu_free)).collect();
        assert_eq!(seen, [(10, 90, 40), (11, 60, 60), (12, 60, 60)]);
    }
}
