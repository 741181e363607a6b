//! What a caller gains and loses when policies change.

use std::collections::BTreeSet;

use serde::Serialize;

use super::acl::{Acl, Single};
use super::capability::{Set, Word};
use super::labels::{Labels, rule_text};

/// The change of what a caller may do with the objects that a label matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Change {
    /// Kind and label: `namespace "apps-*"`.
    pub rule: String,
    /// Capabilities that are new.
    pub gained: Vec<&'static str>,
    /// Capabilities that are gone.
    pub lost: Vec<&'static str>,
}

/// The changes from one set of rules to another, by kind and label. The labels of both sides count, because a new label
/// also takes effect on what a farther one allowed.
pub fn difference(before: &Acl, after: &Acl) -> Vec<Change> {
    let mut out = Vec::new();
    if before.is_management() || after.is_management() {
        let word = |acl: &Acl| if acl.is_management() { vec!["everything"] } else { vec![] };
        push(&mut out, "management".into(), word(after), word(before));
        return out;
    }
    labels(&mut out, "namespace", &before.namespaces, &after.namespaces);
    labels(&mut out, "path", &before.variables, &after.variables);
    labels(&mut out, "node_pool", &before.pools, &after.pools);
    labels(&mut out, "host_volume", &before.host_volumes, &after.host_volumes);
    for (kind, b, a) in [
        ("agent", &before.agent, &after.agent),
        ("node", &before.node, &after.node),
        ("operator", &before.operator, &after.operator),
        ("plugin", &before.plugin, &after.plugin),
        ("quota", &before.quota, &after.quota),
    ] {
        single(&mut out, kind, b, a);
    }
    let (b, a) = (before.operator_capabilities.capabilities, after.operator_capabilities.capabilities);
    push(&mut out, "operator".into(), a.without(b).names(), b.without(a).names());
    out
}

/// Adds a change, if it is one. Gaining a deny is losing everything: it is shown as the words that are lost.
fn push(out: &mut Vec<Change>, rule: String, gained: Vec<&'static str>, lost: Vec<&'static str>) {
    let shown =
        |words: Vec<&'static str>| -> Vec<&'static str> { words.into_iter().filter(|w| *w != "deny").collect() };
    let (gained, lost) = (shown(gained), shown(lost));
    if !gained.is_empty() || !lost.is_empty() {
        out.push(Change { rule, gained, lost });
    }
}

fn labels<W: Word>(out: &mut Vec<Change>, kind: &str, before: &Labels<W>, after: &Labels<W>) {
    let all: BTreeSet<&str> = before.iter().chain(after.iter()).map(|(label, _)| label).collect();
    for label in all {
        // A name that the label matches: a wildcard that stands for itself is the closest there is.
        let of = |rules: &Labels<W>| {
            let own = rules.iter().find(|(known, _)| *known == label).map(|(_, rule)| rule.capabilities);
            own.or_else(|| rules.find(label).map(|m| m.rule.capabilities)).unwrap_or_default()
        };
        let (b, a): (Set<W>, Set<W>) = (of(before), of(after));
        push(out, rule_text(kind, label), a.without(b).names(), b.without(a).names());
    }
}

fn single(out: &mut Vec<Change>, kind: &str, before: &Single, after: &Single) {
    if before.word != after.word {
        let word = |s: &Single| s.word.map(|w| vec![w.name()]).unwrap_or_default();
        push(out, kind.into(), word(after), word(before));
    }
}
