//! Launches of periodic jobs to come (`docs/spec/server.md §14`).
//!
//! - [`child`](mod@child): which jobs are launched, and the jobs that launches register.
//! - [`schedule`]: launch times, and what changes of the clock do to them.
//! - [`run_time`]: how long runs take.
//! - [`forecast`](mod@forecast): the next launches of one job.
//! - [`calendar`](mod@calendar): the launches of a whole cluster, placed by the scheduler one after the other.
//!   `cluster`: the cluster that goes on meanwhile. [`load`]: what is launched in each hour, and what is free.

pub mod calendar;
mod child;
mod cluster;
pub mod forecast;
pub mod load;
pub mod run_time;
pub mod schedule;

pub use calendar::{Calendar, Launched, Outcome, Period, calendar};
pub use child::{child, child_id, is_active, is_child, launch_time};
pub use cluster::Unplaced;
pub use forecast::{Extent, Forecast, Launch, Overlap, forecast};
pub use load::Hour;
pub use run_time::{Basis, BasisKind, PastRuns, RunTime, Running, Runs};
pub use schedule::{Gap, Repeat, Schedule};
