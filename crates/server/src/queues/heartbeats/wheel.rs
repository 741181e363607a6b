//! A timing wheel: many timers that are postponed again and again and rarely fire.
//!
//! Postponing a timer costs one lookup: it stays in its slot and is moved to the new one when the wheel reaches the old
//! one. Slots are a quarter of a second wide; the exact time decides within a slot.

use std::collections::HashMap;
use std::sync::Arc;

use encamp_model::SECOND;

const SLOT: i64 = SECOND / 4;
/// About 17 minutes; later deadlines wrap around.
const SLOTS: usize = 4096;

/// A timer's entry in a slot, valid while its generation equals the timer's.
#[derive(Debug, Clone, Copy)]
struct Mark {
    timer: usize,
    generation: u64,
}

#[derive(Debug)]
struct Timer {
    name: Arc<str>,
    deadline: i64,
    /// Number of the slot that holds its valid mark.
    slot: i64,
    generation: u64,
}

/// Timers by name.
#[derive(Debug, Default)]
pub(super) struct Wheel {
    /// `SLOTS` lists, or none while there is no timer.
    slots: Vec<Vec<Mark>>,
    /// Number of the earliest slot that may hold marks.
    hand: i64,
    timers: Vec<Option<Timer>>,
    free: Vec<usize>,
    by_name: HashMap<Arc<str>, usize>,
    generation: u64,
}

fn slot_of(time: i64) -> i64 {
    time.div_euclid(SLOT)
}

fn position(slot: i64) -> usize {
    usize::try_from(slot.rem_euclid(SLOTS as i64)).unwrap_or(0)
}

impl Wheel {
    /// The number of running timers.
    pub(crate) fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Whether the timer runs.
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// Stops all timers.
    pub(crate) fn clear(&mut self) {
        *self = Wheel::default();
    }

    /// Starts or postpones a timer.
    pub(crate) fn set(&mut self, name: &str, deadline: i64, now: i64) {
        if let Some(i) = self.by_name.get(name).copied() {
            let Some(Some(timer)) = self.timers.get_mut(i) else { return };
            timer.deadline = deadline;
            if slot_of(deadline) < timer.slot {
                self.mark(i);
            }
            return;
        }
        if self.by_name.is_empty() {
            // All remaining marks are invalid, so the hand may jump.
            self.slots = vec![Vec::new(); SLOTS];
            self.hand = slot_of(now);
        }
        let name: Arc<str> = Arc::from(name);
        let timer = Some(Timer { name: name.clone(), deadline, slot: 0, generation: 0 });
        let i = match self.free.pop() {
            Some(i) => {
                if let Some(place) = self.timers.get_mut(i) {
                    *place = timer;
                }
                i
            }
            None => {
                self.timers.push(timer);
                self.timers.len() - 1
            }
        };
        self.by_name.insert(name, i);
        self.mark(i);
    }

    /// Adds a mark for a timer at its deadline, or as close as the wheel reaches. Earlier marks become invalid.
    fn mark(&mut self, i: usize) {
        let last = self.hand.saturating_add(SLOTS as i64 - 1);
        let Some(Some(timer)) = self.timers.get_mut(i) else { return };
        self.generation += 1;
        timer.generation = self.generation;
        timer.slot = slot_of(timer.deadline).clamp(self.hand, last);
        if let Some(slot) = self.slots.get_mut(position(timer.slot)) {
            slot.push(Mark { timer: i, generation: self.generation });
        }
    }

    fn valid(&self, mark: &Mark) -> Option<&Timer> {
        self.timers.get(mark.timer)?.as_ref().filter(|t| t.generation == mark.generation)
    }

    /// Stops a timer. Returns whether it was running.
    pub(crate) fn remove(&mut self, name: &str) -> bool {
        let Some(i) = self.by_name.remove(name) else { return false };
        if let Some(place) = self.timers.get_mut(i) {
            *place = None;
            self.free.push(i);
        }
        true
    }

    /// Removes and returns the timers that fired by `now`, ordered by deadline and name.
    pub(crate) fn expired(&mut self, now: i64) -> Vec<String> {
        let target = slot_of(now).max(self.hand);
        let passed = target.saturating_sub(self.hand).min(SLOTS as i64 - 1);
        let (mut fired, mut later) = (Vec::new(), Vec::new());
        for slot in self.hand..=self.hand.saturating_add(passed) {
            let Some(marks) = self.slots.get_mut(position(slot)) else { break };
            for mark in std::mem::take(marks) {
                match self.valid(&mark) {
                    Some(t) if t.deadline <= now => fired.push((t.deadline, t.name.clone())),
                    Some(_) => later.push(mark.timer),
                    None => {}
                }
            }
        }
        self.hand = target;
        later.into_iter().for_each(|i| self.mark(i));
        fired.sort();
        for (_, name) in &fired {
            self.remove(name);
        }
        fired.into_iter().map(|(_, name)| name.to_string()).collect()
    }

    /// When to call [`Wheel::expired`] next: no timer fires earlier, and perhaps none fires then either.
    pub(crate) fn next_deadline(&self) -> Option<i64> {
        if self.by_name.is_empty() {
            return None;
        }
        (self.hand..self.hand.saturating_add(SLOTS as i64)).find_map(|slot| {
            let marks = self.slots.get(position(slot))?;
            let first = marks.iter().filter_map(|m| self.valid(m)).map(|t| t.deadline).min()?;
            // The timer may have been postponed, and others may fire in the slots in between.
            Some(first.min(slot.saturating_add(1).saturating_mul(SLOT).saturating_sub(1)))
        })
    }
}
