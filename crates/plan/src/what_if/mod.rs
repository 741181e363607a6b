//! What becomes of a cluster's allocations when nodes leave or come, jobs are scaled or stopped, or settings change.
//!
//! - [`change`]: the changes, and how they are written. [`find`]: the nodes and jobs they name.
//! - `edit`: changes written into a state, and the evaluations they cause (`docs/spec/server.md §10`).
//! - `cascade`: evaluations processed in order of priority on the evolving state, until nothing happens any more.
//!   `drain`: whose turn it is on draining nodes. `waiting`: jobs that wait for room.
//! - [`outcome`]: where every allocation went. [`headroom`]: what is left on ready nodes.

mod cascade;
pub mod change;
mod drain;
mod edit;
pub mod find;
pub mod headroom;
pub mod outcome;
#[cfg(test)]
mod tests;
pub(super) mod waiting;

pub(super) use cascade::Known;
pub use change::{Change, ChangeError};
pub(super) use edit::JobKey;
pub use outcome::{Cause, Displaced, Fate, Outcome, Owner, Placed, Unplaced};

use cascade::Cascade;
use encamp_state::State;

/// The state after the changes and all that follows from them, and what that was.
#[derive(Debug, Clone)]
pub struct WhatIf {
    /// The cluster in the end.
    pub state: State,
    /// What happened on the way.
    pub outcome: Outcome,
}

/// Carries changes out at `now` (Unix nanoseconds) and follows what happens until it ends. Job names without a
/// namespace are looked for in `namespace`.
pub fn what_if(before: &State, changes: &[Change], namespace: &str, now: i64) -> Result<WhatIf, ChangeError> {
    let edited = edit::edit(before, changes, namespace, now)?;
    let descriptions = edited.descriptions.clone();
    let mut notes = edited.notes.clone();
    let (draining, down) = (edited.draining.clone(), edited.down.clone());
    let cascade = Cascade::run(before, edited, &Known::default(), now);
    notes.extend(cascade.notes());
    let headroom = headroom::headroom(before, cascade.state());
    let outcome = outcome::outcome(before, &cascade, (&draining, &down), descriptions, notes);
    Ok(WhatIf { state: cascade.into_state(), outcome: Outcome { headroom, ..outcome } })
}

/// The state after a loss and all that follows from it, and how many allocations are unplaced because of it: the
/// same as [`what_if`] gives, in less time. What is settled keeps its lost allocations as they were.
pub(super) fn lose(
    before: &State,
    lost: &change::Nodes,
    known: &Known,
    now: i64,
) -> Result<(State, usize), ChangeError> {
    let edited = edit::edit(before, &[Change::Down(lost.clone())], "", now)?;
    let (draining, down) = (edited.draining.clone(), edited.down.clone());
    let cascade = Cascade::run(before, edited, known, now);
    let outcome = outcome::outcome(before, &cascade, (&draining, &down), Vec::new(), Vec::new());
    Ok((cascade.into_state(), outcome.count(None, Fate::Unplaced)))
}
