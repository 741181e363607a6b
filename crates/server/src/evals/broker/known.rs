//! The evaluations that a broker knows, each with its state.

use std::collections::HashMap;
use std::sync::Arc;

use super::order::ById;
use super::stats::QueueName;
use encamp_model::Evaluation;

/// The number of parts, a power of two. A part that grows moves its entries while the broker is locked: of a million
/// evaluations, some thousands are moved at a time.
const PARTS: usize = 256;

/// The state of an evaluation from enqueue to ack or cancellation: as small as possible, because most of a million
/// evaluations just wait behind others.
#[derive(Debug)]
pub(super) struct Entry {
    pub place: Place,
    /// When it was enqueued, not counting delays; [`UNKNOWN`] for restored evaluations.
    enqueued: i64,
    pub deliveries: u32,
    /// Whether `enqueued` has to be set.
    timed: bool,
}

/// No time that a clock gives.
const UNKNOWN: i64 = i64::MIN;

impl Entry {
    /// The state of an evaluation that was enqueued; `timed`: at a known time.
    pub(crate) fn new(timed: bool) -> Entry {
        Entry { place: Place::Queued, enqueued: UNKNOWN, deliveries: 0, timed }
    }

    /// When it was enqueued, not counting delays; `None` for restored evaluations.
    pub(crate) fn enqueued(&self) -> Option<i64> {
        Some(self.enqueued).filter(|at| *at != UNKNOWN)
    }

    /// It waits for a worker from now on.
    pub(crate) fn start_clock(&mut self, now: i64) {
        self.place = Place::Queued;
        self.enqueued = if self.timed { now } else { UNKNOWN };
    }
}

#[derive(Debug)]
pub(super) enum Place {
    /// In a ready heap, pending behind another evaluation of its job, or cancelable.
    Queued,
    /// Waits until a time.
    Waiting(Box<Waiting>),
    /// Outstanding.
    Out(Box<Out>),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    pub due: i64,
    pub reason: Reason,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Reason {
    /// Its `Wait`.
    Wait,
    /// Its `WaitUntil`.
    WaitUntil,
    /// It was nacked and still holds its job's slot.
    Nacked,
}

#[derive(Debug)]
pub(super) struct Out {
    pub token: String,
    pub queue: QueueName,
    pub since: i64,
    /// When the nack timer fires; `None` while paused.
    pub deadline: Option<i64>,
    /// The evaluation to enqueue after the ack.
    pub requeue: Option<Arc<Evaluation>>,
}

/// Entries by the ID of their evaluation.
#[derive(Debug, Default)]
pub(super) struct Known(Vec<HashMap<ById, Entry>>);

impl Known {
    /// The part of an ID. Evaluations have random IDs: the end of the text tells parts apart.
    fn place(id: &str) -> usize {
        let end = id.bytes().rev().take(4);
        end.fold(0usize, |all, byte| all.wrapping_mul(31).wrapping_add(byte.into())) % PARTS
    }

    fn part(&self, id: &str) -> Option<&HashMap<ById, Entry>> {
        self.0.get(Known::place(id))
    }

    fn part_mut(&mut self, id: &str) -> Option<&mut HashMap<ById, Entry>> {
        self.0.get_mut(Known::place(id))
    }

    /// The entry of an ID.
    pub(crate) fn get(&self, id: &str) -> Option<&Entry> {
        self.part(id)?.get(id)
    }

    /// The entry of an ID, to change it.
    pub(crate) fn get_mut(&mut self, id: &str) -> Option<&mut Entry> {
        self.part_mut(id)?.get_mut(id)
    }

    /// The evaluation of an ID and its entry.
    pub(crate) fn get_key_value(&self, id: &str) -> Option<(&ById, &Entry)> {
        self.part(id)?.get_key_value(id)
    }

    /// Whether an ID is known.
    pub(crate) fn contains(&self, id: &str) -> bool {
        self.get(id).is_some()
    }

    /// Adds an evaluation.
    pub(crate) fn insert(&mut self, eval: Arc<Evaluation>, entry: Entry) {
        if self.0.is_empty() {
            self.0.resize_with(PARTS, HashMap::new);
        }
        if let Some(part) = self.part_mut(&eval.id) {
            part.insert(ById(eval), entry);
        }
    }

    /// Removes an ID. Returns its evaluation, if it was known.
    pub(crate) fn remove(&mut self, id: &str) -> Option<ById> {
        let part = self.part_mut(id)?;
        let (key, _) = part.remove_entry(id)?;
        // After a flood, the memory of the entries is released.
        if part.capacity() > 4 * part.len().max(64) {
            part.shrink_to(2 * part.len());
        }
        Some(key)
    }

    /// How many there are.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.0.iter().map(HashMap::len).sum()
    }

    /// Whether there are none.
    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
