//! Looking up allocations and nodes by ID prefix (`docs/spec/cli.md §4.2`).

use serde::Deserialize;

use super::connection::Connection;
use super::data::typed;
use super::error::{CommandError, CommandResult};
use super::lookup::{self, LookupError};
use super::object_kinds::Objects;
use super::render::allocations::{self, Listing};
use super::render::table::{Columns, columns};
use super::render::values::{self, Clock};
use encamp_api::Received;
use encamp_model::responses::NodeListStub;
use encamp_model::{AllocListStub, ClientStatus, quoted};

/// The prefix that servers can look up: an even number of digits.
pub fn even(prefix: &str) -> &str {
    let digits = prefix.chars().filter(|c| *c != '-').count();
    let end = prefix.char_indices().next_back().filter(|_| digits % 2 == 1).map(|(at, _)| at);
    prefix.get(..end.unwrap_or(prefix.len())).unwrap_or(prefix)
}

/// An error about an ID that is too short. `what` is the command's name for it.
pub fn long_enough(prefix: &str, what: &'static str) -> Result<(), LookupError> {
    if is_too_short(prefix) { Err(LookupError::TooShort { what }) } else { Ok(()) }
}

/// Whether an ID is too short to be looked up. An empty one is not.
pub fn is_too_short(prefix: &str) -> bool {
    prefix.chars().count() == 1
}

/// The allocation with this ID prefix.
pub fn allocation(c: &Connection, prefix: &str, verbose: bool, clock: &Clock) -> Result<AllocListStub, LookupError> {
    let prefix = even(prefix);
    let found = c.wait(c.client.allocations_with_prefix(prefix));
    let (found, _) = found.map_err(LookupError::request("Error querying allocation"))?;
    match found.as_slice() {
        [] => Err(LookupError::NotFound(format!("No allocation(s) with prefix or id {} found", quoted(prefix)))),
        [only] => Ok(only.clone()),
        several => {
            let how = Listing { verbose, node_names: true, zone: &clock.zone, now: clock.now };
            let line = "Prefix matched multiple allocations".to_string();
            Err(LookupError::Ambiguous {
                objects: Some(Objects::Allocations),
                line,
                list: allocations::stubs(several, &how),
            })
        }
    }
}

/// An allocation of a job, and of the given task group if any; a running one is preferred.
pub fn allocation_of_job(c: &Connection, job: &str, group: &str) -> Result<AllocListStub, LookupError> {
    let (namespace, id) = c.wait(lookup::job(&c.client, job, &c.zone))?;
    let found = c.wait(c.client.job_allocations(namespace.as_deref(), &id, false));
    let (mut found, _) = found.map_err(LookupError::request("Error querying job allocations"))?;
    found.retain(|alloc| group.is_empty() || alloc.task_group == group);
    found.sort_by(|a, b| (a.create_index, &a.id).cmp(&(b.create_index, &b.id)));
    let running = found.iter().find(|alloc| alloc.client_status == ClientStatus::Running);
    running.or(found.last()).cloned().ok_or_else(|| {
        LookupError::NotFound(match group {
            "" => format!("No allocations of job {} found", quoted(&id)),
            group => format!("No allocations of job {} and task group {} found", quoted(&id), quoted(group)),
        })
    })
}

/// The ID of the node with this ID prefix. `or_id`: with a part of the error message that `node status` omits.
pub fn node(c: &Connection, prefix: &str, full_ids: bool, or_id: bool) -> Result<String, LookupError> {
    let prefix = even(prefix);
    let found = c.wait(c.client.nodes_with_prefix::<NodeRow>(prefix));
    let (mut found, _) = found.map_err(LookupError::request("Error querying node info"))?;
    match found.as_mut_slice() {
        [] => {
            let what = if or_id { "prefix or id" } else { "prefix" };
            Err(LookupError::NotFound(format!("No node(s) with {what} {} found", quoted(prefix))))
        }
        [only] => Ok(std::mem::take(&mut only.object.id)),
        _ => {
            newest_first(&mut found);
            let line = "Prefix matched multiple nodes".to_string();
            Err(LookupError::Ambiguous { objects: Some(Objects::Nodes), line, list: node_table(&found, full_ids) })
        }
    }
}

/// The ID of the node of the contacted agent.
pub fn own_node(c: &Connection) -> CommandResult<String> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Agent {
        stats: Stats,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Stats {
        client: Client,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Client {
        node_id: String,
    }
    let agent = c.ask(c.client.agent_self(), "Error querying agent info")?;
    let id = typed::<Agent>(&agent)?.stats.client.node_id;
    if id.is_empty() {
        let line = "The contacted agent is not a client: name the node instead of using -self";
        return Err(CommandError::new(line));
    }
    Ok(id)
}

/// A row of a list of nodes.
pub type NodeRow = Received<NodeListStub>;

/// Nodes by create index, newest first; equal ones by ID.
pub fn newest_first(nodes: &mut [NodeRow]) {
    nodes.sort_by(|a, b| (b.create_index, &a.id).cmp(&(a.create_index, &b.id)));
}

/// The table of nodes without their pools.
pub fn node_table(nodes: &[NodeRow], full_ids: bool) -> String {
    let shown: &Columns<'_, NodeRow> = &[
        ("ID", &|node| values::id(&node.id, full_ids).into()),
        ("DC", &|node| node.datacenter.clone()),
        ("Name", &|node| node.name.clone()),
        ("Class", &|node| node.node_class.clone()),
        ("Drain", &|node| node.drain.to_string()),
        ("Eligibility", &|node| node.scheduling_eligibility.to_string()),
        ("Status", &|node| node.status.to_string()),
    ];
    columns(nodes, shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_have_an_even_number_of_digits() {
        let prefixes = ["", "a", "ab", "abc", "aaaaaaaa-1", "aaaaaaaa-12", "aaaaaaaa-", "éa1"];
        assert_eq!(prefixes.map(even), ["", "", "ab", "ab", "aaaaaaaa-", "aaaaaaaa-12", "aaaaaaaa-", "éa"]);
        let too_short = long_enough("b", "Identifier").unwrap_err();
        assert_eq!(too_short.to_string(), "Identifier must contain at least two characters.");
        assert!(long_enough("", "x").is_ok() && long_enough("ab", "x").is_ok());
    }
}
