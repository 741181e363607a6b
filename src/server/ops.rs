//! The operations of the replicated log (`spec/server.md §18`).

use serde::{Deserialize, Serialize};

/// One entry of the replicated log: an operation with its request.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Operation {
    /// Changes nothing: proves that all earlier entries are applied.
    Barrier,
}

/// What applying an operation gives its caller.
#[derive(Debug, Clone)]
pub enum Reply {
    /// Done.
    Done,
    /// Refused; nothing was changed.
    Refused(String),
}
