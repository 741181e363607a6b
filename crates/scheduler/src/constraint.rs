//! Constraints and affinities, compiled once per job (`docs/spec/scheduling.md §6.1`).

use std::sync::Arc;

use regex::Regex;

use encamp_model::regexp;
use encamp_model::version::{Version, VersionConstraints, VersionRules};
use encamp_model::{Affinity, Constraint, Node};
use encamp_state::{NodeIndex, Verdicts};

/// One side of a constraint.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// Text that does not start with `${`.
    Literal(String),
    /// `${node.unique.id}`.
    NodeId,
    /// `${node.datacenter}`.
    NodeDatacenter,
    /// `${node.unique.name}`.
    NodeName,
    /// `${node.class}`.
    NodeClass,
    /// `${node.pool}`.
    NodePool,
    /// `${attr.…}`.
    Attr(String),
    /// `${meta.…}`.
    Meta(String),
    /// Any other `${…}`: never found.
    Unknown,
}

impl Target {
    /// Parses a target. No partial interpolation.
    pub fn parse(s: &str) -> Target {
        let key = |rest: &str| rest.strip_suffix('}').unwrap_or(rest).to_string();
        match s {
            _ if !s.starts_with("${") => Target::Literal(s.into()),
            "${node.unique.id}" => Target::NodeId,
            "${node.datacenter}" => Target::NodeDatacenter,
            "${node.unique.name}" => Target::NodeName,
            "${node.class}" => Target::NodeClass,
            "${node.pool}" => Target::NodePool,
            _ => {
                if let Some(rest) = s.strip_prefix("${attr.") {
                    Target::Attr(key(rest))
                } else if let Some(rest) = s.strip_prefix("${meta.") {
                    Target::Meta(key(rest))
                } else {
                    Target::Unknown
                }
            }
        }
    }

    /// The value on a node, `None` when it is not found.
    pub fn resolve<'a>(&'a self, node: &'a Node) -> Option<&'a str> {
        match self {
            Target::Literal(s) => Some(s),
            Target::NodeId => Some(&node.id),
            Target::NodeDatacenter => Some(&node.datacenter),
            Target::NodeName => Some(&node.name),
            Target::NodeClass => Some(&node.node_class),
            Target::NodePool => Some(&node.node_pool),
            Target::Attr(k) => node.attributes.get(k).map(String::as_str),
            Target::Meta(k) => node.meta.get(k).map(String::as_str),
            Target::Unknown => None,
        }
    }
}

/// Whether a target depends on more than the computed class (`docs/spec/scheduling.md §5.2`).
pub fn escapes(target: &str) -> bool {
    ["${unique.", "${node.unique.", "${attr.unique.", "${meta.unique."].iter().any(|p| target.starts_with(p))
}

/// The comparison operator.
#[derive(Debug, Clone)]
pub enum Operator {
    /// `=`, `==`, `is`.
    Equal,
    /// `!=`, `not`.
    NotEqual,
    /// `<`, `<=`, `>`, `>=`: the orderings that satisfy it.
    Order {
        /// Whether a smaller left side satisfies it; if not, a larger one does.
        less: bool,
        /// Whether equal sides satisfy it.
        equal: bool,
    },
    /// `regexp`; compiled when the pattern is a literal.
    Regexp(Option<Result<Regex, ()>>),
    /// `version` and `semver`; compiled when the constraint is a literal.
    Version(VersionRules, Option<Result<VersionConstraints, ()>>),
    /// `set_contains`, `set_contains_all`.
    ContainsAll,
    /// `set_contains_any`.
    ContainsAny,
    /// `is_set`.
    IsSet,
    /// `is_not_set`.
    IsNotSet,
    /// `distinct_hosts`, `distinct_property`: checked elsewhere, true here.
    Distinct,
    /// Anything else is false.
    Unknown,
}

impl Operator {
    /// Compiles an operand for a right side that is known now (a literal) or not.
    pub fn compile(operand: &str, right: Option<&str>) -> Operator {
        match operand {
            "=" | "==" | "is" => Operator::Equal,
            "!=" | "not" => Operator::NotEqual,
            "<" => Operator::Order { less: true, equal: false },
            "<=" => Operator::Order { less: true, equal: true },
            ">" => Operator::Order { less: false, equal: false },
            ">=" => Operator::Order { less: false, equal: true },
            "regexp" => Operator::Regexp(right.map(|r| regexp::compile(r).map_err(drop))),
            "version" => Operator::version(VersionRules::Loose, right),
            "semver" => Operator::version(VersionRules::Strict, right),
            "set_contains" | "set_contains_all" => Operator::ContainsAll,
            "set_contains_any" => Operator::ContainsAny,
            "is_set" => Operator::IsSet,
            "is_not_set" => Operator::IsNotSet,
            "distinct_hosts" | "distinct_property" => Operator::Distinct,
            _ => Operator::Unknown,
        }
    }

    fn version(rules: VersionRules, right: Option<&str>) -> Operator {
        Operator::Version(rules, right.map(|r| VersionConstraints::parse(r, rules).map_err(drop)))
    }

    /// Compares two texts, either of which may be missing.
    pub fn matches(&self, left: Option<&str>, right: Option<&str>) -> bool {
        match self {
            Operator::NotEqual => return left.unwrap_or("") != right.unwrap_or(""),
            Operator::IsSet => return left.is_some(),
            Operator::IsNotSet => return left.is_none(),
            Operator::Distinct => return true,
            Operator::Unknown => return false,
            _ => {}
        }
        let (Some(l), Some(r)) = (left, right) else { return false };
        match self {
            Operator::Equal => l == r,
            Operator::Order { less, equal } => {
                compare_ordered(l, r).is_some_and(|o| if o.is_eq() { *equal } else { o.is_lt() == *less })
            }
            Operator::Regexp(Some(re)) => re.as_ref().is_ok_and(|re| re.is_match(l)),
            Operator::Regexp(None) => regexp::compile(r).is_ok_and(|re| re.is_match(l)),
            Operator::Version(rules, compiled) => {
                let Some(version) = Version::parse(l) else { return false };
                match compiled {
                    Some(c) => c.as_ref().is_ok_and(|c| c.matches(&version)),
                    None => VersionConstraints::parse(r, *rules).is_ok_and(|c| c.matches(&version)),
                }
            }
            Operator::ContainsAll => r.split(',').all(|want| contains(l, want)),
            Operator::ContainsAny => r.split(',').any(|want| contains(l, want)),
            _ => false,
        }
    }
}

fn contains(list: &str, want: &str) -> bool {
    let want = want.trim();
    list.split(',').any(|have| have.trim() == want)
}

/// Integers if both are, else floats if both are, else bytes. `None` when either float is not a number.
fn compare_ordered(l: &str, r: &str) -> Option<std::cmp::Ordering> {
    if let (Ok(a), Ok(b)) = (l.parse::<i64>(), r.parse::<i64>()) {
        return Some(a.cmp(&b));
    }
    if let (Some(a), Some(b)) = (parse_float(l), parse_float(r)) {
        return a.partial_cmp(&b);
    }
    Some(l.cmp(r))
}

/// A float that does not overflow; `inf` and `nan` are values.
fn parse_float(s: &str) -> Option<f64> {
    let v: f64 = s.parse().ok()?;
    (v.is_finite() || !s.contains(|c: char| c.is_ascii_digit())).then_some(v)
}

/// A constraint (or the condition of an affinity), ready to be checked.
#[derive(Debug, Clone)]
pub struct Check {
    left: Target,
    right: Target,
    operator: Operator,
    /// The text that filter counts show: both sides and the operand, joined by single spaces.
    pub text: String,
    /// Depends on more than the computed class.
    pub escaped: bool,
    /// The lengths of the left side and the operand in the text.
    lengths: (usize, usize),
}

/// What a check found on a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoundValue {
    /// The value of the attribute, in quotes; of two attributes, both values.
    Value(String),
    /// The node does not have the attribute.
    Unset,
    /// The check reads no attribute, or its reason names what it found.
    NotRead,
}

/// A check with what it says about computed classes.
#[derive(Debug, Clone)]
pub struct ClassCheck {
    /// The check.
    pub check: Check,
    /// `None`: it depends on more than the class.
    verdicts: Option<Arc<Verdicts>>,
}

impl ClassCheck {
    /// A check of nodes in an index.
    pub fn new(check: Check, index: &NodeIndex) -> ClassCheck {
        let key = || (check.text.clone(), check.lengths.0, check.lengths.1);
        let verdicts = (!check.escaped).then(|| index.class_verdicts(key()));
        ClassCheck { check, verdicts }
    }

    /// Whether the node satisfies it. `class_holds`: what is true of the class is true of the node. The record of the node
    /// is read only if that is not known.
    pub fn matches<'n>(&self, node: impl Fn() -> &'n Node, class: usize, class_holds: bool) -> bool {
        match &self.verdicts {
            Some(known) if class_holds => known.holds(class, || self.check.matches(node())),
            _ => self.check.matches(node()),
        }
    }
}

impl Check {
    fn new(left: &str, operand: &str, right: &str) -> Check {
        let target = Target::parse(right);
        let literal = if let Target::Literal(s) = &target { Some(s.as_str()) } else { None };
        Check {
            left: Target::parse(left),
            operator: Operator::compile(operand, literal),
            text: format!("{left} {operand} {right}"),
            escaped: escapes(left) || escapes(right),
            lengths: (left.len(), operand.len()),
            right: target,
        }
    }

    /// What the node has of the attributes that the constraint names.
    pub fn found(&self, node: &Node) -> FoundValue {
        let side = |t: &Target| t.resolve(node).map(|v| format!("{v:?}"));
        let one = |t| side(t).map_or(FoundValue::Unset, FoundValue::Value);
        match (&self.left, &self.right) {
            (Target::Literal(_), Target::Literal(_)) => FoundValue::NotRead,
            (attribute, Target::Literal(_)) | (Target::Literal(_), attribute) => one(attribute),
            (left, right) => match (side(left), side(right)) {
                (None, None) => FoundValue::Unset,
                (left, right) => {
                    let text = |side: Option<String>| side.unwrap_or_else(|| "nothing".into());
                    FoundValue::Value(format!("{} and {}", text(left), text(right)))
                }
            },
        }
    }

    /// Whether the node satisfies it.
    pub fn matches(&self, node: &Node) -> bool {
        self.operator.matches(self.left.resolve(node), self.right.resolve(node))
    }
}

impl From<&Constraint> for Check {
    fn from(c: &Constraint) -> Check {
        Check::new(&c.ltarget, &c.operand, &c.rtarget)
    }
}

impl From<&Affinity> for Check {
    fn from(a: &Affinity) -> Check {
        Check::new(&a.ltarget, &a.operand, &a.rtarget)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands() {
        let cases = [
            ("2", "<", "10", true),
            ("2", "<", "10a", false),
            ("1e3", ">", "999", true),
            ("1e999", ">", "5", false),
            ("0x10", ">", "5", false),
            (" 3", ">", "2", false),
            ("inf", ">", "5", true),
            ("a,b, c", "set_contains", "c,a", true),
            ("a,,b", "set_contains", "", true),
            ("a,b", "set_contains_any", "x,b", true),
            ("x", "regexp", "(?!x)", false),
            ("abc", "regexp", "b", true),
            ("1.3.0", "version", "~> 1.2", true),
            ("1.3.0", "version", "~> 1.2.0", false),
            ("1.2.3-beta", "semver", ">= 1.2.0", true),
            ("a", "~=", "a", false),
        ];
        for (l, op, r, want) in cases {
            assert_eq!(Operator::compile(op, Some(r)).matches(Some(l), Some(r)), want, "{l} {op} {r}");
            assert_eq!(Operator::compile(op, None).matches(Some(l), Some(r)), want, "{l} {op} {r}, late");
        }
        assert!(Operator::NotEqual.matches(None, Some("x")));
        assert!(!Operator::NotEqual.matches(None, None));
        assert!(Operator::IsSet.matches(Some(""), None));
    }

    #[test]
    fn targets() {
        assert_eq!(Target::parse("${attr.a.b}"), Target::Attr("a.b".into()));
        assert_eq!(Target::parse("${meta.x"), Target::Meta("x".into()));
        assert_eq!(Target::parse("x${attr.a}"), Target::Literal("x${attr.a}".into()));
        assert_eq!(Target::parse("${node.foo}"), Target::Unknown);
        assert!(escapes("${attr.unique.hostname}") && !escapes("${attr.kernel.name}"));
    }
}
