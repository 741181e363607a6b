//! Server canonicalisation and the admission mutators (`docs/spec/jobspec.md §12-13`), run in the order of [`mutate`].
//!
//! - [`canonicalize`]: empty values, defaults, service names, identities. [`connect`], [`gateway`]: tasks and ports of
//!   the service mesh. [`expose`]: ports of exposed checks. [`constraints`]: implied constraints. [`identities`]:
//!   workload identities.

mod canonicalize;
mod connect;
mod constraints;
mod expose;
mod gateway;
mod identities;

use std::borrow::Cow;

use encamp_model::{Constraint, Consul, Job};
use thiserror::Error;

use super::ServerContext;

pub use canonicalize::{canonicalize, canonicalize_stored};
pub use connect::ConnectError;
pub use expose::ExposeError;

/// A mutator refused the job. Displays as the text that the server answers.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MutatorError {
    /// A service of the mesh can't be completed.
    #[error("error in job mutator connect: {0}")]
    Connect(#[from] ConnectError),
    /// A check can't be exposed.
    #[error("error in job mutator expose-check: {0}")]
    Expose(#[from] ExposeError),
}

/// Runs all mutators in order.
///
/// # Errors
/// The first mutator that refuses the job.
pub fn mutate(job: &mut Job, ctx: &ServerContext) -> Result<(), MutatorError> {
    canonicalize(job, ctx);
    default_vault_clusters(job);
    mutate_consul(job);
    connect::mutate(job, ctx.random_seed)?;
    expose::mutate(job)?;
    constraints::mutate(job);
    default_to(&mut job.node_pool, "default");
    identities::mutate(job, ctx);
    Ok(())
}

fn default_vault_clusters(job: &mut Job) {
    for vault in job.task_groups.iter_mut().flat_map(|g| &mut g.tasks).filter_map(|t| t.vault.as_mut()) {
        default_to(&mut vault.cluster, "default");
    }
}

/// Cluster names, and the constraints of partitions (`docs/spec/jobspec.md §13.1`).
fn mutate_consul(job: &mut Job) {
    let block = |consul: &mut Option<Consul>, constraints: &mut Vec<Constraint>| {
        if let Some(consul) = consul {
            default_to(&mut consul.cluster, "default");
            if !consul.partition.is_empty() {
                add_full(constraints, constraint("${attr.consul.partition}", "=", &consul.partition));
            }
        }
    };
    for group in &mut job.task_groups {
        block(&mut group.consul, &mut group.constraints);
        for task in &mut group.tasks {
            block(&mut task.consul, &mut task.constraints);
        }
        for service in group.services.iter_mut().chain(group.tasks.iter_mut().flat_map(|t| &mut t.services)) {
            if service.provider == "consul" {
                default_to(&mut service.cluster, "default");
            }
        }
    }
}

fn constraint(ltarget: &str, operand: &str, rtarget: &str) -> Constraint {
    Constraint { ltarget: ltarget.into(), operand: operand.into(), rtarget: rtarget.into() }
}

/// Adds a constraint unless an equal one exists.
fn add_full(constraints: &mut Vec<Constraint>, new: Constraint) {
    if !constraints.contains(&new) {
        constraints.push(new);
    }
}

/// Adds a constraint unless some constraint is about the same attribute.
fn add_left(constraints: &mut Vec<Constraint>, new: Constraint) {
    if constraints.iter().all(|c| c.ltarget != new.ltarget) {
        constraints.push(new);
    }
}

/// Replaces an empty text.
fn default_to(text: &mut String, default: &str) {
    if text.is_empty() {
        *text = default.to_string();
    }
}

/// Replaces every `${name}` that `lookup` knows; the others stay as they are.
fn interpolate<'a>(text: &mut String, lookup: impl Fn(&str) -> Option<Cow<'a, str>>) {
    if !text.contains("${") {
        return;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some((before, reference)) = rest.split_once("${") {
        out.push_str(before);
        rest = match reference.split_once('}').and_then(|(name, after)| Some((lookup(name)?, after))) {
            Some((value, after)) => {
                out.push_str(&value);
                after
            }
            None => {
                out.push_str("${");
                reference
            }
        };
    }
    out.push_str(rest);
    *text = out;
}

#[cfg(test)]
mod tests;
