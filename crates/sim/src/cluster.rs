//! A synthetic cluster with a given number of nodes and allocations.

use std::sync::Arc;

use super::allocs::{Fate, JobFacts, NodeFacts, Placement, allocation};
use super::build::Builder;
use super::summary::Summary;
use encamp_jobspec::admission::AdmissionError;
use encamp_model::Allocation;
use encamp_snapshot::file::SnapshotFile;

/// 2026-03-01T00:00:00Z: the default time of a synthetic cluster.
pub const EPOCH: i64 = 1_772_323_200_000_000_000;
/// The size of the largest cluster that can be generated.
pub const MOST_NODES: usize = 100_000;
/// The most allocations that are made.
pub const MOST_ALLOCS: usize = 10_000_000;

/// The specification of the cluster.
#[derive(Debug, Clone)]
pub struct ClusterOptions {
    /// Number of nodes.
    pub nodes: usize,
    /// Number of allocations, terminal ones included.
    pub allocs: usize,
    /// The random seed.
    pub seed: u64,
    /// When the snapshot was taken, Unix nanoseconds; all other times lie around it.
    pub now: i64,
}

/// Why a job of the generator is not valid.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum JobError {
    /// Its job file cannot be read: the diagnostics.
    #[error("{0}")]
    Parse(String),
    /// It cannot be converted to the form that servers store: the reason.
    #[error("{0}")]
    Convert(String),
    /// Admission refuses it.
    #[error(transparent)]
    Admission(#[from] AdmissionError),
}

/// Why a cluster can't be made.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SimError {
    /// A number is out of range.
    #[error("{what} must be between {least} and {most}, not {given}")]
    Range {
        /// The subject of the number.
        what: &'static str,
        /// The least it can be.
        least: usize,
        /// The most it can be.
        most: usize,
        /// The requested number.
        given: usize,
    },
    /// The nodes are full.
    #[error(
        "{nodes} nodes have capacity for about {fit} of {allocs} allocations; request fewer allocations, \
         or about {enough} nodes"
    )]
    NoRoom {
        /// Number of nodes.
        nodes: usize,
        /// Number of allocations asked for.
        allocs: usize,
        /// Number of allocations that were placed.
        fit: usize,
        /// Number of nodes that should do.
        enough: usize,
    },
    /// A job of the generator is refused by admission.
    #[error("a job of the generator is not valid: {0}")]
    Job(#[from] JobError),
}

/// A synthetic cluster. The allocations are generated on demand: a million of them take gigabytes.
#[derive(Debug)]
pub struct Cluster {
    /// Everything but the allocations.
    pub file: SnapshotFile,
    /// Its content.
    pub summary: Summary,
    pub(super) options: ClusterOptions,
    pub(super) placements: Vec<Placement>,
    pub(super) jobs: Vec<JobFacts>,
    pub(super) nodes: Vec<NodeFacts>,
}

impl Cluster {
    /// The allocations, one by one.
    pub fn allocations(&self) -> impl Iterator<Item = Allocation> + '_ {
        (0..).zip(&self.placements).filter_map(|(position, placed)| self.allocation(position, placed))
    }

    fn allocation(&self, position: u32, placed: &Placement) -> Option<Allocation> {
        let job = usize::try_from(placed.job).ok()?;
        let job = (self.file.jobs.get(job)?, self.jobs.get(job)?);
        let at = usize::try_from(placed.node).ok()?;
        let node = (self.file.nodes.get(at)?, self.nodes.get(at)?);
        let before = placed.other.and_then(|o| self.placements.get(usize::try_from(o).ok()?));
        let failed = before.filter(|before| before.fate == Fate::Failed);
        let failed = failed.and_then(|before| self.file.nodes.get(usize::try_from(before.node).ok()?));
        let fixed = (self.options.seed, self.options.now);
        allocation(fixed, position, placed, job, node, failed)
    }

    /// The whole snapshot in memory.
    pub fn into_file(mut self) -> SnapshotFile {
        self.file.allocations = self.allocations().map(Arc::new).collect();
        self.file
    }
}

/// Makes a cluster.
pub fn cluster(options: &ClusterOptions) -> Result<Cluster, SimError> {
    for (what, given, least, most) in [
        ("the number of nodes", options.nodes, 1, MOST_NODES),
        ("the number of allocations", options.allocs, 0, MOST_ALLOCS),
    ] {
        if !(least..=most).contains(&given) {
            return Err(SimError::Range { what, least, most, given });
        }
    }
    let mut builder = Builder::new(options);
    builder.system_jobs()?;
    builder.idle_jobs()?;
    builder.counted_jobs()?;
    if builder.placed() < options.allocs {
        let fit = builder.room();
        // More than in proportion: few nodes may happen to be large ones.
        let enough = options.nodes.saturating_mul(options.allocs) / fit.max(1);
        let spare = if options.nodes < 100 { enough } else { enough / 5 };
        let enough = enough.saturating_add(spare).saturating_add(1);
        return Err(SimError::NoRoom { nodes: options.nodes, allocs: options.allocs, fit, enough });
    }
    Ok(builder.finish())
}
