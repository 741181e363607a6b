//! Endpoints of the node agent that runs in the same process: statistics, metadata, actions on allocations
//! (`docs/spec/http-api.md §5.4, §5.5`).

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Body;
use serde::Deserialize;
use serde_json::json;

use crate::agent::local_client::LocalClient;
use crate::agent::node_connections::NO_PATH;
use crate::error::Error;
use crate::request::node_forward::forward_read;
use crate::request::response::{Outcome, Response};
use crate::request::{Request, ids};
use encamp_model::json::null_is_default;
use encamp_model::quoted;
use encamp_model::requests::{AllocRestartRequest, AllocSignalRequest};

/// The node a request is for: that of `node_id`, or the local one.
pub(crate) fn node(request: &Request, unknown: impl Fn(&str) -> String) -> Result<Arc<dyn LocalClient>, Error> {
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
        return Err(Error::not_found(NO_PATH));
    }
    ids::full("node", id)?;
    Err(Error::not_found(unknown(id)))
}

/// Finds the node that runs an allocation. The right of the route is required in the allocation's namespace.
pub(crate) fn of_alloc(request: &Request, id: &str) -> Result<Arc<dyn LocalClient>, Error> {
    let unknown = || Error::not_found(format!("Unknown allocation {}", quoted(id)));
    let stored = request.app().server().and_then(|s| s.snapshot().state().alloc(id).map(|a| a.alloc.clone()));
    let local = request.app().client();
    let own = local.and_then(|c| c.alloc_namespace(id));
    // The servers may have forgotten an allocation that the node still has.
    match stored.as_ref().map(|a| a.namespace.as_str()).or(own.as_deref()) {
        Some(namespace) => drop(request.authorize_in(namespace)?),
        // A caller that may not see any allocation must not learn that this one does not exist.
        None => drop(request.authorize_in("*")?),
    }
    if let Some(c) = local
        && own.is_some()
    {
        return Ok(c.clone());
    }
    match (stored, local, request.app().server()) {
        (None, None, None) => Err(Error::bad("No local Node and node_id not provided")),
        (None, ..) => Err(ids::full("alloc", id).err().unwrap_or_else(unknown)),
        (Some(a), Some(c), _) if a.node_id == c.node_id() => Err(unknown()),
        (Some(_), ..) => Err(Error::not_found(NO_PATH)),
    }
}

pub(crate) async fn stats(request: Request) -> Outcome {
    let client = node(&request, |id| format!("Unknown node {id}"))?;
    Response::json(&client.host_stats().await?)
}

pub(crate) async fn gc(request: Request) -> Outcome {
    node(&request, |_| NO_PATH.into())?.collect_all().await?;
    Ok(Response::empty())
}

#[null_is_default]
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct MetaRequest {
    #[serde(rename = "NodeID")]
    node_id: String,
    meta: Option<BTreeMap<String, Option<String>>>,
}

pub(crate) async fn metadata(request: Request) -> Outcome {
    let client = node(&request, |_| NO_PATH.into())?;
    Response::json(&client.metadata().await?)
}

pub(crate) async fn set_metadata(mut request: Request) -> Outcome {
    let body: MetaRequest = request.json().await?;
    let meta = body.meta.filter(|m| !m.is_empty()).ok_or_else(|| Error::bad("missing required Meta object"))?;
    if let Some(key) = meta.keys().find(|k| !is_key(k)) {
        return Err(Error::bad(format!("Invalid meta key {}: only letters, digits, - _ . are allowed", quoted(key))));
    }
    let own = request.app().client().map(|c| c.node_id());
    if !body.node_id.is_empty() && own.as_ref() != Some(&body.node_id) {
        // The body names another node than the parameters.
        let forwarded = json!({ "NodeID": body.node_id, "Meta": meta });
        return forward_read(request, &body.node_id, forwarded.to_string().into_bytes()).await;
    }
    Response::json(&node(&request, |_| NO_PATH.into())?.set_metadata(meta).await?)
}

/// Keys of metadata are what references in job files can name.
fn is_key(key: &str) -> bool {
    let part = |p: &str| {
        p.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && p.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    };
    key.split('.').all(part)
}

pub(crate) async fn identity(request: Request) -> Outcome {
    let claims = node(&request, |_| NO_PATH.into())?.identity().await;
    let mut claims = claims.ok_or_else(|| Error::not_found("node identity not found"))?;
    // Times are fractions, as Nomad writes them.
    claims.values_mut().for_each(|v| *v = v.as_f64().map_or_else(|| v.take(), |n| json!(n)));
    Response::json(&json!({ "Claims": claims }))
}

pub(crate) async fn identity_renew(request: Request) -> Outcome {
    node(&request, |_| NO_PATH.into())?.renew_identity();
    Response::json(&json!({}))
}

#[null_is_default]
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct PauseRequest {
    schedule_state: String,
}

fn done() -> Outcome {
    Response::json(&json!({ "Index": 0 }))
}

pub(crate) async fn alloc_stats(request: Request, id: String) -> Outcome {
    let task = request.query().get("task").to_string();
    Response::json(&of_alloc(&request, &id)?.alloc_stats(&id, &task).await?)
}

pub(crate) async fn restart(mut request: Request, id: String) -> Outcome {
    let body: AllocRestartRequest = if request.has_body() { request.json().await? } else { Default::default() };
    of_alloc(&request, &id)?.restart(&id, &body.task_name, body.all_tasks).await?;
    done()
}

pub(crate) async fn send_signal(mut request: Request, id: String) -> Outcome {
    let parse = request.json::<AllocSignalRequest>().await;
    let body = parse.map_err(|e| e.prefixed("Failed to decode body: "))?;
    of_alloc(&request, &id)?.signal(&id, &body.task, &body.signal).await?;
    done()
}

pub(crate) async fn collect(request: Request, id: String) -> Outcome {
    of_alloc(&request, &id)?.collect(&id).await?;
    Ok(Response::empty())
}

/// The disk of an allocation of this very node. The migrate token decides, whether ACLs are on or not.
pub(crate) async fn snapshot(request: Request, id: String) -> Outcome {
    let Some(client) = request.app().client() else {
        return Err(Error::bad("No local Node and node_id not provided"));
    };
    let bytes = client.disk(&id, request.token()).await?;
    Ok(Response::stream("application/x-tar", Body::from_stream(bytes)))
}

pub(crate) async fn pause(mut request: Request) -> Outcome {
    let body: PauseRequest = request.json().await?;
    if !matches!(body.schedule_state.as_str(), "pause" | "run" | "scheduled") {
        return Err(Error::bad("Not a valid task schedule state"));
    }
    enterprise()
}

pub(crate) async fn pause_state(_: Request) -> Outcome {
    enterprise()
}

fn enterprise() -> Outcome {
    Err(Error::internal("Enterprise only"))
}
