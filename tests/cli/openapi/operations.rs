//! The operations of the HTTP API, and the document that describes them.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::types::{Form, Schemas, Types};

/// An operation, as a line of `crates/http/openapi/operations.txt` describes it.
pub struct Operation {
    /// Methods that mean the same.
    pub methods: Vec<String>,
    /// With the names of parameters in braces.
    pub path: String,
    tag: String,
    shared: String,
    /// Parameters of the query: name, type, and whether it is required.
    pub query: Vec<(String, String, bool)>,
    body: String,
    answer: String,
    summary: String,
}

/// The operations of the table.
pub fn parse(text: &str) -> Vec<Operation> {
    let (mut tag, mut operations) = (String::new(), Vec::new());
    for line in text.lines().skip_while(|l| !l.is_empty()).filter(|l| !l.is_empty()) {
        if let Some(section) = line.strip_prefix("# ") {
            tag = section.into();
            continue;
        }
        let cells: Vec<&str> = line.split(" | ").map(str::trim).collect();
        let [call, shared, query, body, answer, summary] = cells[..] else { panic!("not six cells: {line}") };
        let (methods, path) = call.split_once(' ').expect("methods and a path");
        let given = |text: &str| if text == "-" { String::new() } else { text.to_string() };
        operations.push(Operation {
            methods: methods.split('|').map(String::from).collect(),
            path: path.into(),
            tag: tag.clone(),
            shared: given(shared),
            query: given(query).split(", ").filter_map(parameter).collect(),
            body: given(body),
            answer: answer.into(),
            summary: summary.into(),
        });
    }
    operations
}

fn parameter(written: &str) -> Option<(String, String, bool)> {
    let (name, kind) = written.split_once(':')?;
    Some((name.into(), kind.trim_end_matches('!').into(), kind.ends_with('!')))
}

/// A parameter of a query: its name, its type, and what it means.
type Parameter = (&'static str, &'static str, &'static str);

/// Parameters that operations share, by the letter of the table.
const SHARED: [(char, &[Parameter]); 5] = [
    ('N', &[("namespace", "str", "The namespace; * stands for all that the token may read, where lists are read")]),
    (
        'S',
        &[
            ("stale", "bool", "Any server may answer, also from an older state"),
            ("consistent", "bool", "The leader asks the other servers first whether it still leads"),
        ],
    ),
    (
        'B',
        &[
            ("index", "int", "Wait until the answer is newer than this index"),
            ("wait", "str", "Wait for this long at most, such as 30s"),
        ],
    ),
    (
        'P',
        &[
            ("per_page", "int", "The number of rows of a page"),
            ("next_token", "str", "The header X-Nomad-NextToken of the page before"),
            ("reverse", "bool", "The last rows first"),
            ("filter", "str", "An expression that the rows satisfy"),
        ],
    ),
    ('X', &[("prefix", "str", "Only rows whose ID begins with this")]),
];

impl Operation {
    /// The schema of the body of a request, if it is JSON.
    pub fn body(&self, types: &Types, schemas: &mut Schemas) -> Option<Value> {
        (!self.body.is_empty() && self.body != "bytes").then(|| types.schema(&self.body, Form::Request, schemas))
    }

    /// The schema of the answer, if it is JSON.
    pub fn answer(&self, types: &Types, schemas: &mut Schemas) -> Option<Value> {
        if !self.is_json() {
            return None;
        }
        let answer = self.answer.trim_end_matches(" or text");
        Some(match answer.strip_suffix(" request") {
            Some(name) => types.schema(name, Form::Request, schemas),
            None => types.schema(answer, Form::Answer, schemas),
        })
    }

    /// Whether the answer is JSON.
    pub fn is_json(&self) -> bool {
        !["empty", "text", "bytes", "lines", "socket"].contains(&self.answer.as_str())
    }

    /// Whether the answer has no body.
    pub fn is_empty(&self) -> bool {
        self.answer == "empty"
    }

    /// The names of the parameters in the path.
    fn in_path(&self) -> impl Iterator<Item = &str> {
        self.path.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name)
    }

    /// Whether a parameter belongs to the operation.
    pub fn takes(&self, parameter: &str) -> bool {
        let shared = SHARED.iter().filter(|(letter, _)| self.shared.contains(*letter)).flat_map(|(_, p)| p.iter());
        ["region", "pretty"].contains(&parameter)
            || shared.map(|(name, ..)| *name).any(|name| name == parameter)
            || self.query.iter().any(|(name, ..)| name == parameter)
    }

    /// The members of a path in the document, by method.
    fn describe(&self, operations: &[Operation], types: &Types, schemas: &mut Schemas) -> Vec<(String, Value)> {
        let mut parameters: Vec<Value> = Vec::new();
        for name in self.in_path() {
            parameters.push(json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }));
        }
        for (name, written, required) in &self.query {
            let mut rules = types.schema(written, Form::Answer, schemas);
            if written.starts_with('[') {
                rules["type"] = json!("array");
            }
            parameters.push(json!({ "name": name, "in": "query", "required": required, "schema": rules }));
        }
        let letters = SHARED.iter().filter(|(letter, _)| self.shared.contains(*letter));
        let shared = letters.flat_map(|(_, parameters)| parameters.iter()).map(|(name, ..)| *name);
        for name in ["region"].into_iter().chain(shared) {
            parameters.push(json!({ "$ref": format!("#/components/parameters/{name}") }));
        }
        let mut content = Map::new();
        if let Some(rules) = self.answer(types, schemas) {
            content.insert("application/json".into(), json!({ "schema": rules }));
        }
        let text = json!({ "schema": { "type": "string" } });
        match self.answer.as_str() {
            "text" => drop(content.insert("text/plain".into(), text)),
            answer if answer.ends_with(" or text") => drop(content.insert("text/plain".into(), text)),
            "bytes" => drop(content.insert("application/octet-stream".into(), json!({ "schema": {} }))),
            "lines" => drop(content.insert("application/jsonl".into(), json!({ "schema": {} }))),
            _ => {}
        }
        let status = if self.answer == "socket" { "101" } else { "200" };
        let mut right = json!({ "description": self.answered() });
        if !content.is_empty() {
            right["content"] = Value::Object(content);
        }
        let responses = json!({ status: right, "default": { "$ref": "#/components/responses/error" } });
        let mut rules = json!({
            "tags": [self.tag],
            "summary": self.summary,
            "parameters": parameters,
            "responses": responses,
        });
        if let Some(body) = self.body(types, schemas) {
            rules["requestBody"] = json!({ "content": { "application/json": { "schema": body } } });
        } else if self.body == "bytes" {
            rules["requestBody"] = json!({ "content": { "application/octet-stream": { "schema": {} } } });
        }
        let first = self.methods.first().cloned();
        let named = self.methods.iter().map(|method| {
            let mut rules = rules.clone();
            let alias = if Some(method) == first.as_ref() { String::new() } else { format!("By{}", title(method)) };
            rules["operationId"] = format!("{}{alias}", self.id(operations)).into();
            (method.to_lowercase(), rules)
        });
        named.collect()
    }

    fn answered(&self) -> &'static str {
        match self.answer.as_str() {
            "empty" => "Done",
            "socket" => "The connection becomes a WebSocket",
            _ => "The answer",
        }
    }

    /// The name of the operation in generated clients: the first method and the words of the path; `named` where the
    /// path ends with a name, and there is an operation with the same words.
    fn id(&self, operations: &[Operation]) -> String {
        let words = |o: &Operation| {
            let method = o.methods.first().map(|m| m.to_lowercase()).unwrap_or_default();
            let fixed = o.path.trim_start_matches("/v1").split('/').filter(|part| !part.starts_with('{'));
            let words = fixed.flat_map(|part| part.split(|c: char| !c.is_alphanumeric())).filter(|w| !w.is_empty());
            words.fold(method, |id, word| id + &title(word))
        };
        let id = words(self);
        let shared = operations.iter().any(|o| o.path != self.path && words(o) == id);
        if shared && self.path.ends_with('}') { id + "Named" } else { id }
    }
}

fn title(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|c| c.to_uppercase().collect::<String>() + &letters.as_str().to_lowercase()).unwrap_or_default()
}

/// The document of all operations.
pub fn document(operations: &[Operation], types: &Types, version: &str) -> Value {
    let (mut schemas, mut paths) = (Schemas::new(), BTreeMap::<String, Map<String, Value>>::new());
    for operation in operations {
        let described = operation.describe(operations, types, &mut schemas);
        paths.entry(operation.path.clone()).or_default().extend(described);
    }
    let mut parameters = Map::new();
    let region = ("region", "str", "The region");
    for (name, written, description) in SHARED.iter().flat_map(|(_, p)| p.iter()).chain([&region]) {
        let rules = types.schema(written, Form::Answer, &mut schemas);
        parameters.insert(
            (*name).to_string(),
            json!({ "name": name, "in": "query", "description": description, "schema": rules }),
        );
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "HTTP API of encamp",
            "version": version,
            "description": "Compatible with HashiCorp Nomad 2.0.5. Names of jobs, variables and files in a path may \
                contain slashes. Members that are null may be absent, and the other way round.",
            "license": { "name": "MPL-2.0", "identifier": "MPL-2.0" },
        },
        "servers": [{ "url": "http://127.0.0.1:4646" }],
        "security": [{}, { "token": [] }, { "bearer": [] }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "parameters": parameters,
            "responses": { "error": {
                "description": "What is wrong, as plain text",
                "content": { "text/plain": { "schema": { "type": "string" } } },
            } },
            "securitySchemes": {
                "token": { "type": "apiKey", "in": "header", "name": "X-Nomad-Token" },
                "bearer": { "type": "http", "scheme": "bearer" },
            },
        },
    })
}

/// The document as a file: a line for each path and each schema, so that it is small and its changes are readable.
pub fn text(document: &Value) -> String {
    let mut text = String::from("{\n");
    let members = document.as_object().into_iter().flatten();
    let of_lines = |value: &Value, indent: &str| -> String {
        let lines =
            value.as_object().into_iter().flatten().map(|(name, rules)| format!("{indent}{}: {rules}", json!(name)));
        lines.collect::<Vec<_>>().join(",\n")
    };
    let parts = members.map(|(name, value)| match name.as_str() {
        "paths" => format!("\"paths\": {{\n{}\n}}", of_lines(value, " ")),
        "components" => {
            let kinds = value.as_object().into_iter().flatten();
            let kinds = kinds.map(|(kind, entries)| format!(" {}: {{\n{}\n }}", json!(kind), of_lines(entries, "  ")));
            format!("\"components\": {{\n{}\n}}", kinds.collect::<Vec<_>>().join(",\n"))
        }
        _ => format!("{}: {value}", json!(name)),
    });
    text += &parts.collect::<Vec<_>>().join(",\n");
    text + "\n}\n"
}
