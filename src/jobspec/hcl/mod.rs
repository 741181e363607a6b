//! The HCL2 language as job files use it (`spec/jobspec.md §3, 5, 7`).

pub mod convert;
pub mod functions;
pub mod number;
pub mod types;
pub mod value;
