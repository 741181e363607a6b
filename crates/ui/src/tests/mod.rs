//! Tests of the pages over a cluster of canned answers.

mod allocations;
mod assets;
pub(crate) mod cluster;
mod deployments;
mod evaluations;
mod frame;
mod hostile;
mod jobs;
mod overview;
mod sample;
mod search;
mod topology;
