//! Reads from a server.

use std::time::{Duration, Instant};

use serde_json::Value as Json;

use crate::agent::{PATIENCE, Reply, call};

/// A server; stale reads return its own state, others the leader's.
#[derive(Debug, Clone, Copy)]
pub struct View {
    pub port: u16,
    pub stale: bool,
}

impl View {
    pub fn of(port: u16) -> View {
        View { port, stale: false }
    }

    /// The query parameter for the consistency mode.
    pub fn query(self) -> &'static str {
        if self.stale { "?stale" } else { "" }
    }

    /// Returns the answer; retries while the leader changes.
    pub fn get(self, path: &str) -> Reply {
        let deadline = Instant::now() + PATIENCE;
        let path = match (self.stale, path.contains('?')) {
            (false, _) => path.to_string(),
            (true, false) => format!("{path}?stale"),
            (true, true) => format!("{path}&stale"),
        };
        loop {
            let why = match call(self.port, "GET", &path, "", PATIENCE) {
                Ok(reply) if reply.status < 500 => return reply,
                other => format!("{other:?}"),
            };
            assert!(Instant::now() < deadline, "GET {path}: {why}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Returns the answer, even if it is an error.
    pub fn get_any(self, path: &str) -> Reply {
        call(self.port, "GET", path, "", PATIENCE).unwrap_or_else(|e| panic!("GET {path}: {e}"))
    }

    /// The objects of a list.
    pub fn list(self, path: &str) -> Vec<Json> {
        let reply = self.get(path);
        reply.json().as_array().cloned().unwrap_or_else(|| panic!("GET {path}: {} {}", reply.status, reply.body))
    }

    /// The indexes of these lists.
    pub fn indexes(self, paths: &[&str]) -> Vec<u64> {
        paths.iter().map(|path| self.get(path).index).collect()
    }
}
