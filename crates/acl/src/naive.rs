//! An evaluator written straight from `docs/spec/http-api.md §7.5`, for comparison: slow, and without the structures of
//! [`super::acl`]. Policies are lists of rules with texts; labels are matched by recursion.

use std::collections::BTreeSet;

/// A rule with a label: kind, label, capabilities as words.
#[derive(Debug, Clone)]
pub(crate) struct NaiveRule {
    pub kind: &'static str,
    pub label: String,
    pub words: Vec<&'static str>,
}

fn fits(label: &[u8], name: &[u8]) -> bool {
    match label.split_first() {
        None => name.is_empty(),
        Some((b'*', rest)) => (0..=name.len()).any(|skip| fits(rest, &name[skip..])),
        Some((c, rest)) => name.first() == Some(c) && fits(rest, &name[1..]),
    }
}

/// The words that count for a name.
pub(crate) fn words(rules: &[NaiveRule], kind: &str, name: &str) -> Option<BTreeSet<&'static str>> {
    let labels: BTreeSet<&str> = rules.iter().filter(|r| r.kind == kind).map(|r| r.label.as_str()).collect();
    let winner = match labels.get(name).filter(|l| !l.contains('*')) {
        Some(exact) => *exact,
        None => {
            let mut best: Option<(i64, &str)> = None;
            for label in labels.iter().filter(|l| l.contains('*') && fits(l.as_bytes(), name.as_bytes())) {
                let stars = label.matches('*').count() as i64;
                let difference = name.len() as i64 - label.len() as i64 + stars;
                // The labels come in byte order: of equals, the last one wins.
                if best.is_none_or(|(d, _)| difference <= d) {
                    best = Some((difference, label));
                }
            }
            best?.1
        }
    };
    let mut all: BTreeSet<&'static str> = BTreeSet::new();
    for rule in rules.iter().filter(|r| r.kind == kind && r.label == winner) {
        let deny = rule.words.contains(&"deny");
        let own: Vec<&'static str> = if deny && kind == "variable" { vec!["deny"] } else { rule.words.clone() };
        all.extend(own);
    }
    if kind != "variable" && all.contains("deny") {
        all = BTreeSet::from(["deny"]);
    }
    Some(all)
}
