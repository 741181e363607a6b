//! Namespaces (`docs/spec/http-api.md §5.9`).

use std::sync::Arc;

use super::access::Need;
use super::error::Error;
use super::request::{Request, found};
use super::response::Response;
use super::route::{Outcome, Route, route};
use encamp_model::Namespace;
use encamp_server::endpoints::namespace;
use encamp_server::storage::watch::WatchKey;
use encamp_state::Table;

/// The routes.
pub const ROUTES: &[Route] =
    &[route!("/v1/namespaces", list), route!("/v1/namespace", create), route!("/v1/namespace/", one)];

async fn list(request: Request) -> Outcome {
    request.only_get()?;
    let options = request.read_options()?;
    let access = request.need(&Need::Nothing)?;
    let keys = vec![WatchKey::Table(Table::Namespaces)];
    let read = request.blocking(&options, keys, |store| {
        let rows = store.state().namespaces().filter(|n| n.name.starts_with(&options.prefix));
        let rows: Vec<Arc<Namespace>> = rows.filter(|n| access.allows(&Need::AnyIn(&n.name))).cloned().collect();
        Ok((store.index_of(Table::Namespaces).max(1), rows))
    });
    let (rows, meta) = read.await?;
    Ok(Response::json(&rows)?.meta(&meta))
}

async fn create(request: Request) -> Outcome {
    request.only_write()?;
    write(request, "").await
}

async fn one(request: Request) -> Outcome {
    let name = request.rest().to_string();
    if name.is_empty() {
        return Err(Error::bad("Missing Namespace Name"));
    }
    if request.is_write() {
        return write(request, &name).await;
    }
    if request.method() == axum::http::Method::DELETE {
        request.check_region()?;
        request.need(&Need::Management)?;
        return Ok(Response::empty().index(namespace::delete(request.server()?, &name).await?));
    }
    request.only_get()?;
    let options = request.read_options()?;
    request.need(&Need::AnyIn(&name))?;
    // Written so seldom that a watch on the table wakes nobody in vain.
    let keys = vec![WatchKey::Table(Table::Namespaces)];
    let read = request.blocking(&options, keys, |store| {
        let ns = store.state().namespace(&name).cloned();
        Ok((ns.as_ref().map_or(store.index_of(Table::Namespaces).max(1), |n| n.modify_index), ns))
    });
    let (ns, meta) = found(read.await?, "Namespace not found")?;
    Ok(Response::json(&*ns)?.meta(&meta))
}

async fn write(mut request: Request, name: &str) -> Outcome {
    request.check_region()?;
    let ns: Namespace = request.json().await?;
    if !name.is_empty() && ns.name != name {
        return Err(Error::bad("Namespace name does not match request path"));
    }
    request.need(&Need::Management)?;
    Ok(Response::empty().index(namespace::upsert(request.server()?, ns).await?))
}
