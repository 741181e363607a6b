//! Writes of every kind of object: the smallest valid one, each member missing, empty, and of another JSON kind, and
//! values that are wrong.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Known, World, compare};
use encamp_test_support::recorded;

/// Members that servers set.
const OF_SERVERS: [&str; 12] = [
    "Hash",
    "CreateIndex",
    "ModifyIndex",
    "CreateTime",
    "ModifyTime",
    "RulesJSON",
    "State",
    "Allocations",
    "ReadAllocs",
    "WriteAllocs",
    "ResourceExhausted",
    "ExpirationTime",
];

/// A kind of object: an entry of `objects.json`.
#[derive(Deserialize)]
struct Kind {
    title: String,
    /// Its types in `tests/oracle/http/types.txt`: that of the object (""), and that of a member of it.
    types: Vec<(String, String)>,
    path: String,
    /// The member of the body that holds it; empty: it is the body.
    inside: String,
    /// `#` is another number in each request, `NODE` the ID of the node.
    smallest: Value,
    valid: Known,
    /// What is known of requests that are made of the members of the types: `Name missing`.
    known: BTreeMap<String, Known>,
    more: Vec<More>,
}

/// A further request.
#[derive(Deserialize)]
struct More {
    what: String,
    /// Another path.
    path: Option<String>,
    /// Another object than the smallest one.
    object: Option<Value>,
    /// Members that are set, by their pointers.
    #[serde(default)]
    set: BTreeMap<String, Value>,
    known: Known,
}

impl More {
    fn object(&self, kind: &Kind) -> Value {
        let base = self.object.clone().unwrap_or_else(|| kind.smallest.clone());
        self.set.iter().fold(base, |object, (pointer, value)| put(&object, pointer, value.clone()))
    }
}

/// An object with a member at a pointer.
fn put(base: &Value, pointer: &str, value: Value) -> Value {
    let mut out = base.clone();
    let (parent, member) = pointer.rsplit_once('/').unwrap_or(("", pointer));
    if let Some(object) = out.pointer_mut(parent).and_then(Value::as_object_mut) {
        object.insert(member.into(), value);
    }
    out
}

fn without(base: &Value, pointer: &str) -> Value {
    let mut out = base.clone();
    let (parent, member) = pointer.rsplit_once('/').unwrap_or(("", pointer));
    if let Some(object) = out.pointer_mut(parent).and_then(Value::as_object_mut) {
        object.remove(member);
    }
    out
}

/// The members of a recorded type, with their types.
fn members(name: &str) -> Vec<(String, String)> {
    let Some(types) = recorded::text("http/types.txt") else { return Vec::new() };
    let line = types.lines().find_map(|l| l.strip_prefix(&format!("{name}: ")));
    let line = line.unwrap_or_else(|| panic!("there is no type {name}"));
    let members = line.split(", ").filter_map(|m| m.split_once(':'));
    let all = members.map(|(n, t)| (n.to_string(), t.trim_end_matches(['*', '?']).to_string()));
    all.filter(|(n, _)| !OF_SERVERS.contains(&n.as_str())).collect()
}

/// An empty value of a type, and one of another JSON kind.
fn values(r#type: &str) -> (Value, Value) {
    match r#type {
        "str" | "duration_str" => (json!(""), json!({})),
        "bool" => (json!(false), json!("x")),
        "int" | "uint" | "duration_ns" => (json!(0), json!("x")),
        list if list.starts_with('[') => (json!([]), json!("x")),
        // A map or an object.
        _ => (json!({}), json!("x")),
    }
}

fn kinds() -> Vec<Kind> {
    serde_json::from_str(include_str!("objects.json")).expect("the kinds of objects")
}

/// The requests that the members of the types make.
fn made(kind: &Kind) -> Vec<(String, Value)> {
    let mut out = Vec::new();
    for (member, r#type) in &kind.types {
        let parent = if member.is_empty() { String::new() } else { format!("/{member}") };
        for (name, r#type) in members(r#type) {
            let pointer = format!("{parent}/{name}");
            let label = pointer.trim_start_matches('/');
            let base = match kind.smallest.pointer(&parent) {
                Some(_) => kind.smallest.clone(),
                None => put(&kind.smallest, &parent, json!({})),
            };
            let (empty, other) = values(&r#type);
            if kind.smallest.pointer(&pointer).is_some() {
                out.push((format!("{label} missing"), without(&base, &pointer)));
            }
            out.push((format!("{label} empty"), put(&base, &pointer, empty)));
            out.push((format!("{label} null"), put(&base, &pointer, json!(null))));
            out.push((format!("{label} of another kind"), put(&base, &pointer, other)));
        }
    }
    out
}

/// A request, with a number of its own.
fn ask(world: &World, kind: &Kind, path: &str, object: &Value, number: usize) -> String {
    let text = object.to_string().replace('#', &number.to_string()).replace("NODE", &world.node);
    let text = text.replace("LONG", &"v".repeat(65_537));
    let object: Value = serde_json::from_str(&text).expect("JSON");
    let body = match kind.inside.as_str() {
        "" => object,
        "Volumes" => json!({ "Volumes": [object] }),
        inside => Value::Object(Map::from_iter([(inside.to_string(), object)])),
    };
    let answer = world.ask("PUT", path, Some(&body));
    let names = ["oidc", "jwt", "role", "namespace", "pool", "volume"];
    names.iter().fold(answer, |answer, name| answer.replace(&format!("{name}{number}"), "NAME"))
}

/// Requests with the same answer, by member: `Name empty or null, Meta empty`.
fn listed(labels: &[String]) -> String {
    let mut members: Vec<(&str, Vec<&str>)> = Vec::new();
    for label in labels {
        let (member, how) = label.split_once(' ').unwrap_or((label, ""));
        match members.iter_mut().find(|(m, _)| *m == member) {
            Some((_, all)) => all.push(how),
            None => members.push((member, vec![how])),
        }
    }
    let mut by_how: Vec<(String, Vec<&str>)> = Vec::new();
    for (member, how) in members {
        let how = how.join(" or ");
        match by_how.iter_mut().find(|(h, _)| *h == how) {
            Some((_, all)) => all.push(member),
            None => by_how.push((how, vec![member])),
        }
    }
    let texts = by_how.iter().map(|(how, members)| format!("{} {how}", members.join(", ")));
    texts.collect::<Vec<_>>().join("; ")
}

/// Texts of decoders are no interface.
fn decoder(answer: &str) -> String {
    match answer.split_once(' ') {
        Some((status, _)) => format!("{status} with the decoder's text"),
        None => answer.to_string(),
    }
}

/// Makes all requests; the tables, and what differs from Nomad.
pub fn tables(world: &World, wrong: &mut Vec<String>) -> String {
    prepare(world);
    let mut out = String::from(
        "\n## Objects\n\nThe members are those of Nomad's types. \"Empty\" is `\"\"`, `0`, `false`, `[]` or `{}`; \"of another kind\" is a\n\
         text for a number, an object for a text, and so on. Members that only servers set are left out.\n",
    );
    let (mut number, mut rows) = (0, 0);
    for kind in kinds() {
        let _ = write!(
            out,
            "\n### {}\n\n`PUT {}`, smallest: `{}`\n\n",
            kind.title,
            kind.path,
            kind.smallest.to_string().replace("\\n", "⏎")
        );
        out.push_str("| request | encamp | Nomad 2.0.5 |\n|---|---|---|\n");
        let mut answered = |path: &str, object: &Value| {
            number += 1;
            ask(world, &kind, path, object, number)
        };
        let mut row = |label: &str, ours: &str, known: &Known| {
            let (cell, fits) = compare(known, ours, |theirs| theirs);
            if !fits {
                wrong.push(format!("{}, {label}: {ours}; {cell}", kind.title));
            }
            let _ = writeln!(out, "| {label} | {ours} | {cell} |");
            rows += 1;
        };
        let valid = answered(&kind.path, &kind.smallest);
        row("the smallest", &valid, &kind.valid);
        let mut by_answer: Vec<(String, Vec<String>)> = Vec::new();
        for (label, object) in made(&kind) {
            let mut answer = answered(&kind.path, &object);
            if label.ends_with("of another kind") && answer.starts_with("400") {
                answer = decoder(&answer);
            }
            if let Some(known) = kind.known.get(&label) {
                row(&label, &answer, known);
            } else {
                match by_answer.iter_mut().find(|(earlier, _)| *earlier == answer) {
                    Some((_, labels)) => labels.push(label),
                    None => by_answer.push((answer, vec![label])),
                }
            }
        }
        for more in &kind.more {
            let answer = answered(more.path.as_ref().unwrap_or(&kind.path), &more.object(&kind));
            row(&more.what, &answer, &more.known);
        }
        for (answer, labels) in &by_answer {
            row(&listed(labels), answer, &Known::Nothing);
        }
    }
    println!("objects: {number} requests, {rows} rows");
    assert!(number > 300 || recorded::replaced(), "{number}");
    update_of_rules(world);
    out
}

/// What other objects refer to.
fn prepare(world: &World) {
    let key = "-----BEGIN PUBLIC KEY-----\nx\n-----END PUBLIC KEY-----\n";
    let method = json!({"Name": "jwt", "Type": "JWT", "TokenLocality": "local", "MaxTokenTTL": "1h", "Config": {"JWTValidationPubKeys": [key]}});
    let rules = json!({"Name": "dev", "Rules": "namespace \"default\" { policy = \"read\" }"});
    let role = json!({"Name": "developers", "Policies": [{"Name": "dev"}]});
    for (path, object) in [("/v1/acl/policy/dev", rules), ("/v1/acl/auth-method", method), ("/v1/acl/role", role)] {
        let answer = world.ask("PUT", path, Some(&object));
        assert!(answer.starts_with("200"), "{path}: {answer}");
    }
}

/// A part of a binding rule changes that part, as the API documentation shows it.
fn update_of_rules(world: &World) {
    let send = |path: &str, body: Value| {
        let reply = world.agent.send("PUT", path, &body);
        assert_eq!(reply.status, 200, "{path} {body}: {}", reply.body);
        reply.json()
    };
    let selector = "value.a == b";
    let first = send(
        "/v1/acl/binding-rule",
        json!({"AuthMethod": "jwt", "BindType": "role", "BindName": "dev", "Selector": selector, "Description": "d"}),
    );
    let path = format!("/v1/acl/binding-rule/{}", first["ID"].as_str().unwrap_or_default());
    for (change, want) in [
        (json!({"Description": "e"}), json!(["e", "role", "dev", selector])),
        (json!({"Selector": ""}), json!(["e", "role", "dev", ""])),
        (json!({"BindName": "x", "ID": first["ID"]}), json!(["e", "role", "x", ""])),
        (json!({"BindType": "management"}), json!(["e", "management", "", ""])),
        (json!({"BindType": "policy", "BindName": "p", "AuthMethod": ""}), json!(["e", "policy", "p", ""])),
    ] {
        let now = send(&path, change.clone());
        assert_eq!(json!([now["Description"], now["BindType"], now["BindName"], now["Selector"]]), want, "{change}");
        assert_eq!(
            [&now["ID"], &now["AuthMethod"], &now["CreateIndex"]],
            [&first["ID"], &json!("jwt"), &first["CreateIndex"]]
        );
    }
}
