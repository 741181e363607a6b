//! Rules by label: exact, or with `*` for any run of characters (`docs/spec/http-api.md §7.5` 2).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::capability::{Set, Word};

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
        self.globs.iter().filter(move |(label, _)| matches(label, name)).map(move |(label, rule)| {
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

/// Whether a label with wildcards matches a name. Takes time in proportion to both lengths at most multiplied, whatever
/// the label.
pub fn matches(label: &str, name: &str) -> bool {
    let (label, name) = (label.as_bytes(), name.as_bytes());
    let (mut l, mut n) = (0, 0);
    // The last wildcard, and how much of the name it covers.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match label.get(l) {
            Some(b'*') => {
                star = Some((l, n));
                l += 1;
            }
            Some(c) if name.get(n) == Some(c) => {
                l += 1;
                n += 1;
            }
            _ => match star {
                Some((at, covered)) => {
                    star = Some((at, covered + 1));
                    l = at + 1;
                    n = covered + 1;
                }
                None => return false,
            },
        }
    }
    label.get(l..).is_some_and(|rest| rest.iter().all(|c| *c == b'*'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards() {
        for (label, name, want) in [
            ("*", "", true),
            ("*", "a/b", true),
            ("", "", true),
            ("", "a", false),
            ("a*", "a", true),
            ("a*c", "abc", true),
            ("a*c", "abcd", false),
            ("*b*", "abc", true),
            ("**", "x", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxcyyb", false),
            ("apps-*", "apps", false),
            ("*-prod", "apps-prod", true),
            ("*ab", "aab", true),
            ("a", "ab", false),
        ] {
            assert_eq!(matches(label, name), want, "{label} {name}");
        }
        let label = "a*".repeat(100) + "c";
        assert!(!matches(&label, &"ab".repeat(50_000)), "no explosion");
    }
}
