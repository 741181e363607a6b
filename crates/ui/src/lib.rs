//! The web UI: pages that the agent renders, over the HTTP API of a cluster.
//!
//! [`router`] gives the service of all paths below `/ui/` for a [`Cluster`]: the agent that serves the pages, a running
//! cluster that another program serves, or a snapshot file. A page reads with the token of the person who looks at it,
//! and changes things through the API alone, so that the rights of the API hold.
//!
//! A module uses only those before it:
//!
//! 1. `security`: headers of all responses. [`appearance`]: what the operator of an agent chooses about them.
//! 2. [`cluster`]: what answers API requests and runs commands. [`command`]: commands as subprocesses. `session`:
//!    cookies, tokens of sessions and forms. `assets`: style sheet, scripts.
//! 3. `visit`: one request of a browser: its token, parameters and form; API calls. `error`: why there is no page. `files`:
//!    files of commands.
//! 4. `parts`: tables, states, times, forms. `layout`: the document around a page.
//! 5. `pages`: the pages, by area, with the actions of their forms. `live`: events and streams for open pages.
//! 6. `routes`: which path leads to which page.
//!
//! Pages work without scripts; with them, an open page follows the cluster, and lists and graphs need fewer clicks.
//!
//! **May use** `encamp_model`. **Never** holds rules: what servers accept and how jobs are placed.

#![warn(missing_docs)]

pub mod appearance;
mod assets;
pub mod cluster;
pub mod command;
mod error;
mod files;
mod layout;
mod live;
mod pages;
mod parts;
mod rights;
mod routes;
mod security;
mod session;
#[cfg(test)]
mod tests;
mod visit;

pub use appearance::Appearance;
pub use cluster::{Cluster, CommandOutput, NoCommand, Source, Unreachable};
pub use parts::topology::Condition;
pub use parts::usage::{AllocationRow, Amount, LIVE, NodeRow};
pub use routes::{paths_of_pages, router};
pub use session::Entrance;
