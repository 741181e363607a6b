//! The matrix of all routes and all kinds of callers: who gets an answer. What is expected follows from the column
//! `right` of the table of routes alone; a route without a right does not compile.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{ConnectInfo, State};
use axum::http::{Method, Request};
use serde_json::{Value, json};

use super::acl::{bootstrap, done, start, text};
use super::jobs::{NODE, SECRET, node, settle};
use super::server::TestServer;
use crate::access::permission::Permission;
use crate::access::right::{Need, Right, Subject};
use crate::routes::find::Found;
use crate::routes::route::{Methods, Route};
use crate::routes::table::routes;
use encamp_acl::{Acl, Rules, Workload};
use encamp_model::*;
use encamp_ops::{AclChange, Operation};
use encamp_server::endpoints::identity;
use encamp_server::nodes::node_rpc;

/// The names of the objects that the requests are about.
const JOB: &str = "web";
const VARIABLE: &str = "a/b";
const POOL: &str = "gpu";
/// An object that does not exist, for requests that would change the state.
const NOTHING: &str = "00000000-0000-0000-0000-000000000000";

const READ: &str = "namespace \"default\" {\n policy = \"read\"\n variables {\n path \"*\" { capabilities = [\"read\"] }\n }\n}\n\
    node_pool \"*\" { policy = \"read\" }\nhost_volume \"*\" { policy = \"read\" }\nnode { policy = \"read\" }\n\
    agent { policy = \"read\" }\noperator { policy = \"read\" }\nplugin { policy = \"read\" }";
const WRITE: &str = "namespace \"default\" {\n policy = \"write\"\n variables {\n path \"*\" { capabilities = [\"write\", \
    \"destroy\", \"read\"] }\n }\n}\nnode_pool \"*\" { policy = \"write\" }\nhost_volume \"*\" { policy = \"write\" }\n\
    node { policy = \"write\" }\nagent { policy = \"write\" }\noperator { policy = \"write\" }\nplugin { policy = \"read\" }";
const OTHER: &str =
    "namespace \"other\" {\n policy = \"write\"\n variables {\n path \"*\" { capabilities = [\"read\"] }\n }\n}";
const FINE: &str = "namespace \"default\" { capabilities = [\"tag-job-version\", \"list-jobs\", \"dispatch-job\"] }";
const DENY: &str = "namespace \"*\" { policy = \"deny\" }\nnode_pool \"*\" { policy = \"deny\" }\nnode { policy = \"deny\" }\n\
    agent { policy = \"deny\" }\noperator { policy = \"deny\" }\nplugin { policy = \"deny\" }";

/// A caller of the matrix.
struct Kind {
    name: &'static str,
    secret: String,
    /// What it may do; none: its token is not valid.
    acl: Option<Acl>,
}

fn rules(text: &str) -> Acl {
    Acl::merge([("p", &Rules::parse(text).expect("rules"))])
}

async fn token(s: &TestServer, root: &str, name: &'static str, rules_text: &str) -> Kind {
    done(s, root, "PUT", &format!("/v1/acl/policy/{name}"), json!({"Name": name, "Rules": rules_text})).await;
    let body = json!({"Name": name, "Type": "client", "Policies": [name]});
    let secret = text(&done(s, root, "PUT", "/v1/acl/token", body).await, "SecretID");
    Kind { name, secret, acl: Some(rules(rules_text)) }
}

/// A token that has expired.
async fn expired(s: &TestServer) -> Kind {
    let secret = "77777777-7777-4777-8777-777777777777";
    let token = AclToken {
        accessor_id: "66666666-7777-4777-8777-777777777777".into(),
        secret_id: SecretString::new(secret),
        r#type: AclTokenType::Management,
        expiration_time: Some(Time::from_unix_nanos(SECOND)),
        ..Default::default()
    };
    let change = AclChange::TokenUpsert(vec![token]);
    s.server.commit(Operation::Acl(Box::new(change))).await.expect("written");
    Kind { name: "expired", secret: secret.into(), acl: None }
}

/// The cluster: a node, a job with a running allocation, a variable, a pool.
async fn fill(s: &TestServer, root: &str) {
    assert!(s.server.keyring().wait_active(Duration::from_secs(60)).await);
    node_rpc::register(&s.server, node(), "").await.expect("a node");
    node_rpc::update_status(&s.server, NODE, &SECRET.into(), "", NodeStatus::Ready).await.expect("ready");
    let task = json!({
        "Name": "t", "Driver": "raw_exec", "Config": {"command": "sleep"}, "Identity": {"Env": true},
        "Resources": {"CPU": 100, "MemoryMB": 32},
    });
    let job = json!({
        "ID": JOB, "Name": JOB, "Type": "service", "Datacenters": ["dc1"],
        "TaskGroups": [{"Name": "g", "Count": 1, "Tasks": [task]}],
    });
    done(s, root, "PUT", "/v1/jobs", json!({ "Job": job })).await;
    settle(s).await;
    done(s, root, "PUT", &format!("/v1/var/{VARIABLE}"), json!({"Items": {"k": "v"}})).await;
    done(s, root, "PUT", "/v1/node/pools", json!({ "Name": POOL })).await;
}

/// The callers with identities: a task, a node, a node that is introduced.
async fn identities(s: &TestServer, root: &str) -> Vec<Kind> {
    let alloc = s.server.snapshot().state().allocs().next().expect("an allocation").alloc.id.to_string();
    let wanted = IdentityRequest { alloc_id: alloc, task: "t".into(), identity: "default".into() };
    let signed = identity::sign(&s.server, NODE, &SECRET.into(), vec![wanted]).await.expect("signed");
    let own = Workload { namespace: "default".into(), job: JOB.into(), group: "g".into(), task: "t".into() };
    let workload = signed.first().expect("an identity").jwt.expose().to_string();
    let answer = node_rpc::update_status(&s.server, NODE, &SECRET.into(), "", NodeStatus::Ready).await;
    let node = answer.expect("a heartbeat").signed_identity.expose().to_string();
    assert!(!node.is_empty(), "the node has an identity");
    let path = "/v1/acl/identity/client-introduction-token";
    let introduction = text(&done(s, root, "PUT", path, json!({"NodeName": "n"})).await, "JWT");
    vec![
        Kind { name: "workload", secret: workload, acl: Some(Acl::nothing().with_workload(own)) },
        Kind { name: "node", secret: node, acl: Some(Acl::nothing()) },
        Kind { name: "introduction", secret: introduction, acl: Some(Acl::nothing()) },
    ]
}

/// The methods that a route is asked with.
fn methods(route: &Route) -> Vec<Method> {
    match route.methods {
        Methods::Any => vec![Method::GET, Method::PUT],
        Methods::Only(methods) => methods.to_vec(),
    }
}

/// A path of a route: with objects that exist for reads, and for writes of callers that may not write.
fn path(s: &TestServer, route: &Route, existing: bool) -> String {
    let snapshot = s.server.snapshot();
    let eval = snapshot.evals_by_create().next().map(|e| e.id.clone()).unwrap_or_default();
    let alloc = snapshot.state().allocs().next().map(|a| a.alloc.id.to_string()).unwrap_or_default();
    let id = match route.path.prefix() {
        _ if !existing => NOTHING,
        "/v1/job/" => JOB,
        "/v1/var/" => VARIABLE,
        "/v1/node/" => NODE,
        "/v1/node/pool/" => POOL,
        "/v1/namespace/" => "default",
        "/v1/evaluation/" => &eval,
        "/v1/allocation/" | "/v1/client/allocation/" | "/v1/client/fs/" => &alloc,
        _ => NOTHING,
    };
    let rest: Vec<&str> =
        route.path.rest().split('/').map(|part| if part.starts_with('{') { id } else { part }).collect();
    let query = match route.path.prefix() {
        "/v1/volumes" | "/v1/plugins" => "?type=csi",
        "/v1/client/fs/" => "?path=x&task=t&type=stdout&offset=0",
        _ => "",
    };
    format!("{}{}{query}", route.path.prefix(), rest.join("/"))
}

/// A body that gets past the checks of the request itself, where there is one.
fn body(route: &Route) -> Value {
    let job = json!({"ID": JOB, "Name": JOB, "Datacenters": ["dc1"], "Type": "batch", "TaskGroups": [
        {"Name": "g", "Tasks": [{"Name": "t", "Driver": "raw_exec", "Config": {"command": "x"}}]}]});
    match route.path.to_string().as_str() {
        "/v1/jobs" | "/v1/job/{*id}" | "/v1/job/{*id}/plan" | "/v1/validate/job" => json!({ "Job": job }),
        "/v1/jobs/parse" => {
            json!({"JobHCL": "job \"x\" {\n group \"g\" {\n task \"t\" {\n driver = \"raw_exec\"\n }\n }\n}"})
        }
        "/v1/jobs/statuses" => json!({"Jobs": [{"ID": JOB}]}),
        "/v1/job/{*id}/scale" => json!({"Count": 1, "Target": {"Group": "g"}}),
        "/v1/var/{*path}" => json!({"Items": {"k": "v"}}),
        "/v1/node/pools" | "/v1/node/pool/{*name}" => json!({ "Name": POOL }),
        "/v1/search" => json!({"Prefix": "a", "Context": "all"}),
        "/v1/search/fuzzy" => json!({"Text": "abc", "Context": "all"}),
        "/v1/evaluations" => json!({"EvalIDs": [NOTHING]}),
        "/v1/namespace" | "/v1/namespace/{*name}" => json!({"Name": "zz"}),
        _ => json!({}),
    }
}

/// The status of an answer; streams are not read.
async fn status(s: &TestServer, secret: &str, method: &Method, path: &str, body: &Value) -> u16 {
    let text = if *method == Method::GET { String::new() } else { body.to_string() };
    let mut request = Request::builder().method(method).uri(path).header("content-length", text.len());
    if !secret.is_empty() {
        request = request.header("x-nomad-token", secret);
    }
    let mut request = request.body(Body::from(text)).expect("a request");
    request.extensions_mut().insert(ConnectInfo(std::net::SocketAddr::from(([127, 0, 0, 1], 9))));
    crate::routes::entry::answer(State(s.app.clone()), request).await.status().as_u16()
}

/// Routes whose answer to callers with the right can be 403, or that decide by more than the right.
fn decides_by_more(route: &Route) -> bool {
    let path = route.path.to_string();
    // One policy or role: those of the caller. One-time tokens: of stored tokens. Profiles: a setting.
    // Facts about the host are shown without access control only if debugging is on. Disks: a token of their own.
    ["/v1/agent/host", "/v1/acl/policy/", "/v1/acl/role/", "/v1/acl/token/", "/v1/agent/pprof/"].iter().any(|p| path.starts_with(p))
        // Of one host volume that is not visible it is not said that it exists.
        || path.starts_with("/v1/volume/")
        || route.permission == Permission::MigrateToken
}

fn allowed(route: &Route, acl: &Acl) -> bool {
    let of = match route.permission.right() {
        Right::Pool(_) => Subject::Pool(POOL),
        Right::Variable(_) => Subject::Variable("default", VARIABLE),
        Right::All(rights) if rights.iter().any(|r| matches!(r, Right::Pool(_))) => {
            let of =
                |right: &Right| if matches!(right, Right::Pool(_)) { Subject::Pool(POOL) } else { Subject::Cluster };
            return rights.iter().all(|r| r.is_in(&|n: &Need<'_>| acl.allows(n), of(r)));
        }
        Right::Topics => return acl.is_management(),
        _ => Subject::Namespace("default"),
    };
    route.permission.right().is_in(&|need: &Need<'_>| acl.allows(need), of)
}

#[derive(Default)]
struct Counts {
    cells: usize,
    refused: usize,
    other_errors: usize,
    wrong: Vec<String>,
}

/// Asks a route as a caller, and compares who gets an answer with what the right says.
async fn ask_as(s: &TestServer, route: &Route, kind: &Kind, counts: &mut Counts) {
    let open = matches!(route.permission.right(), Right::Anonymous);
    let may = open || kind.acl.as_ref().is_some_and(|acl| allowed(route, acl));
    for method in methods(route) {
        let existing = method == Method::GET || !may;
        let path = path(s, route, existing);
        // Another route of the same path has the method.
        if !leads_to(&method, &path, route) {
            continue;
        }
        let got = status(s, &kind.secret, &method, &path, &body(route)).await;
        counts.cells += 1;
        counts.refused += usize::from(got == 403);
        let wrong = match may {
            true => got == 403 && !decides_by_more(route),
            // Of what does not exist, some lists are empty for everybody.
            false => (200..300).contains(&got) && !path.contains(NOTHING) && !without_alloc(route),
        };
        counts.other_errors += usize::from(!may && got != 403);
        if wrong {
            let right = route.permission.right();
            counts.wrong.push(format!("{}: {method} {path} needs {right}: {got}", kind.name));
        }
    }
}

fn leads_to(method: &Method, path: &str, route: &Route) -> bool {
    let path = path.split('?').next().unwrap_or_default();
    matches!(crate::routes::find::find(method, path), Found::Route(found) if std::ptr::eq(found.route, route))
}

/// Routes that say with status 200 that the path names no allocation (`docs/spec/http-api.md §6.1`).
fn without_alloc(route: &Route) -> bool {
    route.path.prefix() == "/v1/client/fs/" && matches!(route.path.rest(), "cat" | "readat")
}

/// Routes that are about the test server itself.
fn skipped(route: &Route) -> bool {
    // A bootstrap is done, and the answers about the caller differ by caller.
    route.path.prefix().starts_with("/v1/acl/token/") && matches!(route.path.rest(), "self" | "onetime")
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_answers_those_with_its_right_alone() {
    let s = start().await;
    let root = bootstrap(&s).await;
    fill(&s, &root).await;
    let mut kinds = vec![
        Kind { name: "no token", secret: String::new(), acl: Some(Acl::nothing()) },
        Kind { name: "unknown", secret: NOTHING.into(), acl: None },
        Kind { name: "malformed", secret: "no-token".into(), acl: None },
        expired(&s).await,
        token(&s, &root, "other-namespace", OTHER).await,
        token(&s, &root, "read", READ).await,
        token(&s, &root, "fine", FINE).await,
        token(&s, &root, "deny", DENY).await,
    ];
    kinds.extend(identities(&s, &root).await);
    kinds.push(token(&s, &root, "write", WRITE).await);
    let mut counts = Counts::default();
    for kind in &kinds {
        for route in routes().filter(|r| !skipped(r)) {
            ask_as(&s, route, kind, &mut counts).await;
        }
    }
    // The anonymous policy gives everybody without a token its rights.
    done(&s, &root, "PUT", "/v1/acl/policy/anonymous", json!({"Name": "anonymous", "Rules": READ})).await;
    let anonymous = Kind { name: "anonymous policy", secret: String::new(), acl: Some(rules(READ)) };
    let management = Kind { name: "management", secret: root.clone(), acl: Some(Acl::management()) };
    for kind in [anonymous, management] {
        for route in routes().filter(|r| !skipped(r)) {
            ask_as(&s, route, &kind, &mut counts).await;
        }
    }
    let Counts { cells, refused, other_errors, wrong } = counts;
    println!(
        "with access control: {} routes, {cells} requests, {refused} refused (403), {other_errors} without the right answered by another error",
        routes().count()
    );
    assert!(wrong.is_empty(), "{} of {cells}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(refused > 2500, "most requests without the right are refused as such: {refused}");
    s.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_token_of_the_leader_is_good_for_usage_alone() {
    let s = start().await;
    let root = bootstrap(&s).await;
    fill(&s, &root).await;
    let token = |namespace: &'static str| identity::for_usage(&s.server, namespace, 60 * SECOND);
    let (own, other) = (token("default").await.expect("a token"), token("other").await.expect("a token"));
    let mut answered = Vec::new();
    // A route with tokens of its own does not look at this one.
    for route in routes().filter(|r| !skipped(r) && r.permission != Permission::MigrateToken) {
        for method in methods(route) {
            let path = path(&s, route, true);
            if leads_to(&method, &path, route) && status(&s, own.expose(), &method, &path, &body(route)).await != 403 {
                answered.push(route.path.to_string());
            }
        }
    }
    answered.dedup();
    assert_eq!(answered, ["/v1/client/allocation/{id}/stats", "/v1/acl/access"]);
    let alloc = s.server.snapshot().state().allocs().next().expect("an allocation").alloc.id.to_string();
    let stats = format!("/v1/client/allocation/{alloc}/stats");
    assert_eq!(status(&s, other.expose(), &Method::GET, &stats, &Value::Null).await, 403, "another namespace");
    let permissions = done(&s, own.expose(), "GET", "/v1/acl/access", Value::Null).await;
    assert_eq!(
        (&permissions["Caller"], &permissions["Management"]),
        (&json!("leader"), &json!(false)),
        "{permissions}"
    );
    assert!(permissions["Policies"][0]["Rules"].as_str().is_some_and(|r| r.contains("read-job")), "{permissions}");
    s.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_access_control_nobody_is_refused() {
    let s = TestServer::start().await;
    fill(&s, "").await;
    let tokens = ["", NOTHING, "no-token"];
    let mut counts = Counts::default();
    for secret in tokens {
        let kind = Kind { name: "anybody", secret: secret.into(), acl: Some(Acl::management()) };
        for route in routes().filter(|r| !skipped(r)) {
            ask_as(&s, route, &kind, &mut counts).await;
        }
    }
    println!("without access control: {} requests", counts.cells);
    assert!(counts.wrong.is_empty(), "{}", counts.wrong.join("\n"));
    s.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_token_is_refused_at_once() {
    let s = start().await;
    let root = bootstrap(&s).await;
    let reader = token(&s, &root, "reader", READ).await;
    let get = |path: &'static str| status(&s, &reader.secret, &Method::GET, path, &Value::Null);
    assert_eq!(get("/v1/jobs").await, 200);
    // A read that waits, and a stream.
    let index = s.server.snapshot().latest_index() + 1000;
    let waiting = {
        let (app, secret) = (s.app.clone(), reader.secret.clone());
        tokio::spawn(async move {
            let uri = format!("/v1/jobs?index={index}&wait=60s");
            let request = Request::get(uri).header("x-nomad-token", secret).body(Body::empty()).expect("a request");
            crate::routes::entry::answer(State(app), request).await.status().as_u16()
        })
    };
    let request = Request::get("/v1/event/stream?topic=Job").header("x-nomad-token", &reader.secret);
    let stream =
        crate::routes::entry::answer(State(s.app.clone()), request.body(Body::empty()).expect("a request")).await;
    assert_eq!(stream.status().as_u16(), 200);
    let read = tokio::spawn(axum::body::to_bytes(stream.into_body(), usize::MAX));
    tokio::time::sleep(Duration::from_millis(50)).await;
    let accessor = s.server.snapshot().acl_token_by_secret(&reader.secret).expect("the token").accessor_id.clone();
    done(&s, &root, "DELETE", &format!("/v1/acl/token/{accessor}"), Value::Null).await;
    let revoked = std::time::Instant::now();
    assert_eq!(get("/v1/jobs").await, 403);
    let ended = tokio::time::timeout(Duration::from_secs(5), read).await;
    ended.expect("the stream ends").expect("a task").expect("a body");
    assert!(revoked.elapsed() < Duration::from_secs(1), "{:?}", revoked.elapsed());
    let waited = tokio::time::timeout(Duration::from_secs(5), waiting).await;
    assert_eq!(waited.expect("the wait ends").expect("a task"), 403);
    s.stop().await;
}
