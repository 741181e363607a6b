//! `constraint` and `affinity` blocks: three attributes and shorthands for them (`docs/spec/jobspec.md §8.3`).

use std::rc::Rc;

use serde_json::{Map, Value as Json};

use encamp_hcl::body::{BodyRef, Expected};
use encamp_hcl::diag::Diag;
use encamp_hcl::eval::{Evaluator, Scope};
use encamp_hcl::types::Type;
use encamp_hcl::value::Value;

/// Attributes of a constraint, sorted.
pub(crate) const CONSTRAINT: [(&str, bool); 13] = [
    ("attribute", false),
    ("distinct_hosts", false),
    ("distinct_property", false),
    ("is_not_set", false),
    ("is_set", false),
    ("operator", false),
    ("regexp", false),
    ("semver", false),
    ("set_contains", false),
    ("set_contains_all", false),
    ("set_contains_any", false),
    ("value", false),
    ("version", false),
];
/// Attributes of an affinity, sorted.
pub(crate) const AFFINITY: [(&str, bool); 10] = [
    ("attribute", false),
    ("operator", false),
    ("regexp", false),
    ("semver", false),
    ("set_contains", false),
    ("set_contains_all", false),
    ("set_contains_any", false),
    ("value", false),
    ("version", false),
    ("weight", false),
];

/// The attributes that are set.
struct Found(Vec<(String, Value)>);

impl Found {
    /// The text of an attribute, unless it is empty.
    fn text(&self, name: &str) -> Option<&str> {
        let (_, value) = self.0.iter().find(|(n, _)| n == name)?;
        value.as_str().filter(|text| !text.is_empty())
    }

    fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, v)| v)
    }
}

fn attributes(body: BodyRef, expected: &[(&str, bool)], ev: &mut Evaluator, scope: &Rc<Scope>) -> Found {
    let content = body.content(Expected { attributes: expected, blocks: &[], dynamic: true, first: &[] }, ev, scope);
    let mut found = Vec::new();
    for attribute in &content.attributes {
        let ty = match attribute.name {
            "distinct_hosts" => Type::Bool,
            "weight" => Type::Number,
            _ => Type::String,
        };
        match ev.eval(&attribute.expr, scope).convert(&ty) {
            Ok(value) => found.push((attribute.name.to_owned(), value)),
            Err(error) => {
                let detail = format!("Inappropriate value for attribute {:?}: {error}.", attribute.name);
                ev.report(Diag::at(attribute.expr.span, "Incorrect attribute value type", detail));
            }
        }
    }
    Found(found)
}

/// Left side, right side and operator, with the shorthands in their order, each overwriting.
fn sides(found: &Found, shorthands: &[&str]) -> Map<String, Json> {
    let mut out = Map::new();
    let mut set = |name: &str, text: &str| out.insert(name.to_owned(), Json::from(text));
    set("LTarget", found.text("attribute").unwrap_or(""));
    set("RTarget", found.text("value").unwrap_or(""));
    set("Operand", found.text("operator").unwrap_or("="));
    for name in shorthands {
        if let Some(text) = found.text(name) {
            set("Operand", name);
            set("RTarget", text);
        }
    }
    out
}

/// A `constraint` block.
pub(crate) fn constraint(body: BodyRef, ev: &mut Evaluator, scope: &Rc<Scope>) -> Map<String, Json> {
    let found = attributes(body, &CONSTRAINT, ev, scope);
    let mut out = sides(&found, &["version", "semver", "regexp", "set_contains"]);
    let mut set = |name: &str, text: &str| out.insert(name.to_owned(), Json::from(text));
    if let Some(distinct) = found.get("distinct_hosts").and_then(Value::as_bool) {
        set("Operand", "distinct_hosts");
        set("RTarget", if distinct { "true" } else { "false" });
    }
    if let Some(property) = found.text("distinct_property") {
        set("Operand", "distinct_property");
        set("LTarget", property);
    }
    out
}

/// An `affinity` block. The weight is cut to a whole number and then to its low 8 bits, as Nomad does.
pub(crate) fn affinity(body: BodyRef, ev: &mut Evaluator, scope: &Rc<Scope>) -> Map<String, Json> {
    let found = attributes(body, &AFFINITY, ev, scope);
    let shorthands = ["version", "semver", "regexp", "set_contains_any", "set_contains_all", "set_contains"];
    let mut out = sides(&found, &shorthands);
    if let Some(number) = found.get("weight").and_then(Value::as_number) {
        let truncated = if number.is_negative() { number.ceil() } else { number.floor() };
        let weight = truncated.to_i64().unwrap_or(if number.is_negative() { i64::MIN } else { i64::MAX });
        out.insert("Weight".to_owned(), Json::from(weight as i8));
    }
    out
}
