//! Identity and order of evaluations (`docs/spec/server.md §4.2`).

use std::borrow::Borrow;
use std::cmp::{Ordering, Reverse};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use encamp_model::{Evaluation, UniqueText};

/// An evaluation as a map key, compared by its ID only.
#[derive(Debug, Clone)]
pub(super) struct ById(pub Arc<Evaluation>);

impl Borrow<str> for ById {
    fn borrow(&self) -> &str {
        &self.0.id
    }
}

impl Hash for ById {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Hashed like the text itself, so that lookups by `&str` work.
        self.0.id.as_str().hash(state);
    }
}

impl PartialEq for ById {
    fn eq(&self, other: &ById) -> bool {
        self.0.id == other.0.id
    }
}

impl Eq for ById {}

impl Ord for ById {
    fn cmp(&self, other: &ById) -> Ordering {
        self.0.id.cmp(&other.0.id)
    }
}

impl PartialOrd for ById {
    fn partial_cmp(&self, other: &ById) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// An evaluation that is ready to be dequeued. The greatest one takes precedence: higher priority, then lower
/// CreateIndex, then lower ID.
#[derive(Debug, Clone)]
pub(super) struct Ready(pub Arc<Evaluation>);

impl Ready {
    fn rank(&self) -> (i64, Reverse<u64>, Reverse<&str>) {
        (self.0.priority, Reverse(self.0.create_index), Reverse(&self.0.id))
    }
}

impl PartialEq for Ready {
    fn eq(&self, other: &Ready) -> bool {
        self.rank() == other.rank()
    }
}

impl Eq for Ready {}

impl Ord for Ready {
    fn cmp(&self, other: &Ready) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl PartialOrd for Ready {
    fn partial_cmp(&self, other: &Ready) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The greatest pending evaluation of a job is retained: higher priority, then higher ModifyIndex.
fn keep_rank(e: &Evaluation) -> (i64, u64, Reverse<u64>, Reverse<&str>) {
    (e.priority, e.modify_index, Reverse(e.create_index), Reverse(&e.id))
}

/// The one evaluation of a job that may be outstanding, and the evaluations pending behind it.
///
/// Of the pending evaluations one is retained and all others are cancelled, so only the greatest one needs to be known.
#[derive(Debug)]
pub(super) struct JobSlot {
    /// ID of the evaluation that holds the slot.
    pub holder: UniqueText,
    pending: Vec<Arc<Evaluation>>,
    best: usize,
}

impl JobSlot {
    /// A slot held by an evaluation.
    pub(crate) fn taken_by(eval: &Evaluation) -> JobSlot {
        JobSlot { holder: eval.id.clone(), pending: Vec::new(), best: 0 }
    }

    /// Adds a pending evaluation.
    pub(crate) fn push(&mut self, eval: Arc<Evaluation>) {
        if self.pending.get(self.best).is_none_or(|best| keep_rank(best) < keep_rank(&eval)) {
            self.best = self.pending.len();
        }
        self.pending.push(eval);
    }

    /// Removes the pending evaluations for whose ID `which` gives something. Returns what it gave.
    pub(crate) fn remove<T>(&mut self, which: impl Fn(&str) -> Option<T>) -> Vec<T> {
        let mut removed = Vec::new();
        self.pending.retain(|e| {
            let found = which(&e.id);
            let stays = found.is_none();
            removed.extend(found);
            stays
        });
        if !removed.is_empty() {
            let best = self.pending.iter().enumerate().max_by_key(|(_, e)| keep_rank(e));
            self.best = best.map_or(0, |(at, _)| at);
        }
        removed
    }

    /// Gives the slot to the greatest pending evaluation. Returns it and all others, in order of arrival; `None` if
    /// there is no pending evaluation.
    pub(crate) fn pass_on(&mut self) -> Option<(Arc<Evaluation>, Vec<Arc<Evaluation>>)> {
        let mut rest = std::mem::take(&mut self.pending);
        let best = std::mem::take(&mut self.best);
        if best >= rest.len() {
            return None;
        }
        let kept = rest.remove(best);
        self.holder.clone_from(&kept.id);
        Some((kept, rest))
    }
}
