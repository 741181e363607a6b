//! Tests of the pages over a cluster of canned answers.

mod assets;
pub(crate) mod cluster;
mod frame;
