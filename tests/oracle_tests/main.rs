//! What this program does beside what the servers, schedulers and commands that it is compatible with were recorded to do: one
//! test or more for each family of `tests/oracle`. `cargo test --test oracle scheduler` runs those of one family; each prints
//! `<family> oracle: <equal>/<all> equal` with `-- --nocapture`.
//!
//! `ENCAMP_ORACLE=DIR` compares with another directory of the same form (`tests/oracle/README.md`).

#[path = "../support/agent.rs"]
mod agent;
#[path = "../archive_support/http.rs"]
mod answers;
#[path = "../support/oracle.rs"]
mod oracle;
#[path = "../oracle_support/mod.rs"]
mod oracle_support;
#[path = "../support/program.rs"]
mod program;
#[path = "../support/server.rs"]
mod server;

mod archive;
mod canonical;
mod cli;
mod diff;
mod http;
mod jobspec;
mod jobspec_differences;
mod scheduler;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Held by tests that use all processors, and by tests that measure time: they run one after the other.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
