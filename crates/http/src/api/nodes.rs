//! Nodes (`docs/spec/http-api.md §5.8`).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use crate::access::right::{Capability, Need};
use crate::error::Error;
use crate::request::blocking_read::found;
use crate::request::page::{Order, Page, Pager};
use crate::request::read_options::ReadOptions;
use crate::request::response::{Outcome, Response};
use crate::request::{Request, ids};
use encamp_model::requests::{NodeDrainRequest, NodeEligibilityRequest};
use encamp_model::responses::NodeListStub;
use encamp_model::*;
use encamp_server::endpoints::node_rpc::NodeAnswer;
use encamp_server::endpoints::{alloc, node};
use encamp_server::leadership::loops::drain::set;
use encamp_server::storage::watch::WatchKey;
use encamp_state::Table;

/// The additional members of lists.
#[derive(Debug, Clone, Copy, Default)]
pub struct Shown {
    resources: bool,
    os: bool,
}

impl Shown {
    /// As the query asks.
    ///
    /// # Errors
    /// 400: no booleans.
    pub fn parse(request: &Request) -> Result<Shown, Error> {
        let flag = |name| {
            let value = request.query().bool(name);
            value
                .map(Option::unwrap_or_default)
                .map_err(|e| Error::bad(format!("Failed to parse node list fields: {e}")))
        };
        let resources = flag("resources")?;
        Ok(Shown { resources, os: flag("os")? })
    }
}

fn stub(n: &Node, shown: Shown) -> NodeListStub {
    let version = n.attributes.get("nomad.version").cloned().unwrap_or_default();
    let address = n.http_addr.rsplit_once(':').map_or(n.http_addr.as_str(), |(host, _)| host);
    NodeListStub {
        address: address.trim_matches(['[', ']']).to_string(),
        id: n.id.clone(),
        attributes: shown.os.then(|| {
            BTreeMap::from([("os.name".to_string(), n.attributes.get("os.name").cloned().unwrap_or_default())])
        }),
        datacenter: n.datacenter.clone(),
        name: n.name.clone(),
        node_pool: n.node_pool.clone(),
        node_class: n.node_class.clone(),
        version,
        drain: n.drain_strategy.is_some(),
        scheduling_eligibility: n.scheduling_eligibility.clone(),
        status: n.status.clone(),
        status_description: n.status_description.clone(),
        drivers: n.drivers.clone(),
        host_volumes: n.host_volumes.clone(),
        node_resources: n.node_resources.clone().filter(|_| shown.resources),
        reserved_resources: n.reserved_resources.clone().filter(|_| shown.resources),
        last_drain: n.last_drain.clone(),
        create_index: n.create_index,
        modify_index: n.modify_index,
    }
}

fn page_of(pager: &Pager, rows: impl Iterator<Item = Arc<Node>>) -> Result<Page<Arc<Node>>, Error> {
    pager.page(Order::Text, rows, |n| n.id.clone(), |f, n| f.matches("Node", &**n), |_| true)
}

pub(crate) async fn list(request: Request) -> Outcome {
    let options = request.read_options()?;
    let shown = Shown::parse(&request)?;
    request.authorize()?;
    let prefix = ids::prefix("node", &options.prefix)?;
    let pager = Pager::new(&options)?;
    let keys = vec![WatchKey::Table(Table::Nodes)];
    let read = request.blocking(&options, keys, |store| {
        let rows = store.state().nodes().map(|n| n.node.clone()).filter(|n| n.id.starts_with(&prefix));
        Ok((store.index_of(Table::Nodes), page_of(&pager, rows)?))
    });
    let (page, meta) = read.await?;
    let stubs: Vec<_> = page.rows.iter().map(|n| stub(n, shown)).collect();
    Ok(Response::json(&stubs)?.meta(&meta).next_token(page.next.as_deref()))
}

/// The nodes of a pool; of `all`, every node.
pub(crate) async fn of_pool(request: &Request, options: &ReadOptions, pool: &str) -> Outcome {
    let shown = Shown::parse(request)?;
    let pager = Pager::new(options)?;
    let keys = vec![WatchKey::Table(Table::Nodes)];
    let read = request.blocking(options, keys, |store| {
        let nodes = store.state().nodes().map(|n| n.node.clone());
        let rows = nodes.filter(|n| pool == "all" || n.node_pool == pool);
        Ok((store.index_of(Table::Nodes).max(1), page_of(&pager, rows)?))
    });
    let (page, meta) = read.await?;
    let stubs: Vec<_> = page.rows.iter().map(|n| stub(n, shown)).collect();
    Ok(Response::json(&stubs)?.meta(&meta).next_token(page.next.as_deref()))
}

/// The ID of a node, as it is stored.
fn full(id: &str) -> Result<String, Error> {
    if id.is_empty() {
        return Err(Error::internal("missing node ID"));
    }
    ids::full("node", id)
}

pub(crate) async fn read(request: Request, id: String) -> Outcome {
    let options = request.read_options()?;
    let id = full(&id)?;
    let keys = vec![WatchKey::Row(Table::Nodes, id.clone())];
    let read = request.blocking(&options, keys, |store| {
        let node = store.state().node(&id).map(|n| n.node.clone());
        Ok((node.as_ref().map_or(store.index_of(Table::Nodes), |n| n.modify_index), node))
    });
    let (node, meta) = found(read.await?, "node not found")?;
    Ok(Response::json(&*node)?.meta(&meta))
}

pub(crate) async fn allocations(request: Request, id: String) -> Outcome {
    let options = request.read_options()?;
    let access = request.authorize()?;
    // The ID is compared as text: what is no ID has no allocations.
    let keys = vec![WatchKey::OfNode(id.clone())];
    let read = request.blocking(&options, keys, |store| {
        let allocs = store.state().allocs_of_node(&id);
        let newest = allocs.iter().map(|a| a.alloc.modify_index).max();
        let index = newest.unwrap_or_else(|| store.index_of(Table::Allocs).max(1));
        let visible = |a: &Allocation| access.allows(&Need::Namespace(&a.namespace, &[Capability::ReadJob]));
        Ok((index, allocs.iter().map(|a| &*a.alloc).filter(|a| visible(a)).map(alloc::shown).collect::<Vec<_>>()))
    });
    let (allocs, meta) = read.await?;
    Ok(Response::json(&allocs)?.meta(&meta))
}

/// Ready for a write on a node.
fn writes(request: &Request) -> Result<(), Error> {
    request.check_region()?;
    request.authorize().map(drop)
}

/// NodeUpdateResponse: what evaluating and purging answer.
fn updated(request: &Request, answer: &NodeAnswer) -> Outcome {
    let server = request.server()?;
    let leader = server.leader_address().unwrap_or_default();
    let servers: Vec<_> = server
        .consensus()
        .configuration()
        .servers
        .iter()
        .map(|m| {
            json!({
                "RPCAdvertiseAddr": m.peer.address, "RPCMajorVersion": 0, "RPCMinorVersion": 0,
                "Datacenter": request.app().settings().datacenter,
            })
        })
        .collect();
    let body = json!({
        "HeartbeatTTL": 0,
        "EvalIDs": Some(&answer.eval_ids).filter(|e| !e.is_empty()),
        "EvalCreateIndex": answer.eval_create_index,
        "NodeModifyIndex": answer.node_modify_index,
        "Features": 0,
        "LeaderRPCAddr": leader,
        "NumNodes": answer.num_nodes,
        "Servers": servers,
        "SchedulingEligibility": answer.scheduling_eligibility,
        "SignedIdentity": null,
        "Index": answer.index,
        "LastContact": 0,
        "KnownLeader": false,
        "NextToken": "",
    });
    Ok(Response::json(&body)?.index(answer.index))
}

pub(crate) async fn evaluate(request: Request, id: String) -> Outcome {
    writes(&request)?;
    let id = full(&id)?;
    updated(&request, &node::evaluate(request.server()?, &id).await?)
}

pub(crate) async fn purge(request: Request, id: String) -> Outcome {
    writes(&request)?;
    let id = full(&id)?;
    updated(&request, &node::purge(request.server()?, &id).await?)
}

pub(crate) async fn revoke_identity(request: Request, id: String) -> Outcome {
    writes(&request)?;
    let id = full(&id)?;
    done(&node::revoke_identity(request.server()?, &id).await?)
}

fn done(answer: &NodeAnswer) -> Outcome {
    let body = json!({
        "NodeModifyIndex": answer.node_modify_index,
        "EvalIDs": Some(&answer.eval_ids).filter(|e| !e.is_empty()),
        "EvalCreateIndex": answer.eval_create_index,
        "Index": answer.index,
    });
    Ok(Response::json(&body)?.index(answer.index))
}

pub(crate) async fn eligibility(mut request: Request, id: String) -> Outcome {
    writes(&request)?;
    let body: NodeEligibilityRequest = request.json().await?;
    let id = full(&id)?;
    done(&node::eligibility(request.server()?, &id, body.eligibility).await?)
}

pub(crate) async fn drain(mut request: Request, id: String) -> Outcome {
    writes(&request)?;
    let body: NodeDrainRequest = request.json().await?;
    let id = full(&id)?;
    let strategy = body.drain_spec.map(|s| DrainStrategy {
        deadline: s.deadline,
        ignore_system_jobs: s.ignore_system_jobs,
        ..Default::default()
    });
    let NodeDrainRequest { mark_eligible, meta, .. } = body;
    let drain = set::DrainRequest { strategy, mark_eligible, meta, accessor_id: request.accessor()? };
    done(&set::set_drain(request.server()?, &id, drain).await?)
}
