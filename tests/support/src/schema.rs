//! Checks JSON by the schemas of `docs/reference`, more strictly than they say: where a schema names the members of an
//! object, there may be no others, so that nothing is printed that is not documented.
//!
//! An unknown keyword fails the test, so that every rule of a schema is checked.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::{Map, Value};

/// Where the schemas are.
pub fn folder() -> PathBuf {
    crate::program::repository().join("docs/reference")
}

/// A schema file of `docs/reference`.
pub struct Schema {
    pub file: String,
    root: Value,
    /// Objects below the root are those of the HTTP API, of which the schema names some members only.
    pub open: bool,
    /// The definitions that were applied to some value so far.
    pub used: RefCell<BTreeSet<String>>,
}

/// The members of an object that rules name; `None` where no rule names any.
type Known = Option<BTreeSet<String>>;

impl Schema {
    pub fn load(file: &str) -> Schema {
        let text = std::fs::read_to_string(folder().join(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
        let root = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{file}: {e}"));
        Schema::of(file, root)
    }

    /// A schema that is not in a file of its own.
    pub fn of(name: &str, root: Value) -> Schema {
        Schema { file: name.into(), root, open: false, used: RefCell::default() }
    }

    /// Names of all definitions.
    pub fn definitions(&self) -> BTreeSet<String> {
        self.root["$defs"].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
    }

    /// Everything that is wrong with a value.
    pub fn problems(&self, value: &Value) -> Vec<String> {
        let mut out = Vec::new();
        self.whole(&self.root, value, "", &mut out);
        out
    }

    /// A value by all its rules, and without members that they do not name.
    fn whole(&self, rules: &Value, value: &Value, at: &str, out: &mut Vec<String>) {
        let mut known = None;
        self.apply(rules, value, at, &mut known, out);
        if self.open && !at.is_empty() {
            return;
        }
        if let (Value::Object(members), Some(known)) = (value, known) {
            let unknown = members.keys().filter(|name| !known.contains(*name));
            out.extend(unknown.map(|name| format!("{at}.{name} is not documented")));
        }
    }

    fn apply(&self, rules: &Value, value: &Value, at: &str, known: &mut Known, out: &mut Vec<String>) {
        let rules = rules.as_object().unwrap_or_else(|| panic!("{}: not an object of rules: {rules}", self.file));
        for (keyword, rule) in rules {
            self.rule(rules, (keyword, rule), (value, at), known, out);
        }
    }

    fn rule(
        &self,
        beside: &Map<String, Value>,
        (keyword, rule): (&str, &Value),
        (value, at): (&Value, &str),
        known: &mut Known,
        out: &mut Vec<String>,
    ) {
        let mut demand = |right: bool| {
            if !right {
                let start: String = value.to_string().chars().take(60).collect();
                out.push(format!("{at} is {start}: {keyword} has to be {rule}"));
            }
        };
        let number = |v: &Value| v.as_f64().unwrap_or_else(|| panic!("{}: {keyword} {v}", self.file));
        let length = value.as_array().map(|list| list.len() as f64);
        match keyword {
            // Any text may be in base64 or not, and numbers are whole or not by their type.
            "$schema" | "title" | "description" | "$defs" | "contentEncoding" => {}
            "format" if rule == "int64" => {}
            "type" => demand(one_or_many(rule).any(|t| is(value, t.as_str().unwrap_or_default()))),
            "const" => demand(value == rule),
            "enum" => demand(one_or_many(rule).any(|v| v == value)),
            "minimum" => demand(value.as_f64().is_none_or(|v| v >= number(rule))),
            "minItems" => demand(length.is_none_or(|n| n >= number(rule))),
            "maxItems" => demand(length.is_none_or(|n| n <= number(rule))),
            "format" => {
                assert_eq!(rule, "date-time", "{}", self.file);
                demand(value.as_str().is_none_or(|text| encamp_model::Time::parse(text).is_ok()));
            }
            "required" => {
                let Value::Object(members) = value else { return };
                let missing = one_or_many(rule).filter_map(Value::as_str).filter(|name| !members.contains_key(*name));
                out.extend(missing.map(|name| format!("{at}.{name} is missing")));
            }
            "properties" => {
                let named = rule.as_object().into_iter().flatten();
                for (name, rules) in named {
                    known.get_or_insert_default().insert(name.clone());
                    if let Some(member) = value.get(name) {
                        self.whole(rules, member, &format!("{at}.{name}"), out);
                    }
                }
            }
            "additionalProperties" => {
                let others = value.as_object().into_iter().flatten();
                for (name, member) in
                    others.filter(|(name, _)| beside.get("properties").is_none_or(|p| p.get(name).is_none()))
                {
                    known.get_or_insert_default().insert(name.clone());
                    match rule {
                        Value::Bool(allowed) if *allowed => {}
                        Value::Bool(_) => out.push(format!("{at}.{name} is not allowed")),
                        rules => self.whole(rules, member, &format!("{at}.{name}"), out),
                    }
                }
            }
            "items" => {
                for (i, item) in value.as_array().into_iter().flatten().enumerate() {
                    self.whole(rule, item, &format!("{at}[{i}]"), out);
                }
            }
            "allOf" => one_or_many(rule).for_each(|rules| self.apply(rules, value, at, known, out)),
            "anyOf" => {
                let tries = one_or_many(rule).map(|rules| {
                    let (mut names, mut problems) = (None, Vec::new());
                    self.apply(rules, value, at, &mut names, &mut problems);
                    (names, problems)
                });
                let tries: Vec<(Known, Vec<String>)> = tries.collect();
                if tries.iter().all(|(_, problems)| !problems.is_empty()) {
                    out.extend(tries.iter().flat_map(|(_, problems)| problems.clone()));
                }
                for names in
                    tries.into_iter().filter(|(_, problems)| problems.is_empty()).filter_map(|(names, _)| names)
                {
                    known.get_or_insert_default().extend(names);
                }
            }
            "$ref" => self.refer(rule.as_str().unwrap_or_default(), (value, at), known, out),
            other => panic!("{}: the keyword {other} is not known here", self.file),
        }
    }

    /// What another place of this file or another file says.
    fn refer(&self, target: &str, (value, at): (&Value, &str), known: &mut Known, out: &mut Vec<String>) {
        match target.strip_prefix("#/$defs/") {
            Some(name) => {
                self.used.borrow_mut().insert(name.into());
                let rules = &self.root["$defs"][name];
                assert!(rules.is_object(), "{}: {target} leads nowhere", self.file);
                self.apply(rules, value, at, known, out);
            }
            None => {
                let (file, part) = target.split_once('#').unwrap_or((target, ""));
                let other = Schema::load(file);
                match part {
                    "" => other.apply(&other.root, value, at, known, out),
                    part => other.refer(&format!("#{part}"), (value, at), known, out),
                }
            }
        }
    }
}

/// The items of a list, or the one thing that is not in a list.
fn one_or_many(value: &Value) -> impl Iterator<Item = &Value> {
    let list = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    list.iter()
}

fn is(value: &Value, kind: &str) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("there is no type {other}"),
    }
}
