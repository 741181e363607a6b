//! Authorisation: the one place that decides which requests are allowed (`docs/spec/http-api.md §7`).

use super::app::AppState;
use super::error::Error;

/// A capability of a rule without names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// See.
    Read,
    /// Change.
    Write,
}

/// The permission that a call requires (the column "needs" of `docs/spec/http-api.md §5`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need<'a> {
    /// Nothing.
    Nothing,
    /// A management token.
    Management,
    /// One of the capabilities in a namespace; `*`: in any.
    Namespace(&'a str, &'a [&'a str]),
    /// Any capability in a namespace.
    AnyIn(&'a str),
    /// A right on a node pool.
    Pool(&'a str, PoolRight),
    /// A rule for nodes.
    Node(Level),
    /// A rule for agents.
    Agent(Level),
    /// A rule for operators.
    Operator(Level),
    /// A capability of the operator rule.
    OperatorCapability(&'a str),
    /// A rule for plugins.
    Plugin(&'a str),
    /// A capability on a variable: namespace, path, capability.
    Variable(&'a str, &'a str, &'a str),
}

/// Rights on node pools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolRight {
    /// See.
    Read,
    /// Change.
    Write,
    /// Remove.
    Delete,
}

/// The permissions of a caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    /// Everything: there is no access control.
    Everything,
    /// Nothing that needs a right.
    Nothing,
}

impl Access {
    /// Whether it suffices.
    pub fn allows(&self, need: &Need<'_>) -> bool {
        *self == Access::Everything || *need == Need::Nothing
    }
}

/// The access of a token's owner, if it includes the required one. Where access control is switched on, tokens are not
/// known yet, and everything that needs a capability is refused.
///
/// # Errors
/// 403 `Permission denied`.
pub(crate) fn authorize(app: &AppState, _token: &str, need: &Need<'_>) -> Result<Access, Error> {
    let access = if app.settings().acl_enabled { Access::Nothing } else { Access::Everything };
    if access.allows(need) { Ok(access) } else { Err(Error::denied()) }
}
