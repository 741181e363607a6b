//! Endpoints of the node agent that runs in the same process: statistics, metadata, actions on allocations
//! (`docs/spec/http-api.md §5.4, §5.5`).

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::http::Method;
use serde::Deserialize;
use serde_json::json;

use super::access::{Level, Need};
use super::error::Error;
use super::ids;
use super::local::LocalClient;
use super::request::Request;
use super::response::Response;
use super::route::{Outcome, Route, route};
use encamp_model::json::or_default;
use encamp_model::quoted;

/// The routes.
pub const ROUTES: &[Route] = &[
    route!("/v1/client/stats", stats),
    route!("/v1/client/gc", gc),
    route!("/v1/client/metadata", metadata),
    route!("/v1/client/identity", identity),
    route!("/v1/client/identity/renew", identity_renew),
    route!("/v1/client/allocation/", allocation),
];

/// The node a request is for: that of `node_id`, or the local one.
pub(super) fn node(request: &Request, unknown: impl Fn(&str) -> String) -> Result<Arc<dyn LocalClient>, Error> {
    let id = request.query().get("node_id");
    let local = request.app().client();
    if let Some(c) = local
        && (id.is_empty() || c.node_id() == id)
    {
        return Ok(c.clone());
    }
    if id.is_empty() {
        return Err(Error::bad("No local Node and node_id not provided"));
    }
    let known = request.app().server().is_some_and(|s| s.snapshot().state().node(id).is_some());
    if known {
        return Err(Error::not_found("No path to node"));
    }
    ids::check("node", id)?;
    Err(Error::not_found(unknown(id)))
}

/// Finds the node that runs an allocation. Requires one of the capabilities in the allocation's namespace.
pub(super) fn of_alloc(request: &Request, id: &str, capabilities: &[&str]) -> Result<Arc<dyn LocalClient>, Error> {
    let unknown = || Error::not_found(format!("Unknown allocation {}", quoted(id)));
    let stored = request.app().server().and_then(|s| s.snapshot().state().alloc(id).map(|a| a.alloc.clone()));
    let local = request.app().client();
    if let Some(a) = &stored {
        request.need(&Need::Namespace(&a.namespace, capabilities))?;
    }
    if let Some(c) = local
        && c.has_alloc(id)
    {
        if stored.is_none() {
            // The server has forgotten it; who may do anything may do this.
            request.need(&Need::Management)?;
        }
        return Ok(c.clone());
    }
    match (stored, local, request.app().server()) {
        (None, None, None) => Err(Error::bad("No local Node and node_id not provided")),
        (None, ..) => Err(unknown()),
        (Some(a), Some(c), _) if a.node_id == c.node_id() => Err(unknown()),
        (Some(_), ..) => Err(Error::not_found("No path to node")),
    }
}

async fn stats(request: Request) -> Outcome {
    request.need(&Need::Node(Level::Read))?;
    let client = node(&request, |id| format!("Unknown node {id}"))?;
    Response::json(&client.host_stats().await?)
}

async fn gc(request: Request) -> Outcome {
    request.need(&Need::Node(Level::Write))?;
    node(&request, |_| "No path to node".into())?.collect_all().await?;
    Ok(Response::empty())
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct MetaRequest {
    #[serde(rename = "NodeID", deserialize_with = "or_default")]
    node_id: String,
    meta: Option<BTreeMap<String, Option<String>>>,
}

async fn metadata(mut request: Request) -> Outcome {
    if request.is_get() {
        request.need(&Need::Node(Level::Read))?;
        let client = node(&request, |_| "No path to node".into())?;
        return Response::json(&client.metadata().await?);
    }
    if request.method() != Method::POST {
        return Err(Error::method());
    }
    request.need(&Need::Node(Level::Write))?;
    let body: MetaRequest = request.json().await?;
    let meta = body.meta.filter(|m| !m.is_empty()).ok_or_else(|| Error::bad("missing required Meta object"))?;
    let client = node(&request, |_| "No path to node".into())?;
    if !body.node_id.is_empty() && body.node_id != client.node_id() {
        return Err(Error::not_found("No path to node"));
    }
    if let Some(key) = meta.keys().find(|k| !is_key(k)) {
        return Err(Error::bad(format!("Invalid meta key {}: only letters, digits, - _ . are allowed", quoted(key))));
    }
    Response::json(&client.set_metadata(meta).await?)
}

/// Keys of metadata are what references in job files can name.
fn is_key(key: &str) -> bool {
    let part = |p: &str| {
        p.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && p.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    };
    key.split('.').all(part)
}

async fn identity(request: Request) -> Outcome {
    request.only_get()?;
    request.need(&Need::Node(Level::Read))?;
    let claims = node(&request, |_| "No path to node".into())?.identity();
    let mut claims = claims.ok_or_else(|| Error::not_found("node identity not found"))?;
    // Times are fractions, as Nomad writes them.
    claims.values_mut().for_each(|v| *v = v.as_f64().map_or_else(|| v.take(), |n| json!(n)));
    Response::json(&json!({ "Claims": claims }))
}

async fn identity_renew(request: Request) -> Outcome {
    request.only_write()?;
    request.need(&Need::Node(Level::Write))?;
    node(&request, |_| "No path to node".into())?.renew_identity();
    Response::json(&json!({}))
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct RestartRequest {
    #[serde(deserialize_with = "or_default")]
    task_name: String,
    #[serde(deserialize_with = "or_default")]
    all_tasks: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct SignalRequest {
    #[serde(deserialize_with = "or_default")]
    task: String,
    #[serde(deserialize_with = "or_default")]
    signal: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct PauseRequest {
    #[serde(deserialize_with = "or_default")]
    schedule_state: String,
}

async fn allocation(mut request: Request) -> Outcome {
    let rest = request.rest().to_string();
    let (id, action) = match rest.split_once('/') {
        Some((id, action)) if !id.is_empty() && !action.contains('/') => (id, action),
        _ => return Err(Error::not_found("resource not found")),
    };
    let done = || Response::json(&json!({ "Index": 0 }));
    match action {
        "stats" => {
            let task = request.query().get("task").to_string();
            Response::json(&of_alloc(&request, id, &["read-job"])?.alloc_stats(id, &task).await?)
        }
        "checks" => checks(&request, id).await,
        "restart" => {
            request.only_write()?;
            let body: RestartRequest = if request.has_body() { request.json().await? } else { Default::default() };
            let client = of_alloc(&request, id, &["alloc-lifecycle"])?;
            client.restart(id, &body.task_name, body.all_tasks).await?;
            done()
        }
        "signal" => {
            request.only_write()?;
            let parse = request.json::<SignalRequest>().await;
            let body = parse.map_err(|e| e.prefixed("Failed to decode body: "))?;
            of_alloc(&request, id, &["alloc-lifecycle"])?.signal(id, &body.task, &body.signal).await?;
            done()
        }
        "gc" => {
            of_alloc(&request, id, &["submit-job", "gc-allocation"])?.collect(id).await?;
            Ok(Response::empty())
        }
        "pause" => {
            if request.is_write() {
                let body: PauseRequest = request.json().await?;
                if !matches!(body.schedule_state.as_str(), "pause" | "run" | "scheduled") {
                    return Err(Error::bad("Not a valid task schedule state"));
                }
            } else {
                request.only_get()?;
            }
            Err(Error::internal("Enterprise only"))
        }
        "exec" => super::exec::exec(request, id).await,
        _ => Err(Error::not_found("resource not found")),
    }
}

/// Results of an allocation's checks.
pub(super) async fn checks(request: &Request, id: &str) -> Outcome {
    request.only_get()?;
    Response::json(&of_alloc(request, id, &["read-job"])?.checks(id).await?)
}
