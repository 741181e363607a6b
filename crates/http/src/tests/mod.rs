//! Tests of the whole interface, on a server without a network.

mod access_matrix;
mod acl;
mod acl_enforcement;
mod advisories;
mod audit;
mod jobs;
mod json_shapes;
mod recorded_exchanges;
mod requests;
mod secrets;
pub(crate) mod server;
mod web_ui;
