//! Allocations in the servers' state (`docs/spec/http-api.md §5.4`).

use std::sync::Arc;

use super::client::of_alloc;
use crate::error::Error;
use crate::request::blocking_read::found;
use crate::request::filter::Filter;
use crate::request::page::{Order, Pager};
use crate::request::response::{Outcome, Response};
use crate::request::{Request, ids};
use encamp_model::*;
use encamp_server::endpoints::alloc as endpoint;
use encamp_server::storage::watch::WatchKey;
use encamp_state::{AllocEntry, StateStore, Table};

pub(crate) async fn list(request: Request) -> Outcome {
    let options = request.read_options()?;
    let resources = request.flag("resources")?;
    let task_states = request.query().bool("task_states").map_err(|e| Error::internal(e.to_string()))?.unwrap_or(true);
    let seen = request.authorize_in(&options.namespace)?;
    let prefix = ids::prefix("alloc", &options.prefix)?;
    let pager = Pager::new(&options)?;
    let matches = |f: &Filter, a: &Arc<AllocEntry>| f.matches("Allocation", &*a.alloc);
    let keys = vec![WatchKey::Table(Table::Allocs)];
    let read = |store: &StateStore| {
        let wanted = |a: &&Arc<AllocEntry>| seen.in_namespace(&a.alloc.namespace);
        let page = if prefix.is_empty() {
            let rows = store.allocs_by_create().filter(wanted).cloned();
            let token = |a: &Arc<AllocEntry>| format!("{}.{}", a.alloc.create_index, a.alloc.id);
            pager.page(Order::Indexed, rows, token, matches, |_| true)?
        } else {
            let rows = store.allocs_from(&prefix).take_while(|a| a.alloc.id.starts_with(&prefix));
            pager.page(Order::Text, rows.filter(wanted).cloned(), |a| a.alloc.id.to_string(), matches, |_| true)?
        };
        Ok((store.index_of(Table::Allocs), page))
    };
    let (page, meta) = request.blocking(&options, keys, read).await?;
    let stubs: Vec<AllocListStub> =
        page.rows.iter().map(|a| endpoint::listed(&a.alloc, resources, task_states)).collect();
    Ok(Response::json(&stubs)?.meta(&meta).next_token(page.next.as_deref()))
}

/// A path below an allocation that leads nowhere.
pub(crate) async fn nothing(_: Request) -> Outcome {
    Err(Error::not_found("resource not found"))
}

pub(crate) async fn checks(request: Request, id: String) -> Outcome {
    Response::json(&of_alloc(&request, &id)?.checks(&id).await?)
}

pub(crate) async fn one(request: Request, id: String) -> Outcome {
    let options = request.read_options()?;
    let id = ids::full("alloc", &id)?;
    let keys = vec![WatchKey::Row(Table::Allocs, id.clone())];
    let read = |store: &StateStore| {
        let alloc = store.state().alloc(&id).map(|a| a.alloc.clone());
        Ok((alloc.as_ref().map_or_else(|| store.index_of(Table::Allocs), |a| a.modify_index), alloc))
    };
    let (alloc, meta) = found(request.blocking(&options, keys, read).await?, "alloc not found")?;
    request.authorize_in(&alloc.namespace)?;
    Ok(Response::json(&endpoint::shown(&alloc))?.meta(&meta))
}

pub(crate) async fn stop(request: Request, id: String) -> Outcome {
    request.check_region()?;
    let id = ids::full("alloc", &id)?;
    let (no_shutdown_delay, reschedule) = (request.flag("no_shutdown_delay")?, request.flag("reschedule")?);
    let server = request.server()?;
    if let Some(namespace) = server.snapshot().state().alloc(&id).map(|a| a.alloc.namespace.to_string()) {
        request.authorize_in(&namespace)?;
    }
    let done = endpoint::stop(server, &id, no_shutdown_delay, reschedule).await?;
    Ok(Response::json(&done)?.index(done.index))
}

pub(crate) async fn services(request: Request, id: String) -> Outcome {
    let options = request.read_options()?;
    let id = ids::full("alloc", &id)?;
    let keys = vec![WatchKey::Table(Table::ServiceRegistrations), WatchKey::Row(Table::Allocs, id.clone())];
    let read = |store: &StateStore| {
        let known = store.state().alloc(&id).is_some();
        let services = known.then(|| store.services_of_alloc(&id).cloned().collect::<Vec<_>>());
        Ok((if known { store.index_of(Table::ServiceRegistrations) } else { 0 }, services))
    };
    let (services, meta) = found(request.blocking(&options, keys, read).await?, "allocation not found")?;
    Ok(Response::json(&services)?.meta(&meta))
}
