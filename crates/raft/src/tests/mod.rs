//! Tests of consensus as a whole.

mod alone;
mod forged;
mod sending;
mod snapshots;
mod suite;
pub(crate) mod support;
mod throughput;
mod voters;
