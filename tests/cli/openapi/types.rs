//! The types of the HTTP API as JSON schemas, from the tables of their members.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

/// A type as a table writes it.
#[derive(Debug, Clone)]
enum Type {
    /// Members with their types.
    Object(Vec<(String, String)>),
    /// One of several types.
    OneOf(Vec<String>),
}

/// Which form of a type is meant: requests may leave out more, and durations may be texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// In an answer.
    Answer,
    /// In a body of a request.
    Request,
}

/// The tables of types.
pub struct Types {
    answers: BTreeMap<String, Type>,
    requests: BTreeMap<String, Type>,
}

/// The words of the tables that are not names of types.
const WORDS: [&str; 10] =
    ["str", "bool", "int", "uint", "float", "any", "base64", "time", "duration_ns", "duration_str"];

/// Types whose names differ from others by case alone, which generators of clients write to one file.
const RENAMED: [(&str, &str); 1] = [("CPUStats", "HostCpuStats")];

/// The schemas that were asked for, by name.
pub type Schemas = BTreeMap<String, Value>;

impl Types {
    /// `recorded`: the table of the recorded exchanges, in two parts. `own`: what that one lacks.
    pub fn parse(recorded: &str, own: &str) -> Types {
        let (answers, requests) = recorded.split_once("\n## Part 2").expect("two parts");
        let mut answers = table(answers);
        answers.extend(table(own));
        Types { answers, requests: table(requests) }
    }

    /// The schema of a type, and in `schemas` those of all types that it names.
    pub fn schema(&self, written: &str, form: Form, schemas: &mut Schemas) -> Value {
        let written = written.trim().trim_end_matches('*');
        if let Some(inner) = written.strip_suffix('?') {
            return or_null(self.schema(inner, form, schemas));
        }
        if let Some(item) = written.strip_prefix('[').and_then(|t| t.strip_suffix(']')) {
            return json!({ "type": ["array", "null"], "items": self.schema(item, form, schemas) });
        }
        if let Some(map) = written.strip_prefix('{').and_then(|t| t.strip_suffix('}')) {
            let (_, value) = map.split_once(':').expect("a map of keys to values");
            return json!({ "type": ["object", "null"], "additionalProperties": self.schema(value, form, schemas) });
        }
        match written {
            "str" => json!({ "type": "string" }),
            "bool" => json!({ "type": "boolean" }),
            "int" => json!({ "type": "integer", "format": "int64" }),
            "uint" => json!({ "type": "integer", "format": "int64", "minimum": 0 }),
            "float" => json!({ "type": "number" }),
            "any" => json!({}),
            "base64" => json!({ "type": ["string", "null"], "contentEncoding": "base64" }),
            "time" => json!({ "type": ["string", "null"], "format": "date-time" }),
            "duration_ns" if form == Form::Request => {
                json!({ "type": ["integer", "string"], "description": "Nanoseconds, or a duration such as 30s" })
            }
            "duration_ns" => json!({ "type": "integer", "format": "int64", "description": "Nanoseconds" }),
            "duration_str" => json!({ "type": "string", "description": "A duration such as 2m0s" }),
            name => self.named(name, form, schemas),
        }
    }

    fn named(&self, name: &str, form: Form, schemas: &mut Schemas) -> Value {
        let differs =
            form == Form::Request && self.answers.contains_key(name) && self.differs(name, &mut BTreeSet::new());
        let own = RENAMED.iter().find(|(of, _)| *of == name).map_or(name, |(_, own)| own);
        let (schema, form) = if differs { (format!("{own}Input"), Form::Request) } else { (own.to_string(), form) };
        let reference = json!({ "$ref": format!("#/components/schemas/{schema}") });
        if schemas.contains_key(&schema) {
            return reference;
        }
        // Types name themselves.
        schemas.insert(schema.clone(), Value::Null);
        let rules = match self.lookup(name, form) {
            Type::Object(members) => {
                let of = |(name, written): &(String, String)| (name.clone(), self.schema(written, form, schemas));
                let properties: Map<String, Value> = members.iter().map(of).collect();
                json!({ "type": "object", "properties": properties })
            }
            Type::OneOf(names) => {
                json!({ "anyOf": names.iter().map(|n| self.schema(n, form, schemas)).collect::<Vec<_>>() })
            }
        };
        schemas.insert(schema, rules);
        reference
    }

    fn lookup(&self, name: &str, form: Form) -> &Type {
        let of_requests = self.requests.get(name).filter(|_| form == Form::Request);
        let found = of_requests.or_else(|| self.answers.get(name)).or_else(|| self.requests.get(name));
        found.unwrap_or_else(|| panic!("no table has the type {name:?}"))
    }

    /// Whether a type of answers has another form in requests, or names one that has.
    fn differs(&self, name: &str, seen: &mut BTreeSet<String>) -> bool {
        if self.requests.contains_key(name) {
            return true;
        }
        if !seen.insert(name.into()) {
            return false;
        }
        let written: Vec<&String> = match self.lookup(name, Form::Request) {
            Type::Object(members) => members.iter().map(|(_, written)| written).collect(),
            Type::OneOf(names) => names.iter().collect(),
        };
        let names = written.iter().flat_map(|w| w.split(|c: char| !c.is_alphanumeric() && c != '_'));
        let names = names.filter(|n| !n.is_empty());
        let parts: BTreeSet<&str> = names.collect();
        parts.contains("duration_ns") || parts.iter().any(|n| !WORDS.contains(n) && self.differs(n, seen))
    }
}

/// The lines `Name: Member:type, …` and `Name = A | B` of a table.
fn table(text: &str) -> BTreeMap<String, Type> {
    let lines = text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#'));
    let named = lines.filter_map(|line| {
        if let Some((name, names)) = line.split_once(" = ") {
            return Some((name.to_string(), Type::OneOf(names.split(" | ").map(String::from).collect())));
        }
        let (head, members) = line.split_once(':')?;
        let (name, note) = head.split_once(' ').unwrap_or((head, ""));
        let is_name = name.chars().all(char::is_alphanumeric) && (note.is_empty() || note.starts_with('('));
        let pair = |m: String| m.split_once(':').map(|(name, written)| (name.to_string(), written.to_string()));
        is_name.then(|| (name.to_string(), Type::Object(members_of(members).into_iter().filter_map(pair).collect())))
    });
    named.collect()
}

/// The members of a line, parted by the commas that no bracket encloses.
fn members_of(line: &str) -> Vec<String> {
    let (mut depth, mut members) = (0, vec![String::new()]);
    for c in line.chars() {
        match c {
            '[' | '{' => depth += 1,
            ']' | '}' => depth -= 1,
            _ => {}
        }
        match members.last_mut() {
            _ if c == ',' && depth == 0 => members.push(String::new()),
            Some(last) => last.push(c),
            None => {}
        }
    }
    members.into_iter().map(|m| m.trim().to_string()).filter(|m| !m.is_empty()).collect()
}

/// The same, or null.
fn or_null(mut schema: Value) -> Value {
    match schema.get("type") {
        Some(Value::String(kind)) => {
            schema["type"] = json!([kind, "null"]);
            schema
        }
        Some(Value::Array(kinds)) if !kinds.contains(&json!("null")) => {
            let kinds: Vec<Value> = kinds.iter().cloned().chain([json!("null")]).collect();
            schema["type"] = json!(kinds);
            schema
        }
        None if schema.get("$ref").is_some() => json!({ "anyOf": [schema, { "type": "null" }] }),
        _ => schema,
    }
}
