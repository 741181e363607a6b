//! Plans a job against a cluster's state without changing the cluster: the implementation of `job plan` and of a
//! server's plan endpoint.
//!
//! - [`mod@dry_run`]: the scheduler on a private copy of the state (`docs/spec/reconciliation.md §10.2`).
//! - [`mod@compare`]: differences between two plans.
//! - [`mod@explain`]: why allocations are placed where they are.
//! - [`mod@fit`]: how well a job fits a cluster, in a few figures.
//! - [`past`]: past evaluations, from their recorded metrics.
//! - [`job`]: from a client's job to the plan response: defaults, admission, dry run, annotated diff.
//! - [`what_if`]: the effects of nodes that leave or join, jobs that are scaled or stopped, and changed settings.
//! - [`mod@capacity`]: how many more copies of a group fit. [`mod@survival`]: how many after the worst loss; `demand`:
//!   an upper bound of what jobs place after a loss. [`stop`]: ends a search early.
//! - [`launches`]: launches of periodic jobs to come, and whether they fit.
//! - [`mod@drain_plan`]: batches in which several nodes can be drained.
//! - [`rebalance`]: moves that empty nodes, make room for a job, restore spread or even out utilisation.
//! - [`mod@review`]: outcomes of plans as records, and whether a reviewed outcome is still the outcome.
//! - [`mod@tally`]: the effects of a plan in numbers.
//! - [`mod@remarks`]: settings of a valid job that have no effect.
//! - [`suggest`]: the smallest changes with which a job that does not fit is placed.
//! - [`mod@verdict`]: what registration would say about a job file.
//! - [`settings`]: the scheduler configuration by name.
//! - [`mod@evaluate`]: one evaluation without a server. [`mod@apply`]: applies a plan. `threads`: work on many items in
//!   several threads.
//!
//! **May use** `encamp_jobspec`, `encamp_model`, `encamp_scheduler`, `encamp_state`. **Never** holds I/O, clocks.

#![warn(missing_docs)]

pub mod apply;
pub mod capacity;
pub mod compare;
mod demand;
pub mod drain_plan;
pub mod dry_run;
pub mod evaluate;
pub mod explain;
pub mod fit;
pub mod job;
pub mod launches;
pub mod past;
pub mod rebalance;
pub mod remarks;
pub mod review;
pub mod settings;
pub mod stop;
pub mod suggest;
pub mod survival;
pub mod tally;
mod threads;
pub mod verdict;
pub mod what_if;

pub use dry_run::{DryRun, dry_run};
pub use job::{InTurn, JobPlan, PlanError, assumed_settings, plan_job, server_context};
