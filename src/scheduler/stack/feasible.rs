//! Can a node run a group at all: the checks that depend on the node alone, remembered per computed class
//! (`spec/scheduling.md §5, 6.1-6.5`).

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use super::compiled::CompiledGroup;
use super::devices;
use crate::model::quote::quoted;
use crate::model::version::{VersionConstraints, VersionRules};
use crate::model::{NetworkResource, Node};
use crate::scheduler::constraint::{Check, Target};

/// The reason of every node after the first of a class that can't run the job or group.
pub const CLASS_INELIGIBLE: &str = "computed class ineligible";

/// Verdicts per computed class; classes are numbered.
#[derive(Debug, Clone, Default)]
pub struct ClassCache {
    numbers: HashMap<String, usize>,
    names: Vec<String>,
    job: Vec<Option<bool>>,
    groups: BTreeMap<String, Vec<Option<bool>>>,
}

impl ClassCache {
    /// The number of a class.
    pub fn number(&mut self, class: &str) -> usize {
        if let Some(n) = self.numbers.get(class) {
            return *n;
        }
        self.numbers.insert(class.to_string(), self.names.len());
        self.names.push(class.to_string());
        self.names.len() - 1
    }

    /// Forgets all verdicts, keeps the numbers.
    pub fn clear(&mut self) {
        self.job.clear();
        self.groups.clear();
    }

    /// The job's verdict on a class.
    pub fn job(&self, class: usize) -> Option<bool> {
        self.job.get(class).copied().flatten()
    }

    /// Remembers the job's verdict.
    pub fn set_job(&mut self, class: usize, eligible: bool) {
        set(&mut self.job, class, eligible);
    }

    /// A group's verdict on a class.
    pub fn group(&self, group: &str, class: usize) -> Option<bool> {
        self.groups.get(group)?.get(class).copied().flatten()
    }

    /// Remembers a group's verdict.
    pub fn set_group(&mut self, group: &str, class: usize, eligible: bool) {
        match self.groups.get_mut(group) {
            Some(v) => set(v, class, eligible),
            None => {
                let mut v = Vec::new();
                set(&mut v, class, eligible);
                self.groups.insert(group.to_string(), v);
            }
        }
    }

    /// What a blocked evaluation remembers (`§5.4`): eligible if any group can run there, ineligible if none can, and
    /// always ineligible where the job can't.
    pub fn eligibility(&self) -> BTreeMap<String, bool> {
        let mut out: BTreeMap<String, bool> = BTreeMap::new();
        for verdicts in self.groups.values() {
            for (name, v) in self.names.iter().zip(verdicts) {
                if let Some(v) = v {
                    *out.entry(name.clone()).or_insert(false) |= *v;
                }
            }
        }
        for (name, v) in self.names.iter().zip(&self.job) {
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

fn set(v: &mut Vec<Option<bool>>, i: usize, eligible: bool) {
    if v.len() <= i {
        v.resize(i + 1, None);
    }
    v[i] = Some(eligible);
}

/// The first constraint the node does not meet.
pub fn failing<'a>(constraints: &'a [Check], node: &Node) -> Option<&'a Check> {
    constraints.iter().find(|c| !c.matches(node))
}

/// The network check. It keeps the mode and ports of the last group that had a network, also for groups that have
/// none (a quirk of the reference).
#[derive(Debug, Clone, Default)]
pub struct NetworkCheck {
    ask: Option<NetworkResource>,
}

impl NetworkCheck {
    /// Takes over the group's network, if it has one.
    pub fn set_group(&mut self, group: &CompiledGroup) {
        if group.network.is_some() {
            self.ask = group.network.clone();
        }
    }

    /// Why the node's networks can't serve the group, if they can't.
    fn refuses(&self, node: &Node) -> Option<Cow<'static, str>> {
        let default = |m: &str| if m.is_empty() { "host".to_string() } else { m.to_string() };
        let mode = default(self.ask.as_ref().map_or("", |a| &a.mode));
        if mode == "none" {
            return None;
        }
        let resources = node.node_resources.as_ref();
        let has_mode = resources.is_some_and(|r| r.networks.iter().any(|n| default(&n.mode) == mode));
        if !has_mode {
            // Clients before 0.12 did not report bridges.
            let old = mode == "bridge" && node.attributes.get("nomad.version").is_some_and(|v| before_bridges(v));
            return if old { None } else { Some("missing network".into()) };
        }
        let ask = self.ask.as_ref()?;
        for p in ask.dynamic_ports.iter().chain(&ask.reserved_ports).filter(|p| !p.host_network.is_empty()) {
            let Some(alias) = Target::parse(&p.host_network).resolve(node).map(str::to_string) else {
                let (network, label) = (quoted(&p.host_network), quoted(&p.label));
                return Some(format!("invalid host network {network} template for port {label}").into());
            };
            let networks = resources.map_or(&[][..], |r| &r.node_networks);
            if !networks.iter().flat_map(|n| &n.addresses).any(|a| a.alias == alias) {
                return Some(format!("missing host network {} for port {}", quoted(&alias), quoted(&p.label)).into());
            }
        }
        None
    }
}

fn before_bridges(version: &str) -> bool {
    VersionConstraints::parse("< 0.12", VersionRules::Loose).is_ok_and(|c| c.matches_str(version))
}

fn parses_true(v: &str) -> bool {
    matches!(v, "1" | "t" | "T" | "true" | "TRUE" | "True")
}

fn has_driver(node: &Node, driver: &str) -> bool {
    match node.drivers.get(driver) {
        Some(d) => d.detected && d.healthy,
        None => node.attributes.get(&format!("driver.{driver}")).is_some_and(|v| parses_true(v)),
    }
}

/// The checks of a group that the class cache covers, in order. `Some` tells why the node can't.
pub fn group_refuses(group: &CompiledGroup, network: &NetworkCheck, node: &Node) -> Option<Cow<'static, str>> {
    if !group.drivers.iter().all(|d| has_driver(node, d)) {
        return Some("missing drivers".into());
    }
    if let Some(c) = failing(&group.constraints, node) {
        return Some(c.text.clone().into());
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
