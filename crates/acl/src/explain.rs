//! Why something is allowed or not: the rule that decides, and the rules that matched but lost.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::acl::{Acl, Need, Single, variable_key};
use super::capability::{
    Capability, HostVolumeCapability, Level, OperatorCapability, PluginLevel, PoolCapability, VariableCapability, Word,
};
use super::labels::{Labels, Rule, rule_text};

/// A rule that matched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct MatchedRule {
    /// Kind and label, as they stand in policies: `namespace "apps-*"`.
    pub rule: String,
    /// The policies with this rule.
    pub policies: Vec<Arc<str>>,
    /// What the rules with this label allow together.
    pub capabilities: Vec<&'static str>,
    /// How far the label is from the name; the smallest decides.
    pub difference: usize,
}

/// What decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum Reason {
    /// The caller may do everything.
    Management,
    /// A rule.
    Rule(MatchedRule),
    /// The rights that every workload has.
    Workload,
    /// No rule matches.
    NoRule,
}

/// Whether something is allowed, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Explanation {
    /// Whether it is allowed.
    pub allowed: bool,
    /// What is required.
    pub need: String,
    /// What decides.
    pub reason: Reason,
    /// Rules that match, too, but are farther away, closest first.
    pub others: Vec<MatchedRule>,
}

impl fmt::Display for MatchedRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let capabilities = if self.capabilities.is_empty() { "nothing".into() } else { self.capabilities.join(", ") };
        let word = if self.policies.len() == 1 { "policy" } else { "policies" };
        write!(f, "{} of {word} {}, which allows {capabilities}", self.rule, self.policies.join(", "))
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", if self.allowed { "Allowed" } else { "Denied" }, self.need)?;
        match &self.reason {
            Reason::Management => writeln!(f, "The token is a management token, which may do everything.")?,
            Reason::Workload => writeln!(f, "Every workload has this right; no policy is needed.")?,
            Reason::NoRule => writeln!(f, "No rule of the token's policies matches.")?,
            Reason::Rule(rule) => writeln!(f, "Decided by {rule}.")?,
        }
        for rule in &self.others {
            writeln!(f, "Not used, because another label is closer: {rule}.")?;
        }
        Ok(())
    }
}

fn matched<W: Word>(kind: &str, label: &str, rule: &Rule<W>, difference: usize) -> MatchedRule {
    let rule_text = if label.is_empty() { kind.to_string() } else { rule_text(kind, label) };
    let (policies, capabilities) = (rule.policies.clone(), rule.capabilities.names());
    MatchedRule { rule: rule_text, policies, capabilities, difference }
}

/// The rule that decides about a name, and the others that match.
fn of_labels<W: Word>(kind: &str, labels: &Labels<W>, name: &str) -> (Reason, Vec<MatchedRule>) {
    let Some(winner) = labels.find(name) else { return (Reason::NoRule, Vec::new()) };
    let mut others: Vec<MatchedRule> = labels
        .globs(name)
        .filter(|m| m.label != winner.label)
        .map(|m| matched(kind, m.label, m.rule, m.difference))
        .collect();
    others.sort_by(|a, b| a.difference.cmp(&b.difference).then_with(|| b.rule.cmp(&a.rule)));
    (Reason::Rule(matched(kind, winner.label, winner.rule, winner.difference)), others)
}

/// Of all rules of a kind: one that grants it.
fn of_any<W: Word>(
    kind: &str,
    labels: &Labels<W>,
    grants: impl Fn(&str, &Rule<W>) -> bool,
) -> (Reason, Vec<MatchedRule>) {
    let found = labels.iter().find(|(label, rule)| grants(label, rule));
    (found.map_or(Reason::NoRule, |(label, rule)| Reason::Rule(matched(kind, label, rule, 0))), Vec::new())
}

fn of_single(kind: &str, rule: &Single) -> (Reason, Vec<MatchedRule>) {
    let reason = rule.word.map_or(Reason::NoRule, |word| {
        let (policies, capabilities) = (rule.policies.clone(), vec![word.name()]);
        Reason::Rule(MatchedRule { rule: kind.into(), policies, capabilities, difference: 0 })
    });
    (reason, Vec::new())
}

impl Acl {
    /// Why a need is met or not.
    pub fn explain(&self, need: &Need<'_>) -> Explanation {
        let allowed = self.allows(need);
        let (reason, others) = if self.is_management() { (Reason::Management, Vec::new()) } else { self.reason(need) };
        Explanation { allowed, need: need.to_string(), reason, others }
    }

    fn reason(&self, need: &Need<'_>) -> (Reason, Vec<MatchedRule>) {
        match *need {
            Need::Nothing | Need::Management => (Reason::NoRule, Vec::new()),
            Need::Namespace("*", any_of) => {
                of_any("namespace", &self.namespaces, |_, r| r.capabilities.holds_any(any_of))
            }
            Need::AnyIn("*") => {
                of_any("namespace", &self.namespaces, |_, r| r.capabilities.holds_other_than(Capability::Deny))
            }
            Need::Services(_) if self.workload().is_some() => (Reason::Workload, Vec::new()),
            Need::Namespace(name, _) | Need::AnyIn(name) | Need::Services(name) => {
                of_labels("namespace", &self.namespaces, name)
            }
            Need::Pool(name, _) => of_labels("node_pool", &self.pools, name),
            Need::AnyPool => {
                of_any("node_pool", &self.pools, |_, r| r.capabilities.holds_other_than(PoolCapability::Deny))
            }
            Need::HostVolume(name, _) => of_labels("host_volume", &self.host_volumes, name),
            Need::Node(_) => of_single("node", &self.node),
            Need::Agent(_) => of_single("agent", &self.agent),
            Need::Operator(_) => of_single("operator", &self.operator),
            Need::Quota(_) => of_single("quota", &self.quota),
            Need::Plugin(_) => of_single("plugin", &self.plugin),
            Need::OperatorCapability(_) => match self.operator_capabilities.policies.is_empty() {
                true => (Reason::NoRule, Vec::new()),
                false => (Reason::Rule(matched("operator", "", &self.operator_capabilities, 0)), Vec::new()),
            },
            Need::Variable(namespace, path, capability) if self.by_workload(namespace, path, capability) => {
                (Reason::Workload, Vec::new())
            }
            Need::Variable(namespace, path, _) => of_labels("path", &self.variables, &variable_key(namespace, path)),
            Need::AnyVariable(namespace) if self.workload_is_in(namespace) => (Reason::Workload, Vec::new()),
            Need::AnyVariable(namespace) => {
                of_any("path", &self.variables, |label, r| Acl::grants_variables(label, r, namespace))
            }
        }
    }
}

impl fmt::Display for Need<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Need::Nothing => f.write_str("nothing"),
            Need::Management => f.write_str("management"),
            Need::Namespace(name, any_of) => {
                let words: Vec<&str> = any_of.iter().map(|c| c.name()).collect();
                write!(f, "{} in namespace {name:?}", words.join(" or "))
            }
            Need::AnyIn(name) => write!(f, "any capability in namespace {name:?}"),
            Need::Pool(name, c) => write!(f, "{c} on node pool {name:?}"),
            Need::AnyPool => f.write_str("any capability on node pools"),
            Need::HostVolume(name, c) => write!(f, "{c} on host volume {name:?}"),
            Need::Node(level) => write!(f, "node {level}"),
            Need::Agent(level) => write!(f, "agent {level}"),
            Need::Operator(level) => write!(f, "operator {level}"),
            Need::OperatorCapability(c) => write!(f, "operator {c}"),
            Need::Quota(level) => write!(f, "quota {level}"),
            Need::Plugin(level) => write!(f, "plugin {level}"),
            Need::Variable(namespace, path, c) => write!(f, "{c} on variable {path:?} in namespace {namespace:?}"),
            Need::AnyVariable(name) => write!(f, "any capability on variables in namespace {name:?}"),
            Need::Services(name) => write!(f, "see services in namespace {name:?}"),
        }
    }
}

/// A need with its own texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnedNeed {
    /// A management token.
    Management,
    /// A capability in a namespace.
    Namespace(String, Capability),
    /// A capability on a node pool.
    Pool(String, PoolCapability),
    /// A capability on a host volume.
    HostVolume(String, HostVolumeCapability),
    /// A capability on a variable.
    Variable(String, String, VariableCapability),
    /// A capability of the operator rule.
    OperatorCapability(OperatorCapability),
    /// A rule for nodes.
    Node(Level),
    /// A rule for agents.
    Agent(Level),
    /// A rule for operators.
    Operator(Level),
    /// A rule for quotas.
    Quota(Level),
    /// A rule for plugins.
    Plugin(PluginLevel),
}

impl OwnedNeed {
    /// Whether a caller meets it, and why.
    pub fn explained_by(&self, acl: &Acl) -> Explanation {
        match self {
            OwnedNeed::Management => acl.explain(&Need::Management),
            OwnedNeed::Namespace(name, c) => acl.explain(&Need::Namespace(name, &[*c])),
            OwnedNeed::Pool(name, c) => acl.explain(&Need::Pool(name, *c)),
            OwnedNeed::HostVolume(name, c) => acl.explain(&Need::HostVolume(name, *c)),
            OwnedNeed::Variable(namespace, path, c) => acl.explain(&Need::Variable(namespace, path, *c)),
            OwnedNeed::OperatorCapability(c) => acl.explain(&Need::OperatorCapability(*c)),
            OwnedNeed::Node(level) => acl.explain(&Need::Node(*level)),
            OwnedNeed::Agent(level) => acl.explain(&Need::Agent(*level)),
            OwnedNeed::Operator(level) => acl.explain(&Need::Operator(*level)),
            OwnedNeed::Quota(level) => acl.explain(&Need::Quota(*level)),
            OwnedNeed::Plugin(level) => acl.explain(&Need::Plugin(*level)),
        }
    }
}

/// Why words name no need.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NeedError {
    /// There is no such capability.
    #[error("there is no capability {word:?}; did you mean {nearest:?}?")]
    Unknown {
        /// The word.
        word: String,
        /// The closest one.
        nearest: String,
    },
    /// The capability is one on an object, and there is none.
    #[error("{capability} needs an object: {object}")]
    NoObject {
        /// The capability.
        capability: String,
        /// What the object is.
        object: &'static str,
    },
}

/// All capabilities that [`parse_need`] knows.
pub fn capability_names() -> Vec<String> {
    let with = |prefix: &str, words: Vec<&'static str>| -> Vec<String> {
        words.into_iter().filter(|w| *w != "deny").map(|w| format!("{prefix}{w}")).collect()
    };
    let mut all = vec!["management".to_string()];
    all.extend(with("", Capability::ALL.iter().map(|c| c.name()).collect()));
    all.extend(with("", OperatorCapability::ALL.iter().map(|c| c.name()).collect()));
    all.extend(with("variable:", VariableCapability::ALL.iter().map(|c| c.name()).collect()));
    all.extend(with("pool:", PoolCapability::ALL.iter().map(|c| c.name()).collect()));
    all.extend(with("host-volume:", HostVolumeCapability::ALL.iter().map(|c| c.name()).collect()));
    for kind in ["node:", "agent:", "operator:", "quota:"] {
        all.extend(with(kind, Level::ALL.iter().map(|c| c.name()).collect()));
    }
    all.extend(with("plugin:", PluginLevel::ALL.iter().map(|c| c.name()).collect()));
    all
}

/// Reads a need from words: `submit-job` and a namespace, `variable:read` and `<namespace>:<path>` or a path, `pool:write`
/// and a pool, `host-volume:mount-readonly` and a volume, `node:read`, `keyring-rotate`, `management`. An empty object of
/// a namespace is `default`.
///
/// # Errors
/// The capability is unknown, or its object is missing.
pub fn parse_need(capability: &str, object: &str) -> Result<OwnedNeed, NeedError> {
    let unknown = || {
        let distance = |name: &String| strsim::damerau_levenshtein(name, capability);
        let nearest = capability_names().into_iter().min_by_key(distance).unwrap_or_default();
        NeedError::Unknown { word: capability.into(), nearest }
    };
    let named = |what: &'static str| match object {
        "" | "-" => Err(NeedError::NoObject { capability: capability.into(), object: what }),
        name => Ok(name.to_string()),
    };
    let namespace = if matches!(object, "" | "-") { "default" } else { object };
    if let Ok(c) = capability.parse::<Capability>()
        && c != Capability::Deny
    {
        return Ok(OwnedNeed::Namespace(namespace.into(), c));
    }
    if let Ok(c) = capability.parse::<OperatorCapability>()
        && c != OperatorCapability::Deny
    {
        return Ok(OwnedNeed::OperatorCapability(c));
    }
    let Some((kind, word)) = capability.split_once(':') else {
        return if capability == "management" { Ok(OwnedNeed::Management) } else { Err(unknown()) };
    };
    let level = || word.parse::<Level>().map_err(|_| unknown());
    match kind {
        "node" => Ok(OwnedNeed::Node(level()?)),
        "agent" => Ok(OwnedNeed::Agent(level()?)),
        "operator" => Ok(OwnedNeed::Operator(level()?)),
        "quota" => Ok(OwnedNeed::Quota(level()?)),
        "plugin" => Ok(OwnedNeed::Plugin(word.parse().map_err(|_| unknown())?)),
        "pool" => Ok(OwnedNeed::Pool(named("a node pool")?, word.parse().map_err(|_| unknown())?)),
        "host-volume" => Ok(OwnedNeed::HostVolume(named("a host volume")?, word.parse().map_err(|_| unknown())?)),
        "variable" => {
            let object = named("a variable: <namespace>:<path>, or a path in the namespace default")?;
            let (namespace, path) = object.split_once(':').unwrap_or(("default", &object));
            Ok(OwnedNeed::Variable(namespace.into(), path.into(), word.parse().map_err(|_| unknown())?))
        }
        _ => Err(unknown()),
    }
}
