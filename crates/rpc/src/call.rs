//! What a call is: its name, its result, and the rule for those who make it.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::caller::{Caller, Who};
use encamp_server::Error;

/// A call: the type is its arguments.
pub trait Call: Ruled + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// Its name in the path.
    const METHOD: &'static str;
    /// Whether any server may answer from its own state; otherwise the leader does.
    const ANYWHERE: bool = false;
    /// Whether it may be made again when the connection broke.
    const REPEATABLE: bool = false;
    /// Whether its arguments or its result contain secrets; of other calls they are not sent.
    const SECRETS: bool = false;
    /// The result.
    type Result: Serialize + DeserializeOwned + Send + 'static;

    /// The node that calls: goes into the head of the message.
    fn node(&self) -> Option<Who> {
        None
    }

    /// Takes over who calls from the head of the message, where that was checked.
    ///
    /// # Errors
    /// The message claims another sender.
    fn called_by(&mut self, caller: &Caller) -> Result<(), Error> {
        let _ = caller;
        Ok(())
    }
}

/// A call with its rule. Every [`Call`] has one; the table in [`rules`](super::rules) is the only place that implements
/// it.
pub trait Ruled {
    /// Who may make the call, and with how long a message.
    const RULE: Rule;
}

/// The role in a certificate: `<role>.<region>.nomad`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A server.
    Server,
    /// A node.
    Client,
}

impl Role {
    /// The name that certificates of the role have in a region.
    pub fn name(self, region: &str) -> String {
        let role = match self {
            Role::Server => "server",
            Role::Client => "client",
        };
        format!("{role}.{region}.nomad")
    }
}

/// The required proof in the header of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// Nothing.
    Nothing,
    /// That a node calls: its ID and its secret. Callers that a server does not know may send little.
    Node,
    /// A node that may not be known yet: the longest message is for everybody.
    NewNode,
    /// That a server of the cluster calls.
    Member,
}

/// The rule of a call.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// The call.
    pub method: &'static str,
    /// Roles of certificates that may make it.
    pub roles: &'static [Role],
    /// The required proof in its header.
    pub proof: Proof,
    /// Its longest message, in bytes.
    pub longest: usize,
}

impl Rule {
    /// Refuses certificates that do not name one of the roles in a region.
    ///
    /// # Errors
    /// 403, with the names (`docs/spec/http-api.md §11`).
    pub(crate) fn check_names(&self, region: &str, names: &[String]) -> Result<(), Error> {
        let expected: Vec<String> = self.roles.iter().map(|r| r.name(region)).collect();
        if names.iter().any(|n| expected.contains(n)) {
            return Ok(());
        }
        let text = format!("invalid certificate: {} not in expected {}", names.join(", "), expected.join(", "));
        Err(Error::denied(text))
    }
}
