//! The rules of all policies of a caller, and decisions about them (`docs/spec/http-api.md §7.5, §7.10`).

use std::sync::Arc;

use super::capability::{
    Capability, HostVolumeCapability, Level, OperatorCapability, PluginLevel, PolicyWord, PoolCapability, Set,
    VariableCapability,
};
use super::labels::{Labels, Rule};
use super::policy::Rules;
use encamp_model::responses::AclAccess;
use encamp_model::{JobAcl, glob};

/// A permission on a certain object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need<'a> {
    /// Nothing.
    Nothing,
    /// A management token.
    Management,
    /// One of the capabilities in a namespace; `*`: in any.
    Namespace(&'a str, &'a [Capability]),
    /// Any capability in a namespace; `*`: in any.
    AnyIn(&'a str),
    /// A capability on a node pool.
    Pool(&'a str, PoolCapability),
    /// Any rule about node pools but deny.
    AnyPool,
    /// A capability on a host volume.
    HostVolume(&'a str, HostVolumeCapability),
    /// A rule for nodes.
    Node(Level),
    /// A rule for agents.
    Agent(Level),
    /// A rule for operators.
    Operator(Level),
    /// A capability of the operator rule.
    OperatorCapability(OperatorCapability),
    /// A rule for quotas.
    Quota(Level),
    /// A rule for plugins.
    Plugin(PluginLevel),
    /// A capability on a variable: namespace, path, capability.
    Variable(&'a str, &'a str, VariableCapability),
    /// Any capability on variables of a namespace; `*`: of any.
    AnyVariable(&'a str),
    /// To see the services of a namespace.
    Services(&'a str),
}

/// A workload that calls: a task of a running allocation. It may do some things without any policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    /// The namespace of the job.
    pub namespace: String,
    /// The job; for dispatched and periodic jobs, the parent.
    pub job: String,
    /// The task group.
    pub group: String,
    /// The task.
    pub task: String,
}

impl From<&JobAcl> for Workload {
    fn from(of: &JobAcl) -> Workload {
        let JobAcl { namespace, job_id, group, task } = of.clone();
        Workload { namespace, job: job_id, group, task }
    }
}

impl From<&Workload> for JobAcl {
    fn from(of: &Workload) -> JobAcl {
        let Workload { namespace, job, group, task } = of.clone();
        JobAcl { namespace, job_id: job, group, task }
    }
}

impl Workload {
    /// Whether the workload may read and list a variable.
    fn may_read(&self, namespace: &str, path: &str) -> bool {
        let mut own = "nomad/jobs".to_string();
        let mut fits = path == own;
        for part in [&self.job, &self.group, &self.task] {
            if part.is_empty() {
                break;
            }
            own.push('/');
            own.push_str(part);
            fits |= path == own;
        }
        fits && self.namespace == namespace
    }
}

/// The strongest words of the rules without labels, and the policies they come from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Single {
    /// The strongest word: deny, write, read, list.
    pub word: Option<PolicyWord>,
    /// The policies that say this word.
    pub policies: Vec<Arc<str>>,
}

impl Single {
    fn join(&mut self, word: Option<PolicyWord>, policy: &Arc<str>) {
        let Some(word) = word.filter(|w| *w != PolicyWord::Scale) else { return };
        if self.word.is_none_or(|own| own < word) {
            *self = Single { word: Some(word), policies: vec![policy.clone()] };
        } else if self.word == Some(word) {
            self.policies.push(policy.clone());
        }
    }

    /// Whether the word allows a level.
    fn allows(&self, level: Level) -> bool {
        match (self.word, level) {
            (Some(PolicyWord::Write), _) | (Some(PolicyWord::Read), Level::Read) => true,
            (Some(PolicyWord::Read), Level::Write) => false,
            (Some(PolicyWord::Deny | PolicyWord::List | PolicyWord::Scale) | None, _) => false,
        }
    }

    /// Whether the word of the rule about plugins allows a level. Write grants nothing.
    fn allows_plugin(&self, level: PluginLevel) -> bool {
        match self.word {
            Some(PolicyWord::Read) => true,
            Some(PolicyWord::List) => level == PluginLevel::List,
            Some(PolicyWord::Write | PolicyWord::Deny | PolicyWord::Scale) | None => false,
        }
    }
}

/// What a caller may do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Acl {
    management: bool,
    workload: Option<Workload>,
    pub(crate) namespaces: Labels<Capability>,
    pub(crate) pools: Labels<PoolCapability>,
    pub(crate) host_volumes: Labels<HostVolumeCapability>,
    /// By namespace and path, with a NUL between them.
    pub(crate) variables: Labels<VariableCapability>,
    pub(crate) agent: Single,
    pub(crate) node: Single,
    pub(crate) quota: Single,
    pub(crate) plugin: Single,
    pub(crate) operator: Single,
    pub(crate) operator_capabilities: Rule<OperatorCapability>,
}

/// The key of a variable.
pub(crate) fn variable_key(namespace: &str, path: &str) -> String {
    format!("{namespace}\0{path}")
}

impl Acl {
    /// Everything.
    pub fn management() -> Acl {
        Acl { management: true, ..Acl::default() }
    }

    /// Nothing that needs a right.
    pub fn nothing() -> Acl {
        Acl::default()
    }

    /// Merges policies: names and rules (`docs/spec/http-api.md §7.5` 1, 4).
    pub fn merge<'a>(policies: impl IntoIterator<Item = (&'a str, &'a Rules)>) -> Acl {
        let mut acl = Acl::default();
        for (name, rules) in policies {
            acl.join(&Arc::from(name), rules);
        }
        acl
    }

    fn join(&mut self, policy: &Arc<str>, rules: &Rules) {
        for rule in &rules.namespaces {
            join(self.namespaces.entry(&rule.label), &rule.capabilities, Some(Capability::Deny), policy);
            for path in rule.variables.iter().flatten() {
                // Here a deny does not win over what other policies grant.
                let entry = self.variables.entry(&variable_key(&rule.label, &path.path));
                join(entry, &path.capabilities, None, policy);
            }
        }
        for rule in &rules.pools {
            join(self.pools.entry(&rule.label), &rule.capabilities, Some(PoolCapability::Deny), policy);
        }
        for rule in &rules.host_volumes {
            join(self.host_volumes.entry(&rule.label), &rule.capabilities, Some(HostVolumeCapability::Deny), policy);
        }
        if let Some(operator) = &rules.operator {
            self.operator.join(operator.policy, policy);
            let deny = Some(OperatorCapability::Deny);
            join(&mut self.operator_capabilities, &operator.capabilities, deny, policy);
        }
        self.agent.join(rules.agent, policy);
        self.node.join(rules.node, policy);
        self.quota.join(rules.quota, policy);
        self.plugin.join(rules.plugin, policy);
    }

    /// What a server says that a caller may do (`docs/spec/http-api.md §5.16`).
    pub fn of_answer(answer: &AclAccess) -> Acl {
        if answer.management {
            return Acl::management();
        }
        let rules: Vec<(&str, Rules)> =
            answer.policies.iter().map(|p| (p.name.as_str(), Rules::parse_stored(&p.rules))).collect();
        let acl = Acl::merge(rules.iter().map(|(name, rules)| (*name, rules)));
        match &answer.workload {
            Some(of) => acl.with_workload(Workload::from(of)),
            None => acl,
        }
    }

    /// The same rules for a workload, which has rights of its own.
    #[must_use]
    pub fn with_workload(self, workload: Workload) -> Acl {
        Acl { workload: Some(workload), ..self }
    }

    /// Whether everything is allowed.
    pub fn is_management(&self) -> bool {
        self.management
    }

    /// The workload, if one calls.
    pub fn workload(&self) -> Option<&Workload> {
        self.workload.as_ref()
    }

    /// Whether a need is met.
    pub fn allows(&self, need: &Need<'_>) -> bool {
        self.management
            || match *need {
                Need::Nothing => true,
                Need::Management => false,
                Need::Namespace("*", any_of) => {
                    self.namespaces.iter().any(|(_, rule)| rule.capabilities.holds_any(any_of))
                }
                Need::Namespace(name, any_of) => {
                    self.namespaces.find(name).is_some_and(|m| m.rule.capabilities.holds_any(any_of))
                }
                Need::AnyIn("*") => {
                    self.namespaces.iter().any(|(_, rule)| rule.capabilities.holds_other_than(Capability::Deny))
                }
                Need::AnyIn(name) => {
                    self.namespaces.find(name).is_some_and(|m| m.rule.capabilities.holds_other_than(Capability::Deny))
                }
                Need::Pool(name, capability) => {
                    self.pools.find(name).is_some_and(|m| m.rule.capabilities.holds(capability))
                }
                Need::AnyPool => {
                    self.pools.iter().any(|(_, rule)| rule.capabilities.holds_other_than(PoolCapability::Deny))
                }
                Need::HostVolume(name, capability) => {
                    self.host_volumes.find(name).is_some_and(|m| m.rule.capabilities.holds(capability))
                }
                Need::Node(level) => self.node.allows(level),
                Need::Agent(level) => self.agent.allows(level),
                Need::Operator(level) => self.operator.allows(level),
                Need::OperatorCapability(capability) => self.operator_capabilities.capabilities.holds(capability),
                Need::Quota(level) => self.quota.allows(level),
                Need::Plugin(level) => self.plugin.allows_plugin(level),
                Need::Variable(namespace, path, capability) => self.allows_variable(namespace, path, capability),
                Need::AnyVariable(namespace) => self.allows_any_variable(namespace),
                Need::Services(namespace) => {
                    self.workload.is_some() || self.allows(&Need::Namespace(namespace, &[Capability::ReadJob]))
                }
            }
    }

    /// Whether the workload's own rights decide about a variable: no exact rule does.
    pub(crate) fn by_workload(&self, namespace: &str, path: &str, capability: VariableCapability) -> bool {
        matches!(capability, VariableCapability::Read | VariableCapability::List)
            && self.variables.exact(&variable_key(namespace, path)).is_none()
            && self.workload.as_ref().is_some_and(|w| w.may_read(namespace, path))
    }

    fn allows_variable(&self, namespace: &str, path: &str, capability: VariableCapability) -> bool {
        self.by_workload(namespace, path, capability)
            || self
                .variables
                .find(&variable_key(namespace, path))
                .is_some_and(|m| m.rule.capabilities.holds(capability))
    }

    /// Whether the workload's own rights are rights on variables of a namespace; `*`: of any.
    pub(crate) fn workload_is_in(&self, namespace: &str) -> bool {
        self.workload.as_ref().is_some_and(|w| namespace == "*" || w.namespace == namespace)
    }

    /// Whether a rule about variables grants something in a namespace; `*`: in any.
    pub(crate) fn grants_variables(label: &str, rule: &Rule<VariableCapability>, namespace: &str) -> bool {
        let of = label.split('\0').next().unwrap_or_default();
        rule.capabilities.holds_other_than(VariableCapability::Deny)
            && (namespace == "*" || glob::matches(of, namespace))
    }

    fn allows_any_variable(&self, namespace: &str) -> bool {
        self.workload_is_in(namespace)
            || self.variables.iter().any(|(label, rule)| Acl::grants_variables(label, rule, namespace))
    }
}

/// Adds what a policy grants to a rule; where `deny` is one of the words, nothing else is left.
fn join<W: super::capability::Word>(rule: &mut Rule<W>, granted: &[W], deny: Option<W>, policy: &Arc<str>) {
    rule.capabilities = rule.capabilities.union(Set::of(granted));
    if let Some(deny) = deny.filter(|deny| rule.capabilities.holds(*deny)) {
        rule.capabilities = Set::of(&[deny]);
    }
    if rule.policies.last() != Some(policy) {
        rule.policies.push(policy.clone());
    }
}
