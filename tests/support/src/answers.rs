//! Records of an archive as the HTTP API shows them (`docs/spec/snapshot-archive.md §9`), and when two objects count as
//! equal.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use encamp_model::*;
use serde::Serialize;
use serde_json::{Map, Value};

/// An object as JSON, with its secrets: archives have them.
pub fn json(object: &impl Serialize) -> Value {
    with_secrets(|| serde_json::to_value(object)).expect("objects are JSON")
}

/// Takes away what counts as nothing: `null`, zero, false, empty texts, lists and maps, the zero time. Items of lists
/// stay.
pub fn compact(value: Value) -> Value {
    let value = compact_inside(value);
    if empty(&value) { Value::Null } else { value }
}

fn compact_inside(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.into_iter().map(|(k, v)| (k, compact_inside(v))).filter(|(_, v)| !empty(v));
            Value::Object(members.collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(compact_inside).collect()),
        // 42 and 42.0 are one number.
        Value::Number(n) => match n.as_f64() {
            Some(x) if n.is_f64() && x.fract() == 0.0 && x.abs() < 9.2e18 => Value::from(x as i64),
            _ => Value::Number(n),
        },
        other => other,
    }
}

fn empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(n) => n.as_f64() == Some(0.0),
        Value::String(s) => s.is_empty() || s == "0001-01-01T00:00:00Z",
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
    }
}

/// Removes members of these names wherever they are.
pub fn without(value: &mut Value, names: &[&str]) {
    match value {
        Value::Object(members) => {
            members.retain(|k, _| !names.contains(&k.as_str()));
            members.values_mut().for_each(|v| without(v, names));
        }
        Value::Array(items) => items.iter_mut().for_each(|v| without(v, names)),
        _ => {}
    }
}

/// The members of an object.
pub fn members(value: &mut Value) -> &mut Map<String, Value> {
    value.as_object_mut().expect("an object")
}

/// Maps whose entries are null tell something by their keys alone.
pub fn keys_only(value: &mut Value, names: &[&str]) {
    for name in names {
        if let Some(map) = members(value).get_mut(*name)
            && let Value::Object(entries) = map
        {
            *map = entries.keys().cloned().collect();
        }
    }
}

pub fn node(node: &Node) -> Value {
    json(&Node { secret_id: SecretString::default(), drain: node.drain_strategy.is_some(), ..node.clone() })
}

/// A job as `/v1/job/:id` shows it.
pub fn job(job: &Job) -> Value {
    json(&Job { payload: job.uncompressed_payload(), ..job.clone() })
}

pub fn allocation(a: &Allocation) -> Value {
    json(&Allocation { job_ref: None, ..a.clone() })
}

pub fn csi_volume(v: &CsiVolume) -> Value {
    let mut out = json(v);
    for hidden in ["ReadClaims", "WriteClaims", "PastClaims", "Secrets"] {
        members(&mut out).remove(hidden);
    }
    keys_only(&mut out, &["ReadAllocs", "WriteAllocs"]);
    out
}

/// The submitting client percent-encodes the values of variables, as in the query of an address.
pub fn submission(s: &JobSubmission) -> Value {
    let variable_flags: BTreeMap<String, String> =
        s.variable_flags.iter().map(|(k, v)| (k.clone(), percent_decoded(v))).collect();
    json(&JobSubmission { variable_flags, ..s.clone() })
}

fn percent_decoded(text: &str) -> String {
    let mut out = Vec::new();
    let mut bytes = text.bytes();
    while let Some(b) = bytes.next() {
        out.push(match b {
            b'+' => b' ',
            b'%' => {
                let hex: String = bytes.by_ref().take(2).map(char::from).collect();
                u8::from_str_radix(&hex, 16).expect("percent-encoding")
            }
            b => b,
        });
    }
    String::from_utf8(out).expect("text")
}

/// Lists of small numbers, which another encoder writes as base64.
pub fn numbers_of_base64(node: &mut Value) {
    let list = |v: &Value| -> Value {
        let bytes = STANDARD.decode(v.as_str().unwrap_or_default()).expect("base64");
        bytes.into_iter().map(Value::from).collect()
    };
    let Some(topology) = node.pointer_mut("/NodeResources/Processors/Topology").and_then(Value::as_object_mut) else {
        return;
    };
    if let Some(nodes) = topology.get_mut("Nodes") {
        *nodes = list(nodes);
    }
    if let Some(Value::Array(rows)) = topology.get_mut("Distances") {
        rows.iter_mut().for_each(|row| *row = list(row));
    }
}
