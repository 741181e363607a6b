//! What the coverage-guided fuzzers share with the seeded one in `tests/oracle_tests/fuzz_jobspec.rs`: the way an input
//! takes, and what it may cost.

#[allow(dead_code)]
#[path = "../../tests/fuzz_support/pipeline.rs"]
pub mod pipeline;

use encamp_test_support::meter;

#[global_allocator]
static ALLOCATOR: meter::Counting<std::alloc::System> = meter::Counting(std::alloc::System);

/// Takes an input all the way; panics when it panics there, takes too long or too much memory.
pub fn check(target: fn(&[u8]) -> pipeline::Reached, data: &[u8]) {
    let cost = meter::measure(|| {
        target(data);
    });
    if let Some(excess) = cost.excess() {
        panic!("the input {excess}");
    }
}
