//! The leader's tokens for the agents of nodes (`docs/spec/server.md §2.2`): one for each namespace, valid for a short
//! time, never stored.

use std::collections::HashMap;

use encamp_host::ids;
use encamp_model::{SECOND, SecretString};
use encamp_server::endpoints::identity;
use encamp_server::{Error, Server};
use parking_lot::Mutex;

/// How long a token is valid, in nanoseconds.
const TTL: i64 = 300 * SECOND;
/// How long a token is used. The rest of its time covers requests under way and clocks that differ.
const USED: i64 = TTL / 2;
/// The maximum number of kept tokens; beyond it, all are made again.
const MOST: usize = 1024;

/// Tokens by namespace, with the time at which they were made.
#[derive(Default)]
pub struct LeaderTokens(Mutex<HashMap<String, (i64, SecretString)>>);

impl LeaderTokens {
    /// The token for a namespace.
    ///
    /// # Errors
    /// There is no signing key yet, or the agent is stopping.
    pub async fn for_namespace(&self, server: &Server, namespace: &str) -> Result<SecretString, Error> {
        let now = ids::now();
        let fresh = |(made, _): &&(i64, SecretString)| (0..USED).contains(&(now - made));
        if let Some((_, token)) = self.0.lock().get(namespace).filter(fresh) {
            return Ok(token.clone());
        }
        let token = identity::for_usage(server, namespace, TTL).await?;
        let mut tokens = self.0.lock();
        if tokens.len() >= MOST {
            tokens.clear();
        }
        tokens.insert(namespace.to_string(), (now, token.clone()));
        Ok(token)
    }
}
