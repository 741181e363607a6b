//! The OpenAPI document of the HTTP API: it is the one that the tables give, has all routes, and describes the recorded
//! exchanges. `ENCAMP_UPDATE=1 cargo test --test cli openapi` writes it.

mod operations;
mod types;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::program::run_in;
use crate::recorded;
use crate::schema::Schema;
use operations::Operation;
use types::{Schemas, Types};

const STORED: &str = "docs/reference/openapi.json";
/// Routes without an operation, by the beginning of their paths: there is no such thing, or no program calls them.
const NOT_DESCRIBED: [&str; 4] = ["/v1/operator/license", "/v1/operator/utilization", "/v1/agent/pprof/", "/ui"];
/// The same of single methods: they are always refused, or are another spelling of an operation.
const REFUSED: [(&str, &str); 6] = [
    ("/v1/volumes/external", "DELETE POST PUT"),
    ("/v1/volume/host/{}", "POST PUT"),
    ("/v1/volume/host/create", "GET DELETE"),
    ("/v1/volume/host/register", "GET DELETE"),
    ("/v1/client/allocation/{}/snapshot", "GET"),
    ("/v1/autoscale/group/{}/failsafe", "GET"),
];

/// The recordings that must be compared at least, of the 933.
const COMPARED: usize = 750;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}

fn read(file: &str) -> String {
    std::fs::read_to_string(root().join(file)).unwrap_or_else(|e| panic!("{file}: {e}"))
}

/// The tables, unless the recorded exchanges are not there.
fn tables() -> Option<(Vec<Operation>, Types)> {
    let types = Types::parse(&recorded::text("http/types.txt")?, &read("crates/http/openapi/types.txt"));
    Some((operations::parse(&read("crates/http/openapi/operations.txt")), types))
}

#[test]
fn the_document_is_up_to_date() {
    let Some((operations, types)) = tables() else { return };
    let document = operations::document(&operations, &types, env!("CARGO_PKG_VERSION"));
    let text = operations::text(&document);
    if std::env::var_os("ENCAMP_UPDATE").is_some() {
        std::fs::write(root().join(STORED), &text).unwrap();
    }
    assert!(text == read(STORED), "{STORED} is stale; run ENCAMP_UPDATE=1 cargo test --test cli openapi");
}

#[test]
fn the_command_prints_the_document() {
    let ran = run_in(&root(), &["operator", "api", "-schema"]);
    assert_eq!((ran.exit, ran.stderr.as_str()), (0, ""));
    assert!(ran.stdout == read(STORED), "not {STORED}");
}

#[test]
fn operations_have_names_of_their_own() {
    let document: Value = serde_json::from_str(&read(STORED)).unwrap();
    let paths = document["paths"].as_object().unwrap().values();
    let ids: Vec<&str> =
        paths.flat_map(|p| p.as_object().unwrap().values()).filter_map(|o| o["operationId"].as_str()).collect();
    assert_eq!(ids.len(), ids.iter().collect::<BTreeSet<_>>().len(), "{ids:?}");
    assert!(ids.len() > 200, "{} operations", ids.len());
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let lower: BTreeSet<String> = schemas.keys().map(|name| name.to_lowercase()).collect();
    assert_eq!(lower.len(), schemas.len(), "names that differ by case alone");
}

/// A path without the names of its parameters.
fn plain(path: &str) -> String {
    let parts = path.split('/').map(|p| if p.starts_with('{') { "{}" } else { p });
    parts.collect::<Vec<_>>().join("/")
}

/// Each route that serves a method has an operation, and each operation has a route.
#[test]
fn the_document_has_all_routes() {
    let document: Value = serde_json::from_str(&read(STORED)).unwrap();
    let described: BTreeSet<(String, String)> = document["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, methods)| methods.as_object().unwrap().keys().map(|m| (m.to_uppercase(), plain(path))))
        .collect();
    let (mut routed, mut any) = (BTreeSet::new(), BTreeSet::new());
    let routes = read("crates/http/src/routes/routes.txt");
    for line in routes.lines().skip(1) {
        let (call, _) = line.split_once(" | ").expect("cells");
        let (methods, path) = call.split_once(' ').expect("methods and a path");
        match methods {
            "ANY" => drop(any.insert(plain(path))),
            "NONE" => {}
            methods => routed.extend(methods.split('|').map(|m| (m.to_string(), plain(path)))),
        }
    }
    let left_out = |path: &str| NOT_DESCRIBED.iter().any(|p| path.starts_with(p));
    let refused = |(method, path): &(String, String)| REFUSED.iter().any(|(p, m)| p == path && m.contains(&**method));
    // A path that ends with a slash is another spelling.
    let missing = routed.difference(&described).filter(|r| !left_out(&r.1) && !r.1.ends_with('/') && !refused(r));
    let missing: Vec<_> = missing.collect();
    let unknown: Vec<_> =
        described.difference(&routed).filter(|(_, path)| !any.contains(path) && !left_out(path)).collect();
    assert!(
        missing.is_empty() && unknown.is_empty(),
        "without an operation: {missing:?}\nwithout a route: {unknown:?}"
    );
}

/// Whether a path is one of an operation; how specific that is.
fn matches(pattern: &str, path: &str) -> Option<usize> {
    let (mut rest, mut fixed) = (path, 0);
    let mut parts = pattern.split('{');
    let first = parts.next()?;
    rest = rest.strip_prefix(first)?;
    fixed += first.len();
    for part in parts {
        let (name, after) = part.split_once('}')?;
        let slashes = ["job_id", "path"].contains(&name);
        let end = match after {
            "" => rest.len(),
            after => rest.rfind(after)?,
        };
        let (value, left) = rest.split_at(end);
        if value.is_empty() || value.contains('/') && !slashes {
            return None;
        }
        rest = left.strip_prefix(after)?;
        fixed += after.len();
    }
    rest.is_empty().then_some(fixed)
}

/// Whether a recording holds an excerpt of the answer, such as the names of the rows, instead of the answer.
fn excerpt(rules: &Value, schemas: &Schemas, body: &Value) -> bool {
    let of = |rules: &Value| {
        let name = rules["$ref"].as_str().and_then(|r| r.strip_prefix("#/components/schemas/"));
        name.and_then(|n| schemas.get(n)).unwrap_or(rules).clone()
    };
    let rules = of(rules);
    let known = |rules: &Value, object: &Value| {
        let members = object.as_object().is_some_and(|o| {
            rules["properties"].as_object().is_none_or(|p| o.is_empty() || o.keys().any(|k| p.contains_key(k)))
        });
        members || rules.get("properties").is_none()
    };
    match (rules.get("items").map(of), body) {
        (Some(item), Value::Array(rows)) => rows.iter().any(|row| !known(&item, row)),
        (Some(_), other) => !other.is_null(),
        (None, other) => rules.get("properties").is_some() && !other.is_null() && !known(&rules, other),
    }
}

/// Checks values by schemas.
struct Checker<'a> {
    types: &'a Types,
}

impl Checker<'_> {
    fn problems(&self, make: impl Fn(&Types, &mut Schemas) -> Option<Value>, value: &Value) -> Vec<String> {
        let mut schemas = Schemas::new();
        let Some(rules) = make(self.types, &mut schemas) else { return vec!["there is a body".into()] };
        if excerpt(&rules, &schemas, value) {
            return vec![EXCERPT.into()];
        }
        let whole = json!({ "allOf": [rules], "$defs": schemas });
        let whole = whole.to_string().replace("#/components/schemas/", "#/$defs/");
        Schema::of("the document", serde_json::from_str(&whole).unwrap()).problems(value)
    }
}

const EXCERPT: &str = "an excerpt";

/// Whether members of an object are written in lower case: the API reads them in any case.
fn lower_case(value: &Value) -> bool {
    value.as_object().is_some_and(|o| o.keys().any(|k| k.starts_with(char::is_lowercase)))
}

/// What the document says of an exchange that is wrong; `None`: nothing can be said.
fn judge(operations: &[Operation], checker: &Checker<'_>, exchange: &Value) -> Option<Vec<String>> {
    let (request, response) = (&exchange["request"], &exchange["response"]);
    let (method, target) = (request["method"].as_str()?, request["path"].as_str()?);
    let target = target.trim_end_matches(" (websocket)");
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let status = response["status"].as_u64()?;
    let of = operations.iter().filter(|o| o.methods.iter().any(|m| m == method));
    let found = of.filter_map(|o| Some((matches(&o.path, path)?, o))).max_by_key(|(fixed, _)| *fixed);
    let Some((_, operation)) = found else {
        let known = status >= 300 || ["MANY", "OPTIONS"].contains(&method);
        return (!known).then(|| vec![format!("no operation for {method} {path}")]);
    };
    if status != 200 && status != 429 {
        // Refusals are plain text.
        let plain = response["body_kind"] != "json" || status == 101;
        return Some(if plain { Vec::new() } else { vec![format!("JSON with status {status}")] });
    }
    let mut problems = Vec::new();
    let body = &response["body"];
    match response["body_kind"].as_str()? {
        "json" if operation.is_json() || operation.is_empty() => {
            problems.extend(checker.problems(|t, s| operation.answer(t, s), body));
        }
        "empty" if operation.is_json() => problems.push("the answer is empty".into()),
        _ => {}
    }
    let sent = &request["body"];
    if (sent.is_object() || sent.is_array()) && !lower_case(sent) {
        let wrong = checker.problems(|t, s| operation.body(t, s), sent);
        problems.extend(wrong.into_iter().map(|p| format!("request: {p}")));
    }
    let names = query.split('&').filter_map(|pair| pair.split('=').next()).filter(|name| !name.is_empty());
    problems.extend(names.filter(|n| !operation.takes(n)).map(|n| format!("parameter {n}")));
    Some(problems)
}

/// Recordings that are no example of the document, and why.
const NO_EXAMPLES: [(&str, &str); 3] = [
    ("0168-namespaces-list-filter", "namespaces have no filter, and the parameter is ignored"),
    ("0728-volumes-plugins-bad-type", "another type of plugin is answered without a body"),
    ("0805-metrics-json", "the recording adds lists of names"),
];

#[test]
fn recorded_exchanges_are_those_of_the_document() {
    let Some((operations, types)) = tables() else { return };
    let checker = Checker { types: &types };
    let (mut compared, mut excerpts, mut wrong) = (0, 0, BTreeMap::new());
    for folder in ["reference-2.0.5", "reference-2.0.5-acl", "reference-2.0.5-server"] {
        let Some(folder) = recorded::folder(&format!("http/{folder}")) else { return };
        for (name, file) in recorded::files(&folder, ".json") {
            let exchange = recorded::json_at(&file).expect("an exchange");
            let Some(problems) = judge(&operations, &checker, &exchange) else { continue };
            if NO_EXAMPLES.iter().any(|(no, _)| *no == name) {
                assert!(!problems.is_empty(), "{name} is an example now");
                continue;
            }
            if problems.iter().any(|p| p.ends_with(EXCERPT)) {
                excerpts += 1;
                continue;
            }
            compared += 1;
            // The group `params` sends parameters where they mean nothing.
            let odd = exchange["group"] == "params";
            let problems: Vec<_> = problems.into_iter().filter(|p| !(odd && p.starts_with("parameter "))).collect();
            if !problems.is_empty() {
                wrong.insert(name, problems);
            }
        }
    }
    println!("{compared} exchanges compared, {excerpts} hold excerpts");
    let listed: Vec<String> = wrong.iter().map(|(name, why)| format!("{name}: {}", why.join("; "))).collect();
    assert!(wrong.is_empty(), "{} of {compared} exchanges:\n{}", wrong.len(), listed.join("\n"));
    assert!(compared >= COMPARED || recorded::replaced(), "{compared} exchanges");
}

/// What an answer must not be.
#[test]
fn wrong_answers_are_refused() {
    let Some((operations, types)) = tables() else { return };
    let checker = Checker { types: &types };
    let exchange = |method: &str, path: &str, body: Value| {
        json!({
            "request": { "method": method, "path": path },
            "response": { "status": 200, "body_kind": "json", "body": body },
        })
    };
    for (method, path, body, part) in [
        ("GET", "/v1/job/a/b/summary", json!({ "JobID": 7 }), ".JobID"),
        ("GET", "/v1/jobs", json!([{ "ID": "a", "Colour": "red" }]), "Colour"),
        ("GET", "/v1/evaluations/count", json!({ "Count": "1" }), ".Count"),
        ("PUT", "/v1/system/gc", json!({}), "there is a body"),
        ("GET", "/v1/nothing", json!({}), "no operation"),
        ("GET", "/v1/jobs?colour=red", json!([]), "parameter colour"),
    ] {
        let problems = judge(&operations, &checker, &exchange(method, path, body)).unwrap_or_default();
        assert!(problems.iter().any(|p| p.contains(part)), "{method} {path}: {problems:?}");
    }
    let right = exchange("GET", "/v1/job/a/b/summary", json!({ "JobID": "a/b", "Namespace": "default" }));
    assert_eq!(judge(&operations, &checker, &right), Some(Vec::new()));
}
