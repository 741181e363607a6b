//! Tests of consensus.

mod alone;
mod forged;
mod sending;
mod snapshots;
mod suite;
pub(crate) mod support;
mod throughput;
pub(crate) mod voters;
