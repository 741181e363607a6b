//! What pages are made of.
//!
//! - [`time`]: moments and durations. [`state`]: statuses with a colour and a word. [`table`]: lists with columns, pages
//!   and filters. [`form`]: forms of actions. [`meter`]: shares of resources. [`link`]: addresses of objects.
//! - [`usage`]: what is used of each node. [`topology`]: a picture of the nodes.
//! - [`diagnostic`]: errors of job files. [`command`]: commands that answer questions.
//! - [`listing`]: one page of a list of the API. [`why`]: why allocations are not placed. [`diff`]: changes of a job.

pub(crate) mod command;
pub(crate) mod diagnostic;
pub(crate) mod diff;
pub(crate) mod form;
pub(crate) mod link;
pub(crate) mod listing;
pub(crate) mod meter;
pub(crate) mod state;
pub(crate) mod table;
pub(crate) mod time;
pub(crate) mod topology;
pub(crate) mod usage;
pub(crate) mod why;

/// A number of things: `1 node`, `2 nodes`.
pub(crate) fn plural(count: impl std::fmt::Display, one: &str) -> String {
    let count = count.to_string();
    let s = if count == "1" { "" } else { "s" };
    format!("{count} {one}{s}")
}
