//! Reports as one HTML file without scripts and without references to other files (`docs/spec/cli.md §21`).
//!
//! - [`page`]: the document around a report: head, verdict, facts, contents, sections.
//! - [`parts`]: values, tables and lists. [`diff`]: job diffs.
//! - [`heat`]: the usage of nodes before and after. [`map`]: the same as SVG and tables.
//! - [`plan`], [`what_if`], [`rebalance`]: the reports of `job plan`, `what-if` and `rebalance`.
//!
//! `maud` escapes every value. Lists and values are cut off at a fixed length, so that the size of a file is bounded, and
//! the report says what is left out.

mod diff;
pub mod heat;
mod map;
mod page;
mod parts;
pub mod plan;
pub mod rebalance;
pub mod what_if;

pub use page::Origin;
