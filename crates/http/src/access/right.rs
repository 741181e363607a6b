//! Authorisation: the one place that decides which requests are allowed (`docs/spec/http-api.md §7`). The right that
//! each route requires is in its row of the [table](crate::routes::table); [`encamp_acl`] decides.

use std::fmt;

pub use encamp_acl::{
    Capability, HostVolumeCapability, Level, Need, OperatorCapability, PluginLevel, PoolCapability, VariableCapability,
};

/// The right that a route requires (the column "needs" of `docs/spec/http-api.md §5`).
/// [`Permission`](super::permission::Permission) says on what it is checked, and when.
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
    Namespace(&'static [Capability]),
    /// Any capability in the namespace.
    AnyInNamespace,
    /// To see the services of the namespace.
    Services,
    /// A right on the node pool.
    Pool(PoolCapability),
    /// A rule for nodes.
    Node(Level),
    /// A rule for agents.
    Agent(Level),
    /// A rule for operators.
    Operator(Level),
    /// A capability of the operator rule.
    OperatorCapability(OperatorCapability),
    /// A rule for plugins.
    Plugin(PluginLevel),
    /// Any variable rule in the namespace.
    AnyVariable,
    /// A capability on the variable.
    Variable(VariableCapability),
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
    /// Whether a caller has the right on a subject; `allows` says what the caller may do.
    pub(crate) fn is_in(&self, allows: &dyn Fn(&Need<'_>) -> bool, of: Subject<'_>) -> bool {
        let need = match (*self, of) {
            (Right::All(rights), _) => return rights.iter().all(|r| r.is_in(allows, of)),
            (Right::OneOf(rights), _) => return rights.iter().any(|r| r.is_in(allows, of)),
            (Right::Anonymous | Right::Rows(_), _) => Need::Nothing,
            (Right::Namespace(any_of), Subject::Namespace(name)) => Need::Namespace(name, any_of),
            (Right::AnyInNamespace, Subject::Namespace(name)) => Need::AnyIn(name),
            (Right::Services, Subject::Namespace(name)) => Need::Services(name),
            (Right::AnyVariable, Subject::Namespace(name)) => Need::AnyVariable(name),
            (Right::Pool(right), Subject::Pool(name)) => Need::Pool(name, right),
            (Right::Variable(capability), Subject::Variable(ns, path)) => Need::Variable(ns, path, capability),
            (Right::Node(level), _) => Need::Node(level),
            (Right::Agent(level), _) => Need::Agent(level),
            (Right::Operator(level), _) => Need::Operator(level),
            (Right::OperatorCapability(capability), _) => Need::OperatorCapability(capability),
            (Right::Plugin(rule), _) => Need::Plugin(rule),
            // A right on something else than what the handler names: only those who may do anything have it.
            (Right::Management | Right::Topics, _)
            | (
                Right::Namespace(_)
                | Right::AnyInNamespace
                | Right::Services
                | Right::AnyVariable
                | Right::Pool(_)
                | Right::Variable(_),
                _,
            ) => Need::Management,
        };
        allows(&need)
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
            Right::Namespace(any_of) => {
                let names: Vec<&str> = any_of.iter().map(|c| c.name()).collect();
                write!(f, "namespace {}", names.join("|"))
            }
            Right::Services => f.write_str("namespace read-job or a workload identity"),
            Right::AnyInNamespace => f.write_str("namespace any"),
            Right::AnyVariable => f.write_str("variable any"),
            Right::Pool(right) => write!(f, "pool {right}"),
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
