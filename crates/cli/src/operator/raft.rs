//! `operator raft`: the Raft peers (`docs/spec/cli.md §14`).

use crate::prelude::*;
use crate::render::table::{Form, headed, table};
use encamp_model::quoted;

/// Display the current Raft peer configuration
///
/// Shows the name, ID and address of each server, and whether it is the leader and a voter.
#[derive(Debug, clap::Parser)]
pub struct RaftListPeers {
    /// Allow any server to respond, even if there is no leader
    #[arg(long)]
    pub stale: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

impl Run for RaftListPeers {
    const META: Meta = Meta::new("operator raft list-peers")
        .surplus(Surplus::Ignored)
        .flag_error_note(FlagErrorNote::Args)
        .examples(&[
            ("List the Raft peers", "encamp operator raft list-peers"),
            ("List them although the servers have no leader", "encamp operator raft list-peers -stale"),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.connected(&self.general, |c, context| {
            let read = c.wait(c.client.raft_configuration(self.stale));
            let (mut config, _) = read.context("Failed to retrieve raft configuration")?;
            config.servers.sort_by(|a, b| (&a.node, &a.id).cmp(&(&b.node, &b.id)));
            let rows = config.servers.iter().map(|s| {
                let state = if s.leader { "leader" } else { "follower" };
                format!("{}|{}|{}|{state}|{}|{}", s.node, s.id, s.address, s.voter, s.raft_protocol)
            });
            context.ui.output(&table(&headed("Node|ID|Address|State|Voter|RaftProtocol", rows), Form::Spaced));
            Ok(0)
        })
    }
}

/// Remove a server from the Raft peers
///
/// Use this command for servers that failed permanently without leaving the cluster.
#[derive(Debug, clap::Parser)]
pub struct RaftRemovePeer {
    /// The server's ID
    #[arg(long, value_name = "id")]
    pub peer_id: Option<String>,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

impl Run for RaftRemovePeer {
    const META: Meta = Meta::new("operator raft remove-peer")
        .surplus(Surplus::Ignored)
        .flag_error_note(FlagErrorNote::Args)
        .examples(&[
            (
                "Remove a failed server",
                "encamp operator raft remove-peer \\
    -peer-id d9a4c7e1-52f0-4b3c-9a86-0e7b1c5d2f94",
            ),
            (
                "Select the server by its name",
                "encamp operator raft remove-peer -peer-id \\
    $(encamp operator raft list-peers | awk '/server-3/ {print $2}')",
            ),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let Some(id) = self.peer_id.filter(|id| !id.is_empty()) else {
            return context.failure("Missing peer id required");
        };
        context.connected(&self.general, |c, context| {
            let done = c.wait(c.client.remove_raft_peer(&id));
            done.context("Error removing peer")?;
            context.ui.output(&format!("Removed peer with id {}", quoted(&id)));
            Ok(0)
        })
    }
}

/// Transfer leadership to another server
///
/// Select the server by its ID or its address.
#[derive(Debug, clap::Parser)]
pub struct RaftTransferLeadership {
    /// The server's ID
    #[arg(long, value_name = "id")]
    pub peer_id: Option<String>,
    /// The server's address
    #[arg(long, value_name = "address")]
    pub peer_address: Option<String>,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

impl Run for RaftTransferLeadership {
    const META: Meta = Meta::new("operator raft transfer-leadership")
        .surplus(Surplus::Ignored)
        .flag_error_note(FlagErrorNote::Args)
        .examples(&[
            (
                "Transfer leadership to a server",
                "encamp operator raft transfer-leadership \\
    -peer-id d9a4c7e1-52f0-4b3c-9a86-0e7b1c5d2f94",
            ),
            (
                "Select the server by its name",
                "encamp operator raft transfer-leadership -peer-id \\
    $(encamp operator raft list-peers | awk '/server-1/ {print $2}')",
            ),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let given = |value: Option<String>| value.filter(|v| !v.is_empty());
        let (by, value) = match (given(self.peer_id), given(self.peer_address)) {
            (Some(id), None) => ("id", id),
            (None, Some(address)) => ("address", address),
            (None, None) => return context.failure("Missing peer id or address required"),
            _ => return context.failure("Only one of -peer-id and -peer-address can be given"),
        };
        context.connected(&self.general, |c, context| {
            let done = c.wait(c.client.transfer_leadership(by, &value));
            done.context("Error transferring leadership to peer")?;
            context.ui.output(&format!("Transferred leadership to peer with {by} {}", quoted(&value)));
            Ok(0)
        })
    }
}
