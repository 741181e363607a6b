//! Shapes of JSON values, for tests that compare responses with recorded ones: the keys, and the types of their values.
//! Elements of lists are merged. An absent key and a null one are equal.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// Objects whose keys are data.
const OPEN: [&str; 8] = [
    "Attributes",
    "Drivers",
    "NodesAvailable",
    "ClassEligibility",
    "ClassFiltered",
    "Scores",
    "Dynamic",
    "HostVolumes",
];

#[derive(Debug, Default)]
struct Shape {
    kinds: BTreeSet<&'static str>,
    keys: BTreeMap<String, Shape>,
    elements: Option<Box<Shape>>,
}

impl Shape {
    fn add(&mut self, value: &Value, key: &str) {
        self.kinds.insert(match value {
            Value::Null => "null",
            Value::Bool(_) => "bool",
            Value::Number(n) if n.is_f64() => "float",
            Value::Number(_) => "int",
            Value::String(_) => "text",
            Value::Array(_) => "list",
            Value::Object(_) => "object",
        });
        match value {
            Value::Array(items) => items.iter().for_each(|v| self.element().add(v, "")),
            Value::Object(members) if OPEN.contains(&key) => {
                members.values().for_each(|v| self.element().add(v, ""));
            }
            Value::Object(members) => {
                members.iter().for_each(|(k, v)| self.keys.entry(k.clone()).or_default().add(v, k));
            }
            _ => {}
        }
    }

    fn element(&mut self) -> &mut Shape {
        self.elements.get_or_insert_default()
    }
}

/// Where the shape of `found` differs from that of `wanted`, but for paths that contain one of `skipped`.
pub(crate) fn differences(wanted: &Value, found: &Value, skipped: &[&str]) -> Vec<String> {
    let (mut a, mut b) = (Shape::default(), Shape::default());
    a.add(wanted, "");
    b.add(found, "");
    let mut out = Vec::new();
    compare(&a, &b, "body", skipped, &mut out);
    out
}

fn compare(a: &Shape, b: &Shape, path: &str, skipped: &[&str], out: &mut Vec<String>) {
    if skipped.iter().any(|s| path.contains(s)) {
        return;
    }
    if a.kinds != b.kinds {
        out.push(format!("{path} is {:?}, not {:?}", b.kinds, a.kinds));
        return;
    }
    let keys: BTreeSet<&String> = a.keys.keys().chain(b.keys.keys()).collect();
    let only_null = |s: &Shape| s.kinds.iter().all(|k| *k == "null");
    for key in keys {
        let path = format!("{path}.{key}");
        match (a.keys.get(key), b.keys.get(key)) {
            (Some(a), Some(b)) => compare(a, b, &path, skipped, out),
            (Some(a), None) if !only_null(a) && !skipped.iter().any(|s| path.contains(s)) => {
                out.push(format!("{path} is missing"));
            }
            (None, Some(b)) if !only_null(b) && !skipped.iter().any(|s| path.contains(s)) => {
                out.push(format!("{path} is too much"));
            }
            _ => {}
        }
    }
    if let (Some(a), Some(b)) = (&a.elements, &b.elements) {
        compare(a, b, &format!("{path}[]"), skipped, out);
    }
}

/// Whether two texts are the same but for numbers.
pub(crate) fn same_text(a: &str, b: &str) -> bool {
    let plain = |t: &str| {
        let mut out = String::new();
        for c in t.chars() {
            let c = if c.is_ascii_digit() { '0' } else { c };
            if c != '0' || !out.ends_with('0') {
                out.push(c);
            }
        }
        out
    };
    plain(a) == plain(b)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_a_difference() {
        let a = json!({"ID": "x", "N": 1, "L": [{"a": 1}, {"b": null}], "Scores": {"n1": 1.0}, "Gone": null});
        let b = json!({"ID": "y", "N": 7, "L": [{"a": 2}], "Scores": {"n2": 2.0}});
        assert_eq!(differences(&a, &b, &[]), Vec::<String>::new());
        let c = json!({"ID": 1, "N": 7, "L": [{"a": 2, "c": true}], "Scores": {"n2": "x"}, "New": 1});
        assert_eq!(differences(&a, &c, &[".New"]).len(), 3);
        assert!(same_text("index 7: 34", "index 12: 5") && !same_text("index 7", "indexes 7"));
    }
}
