//! Node pools (`docs/spec/http-api.md §5.8`).

use std::sync::Arc;

use serde::Deserialize;

use super::nodes;
use crate::access::audited::{Audited, NamesObjects};
use crate::access::right::{Capability, Need, PoolCapability};
use crate::error::Error;
use crate::request::Request;
use crate::request::blocking_read::{found, indexed};
use crate::request::json::duration_or_text;
use crate::request::page::{Order, Pager};
use crate::request::response::{Outcome, Response};
use encamp_model::json::or_default;
use encamp_model::responses::JobListStub;
use encamp_model::*;
use encamp_server::endpoints::pool;
use encamp_server::storage::watch::WatchKey;
use encamp_state::Table;

/// Pools of clusters that were made before identities had a time to live.
fn shown(p: &Arc<NodePool>) -> Arc<NodePool> {
    if p.node_identity_ttl != 0 {
        return p.clone();
    }
    Arc::new(NodePool { node_identity_ttl: pool::IDENTITY_TTL, ..NodePool::clone(p) })
}

pub(crate) async fn list(request: Request) -> Outcome {
    let options = request.read_options()?;
    let access = request.authorize()?;
    let pager = Pager::new(&options)?;
    let keys = vec![WatchKey::Table(Table::NodePools)];
    let read = request.blocking(&options, keys, |store| {
        let rows = store.state().node_pools().filter(|p| p.name.starts_with(&options.prefix)).map(shown);
        let visible = |p: &Arc<NodePool>| access.allows(&Need::Pool(&p.name, PoolCapability::Read));
        let page = pager.page(Order::Text, rows, |p| p.name.clone(), |f, p| f.matches("NodePool", &**p), visible)?;
        Ok((store.index_of(Table::NodePools).max(1), page))
    });
    let (page, meta) = read.await?;
    Ok(Response::json(&page.rows)?.meta(&meta).next_token(page.next.as_deref()))
}

pub(crate) async fn delete(request: Request) -> Outcome {
    request.check_region()?;
    request.authorize_pool(request.rest())?;
    let index = pool::delete(request.server()?, request.rest()).await?;
    Ok(Response::empty().index(index))
}

pub(crate) async fn one(request: Request) -> Outcome {
    let rest = request.rest().to_string();
    let options = request.read_options()?;
    request.authorize_pool(&rest)?;
    let keys = vec![WatchKey::Row(Table::NodePools, rest.clone())];
    let read = request.blocking(&options, keys, |store| {
        Ok(indexed(store, Table::NodePools, store.state().node_pool(&rest).map(shown), |p| p.modify_index))
    });
    let (pool, meta) = found(read.await?, "node pool not found")?;
    Ok(Response::json(&*pool)?.meta(&meta))
}

/// A pool's lists are not searched by prefix.
///
/// # Errors
/// 400.
fn no_prefix(request: &Request) -> Result<(), Error> {
    let given = !request.query().get("prefix").is_empty();
    if given { Err(Error::bad("prefix argument not allowed")) } else { Ok(()) }
}

pub(crate) async fn nodes_of(request: Request, pool: String) -> Outcome {
    let options = request.read_options()?;
    no_prefix(&request)?;
    request.authorize_pool(&pool)?;
    nodes::of_pool(&request, &options, &pool).await
}

pub(crate) async fn jobs_of(request: Request, pool: String) -> Outcome {
    let options = request.read_options()?;
    no_prefix(&request)?;
    let with_meta = request.flag("meta")?;
    let access = request.authorize_pool(&pool)?;
    let pager = Pager::new(&options)?;
    let keys = vec![WatchKey::Table(Table::Jobs), WatchKey::Table(Table::JobSummary)];
    let read = request.blocking(&options, keys, |store| {
        let fits = |j: &Arc<Job>| j.node_pool == pool && options.in_namespace(&j.namespace);
        let token = |j: &Arc<Job>| format!("{}.{}", j.namespace, j.id);
        let mut rows: Vec<_> = store.state().jobs().map(|j| j.current.clone()).filter(fits).collect();
        if options.all_namespaces() {
            rows.sort_by_cached_key(token);
        }
        let visible = |j: &Arc<Job>| access.allows(&Need::Namespace(&j.namespace, &[Capability::ListJobs]));
        let page = pager.page(Order::Text, rows, token, |f, j| f.matches("Job", &**j), visible)?;
        let stub = |j: &Arc<Job>| j.stub(store.summary(&j.namespace, &j.id).cloned(), with_meta);
        let stubs: Vec<JobListStub> = page.rows.iter().map(stub).collect();
        Ok((store.index_of(Table::Jobs).max(store.index_of(Table::JobSummary)), (stubs, page.next)))
    });
    let ((stubs, next), meta) = read.await?;
    Ok(Response::json(&stubs)?.meta(&meta).next_token(next.as_deref()))
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct PoolBody {
    #[serde(deserialize_with = "or_default")]
    name: String,
    #[serde(deserialize_with = "or_default")]
    description: String,
    #[serde(deserialize_with = "or_default")]
    meta: std::collections::BTreeMap<String, String>,
    scheduler_configuration: Option<NodePoolSchedulerConfiguration>,
    #[serde(rename = "NodeIdentityTTL", deserialize_with = "duration_or_text")]
    node_identity_ttl: i64,
}

impl NamesObjects for PoolBody {
    fn name_of(&self, object: Audited) -> Option<&str> {
        (object == Audited::NodePool).then_some(&self.name)
    }
}

/// Writes a pool, which is that of the path if it names one.
pub(crate) async fn write(mut request: Request) -> Outcome {
    request.check_region()?;
    let body: PoolBody = request.json().await?;
    request.audit(&body);
    let name = request.rest();
    if !name.is_empty() && body.name != name {
        return Err(Error::bad("Node pool name does not match request path"));
    }
    request.authorize_pool(&body.name)?;
    let new = NodePool {
        name: body.name,
        description: body.description,
        meta: body.meta,
        scheduler_configuration: body.scheduler_configuration,
        node_identity_ttl: body.node_identity_ttl,
        ..Default::default()
    };
    Ok(Response::empty().index(pool::upsert(request.server()?, new).await?))
}
