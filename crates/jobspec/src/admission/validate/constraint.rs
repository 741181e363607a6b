//! Constraints, affinities and spreads (`docs/spec/jobspec.md §14.9`).

use std::collections::BTreeSet;

use thiserror::Error;

use super::errors::Errors;
use encamp_model::quoted;
use encamp_model::regexp;
use encamp_model::version::{VersionConstraints, VersionRules};
use encamp_model::{Affinity, Constraint, JobType, Spread};

/// Numbered constraints of a job or group, each with its list.
pub(super) fn constraints(errors: &mut Errors, list: &[Constraint]) {
    for (i, c) in list.iter().enumerate() {
        errors.nest(format_args!("Constraint {} validation failed: ", i + 1), constraint(c));
    }
}

/// Numbered affinities; system jobs have none.
pub(super) fn affinities(errors: &mut Errors, list: &[Affinity], job_type: &JobType) {
    if *job_type == JobType::System {
        errors.add_if(!list.is_empty(), "System jobs may not have an affinity block");
        return;
    }
    for (i, a) in list.iter().enumerate() {
        errors.nest(format_args!("Affinity {} validation failed: ", i + 1), affinity(a));
    }
}

/// Numbered spreads; system jobs have none.
pub(super) fn spreads(errors: &mut Errors, list: &[Spread], job_type: &JobType) {
    if *job_type == JobType::System {
        errors.add_if(!list.is_empty(), "System jobs may not have a spread block");
        return;
    }
    for (i, s) in list.iter().enumerate() {
        errors.nest(format_args!("Spread {} validation failed: ", i + 1), spread(s));
    }
}

fn is_comparison(operand: &str) -> bool {
    matches!(operand, "=" | "==" | "is" | "!=" | "not" | "<" | "<=" | ">" | ">=")
}

fn is_set_operator(operand: &str) -> bool {
    matches!(operand, "set_contains" | "set_contains_all" | "set_contains_any")
}

/// The errors of one constraint.
pub(super) fn constraint(c: &Constraint) -> Vec<String> {
    let mut errors = Errors::default();
    let (operand, value) = (c.operand.as_str(), c.rtarget.as_str());
    match operand {
        "" => errors.add("Missing constraint operand"),
        "distinct_hosts" => {}
        "distinct_property" => errors.flatten(distinct_count(value)),
        "regexp" => errors.flatten(pattern(value)),
        "version" | "semver" => errors.flatten(version(operand, "constraint", value)),
        "is_set" | "is_not_set" => {
            errors.add_if(!value.is_empty(), format_args!("Operator {} does not support an RTarget", quoted(operand)));
        }
        _ if is_set_operator(operand) => {
            errors.add_if(value.is_empty(), "Set contains constraint requires an RTarget");
        }
        _ if is_comparison(operand) => {
            errors.add_if(value.is_empty(), format_args!("Operator {} requires an RTarget", quoted(operand)));
        }
        _ => errors.add(format!("Unknown constraint type {}", quoted(operand))),
    }
    if operand != "distinct_hosts" {
        errors.flatten(attribute(&c.ltarget));
    }
    errors.into_items()
}

/// The errors of one affinity.
pub(super) fn affinity(a: &Affinity) -> Vec<String> {
    let mut errors = Errors::default();
    let (operand, value) = (a.operand.as_str(), a.rtarget.as_str());
    match operand {
        "" => errors.add("Missing affinity operand"),
        "regexp" => errors.flatten(pattern(value)),
        "version" | "semver" => errors.flatten(version(operand, "affinity", value)),
        _ if is_set_operator(operand) => {
            errors.add_if(value.is_empty(), "Set contains operators require an RTarget");
        }
        _ if is_comparison(operand) => {
            errors.add_if(value.is_empty(), format_args!("Operator {} requires an RTarget", quoted(operand)));
        }
        _ => errors.add(format!("Unknown affinity operator {}", quoted(operand))),
    }
    errors.add_if(a.ltarget.is_empty(), "No LTarget provided but is required");
    errors.add_if(a.weight == 0, "Affinity weight cannot be zero");
    errors.add_if(!(-100..=100).contains(&a.weight), "Affinity weight must be within the range [-100,100]");
    errors.into_items()
}

/// The errors of one spread.
pub(super) fn spread(s: &Spread) -> Vec<String> {
    let mut errors = Errors::default();
    errors.add_if(s.attribute.is_empty(), "Missing spread attribute");
    errors.add_if(!(1..=100).contains(&s.weight), "Spread block must have a positive weight from 0 to 100");
    let mut seen = BTreeSet::new();
    let mut sum: u64 = 0;
    for target in &s.spread_target {
        let value = quoted(&target.value);
        errors.add_if(!seen.insert(&target.value), format_args!("Spread target value {value} already defined"));
        errors.add_if(
            target.percent > 100,
            format_args!("Spread target percentage for value {value} must be between 0 and 100"),
        );
        sum = sum.saturating_add(target.percent);
    }
    errors
        .add_if(sum > 100, format_args!("Sum of spread target percentages must not be greater than 100%; got {sum}%"));
    errors.into_items()
}

fn pattern(value: &str) -> Option<String> {
    regexp::check(value).err().map(|e| format!("Regular expression failed to compile: {e}"))
}

/// `version` reports a malformed part in lower case, `semver` in upper case.
fn version(operand: &str, kind: &str, value: &str) -> Option<String> {
    let (rules, title, malformed) = match operand {
        "semver" => (VersionRules::Strict, "Semver", "Malformed"),
        _ => (VersionRules::Loose, "Version", "malformed"),
    };
    let error = VersionConstraints::parse(value, rules).err()?;
    Some(format!("{title} {kind} is invalid: {malformed} constraint: {}", error.part))
}

/// The value of `distinct_property`: empty, or how many allocations may share a value.
fn distinct_count(value: &str) -> Option<String> {
    if value.is_empty() {
        return None;
    }
    match parse_uint(value, 10, u64::MAX) {
        Ok(0) => Some("Distinct Property must have an allowed count of 1 or greater: 0 < 1".into()),
        Ok(_) => None,
        Err(e) => Some(format!("Failed to convert RTarget {} to uint64: {e}", quoted(value))),
    }
}

/// A text is no unsigned number.
#[derive(Debug, Error)]
#[error("strconv.ParseUint: parsing {}: {reason}", quoted(text))]
pub(super) struct UintError {
    text: String,
    /// The reason, as texts name it.
    pub(super) reason: &'static str,
}

/// Parses an unsigned number without sign or blanks.
pub(super) fn parse_uint(s: &str, radix: u32, max: u64) -> Result<u64, UintError> {
    let reason = if s.is_empty() || !s.chars().all(|c| c.is_digit(radix)) {
        "invalid syntax"
    } else {
        match u64::from_str_radix(s, radix) {
            Ok(n) if n <= max => return Ok(n),
            _ => "value out of range",
        }
    };
    Err(UintError { text: s.to_string(), reason })
}

const NODE_FIELDS: [&str; 5] =
    ["${node.unique.id}", "${node.datacenter}", "${node.unique.name}", "${node.class}", "${node.pool}"];
const NODE_MAPS: [&str; 3] = ["${attr.", "${device.", "${meta."];

/// The left side of a constraint: a literal, or a reference that nodes can resolve.
fn attribute(target: &str) -> Option<String> {
    if target.is_empty() {
        return Some("no attribute provided but is required by operator".into());
    }
    if !target.starts_with('$') {
        return None;
    }
    let name = quoted(target);
    if !target.starts_with("${") {
        Some(format!("attribute {name} is missing an opening brace"))
    } else if !target.ends_with('}') {
        Some(format!("attribute {name} is missing a closing brace"))
    } else if NODE_FIELDS.contains(&target) || NODE_MAPS.iter().any(|p| target.starts_with(p)) {
        None
    } else {
        Some(format!("unsupported attribute {name}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_model::SpreadTarget;

    #[test]
    fn constraint_texts() {
        for (left, operand, right, want) in [
            ("${attr.x}", "", "1", vec!["Missing constraint operand"]),
            ("", "distinct_hosts", "true", vec![]),
            ("${attr.x}", "set_contains", "", vec!["Set contains constraint requires an RTarget"]),
            ("${attr.x}", "set_contains_all", "", vec!["Set contains constraint requires an RTarget"]),
            ("${attr.x}", "set_contains_any", "", vec!["Set contains constraint requires an RTarget"]),
            (
                "${attr.x}",
                "regexp",
                "[",
                vec!["Regular expression failed to compile: error parsing regexp: missing closing ]: `[`"],
            ),
            ("${attr.x}", "version", "x", vec!["Version constraint is invalid: malformed constraint: x"]),
            ("${attr.x}", "semver", "x", vec!["Semver constraint is invalid: Malformed constraint: x"]),
            ("${attr.x}", "semver", "~> 1.2", vec!["Semver constraint is invalid: Malformed constraint: ~> 1.2"]),
            ("${attr.x}", "version", "~> 1.2, < 3", vec![]),
            (
                "${attr.x}",
                "distinct_property",
                "x",
                vec!["Failed to convert RTarget \"x\" to uint64: strconv.ParseUint: parsing \"x\": invalid syntax"],
            ),
            (
                "${attr.x}",
                "distinct_property",
                "18446744073709551616",
                vec![
                    "Failed to convert RTarget \"18446744073709551616\" to uint64: strconv.ParseUint: parsing \
                     \"18446744073709551616\": value out of range",
                ],
            ),
            (
                "${attr.x}",
                "distinct_property",
                "0",
                vec!["Distinct Property must have an allowed count of 1 or greater: 0 < 1"],
            ),
            ("${attr.x}", "distinct_property", "", vec![]),
            ("${attr.x}", "is_set", "y", vec!["Operator \"is_set\" does not support an RTarget"]),
            ("${attr.x}", "is_not_set", "y", vec!["Operator \"is_not_set\" does not support an RTarget"]),
            ("${attr.x}", "is_set", "", vec![]),
            ("${attr.x}", "=", "", vec!["Operator \"=\" requires an RTarget"]),
            ("${attr.x}", ">=", "", vec!["Operator \">=\" requires an RTarget"]),
            ("${attr.x}", "near", "y", vec!["Unknown constraint type \"near\""]),
            ("", "=", "y", vec!["no attribute provided but is required by operator"]),
            ("", "", "", vec!["Missing constraint operand", "no attribute provided but is required by operator"]),
            ("$attr.x", "=", "y", vec!["attribute \"$attr.x\" is missing an opening brace"]),
            ("${attr.x", "=", "y", vec!["attribute \"${attr.x\" is missing a closing brace"]),
            ("${env.x}", "=", "y", vec!["unsupported attribute \"${env.x}\""]),
            ("${node.class.x}", "=", "y", vec!["unsupported attribute \"${node.class.x}\""]),
            ("${node.pool}", "=", "y", vec![]),
            ("${meta.x}", "=", "y", vec![]),
            ("${device.model}", "=", "y", vec![]),
            ("literal", "=", "y", vec![]),
        ] {
            let c = Constraint { ltarget: left.into(), rtarget: right.into(), operand: operand.into() };
            assert_eq!(constraint(&c), want, "{c:?}");
        }
    }

    #[test]
    fn affinity_texts() {
        for (left, operand, right, weight, want) in [
            ("${attr.x}", "", "1", 50, vec!["Missing affinity operand"]),
            ("${attr.x}", "set_contains_any", "", 50, vec!["Set contains operators require an RTarget"]),
            (
                "${attr.x}",
                "regexp",
                "(a",
                50,
                vec!["Regular expression failed to compile: error parsing regexp: missing closing ): `(a`"],
            ),
            ("${attr.x}", "version", "?", 50, vec!["Version affinity is invalid: malformed constraint: ?"]),
            ("${attr.x}", "semver", "?", 50, vec!["Semver affinity is invalid: Malformed constraint: ?"]),
            ("${attr.x}", "<", "", 50, vec!["Operator \"<\" requires an RTarget"]),
            ("${attr.x}", "is_set", "", 50, vec!["Unknown affinity operator \"is_set\""]),
            ("${attr.x}", "distinct_hosts", "", 50, vec!["Unknown affinity operator \"distinct_hosts\""]),
            ("", "=", "y", 50, vec!["No LTarget provided but is required"]),
            ("${attr.x}", "=", "y", 0, vec!["Affinity weight cannot be zero"]),
            ("${attr.x}", "=", "y", 101, vec!["Affinity weight must be within the range [-100,100]"]),
            ("${attr.x}", "=", "y", -101, vec!["Affinity weight must be within the range [-100,100]"]),
            ("${attr.x}", "=", "y", -100, vec![]),
        ] {
            let a = Affinity { ltarget: left.into(), rtarget: right.into(), operand: operand.into(), weight };
            assert_eq!(affinity(&a), want, "{a:?}");
        }
    }

    #[test]
    fn spread_texts() {
        let target = |value: &str, percent| SpreadTarget { value: value.into(), percent };
        let ok = Spread { attribute: "${attr.x}".into(), weight: 50, spread_target: vec![target("a", 100)] };
        assert!(spread(&ok).is_empty());
        let weight = "Spread block must have a positive weight from 0 to 100";
        for w in [0, -1, 101] {
            assert_eq!(spread(&Spread { weight: w, ..ok.clone() }), [weight]);
        }
        let bad = Spread { spread_target: vec![target("a", 101), target("a", 10)], ..Spread::default() };
        assert_eq!(
            spread(&bad),
            [
                "Missing spread attribute",
                weight,
                "Spread target percentage for value \"a\" must be between 0 and 100",
                "Spread target value \"a\" already defined",
                "Sum of spread target percentages must not be greater than 100%; got 111%",
            ]
        );
    }

    #[test]
    fn system_jobs_have_neither_affinity_nor_spread() {
        let mut errors = Errors::default();
        affinities(&mut errors, &[Affinity::default(), Affinity::default()], &JobType::System);
        spreads(&mut errors, &[Spread::default()], &JobType::System);
        spreads(&mut errors, &[], &JobType::System);
        assert_eq!(
            errors.into_items(),
            ["System jobs may not have an affinity block", "System jobs may not have a spread block"]
        );
        let mut errors = Errors::default();
        constraints(&mut errors, &[Constraint::default()]);
        assert_eq!(
            errors.into_items(),
            ["Constraint 1 validation failed: 2 errors occurred:\n\t* Missing constraint operand\n\t* no attribute \
              provided but is required by operator\n\n"]
        );
    }
}
