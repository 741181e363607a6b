//! Servers under load, and what must hold when things went wrong (`docs/reliability.md`). Each test uses a part of it.
//!
//! - [`ledger`]: what was written, and what must hold afterwards. [`writers`]: who writes. [`checks`]: what is looked at.
//! - [`view`]: how it is read. [`kept`]: what a failure leaves to look at.

#![allow(dead_code)]

pub mod checks;
pub mod kept;
pub mod ledger;
pub mod view;
pub mod writers;
