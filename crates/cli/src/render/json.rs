//! JSON output (`docs/spec/cli.md §3.6`).

use serde::Serialize;
use serde::ser::Error as _;
use serde_json::Value;
use serde_json::ser::{PrettyFormatter, Serializer};

use super::RenderError;
use encamp_model::JobPlanResponse;

/// Indented by four spaces, keys in the order in which the value serialises them.
///
/// # Errors
/// The value has no JSON form.
pub fn indented<T: Serialize + ?Sized>(value: &T) -> Result<String, RenderError> {
    let mut out = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut out, PrettyFormatter::with_indent(b"    ")))?;
    Ok(String::from_utf8(out).map_err(serde_json::Error::custom)?)
}

/// An object with the version of its schema, 1.
///
/// # Errors
/// The value has no JSON form.
pub fn versioned<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<Value> {
    let mut value = serde_json::to_value(value)?;
    if let Value::Object(members) = &mut value {
        members.insert("SchemaVersion".into(), 1.into());
    }
    Ok(value)
}

/// Indented by four spaces, keys in alphabetical order.
///
/// # Errors
/// The value has no JSON form.
pub fn sorted<T: Serialize + ?Sized>(value: &T) -> Result<String, RenderError> {
    // Objects of serde_json values are sorted maps.
    indented(&serde_json::to_value(value)?)
}

/// As [`indented`], with `<`, `>`, `&` and the two line separators of Unicode escaped.
///
/// # Errors
/// The value has no JSON form.
pub fn escaped<T: Serialize + ?Sized>(value: &T) -> Result<String, RenderError> {
    let text = indented(value)?;
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    Ok(out)
}

/// The answer of a dry run as the API type that clients read it into: without the index of the snapshot, evaluations
/// with all their members.
///
/// # Errors
/// The answer has no JSON form.
pub fn plan_response(plan: &JobPlanResponse) -> Result<Value, RenderError> {
    let mut value = serde_json::to_value(plan)?;
    if let Value::Object(map) = &mut value {
        map.remove("Index");
        // The typed evaluation leaves members out that the API type has: they are added to its JSON.
        if let Some(Value::Array(evals)) = map.get_mut("CreatedEvals") {
            evals.iter_mut().for_each(complete_evaluation);
        }
    }
    Ok(value)
}

/// Adds the members of an evaluation that are left out when zero.
pub(super) fn complete_evaluation(eval: &mut Value) {
    const TEXTS: &[&str] = &[
        "BlockedEval",
        "DeploymentID",
        "ID",
        "JobID",
        "Namespace",
        "NextEval",
        "NodeID",
        "PreviousEval",
        "QuotaLimitReached",
        "Status",
        "StatusDescription",
        "TriggeredBy",
        "Type",
    ];
    const NUMBERS: &[&str] = &[
        "CreateIndex",
        "CreateTime",
        "JobModifyIndex",
        "ModifyIndex",
        "ModifyTime",
        "NodeModifyIndex",
        "Priority",
        "SnapshotIndex",
        "Wait",
    ];
    const NULLS: &[&str] = &[
        "ClassEligibility",
        "FailedTGAllocs",
        "MissingNonNodeResources",
        "PlanAnnotations",
        "QueuedAllocations",
        "RelatedEvals",
        "WaitUntil",
    ];
    let Value::Object(map) = eval else { return };
    let zeros = TEXTS
        .iter()
        .map(|k| (k, Value::from("")))
        .chain(NUMBERS.iter().map(|k| (k, Value::from(0))))
        .chain(NULLS.iter().map(|k| (k, Value::Null)))
        .chain(["AnnotatePlan", "EscapedComputedClass"].iter().map(|k| (k, Value::from(false))));
    for (key, zero) in zeros {
        map.entry(*key).or_insert(zero);
    }
    map.remove("LeaderACL");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Sample {
        b: &'static str,
        a: Vec<f64>,
    }

    #[test]
    fn forms_differ_in_key_order_and_escapes() {
        let sample = Sample { b: "<&>", a: vec![0.0] };
        assert_eq!(indented(&sample).unwrap(), "{\n    \"b\": \"<&>\",\n    \"a\": [\n        0.0\n    ]\n}");
        assert_eq!(sorted(&sample).unwrap(), "{\n    \"a\": [\n        0.0\n    ],\n    \"b\": \"<&>\"\n}");
        assert!(escaped(&sample).unwrap().contains("\"\\u003c\\u0026\\u003e\""));
    }
}
