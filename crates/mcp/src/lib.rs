//! A server of the Model Context Protocol: tools with which programs read a cluster, and validate, plan, explain and
//! simulate jobs.
//!
//! A tool runs a command of encamp about the cluster, or reads the HTTP API ([`encamp_ui::Cluster`]). All of them only
//! read, unless the server was started so that reviewed plans can be registered.
//!
//! A module uses only those before it:
//!
//! 1. [`arguments`]: checked arguments of calls. [`conceal`]: secrets in texts. [`output`]: answers of bounded length.
//!    [`transport`]: messages on two streams.
//! 2. [`objects`]: what is told about objects of the API. [`tools`]: the list of tools.
//! 3. [`calls`]: what a call of a tool does. [`server`]: the protocol.
//!
//! **May use** `encamp_ui`. **Never** holds rules: what servers accept and how jobs are placed.

#![warn(missing_docs)]

pub mod arguments;
pub mod calls;
pub mod conceal;
pub mod objects;
pub mod output;
pub mod server;
pub mod tools;
pub mod transport;
