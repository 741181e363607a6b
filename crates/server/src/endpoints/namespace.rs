//! Namespaces (`docs/spec/http-api.md §5.9`).

use crate::error::{Error, multi_error};
use crate::leading::Leading;
use encamp_model::*;
use encamp_ops::Operation;

/// Writes a namespace. Returns the index.
///
/// # Errors
/// The name or description is invalid, or there is no leader.
pub async fn upsert(server: &Leading, mut ns: Namespace) -> Result<u64, Error> {
    server.wait_ready().await?;
    let mut wrong = Vec::new();
    if !super::is_name(&ns.name, &[]) {
        wrong.push(format!("invalid name {}. Must match regex ^[a-zA-Z0-9-]{{1,128}}$", quoted(&ns.name)));
    }
    if ns.description.len() > 256 {
        wrong.push("description longer than 256".into());
    }
    if !wrong.is_empty() {
        return Err(Error::internal(format!("Invalid namespace {}: {}", quoted(&ns.name), multi_error(&wrong))));
    }
    ns.hash = Some(ns.compute_hash());
    Ok(server.commit(Operation::NamespaceUpsert { namespaces: vec![ns] }).await?.0)
}

/// Removes a namespace. Returns the index.
///
/// # Errors
/// The namespace is the default one, unknown, or in use, or there is no leader.
pub async fn delete(server: &Leading, name: &str) -> Result<u64, Error> {
    server.wait_ready().await?;
    if name == "default" {
        return Err(Error::internal("can not delete default namespace"));
    }
    let snapshot = server.snapshot();
    let state = snapshot.state();
    if state.namespace(name).is_none() {
        return Err(Error::internal("namespace not found"));
    }
    let region = server.settings().region.clone();
    let live_allocs = state.allocs().any(|a| a.alloc.namespace == name && !a.phase.terminal());
    let volumes = state.host_volumes().any(|v| v.namespace == name) || state.csi_volumes().any(|v| v.namespace == name);
    let live_jobs = state.jobs().any(|j| j.current.namespace == name && j.current.status != JobStatus::Dead);
    let wrong: Vec<String> = [
        (live_jobs, "has non-terminal jobs in"),
        (live_allocs, "has non-terminal allocations in"),
        (volumes, "has volumes associated with it in"),
        (snapshot.variables_below(name, "").next().is_some(), "has variables associated with it in"),
    ]
    .into_iter()
    .filter(|(used, _)| *used)
    .map(|(_, what)| format!("namespace {} {what} regions: [{region}]", quoted(name)))
    .collect();
    if !wrong.is_empty() {
        return Err(Error::internal(multi_error(&wrong)));
    }
    Ok(server.commit(Operation::NamespaceDelete { names: vec![name.into()] }).await?.0)
}
