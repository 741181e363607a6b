//! Commands about namespaces (`docs/spec/cli.md §12.1`).
//!
//! [`show`]: listing and looking into them. [`change`]: writing and deleting them.

pub mod change;
pub mod show;
