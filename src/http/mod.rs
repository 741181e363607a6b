//! The HTTP interface of an agent (`spec/http-api.md`).

pub mod listener;
pub mod tls;
