//! Storage: CSI volumes, dynamic host volumes, claims of task groups, and CSI plugins.

use axum::http::Method;
use encamp_acl::Capability;
use encamp_model::HostVolumeState;
use encamp_model::alloc::AllocListStub;
use encamp_model::volume::{CsiPlugin, CsiVolume, HostVolume, TaskGroupHostVolumeClaim};
use maud::{Markup, html};
use serde_json::Value;

use super::Done;
use super::data::answers;
use super::routes::{Routes, handler};
use crate::error::PageError;
use crate::layout::{Area, Page};
use crate::parts::listing::{Listing, Request};
use crate::parts::state::{Tone, of, state};
use crate::parts::table::{Table, facts, tabs, values};
use crate::parts::{form, link, time};
use crate::visit::{Visit, encoded, path};

pub(crate) const ROUTES: Routes = Routes {
    pages: &[
        ("/ui/storage", handler!(host_volumes)),
        ("/ui/storage/volumes", handler!(host_volumes)),
        ("/ui/storage/volumes/dynamic", handler!(host_volumes)),
        ("/ui/storage/volumes/csi", handler!(csi_volumes)),
        // `encamp ui` links to it.
        ("/ui/storage/volumes/{volume}", handler!(host_volume)),
        ("/ui/storage/volumes/host/{volume}", handler!(host_volume)),
        ("/ui/storage/volumes/dynamic/{volume}", handler!(host_volume)),
        ("/ui/storage/volumes/csi/{volume}", handler!(csi_volume)),
        ("/ui/storage/claims", handler!(claims)),
        ("/ui/storage/plugins", handler!(plugins)),
        ("/ui/storage/plugins/{plugin}", handler!(plugin)),
    ],
    actions: &[
        ("/ui/storage/volumes/host/{volume}/delete", handler!(delete_host)),
        ("/ui/storage/volumes/csi/{volume}/deregister", handler!(deregister_csi)),
        ("/ui/storage/claims/{claim}/delete", handler!(delete_claim)),
    ],
    streams: &[],
};

answers! {
    /// A volume or a plugin in a list.
    Row {
        #[serde(rename = "ID")]
        id: String,
        name: String,
        namespace: String,
        #[serde(rename = "PluginID")]
        plugin_id: String,
        provider: String,
        #[serde(rename = "NodeID")]
        node_id: String,
        node_pool: String,
        state: HostVolumeState,
        capacity_bytes: i64,
        capacity: i64,
        access_mode: String,
        schedulable: bool,
        current_readers: i64,
        current_writers: i64,
        controllers_healthy: i64,
        controllers_expected: i64,
        nodes_healthy: i64,
        nodes_expected: i64,
    }
}

fn address(kind: &str, namespace: &str, id: &str) -> String {
    format!("/ui/storage/volumes/{kind}/{}@{}", encoded(id), encoded(namespace))
}

fn sections(visit: &Visit) -> Markup {
    let list = [
        ("Host volumes", "/ui/storage"),
        ("CSI volumes", "/ui/storage/volumes/csi"),
        ("Claims", "/ui/storage/claims"),
        ("Plugins", "/ui/storage/plugins"),
    ];
    tabs(visit, "Storage", &list.map(|(title, address)| (title, address.to_string())))
}

fn page(visit: &Visit, title: &str, filtered: bool, content: &Markup) -> Page {
    let namespace = form::text("namespace", "Namespace", visit.parameter("namespace").unwrap_or_default(), "*");
    let prefix = form::text("prefix", "ID begins with", visit.parameter("prefix").unwrap_or_default(), "");
    let body = html! {
        (sections(visit))
        @if filtered { (form::filter(visit, &html! { (prefix) (namespace) })) }
        (content)
    };
    Page::new(Area::Storage, title, body).follows(["HostVolume:*", "CSIVolume:*", "CSIPlugin:*"])
}

/// A page of a list of volumes.
async fn rows(visit: &Visit, kind: &str) -> Result<Listing<Row>, PageError> {
    let prefix = visit.parameter("prefix").unwrap_or_default();
    Request::new(visit, "/v1/volumes").with("type", kind).with("prefix", prefix).read().await
}

/// `/ui/storage`
async fn host_volumes(visit: &Visit) -> Result<Page, PageError> {
    let found = rows(visit, "host").await?;
    let empty = html! { "No dynamic host volumes. Create one with " code { "encamp volume create FILE" } ". Host volumes of the configuration of a client are on its page." };
    let columns = ["Name", "Namespace", "State", "Client", "Node pool", "Plugin", "Capacity#"];
    let mut table = Table::new("Host volumes", &columns, empty);
    for row in &found.rows {
        table.row([
            html! { a href=(address("host", &row.namespace, &row.id)) title=(row.id) { (row.name) } },
            html! { (row.namespace) },
            of(&row.state),
            link::client(&row.node_id, ""),
            html! { (row.node_pool) },
            html! { (row.plugin_id) },
            html! { (bytes(row.capacity_bytes)) },
        ]);
    }
    Ok(page(visit, "Host volumes", true, &found.markup(visit, &table)))
}

/// `/ui/storage/volumes/csi`
async fn csi_volumes(visit: &Visit) -> Result<Page, PageError> {
    let found = rows(visit, "csi").await?;
    let columns = ["Name", "Namespace", "State", "Plugin", "Access", "Capacity#", "Readers#", "Writers#"];
    let empty = html! { "No CSI volumes. Register one with " code { "encamp volume register FILE" } "." };
    let mut table = Table::new("CSI volumes", &columns, empty);
    for row in &found.rows {
        let name = if row.name.is_empty() { &row.id } else { &row.name };
        table.row([
            html! { a href=(address("csi", &row.namespace, &row.id)) title=(row.id) { (name) } },
            html! { (row.namespace) },
            schedulable(row.schedulable),
            plugin_link(&row.plugin_id),
            html! { (row.access_mode) },
            html! { (bytes(row.capacity)) },
            html! { (row.current_readers) },
            html! { (row.current_writers) },
        ]);
    }
    Ok(page(visit, "CSI volumes", true, &found.markup(visit, &table)))
}

/// `/ui/storage/claims`
async fn claims(visit: &Visit) -> Result<Page, PageError> {
    let found = Request::new(visit, "/v1/volumes/claims").read::<TaskGroupHostVolumeClaim>().await?;
    let empty =
        html! { "No claims. Task groups with " code { "sticky = true" } " claim a host volume when they are placed." };
    let mut table = Table::new("Claims", &["Volume", "Namespace", "Job", "Task group", "Allocation", "Action"], empty);
    for row in &found.rows {
        let to = path("/ui/storage/claims/", &row.id, "/delete");
        table.row([
            html! { a href=(address("host", &row.namespace, &row.volume_id)) { (row.volume_name) } },
            html! { (row.namespace) },
            link::job(&row.namespace, &row.job_id),
            html! { (row.task_group_name) },
            link::allocation(&row.alloc_id),
            html! { @if visit.offers_in(&row.namespace, &[Capability::HostVolumeDelete]) { (form::button(visit, &to, "Delete", Some("The task group loses its volume when it is placed again. Delete the claim?"))) } },
        ]);
    }
    Ok(page(visit, "Claims", false, &found.markup(visit, &table)))
}

/// `/ui/storage/plugins`
async fn plugins(visit: &Visit) -> Result<Page, PageError> {
    let rows: Vec<Row> = visit.read("/v1/plugins", &[("type", "csi")]).await?;
    let empty = html! { "No CSI plugins. A job with a " code { "csi_plugin" } " block runs one." };
    let mut table = Table::new("Plugins", &["ID", "Provider", "Controllers", "Nodes"], empty);
    for row in &rows {
        table.row([
            plugin_link(&row.id),
            html! { (row.provider) },
            healthy(row.controllers_healthy, row.controllers_expected),
            healthy(row.nodes_healthy, row.nodes_expected),
        ]);
    }
    Ok(page(visit, "Storage plugins", false, &table.markup()))
}

/// `/ui/storage/volumes/host/{volume}`
async fn host_volume(visit: &Visit) -> Result<Page, PageError> {
    let (id, namespace) = link::split(visit.name("volume"));
    let volume: Option<HostVolume> = visit.find(&path("/v1/volume/host/", id, ""), &[("namespace", namespace)]).await?;
    let volume = volume.ok_or_else(|| PageError::Missing { kind: "host volume", name: id.to_string() })?;
    let modes =
        volume.requested_capabilities.iter().map(|c| format!("{} {}", c.access_mode.as_str(), c.attachment_mode));
    let deletion = format!("{}/delete", address("host", namespace, id));
    let body = html! {
        (facts(&[
            ("State", of(&volume.state)),
            ("ID", html! { code { (volume.id) } }),
            ("Namespace", html! { (volume.namespace) }),
            ("Client", link::client(&volume.node_id, "")),
            ("Node pool", html! { (volume.node_pool) }),
            ("Plugin", html! { (volume.plugin_id) }),
            ("Path", html! { code { (volume.host_path) } }),
            ("Capacity", html! { (bytes(volume.capacity_bytes)) ", requested " (bytes(volume.requested_capacity_min_bytes)) " to " (bytes(volume.requested_capacity_max_bytes)) }),
            ("Capabilities", html! { (modes.collect::<Vec<_>>().join(", ")) }),
            ("Created", time::moment(visit, volume.create_time)),
            ("Changed", time::moment(visit, volume.modify_time)),
        ]))
        @if visit.offers_in(&volume.namespace, &[Capability::HostVolumeDelete]) { div.actions { (form::button(visit, &deletion, "Delete", Some("Delete this volume and its data?"))) } }
        h2 { "Allocations" } (allocations(visit, &volume.allocations))
        @if !volume.constraints.is_empty() { h2 { "Constraints" } ul { @for c in &volume.constraints { li { code { (c.ltarget) " " (c.operand.as_str()) " " (c.rtarget) } } } } }
        (values("Parameters", &volume.parameters))
    };
    let page = Page::new(Area::Storage, volume.name.clone(), body).below("Host volumes", "/ui/storage");
    Ok(page.follows([format!("HostVolume:{id}")]))
}

/// `/ui/storage/volumes/csi/{volume}`
async fn csi_volume(visit: &Visit) -> Result<Page, PageError> {
    let (id, namespace) = link::split(visit.name("volume"));
    let volume: Option<CsiVolume> = visit.find(&path("/v1/volume/csi/", id, ""), &[("namespace", namespace)]).await?;
    let volume = volume.ok_or_else(|| PageError::Missing { kind: "CSI volume", name: id.to_string() })?;
    let deregister = format!("{}/deregister", address("csi", namespace, id));
    let body = html! {
        (facts(&[
            ("State", schedulable(volume.schedulable)),
            ("ID", html! { code { (volume.id) } }),
            ("External ID", html! { code { (volume.external_id) } }),
            ("Namespace", html! { (volume.namespace) }),
            ("Plugin", plugin_link(&volume.plugin_id)),
            ("Provider", html! { (volume.provider) " " (volume.provider_version) }),
            ("Access", html! { (volume.access_mode.as_str()) " " (volume.attachment_mode) }),
            ("Capacity", html! { (bytes(volume.capacity)) }),
            ("Controllers", healthy(volume.controllers_healthy, volume.controllers_expected)),
            ("Nodes", healthy(volume.nodes_healthy, volume.nodes_expected)),
        ]))
        @if visit.offers_in(&volume.namespace, &[Capability::CsiWriteVolume]) { div.actions { (form::button(visit, &deregister, "Deregister", Some("Deregister this volume? Its data stays."))) } }
        h2 { "Allocations" } (allocations(visit, &volume.allocations))
        (values("Parameters", &volume.parameters))
        (values("Context", &volume.context))
    };
    let name = if volume.name.is_empty() { id } else { &volume.name };
    let page = Page::new(Area::Storage, name, body).below("CSI volumes", "/ui/storage/volumes/csi");
    Ok(page.follows([format!("CSIVolume:{id}")]))
}

/// `/ui/storage/plugins/{plugin}`
async fn plugin(visit: &Visit) -> Result<Page, PageError> {
    let id = visit.name("plugin");
    let plugin: Option<CsiPlugin> = visit.find(&path("/v1/plugin/csi/", id, ""), &[]).await?;
    let plugin = plugin.ok_or_else(|| PageError::Missing { kind: "plugin", name: id.to_string() })?;
    let mut clients =
        Table::new("Instances", &["Client", "Part", "Allocation", "State"], html! { "No client runs it." });
    let parts = [("controller", &plugin.controllers), ("node", &plugin.nodes)];
    for (part, (node, info)) in parts.iter().flat_map(|(part, map)| map.iter().map(move |entry| (*part, entry))) {
        let (tone, word) = if info.healthy { (Tone::Good, "healthy") } else { (Tone::Bad, "unhealthy") };
        clients.row([
            link::client(node, ""),
            html! { (part) },
            link::allocation(&info.alloc_id),
            html! { (state(tone, word)) " " (info.health_description) },
        ]);
    }
    let body = html! {
        (facts(&[
            ("Provider", html! { (plugin.provider) " " (plugin.version) }),
            ("Controllers", healthy(plugin.controllers_healthy, plugin.controllers_expected)),
            ("Nodes", healthy(plugin.nodes_healthy, plugin.nodes_expected)),
        ]))
        h2 { "Instances" } (clients.markup())
        h2 { "Allocations" } (allocations(visit, &plugin.allocations))
    };
    let page = Page::new(Area::Storage, id, body).below("Plugins", "/ui/storage/plugins");
    Ok(page.follows([format!("CSIPlugin:{id}")]))
}

async fn delete_host(visit: &Visit) -> Result<Done, PageError> {
    let (id, namespace) = link::split(visit.name("volume"));
    remove(visit, &path("/v1/volume/host/", id, ""), namespace).await?;
    Ok(Done::new("/ui/storage", "The volume is deleted."))
}

async fn deregister_csi(visit: &Visit) -> Result<Done, PageError> {
    let (id, namespace) = link::split(visit.name("volume"));
    remove(visit, &path("/v1/volume/csi/", id, ""), namespace).await?;
    Ok(Done::new("/ui/storage/volumes/csi", "The volume is deregistered."))
}

async fn delete_claim(visit: &Visit) -> Result<Done, PageError> {
    remove(visit, &path("/v1/volumes/claim/", visit.name("claim"), ""), "*").await?;
    Ok(Done::new("/ui/storage/claims", "The claim is deleted."))
}

async fn remove(visit: &Visit, at: &str, namespace: &str) -> Result<(), PageError> {
    let _: Value = visit.write(Method::DELETE, at, &[("namespace", namespace)], &Value::Null).await?;
    Ok(())
}

fn allocations(visit: &Visit, rows: &[AllocListStub]) -> Markup {
    let mut table =
        Table::new("Allocations", &["ID", "Name", "Job", "Client", "Status", "Changed"], html! { "No allocations." });
    for row in rows {
        table.row([
            link::allocation(&row.id),
            html! { (*row.name) },
            link::job(&row.namespace, &row.job_id),
            link::client(&row.node_id, &row.node_name),
            of(&row.client_status),
            time::moment(visit, row.modify_time),
        ]);
    }
    table.markup()
}

fn plugin_link(id: &str) -> Markup {
    html! { @if id.is_empty() { "-" } @else { a href=(path("/ui/storage/plugins/", id, "")) { (id) } } }
}

fn schedulable(yes: bool) -> Markup {
    if yes { state(Tone::Good, "schedulable") } else { state(Tone::Bad, "unschedulable") }
}

fn healthy(healthy: i64, expected: i64) -> Markup {
    let tone = if expected == 0 {
        Tone::Neutral
    } else if healthy < expected {
        Tone::Bad
    } else {
        Tone::Good
    };
    state(tone, &format!("{healthy} of {expected} healthy"))
}

/// A size in the largest unit in which it is a whole number or at least 10.
fn bytes(count: i64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let (mut size, mut unit) = (count, 0);
    while unit + 1 < units.len() && (size >= 10 << 10 || (size > 0 && size % 1024 == 0)) {
        size /= 1024;
        unit += 1;
    }
    if count <= 0 { "-".into() } else { format!("{size} {}", units.get(unit).copied().unwrap_or_default()) }
}
