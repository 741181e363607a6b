//! The JSON of the API (`docs/spec/http-api.md §2`).
//!
//! - [`output`]: writes objects: keys of structures in order, numbers in free-form values as floats.
//! - [`input`]: parses bodies: keys in any case, only the first value of the body.

pub mod input;
pub mod output;

pub use input::{JsonError, decode, duration_or_text, holds_more_than};
pub use output::{indent, to_bytes};
