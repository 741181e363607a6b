//! Tests of consensus as a whole.

mod alone;
mod forged;
mod sending;
mod snapshots;
mod suite;
pub mod support;
mod throughput;
mod voters;
