//! What the fuzzers of job files share: the seeded one in `tests/oracle_tests/fuzz_jobspec.rs`, the coverage-guided
//! ones in `fuzz/`, and the hostile files of `tests/hostile_jobs.rs`.
//!
//! Each user takes a part of it.
#![allow(dead_code)]

pub mod hostile;
pub mod meter;
pub mod mutate;
pub mod pipeline;
pub mod seeds;
