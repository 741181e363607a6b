//! Namespaces (`docs/spec/http-api.md §5.9`).

use std::sync::Arc;

use crate::access::right::Need;
use crate::error::Error;
use crate::request::Request;
use crate::request::blocking_read::{found, indexed};
use crate::request::response::{Outcome, Response};
use encamp_model::Namespace;
use encamp_server::endpoints::namespace;
use encamp_server::storage::watch::WatchKey;
use encamp_state::Table;

pub(crate) async fn list(request: Request) -> Outcome {
    let options = request.read_options()?;
    let access = request.authorize()?;
    let keys = vec![WatchKey::Table(Table::Namespaces)];
    let read = request.blocking(&options, keys, |store| {
        let rows = store.state().namespaces().filter(|n| n.name.starts_with(&options.prefix));
        let rows: Vec<Arc<Namespace>> = rows.filter(|n| access.allows(&Need::AnyIn(&n.name))).cloned().collect();
        Ok((store.index_of(Table::Namespaces).max(1), rows))
    });
    let (rows, meta) = read.await?;
    Ok(Response::json(&rows)?.meta(&meta))
}

/// The path names no namespace.
pub(crate) async fn unnamed(_: Request) -> Outcome {
    Err(Error::bad("Missing Namespace Name"))
}

pub(crate) async fn delete(request: Request) -> Outcome {
    Ok(Response::empty().index(namespace::delete(request.server()?, request.rest()).await?))
}

pub(crate) async fn one(request: Request) -> Outcome {
    let name = request.rest().to_string();
    let options = request.read_options()?;
    request.authorize_in(&name)?;
    // Written so seldom that a watch on the table wakes nobody in vain.
    let keys = vec![WatchKey::Table(Table::Namespaces)];
    let read = request.blocking(&options, keys, |store| {
        Ok(indexed(store, Table::Namespaces, store.state().namespace(&name).cloned(), |n| n.modify_index))
    });
    let (ns, meta) = found(read.await?, "Namespace not found")?;
    Ok(Response::json(&*ns)?.meta(&meta))
}

/// Writes a namespace, which is that of the path if it names one.
pub(crate) async fn write(mut request: Request) -> Outcome {
    request.check_region()?;
    let ns: Namespace = request.json().await?;
    request.audit(&ns);
    let name = request.rest();
    if !name.is_empty() && ns.name != name {
        return Err(Error::bad("Namespace name does not match request path"));
    }
    request.authorize()?;
    Ok(Response::empty().index(namespace::upsert(request.server()?, ns).await?))
}
