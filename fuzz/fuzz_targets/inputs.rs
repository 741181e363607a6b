//! The kinds of input of `encamp_fuzz_targets`, one of which the environment variable `ENCAMP_FUZZ_TARGET` names: they
//! share a program, because linking sixteen takes longer than running them.
#![no_main]

// The allocator that counts.
use encamp_fuzz as _;
use encamp_fuzz_targets::{TARGETS, Target, check, named};
use std::sync::LazyLock;

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("ENCAMP_FUZZ_TARGET").unwrap_or_default();
    let known = TARGETS.map(|target| target.name).join(", ");
    named(&name).unwrap_or_else(|| panic!("ENCAMP_FUZZ_TARGET={name:?} is none of {known}"))
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    check(*TARGET, data);
});
