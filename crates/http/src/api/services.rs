//! Registered services (`docs/spec/http-api.md §5.11`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::json;

use crate::error::Error;
use crate::request::Request;
use crate::request::filter::Filter;
use crate::request::page::{Order, Pager};
use crate::request::response::{Outcome, Response};
use encamp_model::ServiceRegistration;
use encamp_server::endpoints::service;
use encamp_server::storage::watch::{WatchKey, row_key};
use encamp_state::Table;

pub(crate) async fn list(request: Request) -> Outcome {
    let options = request.read_options()?;
    // Of all namespaces, only rows that the caller may see are shown.
    let seen = match options.all_namespaces() {
        true => request.seen_in(&options.namespace)?,
        false => request.authorize_in(&options.namespace)?,
    };
    let keys = vec![WatchKey::Table(Table::ServiceRegistrations)];
    let read = request.blocking(&options, keys, |store| {
        let mut services: BTreeMap<String, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
        for s in store.services().filter(|s| seen.in_namespace(&s.namespace)) {
            let tags = services.entry(s.namespace.clone()).or_default().entry(s.service_name.clone()).or_default();
            tags.extend(s.tags.iter().cloned());
        }
        Ok((store.index_of(Table::ServiceRegistrations), services))
    });
    let (services, meta) = read.await?;
    let body: Vec<_> = services
        .into_iter()
        .map(|(namespace, names)| {
            let names: Vec<_> =
                names.into_iter().map(|(name, tags)| json!({ "ServiceName": name, "Tags": tags })).collect();
            json!({ "Namespace": namespace, "Services": names })
        })
        .collect();
    Ok(Response::json(&body)?.meta(&meta))
}

/// The path names no service.
pub(crate) async fn unnamed(_: Request) -> Outcome {
    Err(Error::bad("missing service name"))
}

/// A path with too many parts.
pub(crate) async fn nothing(_: Request) -> Outcome {
    Err(Error::bad("invalid URI"))
}

pub(crate) async fn delete(request: Request) -> Outcome {
    request.check_region()?;
    let namespace = request.namespace();
    request.authorize_in(&namespace)?;
    let index = service::delete(request.server()?, &namespace, request.parameter(1)).await?;
    Ok(Response::empty().index(index))
}

pub(crate) async fn registrations(request: Request) -> Outcome {
    let name = request.id();
    let options = request.read_options()?;
    let seen = request.authorize_in(&options.namespace)?;
    let choose = request.query().get("choose").to_string();
    let pager = Pager::new(&options)?;
    let key = match options.all_namespaces() {
        true => WatchKey::Table(Table::ServiceRegistrations),
        false => WatchKey::Row(Table::ServiceRegistrations, row_key(&options.namespace, name)),
    };
    let read = request.blocking(&options, vec![key], |store| {
        let rows: Vec<Arc<ServiceRegistration>> = if options.all_namespaces() {
            store.services().filter(|s| s.service_name == name).cloned().collect()
        } else {
            store.services_named(&options.namespace, name).cloned().collect()
        };
        let token = |s: &Arc<ServiceRegistration>| format!("{}.{}", s.namespace, s.id);
        let visible = |s: &Arc<ServiceRegistration>| seen.in_namespace(&s.namespace);
        let matches = |f: &Filter, s: &Arc<ServiceRegistration>| f.matches("ServiceRegistration", &**s);
        let mut page = pager.page(Order::Text, rows, token, matches, visible)?;
        if !choose.is_empty() {
            page.rows = service::choose(page.rows, &choose)?;
        }
        Ok((store.index_of(Table::ServiceRegistrations), page))
    });
    let (page, meta) = read.await?;
    Ok(Response::json(&page.rows)?.meta(&meta).next_token(page.next.as_deref()))
}
