//! State objects of pools and job groups, and configurations of pools, in Variables, read and written over the HTTP API
//! (`docs/spec/cluster-scaling.md §1`, `§8`).

use std::collections::{BTreeMap, BTreeSet};

use crate::connection::Connection;
use crate::error::{CommandError, CommandResult};
use encamp_api::variables::{Variable, VariableError};
use encamp_api::{ApiError, Client};
use encamp_autoscale::jobs::GroupId;
use encamp_autoscale::params::PoolParameters;
use encamp_autoscale::paths;
use encamp_autoscale::record::{ITEM, Record, ResourceType};
use encamp_autoscale::registry::Fallbacks;

/// A state object and its Variable, which check-and-set requires.
pub(super) struct Stored {
    /// The object; a new one if there is none.
    pub record: Record,
    /// The Variable; its ModifyIndex is 0 if there is none.
    pub variable: Variable,
}

/// The same connection, for the namespace of the Variables.
pub(super) fn client(c: &Connection) -> CommandResult<Client> {
    let config = encamp_api::Config { namespace: Some(paths::NAMESPACE.into()), ..c.client.config().clone() };
    Client::new(config).map_err(|e| CommandError::new(format!("Error initializing client: {e}")))
}

fn variable(c: &Connection, client: &Client, path: &str) -> CommandResult<Option<Variable>> {
    match c.wait(client.variable(path)) {
        Ok(variable) => Ok(Some(variable)),
        Err(e) if e.is_not_found() => Ok(None),
        Err(e) => Err(CommandError::new(format!("Error reading the Variable {path}: {e}"))),
    }
}

/// Reads the state object of a pool.
pub(super) fn read(c: &Connection, client: &Client, pool: &str) -> CommandResult<Stored> {
    read_at(c, client, paths::pool_state(pool), ResourceType::WorkerPool, pool)
}

/// Reads the state object of a job's group.
pub(super) fn read_group(c: &Connection, client: &Client, id: &GroupId) -> CommandResult<Stored> {
    read_at(c, client, id.state_path(), ResourceType::JobGroup, &id.name())
}

fn read_at(c: &Connection, client: &Client, path: String, kind: ResourceType, name: &str) -> CommandResult<Stored> {
    let Some(variable) = variable(c, client, &path)? else {
        let variable = Variable { namespace: paths::NAMESPACE.into(), path, ..Variable::default() };
        return Ok(Stored { record: Record::new(kind, name), variable });
    };
    match Record::read(&path, variable.items.get(ITEM).map(String::as_str)) {
        Ok(record) => Ok(Stored { record, variable }),
        Err(e) => Err(CommandError::new(format!("Error: {e}"))),
    }
}

/// Writes a state object unless it was written by another process since it was read; returns false in that case.
pub(super) fn write(c: &Connection, client: &Client, stored: &Stored) -> CommandResult<bool> {
    let mut variable = stored.variable.clone();
    variable.items = BTreeMap::from([(ITEM.to_string(), stored.record.to_item())]);
    match c.wait(client.put_variable(&variable, Some(stored.variable.modify_index))) {
        Ok(_) => Ok(true),
        Err(VariableError::Conflict(_)) => Ok(false),
        Err(VariableError::Other(e)) => {
            Err(CommandError::new(format!("Error writing the Variable {}: {e}", variable.path)))
        }
    }
}

/// The configurations of these pools in Variables.
pub(super) fn fallbacks(c: &Connection, client: &Client, pools: &BTreeSet<String>) -> CommandResult<Fallbacks> {
    let mut out = Fallbacks::new();
    for pool in pools {
        if let Some(variable) = variable(c, client, &paths::pool_configuration(pool))? {
            out.insert(pool.clone(), PoolParameters::read(&variable.items));
        }
    }
    Ok(out)
}

/// The response of a path below `/v1/autoscale`; `None` if the cluster does not have that path, because it is not an
/// encamp cluster or has no `autoscaling` block.
pub(super) fn offered<T>(answer: Result<T, ApiError>, what: &str) -> CommandResult<Option<T>> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(e) if e.is_not_found() => Ok(None),
        Err(e) => Err(CommandError::new(format!("Error {what}: {e}"))),
    }
}
