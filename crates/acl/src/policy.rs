//! The text of a policy as [`Rules`] (`docs/spec/http-api.md §7.2-7.4`).
//!
//! Policies are read twice: strictly when they are written, and leniently when they are used, because policies that an
//! older version accepted stay valid.

use encamp_hcl::hcl1::{self, Item, Node, Value};
use serde_json::json;

use super::capability::{
    Capability, HostVolumeCapability, OperatorCapability, PolicyWord, PoolCapability, VariableCapability, Word,
};

/// The longest text, in bytes.
pub const LONGEST: usize = 1 << 20;
/// The most rules of a policy, paths of variables included.
pub const MOST_RULES: usize = 10_000;

/// Why a text is no policy. The texts are those of Nomad up to their first colon.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// The text is longer than [`LONGEST`].
    #[error("Failed to parse ACL Policy: the text is longer than {} KiB", LONGEST >> 10)]
    TooLong,
    /// There are more than [`MOST_RULES`].
    #[error("Failed to parse ACL Policy: there are more than {MOST_RULES} rules")]
    TooMany,
    /// The text is neither HCL nor JSON, or a member has another type than it should.
    #[error("Failed to parse ACL Policy: {0}")]
    Syntax(hcl1::SyntaxError),
    /// A key is unknown, or there twice.
    #[error("Invalid or duplicate policy keys: {0}")]
    Keys(String),
    /// A key inside of a rule is unknown.
    #[error("Invalid {rule} keys: {keys}")]
    RuleKeys {
        /// The rule, with its label.
        rule: String,
        /// The keys.
        keys: String,
    },
    /// There is no rule.
    #[error("Invalid policy: at least one rule is required")]
    Empty,
    /// A label has other characters than it may.
    #[error("Invalid {kind} name: {}", quoted(.label))]
    Label {
        /// The kind of the rule.
        kind: &'static str,
        /// The label.
        label: String,
    },
    /// The value of `policy` is none.
    #[error("Invalid {kind} policy: {} in {rule}", quoted(.word))]
    Word {
        /// The kind of the rule.
        kind: &'static str,
        /// The value.
        word: String,
        /// The rule, with its label.
        rule: String,
    },
    /// A capability is unknown.
    #[error("Invalid {kind} capability '{word}': in {rule}")]
    Capability {
        /// The kind of the rule.
        kind: &'static str,
        /// The word.
        word: String,
        /// The rule, with its label.
        rule: String,
    },
    /// A block of variables names no path.
    #[error("Invalid variable policy: no variable paths in {0}")]
    NoPaths(String),
    /// A path of variables begins with a slash, or is empty.
    #[error("Invalid variable path: {} in {rule}", quoted(.path))]
    Path {
        /// The path.
        path: String,
        /// The rule, with its label.
        rule: String,
    },
}

fn quoted(text: &str) -> String {
    encamp_model::quoted(text)
}

/// A rule with a label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelledRule<C> {
    /// The label: a name, or a pattern with `*`.
    pub label: String,
    /// The value of `policy`.
    pub policy: Option<PolicyWord>,
    /// The capabilities: those that are written, then those of `policy`.
    pub capabilities: Vec<C>,
    /// Rules about variables, for namespaces; none: there is no block.
    pub variables: Option<Vec<PathRule>>,
}

/// A rule about variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathRule {
    /// The path, or a pattern with `*`.
    pub path: String,
    /// What it allows.
    pub capabilities: Vec<VariableCapability>,
}

/// The rule about operators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorRule {
    /// The value of `policy`.
    pub policy: Option<PolicyWord>,
    /// The capabilities: those that are written, then those of `policy`.
    pub capabilities: Vec<OperatorCapability>,
}

/// The rules of one policy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    /// Of namespaces, and of the variables in them.
    pub namespaces: Vec<LabelledRule<Capability>>,
    /// Of node pools.
    pub pools: Vec<LabelledRule<PoolCapability>>,
    /// Of host volumes.
    pub host_volumes: Vec<LabelledRule<HostVolumeCapability>>,
    /// Of agents.
    pub agent: Option<PolicyWord>,
    /// Of nodes.
    pub node: Option<PolicyWord>,
    /// Of quotas.
    pub quota: Option<PolicyWord>,
    /// Of CSI plugins.
    pub plugin: Option<PolicyWord>,
    /// Of the cluster.
    pub operator: Option<OperatorRule>,
    /// Whether there is a rule about soft policies, which has no effect.
    pub sentinel: bool,
}

impl Rules {
    /// Reads a policy that is to be written. An empty text has no rules.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn parse(text: &str) -> Result<Rules, PolicyError> {
        Reader { strict: true, rules: 0 }.read(text)
    }

    /// Reads a stored policy: what is not understood grants nothing.
    pub fn parse_stored(text: &str) -> Rules {
        Reader { strict: false, rules: 0 }.read(text).unwrap_or_default()
    }

    /// The member `RulesJSON` of a policy; `raw` is its text.
    pub fn to_json(&self, raw: &str) -> serde_json::Value {
        let word = |w: Option<PolicyWord>| w.map_or("", PolicyWord::name);
        let simple = |w: Option<PolicyWord>| w.map(|w| json!({ "Policy": w.name() }));
        let paths = |rules: &Vec<PathRule>| {
            let path = |r: &PathRule| json!({ "PathSpec": r.path, "Capabilities": names(&r.capabilities) });
            json!({ "Paths": rules.iter().map(path).collect::<Vec<_>>() })
        };
        let namespaces = listed(&self.namespaces, |r| {
            json!({
                "Name": r.label, "Policy": word(r.policy), "Capabilities": names(&r.capabilities),
                "Variables": r.variables.as_ref().map(paths),
            })
        });
        let pools = listed(
            &self.pools,
            |r| json!({ "Name": r.label, "Policy": word(r.policy), "Capabilities": names(&r.capabilities) }),
        );
        let volumes = listed(
            &self.host_volumes,
            |r| json!({ "Name": r.label, "Policy": word(r.policy), "Capabilities": names(&r.capabilities) }),
        );
        let operator = self.operator.as_ref();
        json!({
            "Namespaces": namespaces, "NodePools": pools, "HostVolumes": volumes,
            "Agent": simple(self.agent), "Node": simple(self.node), "Quota": simple(self.quota),
            "Plugin": simple(self.plugin),
            "Operator": operator.map(|o| json!({ "Policy": word(o.policy), "Capabilities": names(&o.capabilities) })),
            "Sentinel": self.sentinel.then(|| json!({})), "Raw": raw, "ExtraKeysHCL": null,
        })
    }
}

fn names<W: Word>(words: &[W]) -> Option<Vec<&'static str>> {
    (!words.is_empty()).then(|| words.iter().map(|w| w.word()).collect())
}

fn listed<T>(rules: &[T], shown: impl Fn(&T) -> serde_json::Value) -> Option<Vec<serde_json::Value>> {
    (!rules.is_empty()).then(|| rules.iter().map(shown).collect())
}

/// The capabilities that `policy` of a namespace stands for.
pub(crate) fn of_namespace(word: PolicyWord) -> &'static [Capability] {
    use Capability::*;
    const READ: &[Capability] = &[
        ListJobs,
        ParseJob,
        ReadJob,
        CsiListVolume,
        CsiReadVolume,
        ReadJobScaling,
        ListScalingPolicies,
        ReadScalingPolicy,
        HostVolumeRead,
    ];
    const SCALE: &[Capability] =
        &[ListScalingPolicies, ReadScalingPolicy, ReadJobScaling, ScaleJob, ReadJob, SubmitRecommendation];
    const WRITE: &[Capability] = &[
        ListJobs,
        ParseJob,
        ReadJob,
        CsiListVolume,
        CsiReadVolume,
        ReadJobScaling,
        ListScalingPolicies,
        ReadScalingPolicy,
        HostVolumeRead,
        ScaleJob,
        SubmitJob,
        DispatchJob,
        ReadLogs,
        ReadFs,
        AllocExec,
        AllocLifecycle,
        CsiMountVolume,
        CsiWriteVolume,
        SubmitRecommendation,
        HostVolumeCreate,
    ];
    match word {
        PolicyWord::Read => READ,
        PolicyWord::Scale => SCALE,
        PolicyWord::Write => WRITE,
        PolicyWord::Deny => &[Deny],
        PolicyWord::List => &[],
    }
}

fn of_pool(word: PolicyWord) -> &'static [PoolCapability] {
    use PoolCapability::*;
    match word {
        PolicyWord::Read => &[Read],
        PolicyWord::Write => &[Read, Write, Delete],
        PolicyWord::Deny => &[Deny],
        PolicyWord::Scale | PolicyWord::List => &[],
    }
}

fn of_host_volume(word: PolicyWord) -> &'static [HostVolumeCapability] {
    use HostVolumeCapability::*;
    match word {
        PolicyWord::Read => &[MountReadonly],
        PolicyWord::Write => &[MountReadonly, MountReadwrite],
        PolicyWord::Deny => &[Deny],
        PolicyWord::Scale | PolicyWord::List => &[],
    }
}

fn of_operator(word: PolicyWord) -> &'static [OperatorCapability] {
    use OperatorCapability::*;
    match word {
        PolicyWord::Read => &[LicenseRead, KeyringRead],
        PolicyWord::Write => &[SnapshotSave, LicenseRead, KeyringRead, KeyringRotate, KeyringDelete],
        PolicyWord::Deny => &[Deny],
        PolicyWord::Scale | PolicyWord::List => &[],
    }
}

/// What else a capability in a namespace allows.
fn implied(capability: Capability) -> &'static [Capability] {
    use Capability::*;
    match capability {
        HostVolumeWrite => &[HostVolumeRegister, HostVolumeCreate, HostVolumeDelete, HostVolumeRead],
        HostVolumeRegister => &[HostVolumeCreate, HostVolumeRead],
        HostVolumeCreate => &[HostVolumeRead],
        _ => &[],
    }
}

/// Adds words that are not there yet.
fn extend<W: Word>(list: &mut Vec<W>, more: &[W]) {
    for word in more {
        if !list.contains(word) {
            list.push(*word);
        }
    }
}

/// A kind of rules with labels.
struct Kind<C: 'static> {
    name: &'static str,
    /// Characters of labels besides letters, digits, hyphens and wildcards.
    more: &'static [char],
    of_policy: fn(PolicyWord) -> &'static [C],
}

/// The members of a rule, as they are written.
#[derive(Default)]
struct Members<'a> {
    policy: Option<&'a str>,
    capabilities: Vec<&'a str>,
    variables: Vec<&'a [Item]>,
}

struct Reader {
    strict: bool,
    rules: usize,
}

fn wrong(node: &Node, message: &str) -> PolicyError {
    PolicyError::Syntax(hcl1::SyntaxError { pos: node.pos, message: message.into() })
}

/// The objects of a value: one, or a list of them.
fn objects(node: &Node) -> Result<Vec<&[Item]>, PolicyError> {
    match &node.value {
        Value::Object(items) => Ok(vec![items]),
        Value::List(list) => {
            let mut out = Vec::new();
            for node in list {
                match &node.value {
                    Value::Object(items) => out.push(items.as_slice()),
                    _ => return Err(wrong(node, "expected an object")),
                }
            }
            Ok(out)
        }
        _ => Err(wrong(node, "expected a block")),
    }
}

fn text(node: &Node) -> Result<&str, PolicyError> {
    match &node.value {
        Value::String(text) => Ok(text),
        _ => Err(wrong(node, "expected text")),
    }
}

fn texts(node: &Node) -> Result<Vec<&str>, PolicyError> {
    match &node.value {
        Value::List(list) => list.iter().map(text).collect(),
        _ => Err(wrong(node, "expected a list of texts")),
    }
}

impl Reader {
    fn read(mut self, source: &str) -> Result<Rules, PolicyError> {
        if source.len() > LONGEST {
            return Err(PolicyError::TooLong);
        }
        let mut rules = Rules::default();
        if source.trim().is_empty() {
            return Ok(rules);
        }
        let tree = hcl1::parse(source).map_err(PolicyError::Syntax)?;
        let Value::Object(items) = &tree.value else { return Err(wrong(&tree, "expected rules")) };
        let mut unknown: Vec<&str> = Vec::new();
        for item in items {
            if !self.rule(&mut rules, item)? {
                unknown.push(&item.key);
            }
        }
        if self.strict && !unknown.is_empty() {
            return Err(PolicyError::Keys(unknown.join(", ")));
        }
        if self.strict && items.is_empty() {
            return Err(PolicyError::Empty);
        }
        Ok(rules)
    }

    /// Reads a rule; false: its key is unknown, or there twice.
    fn rule(&mut self, rules: &mut Rules, item: &Item) -> Result<bool, PolicyError> {
        match item.key.as_str() {
            "namespace" => {
                const KIND: Kind<Capability> = Kind { name: "namespace", more: &[], of_policy: of_namespace };
                let mut read = self.labelled(&KIND, item, Capability::Deny)?;
                for rule in &mut read {
                    let more: Vec<Capability> = rule.capabilities.iter().flat_map(|c| implied(*c)).copied().collect();
                    extend(&mut rule.capabilities, &more);
                }
                rules.namespaces.extend(read);
            }
            "node_pool" => {
                const KIND: Kind<PoolCapability> = Kind { name: "node pool", more: &['_'], of_policy: of_pool };
                rules.pools.extend(self.labelled(&KIND, item, PoolCapability::Deny)?);
            }
            "host_volume" => {
                const KIND: Kind<HostVolumeCapability> =
                    Kind { name: "host volume", more: &[], of_policy: of_host_volume };
                rules.host_volumes.extend(self.labelled(&KIND, item, HostVolumeCapability::Deny)?);
            }
            "agent" => return self.single("agent", &mut rules.agent, item),
            "node" => return self.single("node", &mut rules.node, item),
            "quota" => return self.single("quota", &mut rules.quota, item),
            "plugin" => return self.single("plugin", &mut rules.plugin, item),
            "operator" => return self.operator(&mut rules.operator, item),
            "sentinel" => rules.sentinel = true,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn count(&mut self) -> Result<(), PolicyError> {
        self.rules += 1;
        if self.rules > MOST_RULES { Err(PolicyError::TooMany) } else { Ok(()) }
    }

    /// Rules with labels: a label gives an object with one member, whose key is the label.
    fn labelled<C: Word + std::str::FromStr>(
        &mut self,
        kind: &Kind<C>,
        item: &Item,
        deny: C,
    ) -> Result<Vec<LabelledRule<C>>, PolicyError> {
        let mut out = Vec::new();
        for labels in objects(&item.value)? {
            for labelled in labels {
                let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '*' || kind.more.contains(&c);
                let label = &labelled.key;
                if !(1..=128).contains(&label.len()) || !label.chars().all(fits) {
                    if self.strict {
                        return Err(PolicyError::Label { kind: kind.name, label: label.clone() });
                    }
                    continue;
                }
                for members in objects(&labelled.value)? {
                    self.count()?;
                    let rule = format!("{} {}", item.key, quoted(label));
                    out.extend(self.labelled_rule(kind, label, &rule, members, deny)?);
                }
            }
        }
        Ok(out)
    }

    fn labelled_rule<C: Word + std::str::FromStr>(
        &mut self,
        kind: &Kind<C>,
        label: &str,
        rule: &str,
        items: &[Item],
        deny: C,
    ) -> Result<Option<LabelledRule<C>>, PolicyError> {
        let members = self.members(rule, items, true, item_may_have_variables(kind.name))?;
        let (policy, mut capabilities) = self.granted::<C>(kind.name, rule, &members)?;
        if let Some(word) = policy {
            extend(&mut capabilities, (kind.of_policy)(word));
        }
        if capabilities.contains(&deny) && kind.name != "namespace" {
            capabilities = vec![deny];
        }
        let variables = match members.variables.as_slice() {
            [] => None,
            blocks => Some(self.paths(rule, blocks)?),
        };
        Ok(Some(LabelledRule { label: label.into(), policy, capabilities, variables }))
    }

    /// The members that a rule may have.
    fn members<'a>(
        &self,
        rule: &str,
        items: &'a [Item],
        capabilities: bool,
        variables: bool,
    ) -> Result<Members<'a>, PolicyError> {
        let mut members = Members::default();
        let mut unknown = Vec::new();
        for item in items {
            match item.key.as_str() {
                "policy" => members.policy = Some(text(&item.value)?).filter(|word| !word.is_empty()),
                "capabilities" if capabilities => members.capabilities.extend(texts(&item.value)?),
                "variables" if variables => members.variables.extend(objects(&item.value)?),
                key => unknown.push(key),
            }
        }
        if self.strict && !unknown.is_empty() {
            return Err(PolicyError::RuleKeys { rule: rule.into(), keys: unknown.join(", ") });
        }
        Ok(members)
    }

    /// The words of a rule.
    fn granted<C: Word + std::str::FromStr>(
        &self,
        kind: &'static str,
        rule: &str,
        members: &Members<'_>,
    ) -> Result<(Option<PolicyWord>, Vec<C>), PolicyError> {
        let mut capabilities = Vec::new();
        for word in &members.capabilities {
            match word.parse() {
                Ok(capability) => extend(&mut capabilities, &[capability]),
                Err(_) if self.strict => {
                    return Err(PolicyError::Capability { kind, word: (*word).into(), rule: rule.into() });
                }
                Err(_) => {}
            }
        }
        Ok((self.word(kind, rule, members.policy)?, capabilities))
    }

    fn word(&self, kind: &'static str, rule: &str, word: Option<&str>) -> Result<Option<PolicyWord>, PolicyError> {
        let Some(word) = word else { return Ok(None) };
        match word.parse::<PolicyWord>() {
            Ok(PolicyWord::List) if kind != "plugin" => {}
            Ok(known) => return Ok(Some(known)),
            Err(_) => {}
        }
        match self.strict {
            true => Err(PolicyError::Word { kind, word: word.into(), rule: rule.into() }),
            false => Ok(None),
        }
    }

    /// `variables { path "…" { capabilities = […] } }`.
    fn paths(&mut self, rule: &str, blocks: &[&[Item]]) -> Result<Vec<PathRule>, PolicyError> {
        let mut out = Vec::new();
        for item in blocks.iter().copied().flatten() {
            if item.key != "path" {
                if self.strict {
                    return Err(PolicyError::RuleKeys { rule: format!("{rule} variables"), keys: item.key.clone() });
                }
                continue;
            }
            for paths in objects(&item.value)? {
                for path in paths {
                    self.count()?;
                    if path.key.is_empty() || path.key.starts_with('/') {
                        if self.strict {
                            return Err(PolicyError::Path { path: path.key.clone(), rule: rule.into() });
                        }
                        continue;
                    }
                    let mut capabilities = Vec::new();
                    for members in objects(&path.value)? {
                        let members =
                            self.members(&format!("{rule} path {}", quoted(&path.key)), members, true, false)?;
                        let granted = self.granted::<VariableCapability>("variable", rule, &members)?;
                        extend(&mut capabilities, &granted.1);
                    }
                    if capabilities.contains(&VariableCapability::Deny) {
                        capabilities = vec![VariableCapability::Deny];
                    } else if capabilities.contains(&VariableCapability::Read) {
                        extend(&mut capabilities, &[VariableCapability::List]);
                    }
                    out.push(PathRule { path: path.key.clone(), capabilities });
                }
            }
        }
        if self.strict && out.is_empty() {
            return Err(PolicyError::NoPaths(rule.into()));
        }
        Ok(out)
    }

    /// A rule without a label; false: it is there twice.
    fn single(&mut self, kind: &'static str, rule: &mut Option<PolicyWord>, item: &Item) -> Result<bool, PolicyError> {
        let blocks = objects(&item.value)?;
        if self.strict && (rule.is_some() || blocks.len() != 1) {
            return Ok(false);
        }
        for items in blocks {
            let members = self.members(kind, items, false, false)?;
            let word = self.word(kind, kind, members.policy)?;
            if self.strict && word.is_none() {
                return Err(PolicyError::Word { kind, word: String::new(), rule: kind.into() });
            }
            *rule = word.or(*rule);
        }
        Ok(true)
    }

    fn operator(&mut self, rule: &mut Option<OperatorRule>, item: &Item) -> Result<bool, PolicyError> {
        const KIND: &str = "operator";
        let blocks = objects(&item.value)?;
        if self.strict && (rule.is_some() || blocks.len() != 1) {
            return Ok(false);
        }
        for items in blocks {
            let members = self.members(KIND, items, true, false)?;
            let (policy, mut capabilities) = self.granted::<OperatorCapability>(KIND, KIND, &members)?;
            if let Some(word) = policy {
                extend(&mut capabilities, of_operator(word));
            }
            if capabilities.contains(&OperatorCapability::Deny) {
                capabilities = vec![OperatorCapability::Deny];
            }
            *rule = Some(OperatorRule { policy, capabilities });
        }
        Ok(true)
    }
}

/// Only namespaces have rules about variables.
fn item_may_have_variables(kind: &str) -> bool {
    kind == "namespace"
}
