//! Authorisation: the one place that decides which requests are allowed (`docs/spec/http-api.md §7`). The right that
//! each route requires is in the table of [`routes`](super::routes).

use std::fmt;

use super::app::AppState;

/// A capability of a rule without names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// See.
    Read,
    /// Change.
    Write,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Level::Read => "read",
            Level::Write => "write",
        })
    }
}

/// A permission on a certain object.
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

/// The access of a token's owner. Where access control is switched on, tokens are not known yet, and everything that
/// needs a capability is refused.
pub(crate) fn access(app: &AppState, _token: &str) -> Access {
    if app.settings().acl_enabled { Access::Nothing } else { Access::Everything }
}

/// The right that a route requires (the column "needs" of `docs/spec/http-api.md §5`). The handler says of what, and
/// when: the first error decides the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Right {
    /// None: everybody may call.
    Anonymous,
    /// None, but rows that the caller may not see are left out. The right is that on a row.
    Rows(&'static Right),
    /// Those on the topics that are asked for.
    Topics,
    /// A management token.
    Management,
    /// One of the capabilities in the namespace of the request or of the object.
    Namespace(&'static [&'static str]),
    /// Any capability in the namespace.
    AnyInNamespace,
    /// A right on the node pool.
    Pool(PoolRight),
    /// A rule for nodes.
    Node(Level),
    /// A rule for agents.
    Agent(Level),
    /// A rule for operators.
    Operator(Level),
    /// A capability of the operator rule.
    OperatorCapability(&'static str),
    /// A rule for plugins.
    Plugin(&'static str),
    /// A capability on the variable.
    Variable(&'static str),
    /// All of these.
    All(&'static [Right]),
    /// One of these.
    OneOf(&'static [Right]),
}

/// What a right is required on.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Subject<'a> {
    /// Nothing in particular.
    Cluster,
    /// A namespace.
    Namespace(&'a str),
    /// A node pool.
    Pool(&'a str),
    /// A variable: namespace and path.
    Variable(&'a str, &'a str),
}

impl Right {
    /// Whether an access includes the right on a subject.
    pub(crate) fn is_in(&self, access: &Access, of: Subject<'_>) -> bool {
        let need = match (*self, of) {
            (Right::All(rights), _) => return rights.iter().all(|r| r.is_in(access, of)),
            (Right::OneOf(rights), _) => return rights.iter().any(|r| r.is_in(access, of)),
            (Right::Anonymous | Right::Rows(_), _) => Need::Nothing,
            (Right::Namespace(any_of), Subject::Namespace(name)) => Need::Namespace(name, any_of),
            (Right::AnyInNamespace, Subject::Namespace(name)) => Need::AnyIn(name),
            (Right::Pool(right), Subject::Pool(name)) => Need::Pool(name, right),
            (Right::Variable(capability), Subject::Variable(ns, path)) => Need::Variable(ns, path, capability),
            (Right::Node(level), _) => Need::Node(level),
            (Right::Agent(level), _) => Need::Agent(level),
            (Right::Operator(level), _) => Need::Operator(level),
            (Right::OperatorCapability(capability), _) => Need::OperatorCapability(capability),
            (Right::Plugin(rule), _) => Need::Plugin(rule),
            // A right on something else than what the handler names: only those who may do anything have it.
            (Right::Management | Right::Topics, _)
            | (Right::Namespace(_) | Right::AnyInNamespace | Right::Pool(_) | Right::Variable(_), _) => {
                Need::Management
            }
        };
        access.allows(&need)
    }
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, rights: &[Right], word: &str| {
            let texts: Vec<String> = rights.iter().map(ToString::to_string).collect();
            f.write_str(&texts.join(word))
        };
        match self {
            Right::Anonymous => f.write_str("-"),
            Right::Rows(right) => write!(f, "rows with {right}"),
            Right::Topics => f.write_str("topics"),
            Right::Management => f.write_str("management"),
            Right::Namespace(any_of) => write!(f, "namespace {}", any_of.join("|")),
            Right::AnyInNamespace => f.write_str("namespace any"),
            Right::Pool(right) => write!(f, "pool {}", format!("{right:?}").to_lowercase()),
            Right::Node(level) => write!(f, "node {level}"),
            Right::Agent(level) => write!(f, "agent {level}"),
            Right::Operator(level) => write!(f, "operator {level}"),
            Right::OperatorCapability(capability) => write!(f, "operator {capability}"),
            Right::Plugin(rule) => write!(f, "plugin {rule}"),
            Right::Variable(capability) => write!(f, "variable {capability}"),
            Right::All(rights) => list(f, rights, " and "),
            Right::OneOf(rights) => list(f, rights, " or "),
        }
    }
}
