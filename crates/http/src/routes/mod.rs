//! The table of all routes, and the way of a request to the handler of its route.
//!
//! [`entry`] receives every request, [`audit`] records it, [`dispatch`] finds its route ([`find`], in the [`table`])
//! and calls the handler; [`web_ui`] comes before the table. [`read_only`] refuses writes. The rows of the table are in
//! one file for each area; [`row`] and [`rights`] are what they are written with.

mod acl;
mod allocations;
mod audit;
mod cors;
mod deployments;
pub(crate) mod dispatch;
pub(crate) mod entry;
mod evaluations;
pub(crate) mod find;
mod jobs;
pub mod metric;
mod namespaces;
mod node_agent;
mod nodes;
mod operator;
mod outside_api;
pub mod read_only;
mod rights;
pub(crate) mod route;
mod row;
mod scaling;
mod search;
mod services;
mod status_and_agent;
pub(crate) mod table;
mod variables;
mod volumes;
mod web_ui;
mod while_authorized;
