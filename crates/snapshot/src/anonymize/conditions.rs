//! Constraints and affinities: the same nodes satisfy them before and after.
//!
//! Where renaming both sides is enough (equality, sets), they are renamed. Order, patterns and versions do not survive
//! renaming: such a condition stays if all its parts are harmless, and otherwise becomes a check for a generated
//! attribute, which the nodes that satisfy the condition get.

use std::collections::{BTreeSet, HashMap};

use super::names::{Kind, Names};
use super::words;
use encamp_model::{Constraint, Node, regexp};

/// Whether a node satisfies some constraint.
pub(crate) type Test = Box<dyn Fn(&Node) -> bool>;

/// The tests of the scheduler that are needed here. They are passed in: this crate does not use the scheduler.
pub struct Judge<'a> {
    /// Makes the test whether a node satisfies a constraint.
    pub constraint: &'a dyn Fn(&Constraint) -> Test,
    /// Whether a pattern of a job matches a datacenter.
    pub datacenter: &'a dyn Fn(&str, &str) -> bool,
}

/// Left side, operand, right side.
pub type Condition = (String, String, String);

/// One side of a condition.
enum Side<'a> {
    Literal(&'a str),
    NodeId,
    Named(Kind),
    Attribute(&'a str),
    Meta(&'a str),
    Unknown,
}

/// Prefixes of references to what differs from node to node of a class (`docs/spec/scheduling.md §5.2`).
const UNIQUE: [&str; 4] = ["${unique.", "${node.unique.", "${attr.unique.", "${meta.unique."];

impl<'a> Side<'a> {
    fn of(text: &'a str) -> Side<'a> {
        let key = |rest: &'a str| rest.strip_suffix('}').unwrap_or(rest);
        match text {
            "${node.unique.id}" => Side::NodeId,
            "${node.datacenter}" => Side::Named(Kind::Datacenter),
            "${node.unique.name}" => Side::Named(Kind::Node),
            "${node.class}" => Side::Named(Kind::Class),
            "${node.pool}" => Side::Named(Kind::Pool),
            _ if !text.starts_with("${") => Side::Literal(text),
            _ => match (text.strip_prefix("${attr."), text.strip_prefix("${meta.")) {
                (Some(rest), _) => Side::Attribute(key(rest)),
                (_, Some(rest)) => Side::Meta(key(rest)),
                _ => Side::Unknown,
            },
        }
    }

    /// The kind as which its values are replaced; `None` if any will do.
    fn kind(&self) -> Option<Kind> {
        match self {
            Side::Named(kind) => Some(*kind),
            Side::NodeId | Side::Attribute(_) | Side::Meta(_) => Some(Kind::Value),
            Side::Literal(_) | Side::Unknown => None,
        }
    }

    /// Whether its values stay as they are.
    fn plain(&self, names: &Names) -> bool {
        match self {
            Side::Literal(text) => words::plain_text(text, |word| names.keeps_value(word)),
            Side::NodeId => false,
            Side::Named(kind) => names.keeps(*kind),
            Side::Attribute(key) => words::plain_attribute(key) || names.keeps(Kind::Value),
            Side::Meta(_) => names.keeps(Kind::Value),
            Side::Unknown => true,
        }
    }
}

/// The replacement of a reference (or any other text).
pub fn reference(names: &mut Names, text: &str) -> String {
    let close = if text.ends_with('}') { "}" } else { "" };
    match Side::of(text) {
        Side::Literal(text) => names.value(text),
        Side::NodeId | Side::Named(_) => text.to_string(),
        Side::Attribute(key) => format!("${{attr.{}{close}", names.attribute_key(key)),
        Side::Meta(key) => format!("${{meta.{}{close}", names.meta_key(key)),
        Side::Unknown => {
            let prefix = UNIQUE.into_iter().find(|p| text.starts_with(p)).unwrap_or("${");
            let rest = text.get(prefix.len()..).unwrap_or_default();
            format!("{prefix}{}{close}", names.name(Kind::Key, rest.strip_suffix('}').unwrap_or(rest)))
        }
    }
}

/// The replacement of a value that is compared with a reference.
pub(crate) fn value_of(names: &mut Names, reference: &str, value: &str) -> String {
    literal(names, Side::of(reference).kind(), value, false)
}

fn literal(names: &mut Names, kind: Option<Kind>, text: &str, set: bool) -> String {
    match kind {
        None | Some(Kind::Value) => names.value(text),
        Some(kind) if set => text.split(',').map(|part| names.name(kind, part.trim())).collect::<Vec<_>>().join(","),
        Some(kind) => names.name(kind, text),
    }
}

/// All conditions of a cluster.
pub(crate) struct Conditions<'a> {
    judge: &'a Judge<'a>,
    nodes: &'a [Node],
    /// The names of hardware on the nodes.
    hardware: BTreeSet<String>,
    known: HashMap<Condition, Condition>,
    /// Generated attributes and the positions of the nodes that get them.
    pub checks: Vec<(String, Vec<usize>)>,
}

impl<'a> Conditions<'a> {
    /// Of a cluster of these nodes.
    pub(crate) fn new(nodes: &'a [Node], judge: &'a Judge<'a>) -> Conditions<'a> {
        let devices = nodes.iter().flat_map(|n| &n.node_resources).flat_map(|r| &r.devices);
        let mut hardware = BTreeSet::new();
        for d in devices {
            hardware.extend([d.vendor.clone(), d.r#type.clone(), d.name.clone()]);
            hardware.extend(d.attributes.values().filter_map(|a| a.string.clone()));
        }
        Conditions { judge, nodes, hardware, known: HashMap::new(), checks: Vec::new() }
    }

    /// The replacement of a constraint or of the condition of an affinity.
    pub(crate) fn rename(&mut self, names: &mut Names, condition: &Condition) -> Condition {
        if !names.collecting()
            && let Some(known) = self.known.get(condition)
        {
            return known.clone();
        }
        let renamed = self.renamed(names, condition);
        if !names.collecting() {
            self.known.insert(condition.clone(), renamed.clone());
        }
        renamed
    }

    fn renamed(&mut self, names: &mut Names, condition: &Condition) -> Condition {
        let (left, operand, right) = condition;
        let (l, r) = (Side::of(left), Side::of(right));
        let set = operand.starts_with("set_contains");
        let sides = |names: &mut Names| {
            let kind = l.kind().or(r.kind());
            let side = |names: &mut Names, text: &str, side: &Side| match side {
                Side::Literal(text) => literal(names, kind, text, set),
                _ => reference(names, text),
            };
            (side(names, left, &l), operand.clone(), side(names, right, &r))
        };
        match operand.as_str() {
            "distinct_hosts" | "distinct_property" if words::plain_text(right, words::harmless) => {
                (reference(names, left), operand.clone(), right.clone())
            }
            "distinct_hosts" | "distinct_property" | "is_set" | "is_not_set" => {
                (reference(names, left), operand.clone(), names.value(right))
            }
            "=" | "==" | "is" | "!=" | "not" | "set_contains" | "set_contains_all" | "set_contains_any" => {
                let same = l.kind().is_none() || r.kind().is_none() || l.kind() == r.kind();
                if same { sides(names) } else { self.check(names, condition) }
            }
            "<" | "<=" | ">" | ">=" | "regexp" | "version" | "semver" => {
                if l.plain(names) && r.plain(names) {
                    let side = |names: &mut Names, text: &str, side: &Side| match side {
                        Side::Literal(text) => text.to_string(),
                        _ => reference(names, text),
                    };
                    return (side(names, left, &l), operand.clone(), side(names, right, &r));
                }
                self.check(names, condition)
            }
            _ => (reference(names, left), names.name(Kind::Key, operand), names.value(right)),
        }
    }

    /// Replaces the condition with a check for a generated attribute.
    fn check(&mut self, names: &Names, (left, operand, right): &Condition) -> Condition {
        if names.collecting() {
            return Condition::default();
        }
        let unique = UNIQUE.iter().any(|p| left.starts_with(p) || right.starts_with(p));
        let key = format!("{}anonymous.check{}", if unique { "unique." } else { "" }, self.checks.len() + 1);
        let holds = (self.judge.constraint)(&Constraint {
            ltarget: left.clone(),
            rtarget: right.clone(),
            operand: operand.clone(),
        });
        let nodes = self.nodes.iter().enumerate().filter(|(_, n)| holds(n)).map(|(i, _)| i);
        self.checks.push((key.clone(), nodes.collect()));
        (format!("${{attr.{key}}}"), "is_set".into(), String::new())
    }

    /// The replacement of a condition of a device request. Names of hardware stay.
    pub(crate) fn rename_device(&self, names: &mut Names, (left, operand, right): &Condition) -> Condition {
        let ids = left == "${device.ids}" || right == "${device.ids}";
        let mut side = |text: &str| self.device_side(names, text, operand == "regexp", ids);
        (side(left), operand.clone(), side(right))
    }

    fn device_side(&self, names: &mut Names, text: &str, pattern: bool, ids: bool) -> String {
        if text.starts_with("${device.") {
            return text.to_string();
        }
        let plain = |word: &str| words::harmless(word) || self.hardware.contains(word);
        match regexp::compile(text) {
            _ if !ids && words::plain_text(text, plain) => text.to_string(),
            Ok(regexp) if pattern => {
                let of_ids = self.nodes.iter().flat_map(|n| &n.node_resources).flat_map(|r| &r.devices);
                let of_ids = of_ids.flat_map(|d| &d.instances).map(|i| &i.id).filter(|_| ids);
                let matched: Vec<&String> = match ids {
                    true => of_ids.filter(|id| regexp.is_match(id)).collect(),
                    false => self.hardware.iter().filter(|fact| regexp.is_match(fact)).collect(),
                };
                let mut parts: Vec<String> = matched
                    .into_iter()
                    .map(|text| regex::escape(&if ids { names.id(text) } else { text.clone() }))
                    .collect();
                parts.push(names.name(Kind::Key, text));
                format!("^({})$", parts.join("|"))
            }
            _ => names.value(text),
        }
    }

    /// The replacement of the name of a device request, or of a part of it.
    pub(crate) fn hardware(&self, names: &mut Names, text: &str) -> String {
        let parts = text.split('/').map(|part| match self.hardware.contains(part) {
            true => part.to_string(),
            false => names.name(Kind::Key, part),
        });
        parts.collect::<Vec<_>>().join("/")
    }

    /// The replacement of the datacenters of a job: the names that match a pattern, and one for the pattern.
    pub(crate) fn datacenters(&self, names: &mut Names, patterns: &[String]) -> Vec<String> {
        let existing: BTreeSet<&str> = self.nodes.iter().map(|n| n.datacenter.as_str()).collect();
        let mut out = Vec::new();
        for pattern in patterns {
            if pattern == "*" {
                out.push(pattern.clone());
                continue;
            }
            out.push(names.name(Kind::Datacenter, pattern));
            if pattern.contains('*') {
                let matched = existing.iter().filter(|dc| (self.judge.datacenter)(pattern, dc));
                out.extend(matched.map(|dc| names.name(Kind::Datacenter, dc)));
            }
        }
        out
    }
}
