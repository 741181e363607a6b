//! The two tiers of tests (`docs/dev/tests.md`): `cargo test` proves a change, `cargo xtask test all` runs everything.
//!
//! Tests that take long by nature are ignored by the first tier, or run fewer rounds in it.

use std::str::FromStr;

/// The variable that the second tier sets.
const VARIABLE: &str = "ENCAMP_TESTS";

/// Whether all tests run, with all rounds.
pub fn is_full() -> bool {
    std::env::var(VARIABLE).is_ok_and(|tier| tier == "all")
}

/// The number of rounds of a test: what the variable says, or that of the tier.
///
/// # Panics
///
/// If the variable is set to something else than a number.
pub fn rounds<N: FromStr>(variable: &str, change: N, full: N) -> N {
    match std::env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable}: {text:?} is not a number")),
        Err(_) if is_full() => full,
        Err(_) => change,
    }
}
