//! What a run reads and changes of a cluster, by requests of Nomad's public API (`docs/spec/cli.md §23`).

use crate::cluster::FetchFlags;
use crate::connection::Connection;
use crate::context::Environment;
use crate::error::{CommandError, CommandResult, ErrorContext};
use encamp_api::ApiError;
use encamp_model::{Allocation, NodeEligibility, quoted};
use encamp_plan::rebalance::run::replacement::LONGEST_CHAIN;
use encamp_plan::rebalance::run::{NodeCondition, Replacement, replacement};
use encamp_plan::rebalance::{AllocRef, NodeRef};
use encamp_state::State;

/// The status of an answer about an object that is not there.
const NOT_FOUND: u16 = 404;

/// A cluster that is read and changed.
pub(super) struct Remote<'a> {
    pub connection: &'a Connection,
    pub fetch: &'a FetchFlags,
    pub env: &'a Environment,
}

impl Remote<'_> {
    /// The full state, notes about it, and the time of it, Unix nanoseconds.
    pub(super) fn state(&self) -> CommandResult<(State, Vec<String>, i64)> {
        let cluster = self.fetch.fetch_over(self.connection, self.env)?;
        let (state, notes, _) = cluster.into_state(false, self.env);
        Ok((state, notes, crate::context::clock()))
    }

    /// Whether a node takes allocations.
    pub(super) fn node(&self, node: &NodeRef) -> CommandResult<NodeCondition> {
        let read = self.connection.wait(self.connection.client.node(&node.id));
        match read {
            Ok((node, _)) => Ok(match node.scheduling_eligibility {
                _ if node.drain_strategy.is_some() => NodeCondition::Draining,
                NodeEligibility::Eligible => NodeCondition::Eligible,
                _ => NodeCondition::Ineligible,
            }),
            Err(e) if is_gone(&e) => Ok(NodeCondition::Gone),
            Err(e) => Err(CommandError::from(e).within(format!("Error reading node {}", quoted(&node.name)))),
        }
    }

    /// Marks a node.
    pub(super) fn mark(&self, node: &NodeRef, eligible: bool) -> CommandResult<()> {
        let done = self.connection.wait(self.connection.client.set_node_eligibility(&node.id, eligible));
        let word = if eligible { "eligible" } else { "ineligible" };
        done.map(drop).context(format!("Error marking node {} {word}", quoted(&node.name)))
    }

    /// Stops an allocation.
    pub(super) fn stop(&self, allocation: &AllocRef) -> CommandResult<()> {
        let id = allocation.id.as_deref().unwrap_or_default();
        let client = &self.connection.client;
        let done = self.connection.wait(client.stop_allocation(Some(&allocation.namespace), id, false, false));
        done.map(drop).context(format!("Error stopping allocation {}", quoted(&allocation.name)))
    }

    /// What became of an allocation that was stopped.
    pub(super) fn replacement(&self, stopped: &AllocRef) -> CommandResult<Replacement> {
        let chain = self.chain(stopped.id.as_deref().unwrap_or_default());
        let chain = chain.context(format!("Error reading allocation {}", quoted(&stopped.name)))?;
        let found = replacement(&chain, true);
        // While nothing new runs, the job may be the reason.
        Ok(match found {
            Replacement::Awaited if !self.job_runs(stopped)? => replacement(&chain, false),
            found => found,
        })
    }

    /// An allocation and its replacements, each of the one before it.
    fn chain(&self, id: &str) -> Result<Vec<Allocation>, ApiError> {
        let mut chain: Vec<Allocation> = Vec::new();
        let mut next = id.to_string();
        while !next.is_empty() && chain.len() < LONGEST_CHAIN {
            match self.connection.wait(self.connection.client.allocation(&next)) {
                Ok((alloc, _)) => {
                    next = alloc.next_allocation.to_string();
                    chain.push(alloc);
                }
                Err(e) if is_gone(&e) => break,
                Err(e) => return Err(e),
            }
        }
        Ok(chain)
    }

    fn job_runs(&self, of: &AllocRef) -> CommandResult<bool> {
        match self.connection.wait(self.connection.client.job(&of.namespace, &of.job_id)) {
            Ok((job, _)) => Ok(!job.stop),
            Err(e) if is_gone(&e) => Ok(false),
            Err(e) => Err(CommandError::from(e).within(format!("Error reading job {}", quoted(&of.job_id)))),
        }
    }
}

fn is_gone(error: &ApiError) -> bool {
    error.status() == Some(NOT_FOUND)
}
