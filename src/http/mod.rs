//! The HTTP interface of an agent (`spec/http-api.md`).

pub mod filter;
pub mod params;
