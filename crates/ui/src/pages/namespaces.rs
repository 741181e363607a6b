//! Namespaces and node pools.

use std::collections::BTreeMap;

use axum::http::Method;
use encamp_acl::{Need, PoolCapability};
use encamp_model::cluster::{Namespace, NodePool};
use encamp_model::responses::NodeListStub;
use maud::{Markup, html};
use serde_json::{Value, json};

use super::Done;
use super::clients::condition_of;
use super::routes::{Routes, handler};
use crate::error::PageError;
use crate::layout::{Area, Page};
use crate::parts::listing::Request;
use crate::parts::table::{Table, facts, values};
use crate::parts::{form, link};
use crate::visit::{Visit, path, with_query};

pub(crate) const ROUTES: Routes = Routes {
    pages: &[
        ("/ui/namespaces", handler!(list)),
        ("/ui/namespaces/{name}", handler!(namespace)),
        ("/ui/pools/{name}", handler!(pool)),
    ],
    actions: &[
        ("/ui/namespaces", handler!(save_namespace)),
        ("/ui/namespaces/{name}/delete", handler!(delete_namespace)),
        ("/ui/pools", handler!(save_pool)),
        ("/ui/pools/{name}/delete", handler!(delete_pool)),
    ],
    streams: &[],
};

/// Pools that every cluster has.
const BUILT_IN_POOLS: [&str; 2] = ["all", "default"];

/// `/ui/namespaces`
async fn list(visit: &Visit) -> Result<Page, PageError> {
    let manage = visit.may_manage();
    let namespaces: Vec<Namespace> = visit.read("/v1/namespaces", &[]).await?;
    let pools = Request::new(visit, "/v1/node/pools").read::<NodePool>().await?;
    let mut table = Table::new(
        "Namespaces",
        &["Name", "Description", "Jobs", "Variables"],
        html! { "No namespaces that your token may see." },
    );
    for row in &namespaces {
        table.row([
            html! { a href=(path("/ui/namespaces/", &row.name, "")) { (row.name) } },
            html! { (row.description) },
            html! { a href=(with_query("/ui/jobs", &[("namespace", &row.name)])) { "Jobs" } },
            html! { a href=(with_query("/ui/variables", &[("namespace", &row.name)])) { "Variables" } },
        ]);
    }
    let mut pool_table = Table::new(
        "Node pools",
        &["Name", "Description", "Scheduler algorithm", "Clients"],
        html! { "No node pools that your token may see." },
    );
    for row in &pools.rows {
        let scheduler = row.scheduler_configuration.as_ref().map_or("", |c| c.scheduler_algorithm.as_str());
        pool_table.row([
            html! { a href=(path("/ui/pools/", &row.name, "")) { (row.name) } },
            html! { (row.description) },
            html! { @if scheduler.is_empty() { "that of the cluster" } @else { (scheduler) } },
            html! { a href=(with_query("/ui/clients", &[("pool", &row.name)])) { "Clients" } },
        ]);
    }
    let body = html! {
        h2 { "Namespaces" } (table.markup()) @if manage { (creation(visit, "New namespace", "/ui/namespaces")) }
        h2 { "Node pools" } (pools.markup(visit, &pool_table)) @if visit.offers(&Need::AnyPool) { (creation(visit, "New node pool", "/ui/pools")) }
    };
    Ok(Page::new(Area::Namespaces, "Namespaces and node pools", body))
}

fn creation(visit: &Visit, title: &str, to: &str) -> Markup {
    html! { details { summary { (title) } (form::action(visit, to, &html! { (form::text("name", "Name", "", "")) (described("", &BTreeMap::new())) })) } }
}

/// Fields of a description and of metadata.
fn described(description: &str, meta: &BTreeMap<String, String>) -> Markup {
    let lines: Vec<String> = meta.iter().map(|(name, value)| format!("{name}={value}")).collect();
    html! {
        (form::text("description", "Description", description, ""))
        label.field { span { "Metadata, a line for each: name=value" } textarea name="meta" rows="3" spellcheck="false" { "\n" (lines.join("\n")) } }
        button type="submit" { "Save" }
    }
}

/// The metadata of the form.
fn meta_of(visit: &Visit) -> Result<BTreeMap<&str, &str>, PageError> {
    let lines = visit.field("meta").unwrap_or_default().lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| {
            line.split_once('=').ok_or_else(|| PageError::Input(format!("This line of the metadata has no =: {line}")))
        })
        .collect()
}

/// `/ui/namespaces/{name}`
async fn namespace(visit: &Visit) -> Result<Page, PageError> {
    let manage = visit.may_manage();
    let name = visit.name("name");
    let found: Option<Namespace> = visit.find(&path("/v1/namespace/", name, ""), &[]).await?;
    let namespace = found.ok_or_else(|| PageError::Missing { kind: "namespace", name: name.to_string() })?;
    let or_any = |list: &[String]| if list.is_empty() { "any".to_string() } else { list.join(", ") };
    let capabilities = namespace.capabilities.clone().unwrap_or_default();
    let pools = namespace.node_pool_configuration.clone().unwrap_or_default();
    let body = html! {
        (facts(&[
            ("Description", html! { (namespace.description) }),
            ("Quota", html! { @if namespace.quota.is_empty() { "none" } @else { (namespace.quota) } }),
            ("Task drivers allowed", html! { (or_any(&capabilities.enabled_task_drivers)) }),
            ("Task drivers forbidden", html! { (capabilities.disabled_task_drivers.join(", ")) }),
            ("Network modes allowed", html! { (or_any(&capabilities.enabled_network_modes)) }),
            ("Default node pool", html! { @if pools.default.is_empty() { "default" } @else { (pools.default) } }),
            ("Node pools allowed", html! { (or_any(&pools.allowed)) }),
        ]))
        (values("Metadata", &namespace.meta))
        @if manage {
            h2 { "Change" }
            (form::action(visit, "/ui/namespaces", &html! { input type="hidden" name="name" value=(name); (described(&namespace.description, &namespace.meta)) }))
            @if name != "default" { (form::button(visit, &path("/ui/namespaces/", name, "/delete"), "Delete", Some("Delete this namespace?"))) }
        }
    };
    Ok(Page::new(Area::Namespaces, name, body).below("Namespaces and node pools", "/ui/namespaces"))
}

/// `/ui/pools/{name}`
async fn pool(visit: &Visit) -> Result<Page, PageError> {
    let name = visit.name("name");
    let found: Option<NodePool> = visit.find(&path("/v1/node/pool/", name, ""), &[]).await?;
    let pool = found.ok_or_else(|| PageError::Missing { kind: "node pool", name: name.to_string() })?;
    let nodes = Request::new(visit, &path("/v1/node/pool/", name, "/nodes")).read::<NodeListStub>().await?;
    let mut table =
        Table::new("Clients", &["Name", "State", "Datacenter", "Class"], html! { "No clients are in this pool." });
    for node in &nodes.rows {
        table.row([
            link::client(&node.id, &node.name),
            condition_of(&node.status, &node.scheduling_eligibility, node.drain),
            html! { (node.datacenter) },
            html! { (node.node_class) },
        ]);
    }
    let scheduler = pool.scheduler_configuration.as_ref();
    let body = html! {
        (facts(&[
            ("Description", html! { (pool.description) }),
            ("Scheduler algorithm", html! { (scheduler.map_or("that of the cluster", |c| c.scheduler_algorithm.as_str())) }),
            ("Topology", html! { a href=(with_query("/ui/topology", &[("group", "pool"), ("only", name)])) { "Picture of its clients" } }),
        ]))
        h2 { "Clients" } (nodes.markup(visit, &table))
        (values("Metadata", &pool.meta))
        @if visit.offers(&Need::Pool(name, PoolCapability::Write)) && !BUILT_IN_POOLS.contains(&name) {
            h2 { "Change" }
            (form::action(visit, "/ui/pools", &html! { input type="hidden" name="name" value=(name); (described(&pool.description, &pool.meta)) }))
        }
        @if visit.offers(&Need::Pool(name, PoolCapability::Delete)) && !BUILT_IN_POOLS.contains(&name) {
            (form::button(visit, &path("/ui/pools/", name, "/delete"), "Delete", Some("Delete this node pool?")))
        }
    };
    let page = Page::new(Area::Namespaces, name, body).below("Namespaces and node pools", "/ui/namespaces");
    Ok(page.follows(["Node:*"]))
}

/// Writes the fields of the form into an object, which keeps what the form does not have.
async fn save(visit: &Visit, read: &str, write: &str) -> Result<Done, PageError> {
    let name = visit.required("name", "The name")?;
    let at = path(read, name, "");
    let mut object: Value = visit.find(&at, &[]).await?.unwrap_or_else(|| json!({ "Name": name }));
    if let Some(fields) = object.as_object_mut() {
        fields.insert("Description".into(), visit.field("description").unwrap_or_default().into());
        fields.insert("Meta".into(), json!(meta_of(visit)?));
    }
    let _: Value = visit.write(Method::PUT, &at, &[], &object).await?;
    Ok(Done::new(path(write, name, ""), "Saved."))
}

async fn save_namespace(visit: &Visit) -> Result<Done, PageError> {
    save(visit, "/v1/namespace/", "/ui/namespaces/").await
}

async fn save_pool(visit: &Visit) -> Result<Done, PageError> {
    save(visit, "/v1/node/pool/", "/ui/pools/").await
}

async fn delete_namespace(visit: &Visit) -> Result<Done, PageError> {
    let at = path("/v1/namespace/", visit.name("name"), "");
    let _: Value = visit.write(Method::DELETE, &at, &[], &Value::Null).await?;
    Ok(Done::new("/ui/namespaces", "The namespace is deleted."))
}

async fn delete_pool(visit: &Visit) -> Result<Done, PageError> {
    let at = path("/v1/node/pool/", visit.name("name"), "");
    let _: Value = visit.write(Method::DELETE, &at, &[], &Value::Null).await?;
    Ok(Done::new("/ui/namespaces", "The node pool is deleted."))
}
