//! Node pools (`docs/spec/http-api.md §5.8`).

use crate::error::{Error, multi_error};
use crate::leading::Leading;
use crate::nodes::node_identity::IDENTITY_TTL;
use encamp_model::*;
use encamp_ops::Operation;

/// Whether a node pool is built in.
pub(crate) fn built_in(name: &str) -> bool {
    matches!(name, "all" | "default")
}

/// Whether a node pool name is valid.
pub fn is_name(name: &str) -> bool {
    super::is_name(name, &['_'])
}

/// Writes a node pool. Returns the index.
///
/// # Errors
/// The node pool is built in, its name or description is invalid, or there is no leader.
pub async fn upsert(server: &Leading, mut pool: NodePool) -> Result<u64, Error> {
    server.wait_ready().await?;
    if pool.scheduler_configuration.is_some() {
        return Err(Error::internal("Feature \"Node Pools Governance\" is unlicensed"));
    }
    let mut wrong = Vec::new();
    if !is_name(&pool.name) {
        wrong.push(format!("invalid name {}, must match regex ^[a-zA-Z0-9-_]{{1,128}}$", quoted(&pool.name)));
    }
    if pool.description.len() > 256 {
        wrong.push("description longer than 256".into());
    }
    if !wrong.is_empty() {
        return Err(Error::bad(format!("invalid node pool {}: {}", quoted(&pool.name), multi_error(&wrong))));
    }
    if built_in(&pool.name) {
        return Err(Error::bad(format!("modifying node pool {} is not allowed", quoted(&pool.name))));
    }
    if pool.node_identity_ttl == 0 {
        pool.node_identity_ttl = IDENTITY_TTL;
    }
    pool.hash = Some(pool.compute_hash());
    Ok(server.commit(Operation::NodePoolUpsert { pools: vec![pool] }).await?.0)
}

/// Removes a node pool. Returns the index.
///
/// # Errors
/// The node pool is built in, unknown, or has nodes or non-terminal jobs, or there is no leader.
pub async fn delete(server: &Leading, name: &str) -> Result<u64, Error> {
    server.wait_ready().await?;
    if built_in(name) {
        return Err(Error::internal(format!("deleting node pool {} is not allowed", quoted(name))));
    }
    let snapshot = server.snapshot();
    let state = snapshot.state();
    if state.node_pool(name).is_none() {
        return Err(Error::internal(format!("node pool {name} not found")));
    }
    let region = server.settings().region.clone();
    let mut wrong = Vec::new();
    if state.nodes().any(|n| n.node.node_pool == name) {
        wrong.push(format!("node pool {} has nodes in regions: [{region}]", quoted(name)));
    }
    if state.jobs().any(|j| j.current.node_pool == name && j.current.status != JobStatus::Dead) {
        wrong.push(format!("node pool {} has non-terminal jobs in regions: [{region}]", quoted(name)));
    }
    if !wrong.is_empty() {
        return Err(Error::internal(multi_error(&wrong)));
    }
    Ok(server.commit(Operation::NodePoolDelete { names: vec![name.into()] }).await?.0)
}
