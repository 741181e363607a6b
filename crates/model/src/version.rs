//! Versions and version constraints, with the loose (`version`) and the strict (`semver`) rules
//! (`docs/spec/scheduling.md §6.1.1`). Constraints are compiled once; matching allocates nothing.
//!
//! The crate semver is not used: it refuses versions with more or fewer than three numbers, and has no loose rules.

use std::cmp::Ordering;

use thiserror::Error;

/// Which of the two grammars and comparison rules applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VersionRules {
    /// Operand `version`: the `-` before a prerelease may be missing, `~>` exists, prereleases are gated.
    Loose,
    /// Operand `semver`: no `~>`, no gate.
    Strict,
}

/// A parsed version. Numbers are padded with zeros to three; build metadata is dropped, as it never matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    segments: Vec<i64>,
    /// How many numbers the text had before padding.
    given: usize,
    /// Empty when there is none (an identifier is never empty).
    prerelease: String,
}

impl Version {
    /// Parses with the loose grammar, as the left side of every version constraint is.
    pub fn parse(s: &str) -> Option<Version> {
        Version::parse_with(s, VersionRules::Loose)
    }

    /// Parses with the given grammar; no blanks are allowed.
    pub fn parse_with(s: &str, rules: VersionRules) -> Option<Version> {
        let s = s.strip_prefix('v').unwrap_or(s);
        let (core, rest) = split_core(s);
        let mut segments = core.split('.').map(|n| n.parse().ok()).collect::<Option<Vec<i64>>>()?;
        let given = segments.len();
        segments.resize(given.max(3), 0);
        let (prerelease, metadata) = match rest.split_once('+') {
            Some((pre, meta)) => (pre, Some(meta)),
            None => (rest, None),
        };
        if metadata.is_some_and(|m| !identifiers(m)) {
            return None;
        }
        Some(Version { segments, given, prerelease: parse_prerelease(prerelease, rules)?.to_string() })
    }

    fn has_prerelease(&self) -> bool {
        !self.prerelease.is_empty()
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Version) -> Option<Ordering> {
        let (a, b) = (&self.segments, &other.segments);
        if a == b {
            return Some(compare_prereleases(&self.prerelease, &other.prerelease));
        }
        let at = |v: &[i64], i: usize| v.get(i).copied().unwrap_or(0);
        Some((0..a.len().max(b.len())).map(|i| at(a, i).cmp(&at(b, i))).find(|o| o.is_ne()).unwrap_or(Ordering::Equal))
    }
}

/// Splits the leading `1.2.3` off; a dot belongs to it only when a digit follows.
fn split_core(s: &str) -> (&str, &str) {
    let b = s.as_bytes();
    let digit = |i: usize| b.get(i).is_some_and(u8::is_ascii_digit);
    let mut end = 0;
    while digit(end) || (end > 0 && b.get(end) == Some(&b'.') && digit(end + 1)) {
        end += 1;
    }
    s.split_at(end)
}

fn identifier_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '~'
}

/// Dot-separated, non-empty identifiers.
fn identifiers(s: &str) -> bool {
    s.split('.').all(|id| !id.is_empty() && id.chars().all(identifier_char))
}

/// The prerelease that follows the numbers; `""` when there is none, `None` when it does not parse.
fn parse_prerelease(s: &str, rules: VersionRules) -> Option<&str> {
    let word_initial = |s: &str| s.starts_with(|c: char| c.is_ascii_alphabetic() || c == '-' || c == '~');
    let text = match s.strip_prefix('-') {
        _ if s.is_empty() => return Some(""),
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) || word_initial(rest) => rest,
        _ if rules == VersionRules::Loose && word_initial(s) => s,
        _ => return None,
    };
    identifiers(text).then_some(text)
}

fn compare_prereleases(a: &str, b: &str) -> Ordering {
    match (a.is_empty(), b.is_empty()) {
        (true, true) => return Ordering::Equal,
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    let number = |s: &str| s.parse::<i64>().ok();
    let (mut left, mut right) = (a.split('.'), b.split('.'));
    loop {
        let order = match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            // The list that ends first is smaller before a number and larger before a word.
            (None, Some(r)) => return if number(r).is_some() { Ordering::Less } else { Ordering::Greater },
            (Some(l), None) => return if number(l).is_some() { Ordering::Greater } else { Ordering::Less },
            (Some(l), Some(r)) => match (number(l), number(r)) {
                (Some(x), Some(y)) => x.cmp(&y),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => l.cmp(r),
            },
        };
        if order.is_ne() {
            return order;
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Pessimistic,
}

/// Longer spellings first, so that a prefix never hides one.
const OPERATORS: [(&str, Op); 7] = [
    ("!=", Op::NotEqual),
    ("<=", Op::LessEqual),
    (">=", Op::GreaterEqual),
    ("~>", Op::Pessimistic),
    ("=", Op::Equal),
    ("<", Op::Less),
    (">", Op::Greater),
];

/// A comma-separated list of version constraints, all of which must hold.
#[derive(Debug, Clone, PartialEq)]
pub struct VersionConstraints {
    rules: VersionRules,
    parts: Vec<(Op, Version)>,
}

/// A part of a list of version constraints is none.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("malformed constraint: {part}")]
pub struct MalformedConstraint {
    /// The part as written.
    pub part: String,
}

impl VersionConstraints {
    /// Compiles the list.
    ///
    /// # Errors
    /// The first part that does not parse.
    pub fn parse(s: &str, rules: VersionRules) -> Result<VersionConstraints, MalformedConstraint> {
        let parts = s
            .split(',')
            .map(|part| parse_part(part, rules).ok_or_else(|| MalformedConstraint { part: part.to_string() }))
            .collect::<Result<_, _>>()?;
        Ok(VersionConstraints { rules, parts })
    }

    /// Whether the version satisfies every constraint of the list.
    pub fn matches(&self, version: &Version) -> bool {
        self.parts.iter().all(|(op, c)| holds(*op, version, c, self.rules))
    }

    /// Parses the left side loosely and matches it; an unparsable version matches nothing.
    pub fn matches_str(&self, version: &str) -> bool {
        Version::parse(version).is_some_and(|v| self.matches(&v))
    }
}

fn parse_part(part: &str, rules: VersionRules) -> Option<(Op, Version)> {
    let blank = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0c');
    let part = part.trim_matches(blank);
    let (op, text) = OPERATORS
        .iter()
        .find_map(|(name, op)| part.strip_prefix(name).map(|rest| (*op, rest)))
        .unwrap_or((Op::Equal, part));
    if op == Op::Pessimistic && rules == VersionRules::Strict {
        return None;
    }
    Some((op, Version::parse_with(text.trim_start_matches(blank), rules)?))
}

fn holds(op: Op, v: &Version, c: &Version, rules: VersionRules) -> bool {
    let gated = rules == VersionRules::Loose && !matches!(op, Op::Equal | Op::NotEqual);
    if gated && v.has_prerelease() && (!c.has_prerelease() || v.segments != c.segments) {
        return false;
    }
    match op {
        Op::Equal => v.partial_cmp(c) == Some(Ordering::Equal),
        Op::NotEqual => v.partial_cmp(c) != Some(Ordering::Equal),
        Op::Less => v < c,
        Op::LessEqual => v <= c,
        Op::Greater => v > c,
        Op::GreaterEqual => v >= c,
        Op::Pessimistic => {
            let last = c.segments.len().saturating_sub(1);
            let fixed = c.given.saturating_sub(1);
            (v.has_prerelease() || !c.has_prerelease())
                && v >= c
                && v.segments.len() >= c.segments.len()
                && v.segments.get(..fixed) == c.segments.get(..fixed)
                && c.segments.get(last) <= v.segments.get(last)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(l: &str, rules: VersionRules, r: &str) -> bool {
        VersionConstraints::parse(r, rules).is_ok_and(|c| c.matches_str(l))
    }

    #[test]
    fn vectors_of_the_specification() {
        use VersionRules::{Loose, Strict};
        for (l, rules, r, want) in [
            ("1.3.0", Loose, "~> 1.2", true),
            ("1.3.0", Loose, "~> 1.2.0", false),
            ("1.2.3-beta", Loose, ">= 1.2.0", false),
            ("1.2.3-beta", Strict, ">= 1.2.0", true),
            ("1.2.3-beta", Loose, "> 1.2.3-alpha", true),
            ("1.2.3-beta", Loose, "!= 1.2.3", true),
            ("1.2.4-beta", Loose, "> 1.2.3-alpha", false),
            ("1.2.3", Loose, "~> 1.2.3-alpha", false),
            ("1.2.3-beta", Loose, "~> 1.2.3-alpha", true),
            ("1.2.3+ent", Loose, "= 1.2.3+oss", true),
            ("v1.2", Loose, "= 1.2.0", true),
            ("1.2.3", Strict, "~> 1.2", false),
            ("1.2.3", Strict, "> 1.2.3beta", false),
            ("1.2.3beta", Strict, "< 1.2.3", true),
            ("1.2.3-beta.10", Strict, "> 1.2.3-beta.9", true),
            ("1.2.3-beta10", Strict, "> 1.2.3-beta9", false),
            ("3.0", Loose, "~> 2", true),
            ("1.9.9", Loose, "~> 2", false),
            ("2.0", Loose, "~> 1.2", false),
            ("1.2.3.4", Loose, "~> 1.2.3.3", true),
            ("1.2.3", Loose, "~> 1.2.3.0", false),
            ("1.2.0.0-beta", Loose, "= 1.2", true),
            ("1.5", Loose, ">= 1.0, < 2", true),
            ("2.5", Loose, " >=1.0 ,<2 ", false),
            ("1.5", Loose, "1.5.0", true),
            ("1.8.0", Strict, ">= 1.8.0-dev", true),
            ("", Loose, "= 1", false),
            (" 1", Loose, "= 1", false),
            ("99999999999999999999", Loose, "> 1", false),
        ] {
            assert_eq!(check(l, rules, r), want, "{l} {rules:?} {r}");
        }
    }

    #[test]
    fn prereleases_order_by_identifier() {
        let v = |s: &str| Version::parse(s).unwrap();
        for (small, large) in [
            ("1.0-beta", "1.0"),
            ("1.0-1", "1.0-a"),
            ("1.0-2", "1.0-10"),
            ("1.0-beta.x", "1.0-beta"),
            ("1.0-beta", "1.0-beta.1"),
            ("1.0-alpha.9", "1.0-beta.1"),
        ] {
            assert!(v(small) < v(large), "{small} < {large}");
        }
    }

    #[test]
    fn grammar() {
        use VersionRules::{Loose, Strict};
        for (s, loose, strict) in [
            ("1", true, true),
            ("1.2.3.4.5", true, true),
            ("v1.2-rc1+b.7", true, true),
            ("1.2rc1", true, false),
            ("1.2~x", true, false),
            ("1.2.3-", true, false),
            ("1.2.beta", false, false),
            ("1.2.", false, false),
            ("1.2-a..b", false, false),
            ("1.2+", false, false),
            ("V1", false, false),
            ("x", false, false),
        ] {
            assert_eq!(Version::parse_with(s, Loose).is_some(), loose, "{s} loose");
            assert_eq!(Version::parse_with(s, Strict).is_some(), strict, "{s} strict");
        }
    }

    #[test]
    fn malformed_parts_are_named() {
        let refused = |s, rules| VersionConstraints::parse(s, rules).map_err(|e| e.part);
        assert_eq!(refused(">= 1, ?", VersionRules::Loose), Err(" ?".into()));
        assert_eq!(refused("", VersionRules::Strict), Err("".into()));
    }
}
