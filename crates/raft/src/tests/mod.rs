//! Tests of consensus as a whole.

mod alone;
mod sending;
mod snapshots;
mod suite;
pub mod support;
mod throughput;
mod voters;
