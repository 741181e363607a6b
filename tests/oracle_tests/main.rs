//! Compares this program with the recorded behaviour of the servers, schedulers and commands that it is compatible
//! with: at least one test for each family of `tests/oracle`; and checks the rules that every plan for generated
//! clusters has to satisfy. `cargo test --test oracle scheduler` runs those of one family; each prints `<family>
//! oracle: <equal>/<all> equal` with `-- --nocapture`.
//!
//! `ENCAMP_ORACLE=DIR` compares with another directory of the same form (`tests/oracle/README.md`).

// What modules share is public in them.
#![allow(unreachable_pub)]

use encamp_test_support::{agent, answers, oracle, program, recorded, scheduler_cases, server};

#[path = "../fuzz_support/mod.rs"]
mod fuzz_support;
#[path = "../pipeline_support/mod.rs"]
mod pipeline_support;
#[path = "../property_support/mod.rs"]
mod property_support;
#[path = "../rebalance_support/mod.rs"]
mod rebalance_support;

mod archive;
mod canonical;
mod cli;
mod diff;
mod fuzz_jobspec;
mod fuzz_replay;
mod http;
mod jobspec;
mod jobspec_differences;
mod pipeline_properties;
mod plan_summary;
mod rebalance;
mod scheduler;
mod scheduler_mutations;
mod scheduler_properties;

use encamp_test_support::meter::Counting;

/// As in the program, and counted for the fuzzer of job files.
#[global_allocator]
static ALLOCATOR: Counting<mimalloc::MiMalloc> = Counting(mimalloc::MiMalloc);
