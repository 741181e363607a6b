//! The table of all routes.

pub mod metric;
pub mod route;
pub mod table;
