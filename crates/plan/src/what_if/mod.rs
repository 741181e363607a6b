//! Computes what happens to a cluster's allocations when nodes leave or join, jobs are scaled or stopped, or settings
//! change.
//!
//! - [`change`]: the changes and their syntax. [`find`]: the nodes and jobs they name.
//! - `edit`: applies changes to a state and creates the evaluations they trigger (`docs/spec/server.md §10`).
//! - `cascade`: processes evaluations in order of priority on the evolving state, until there are none left.
//!   `drain`: the next allocations to migrate from draining nodes. `waiting`: jobs that wait for capacity. `futile`:
//!   evaluations that need not be made again.
//! - [`timeline`]: several what-ifs one after the other. [`copy_of`]: a copy of a node.
//! - [`outcome`]: what happened to every allocation. [`headroom`]: the free capacity of ready nodes.

mod cascade;
pub mod change;
mod drain;
mod edit;
pub mod find;
mod futile;
pub mod headroom;
pub mod outcome;
#[cfg(test)]
mod tests;
pub mod timeline;
pub(super) mod waiting;

pub(crate) use cascade::{Cascade, Known, Quiet};
pub use change::{Change, ChangeError, ChangeProblem};
pub use edit::copy_of;
pub(crate) use edit::{Edited, JobKey, Trigger, Triggers, targets};
pub use outcome::{Cause, Displaced, Fate, Outcome, Owner, Placed, Unplaced};
pub use timeline::Timeline;
pub use waiting::missing;

use std::collections::BTreeSet;
use std::sync::Arc;

use change::Nodes;
use encamp_model::Node;
use encamp_state::{Id, State};

/// The state after the changes and all that follows from them, and what that was.
#[derive(Debug, Clone)]
pub struct WhatIf {
    /// The cluster in the end.
    pub state: State,
    /// Notes on the simulation.
    pub outcome: Outcome,
}

/// Carries changes out at `now` (Unix nanoseconds) and follows what happens until it ends. Job names without a
/// namespace are looked for in `namespace`.
pub fn what_if(before: &State, changes: &[Change], namespace: &str, now: i64) -> Result<WhatIf, ChangeError> {
    let WhatIf { state, outcome } = followed(before, edit::edit(before, changes, namespace, now)?, now);
    let headroom = headroom::pools(before, &state, &outcome);
    let datacenters = headroom::datacenters(before, &state, &outcome);
    Ok(WhatIf { state, outcome: Outcome { headroom, datacenters, ..outcome } })
}

/// Drains nodes, given by their full IDs, to the end. Free capacity before and after is not reported.
///
/// # Errors
/// No node has such an ID, or it is down.
pub(super) fn drain_all(before: &State, ids: &[String], now: i64) -> Result<WhatIf, ChangeError> {
    let changes: Vec<Change> = ids.iter().map(|id| Change::Drain(Nodes::One(id.clone()))).collect();
    Ok(followed(before, edit::edit(before, &changes, "", now)?, now))
}

/// Follows what happens after changes until it ends. Free capacity before and after is not reported.
fn followed(before: &State, mut edited: edit::Edited, now: i64) -> WhatIf {
    let (draining, down) = (edited.draining.clone(), edited.down.clone());
    let (descriptions, mut notes) = (std::mem::take(&mut edited.descriptions), std::mem::take(&mut edited.notes));
    let cascade = Cascade::run(before, edited, &Known::default(), now);
    notes.extend(cascade.notes());
    let outcome = outcome::outcome(before, &cascade, (&draining, &down), descriptions, notes);
    WhatIf { state: cascade.into_state(), outcome }
}

/// The effects of the drain of a node, to its end, where allocations of system jobs stay: the same as [`what_if`] gives
/// for the others, in less time. The node is given by its full ID. Free capacity before and after is not reported.
///
/// # Errors
/// No node has this ID, or it is down.
pub fn drain(before: &State, node_id: &str, now: i64) -> Result<Outcome, ChangeError> {
    Ok(followed(before, drained(before, node_id, now)?, now).outcome)
}

/// A state in which a node drains, but for its allocations of system jobs.
fn drained(before: &State, node_id: &str, now: i64) -> Result<edit::Edited, ChangeError> {
    let change = Change::Drain(Nodes::One(node_id.to_string()));
    if before.node(node_id).is_none() {
        return Err(ChangeError { flag: "drain", value: node_id.into(), problem: ChangeProblem::NoNode });
    }
    let mut edited = edit::edit(before, &[change], "", now)?;
    if let Some(entry) = edited.state.node(node_id) {
        let mut node = Node::clone(&entry.node);
        node.drain_strategy.get_or_insert_default().ignore_system_jobs = true;
        edited.state.replace_node_record(Arc::new(node));
    }
    Ok(edited)
}

/// The result of a loss.
pub(super) struct Lost {
    /// The state in the end.
    pub state: State,
    /// Lost allocations that are unplaced.
    pub unplaced: usize,
    /// Slots of the nodes that were lost or on which an allocation was written.
    pub changed: BTreeSet<u32>,
    /// It was asked to end ([`Known::limits`]): the state is one on the way.
    pub cut: Option<Cut>,
}

/// How far a loss was followed.
#[derive(Debug, Clone, Default)]
pub(super) struct Cut {
    /// Jobs that have replaced all they lost.
    pub whole: BTreeSet<JobKey>,
    /// Jobs that have replaced what they can, as long as no node gains room.
    pub finished: BTreeSet<JobKey>,
}

/// The state after a loss and all that follows from it: the same as [`what_if`] gives, in less time. Deployments of
/// jobs that are known to be quiet stay as they were. `known` gives what is known beforehand for the nodes that go
/// down.
pub(super) fn lose(
    before: &State,
    lost: &change::Nodes,
    known: impl FnOnce(&BTreeSet<String>) -> Known,
    now: i64,
) -> Result<Lost, ChangeError> {
    let edited = edit::edit(before, &[Change::Down(lost.clone())], "", now)?;
    let down = edited.down.clone();
    let known = known(&down);
    if known.limits.stop.now() {
        let cut = Some(Cut::default());
        return Ok(Lost { state: before.clone(), unplaced: 0, changed: BTreeSet::new(), cut });
    }
    let mut cascade = Cascade::run(before, edited.clone(), &known, now);
    if cascade.misled && !cascade.cut {
        let known = Known { quiet: Arc::default(), ..known };
        cascade = Cascade::run(before, edited, &known, now);
    }
    let unplaced = if cascade.cut {
        0
    } else {
        let outcome = outcome::outcome(before, &cascade, (&BTreeSet::new(), &down), Vec::new(), Vec::new());
        outcome.count(None, Fate::Unplaced)
    };
    let of = |state: &State, id: &Id| state.alloc_at(id).and_then(|e| Some(state.node(&e.alloc.node_id)?.slot));
    let mut changed: BTreeSet<u32> = down.iter().filter_map(|id| Some(before.node(id)?.slot)).collect();
    for id in &cascade.touched {
        changed.extend([before, cascade.state()].into_iter().filter_map(|state| of(state, id)));
    }
    let cut = cascade.cut.then(|| Cut { whole: cascade.whole.clone(), finished: cascade.finished.clone() });
    Ok(Lost { state: cascade.into_state(), unplaced, changed, cut })
}
