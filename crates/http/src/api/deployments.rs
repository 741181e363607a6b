//! Deployments (`docs/spec/http-api.md §5.7`).

use std::sync::Arc;

use crate::error::Error;
use crate::request::blocking_read::found;
use crate::request::filter::Filter;
use crate::request::page::{Order, Pager};
use crate::request::response::{Outcome, Response};
use crate::request::{Request, ids};
use encamp_model::requests::*;
use encamp_model::responses::*;
use encamp_model::*;
use encamp_server::Server;
use encamp_server::endpoints::{alloc, deployment as endpoint};
use encamp_server::storage::watch::WatchKey;
use encamp_state::{StateStore, Table};

pub(crate) async fn list(request: Request) -> Outcome {
    let options = request.read_options()?;
    let seen = request.authorize_in(&options.namespace)?;
    let prefix = ids::prefix("deployment", &options.prefix)?;
    let pager = Pager::new(&options)?;
    let matches = |f: &Filter, d: &Arc<Deployment>| f.matches("Deployment", &**d);
    let keys = vec![WatchKey::Table(Table::Deployment)];
    let read = |store: &StateStore| {
        let wanted = |d: &&Arc<Deployment>| seen.in_namespace(&d.namespace) && d.id.starts_with(&prefix);
        let page = if prefix.is_empty() {
            let rows = store.deployments_by_create().filter(wanted).cloned();
            pager.page(Order::Indexed, rows, |d| format!("{}.{}", d.create_index, d.id), matches, |_| true)?
        } else {
            let rows = store.state().deployments().filter(wanted).cloned();
            pager.page(Order::Text, rows, |d| d.id.clone(), matches, |_| true)?
        };
        Ok((store.index_of(Table::Deployment), page))
    };
    let (page, meta) = request.blocking(&options, keys, read).await?;
    Ok(Response::json(&page.rows)?.meta(&meta).next_token(page.next.as_deref()))
}

pub(crate) async fn one(request: Request) -> Outcome {
    let options = request.read_options()?;
    let id = ids::full("deployment", request.rest())?;
    let keys = vec![WatchKey::Row(Table::Deployment, id.clone())];
    let read = |store: &StateStore| {
        let d = store.state().deployment(&id).cloned();
        Ok((d.as_ref().map_or_else(|| store.index_of(Table::Deployment), |d| d.modify_index), d))
    };
    let (d, meta) = found(request.blocking(&options, keys, read).await?, "deployment not found")?;
    request.authorize_in(&d.namespace)?;
    Ok(Response::json(&*d)?.meta(&meta))
}

pub(crate) async fn allocations(request: Request) -> Outcome {
    let options = request.read_options()?;
    let id = ids::full("alloc", request.rest())?;
    let keys = vec![WatchKey::OfDeployment(id.clone())];
    let read = |store: &StateStore| {
        let namespace = store.state().deployment(&id).map(|d| d.namespace.clone());
        let stubs: Vec<AllocListStub> =
            store.allocs_of_deployment(&id).map(|a| alloc::listed(&a.alloc, false, true)).collect();
        Ok((store.index_of(Table::Allocs), (namespace, stubs)))
    };
    let ((namespace, stubs), meta) = request.blocking(&options, keys, read).await?;
    if let Some(n) = namespace {
        request.authorize_in(&n)?;
    }
    Ok(Response::json(&stubs)?.meta(&meta))
}

/// Begins a write: the ID of the path, after the body's was compared with it.
fn begin<'r>(request: &'r Request, sent: Option<&str>) -> Result<(&'r Server, String), Error> {
    request.check_region()?;
    let id = request.rest();
    if id.is_empty() || sent == Some("") {
        return Err(Error::bad("DeploymentID must be specified"));
    }
    if sent.is_some_and(|s| s != id) {
        return Err(Error::bad("Deployment ID does not match"));
    }
    let id = ids::full("deployment", id)?;
    let server = request.server()?;
    if let Some(d) = server.snapshot().state().deployment(&id) {
        request.authorize_in(&d.namespace)?;
    }
    Ok((server, id))
}

fn answer(done: &DeploymentUpdateResponse) -> Outcome {
    Ok(Response::json(done)?.index(done.index))
}

pub(crate) async fn pause(mut request: Request) -> Outcome {
    let body: DeploymentPauseRequest = request.json().await?;
    let (server, id) = begin(&request, Some(&body.deployment_id))?;
    answer(&endpoint::pause(server, &id, body.pause).await?)
}

pub(crate) async fn promote(mut request: Request) -> Outcome {
    let body: DeploymentPromoteRequest = request.json().await?;
    let (server, id) = begin(&request, Some(&body.deployment_id))?;
    answer(&endpoint::promote(server, &id, (!body.all).then_some(body.groups)).await?)
}

pub(crate) async fn fail(request: Request) -> Outcome {
    let (server, id) = begin(&request, None)?;
    answer(&endpoint::fail(server, &id).await?)
}

pub(crate) async fn unblock(mut request: Request) -> Outcome {
    let body: DeploymentRequest = request.json().await?;
    let (server, id) = begin(&request, Some(&body.deployment_id))?;
    answer(&endpoint::unblock(server, &id).await?)
}

pub(crate) async fn health(mut request: Request) -> Outcome {
    let body: DeploymentAllocHealthRequest = request.json().await?;
    let (server, id) = begin(&request, Some(&body.deployment_id))?;
    answer(&endpoint::set_health(server, &id, body.healthy_allocation_ids, body.unhealthy_allocation_ids).await?)
}
