//! CSI volumes and plugins (`docs/spec/http-api.md §5.14`): stored ones are returned. No plugin is connected, so no
//! volume can be created.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::error::Error;
use super::host_volumes;
use super::page::{Order, Pager};
use super::params::parse_bool;
use super::request::{Request, found};
use super::response::Response;
use super::route::Outcome;
use encamp_model::json::{nil, or_default};
use encamp_model::*;
use encamp_server::storage::watch::WatchKey;
use encamp_state::Table;

fn empty_list() -> Outcome {
    Response::json::<[Value; 0]>(&[])
}

pub(super) async fn list(request: Request) -> Outcome {
    match request.query().get("type") {
        "" => empty_list(),
        "csi" => csi_list(request).await,
        "host" => host_volumes::list(request).await,
        _ => Err(Error::not_found("resource not found")),
    }
}

/// A CSI volume as lists show it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct CsiVolListStub {
    #[serde(rename = "ID")]
    id: String,
    namespace: String,
    name: String,
    #[serde(rename = "ExternalID")]
    external_id: String,
    #[serde(with = "nil")]
    topologies: Vec<CsiTopology>,
    access_mode: String,
    attachment_mode: String,
    current_readers: usize,
    current_writers: usize,
    schedulable: bool,
    #[serde(rename = "PluginID")]
    plugin_id: String,
    provider: String,
    controller_required: bool,
    controllers_healthy: i64,
    controllers_expected: i64,
    nodes_healthy: i64,
    nodes_expected: i64,
    resource_exhausted: Time,
    create_index: u64,
    modify_index: u64,
    create_time: i64,
    modify_time: i64,
}

impl CsiVolListStub {
    fn of(v: &CsiVolume) -> CsiVolListStub {
        CsiVolListStub {
            id: v.id.clone(),
            namespace: v.namespace.clone(),
            name: v.name.clone(),
            external_id: v.external_id.clone(),
            topologies: v.topologies.clone(),
            access_mode: v.access_mode.clone(),
            attachment_mode: v.attachment_mode.clone(),
            current_readers: v.read_claims.len(),
            current_writers: v.write_claims.len(),
            schedulable: v.schedulable,
            plugin_id: v.plugin_id.clone(),
            provider: v.provider.clone(),
            controller_required: v.controller_required,
            controllers_healthy: v.controllers_healthy,
            controllers_expected: v.controllers_expected,
            nodes_healthy: v.nodes_healthy,
            nodes_expected: v.nodes_expected,
            resource_exhausted: v.resource_exhausted,
            create_index: v.create_index,
            modify_index: v.modify_index,
            create_time: v.create_time,
            modify_time: v.modify_time,
        }
    }
}

async fn csi_list(request: Request) -> Outcome {
    let options = request.read_options()?;
    let seen = request.authorize_in(&options.namespace)?;
    let (plugin, node) = (request.query().get("plugin_id"), request.query().get("node_id"));
    let pager = Pager::new(&options)?;
    let read = request.blocking(&options, vec![WatchKey::Table(Table::CsiVolumes)], |store| {
        let fits = |v: &&Arc<CsiVolume>| {
            seen.in_namespace(&v.namespace)
                && v.id.starts_with(&options.prefix)
                && (plugin.is_empty() || v.plugin_id == plugin)
                && (node.is_empty() || v.read_claims.values().chain(v.write_claims.values()).any(|c| c.node_id == node))
        };
        let rows = store.state().csi_volumes().filter(fits).cloned();
        let token = |v: &Arc<CsiVolume>| format!("{}.{}", v.namespace, v.id);
        let page = pager.page(Order::Text, rows, token, |f, v| f.matches("CSIVolume", &**v), |_| true)?;
        Ok((store.index_of(Table::CsiVolumes), page))
    });
    let (page, meta) = read.await?;
    let stubs: Vec<_> = page.rows.iter().map(|v| CsiVolListStub::of(v)).collect();
    Ok(Response::json(&stubs)?.meta(&meta).next_token(page.next.as_deref()))
}

/// Plugins can't be asked.
pub(super) async fn external(request: Request) -> Outcome {
    let options = request.read_options()?;
    request.authorize_in(&options.namespace)?;
    Err(Error::internal("no such plugin"))
}

/// Plugins can't be told anything.
pub(super) async fn external_write(request: Request) -> Outcome {
    request.authorize_in(&request.namespace())?;
    Err(Error::internal("no such plugin"))
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct CsiBody {
    #[serde(deserialize_with = "or_default")]
    volumes: Vec<CsiVolume>,
}

/// Registers or creates CSI volumes: that takes a plugin.
pub(super) async fn register(mut request: Request) -> Outcome {
    request.check_region()?;
    request.authorize_in(&request.namespace())?;
    let body: CsiBody = request.json().await?;
    let server = request.server()?;
    server.wait_ready().await?;
    let Some(volume) = body.volumes.first() else { return Err(Error::internal("missing volume definition")) };
    let mut wrong = Vec::new();
    if volume.id.is_empty() {
        wrong.push("missing volume id");
    }
    if volume.plugin_id.is_empty() {
        wrong.push("missing plugin id");
    }
    if volume.requested_capabilities.is_empty() {
        wrong.push("must include at least one capability block");
    }
    if !wrong.is_empty() {
        return Err(Error::internal(format!("validation: {}", wrong.join(", "))));
    }
    Err(Error::internal(format!("no CSI plugin named: {} could be found", volume.plugin_id)))
}

/// A path below a CSI volume that leads nowhere.
pub(super) async fn nothing(_: Request) -> Outcome {
    Err(Error::not_found("resource not found"))
}

pub(super) async fn deregister(request: Request) -> Outcome {
    let force = request.query().get("force");
    if !force.is_empty() && parse_bool(force).is_err() {
        return Err(Error::bad("invalid force value"));
    }
    csi_write(&request).await?;
    let id = request.id();
    match csi_volume(&request, id) {
        None => Err(Error::internal(format!("volume not found: {id}"))),
        Some(_) => Err(Error::internal(format!("volume in use: {id}"))),
    }
}

pub(super) async fn delete(request: Request) -> Outcome {
    csi_write(&request).await?;
    Err(Error::internal(format!("volume not found: {}", request.id())))
}

pub(super) async fn detach(request: Request) -> Outcome {
    if request.query().get("node").is_empty() {
        return Err(Error::bad("detach requires node ID"));
    }
    csi_write(&request).await?;
    Err(Error::internal("no such volume"))
}

async fn csi_write(request: &Request) -> Result<(), Error> {
    request.check_region()?;
    request.authorize_in(&request.namespace())?;
    Ok(request.server()?.wait_ready().await?)
}

fn csi_volume(request: &Request, id: &str) -> Option<Arc<CsiVolume>> {
    request.app().server()?.snapshot().state().csi_volume(&request.namespace(), id).cloned()
}

/// The shown form of a volume: without secrets, claims and mount flags (`docs/spec/snapshot-archive.md §9`).
pub(crate) fn shown(v: &CsiVolume) -> CsiVolume {
    let mut v = v.clone();
    v.secrets.clear();
    v.read_claims.clear();
    v.write_claims.clear();
    v.past_claims.clear();
    if let Some(m) = &mut v.mount_options
        && !m.mount_flags.is_empty()
    {
        m.mount_flags = vec!["[REDACTED]".into()];
    }
    v
}

pub(super) async fn read(request: Request) -> Outcome {
    let id = request.id();
    let options = request.read_options()?;
    request.authorize_in(&options.namespace)?;
    let read = request.blocking(&options, vec![WatchKey::Table(Table::CsiVolumes)], |store| {
        let volume = store.state().csi_volume(&options.namespace, id).map(|v| shown(v));
        Ok((volume.as_ref().map_or(store.index_of(Table::CsiVolumes), |v| v.modify_index), volume))
    });
    let (volume, meta) = found(read.await?, "volume not found")?;
    Ok(Response::json(&volume)?.meta(&meta))
}

pub(super) async fn plugins(request: Request) -> Outcome {
    match request.query().get("type") {
        "" => return empty_list(),
        "csi" => {}
        _ => return Ok(Response::empty()),
    }
    let options = request.read_options()?;
    request.authorize()?;
    let read = request.blocking(&options, vec![WatchKey::Table(Table::CsiPlugins)], |store| {
        let stub = |p: &Arc<CsiPlugin>| {
            json!({
                "ID": p.id, "Provider": p.provider, "ControllerRequired": p.controller_required,
                "ControllersHealthy": p.controllers_healthy, "ControllersExpected": p.controllers_expected,
                "NodesHealthy": p.nodes_healthy, "NodesExpected": p.nodes_expected, "CreateIndex": p.create_index,
                "ModifyIndex": p.modify_index,
            })
        };
        let rows: Vec<_> = store.csi_plugins().filter(|p| p.id.starts_with(&options.prefix)).map(stub).collect();
        Ok((store.index_of(Table::CsiPlugins), rows))
    });
    let (rows, meta) = read.await?;
    Ok(Response::json(&rows)?.meta(&meta))
}

pub(super) async fn plugin(request: Request) -> Outcome {
    let options = request.read_options()?;
    request.authorize()?;
    let id = request.rest();
    let read = request.blocking(&options, vec![WatchKey::Table(Table::CsiPlugins)], |store| {
        let plugin = store.csi_plugin(id).cloned();
        Ok((plugin.as_ref().map_or(store.index_of(Table::CsiPlugins), |p| p.modify_index), plugin))
    });
    let (plugin, meta) = found(read.await?, "plugin not found")?;
    Ok(Response::json(&*plugin)?.meta(&meta))
}
