//! JSON as the API speaks it (`docs/spec/http-api.md §2`).
//!
//! - [`output`]: objects as text: keys of structures in order, numbers in free-form values as floats, secrets left out.
//! - [`input`]: bodies as values: keys in any case, only the first value of the body.

pub mod input;
pub mod output;

pub use input::{JsonError, decode, duration_or_text, holds_more_than};
pub use output::{indent, to_bytes};
