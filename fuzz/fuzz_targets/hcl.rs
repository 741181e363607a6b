//! Job files in HCL, from the text to what is printed.
#![no_main]

#[path = "../../tests/fuzz_support/meter.rs"]
#[allow(dead_code)]
mod meter;
#[path = "../../tests/fuzz_support/pipeline.rs"]
#[allow(dead_code)]
mod pipeline;

#[global_allocator]
static ALLOCATOR: meter::Counting<std::alloc::System> = meter::Counting(std::alloc::System);

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let cost = meter::measure(|| drop(pipeline::hcl(data)));
    if let Some(excess) = cost.excess() {
        panic!("the input {excess}");
    }
});
