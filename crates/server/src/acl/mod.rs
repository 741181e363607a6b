//! Who calls, and what the caller may do (`docs/spec/http-api.md §7.5-7.7, §7.10`).
//!
//! [`Resolver`] turns the secret of a request into an [`Access`]; [`cache`] keeps compiled policies. Nothing here reads
//! a clock: the time is a parameter.

mod cache;
mod resolve;
#[cfg(test)]
mod tests;

use std::sync::{Arc, LazyLock};

use encamp_acl::{Acl, Need};
use encamp_model::responses::AclAccess;
use encamp_model::{AclPolicy, AclToken, JobAcl};

use crate::keyring::claims::Claims;
use encamp_state::StateStore;

pub use resolve::{ANONYMOUS, Resolver, is_expired};

/// The name of [`Caller::Leader`], and of its policy.
const LEADER: &str = "leader";

/// Who makes a request.
#[derive(Debug, Clone)]
pub enum Caller {
    /// Anybody: there is no access control.
    AccessControlOff,
    /// A request without a token.
    Anonymous,
    /// The owner of a stored token.
    Token(Arc<AclToken>),
    /// A task.
    Workload(Arc<Claims>),
    /// A node, by its ID.
    Node(String),
    /// The bearer of an introduction token for nodes.
    Introduction,
    /// The leader, which reads the usage of allocations (`docs/spec/server.md §2.2`).
    Leader {
        /// The namespace of the allocations.
        namespace: String,
    },
    /// Somebody that another server knows.
    Remote {
        /// The caller's name, see [`Caller::name`].
        name: String,
    },
}

impl Caller {
    /// Whether the leader calls. Agents without a server know it by its name, which no other caller has.
    pub fn is_leader(&self) -> bool {
        match self {
            Caller::Leader { .. } => true,
            Caller::Remote { name } => name == LEADER,
            Caller::AccessControlOff
            | Caller::Anonymous
            | Caller::Token(_)
            | Caller::Workload(_)
            | Caller::Node(_)
            | Caller::Introduction => false,
        }
    }

    /// The caller's name in metadata and logs: the accessor of a token, or the kind of the caller.
    pub fn name(&self) -> String {
        match self {
            Caller::AccessControlOff => "token:acls-disabled".into(),
            Caller::Anonymous => "token:anonymous".into(),
            Caller::Token(token) => format!("token:{}", token.accessor_id),
            Caller::Workload(claims) => format!("alloc:{}", claims.nomad_allocation_id),
            Caller::Node(id) => format!("client:{id}"),
            Caller::Introduction => "client-introduction".into(),
            Caller::Leader { .. } => LEADER.into(),
            Caller::Remote { name } => name.clone(),
        }
    }
}

/// A caller and its permissions.
#[derive(Debug, Clone)]
pub struct Access {
    caller: Caller,
    acl: Arc<Acl>,
}

impl Access {
    /// A caller with certain permissions.
    pub fn new(caller: Caller, acl: Arc<Acl>) -> Access {
        Access { caller, acl }
    }

    /// Everything: there is no access control.
    pub fn everything() -> Access {
        // Of every request where there is no access control.
        static MANAGEMENT: LazyLock<Arc<Acl>> = LazyLock::new(|| Arc::new(Acl::management()));
        Access::new(Caller::AccessControlOff, MANAGEMENT.clone())
    }

    /// Who calls.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The permissions.
    pub fn acl(&self) -> &Arc<Acl> {
        &self.acl
    }

    /// Whether the caller may do that.
    pub fn allows(&self, need: &Need<'_>) -> bool {
        self.acl.allows(need)
    }

    /// Whether the caller may do everything.
    pub fn is_management(&self) -> bool {
        self.acl.is_management()
    }

    /// Whether this is the same caller with the same permissions, as far as a cheap comparison tells.
    pub fn is_same(&self, other: &Access) -> bool {
        Arc::ptr_eq(&self.acl, &other.acl)
    }

    /// The caller's policies, those of its roles included.
    pub fn policies(&self, store: &StateStore) -> Vec<Arc<AclPolicy>> {
        match &self.caller {
            Caller::Token(token) => resolve::policies_of_token(store, token),
            Caller::Anonymous => resolve::policies_of_anonymous(store),
            Caller::Workload(_) => {
                self.acl.workload().map(|w| resolve::policies_of_workload(store, w)).unwrap_or_default()
            }
            Caller::Leader { namespace } => vec![Arc::new(resolve::policy_of_leader(namespace))],
            Caller::AccessControlOff | Caller::Node(_) | Caller::Introduction | Caller::Remote { .. } => Vec::new(),
        }
    }

    /// What another agent learns about the caller (`docs/spec/http-api.md §5.16`).
    pub fn for_other_agent(&self, store: &StateStore) -> AclAccess {
        AclAccess {
            caller: self.caller.name(),
            management: self.is_management(),
            policies: self.policies(store),
            workload: self.acl.workload().map(JobAcl::from),
        }
    }
}

/// Why a token gives no access. Every caller gets `Permission denied`; logs and metrics tell the cases apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// No token has this secret.
    #[error("ACL token not found")]
    Unknown,
    /// The token, or the identity, has expired.
    #[error("ACL token expired")]
    Expired,
    /// The text is neither a UUID nor an identity that this cluster signed.
    #[error("failed to parse signed token")]
    Malformed,
    /// The allocation of the identity has ended, or is not the one of the claims.
    #[error("the identity is not that of a running allocation")]
    NotRunning,
    /// No server can be asked about the token.
    #[error("no server can be asked about the ACL token")]
    Unreachable,
}
