//! Snapshots of running clusters, read over the HTTP API.
//!
//! - [`fetch`]: reads everything that scheduling reads, object by object, until nothing changed while it was read.
//! - [`collected`]: objects of this fetch and of an earlier one. [`cache`]: stores them between runs.
//! - `settings`: the servers' configuration, as reported by an agent.
//! - [`Progress`]: receives progress reports.
//!
//! Lists contain the ID and ModifyIndex of every object, so only objects that changed since the last fetch are read in
//! full. A fetch that could not read everything fails, unless partial data is allowed; then [`Report::missing`] lists
//! the missing parts.

pub mod cache;
mod collected;
mod read;
mod settings;

use std::fmt::Write as _;

pub use collected::Collected;
pub use read::fetch;

use super::file::SnapshotFile;
use encamp_api::ApiError;

/// How much is read of allocations and jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Detail {
    /// Everything, so that any job can be planned.
    Everything,
    /// The data that planning these jobs (namespace, ID) needs: their allocations in full, of others their usage.
    Jobs(Vec<(String, String)>),
}

/// The options of a fetch.
#[derive(Debug, Clone)]
pub struct Options {
    /// How much.
    pub detail: Detail,
    /// Requests at the same time.
    pub concurrency: usize,
    /// Go on without what can't be read.
    pub allow_partial: bool,
    /// When this is, Unix nanoseconds.
    pub now: i64,
}

/// Receives the progress of a fetch.
pub trait Progress {
    /// So many objects of a kind are going to be read.
    fn begin(&self, what: &'static str, total: u64);
    /// One more was read.
    fn advance(&self);
}

/// The report of a fetch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Requests sent.
    pub requests: u64,
    /// Objects read in full in this fetch.
    pub read: u64,
    /// Objects taken over from an earlier fetch.
    pub kept: u64,
    /// Nodes of the cluster.
    pub nodes: u64,
    /// Smallest and largest index of the lists.
    pub indexes: (u64, u64),
    /// Objects that changed while the cluster was read and were read again.
    pub moved: u64,
    /// Objects that were still changing at the end.
    pub unsettled: u64,
    /// The parts that could not be read, as text.
    pub missing: Vec<String>,
}

impl Report {
    /// The consistency of the result, in one line for operators.
    pub fn summary(&self) -> String {
        let (first, last) = self.indexes;
        let mut out = format!("{} nodes, {} requests: {} objects read", self.nodes, self.requests, self.read);
        if self.kept > 0 {
            let _ = write!(out, ", {} unchanged since the last fetch", self.kept);
        }
        let _ = if first == last { write!(out, "; index {last}") } else { write!(out, "; indexes {first} to {last}") };
        if self.moved > 0 {
            let _ = write!(out, ", {} objects changed meanwhile and were read again", self.moved);
        }
        if self.unsettled > 0 {
            let _ = write!(out, ", {} were still changing at the end", self.unsettled);
        }
        out
    }
}

/// A snapshot and how it came to be.
#[derive(Debug)]
pub struct Fetched {
    /// The snapshot.
    pub file: SnapshotFile,
    /// How it was read.
    pub report: Report,
    /// The cache for the next fetch.
    pub collected: Collected,
}

/// Why a cluster could not be read.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// A request failed.
    #[error("cannot read {what}: {source}{}", advice(source, needs))]
    Api {
        /// The requested object.
        what: String,
        /// The capability that the token needs.
        needs: &'static str,
        /// How it failed.
        source: Box<ApiError>,
    },
    /// The token can't see everything.
    #[error(
        "the token may not read {what} of all namespaces, so the snapshot would lack some: use a token with read-job on \
         namespace \"*\", or -allow-partial to go on without them"
    )]
    Namespaces {
        /// The parts that the token can't read.
        what: &'static str,
    },
    /// The responses are inconsistent.
    #[error("the cluster's responses are inconsistent: {0}")]
    Content(String),
}

fn advice(e: &ApiError, needs: &str) -> String {
    match e.status() {
        Some(401 | 403) => format!("; the token needs {needs}, or use -allow-partial to go on without"),
        _ => String::new(),
    }
}
