//! Replays recorded exchanges (`tests/oracle/http`) of the areas that need no jobs and no node agent, and compares
//! status, texts and headers.

use axum::http::HeaderMap;
use serde_json::Value;

use super::server::TestServer;
use encamp_model::Node;
use encamp_server::endpoints::node_rpc;
use encamp_test_support::recorded;

/// The recorded exchanges in their order, by the names of their files.
fn exchanges() -> Option<Vec<(String, Value)>> {
    let folder = recorded::folder("http/reference-2.0.5")?;
    let files = recorded::files(&folder, ".json").into_iter();
    Some(files.filter_map(|(name, path)| Some((name, recorded::json_at(&path)?))).collect())
}

/// The exchange whose file is called so; nothing in a directory that has only some.
fn named<'a>(exchanges: &'a [(String, Value)], ending: &str) -> Option<&'a Value> {
    let found = exchanges.iter().find(|(name, _)| name.ends_with(ending)).map(|(_, exchange)| exchange);
    assert!(found.is_some() || recorded::replaced(), "there is no exchange {ending}");
    found
}

const GROUPS: [&str; 9] =
    ["plain", "params", "filter", "nodes", "namespaces", "nodepools", "operator", "acl-off", "volumes"];

/// Exchanges that differ, and why.
const EXPECTED: [(&str, &str); 8] = [
    ("nodes-eligibility-not-json", "text of the JSON decoder"),
    ("namespaces-put-not-json", "text of the JSON decoder"),
    ("operator-autopilot-put-ints", "text of the JSON decoder"),
    ("volumes-host-create", "no plugin makes volumes"),
    ("volumes-host-list-one", "no plugin makes volumes"),
    ("volumes-host-get", "no plugin makes volumes"),
    ("volumes-host-delete", "no plugin makes volumes"),
    ("nodes-client-", "no node agent"),
];

fn masked(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '0'..='9' if out.ends_with('N') => {}
            '0'..='9' => out.push('N'),
            c => out.push(c),
        }
    }
    out
}

fn presence(headers: &HeaderMap) -> [bool; 5] {
    ["x-nomad-index", "x-nomad-knownleader", "x-nomad-lastcontact", "x-nomad-nexttoken", "access-control-allow-origin"]
        .map(|h| headers.contains_key(h))
}

/// The differences between a recorded response and ours.
fn differences(recorded: &Value, got: &crate::tests::server::Answer) -> Vec<String> {
    let mut out = Vec::new();
    if recorded["status"] != got.status {
        out.push(format!("status {}, not {}", got.status, recorded["status"]));
    }
    let mut headers = HeaderMap::new();
    for (name, value) in recorded["headers"].as_object().into_iter().flatten() {
        let name: axum::http::HeaderName = name.parse().expect("a header");
        headers.insert(name, value.as_str().unwrap_or_default().parse().expect("a value"));
    }
    if presence(&headers) != presence(&got.headers) {
        out.push(format!("headers {:?}, not {:?}", presence(&got.headers), presence(&headers)));
    }
    for name in ["content-type", "location", "content-encoding"] {
        let want = headers.get(name).and_then(|v| v.to_str().ok());
        if want.map(masked) != got.header(name).map(masked) {
            out.push(format!("{name} {:?}, not {want:?}", got.header(name)));
        }
    }
    if recorded["body_kind"] == "text" {
        let want = recorded["body"].as_str().unwrap_or_default();
        if masked(want) != masked(&got.text()) {
            out.push(format!("text {:?}, not {want:?}", got.text()));
        }
    }
    out
}

#[tokio::test(flavor = "multi_thread")]
async fn recorded_exchanges() {
    let Some(exchanges) = exchanges() else { return };
    let (Some(node), Some(servers), Some(deleted)) = (
        named(&exchanges, "-nodes-get"),
        named(&exchanges, "-raft-configuration"),
        named(&exchanges, "-keyring-delete-active"),
    ) else {
        return println!("skipped: exchanges are missing");
    };
    let s = TestServer::start().await;
    let mut node: Node = serde_json::from_value(node["response"]["body"].clone()).expect("a node");
    node.secret_id = "secret".into();
    node_rpc::register(&s.server, node, "").await.expect("registered");

    let recorded_server = servers["response"]["body"]["Servers"][0]["ID"].as_str().expect("an ID").to_string();

    let recorded_key = deleted["request"]["path"].as_str().expect("a path").to_string();
    let recorded_key = recorded_key.rsplit('/').next().expect("an ID").to_string();
    assert!(s.server.keyring().wait_active(std::time::Duration::from_secs(60)).await);

    let (mut same, mut total, mut wrong) = (0, 0, Vec::new());
    for (_, exchange) in &exchanges {
        let name = format!(
            "{}-{}",
            exchange["group"].as_str().unwrap_or_default(),
            exchange["name"].as_str().unwrap_or_default()
        );
        let request = &exchange["request"];
        let path = request["path"].as_str().unwrap_or_default().replace(&recorded_server, &s.server.settings().id);
        let active = s.server.keyring().active_id().expect("an active key");
        let path = path.replace(&recorded_key, &active);
        let path = path.as_str();
        let expected = EXPECTED.iter().any(|(n, _)| name.starts_with(n));
        if !GROUPS.iter().any(|g| exchange["group"] == *g)
            || path.contains("/v1/client/")
            || path.starts_with("/v1/jobs")
        {
            continue;
        }
        let headers: Vec<(&str, &str)> = request["headers"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(k, v)| (k.as_str(), v.as_str().unwrap_or_default()))
            .collect();
        let body = match &request["body"] {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            json => Some(json.to_string()),
        };
        let method = request["method"].as_str().unwrap_or_default();
        let got = s.send(method, path, &headers, body.as_deref()).await;
        let differences = differences(&exchange["response"], &got);
        total += 1;
        same += usize::from(differences.is_empty());
        if !differences.is_empty() && !expected {
            wrong.push(format!("{name}: {method} {path}\n    {}", differences.join("\n    ")));
        }
        // Of filters, rows are recorded by name only.
        if exchange["group"] == "filter" && exchange["response"]["status"] == 200 {
            let rows = got.json().as_array().map_or(0, Vec::len);
            assert_eq!(Some(rows), exchange["response"]["body"].as_array().map(Vec::len), "{name}");
        }
    }
    println!("{same} of {total} recorded exchanges are equal");
    assert!(total > 150 || recorded::replaced(), "{total}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    s.stop().await;
}

/// Indexes and lock IDs of an answer about a variable.
fn volatile(body: &Value) -> Vec<String> {
    let parsed = body.as_str().and_then(|text| serde_json::from_str(text).ok());
    let v: &Value = parsed.as_ref().unwrap_or(body);
    let index = v["ModifyIndex"].as_u64().map(|i| format!("cas={i}"));
    index.into_iter().chain(v["Lock"]["ID"].as_str().map(String::from)).collect()
}

/// Variables depend on what was answered before: recorded indexes and lock IDs stand for ours.
#[tokio::test(flavor = "multi_thread")]
async fn recorded_variables() {
    let Some(exchanges) = exchanges() else { return };
    let s = TestServer::start().await;
    let mut known: Vec<(String, String)> = Vec::new();
    let (mut total, mut wrong) = (0, Vec::new());
    for (name, exchange) in exchanges {
        if exchange["group"] != "vars" {
            continue;
        }
        let ours = |text: &str| known.iter().fold(text.to_string(), |t, (theirs, own)| t.replace(theirs, own));
        let request = &exchange["request"];
        let path = ours(request["path"].as_str().unwrap_or_default());
        let body = match &request["body"] {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            json => Some(ours(&json.to_string())),
        };
        let got = s.send(request["method"].as_str().unwrap_or_default(), &path, &[], body.as_deref()).await;
        let mut answered = exchange["response"].clone();
        let text = serde_json::from_slice(&got.body).unwrap_or(Value::Null);
        known.extend(volatile(&answered["body"]).into_iter().zip(volatile(&text)));
        // Conflicts are JSON that calls itself text: what they say is compared, not times and indexes.
        if answered["status"] == 409 && text.is_object() {
            let want: Value = serde_json::from_str(answered["body"].as_str().unwrap_or_default()).expect("JSON");
            assert_eq!((&want["Items"], &want["Path"]), (&text["Items"], &text["Path"]), "{name}");
            assert_eq!(want["ModifyIndex"] == 0, text["ModifyIndex"] == 0, "{name}");
            answered["body_kind"] = "json".into();
        } else if answered["status"] == 200 {
            let (mut want, mut text) = (answered["body"].clone(), text);
            for v in [&mut want, &mut text].into_iter().flat_map(|v| match v {
                Value::Array(rows) => rows.iter_mut().collect(),
                one => vec![one],
            }) {
                for key in ["CreateIndex", "CreateTime", "ModifyIndex", "ModifyTime"] {
                    v[key] = v[key].is_number().into();
                }
                if let Some(id) = v.pointer_mut("/Lock/ID") {
                    *id = id.as_str().map(str::len).into();
                }
            }
            assert_eq!(want, text, "{name}");
        }
        // Writes tell where they were written, refusals an index of 0.
        if let Some(want) = answered["headers"]["X-Nomad-Index"].as_str() {
            assert_eq!(want == "0", got.header("x-nomad-index") == Some("0"), "{name}");
        }
        total += 1;
        let differences = differences(&answered, &got);
        if !differences.is_empty() {
            wrong.push(format!("{name}: {path}\n    {}", differences.join("\n    ")));
        }
    }
    assert!(total > 50 || recorded::replaced(), "{total}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    s.stop().await;
}
