//! Dynamic host volumes, and claims on them (`docs/spec/http-api.md §5.14`). The node agent in the same process creates
//! them.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;

use super::access::{Capability, Need};
use super::error::Error;
use super::filter::Filter;
use super::local::LocalClient;
use super::page::{Order, Pager};
use super::request::{Request, found};
use super::response::Response;
use super::route::Outcome;
use encamp_model::*;
use encamp_server::endpoints::volume as endpoint;
use encamp_server::storage::watch::WatchKey;
use encamp_state::Table;

/// The list that `/v1/volumes?type=host` asks for.
pub(super) async fn list(request: Request) -> Outcome {
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

pub(super) async fn claims(request: Request) -> Outcome {
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

pub(super) async fn claim(request: Request) -> Outcome {
    request.check_region()?;
    request.authorize_in(&request.namespace())?;
    let server = request.server()?;
    server.wait_ready().await?;
    let known = server.snapshot().state().host_volume_claims().any(|c| c.id == request.rest());
    Err(Error::internal(match known {
        true => "claims of running task groups can not be deleted",
        false => "task group volume claim does not exist",
    }))
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct HostBody {
    volume: Option<HostVolume>,
}

/// A path below host volumes that leads nowhere.
pub(super) async fn nothing(_: Request) -> Outcome {
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

/// The node agent of a volume.
fn node_of<'a>(request: &'a Request, volume: &HostVolume) -> Result<&'a Arc<dyn LocalClient>, Error> {
    let client = request.app().client().filter(|c| c.node_id() == volume.node_id);
    client.ok_or_else(|| Error::internal("No path to node"))
}

fn host_answer(volume: &HostVolume, index: u64) -> Outcome {
    Ok(Response::json(&json!({ "Volume": volume, "Warnings": "", "Index": index }))?.index(index))
}

pub(super) async fn create(mut request: Request) -> Outcome {
    let volume = host_body(&mut request).await?;
    let server = request.server()?;
    let mut volume = endpoint::prepare(server, &request.namespace(), volume).await?;
    let known = server.snapshot().state().host_volume(&volume.id).is_some();
    let node = node_of(&request, &volume)?;
    (volume.host_path, volume.capacity_bytes) = node.create_volume(&volume).await?;
    match endpoint::register(server, volume.clone()).await {
        Ok(index) => host_answer(&volume, index),
        Err(e) => {
            // A volume that no server knows is not retained; if that fails, too, the first error says more.
            if !known {
                let _ = node.delete_volume(&volume.id).await;
            }
            Err(e.into())
        }
    }
}

pub(super) async fn register(mut request: Request) -> Outcome {
    let volume = host_body(&mut request).await?;
    let missing = |what: &str| Error::internal(format!("cannot register volume: {what} is required"));
    if volume.node_id.is_empty() {
        return Err(missing("node ID"));
    }
    if volume.host_path.is_empty() {
        return Err(missing("host path"));
    }
    let server = request.server()?;
    let (path, capacity) = (volume.host_path.clone(), volume.capacity_bytes);
    let volume = endpoint::prepare(server, &request.namespace(), volume).await?;
    let volume = HostVolume { host_path: path, capacity_bytes: capacity, ..volume };
    node_of(&request, &volume)?.register_volume(&volume).await?;
    let index = endpoint::register(server, volume.clone()).await?;
    host_answer(&volume, index)
}

pub(super) async fn delete(request: Request) -> Outcome {
    let id = request.rest();
    request.check_region()?;
    request.authorize_in(&request.namespace())?;
    let force = request.flag("force")?;
    let server = request.server()?;
    let volume = endpoint::deletable(server, id).await?;
    request.authorize_in(&volume.namespace)?;
    let gone = match node_of(&request, &volume) {
        Ok(node) => node.delete_volume(id).await,
        Err(e) => Err(e),
    };
    // By force the volume goes from the state alone.
    if !force {
        gone?;
    }
    let index = endpoint::delete(server, id).await?;
    Ok(Response::json(&json!({ "Index": index }))?.index(index))
}

pub(super) async fn read(request: Request) -> Outcome {
    let id = request.rest();
    let options = request.read_options()?;
    let access = request.authorize()?;
    let read = request.blocking(&options, vec![WatchKey::Table(Table::HostVolumes)], |store| {
        let volume = store.state().host_volume(id).cloned();
        Ok((volume.as_ref().map_or(store.index_of(Table::HostVolumes), |v| v.modify_index), volume))
    });
    let (volume, meta) = found(read.await?, "volume not found")?;
    if !access.allows(&Need::Namespace(&volume.namespace, &[Capability::HostVolumeRead])) {
        return Err(Error::denied());
    }
    Ok(Response::json(&*volume)?.meta(&meta))
}
