//! Recorded answers of Nomad 2.0.5 (`tests/oracle/http`).
//!
//! The recording keeps status, headers and the value of a body; the order of keys and the spaces of JSON are its own.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::recorded;
use crate::server::Response;

/// What is used of the recording: `group-name`, as the files are called behind their number.
const NAMES: [&str; 38] = [
    "agent-self",
    "agent-members",
    "plain-unknown-path",
    "params-namespace-unknown",
    "nodes-list",
    "nodes-get",
    "nodes-get-404",
    "nodes-allocations-empty",
    "nodes-evaluate",
    "nodes-purge-404",
    "namespaces-list",
    "nodepools-list",
    "operator-scheduler-get",
    "jobs-list-all-namespaces",
    "jobs-deployments",
    "jobs-versions",
    "allocs-list",
    "allocs-list-resources",
    "allocs-list-other-namespace",
    "allocs-get",
    "vars-put-cas-conflict",
    "vars-put-cas-ok",
    "vars-put-cas-0-new",
    "vars-put-cas-missing",
    "vars-get",
    "vars-get-404",
    "vars-lock-acquire-empty",
    "vars-lock-acquire-held",
    "vars-lock-renew",
    "vars-lock-renew-wrong",
    "vars-lock-release",
    "vars-lock-release-wrong",
    "volumes-list-host",
    "volumes-list-csi",
    "volumes-claims",
    "drain-start",
    "drain-node-drained",
    "drain-node-allocations",
];

/// The headers that are sent again. How the body is transferred is up to the server.
const HEADERS: [&str; 5] =
    ["Content-Type", "X-Nomad-Index", "X-Nomad-KnownLeader", "X-Nomad-LastContact", "X-Nomad-NextToken"];

/// The recorded answers by name.
#[derive(Debug)]
pub struct Exchanges(BTreeMap<String, Value>);

impl Exchanges {
    /// Reads them; `None` where there are none.
    pub fn load() -> Option<Exchanges> {
        let folder = recorded::folder("http/reference-2.0.5")?;
        let mut all = BTreeMap::new();
        for (stem, path) in recorded::files(&folder, ".json") {
            let Some(name) = stem.get(5..).filter(|name| NAMES.contains(name)) else { continue };
            let exchange = recorded::json_at(&path).expect("a recording");
            all.insert(name.to_string(), exchange["response"].clone());
        }
        let missing: Vec<_> = NAMES.iter().filter(|name| !all.contains_key(**name)).collect();
        assert!(missing.is_empty(), "{} has no {missing:?}", folder.display());
        Some(Exchanges(all))
    }

    fn get(&self, name: &str) -> &Value {
        self.0.get(name).unwrap_or_else(|| panic!("{name} is not among the names"))
    }

    /// The body of an answer.
    pub fn body(&self, name: &str) -> &Value {
        &self.get(name)["body"]
    }

    /// The body of an answer that is a list.
    pub fn list(&self, name: &str) -> Vec<Value> {
        self.body(name).as_array().unwrap_or_else(|| panic!("{name} is no list")).clone()
    }

    /// The answer as it was.
    pub fn answer(&self, name: &str) -> Response {
        self.answer_with(name, self.body(name), 0)
    }

    /// The answer with another body of its kind. Its index is not less than the one given, if it has one.
    pub fn answer_with(&self, name: &str, body: &Value, index: u64) -> Response {
        let recorded = self.get(name);
        let status = recorded["status"].as_u64().and_then(|s| u16::try_from(s).ok()).expect("a status");
        let content = match (recorded["body_kind"].as_str(), body) {
            (Some("json"), body) => serde_json::to_vec(body).expect("JSON"),
            (Some("text"), Value::String(text)) => text.clone().into_bytes(),
            // Conflicts come with a Variable, and are called text.
            (Some("text"), body) => serde_json::to_vec(body).expect("JSON"),
            (Some("empty"), _) => Vec::new(),
            (kind, _) => panic!("{name}: a body of kind {kind:?}"),
        };
        let mut response = Response { status, headers: Vec::new(), body: content };
        for header in HEADERS {
            let Some(value) = recorded["headers"][header].as_str() else { continue };
            let value = match (header, value.parse::<u64>()) {
                ("X-Nomad-Index", Ok(was)) => was.max(index).to_string(),
                _ => value.to_string(),
            };
            response = response.with(header, value);
        }
        response
    }
}
