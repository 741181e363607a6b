//! What servers said about the permissions of tokens, on an agent without a server.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use encamp_server::acl::{Access, Denied};

/// How long an answer is valid: a revoked token is refused this soon.
const VALID: Duration = Duration::from_millis(400);

/// The number of answers that are kept.
const KEPT: usize = 4096;

/// When a caller was resolved, and as what.
type Answered = (Instant, Result<Access, Denied>);

/// The latest answers, by a hash of the token.
#[derive(Debug, Default)]
pub(crate) struct PermissionCache(Mutex<HashMap<[u8; 32], Answered>>);

impl PermissionCache {
    /// The permissions of a token, by its hash, if a server gave them a moment ago.
    pub(crate) fn get(&self, key: &[u8; 32]) -> Option<Result<Access, Denied>> {
        self.0.lock().get(key).filter(|(at, _)| at.elapsed() < VALID).map(|(_, answer)| answer.clone())
    }

    /// Keeps what a server gave.
    pub(crate) fn put(&self, key: [u8; 32], answer: Result<Access, Denied>) {
        let mut answers = self.0.lock();
        if answers.len() >= KEPT {
            answers.retain(|_, (at, _)| at.elapsed() < VALID);
        }
        if answers.len() < KEPT {
            answers.insert(key, (Instant::now(), answer));
        }
    }
}
