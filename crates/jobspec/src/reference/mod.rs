//! What job files may contain: the blocks and attributes of each place, their types, and their descriptions, which are
//! those of the types in `encamp_model::api`; and the JSON schema of jobs, made from the same types.
//!
//! - `since`: the versions of Nomad that brought them

mod since;

use std::sync::LazyLock;

use serde_json::{Map, Value as Json, json};

use crate::explain::closed_sets::closed_set;
use crate::explain::scope::{Allowed, inside};
use crate::explain::values::takes;
use crate::parse::schema::{Inside, JOB, Kind, Occurs};
use encamp_model::api::job::Job;
use since::since;

/// How the value of an attribute is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// In quotes.
    Text,
    /// `true` or `false`.
    Bool,
    /// A number.
    Number,
    /// In quotes, with a unit.
    Duration,
    /// `[ … ]`
    List,
    /// `{ … }`
    Map,
}

/// An attribute that a place may contain.
#[derive(Debug, Clone)]
pub struct Attribute {
    /// The name.
    pub name: &'static str,
    /// The name in the JSON of jobs; empty where the attribute sets another one, such as `regexp` of a constraint.
    pub json: String,
    /// How its value is written.
    pub form: Form,
    /// What it takes, in words: `a duration such as "30s"`.
    pub takes: &'static str,
    /// Whether the block needs it.
    pub required: bool,
    /// The values that it accepts; `None`: any.
    pub values: Option<&'static [&'static str]>,
    /// The description.
    pub description: Option<&'static str>,
    /// The first version of Nomad that knows it, if that is later than 1.0.
    pub since: Option<&'static str>,
}

/// A block that a place may contain.
#[derive(Debug, Clone)]
pub struct Block {
    /// The type.
    pub name: &'static str,
    /// The name in the JSON of jobs.
    pub json: String,
    /// Whether it has a label.
    pub label: bool,
    /// Whether it may occur once only.
    pub once: bool,
    /// Whether it may be written as an attribute with a map.
    pub or_map: bool,
    /// Whether its attributes are free.
    pub free: bool,
    /// The description.
    pub description: Option<&'static str>,
    /// The first version of Nomad that knows it, if that is later than 1.0.
    pub since: Option<&'static str>,
}

/// The inside of a block of a job file.
#[derive(Clone, Copy)]
pub struct Place {
    kind: &'static str,
    allowed: Allowed,
    schema: Option<&'static Json>,
}

/// The JSON schema of jobs, as the types have it.
static SCHEMA: LazyLock<Json> = LazyLock::new(|| schemars::schema_for!(Job).to_value());

/// The place inside of nested blocks, outermost first, beginning with `job`; `None` for blocks that there are not.
pub fn place<'k>(kinds: impl IntoIterator<Item = &'k str>) -> Option<Place> {
    let mut kinds = kinds.into_iter();
    if kinds.next()? != "job" {
        return None;
    }
    let mut at = Place { kind: "job", allowed: Allowed::Schema(&JOB), schema: Some(&SCHEMA) };
    for kind in kinds {
        at = at.inside(kind)?;
    }
    Some(at)
}

impl Place {
    /// The place inside of one of its blocks.
    fn inside(&self, kind: &str) -> Option<Place> {
        let Allowed::Schema(schema) = self.allowed else {
            return matches!(self.allowed, Allowed::Anything).then_some(*self);
        };
        let block = schema.blocks.iter().find(|b| b.name == kind)?;
        let member = self.member(&block.json());
        Some(Place { kind: block.name, allowed: inside(&block.inside), schema: member.and_then(content) })
    }

    /// What a block sets. Those of a job or group that its type does not have are for its groups and tasks.
    fn member(&self, name: &str) -> Option<&'static Json> {
        let own = self.schema?;
        let group = || member(&SCHEMA, "TaskGroups").and_then(content);
        let task = || group().and_then(|group| member(group, "Tasks")).and_then(content);
        member(own, name).or_else(|| match self.kind {
            "job" => group().and_then(|s| member(s, name)).or_else(|| member(task()?, name)),
            "group" => member(task()?, name),
            _ => None,
        })
    }

    /// Whether any attribute is allowed.
    pub fn is_free(&self) -> bool {
        matches!(self.allowed, Allowed::Anything)
    }

    /// The attributes, in the order of the reference.
    pub fn attributes(&self) -> Vec<Attribute> {
        match self.allowed {
            Allowed::Schema(schema) => schema
                .attributes
                .iter()
                .map(|a| self.attribute(a.name, a.json(), a.kind, a.required || a.required_last))
                .collect(),
            Allowed::Names(names) => names.iter().map(|(name, _)| self.comparison(name)).collect(),
            Allowed::Anything => Vec::new(),
        }
    }

    fn attribute(&self, name: &'static str, json: String, kind: Kind, required: bool) -> Attribute {
        let description = self.schema.and_then(|s| member(s, &json)).and_then(description);
        Attribute {
            name,
            json,
            form: form(kind),
            takes: takes(kind).unwrap_or("a value"),
            required,
            values: closed_set(self.kind, name),
            description,
            since: since(self.kind, name),
        }
    }

    /// An attribute of a constraint or an affinity.
    fn comparison(&self, name: &'static str) -> Attribute {
        let (json, kind) = match name {
            "attribute" => ("LTarget", Kind::Str),
            "value" => ("RTarget", Kind::Str),
            "operator" => ("Operand", Kind::Str),
            "weight" => ("Weight", Kind::Int { min: -100, max: 100, null: true }),
            "distinct_hosts" => ("", Kind::Bool),
            _ => ("", Kind::Str),
        };
        Attribute {
            description: match name {
                "distinct_hosts" => Some("Whether every allocation goes to a node of its own."),
                "distinct_property" => Some("The attribute that differs between the nodes of the allocations."),
                "is_set" | "is_not_set" => Some("Ignored: write operator = \"is_set\" instead."),
                "version" | "semver" => Some("The versions that the attribute may have, such as \">= 1.2, < 2.0\"."),
                "regexp" => Some("A regular expression that the attribute matches."),
                "set_contains" | "set_contains_all" => Some("Elements that the attribute, a list with commas, has."),
                "set_contains_any" => Some("Elements of which the attribute, a list with commas, has one."),
                _ => self.attribute(name, json.to_owned(), kind, false).description,
            },
            ..self.attribute(name, json.to_owned(), kind, false)
        }
    }

    /// The blocks, in the order of the reference.
    pub fn blocks(&self) -> Vec<Block> {
        let Allowed::Schema(schema) = self.allowed else { return Vec::new() };
        let block = |b: &'static crate::parse::schema::Block| Block {
            name: b.name,
            json: b.json(),
            label: b.label.is_some(),
            once: matches!(b.occurs, Occurs::Once | Occurs::OnceOfType),
            or_map: matches!(b.inside, Inside::StringsOrMap),
            free: matches!(inside(&b.inside), Allowed::Anything),
            description: self.member(&b.json()).and_then(description),
            since: since(self.kind, b.name),
        };
        schema.blocks.iter().map(block).collect()
    }
}

fn form(kind: Kind) -> Form {
    match kind {
        Kind::Str | Kind::OptStr => Form::Text,
        Kind::Bool | Kind::OptBool => Form::Bool,
        Kind::Int { .. } => Form::Number,
        Kind::Duration => Form::Duration,
        Kind::Strings | Kind::Ports => Form::List,
        Kind::StringMap => Form::Map,
    }
}

/// A member of an object of the schema.
fn member(object: &'static Json, name: &str) -> Option<&'static Json> {
    object.get("properties")?.get(name)
}

fn description(member: &'static Json) -> Option<&'static str> {
    let own = member.get("description").and_then(Json::as_str);
    own.or_else(|| content(member)?.get("description").and_then(Json::as_str))
}

/// The object that a member is, or that its elements are.
fn content(mut at: &'static Json) -> Option<&'static Json> {
    loop {
        at = if let Some(name) = at.get("$ref").and_then(Json::as_str) {
            SCHEMA.get("$defs")?.get(name.strip_prefix("#/$defs/")?)?
        } else if let Some(any) = at.get("anyOf").and_then(Json::as_array) {
            any.iter().find(|s| s.get("$ref").is_some())?
        } else if let Some(inner) = at.get("items").or_else(|| at.get("additionalProperties")) {
            if at.get("properties").is_some() {
                return Some(at);
            }
            inner
        } else {
            return Some(at).filter(|s| s.get("properties").is_some());
        }
    }
}

/// The members whose values are durations: nanoseconds, or text with a unit.
const UNITS: &str = "^[-+]?(0|([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$";

/// The JSON schema of job files in JSON (`-json`): a job, or a job inside of `Job`.
///
/// Members may be null, as the API reads null as "not set"; members that no type knows are refused, although servers
/// ignore them, because they are mistakes in a file that a person writes.
pub fn json_schema() -> Json {
    let mut schema = SCHEMA.clone();
    let definitions = schema.as_object_mut().and_then(|s| s.remove("$defs")).unwrap_or_default();
    let mut definitions: Map<String, Json> = definitions.as_object().cloned().unwrap_or_default();
    if let Some(job) = schema.as_object_mut() {
        job.remove("$schema");
        job.remove("title");
    }
    definitions.insert("Job".into(), schema);
    definitions.values_mut().for_each(close);
    for (owner, names) in durations() {
        for name in names {
            let properties = definitions.get_mut(owner).and_then(|d| d.get_mut("properties"));
            if let Some(member) = properties.and_then(|p| p.get_mut(name)) {
                let description = member.get("description").cloned().unwrap_or_default();
                *member = json!({
                    "description": description,
                    "anyOf": [{"type": ["integer", "null"]}, {"type": "string", "pattern": UNITS}],
                });
            }
        }
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Job file in JSON",
        "description": "A job of the HTTP API, or an object whose member Job is one.",
        "if": {"type": "object", "required": ["Job"]},
        "then": {
            "type": "object",
            "properties": {"Job": {"$ref": "#/$defs/Job"}},
            "additionalProperties": false,
        },
        "else": {"$ref": "#/$defs/Job"},
        "$defs": definitions,
    })
}

/// Refuses unknown members of an object, and allows null for known ones.
fn close(object: &mut Json) {
    let Some(object) = object.as_object_mut() else { return };
    let Some(properties) = object.get_mut("properties").and_then(Json::as_object_mut) else { return };
    for member in properties.values_mut().filter_map(Json::as_object_mut) {
        member.remove("default");
        member.remove("format");
        match member.get_mut("type") {
            Some(Json::String(one)) => {
                let both = json!([one, "null"]);
                member.insert("type".into(), both);
            }
            Some(_) => {}
            None => {
                if let Some(target) = member.remove("$ref") {
                    member.insert("anyOf".into(), json!([{"$ref": target}, {"type": "null"}]));
                }
            }
        }
    }
    object.insert("additionalProperties".into(), Json::Bool(false));
}

/// The definitions with members that are durations, found in the tables of the job file language.
fn durations() -> Vec<(&'static str, Vec<String>)> {
    let mut out = Vec::new();
    let mut seen: Vec<*const Json> = Vec::new();
    let mut open: Vec<(Place, usize)> = place(["job"]).map(|p| (p, 0)).into_iter().collect();
    while let Some((at, depth)) = open.pop() {
        if let Some(schema) = at.schema.filter(|s| !seen.contains(&(*s as *const Json))) {
            seen.push(schema);
            let names = at.attributes().into_iter().filter(|a| a.form == Form::Duration).map(|a| a.json).collect();
            let definitions = SCHEMA.get("$defs").and_then(Json::as_object).into_iter().flatten();
            let named = definitions.filter(|(_, d)| std::ptr::eq(*d, schema)).map(|(name, _)| name.as_str());
            out.extend(named.map(|name| (name, Vec::clone(&names))));
        }
        if depth < 8 {
            open.extend(at.blocks().iter().filter_map(|b| Some((at.inside(b.name)?, depth + 1))));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every block and attribute of the tables has a description, down to the eighth level.
    #[test]
    fn everything_is_described() {
        let mut open = vec![(vec!["job"], place(["job"]).expect("the job"))];
        let (mut count, mut missing) = (0, Vec::new());
        while let Some((path, at)) = open.pop() {
            for a in at.attributes() {
                count += 1;
                if a.description.is_none() {
                    missing.push(format!("{}.{}", path.join("."), a.name));
                }
            }
            for b in at.blocks() {
                count += 1;
                if b.description.is_none() {
                    missing.push(format!("{}.{}", path.join("."), b.name));
                }
                if path.len() < 8 {
                    let inner = path.iter().copied().chain([b.name]).collect();
                    open.push((inner, at.inside(b.name).expect("a block")));
                }
            }
        }
        assert!(count > 700, "{count}");
        assert_eq!(missing, Vec::<String>::new());
    }

    #[test]
    fn the_schema_knows_durations_and_closes_objects() {
        let schema = json_schema();
        assert_eq!(schema["$defs"]["Job"]["additionalProperties"], false);
        assert!(schema["$defs"]["Task"]["properties"]["KillTimeout"]["anyOf"][1]["pattern"].is_string());
    }
}
