//! Tests of the pages over a cluster of canned answers.

mod allocations;
mod assets;
mod clients;
pub(crate) mod cluster;
mod deployments;
mod evaluations;
mod frame;
mod hostile;
mod jobs;
mod oidc;
mod overview;
mod plan;
mod questions;
mod rights;
mod sample;
mod sample_cluster;
mod search;
mod topology;
mod variables;
