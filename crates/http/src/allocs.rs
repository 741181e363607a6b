//! Allocations in the servers' state (`docs/spec/http-api.md §5.4`).

use std::sync::Arc;

use super::access::Need;
use super::error::Error;
use super::filter::Filter;
use super::ids;
use super::page::{Order, Pager};
use super::request::{Request, found};
use super::response::Response;
use super::route::{Outcome, Route, route};
use encamp_model::*;
use encamp_server::endpoints::alloc as endpoint;
use encamp_server::storage::watch::WatchKey;
use encamp_state::{AllocEntry, StateStore, Table};

/// The routes.
pub const ROUTES: &[Route] = &[route!("/v1/allocations", list), route!("/v1/allocation/", allocation)];

const READ: &[&str] = &["read-job"];

async fn list(request: Request) -> Outcome {
    request.only_get()?;
    let options = request.read_options()?;
    let resources = request.flag("resources")?;
    let task_states = request.query().bool("task_states").map_err(|e| Error::internal(e.to_string()))?.unwrap_or(true);
    request.need(&Need::Namespace(&options.namespace, READ))?;
    let prefix = ids::prefix("alloc", &options.prefix)?;
    let pager = Pager::new(&options)?;
    let matches = |f: &Filter, a: &Arc<AllocEntry>| f.matches("Allocation", &*a.alloc);
    let keys = vec![WatchKey::Table(Table::Allocs)];
    let read = |store: &StateStore| {
        let wanted = |a: &&Arc<AllocEntry>| options.in_namespace(&a.alloc.namespace);
        let page = if prefix.is_empty() {
            let rows = store.allocs_by_create().filter(wanted).cloned();
            let token = |a: &Arc<AllocEntry>| format!("{}.{}", a.alloc.create_index, a.alloc.id);
            pager.page(Order::Indexed, rows, token, matches, |_| true)?
        } else {
            let rows = store.allocs_from(&prefix).take_while(|a| a.alloc.id.starts_with(&prefix));
            pager.page(Order::Text, rows.filter(wanted).cloned(), |a| a.alloc.id.clone(), matches, |_| true)?
        };
        Ok((store.index_of(Table::Allocs), page))
    };
    let (page, meta) = request.blocking(&options, keys, read).await?;
    let stubs: Vec<AllocListStub> =
        page.rows.iter().map(|a| endpoint::listed(&a.alloc, resources, task_states)).collect();
    Ok(Response::json(&stubs)?.meta(&meta).next_token(page.next.as_deref()))
}

async fn allocation(request: Request) -> Outcome {
    let rest = request.rest().to_string();
    let parts: Vec<&str> = rest.split('/').collect();
    match parts.as_slice() {
        [id] => one(request, id).await,
        [id, "stop"] => stop(request, id).await,
        [id, "services"] => services(request, id).await,
        [id, "checks"] => super::client::checks(&request, id).await,
        _ => Err(Error::not_found("resource not found")),
    }
}

async fn one(request: Request, id: &str) -> Outcome {
    request.only_get()?;
    let options = request.read_options()?;
    ids::check("alloc", id)?;
    let keys = vec![WatchKey::Row(Table::Allocs, id.to_string())];
    let read = |store: &StateStore| {
        let alloc = store.state().alloc(id).map(|a| a.alloc.clone());
        Ok((alloc.as_ref().map_or_else(|| store.index_of(Table::Allocs), |a| a.modify_index), alloc))
    };
    let (alloc, meta) = found(request.blocking(&options, keys, read).await?, "alloc not found")?;
    request.need(&Need::Namespace(&alloc.namespace, READ))?;
    Ok(Response::json(&endpoint::shown(&alloc))?.meta(&meta))
}

async fn stop(request: Request, id: &str) -> Outcome {
    request.only_write()?;
    request.check_region()?;
    ids::check("alloc", id)?;
    let (no_shutdown_delay, reschedule) = (request.flag("no_shutdown_delay")?, request.flag("reschedule")?);
    let server = request.server()?;
    if let Some(namespace) = server.snapshot().state().alloc(id).map(|a| a.alloc.namespace.clone()) {
        request.need(&Need::Namespace(&namespace, &["alloc-lifecycle"]))?;
    }
    let done = endpoint::stop(server, id, no_shutdown_delay, reschedule).await?;
    Ok(Response::json(&done)?.index(done.index))
}

async fn services(request: Request, id: &str) -> Outcome {
    request.only_get()?;
    let options = request.read_options()?;
    request.need(&Need::Namespace(&options.namespace, READ))?;
    ids::check("alloc", id)?;
    let keys = vec![WatchKey::Table(Table::ServiceRegistrations), WatchKey::Row(Table::Allocs, id.to_string())];
    let read = |store: &StateStore| {
        let known = store.state().alloc(id).is_some();
        let services = known.then(|| store.services_of_alloc(id).cloned().collect::<Vec<_>>());
        Ok((if known { store.index_of(Table::ServiceRegistrations) } else { 0 }, services))
    };
    let (services, meta) = found(request.blocking(&options, keys, read).await?, "allocation not found")?;
    Ok(Response::json(&services)?.meta(&meta))
}
