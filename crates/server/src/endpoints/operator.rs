//! Cluster configuration and Raft peers (`docs/spec/http-api.md §5.15`).

use crate::Server;
use crate::error::Error;
use crate::leadership::leader::evaluate_unless_paused;
use crate::leading::Leading;
use crate::storage::persist;
use encamp_model::*;
use encamp_ops::{Operation, Reply};
use encamp_raft::Member;

/// Writes the scheduler configuration; with `cas`, only if the stored one has that ModifyIndex. Returns whether it was
/// written, and the index.
///
/// # Errors
/// The algorithm is unknown, or there is no leader.
pub async fn set_scheduler_config(
    server: &Leading,
    config: SchedulerConfiguration,
    cas: Option<u64>,
) -> Result<(bool, u64), Error> {
    server.wait_ready().await?;
    if matches!(config.scheduler_algorithm, SchedulerAlgorithm::Other(_)) {
        return Err(Error::bad(format!("invalid scheduler algorithm: {}", config.scheduler_algorithm)));
    }
    let (index, reply) = server.commit(Operation::SchedulerConfig { config, cas }).await?;
    // The configuration pauses and resumes the broker.
    if server.consensus().leads() {
        evaluate_unless_paused(server);
    }
    Ok((reply != Reply::Written(false), index))
}

/// Writes the Autopilot configuration. Returns whether it was written.
///
/// # Errors
/// There is no leader.
pub async fn set_autopilot(server: &Leading, config: AutopilotConfiguration, cas: Option<u64>) -> Result<bool, Error> {
    server.wait_ready().await?;
    let (_, reply) = server.commit(Operation::Autopilot { config, cas }).await?;
    Ok(reply != Reply::Written(false))
}

/// Replaces the state by the content of an archive written by
/// [`Store::write_snapshot`](crate::storage::store::Store::write_snapshot).
///
/// # Errors
/// The content is not such an archive, or there is no leader.
pub async fn restore(server: &Server, state: Vec<u8>) -> Result<u64, Error> {
    server.wait_ready().await?;
    let failed = |text: String| Error::internal(format!("failed to restore from snapshot: {text}"));
    // Content that cannot be read must not be written to the log.
    let checked = tokio::task::spawn_blocking(move || persist::read(&mut state.as_slice()).map(|_| state)).await;
    let state = checked.map_err(|e| failed(e.to_string()))?.map_err(|e| failed(e.to_string()))?;
    server.restore(Bytes(state)).await
}

/// Removes a Raft peer.
///
/// # Errors
/// The peer is unknown, or it is the only voter.
pub async fn remove_peer(server: &Leading, id: &str) -> Result<(), Error> {
    server.wait_ready().await?;
    let members = server.consensus().configuration().servers;
    let Some(member) = members.iter().find(|m| m.id.to_string() == id) else {
        return Err(Error::internal(format!("id {} was not found in the Raft configuration", quoted(id))));
    };
    Ok(server.consensus().remove_member(member.id).await?)
}

/// A leadership transfer.
#[derive(Debug, Clone)]
pub struct Transfer {
    /// The old leader.
    pub from: Member,
    /// The new leader.
    pub to: Member,
}

/// Transfers leadership to a peer, given by ID or address. Does nothing if the peer is the leader already.
///
/// # Errors
/// There is no or more than one name, the peer is unknown, or it cannot lead.
pub async fn transfer_leadership(server: &Leading, id: Option<&str>, address: Option<&str>) -> Result<Transfer, Error> {
    server.wait_ready().await?;
    match (id, address) {
        (None, None) => return Err(Error::bad("must specify id or address")),
        (Some(_), Some(_)) => return Err(Error::bad("must specify either id or address")),
        (Some(""), None) => return Err(Error::bad("id must be non-empty")),
        (None, Some("")) => return Err(Error::bad("address must be non-empty")),
        (Some(id), None) if id.len() != 36 => return Err(Error::bad("id must be a uuid: uuid string is wrong length")),
        (Some(id), None) if id.parse::<encamp_raft::ServerId>().is_err() => {
            return Err(Error::bad("id must be a uuid: uuid is improperly formatted"));
        }
        _ => {}
    }
    let members = server.consensus().configuration().servers;
    let chosen = members.iter().find(|m| match (id, address) {
        (Some(id), _) => m.id.to_string() == id.to_lowercase(),
        (_, Some(a)) => m.peer.address == a,
        _ => false,
    });
    let Some(to) = chosen else {
        let (what, name) = if id.is_some() { ("id", id) } else { ("address", address) };
        let name = quoted(name.unwrap_or_default());
        return Err(Error::bad(format!("{what} {name} was not found in the Raft configuration")));
    };
    let from = members.iter().find(|m| m.leader).ok_or_else(Error::no_leader)?;
    if from.id != to.id && !(to.voter && server.hand_over(to).await) {
        return Err(Error::internal("leadership could not be transferred to this server"));
    }
    Ok(Transfer { from: from.clone(), to: to.clone() })
}
