//! Access control: recorded exchanges (`tests/oracle/http/reference-2.0.5-acl`), and who sees what.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::server::{Answer, TestServer};
use crate::agent::state::HttpSettings;
use encamp_model::{AclToken, AclTokenType, SecretString, Time};
use encamp_ops::{AclChange, Operation};
use encamp_test_support::recorded;

const BOOTSTRAP: &str = "/v1/acl/bootstrap";
const NOBODY: &str = "00000000-0000-0000-0000-000000000000";

pub(crate) async fn start() -> TestServer {
    TestServer::with_settings(None, HttpSettings { acl_enabled: true, ..HttpSettings::default() }).await
}

/// Sends a request with a secret; empty: none.
pub(crate) async fn ask(s: &TestServer, secret: &str, method: &str, path: &str, body: Value) -> Answer {
    let headers: &[(&str, &str)] = if secret.is_empty() { &[] } else { &[("x-nomad-token", secret)] };
    let body = if body.is_null() { None } else { Some(body.to_string()) };
    s.send(method, path, headers, body.as_deref()).await
}

/// Sends a request that succeeds.
pub(crate) async fn done(s: &TestServer, secret: &str, method: &str, path: &str, body: Value) -> Value {
    let answer = ask(s, secret, method, path, body).await;
    assert_eq!(answer.status, 200, "{method} {path}: {}", answer.text());
    serde_json::from_slice(&answer.body).unwrap_or(Value::Null)
}

pub(crate) fn text(value: &Value, member: &str) -> String {
    value[member].as_str().unwrap_or_default().to_string()
}

/// The secret of a first management token.
pub(crate) async fn bootstrap(s: &TestServer) -> String {
    text(&done(s, "", "PUT", BOOTSTRAP, Value::Null).await, "SecretID")
}

fn names(rows: &Value) -> Vec<&str> {
    rows.as_array().into_iter().flatten().filter_map(|r| r["Name"].as_str()).collect()
}

// ---- recorded exchanges

/// Logins are answered elsewhere.
const ELSEWHERE: [&str; 2] = ["login-bad", "login-unknown-method"];
/// Texts that are equal up to this: the rest is how the reference prints its values.
const BEGINNINGS: [(&str, &str); 3] = [
    ("bad-rules", "failed to parse rules: Failed to parse ACL Policy: "),
    ("bad-capability", "Invalid namespace capability 'zz': "),
    ("bad-policy-word", "Invalid namespace policy: "),
];

/// The IDs and secrets of an answer in their order.
fn ids(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match member.as_str() {
                    Some(id) if ["AccessorID", "SecretID", "OneTimeSecretID", "ID"].contains(&name.as_str()) => {
                        out.push(id.into());
                    }
                    _ => ids(member, out),
                }
            }
        }
        Value::Array(rows) => rows.iter().for_each(|row| ids(row, out)),
        _ => {}
    }
}

/// A value in which times, indexes, hashes and known IDs are equal.
fn shape(value: &Value, known: &BTreeMap<String, String>) -> Value {
    const VARIES: [&str; 8] =
        ["CreateIndex", "ModifyIndex", "Index", "CreateTime", "ModifyTime", "ExpirationTime", "ExpiresAt", "Hash"];
    match value {
        Value::Object(members) => {
            let of = |(name, member): (&String, &Value)| {
                let varies = VARIES.contains(&name.as_str()) && !member.is_null();
                (name.clone(), if varies { json!("…") } else { shape(member, known) })
            };
            Value::Object(members.iter().map(of).collect())
        }
        Value::Array(rows) => Value::Array(rows.iter().map(|row| shape(row, known)).collect()),
        Value::String(text) => json!(known.get(text).unwrap_or(text)),
        other => other.clone(),
    }
}

/// What the recording keeps of a list.
fn kept(name: &str, body: Value) -> Value {
    match name {
        "list-prefix" | "list-filter" if body[0].get("AccessorID").is_some() => {
            let mut names = names(&body);
            names.sort_unstable();
            json!(names)
        }
        "list-paged" => json!(body.as_array().map_or(0, Vec::len)),
        _ => body,
    }
}

/// A text with one sign for each number: indexes differ.
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

/// How an answer differs from the recorded one; none: not at all.
fn difference(name: &str, want: &Value, got: &Answer, known: &BTreeMap<String, String>) -> Option<String> {
    if want["status"] != got.status {
        return Some(format!("status {} ({}), not {}", got.status, got.text(), want["status"]));
    }
    let has_index = want["headers"].get("X-Nomad-Index").is_some();
    if has_index != got.header("x-nomad-index").is_some() {
        return Some(format!("an index is recorded: {has_index}"));
    }
    let (want, body) = (&want["body"], got.text());
    let (want, got) = match want {
        Value::Null => (String::new(), body),
        Value::String(text) => match BEGINNINGS.iter().find(|(n, _)| *n == name) {
            Some((_, up_to)) if body.contains(up_to) => return None,
            _ => (masked(text), masked(&body)),
        },
        json => {
            let body = kept(name, serde_json::from_slice(&got.body).unwrap_or_default());
            (shape(json, known).to_string(), shape(&body, &BTreeMap::new()).to_string())
        }
    };
    (want != got).then(|| format!("{got}\nnot {want}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn recorded_exchanges() {
    let Some(folder) = recorded::folder("http/reference-2.0.5-acl") else { return };
    let files = recorded::files(&folder, ".json").into_iter();
    let exchanges: Vec<Value> = files.filter_map(|(_, path)| recorded::json_at(&path)).collect();
    let s = start().await;
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    let (mut root, mut total, mut wrong) = (String::new(), 0, Vec::new());
    for exchange in &exchanges {
        let (group, name) = (text(exchange, "group"), text(exchange, "name"));
        let (request, want) = (&exchange["request"], &exchange["response"]);
        let objects = ["acl-boot", "acl-policy", "acl-token", "acl-role", "acl-auth"].contains(&group.as_str());
        if !objects || ELSEWHERE.contains(&name.as_str()) {
            continue;
        }
        let ours = |text: &str| known.iter().fold(text.to_string(), |t, (theirs, own)| t.replace(theirs, own));
        let mut headers: Vec<(String, String)> = Vec::new();
        for (name, value) in request["headers"].as_object().into_iter().flatten() {
            headers.push((name.to_lowercase(), ours(value.as_str().unwrap_or_default())));
        }
        // The recorder leaves its own token out.
        if headers.is_empty() && !root.is_empty() && name != "bootstrap-again" {
            headers.push(("x-nomad-token".into(), root.clone()));
        }
        let headers: Vec<(&str, &str)> = headers.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        let body = if request["body"].is_null() { None } else { Some(ours(&request["body"].to_string())) };
        let path = ours(&text(request, "path"));
        let got = s.send(&text(request, "method"), &path, &headers, body.as_deref()).await;
        let (mut theirs, mut own) = (Vec::new(), Vec::new());
        let body: Value = serde_json::from_slice(&got.body).unwrap_or_default();
        if name == "bootstrap" {
            root = text(&body, "SecretID");
        }
        ids(&want["body"], &mut theirs);
        ids(&body, &mut own);
        known.extend(theirs.into_iter().zip(own).filter(|(theirs, own)| !theirs.is_empty() && theirs != own));
        total += 1;
        if let Some(difference) = difference(&name, want, &got, &known) {
            wrong.push(format!("{group} {name}: {difference}"));
        }
    }
    println!("{} of {total} recorded exchanges are equal", total - wrong.len());
    assert!(total > 80 || recorded::replaced(), "{total}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    s.stop().await;
}

// ---- who sees what

#[tokio::test(flavor = "multi_thread")]
async fn callers_see_their_own_policies_roles_and_token() {
    let s = start().await;
    let root = bootstrap(&s).await;
    for name in ["dev", "ops", "anonymous"] {
        let policy = json!({"Name": name, "Rules": "namespace \"default\" { policy = \"read\" }"});
        done(&s, &root, "PUT", &format!("/v1/acl/policy/{name}"), policy).await;
    }
    for (role, policy) in [("developers", "dev"), ("operators", "ops")] {
        done(&s, &root, "PUT", "/v1/acl/role", json!({"Name": role, "Policies": [{"Name": policy}]})).await;
    }
    let token = json!({"Type": "client", "Roles": [{"Name": "developers"}]});
    let token = done(&s, &root, "PUT", "/v1/acl/token", token).await;
    let dev = text(&token, "SecretID");

    assert_eq!(names(&done(&s, &dev, "GET", "/v1/acl/policies", Value::Null).await), ["dev"]);
    assert_eq!(names(&done(&s, &dev, "GET", "/v1/acl/policy/self", Value::Null).await), ["dev"]);
    assert_eq!(names(&done(&s, &dev, "GET", "/v1/acl/roles", Value::Null).await), ["developers"]);
    assert_eq!(names(&done(&s, &root, "GET", "/v1/acl/policies", Value::Null).await), ["anonymous", "dev", "ops"]);
    let own = format!("/v1/acl/token/{}", text(&token, "AccessorID"));
    assert_eq!(text(&done(&s, &dev, "GET", &own, Value::Null).await, "SecretID"), dev);
    for (path, status) in [
        ("/v1/acl/policy/dev", 200),
        ("/v1/acl/policy/anonymous", 200),
        ("/v1/acl/policy/ops", 403),
        ("/v1/acl/policy/nope", 403),
        ("/v1/acl/role/name/developers", 200),
        ("/v1/acl/role/name/operators", 403),
        ("/v1/acl/role/name/nope", 403),
        ("/v1/acl/tokens", 403),
        (&format!("/v1/acl/token/{NOBODY}"), 403),
        ("/v1/acl/binding-rules", 403),
        ("/v1/acl/auth-methods", 200),
    ] {
        assert_eq!(ask(&s, &dev, "GET", path, Value::Null).await.status, status, "{path}");
    }
    for (path, status) in [
        ("/v1/acl/policy/anonymous", 200),
        ("/v1/acl/policy/dev", 403),
        ("/v1/acl/policy/self", 403),
        ("/v1/acl/tokens", 403),
    ] {
        assert_eq!(ask(&s, "", "GET", path, Value::Null).await.status, status, "{path} of nobody");
    }
    for (method, path) in [
        ("PUT", "/v1/acl/policy/dev"),
        ("DELETE", "/v1/acl/policy/dev"),
        ("PUT", "/v1/acl/token"),
        ("DELETE", own.as_str()),
        ("PUT", "/v1/acl/role"),
        ("PUT", "/v1/acl/auth-method"),
        ("PUT", "/v1/acl/binding-rule"),
    ] {
        let body = if path.ends_with("dev") { json!({"Name": "dev"}) } else { json!({}) };
        assert_eq!(
            ask(&s, &dev, method, path, body).await.status_and_text(),
            (403, "Permission denied".into()),
            "{path}"
        );
    }
    s.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_and_methods_are_without_secrets() {
    let s = start().await;
    let root = bootstrap(&s).await;
    let list = ask(&s, &root, "GET", "/v1/acl/tokens", Value::Null).await;
    assert!(list.status == 200 && !list.text().contains(&root) && !list.text().contains("SecretID"), "{}", list.text());
    let config = json!({"OIDCDiscoveryURL": "https://example.test", "OIDCClientID": "id",
        "OIDCClientSecret": "client-s3cret", "AllowedRedirectURIs": ["http://localhost:4649/oidc/callback"]});
    let method = |config: &Value| json!({"Name": "sso", "Type": "OIDC", "TokenLocality": "local", "MaxTokenTTL": "1h", "Config": config});
    let stored = |s: &TestServer| {
        let snapshot = s.server.snapshot();
        let config = snapshot.acl_auth_method("sso").and_then(|m| m.config.clone()).expect("a configuration");
        config.oidc_client_secret.expose().to_string()
    };
    let path = "/v1/acl/auth-method/sso";
    let written = done(&s, &root, "PUT", path, method(&config)).await;
    assert_eq!(written["Config"]["OIDCClientSecret"], "redacted");
    // What was shown can be written back.
    let written = done(&s, &root, "PUT", path, written).await;
    assert_eq!(
        (written["Config"]["OIDCClientSecret"].as_str(), stored(&s).as_str()),
        (Some("redacted"), "client-s3cret")
    );
    let read = ask(&s, &root, "GET", path, Value::Null).await.text();
    assert!(read.contains("redacted") && !read.contains("client-s3cret"), "{read}");
    s.stop().await;
}

/// A client token that expired a minute ago: its secret.
async fn expired(s: &TestServer) -> String {
    let secret = "33333333-3333-3333-3333-333333333333";
    let now = encamp_host::ids::now();
    let token = AclToken {
        accessor_id: "44444444-4444-4444-4444-444444444444".into(),
        secret_id: SecretString::new(secret),
        r#type: AclTokenType::Client,
        policies: vec!["anonymous".into()],
        create_time: Time::from_unix_nanos(now - 120_000_000_000),
        expiration_time: Some(Time::from_unix_nanos(now - 60_000_000_000)),
        ..Default::default()
    };
    let change = Operation::Acl(Box::new(AclChange::TokenUpsert(vec![token])));
    s.server.commit(change).await.expect("written");
    secret.into()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_time_tokens_need_a_token_and_work_once() {
    let s = start().await;
    let root = bootstrap(&s).await;
    let expired = expired(&s).await;
    for secret in ["", NOBODY, expired.as_str()] {
        let answer = ask(&s, secret, "PUT", "/v1/acl/token/onetime", Value::Null).await;
        assert_eq!(answer.status_and_text(), (403, "Permission denied".into()), "{secret}");
    }
    let mut secrets = Vec::new();
    for _ in 0..2 {
        let made = done(&s, &root, "PUT", "/v1/acl/token/onetime", Value::Null).await;
        secrets.push(text(&made["OneTimeToken"], "OneTimeSecretID"));
    }
    let exchange = |secret: &str| json!({ "OneTimeSecretID": secret });
    let path = "/v1/acl/token/onetime/exchange";
    assert_eq!(ask(&s, "", "PUT", path, exchange(&secrets[0])).await.status, 403, "the second one replaced it");
    let got = done(&s, "", "PUT", path, exchange(&secrets[1])).await;
    assert_eq!(text(&got["Token"], "SecretID"), root);
    for secret in [&secrets[1], "", NOBODY] {
        assert_eq!(
            ask(&s, "", "PUT", path, exchange(secret)).await.status_and_text(),
            (403, "Permission denied".into())
        );
    }
    s.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bootstrap_takes_a_secret_and_a_reset_file() {
    let s = start().await;
    let given = "55555555-5555-5555-5555-555555555555";
    let first = done(&s, "", "PUT", BOOTSTRAP, json!({ "BootstrapSecret": given })).await;
    assert_eq!((text(&first, "SecretID").as_str(), first["Global"].as_bool()), (given, Some(true)));
    let index = first["CreateIndex"].as_u64().expect("an index");
    let file = s.data_dir().join("acl-bootstrap-reset");
    let again = |secret: Value| ask(&s, "", "PUT", BOOTSTRAP, secret);
    let refused = format!("ACL bootstrap already done (reset index: {index})");
    assert_eq!(again(Value::Null).await.status_and_text(), (400, refused));
    for wrong in ["3", "many", ""] {
        std::fs::write(&file, wrong).expect("a file");
        let specified = wrong.parse::<u64>().unwrap_or(0);
        let refused = format!("Invalid bootstrap reset index (specified {specified}, reset index: {index})");
        assert_eq!(again(Value::Null).await.status_and_text(), (400, refused));
    }
    std::fs::write(&file, format!("{index}\n")).expect("a file");
    let second = again(Value::Null).await;
    assert_eq!(second.status, 200, "{}", second.text());
    assert!(!file.exists(), "a reset is used once");
    for secret in [given.to_string(), text(&second.json(), "SecretID")] {
        assert_eq!(ask(&s, &secret, "GET", "/v1/acl/tokens", Value::Null).await.status, 200, "both are valid");
    }
    s.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn forced_collection_removes_expired_tokens() {
    let s = start().await;
    let root = bootstrap(&s).await;
    let _ = expired(&s).await;
    assert_eq!(s.server.snapshot().acl_tokens().count(), 2);
    done(&s, &root, "PUT", "/v1/system/gc", Value::Null).await;
    let gone = async {
        while s.server.snapshot().acl_tokens().count() > 1 {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(30), gone).await.expect("collected in time");
    s.stop().await;
}
