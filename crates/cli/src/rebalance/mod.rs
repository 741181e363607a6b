//! `rebalance`: moves that bring a cluster closer to a goal (`docs/spec/cli.md §23`).
//!
//! [`command`]: the search. [`request`]: the question as flags. [`mod@file`]: plan files. [`show`]: prints one. [`run`]:
//! carries one out on a running cluster.

pub mod command;
pub mod file;
pub mod request;
pub mod run;
pub mod show;

use encamp_plan::rebalance::{RebalancePlan, follow};
use encamp_state::State;

/// The state that a plan leads to, as far as its steps can be simulated.
pub(super) fn state_after(before: &State, plan: &RebalancePlan, now: i64) -> State {
    let mut state = before.clone();
    for step in &plan.steps {
        match follow(&state, step, now) {
            Ok(followed) => state = followed.state,
            Err(_) => break,
        }
    }
    state
}
