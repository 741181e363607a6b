//! Values of variables, from the text to what is printed.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| encamp_fuzz::check(encamp_fuzz::pipeline::variables, data));
