//! A server under load that is killed again and again (`docs/reliability.md`).
//!
//! - [`ledger`]: what was written, and what must hold afterwards. [`writers`]: who writes. `checks`: what is looked at.

pub mod checks;
pub mod ledger;
pub mod writers;
