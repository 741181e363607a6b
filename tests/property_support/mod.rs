//! Random clusters against the rules that every plan has to keep, whatever the cluster (`docs/reliability.md`).
//!
//! - [`dice`]: draws. `cluster`, `jobs`: made-up nodes and jobs. `events`: what happens between evaluations.
//! - `apply`: runs an evaluation and applies its plan as the plan applier would.
//! - `capacity`, `eligible`, `preemption`: what a plan may not do; `count`: what is taken and what there is. `again`,
//!   `order`: what may not change it.
//! - `case`: one seed, one cluster, several evaluations. [`runner`]: many seeds. `tally`: what occurred.

pub mod again;
pub mod apply;
pub mod capacity;
pub mod case;
pub mod cluster;
#[allow(dead_code, reason = "not every test asks about whole nodes")]
pub mod count;
pub mod dice;
pub mod eligible;
pub mod events;
pub mod jobs;
pub mod mutants;
pub mod order;
pub mod preemption;
pub mod runner;
pub mod tally;

/// What a rule found wrong, or nothing.
pub type Verdict = Result<(), String>;

/// Whether one case is run alone, to be looked into.
pub fn replayed() -> bool {
    std::env::var_os("ENCAMP_PROPERTY_SEED").is_some()
}
