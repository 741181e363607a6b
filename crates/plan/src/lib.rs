//! Planning a job against a cluster's state without touching the cluster: what `job plan` runs and what a server's plan
//! endpoint answers.
//!
//! - [`mod@dry_run`]: the scheduler on a private copy of the state (`docs/spec/reconciliation.md §10.2`).
//! - [`mod@compare`]: where two plans disagree.
//! - [`mod@explain`]: why allocations go where they go.
//! - [`past`]: evaluations of the past, from what they recorded.
//! - [`job`]: from a client's job to the plan response: defaults, admission, dry run, annotated diff.
//! - [`what_if`]: where allocations go when nodes leave or come, jobs are scaled or stopped, settings change.
//! - [`mod@capacity`]: how many more copies of a group fit. [`mod@survival`]: how many after the worst loss; `demand`:
//!   what jobs place at most after a loss.
//! - [`settings`]: the scheduler configuration by name.
//! - [`mod@evaluate`]: one evaluation without a server. [`mod@apply`]: a plan carried out.
//!
//! **May use** `encamp_jobspec`, `encamp_model`, `encamp_scheduler`, `encamp_state`. **Never** holds I/O, clocks.

#![warn(missing_docs)]

pub mod apply;
pub mod capacity;
pub mod compare;
mod demand;
pub mod dry_run;
pub mod evaluate;
pub mod explain;
pub mod job;
pub mod past;
pub mod settings;
pub mod survival;
pub mod what_if;

pub use dry_run::{DryRun, dry_run};
pub use job::{JobPlan, PlanError, assumed_settings, plan_job, server_context};
