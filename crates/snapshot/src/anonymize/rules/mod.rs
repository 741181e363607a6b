//! The rules for each member of the API's objects. Members without a rule are dropped or hidden, unless they are
//! numbers or booleans.
//!
//! This file: the kinds of rules, and tables that several objects share. `nodes`: nodes, pools, namespaces, volumes;
//! `jobs`; `records`: allocations and deployments.

mod jobs;
mod nodes;
mod records;

pub(crate) use jobs::{JOB, SERVER_SETTINGS};
pub(crate) use nodes::{CLAIM, CONFIGURATION, CSI_VOLUME, HOST_VOLUME, NAMESPACE, NODE, POOL};
pub(crate) use records::{ALLOCATION, DEPLOYMENT};

use super::names::Kind;

/// The rule for a value. It applies to each item of a list.
#[derive(Debug)]
pub(crate) enum Rule {
    /// It stays: times.
    Keep,
    /// It stays if it holds nothing but digits, signs and harmless words: lists of ports, cron expressions.
    Plain,
    /// A name of hardware: stays if some node has it.
    Hardware,
    /// It goes.
    Drop,
    /// A word of the API or a name of that sort.
    Word,
    /// A name.
    Name(Kind),
    /// The ID of a node, allocation, deployment, evaluation.
    Id,
    /// The ID of a job, or that of a job made by another one.
    JobId,
    /// A value of an attribute or of metadata.
    Value,
    /// An address.
    Address,
    /// A mode of a network: a word, or `cni/` and a name.
    NetworkMode,
    /// A host network: its name, or a reference to the node.
    Reference,
    /// The kind of a task: a word, a colon and the name of a service.
    TaskKind,
    /// Text that only has to stay the same where it was the same in a job.
    Secret,
    /// Any JSON, hidden at its leaves.
    Free,
    /// An object, or a list of them.
    In(&'static Table),
    /// Entries by key.
    Map(Key, &'static Rule),
    /// The attributes of a node.
    Attributes,
    /// Constraints or affinities.
    Conditions,
    /// Those of a device request.
    DeviceConditions,
    /// Spreads.
    Spreads,
    /// The datacenters of a job: names and patterns.
    Datacenters,
    /// A job.
    Job,
}

/// The rule for the keys of a map.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Key {
    /// Names.
    Name(Kind),
    /// Words of the API or names of that sort.
    Word,
    /// IDs.
    Id,
    /// Keys of node metadata: a leading `unique.` stays.
    Meta,
}

/// The members of an object.
#[derive(Debug)]
pub(crate) struct Table {
    /// The rules for members by name.
    pub members: &'static [(&'static str, Rule)],
    /// The rule of all other texts and objects: [`Rule::Secret`] or [`Rule::Drop`].
    pub other: Rule,
}

const META: Rule = Rule::Map(Key::Meta, &Rule::Value);

const JOB_META: Rule = Rule::Map(Key::Meta, &Rule::Secret);

const HIDDEN: Rule = Rule::Map(Key::Name(Kind::Key), &Rule::Secret);

static NOTHING: Table = Table { members: &[], other: Rule::Drop };

/// Numbers and words of machines only.
static KEEP: Table = Table { members: &[("Topology", Rule::In(&KEEP)), ("Cores", Rule::In(&KEEP))], other: Rule::Drop };

/// Networks of groups, tasks, nodes and allocations.
static NETWORK: Table = Table {
    members: &[
        ("Mode", Rule::NetworkMode),
        ("Device", Rule::Value),
        ("CIDR", Rule::Address),
        ("IP", Rule::Address),
        ("ReservedPorts", Rule::In(&PORT)),
        ("DynamicPorts", Rule::In(&PORT)),
        ("CNI", Rule::In(&CNI)),
        ("DNS", Rule::In(&HIDE)),
    ],
    other: Rule::Secret,
};

static CNI: Table = Table { members: &[("Args", HIDDEN)], other: Rule::Drop };

/// Objects of texts that nobody may see.
static HIDE: Table = Table { members: &[], other: Rule::Secret };

static PORT: Table = Table {
    members: &[("Label", Rule::Name(Kind::Port)), ("HostNetwork", Rule::Reference), ("HostIP", Rule::Address)],
    other: Rule::Drop,
};

static WORDS: Table = Table { members: &[], other: Rule::Word };

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// All members that some table reachable from this one names.
    fn members(table: &'static Table, seen: &mut Vec<*const Table>, out: &mut BTreeSet<&'static str>) {
        if seen.contains(&std::ptr::from_ref(table)) {
            return;
        }
        seen.push(table);
        for (name, rule) in table.members {
            out.insert(name);
            match rule {
                Rule::In(inner) | Rule::Map(_, Rule::In(inner)) => members(inner, seen, out),
                _ => {}
            }
        }
    }

    /// Keys of maps are texts too. Members of fixed name are safe without a rule, maps are not.
    #[test]
    fn every_map_of_the_model_has_a_rule() {
        let (mut seen, mut known) = (Vec::new(), BTreeSet::new());
        for table in [
            &NODE,
            &POOL,
            &CONFIGURATION,
            &NAMESPACE,
            &JOB,
            &ALLOCATION,
            &DEPLOYMENT,
            &CSI_VOLUME,
            &HOST_VOLUME,
            &CLAIM,
        ] {
            members(table, &mut seen, &mut known);
        }
        // Of objects that are dropped as a whole, or never in a snapshot.
        known.extend(["Policy", "Target", "Details"]);
        let mut maps = 0;
        for file in ["node", "job", "group", "resources", "service", "volume", "cluster", "alloc"] {
            let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../model/src/{file}.rs"));
            let text = std::fs::read_to_string(path).unwrap();
            let (mut renamed, mut object) = (None, "");
            for line in text.lines().map(str::trim) {
                if let Some(rest) = line.strip_prefix("pub struct ") {
                    object = rest.split([' ', '<']).next().unwrap_or_default();
                }
                if let Some((_, rest)) = line.split_once("rename = \"") {
                    renamed = rest.split('"').next();
                }
                let Some((name, kind)) = line.strip_prefix("pub ").and_then(|l| l.split_once(": ")) else { continue };
                let pascal = || {
                    let words = name.trim_start_matches("r#").split('_');
                    let upper = |w: &str| w.chars().next().map(|c| c.to_uppercase().to_string() + &w[c.len_utf8()..]);
                    words.filter_map(upper).collect::<String>()
                };
                let name = renamed.take().map_or_else(pascal, str::to_string);
                if kind.contains("Map<") && !["AllocMetric", "NodeEvent", "TaskEvent", "CsiPlugin"].contains(&object) {
                    assert!(known.contains(name.as_str()), "{object}.{name} has no rule");
                    maps += 1;
                }
            }
        }
        assert!(maps > 30, "{maps} maps found");
    }
}
