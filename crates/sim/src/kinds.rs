//! The kinds of jobs of a synthetic cluster: job files of this crate, and where and how often such jobs run.

use super::cluster::JobError;
use super::nodes::class::*;
use encamp_jobspec::parse::{ParseOptions, parse};
use encamp_model::api;

/// One kind of jobs.
#[derive(Debug)]
pub struct Kind {
    /// The suffix of the IDs of such jobs.
    pub name: &'static str,
    /// A job of this kind.
    pub text: &'static str,
    /// The node classes such jobs can run on; positions in [`super::nodes::SHAPES`].
    pub classes: &'static [usize],
    /// How often such a job is drawn, compared with others of its pool.
    pub weight: u64,
    /// Largest count of a group.
    pub most: u64,
}

/// Jobs with a count, one list for each node pool.
pub const POOLS: [&[Kind]; 4] = [
    &[
        kind("web", include_str!("jobs/web.hcl"), DEFAULT, 30, 10_000),
        kind("api", include_str!("jobs/api.hcl"), DEFAULT, 26, 10_000),
        kind("worker", include_str!("jobs/worker.hcl"), DEFAULT, 16, 10_000),
        kind("etl", include_str!("jobs/etl.hcl"), DEFAULT, 10, 10_000),
        kind("shop", include_str!("jobs/shop.hcl"), DEFAULT, 8, 200),
        kind("cache", include_str!("jobs/cache.hcl"), &[MEMORY], 8, 40),
        kind("queue", include_str!("jobs/queue.hcl"), &[STORAGE], 5, 12),
        kind("db", include_str!("jobs/database.hcl"), &[STORAGE], 3, 3),
        kind("gateway", include_str!("jobs/gateway.hcl"), &[GENERAL], 2, 12),
    ],
    &[
        kind("solver", include_str!("jobs/solver.hcl"), &[COMPUTE], 40, 10_000),
        kind("pipeline", include_str!("jobs/pipeline.hcl"), &[COMPUTE], 40, 10_000),
        kind("render", include_str!("jobs/render.hcl"), &[COMPUTE], 15, 16),
    ],
    &[
        kind("notebook", include_str!("jobs/notebook.hcl"), &[GPU_LARGE, GPU_SMALL], 50, 10_000),
        kind("infer", include_str!("jobs/infer.hcl"), &[GPU_SMALL], 25, 8),
        kind("train", include_str!("jobs/train.hcl"), &[GPU_LARGE], 25, 8),
    ],
    &[kind("edge", include_str!("jobs/edge.hcl"), &[EDGE], 10, 10_000)],
];

const DEFAULT: &[usize] = &[GENERAL, MEMORY, STORAGE];

/// Jobs that run once on every node of their classes.
pub(crate) const SYSTEM: [Kind; 5] = [
    kind(
        "node-exporter",
        include_str!("jobs/exporter.hcl"),
        &[GENERAL, MEMORY, STORAGE, COMPUTE, GPU_LARGE, GPU_SMALL, EDGE],
        1,
        1,
    ),
    kind("gpu-monitor", include_str!("jobs/gpu-monitor.hcl"), &[GPU_LARGE, GPU_SMALL], 1, 1),
    kind("log-shipper", include_str!("jobs/shipper.hcl"), DEFAULT, 1, 1),
    kind("disk-scrub", include_str!("jobs/scrub.hcl"), &[STORAGE], 1, 1),
    kind("image-prune", include_str!("jobs/prune.hcl"), &[COMPUTE], 1, 1),
];

/// Jobs that have no allocations of their own.
pub const TEMPLATES: [Kind; 2] = [
    kind("report", include_str!("jobs/report.hcl"), DEFAULT, 1, 1),
    kind("convert", include_str!("jobs/convert.hcl"), DEFAULT, 1, 1),
];

const fn kind(name: &'static str, text: &'static str, classes: &'static [usize], weight: u64, most: u64) -> Kind {
    Kind { name, text, classes, weight, most }
}

impl Kind {
    /// The job, as a client would send it.
    ///
    /// # Errors
    /// [`JobError::Parse`].
    pub fn parse(&self) -> Result<api::Job, JobError> {
        let options = ParseOptions { path: format!("{}.hcl", self.name), ..Default::default() };
        parse(self.text.as_bytes(), &options).map_err(|e| JobError::Parse(e.to_string()))
    }
}
