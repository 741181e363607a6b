//! Looking up allocations and nodes by ID prefix (`docs/spec/cli.md §4.2`).

use serde_json::Value;

use super::connection::Connection;
use super::data::{self, text};
use super::lookup;
use super::render::allocations::{self, Listing};
use super::render::table::{Form, table};
use super::render::values::{self, Clock};
use encamp_api::ApiError;
use encamp_model::{AllocListStub, quoted};

/// Why a prefix does not select exactly one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotOne {
    /// No object has this prefix, or the request failed.
    Failed(String),
    /// Several objects have it: a message with their table.
    Several(String),
}

impl From<NotOne> for String {
    fn from(why: NotOne) -> String {
        match why {
            NotOne::Failed(text) | NotOne::Several(text) => text,
        }
    }
}

/// The prefix that servers can look up: an even number of digits.
pub fn even(prefix: &str) -> &str {
    let digits = prefix.chars().filter(|c| *c != '-').count();
    let end = prefix.char_indices().next_back().filter(|_| digits % 2 == 1).map(|(at, _)| at);
    prefix.get(..end.unwrap_or(prefix.len())).unwrap_or(prefix)
}

/// The error about an ID that is too short, if it is. `what` is the command's name for it.
pub fn too_short(prefix: &str, what: &str) -> Option<String> {
    (prefix.chars().count() == 1).then(|| format!("{what} must contain at least two characters."))
}

/// The allocation with this ID prefix.
pub fn allocation(c: &Connection, prefix: &str, verbose: bool, clock: &Clock) -> Result<AllocListStub, NotOne> {
    let prefix = even(prefix);
    let failed = |e: ApiError| NotOne::Failed(format!("Error querying allocation: {e}"));
    let (found, _) = c.wait(c.client.allocations_with_prefix(prefix)).map_err(failed)?;
    match found.as_slice() {
        [] => Err(NotOne::Failed(format!("No allocation(s) with prefix or id {} found", quoted(prefix)))),
        [only] => Ok(only.clone()),
        several => {
            let how = Listing { verbose, node_names: true, zone: &clock.zone, now: clock.now };
            let listed = allocations::stubs(several, &how);
            Err(NotOne::Several(format!("Prefix matched multiple allocations\n\n{listed}")))
        }
    }
}

/// An allocation of a job, and of the given task group if any; a running one is preferred.
pub fn allocation_of_job(c: &Connection, job: &str, group: &str) -> Result<AllocListStub, String> {
    let (namespace, id) = c.wait(lookup::job(&c.client, job, &c.zone))?;
    let (mut found, _) = c
        .wait(c.client.job_allocations(namespace.as_deref(), &id, false))
        .map_err(|e| format!("Error querying job allocations: {e}"))?;
    found.retain(|alloc| group.is_empty() || alloc.task_group == group);
    found.sort_by(|a, b| (a.create_index, &a.id).cmp(&(b.create_index, &b.id)));
    let running = found.iter().find(|alloc| alloc.client_status == "running");
    running.or(found.last()).cloned().ok_or_else(|| match group {
        "" => format!("No allocations of job {} found", quoted(&id)),
        group => format!("No allocations of job {} and task group {} found", quoted(&id), quoted(group)),
    })
}

/// The list entry of the node with this ID prefix. `word` is a part of the error message that `node status` omits.
pub fn node(c: &Connection, prefix: &str, full_ids: bool, or_id: bool) -> Result<Value, NotOne> {
    let prefix = even(prefix);
    let failed = |e: ApiError| NotOne::Failed(format!("Error querying node info: {e}"));
    let (mut found, _) = c.wait(c.client.nodes_with_prefix(prefix)).map_err(failed)?;
    match found.as_slice() {
        [] => {
            let what = if or_id { "prefix or id" } else { "prefix" };
            Err(NotOne::Failed(format!("No node(s) with {what} {} found", quoted(prefix))))
        }
        [only] => Ok(only.clone()),
        _ => {
            data::newest_first(&mut found);
            let table = node_table(&found, full_ids);
            Err(NotOne::Several(format!("Prefix matched multiple nodes\n\n{table}")))
        }
    }
}

/// The ID of the node of the contacted agent.
pub fn own_node(c: &Connection) -> Result<String, String> {
    let (agent, _) = c.wait(c.client.agent_self()).map_err(|e| format!("Error querying agent info: {e}"))?;
    let id = agent.get("stats").and_then(|s| s.get("client")).map(|c| text(c, "node_id")).unwrap_or_default();
    if id.is_empty() {
        return Err("The contacted agent is not a client: name the node instead of using -self".into());
    }
    Ok(id.to_string())
}

/// The table of nodes without their pools.
pub fn node_table(nodes: &[Value], full_ids: bool) -> String {
    let mut lines = vec!["ID|DC|Name|Class|Drain|Eligibility|Status".to_string()];
    lines.extend(nodes.iter().map(|node| {
        format!(
            "{}|{}|{}|{}|{}|{}|{}",
            values::id(text(node, "ID"), full_ids),
            text(node, "Datacenter"),
            text(node, "Name"),
            text(node, "NodeClass"),
            data::flag(node, "Drain"),
            text(node, "SchedulingEligibility"),
            text(node, "Status")
        )
    }));
    table(&lines, Form::List)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_have_an_even_number_of_digits() {
        let prefixes = ["", "a", "ab", "abc", "aaaaaaaa-1", "aaaaaaaa-12", "aaaaaaaa-", "éa1"];
        assert_eq!(prefixes.map(even), ["", "", "ab", "ab", "aaaaaaaa-", "aaaaaaaa-12", "aaaaaaaa-", "éa"]);
        assert_eq!(too_short("b", "Identifier").unwrap(), "Identifier must contain at least two characters.");
        assert!(too_short("", "x").is_none() && too_short("ab", "x").is_none());
    }
}
