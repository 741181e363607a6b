//! Converts values to field texts, and compares two sets of texts (`docs/spec/jobspec.md §17.2`).

use std::collections::BTreeMap;

use serde_json::{Number, Value};

use encamp_model::{DiffType, FieldDiff, float_text};

/// Field names and texts of one side of an object.
pub(super) type Texts = BTreeMap<String, String>;

/// Which values of an object primitive mode takes.
#[derive(Clone, Copy)]
pub(super) enum Pick<'a> {
    /// All bools, numbers and strings.
    Scalars,
    /// The same without these.
    ScalarsBut(&'a [&'a str]),
    /// These bools, numbers, strings and maps of them.
    Named(&'a [&'a str]),
}

/// An object in primitive mode. A named key that the JSON form leaves out when empty counts as the empty text.
pub(super) fn primitive(v: &Value, pick: Pick<'_>) -> Texts {
    let mut out = Texts::new();
    let Value::Object(map) = v else { return out };
    match pick {
        Pick::Named(names) => {
            for name in names {
                match map.get(*name) {
                    Some(Value::Object(entries)) => {
                        for (key, value) in entries {
                            out.extend(scalar(value).map(|text| (format!("{name}[{key}]"), text)));
                        }
                    }
                    Some(value) => out.extend(scalar(value).map(|text| (name.to_string(), text))),
                    None => {
                        out.insert(name.to_string(), String::new());
                    }
                }
            }
        }
        Pick::Scalars | Pick::ScalarsBut(_) => {
            let left_out = if let Pick::ScalarsBut(names) = pick { names } else { &[] };
            for (key, value) in map.iter().filter(|(key, _)| !left_out.contains(&key.as_str())) {
                out.extend(scalar(value).map(|text| (key.clone(), text)));
            }
        }
    }
    out
}

/// An object of known types in full mode.
pub(super) fn full(v: &Value) -> Texts {
    flatten_members(v, false)
}

/// A free-form map in full mode: its numbers are floats.
pub(super) fn free_form(v: &Value) -> Texts {
    flatten_members(v, true)
}

fn flatten_members(v: &Value, floats: bool) -> Texts {
    let mut out = Texts::new();
    if let Value::Object(map) = v {
        for (key, value) in map {
            flatten(key.clone(), value, floats, &mut out);
        }
    }
    out
}

/// Adds the texts of a value under a name. The depth is bounded by that of the JSON value, which its reader bounds.
fn flatten(name: String, v: &Value, floats: bool, out: &mut Texts) {
    match v {
        Value::Null => {
            out.insert(name, "nil".into());
        }
        Value::Bool(b) => {
            out.insert(name, b.to_string());
        }
        Value::Number(n) => {
            out.insert(name, if floats { number_text(n) } else { n.to_string() });
        }
        Value::String(s) => {
            out.insert(name, s.clone());
        }
        Value::Array(list) => {
            for (i, item) in list.iter().enumerate() {
                flatten(format!("{name}[{i}]"), item, floats, out);
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                flatten(format!("{name}[{key}]"), item, floats, out);
            }
        }
    }
}

/// The text of a bool, number or string; nothing else has one in primitive mode.
pub(super) fn scalar(v: &Value) -> Option<String> {
    match v {
        Value::Bool(b) => Some(b.to_string()),
        Value::Number(n) => Some(n.to_string()),
        Value::String(s) => Some(s.clone()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A free-form number: a float, in exponent form from 1e6.
fn number_text(n: &Number) -> String {
    n.as_f64().map_or_else(|| n.to_string(), |f| float_text(f, 6))
}

/// The field diffs of two sides, sorted by name. Empty texts count as absent; unchanged ones appear if contextual.
pub(super) fn changes(old: Texts, new: Texts, contextual: bool) -> Vec<FieldDiff> {
    let mut pairs: BTreeMap<String, (String, String)> =
        old.into_iter().map(|(name, text)| (name, (text, String::new()))).collect();
    for (name, text) in new {
        pairs.entry(name).or_default().1 = text;
    }
    pairs
        .into_iter()
        .filter(|(_, (old, new))| contextual || old != new)
        .map(|(name, (old, new))| change(name, old, new))
        .collect()
}

/// One field diff.
pub(super) fn change(name: String, old: String, new: String) -> FieldDiff {
    let r#type = match (old.is_empty(), new.is_empty()) {
        _ if old == new => DiffType::None,
        (true, _) => DiffType::Added,
        (_, true) => DiffType::Deleted,
        _ => DiffType::Edited,
    };
    FieldDiff { r#type, name, old, new, annotations: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn free_form_numbers_print_like_floats() {
        for (v, want) in [
            (json!(100000), "100000"),
            (json!(999999), "999999"),
            (json!(1000000), "1e+06"),
            (json!(1234567), "1.234567e+06"),
            (json!(8589934592_i64), "8.589934592e+09"),
            (json!(100000.5), "100000.5"),
            (json!(0.0001), "0.0001"),
            (json!(0.00001), "1e-05"),
            (json!(-2.5), "-2.5"),
            (json!(0), "0"),
            (json!(1e120), "1e+120"),
        ] {
            assert_eq!(free_form(&json!({ "k": v }))["k"], want);
        }
    }

    #[test]
    fn full_mode_names_paths_and_drops_empty_collections() {
        let texts = free_form(&json!({"a": [{"b": true}, null], "c": [], "d": {}, "e": {"f": "x"}}));
        let want = [("a[0][b]", "true"), ("a[1]", "nil"), ("e[f]", "x")];
        assert_eq!(texts, want.map(|(k, v)| (k.to_string(), v.to_string())).into());
    }

    #[test]
    fn empty_texts_are_no_change_but_zero_is() {
        let side = |v: Value| primitive(&v, Pick::Named(&["A", "M", "N"]));
        let got = changes(side(json!({"A": "", "N": 0})), side(json!({"M": {"k": ""}, "N": null})), false);
        assert_eq!(got, vec![change("N".into(), "0".into(), String::new())]);
        assert_eq!(got[0].r#type, DiffType::Deleted);
    }
}
