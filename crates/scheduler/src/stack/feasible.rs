//! Whether a node can run a group at all: the checks that depend on the node alone, cached per computed class
//! (`docs/spec/scheduling.md §5, 6.1-6.5`).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::by_class::ByClass;
use super::compiled::CompiledGroup;
use super::devices;
use crate::constraint::{Check, ClassCheck, Target};
use encamp_model::Node;
use encamp_model::quote::quoted;
use encamp_model::version::{VersionConstraints, VersionRules};
use encamp_state::NodeIndex;

/// The reason of every node after the first of a class that can't run the job or group.
pub const CLASS_INELIGIBLE: &str = "computed class ineligible";

/// The reason of nodes without a driver of the group.
pub(crate) const MISSING_DRIVERS: &str = "missing drivers";

/// Verdicts on one job or group by class.
type Verdicts = ByClass<bool>;

/// Verdicts per computed class, by the class numbers of the node index; groups are numbered by name.
#[derive(Debug, Clone)]
pub(crate) struct ClassCache {
    /// How many classes the nodes have.
    classes: usize,
    job: Verdicts,
    groups: Vec<(String, Verdicts)>,
    /// Classes with a verdict, so that forgetting costs no more than remembering.
    known: Vec<usize>,
}

impl ClassCache {
    /// Nothing is known about so many classes.
    pub(crate) fn new(classes: usize) -> ClassCache {
        ClassCache { classes, job: Verdicts::new(classes), groups: Vec::new(), known: Vec::new() }
    }

    /// The number of a group.
    pub(crate) fn group_number(&mut self, name: &str) -> usize {
        self.groups.iter().position(|(n, _)| n == name).unwrap_or_else(|| {
            self.groups.push((name.to_string(), Verdicts::new(self.classes)));
            self.groups.len() - 1
        })
    }

    /// Forgets all verdicts, keeps the numbers.
    pub(crate) fn clear(&mut self) {
        for class in self.known.drain(..) {
            self.job.forget(class);
            self.groups.iter_mut().for_each(|(_, v)| v.forget(class));
        }
    }

    /// The job's verdict on a class.
    pub(crate) fn job(&self, class: usize) -> Option<bool> {
        self.job.get(class)
    }

    /// Remembers the job's verdict.
    pub(crate) fn set_job(&mut self, class: usize, eligible: bool) {
        self.known.push(class);
        self.job.set(class, eligible);
    }

    /// A group's verdict on a class.
    pub(crate) fn group(&self, group: usize, class: usize) -> Option<bool> {
        self.groups.get(group)?.1.get(class)
    }

    /// Remembers a group's verdict.
    pub(crate) fn set_group(&mut self, group: usize, class: usize, eligible: bool) {
        self.known.push(class);
        if let Some((_, v)) = self.groups.get_mut(group) {
            v.set(class, eligible);
        }
    }

    /// The classes that a blocked evaluation records (`docs/spec/scheduling.md §5.4`): eligible if any group can run
    /// there, ineligible if none can, and always ineligible where the job can't.
    pub(crate) fn eligibility(&self, names: &[String]) -> BTreeMap<String, bool> {
        let mut out: BTreeMap<String, bool> = BTreeMap::new();
        for (_, verdicts) in &self.groups {
            for (name, v) in names.iter().zip(verdicts.iter()) {
                if let Some(v) = v {
                    *out.entry(name.clone()).or_insert(false) |= v;
                }
            }
        }
        for (name, v) in names.iter().zip(self.job.iter()) {
            match v {
                Some(false) => {
                    out.insert(name.clone(), false);
                }
                Some(true) => {
                    out.entry(name.clone()).or_insert(true);
                }
                None => {}
            }
        }
        out
    }
}

/// Constraints with what they say about computed classes. Unlike the [`ClassCache`] this only saves work: it never
/// changes what a node receives.
#[derive(Debug, Clone)]
pub(crate) struct Constraints {
    checks: Vec<ClassCheck>,
    escaped: bool,
}

impl Constraints {
    /// Constraints in the order in which they are checked.
    pub(crate) fn new(checks: impl Iterator<Item = Check>, index: &NodeIndex) -> Constraints {
        let checks: Vec<ClassCheck> = checks.map(|c| ClassCheck::new(c, index)).collect();
        Constraints { escaped: checks.iter().any(|c| c.check.escaped), checks }
    }

    /// All of them.
    pub(crate) fn checks(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().map(|c| &c.check)
    }

    /// Whether any depends on more than the computed class.
    pub(crate) fn escaped(&self) -> bool {
        self.escaped
    }

    /// The first constraint the node does not meet. `class_holds`: what is true of the class is true of the node.
    /// The record of the node is read only if that does not suffice.
    pub(crate) fn failing<'n>(&self, node: impl Fn() -> &'n Node, class: usize, class_holds: bool) -> Option<&Check> {
        self.checks.iter().find(|c| !c.matches(&node, class, class_holds)).map(|c| &c.check)
    }
}

/// The network check. It keeps the mode and ports of the last group that had a network, also for groups that have
/// none (a quirk of Nomad).
#[derive(Debug, Clone, Default)]
pub(crate) struct NetworkCheck {
    group: Option<Arc<CompiledGroup>>,
}

impl NetworkCheck {
    /// Takes over the group's network, if it has one.
    pub(crate) fn set_group(&mut self, group: &Arc<CompiledGroup>) {
        if group.network.is_some() {
            self.group = Some(group.clone());
        }
    }

    /// The group whose network is checked.
    pub(crate) fn group(&self) -> Option<&Arc<CompiledGroup>> {
        self.group.as_ref()
    }

    /// Whether that is the given group.
    pub(crate) fn is_of(&self, group: Option<&Arc<CompiledGroup>>) -> bool {
        self.group.as_ref().map(Arc::as_ptr) == group.map(Arc::as_ptr)
    }

    /// The facts of a node on which [`group_refuses`] depends besides constraints, as a key for its verdicts; `None` if
    /// it depends on others than drivers, attributes and resources, or on devices, whose checks have no such key.
    pub(crate) fn facts(&self, group: &CompiledGroup) -> Option<String> {
        let ask = self.group.as_ref().and_then(|g| g.network.as_ref());
        let ports = || ask.into_iter().flat_map(|a| a.dynamic_ports.iter().chain(&a.reserved_ports));
        let fixed = ports().all(|p| !p.host_network.starts_with("${"));
        let hosts: Vec<&str> = ports().map(|p| p.host_network.as_str()).filter(|h| !h.is_empty()).collect();
        let mode = mode_of(ask.map_or("", |a| &a.mode));
        let key = || format!("{:?}", (&group.drivers, &group.secrets, mode, hosts));
        (fixed && group.devices.is_empty()).then(key)
    }

    /// Why the node's networks can't serve the group, if they can't.
    fn refuses(&self, node: &Node) -> Option<Cow<'static, str>> {
        let ask = self.group.as_ref().and_then(|g| g.network.as_ref());
        let mode = mode_of(ask.map_or("", |a| &a.mode));
        if mode == "none" {
            return None;
        }
        let resources = node.node_resources.as_ref();
        let has_mode = resources.is_some_and(|r| r.networks.iter().any(|n| mode_of(&n.mode) == mode));
        if !has_mode {
            // Clients before 0.12 did not report bridges.
            let old = mode == "bridge" && node.attributes.get("nomad.version").is_some_and(|v| before_bridges(v));
            return if old { None } else { Some("missing network".into()) };
        }
        let ask = ask?;
        for p in ask.dynamic_ports.iter().chain(&ask.reserved_ports).filter(|p| !p.host_network.is_empty()) {
            let Some(alias) = Target::parse(&p.host_network).resolve(node).map(str::to_string) else {
                let (network, label) = (quoted(&p.host_network), quoted(&p.label));
                return Some(format!("invalid host network {network} template for port {label}").into());
            };
            let mut addresses =
                resources.into_iter().flat_map(|r| r.node_networks.iter().flatten()).flat_map(|n| &n.addresses);
            if !addresses.any(|a| a.alias == alias) {
                return Some(format!("missing host network {} for port {}", quoted(&alias), quoted(&p.label)).into());
            }
        }
        None
    }
}

fn mode_of(mode: &str) -> &str {
    if mode.is_empty() { "host" } else { mode }
}

fn before_bridges(version: &str) -> bool {
    VersionConstraints::parse("< 0.12", VersionRules::Loose).is_ok_and(|c| c.matches_str(version))
}

/// Whether a node has a driver that works.
pub(crate) fn has_driver(node: &Node, driver: &str) -> bool {
    match node.drivers.get(driver) {
        Some(d) => d.detected && d.healthy,
        None => {
            node.attributes.get(&format!("driver.{driver}")).is_some_and(|v| encamp_model::parse_bool(v) == Some(true))
        }
    }
}

/// The checks of a group that the class cache covers, in order. `Some` tells why the node can't.
/// `failing` gives the text of the first constraint that is not met.
pub(crate) fn group_refuses(
    group: &CompiledGroup,
    failing: impl FnOnce(&Node) -> Option<String>,
    network: &NetworkCheck,
    node: &Node,
) -> Option<Cow<'static, str>> {
    if !group.drivers.iter().all(|d| has_driver(node, d)) {
        return Some(MISSING_DRIVERS.into());
    }
    if let Some(text) = failing(node) {
        return Some(text.into());
    }
    let devices = node.node_resources.as_ref().map_or(&[][..], |r| &r.devices);
    if !devices::feasible(&group.devices, devices) {
        return Some("missing devices".into());
    }
    if let Some(reason) = network.refuses(node) {
        return Some(reason);
    }
    if !group.secrets.iter().all(|s| node.attributes.contains_key(s)) {
        return Some("missing secrets provider".into());
    }
    None
}
