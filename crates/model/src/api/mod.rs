//! Jobs as clients send them: nullable values, lists and maps that may be null or empty, and unknown members retained.

pub mod job;
pub mod service;

pub use job::*;
pub use service::*;
