//! Dynamic host volumes, and claims on them (`docs/spec/http-api.md §5.14`). The node agent in the same process creates
//! them.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;

use crate::access::right::{Capability, Need};
use crate::agent::node_agent::NodeAgent;
use crate::agent::node_connections::{NO_PATH, NodeError};
use crate::error::Error;
use crate::request::Request;
use crate::request::blocking_read::found;
use crate::request::filter::Filter;
use crate::request::page::{Order, Pager};
use crate::request::response::{Outcome, Response};
use encamp_model::*;
use encamp_server::Server;
use encamp_server::endpoints::volume::{Origin, Prepared};
use encamp_server::endpoints::{alloc, volume as endpoint};
use encamp_server::fsm::users;
use encamp_server::storage::watch::WatchKey;
use encamp_state::{State, Table};

/// The list that `/v1/volumes?type=host` asks for.
pub(crate) async fn list(request: Request) -> Outcome {
    let options = request.read_options()?;
    let access = request.access()?;
    let (node, pool) = (request.query().get("node_id"), request.query().get("node_pool"));
    let pager = Pager::new(&options)?;
    let read = request.blocking(&options, vec![WatchKey::Table(Table::HostVolumes)], |store| {
        let fits = |v: &&Arc<HostVolume>| {
            options.in_namespace(&v.namespace)
                && (v.id.starts_with(&options.prefix) || v.name.starts_with(&options.prefix))
                && (node.is_empty() || v.node_id == node)
                && (pool.is_empty() || v.node_pool == pool)
                && access.allows(&Need::Namespace(&v.namespace, &[Capability::HostVolumeRead]))
        };
        let rows = store.state().host_volumes().filter(fits).cloned();
        let token = |v: &Arc<HostVolume>| format!("{}.{}", v.namespace, v.id);
        let page = pager.page(Order::Text, rows, token, |f, v| f.matches("HostVolume", &**v), |_| true)?;
        Ok((store.index_of(Table::HostVolumes), page))
    });
    let (page, meta) = read.await?;
    let stub = |v: &Arc<HostVolume>| {
        json!({
            "Namespace": v.namespace, "ID": v.id, "Name": v.name, "PluginID": v.plugin_id, "NodePool": v.node_pool,
            "NodeID": v.node_id, "CapacityBytes": v.capacity_bytes, "State": v.state, "CreateIndex": v.create_index,
            "CreateTime": v.create_time, "ModifyIndex": v.modify_index, "ModifyTime": v.modify_time,
        })
    };
    let stubs: Vec<_> = page.rows.iter().map(stub).collect();
    Ok(Response::json(&stubs)?.meta(&meta).next_token(page.next.as_deref()))
}

pub(crate) async fn claims(request: Request) -> Outcome {
    let options = request.read_options()?;
    let seen = request.authorize_in(&options.namespace)?;
    let q = |name| request.query().get(name);
    let (job, group, volume) = (q("job_id"), q("task_group"), q("volume_name"));
    let pager = Pager::new(&options)?;
    let read = request.blocking(&options, vec![WatchKey::Table(Table::TaskVolume)], |store| {
        let fits = |c: &&Arc<TaskGroupHostVolumeClaim>| {
            seen.in_namespace(&c.namespace)
                && c.id.starts_with(&options.prefix)
                && (job.is_empty() || c.job_id == job)
                && (group.is_empty() || c.task_group_name == group)
                && (volume.is_empty() || c.volume_name == volume)
        };
        let rows = store.state().host_volume_claims().filter(fits).cloned();
        let matches = |f: &Filter, c: &Arc<TaskGroupHostVolumeClaim>| f.matches("TaskGroupHostVolumeClaim", &**c);
        let page = pager.page(Order::Text, rows, |c| c.id.clone(), matches, |_| true)?;
        Ok((store.index_of(Table::TaskVolume).max(1), page))
    });
    let (page, meta) = read.await?;
    Ok(Response::json(&page.rows)?.meta(&meta).next_token(page.next.as_deref()))
}

pub(crate) async fn claim(request: Request) -> Outcome {
    let server = request.server()?;
    let claim = endpoint::claim(server, request.rest()).await?;
    request.authorize_in(&claim.namespace)?;
    let index = endpoint::delete_claim(server, &claim.id).await?;
    Ok(Response::empty().index(index))
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct HostBody {
    volume: Option<HostVolume>,
}

/// A path below host volumes that leads nowhere.
pub(crate) async fn nothing(_: Request) -> Outcome {
    Err(Error::not_found("resource not found"))
}

/// The volume of a request that makes or takes one.
async fn host_body(request: &mut Request) -> Result<HostVolume, Error> {
    request.check_region()?;
    let namespace = request.namespace();
    request.authorize_in(&namespace)?;
    let body: HostBody = request.json().await?;
    request.server()?.wait_ready().await?;
    let volume = body.volume.ok_or_else(|| Error::internal("missing volume definition"))?;
    if !volume.namespace.is_empty() && volume.namespace != namespace {
        request.authorize_in(&volume.namespace)?;
    }
    Ok(volume)
}

/// The node agent with this ID.
fn node_with(request: &Request, id: &str) -> Result<NodeAgent, Error> {
    NodeAgent::of(request.app(), id).map_err(without_path)
}

/// As an answer: a node that no server reaches is an error of the server.
fn without_path(e: NodeError) -> Error {
    match e {
        NodeError::NoPath => Error::internal(NO_PATH),
        e @ (NodeError::Broken(_) | NodeError::Refused(_)) => e.into(),
    }
}

/// Carries out a change of a volume to its end, also if the client does not wait for it: else the node and the servers
/// would disagree.
async fn to_the_end<T: Send + 'static>(
    work: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> Result<T, Error> {
    tokio::spawn(work).await.map_err(|e| Error::internal(e.to_string()))?
}

pub(crate) async fn create(request: Request) -> Outcome {
    put(request, Origin::Created).await
}

pub(crate) async fn register(request: Request) -> Outcome {
    put(request, Origin::Registered).await
}

async fn put(mut request: Request, origin: Origin) -> Outcome {
    let volume = host_body(&mut request).await?;
    let server = request.server()?.clone();
    let prepared = endpoint::prepare(&server, &request.namespace(), volume, origin).await?;
    let node = node_with(&request, &prepared.volume.node_id)?;
    let (volume, index) = to_the_end(bring_about(server, node, prepared, origin)).await?;
    Ok(Response::json(&json!({ "Volume": volume, "Warnings": "", "Index": index }))?.index(index))
}

/// Creates or registers a volume on its node, and stores it. A new volume is stored first, as pending: so it is seen
/// wherever this is interrupted, and becomes ready if the node has it.
async fn bring_about(
    server: Server,
    node: NodeAgent,
    prepared: Prepared,
    origin: Origin,
) -> Result<(HostVolume, u64), Error> {
    let Prepared { mut volume, old } = prepared;
    if old.is_none() {
        endpoint::store(&server, volume.clone()).await?;
    }
    let done = match origin {
        Origin::Created => node.create_volume(&volume).await.map(|(path, bytes)| {
            (volume.host_path, volume.capacity_bytes) = (path, bytes);
        }),
        Origin::Registered => node.register_volume(&volume).await,
    };
    match done {
        Ok(()) => {
            let index = endpoint::store(&server, volume.clone()).await?;
            Ok((volume, index))
        }
        Err(error) => {
            // After a broken connection the node may have the volume: it reports that, and the volume becomes ready.
            if old.is_none()
                && !matches!(error, NodeError::Broken(_))
                && let Err(again) = endpoint::delete(&server, &volume.id).await
            {
                let (volume_id, again) = (volume.id.as_str(), again.to_string());
                tracing::error!(target: "http", volume_id, error = again, "a host volume that its node did not create stays pending");
            }
            Err(without_path(error))
        }
    }
}

pub(crate) async fn delete(request: Request) -> Outcome {
    let id = request.rest();
    request.check_region()?;
    request.authorize_in(&request.namespace())?;
    let force = request.flag("force")?;
    let server = request.server()?.clone();
    server.wait_ready().await?;
    if force && let Some(node_id) = endpoint::reporting_node(&server, id) {
        return delete_unknown(&request, &node_id).await;
    }
    let volume = endpoint::deletable(&server, id).await?;
    request.authorize_in(&volume.namespace)?;
    let node = match node_with(&request, &volume.node_id) {
        Ok(node) => Some(node),
        Err(_) if force => None,
        Err(e) => return Err(e),
    };
    let index = to_the_end(remove(server, node, volume, force)).await?;
    deleted(index)
}

fn deleted(index: u64) -> Outcome {
    Ok(Response::json(&json!({ "Index": index }))?.index(index))
}

/// Deletes a volume that a node reports and no server knows.
async fn delete_unknown(request: &Request, node_id: &str) -> Outcome {
    // Its namespace is not known.
    request.need(&Need::Management)?;
    let (node, id) = (node_with(request, node_id)?, request.rest().to_string());
    to_the_end(async move { node.delete_volume(&id).await.map_err(without_path) }).await?;
    deleted(request.server()?.snapshot().latest_index())
}

/// Deletes a volume on its node, if that is reached, and from the state. `force`: from the state in any case.
async fn remove(server: Server, node: Option<NodeAgent>, volume: Arc<HostVolume>, force: bool) -> Result<u64, Error> {
    endpoint::begin_deletion(&server, &volume).await?;
    let gone = match &node {
        Some(node) => node.delete_volume(&volume.id).await.map_err(without_path),
        None => Ok(()),
    };
    if let Err(error) = gone {
        if !force {
            if let Err(again) = endpoint::cancel_deletion(&server, &volume).await {
                let (volume_id, again) = (volume.id.as_str(), again.to_string());
                tracing::error!(target: "http", volume_id, error = again, "a host volume that its node did not delete stays marked as deleted");
            }
            return Err(error);
        }
        let (volume_id, error) = (volume.id.as_str(), error.to_string());
        tracing::warn!(target: "http", volume_id, error, "deleted a host volume that its node did not delete");
    }
    Ok(endpoint::delete(&server, &volume.id).await?)
}

pub(crate) async fn read(request: Request) -> Outcome {
    let id = request.rest();
    let options = request.read_options()?;
    let access = request.authorize()?;
    let read = request.blocking(&options, vec![WatchKey::Table(Table::HostVolumes)], |store| {
        let volume = store.state().host_volume(id).map(|v| with_allocations(store.state(), v));
        Ok((volume.as_ref().map_or(store.index_of(Table::HostVolumes), |v| v.modify_index), volume))
    });
    let (volume, meta) = found(read.await?, "volume not found")?;
    if !access.allows(&Need::Namespace(&volume.namespace, &[Capability::HostVolumeRead])) {
        return Err(Error::denied());
    }
    Ok(Response::json(&volume)?.meta(&meta))
}

/// A volume with the allocations that use it.
fn with_allocations(state: &State, volume: &HostVolume) -> HostVolume {
    let users = users(state, volume);
    let allocations = users.iter().map(|(entry, _)| alloc::listed(&entry.alloc, false, true)).collect();
    HostVolume { allocations, ..volume.clone() }
}
