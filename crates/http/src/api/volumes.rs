//! CSI volumes and plugins (`docs/spec/http-api.md §5.14`): lists and single ones, and the writes, for which the
//! server asks the plugins.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::host_volumes;
use crate::error::Error;
use crate::request::Request;
use crate::request::blocking_read::found;
use crate::request::page::{Order, Pager};
use crate::request::params::parse_bool;
use crate::request::response::{Outcome, Response};
use encamp_model::json::{nil, null_is_default};
use encamp_model::*;
use encamp_server::endpoints::{alloc, csi as endpoint};
use encamp_server::storage::watch::WatchKey;
use encamp_state::{State, Table};

fn empty_list() -> Outcome {
    Response::json::<[Value; 0]>(&[])
}

pub(crate) async fn list(request: Request) -> Outcome {
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
    access_mode: VolumeAccessMode,
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

/// What a storage provider has.
pub(crate) async fn external(request: Request) -> Outcome {
    let (plugin, page) = asked_page(&request)?;
    let (volumes, next) = endpoint::external_volumes(request.server()?, &plugin, page).await?;
    Response::json(&json!({ "Volumes": volumes, "NextToken": next }))
}

/// Nothing is written this way.
pub(crate) async fn external_write(request: Request) -> Outcome {
    request.authorize_in(&request.namespace())?;
    Err(Error::internal("no such plugin"))
}

pub(crate) async fn snapshots(request: Request) -> Outcome {
    let (plugin, page) = asked_page(&request)?;
    let secrets = secrets_of(&request)?;
    let (snapshots, next) = endpoint::snapshots(request.server()?, &plugin, page, secrets).await?;
    Response::json(&json!({ "Snapshots": snapshots, "NextToken": next }))
}

#[null_is_default]
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct SnapshotBody {
    snapshots: Vec<CsiSnapshot>,
}

pub(crate) async fn create_snapshots(mut request: Request) -> Outcome {
    request.check_region()?;
    let namespace = request.namespace();
    request.authorize_in(&namespace)?;
    let body: SnapshotBody = request.json().await?;
    if body.snapshots.is_empty() {
        return Err(Error::internal("missing snapshot definition"));
    }
    let server = request.server()?.clone();
    let made = to_the_end(async move {
        let mut made = Vec::new();
        for asked in body.snapshots {
            made.push(endpoint::create_snapshot(&server, &namespace, asked).await?);
        }
        Ok(made)
    });
    Response::json(&json!({ "Snapshots": made.await? }))
}

pub(crate) async fn delete_snapshot(request: Request) -> Outcome {
    csi_write(&request).await?;
    let secrets = secrets_of(&request)?;
    let (plugin, id) = (request.query().get("plugin_id"), request.query().get("snapshot_id"));
    endpoint::delete_snapshot(request.server()?, plugin, id, secrets).await?;
    Ok(Response::empty())
}

/// The plugin that a request asks, and the part of its list.
fn asked_page(request: &Request) -> Result<(String, CsiPage), Error> {
    let options = request.read_options()?;
    request.authorize_in(&options.namespace)?;
    let page = CsiPage { max_entries: u32::try_from(options.per_page).unwrap_or(0), start: options.next_token };
    Ok((request.query().get("plugin_id").into(), page))
}

/// The secrets of a request without a body: `k=v,k2=v2` in the header `X-Nomad-CSI-Secrets`.
fn secrets_of(request: &Request) -> Result<BTreeMap<String, SecretString>, Error> {
    let Some(header) = request.headers().get("x-nomad-csi-secrets") else { return Ok(BTreeMap::new()) };
    // The value is not repeated in the error.
    let wrong = || Error::bad("invalid X-Nomad-CSI-Secrets header: key=value pairs, separated by commas, are expected");
    let text = header.to_str().map_err(|_| wrong())?;
    let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
    let pair = |pair: &str| {
        let (key, value) = pair.split_once('=').ok_or_else(wrong)?;
        Ok((key.to_string(), SecretString::new(value)))
    };
    pairs.map(pair).collect()
}

/// Carries out a write to its end, also if the client does not wait for it: storage providers and servers would
/// disagree.
async fn to_the_end<T: Send + 'static>(
    work: impl Future<Output = Result<T, encamp_server::error::Error>> + Send + 'static,
) -> Result<T, Error> {
    let done = tokio::spawn(work).await.map_err(|e| Error::internal(e.to_string()))?;
    Ok(done?)
}

#[null_is_default]
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct CsiBody {
    volumes: Vec<CsiVolume>,
}

/// The volumes of a request, which may be in namespaces other than the request's.
async fn csi_body(request: &mut Request) -> Result<Vec<CsiVolume>, Error> {
    request.check_region()?;
    let namespace = request.namespace();
    request.authorize_in(&namespace)?;
    let body: CsiBody = request.json().await?;
    for volume in body.volumes.iter().filter(|v| !v.namespace.is_empty() && v.namespace != namespace) {
        request.authorize_in(&volume.namespace)?;
    }
    Ok(body.volumes)
}

pub(crate) async fn register(mut request: Request) -> Outcome {
    let volumes = csi_body(&mut request).await?;
    let (server, namespace) = (request.server()?.clone(), request.namespace());
    let index = to_the_end(async move { endpoint::register(&server, &namespace, volumes).await }).await?;
    Ok(Response::json(&json!({ "Index": index }))?.index(index))
}

pub(crate) async fn create(mut request: Request) -> Outcome {
    let volumes = csi_body(&mut request).await?;
    let (server, namespace) = (request.server()?.clone(), request.namespace());
    let made = to_the_end(async move { endpoint::create(&server, &namespace, volumes).await });
    let (volumes, index) = made.await?;
    let volumes: Vec<CsiVolume> = volumes.iter().map(shown).collect();
    Ok(Response::json(&json!({ "Volumes": volumes, "Index": index }))?.index(index))
}

/// A path below a CSI volume that leads nowhere.
pub(crate) async fn nothing(_: Request) -> Outcome {
    Err(Error::not_found("resource not found"))
}

pub(crate) async fn deregister(request: Request) -> Outcome {
    let force = request.query().get("force");
    if !force.is_empty() && parse_bool(force).is_err() {
        return Err(Error::bad("invalid force value"));
    }
    let force = parse_bool(force).unwrap_or(false);
    csi_write(&request).await?;
    let index = endpoint::deregister(request.server()?, &request.namespace(), request.id(), force).await?;
    Ok(Response::empty().index(index))
}

pub(crate) async fn delete(request: Request) -> Outcome {
    csi_write(&request).await?;
    let secrets = secrets_of(&request)?;
    let (server, namespace, id) = (request.server()?.clone(), request.namespace(), request.id().to_string());
    let index = to_the_end(async move { endpoint::delete(&server, &namespace, &id, secrets).await }).await?;
    Ok(Response::empty().index(index))
}

pub(crate) async fn detach(request: Request) -> Outcome {
    let node = request.query().get("node").to_string();
    if node.is_empty() {
        return Err(Error::bad("detach requires node ID"));
    }
    csi_write(&request).await?;
    let (server, namespace, id) = (request.server()?.clone(), request.namespace(), request.id().to_string());
    to_the_end(async move { endpoint::detach(&server, &namespace, &id, &node).await }).await?;
    Ok(Response::empty())
}

async fn csi_write(request: &Request) -> Result<(), Error> {
    request.check_region()?;
    request.authorize_in(&request.namespace())?;
    Ok(request.server()?.wait_ready().await?)
}

/// The shown form of a volume: without secrets, claims and mount flags (`docs/spec/snapshot-archive.md §9`).
pub(crate) fn shown(v: &CsiVolume) -> CsiVolume {
    let mut v = v.clone();
    v.redact();
    v.read_claims.clear();
    v.write_claims.clear();
    v.past_claims.clear();
    v
}

/// A volume with the allocations that claim it.
fn detailed(state: &State, volume: &CsiVolume) -> CsiVolume {
    let ids: std::collections::BTreeSet<&String> = volume.claiming().collect();
    let allocs = ids.into_iter().filter_map(|id| state.alloc(id));
    let allocations = allocs.map(|entry| alloc::listed(&entry.alloc, false, true)).collect();
    CsiVolume { allocations, ..shown(volume) }
}

pub(crate) async fn read(request: Request) -> Outcome {
    let id = request.id();
    let options = request.read_options()?;
    request.authorize_in(&options.namespace)?;
    let read = request.blocking(&options, vec![WatchKey::Table(Table::CsiVolumes)], |store| {
        let volume = store.state().csi_volume(&options.namespace, id).map(|v| detailed(store.state(), v));
        Ok((volume.as_ref().map_or(store.index_of(Table::CsiVolumes), |v| v.modify_index), volume))
    });
    let (volume, meta) = found(read.await?, "volume not found")?;
    Ok(Response::json(&volume)?.meta(&meta))
}

pub(crate) async fn plugins(request: Request) -> Outcome {
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

pub(crate) async fn plugin(request: Request) -> Outcome {
    let options = request.read_options()?;
    let id = request.rest();
    let read = request.blocking(&options, vec![WatchKey::Table(Table::CsiPlugins)], |store| {
        let plugin = store.csi_plugin(id).cloned();
        Ok((plugin.as_ref().map_or(store.index_of(Table::CsiPlugins), |p| p.modify_index), plugin))
    });
    let (plugin, meta) = found(read.await?, "plugin not found")?;
    Ok(Response::json(&*plugin)?.meta(&meta))
}
