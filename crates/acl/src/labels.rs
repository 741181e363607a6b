//! Rules by label: exact, or with `*` for any run of characters (`docs/spec/http-api.md §7.5` 2).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::capability::{Set, Word};
use encamp_model::glob;

/// The rules with one label, merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule<W> {
    /// What they allow.
    pub capabilities: Set<W>,
    /// The policies they come from.
    pub policies: Vec<Arc<str>>,
}

impl<W> Default for Rule<W> {
    fn default() -> Self {
        Rule { capabilities: Set::default(), policies: Vec::new() }
    }
}

/// A rule that matches a name.
#[derive(Debug, Clone, Copy)]
pub struct Match<'a, W> {
    /// Its label.
    pub label: &'a str,
    /// The rule.
    pub rule: &'a Rule<W>,
    /// How far the label is from the name: the smallest wins; 0 for an exact label.
    pub difference: usize,
}

/// Kind and label as they stand in policies: `namespace "apps-*"`. Labels of variables are those of
/// [`variable_key`](super::acl::variable_key).
pub(crate) fn rule_text(kind: &str, label: &str) -> String {
    match label.split_once('\0') {
        Some((namespace, path)) => format!("{kind} {path:?} in namespace {namespace:?}"),
        None => format!("{kind} {label:?}"),
    }
}

/// Rules of one kind by label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labels<W> {
    exact: BTreeMap<String, Rule<W>>,
    /// With wildcards.
    globs: BTreeMap<String, Rule<W>>,
}

impl<W> Default for Labels<W> {
    fn default() -> Self {
        Labels { exact: BTreeMap::new(), globs: BTreeMap::new() }
    }
}

impl<W: Word> Labels<W> {
    /// The rule of a label, made if there is none.
    pub(crate) fn entry(&mut self, label: &str) -> &mut Rule<W> {
        let rules = if label.contains('*') { &mut self.globs } else { &mut self.exact };
        rules.entry(label.to_string()).or_default()
    }

    /// All rules.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Rule<W>)> {
        self.exact.iter().chain(&self.globs).map(|(label, rule)| (label.as_str(), rule))
    }

    /// The rule whose label is the name.
    pub fn exact(&self, name: &str) -> Option<Match<'_, W>> {
        self.exact.get_key_value(name).map(|(label, rule)| Match { label, rule, difference: 0 })
    }

    /// The rules with wildcards that match.
    pub fn globs(&self, name: &str) -> impl Iterator<Item = Match<'_, W>> {
        self.globs.iter().filter(move |(label, _)| glob::matches(label, name)).map(move |(label, rule)| {
            let stars = label.bytes().filter(|b| *b == b'*').count();
            // Without its wildcards, a label that matches is not longer than the name.
            Match { label, rule, difference: (name.len() + stars).saturating_sub(label.len()) }
        })
    }

    /// The winner among the rules with wildcards: the smallest difference, then the last label in byte order.
    pub fn closest(&self, name: &str) -> Option<Match<'_, W>> {
        self.globs(name).min_by(|a, b| a.difference.cmp(&b.difference).then_with(|| b.label.cmp(a.label)))
    }

    /// The rule that decides about a name: the exact one, or else the closest.
    pub fn find(&self, name: &str) -> Option<Match<'_, W>> {
        self.exact(name).or_else(|| self.closest(name))
    }
}
