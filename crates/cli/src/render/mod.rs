//! How results look on a terminal.
//!
//! - [`ui`]: output channels and colours. [`markup`]: `[bold]`-style tags. [`wrap`]: text in lines.
//! - [`page`]: the width of the terminal, and the pager.
//! - [`table`], [`values`], [`json`], [`template`]: tables, single values, JSON, output by template.
//! - [`diff`], [`plan`], [`plan_summary`], [`metrics`]: job diffs, dry runs, their summary, why placements failed.
//!   [`rollout`]: the predicted steps of a deployment.
//! - [`clusters`]: one job on several clusters.
//! - [`what_if`]: where allocations go after changes. [`capacity`]: how many copies fit. [`launches`], [`calendar`]:
//!   launches to come, of a job and of a cluster.
//! - [`rebalance`]: moves, and [`rebalance_commands`]: the same as a shell script.
//! - [`allocations`], [`deployments`], [`evaluations`]: tables of what a cluster has.
//! - [`gc`]: garbage collection, planned and explained.
//! - [`html`]: reports as HTML files.
//! - [`objects`]: answers of the API as `-json` shows them.
//! - [`task_events`], [`stats`]: what happened to tasks, what is in use.
//! - [`findings`]: problems of job files.
//! - `error`: the error of results that cannot be shown.

pub mod allocations;
pub mod calendar;
pub mod capacity;
pub mod clusters;
pub mod deployments;
pub mod diff;
mod error;
pub mod evaluations;
pub mod explain;
pub mod findings;
pub mod gc;
pub mod html;
pub mod json;
pub mod launches;
pub mod markdown;
pub mod markup;
pub mod metrics;
pub mod objects;
pub mod page;
pub mod past;
pub mod plan;
pub mod plan_summary;
pub mod rebalance;
pub mod rebalance_commands;
pub mod rollout;
pub mod stats;
pub mod styled;
pub mod suggest;
pub mod table;
pub mod task_events;
pub mod template;
pub mod text_diff;
pub mod ui;
pub mod values;
pub mod what_if;
pub mod wrap;

pub use error::RenderError;
