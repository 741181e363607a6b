//! The HTTP interface of an agent (`docs/spec/http-api.md`).
//!
//! [`router`] gives the service for an [`AppState`]. One [table](routes::table) says for each path and method which
//! handler answers, what permission the caller needs, what the audit log names, and what the request is counted as. A
//! handler is an `async fn(Request) -> Outcome` in the module of its area; `docs/dev/add-an-http-route.md` shows how to
//! add one. Nothing here decides about jobs, nodes or plans: the rules of writes are in [`encamp_server::endpoints`].
//!
//! A module uses only those before it:
//!
//! 1. [`error`] with `read_meta`: errors, and what a read tells about the state.
//! 2. [`serve`]: connections. `identity_providers`: logins with identities of other systems.
//! 3. [`agent`]: the state that handlers share, and what they use of the agent, its node and other servers.
//! 4. [`access`]: permissions, and what the audit log records.
//! 5. [`request`]: a request and its response; the agents to which requests are forwarded.
//! 6. [`api`]: the handlers, by area.
//! 7. [`routes`]: the table, and the way of a request to its handler.
//! 8. [`task_api`]: the same interface on the sockets of tasks.
//!
//! **May use** `encamp_acl`, `encamp_audit`, `encamp_autoscale`, `encamp_client`, `encamp_host`, `encamp_jobspec`,
//! `encamp_model`, `encamp_ops`, `encamp_raft`, `encamp_server`, `encamp_state`, `encamp_telemetry`. **Never** holds
//! rules of writes.

#![warn(missing_docs)]

pub mod access;
pub mod agent;
pub mod api;
pub mod error;
mod identity_providers;
pub(crate) mod read_meta;
pub mod request;
pub mod routes;
pub mod serve;
pub mod task_api;
#[cfg(test)]
mod tests;

pub use agent::state::AppState;
pub use routes::entry::{respond, router};
pub use routes::read_only::respond_read_only;
