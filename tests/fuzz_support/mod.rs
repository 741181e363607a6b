//! What the fuzzers of job files share: the seeded one in `tests/oracle_tests/fuzz_jobspec.rs` and the coverage-guided
//! ones in `fuzz/`.
//!
//! Each user takes a part of it.
#![allow(dead_code)]

pub mod mutate;
pub mod pipeline;
pub mod seeds;
