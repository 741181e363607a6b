//! Services that allocations register with the cluster.

use axum::http::Method;
use encamp_acl::Capability;
use encamp_model::records::ServiceRegistration;
use maud::{Markup, html};
use serde_json::Value;

use super::Done;
use super::data::answers;
use super::routes::{Routes, handler};
use crate::error::PageError;
use crate::layout::{Area, Page};
use crate::parts::listing::{self, Request};
use crate::parts::table::Table;
use crate::parts::{form, link};
use crate::visit::{Visit, encoded, path};

pub(crate) const ROUTES: Routes = Routes {
    pages: &[("/ui/services", handler!(list)), ("/ui/services/{service}", handler!(service))],
    actions: &[("/ui/services/{service}/{id}/delete", handler!(delete))],
    streams: &[],
};

answers! {
    /// The services of a namespace.
    OfNamespace {
        namespace: String,
        services: Vec<Named>,
    }
    /// A service.
    Named {
        service_name: String,
        tags: Vec<String>,
    }
}

fn address(namespace: &str, name: &str) -> String {
    format!("/ui/services/{}@{}", encoded(name), encoded(namespace))
}

/// `/ui/services`
async fn list(visit: &Visit) -> Result<Page, PageError> {
    let all: Vec<OfNamespace> = visit.read("/v1/services", &[("namespace", visit.namespace())]).await?;
    let wanted = visit.parameter("name").unwrap_or_default();
    let empty = html! { "No services. Jobs register them with a " code { "service" } " block and " code { "provider = \"nomad\"" } "." };
    let mut table = Table::new("Services", &["Name", "Namespace", "Tags"], empty);
    for of in &all {
        for service in of.services.iter().filter(|s| s.service_name.contains(wanted)) {
            table.row([
                html! { a href=(address(&of.namespace, &service.service_name)) { (service.service_name) } },
                html! { (of.namespace) },
                tags(&service.tags),
            ]);
        }
    }
    let fields = html! {
        (form::text("name", "Name contains", wanted, ""))
        (listing::namespaces(visit).await)
    };
    let body = html! { (form::filter(visit, &fields)) (table.markup()) };
    Ok(Page::new(Area::Services, "Services", body).follows(["Service:*"]))
}

fn tags(tags: &[String]) -> Markup {
    html! { @for tag in tags { code { (tag) } " " } }
}

/// `/ui/services/{service}`
async fn service(visit: &Visit) -> Result<Page, PageError> {
    let (name, namespace) = link::split(visit.name("service"));
    let at = path("/v1/service/", name, "");
    let found = Request::new(visit, &at).in_namespace(namespace).read::<ServiceRegistration>().await?;
    let empty = html! { "No allocation registers this service now." };
    let mut table =
        Table::new("Registrations", &["Address", "Job", "Allocation", "Client", "Datacenter", "Tags", "Action"], empty);
    let deletes = visit.offers_in(namespace, &[Capability::SubmitJob, Capability::DeleteServiceRegistration]);
    for row in &found.rows {
        let to = format!("{}/{}/delete", address(namespace, name), encoded(&row.id));
        table.row([
            html! { code { (row.address) @if row.port > 0 { ":" (row.port) } } },
            link::job(&row.namespace, &row.job_id),
            link::allocation(&row.alloc_id),
            link::client(&row.node_id, ""),
            html! { (row.datacenter) },
            tags(&row.tags),
            html! { @if deletes { (form::button(visit, &to, "Delete", Some("Delete this registration?"))) } },
        ]);
    }
    let body = found.markup(visit, &table);
    Ok(Page::new(Area::Services, name, body).below("Services", "/ui/services").follows([format!("Service:{name}")]))
}

async fn delete(visit: &Visit) -> Result<Done, PageError> {
    let (name, namespace) = link::split(visit.name("service"));
    let at = format!("{}/{}", path("/v1/service/", name, ""), encoded(visit.name("id")));
    let _: Value = visit.write(Method::DELETE, &at, &[("namespace", namespace)], &Value::Null).await?;
    Ok(Done::new(address(namespace, name), "The registration is deleted."))
}
