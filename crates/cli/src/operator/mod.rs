//! Commands for operators (`docs/spec/cli.md §14`).
//!
//! - [`scheduler`]: the scheduler configuration. [`raft`]: the Raft peers. [`autopilot`]: the Autopilot configuration
//!   and health. [`keyring`]: the root encryption keys. [`gossip`]: keys of gossip.
//! - [`snapshot`]: saving and restoring the state of the servers. [`archive`]: the content of what was saved. [`redact`]:
//!   what was saved without its secrets.
//! - [`debug`]: a support archive. [`client_state`]: the stored state of a node.
//! - [`api`]: raw API requests. [`metrics`]: metrics.

pub mod api;
pub mod archive;
pub mod autopilot;
pub mod client_state;
pub mod debug;
pub mod gossip;
pub mod keyring;
pub mod metrics;
pub mod raft;
pub mod raft_files;
pub mod redact;
pub mod scheduler;
pub mod snapshot;

use serde_json::Value;

use super::command::Registry;

/// Adds the commands.
pub(super) fn register(registry: &mut Registry) {
    registry.add::<api::OperatorApi>("operator api", None, 1);
    registry.add::<metrics::OperatorMetrics>("operator metrics", None, 1);
    registry.add::<scheduler::SchedulerGetConfig>("operator scheduler get-config", None, 1);
    registry.add::<scheduler::SchedulerSetConfig>("operator scheduler set-config", None, 1);
    registry.add::<raft::RaftListPeers>("operator raft list-peers", None, 1);
    registry.add::<raft_files::RaftInfo>("operator raft info", None, 1);
    registry.add::<raft_files::RaftLogs>("operator raft logs", None, 1);
    registry.add::<raft_files::RaftState>("operator raft state", None, 1);
    registry.add::<raft::RaftRemovePeer>("operator raft remove-peer", None, 1);
    registry.add::<raft::RaftTransferLeadership>("operator raft transfer-leadership", None, 1);
    registry.add::<autopilot::AutopilotGetConfig>("operator autopilot get-config", None, 1);
    registry.add::<autopilot::AutopilotSetConfig>("operator autopilot set-config", None, 1);
    registry.add::<autopilot::AutopilotHealth>("operator autopilot health", None, 1);
    registry.add::<snapshot::SnapshotSave>("operator snapshot save", None, 1);
    registry.add::<snapshot::SnapshotRestore>("operator snapshot restore", None, 1);
    registry.add::<client_state::ClientState>("operator client-state", None, 1);
    registry.add::<debug::Debug>("operator debug", None, 1);
    registry.add_hidden("debug", "operator debug", false);
    registry.add::<archive::ArchiveInspect>("operator snapshot inspect", None, 1);
    registry.add::<archive::ArchiveState>("operator snapshot state", None, 1);
    registry.add::<redact::ArchiveRedact>("operator snapshot redact", None, 1);
    registry.add::<gossip::GossipKeyringGenerate>("operator gossip keyring generate", None, 1);
    registry.add::<gossip::GossipKeyringInstall>("operator gossip keyring install", None, 1);
    registry.add::<gossip::GossipKeyringUse>("operator gossip keyring use", None, 1);
    registry.add::<gossip::GossipKeyringRemove>("operator gossip keyring remove", None, 1);
    registry.add::<gossip::GossipKeyringList>("operator gossip keyring list", None, 1);
    registry.add::<keyring::RootKeyringList>("operator root keyring list", None, 1);
    registry.add::<keyring::RootKeyringRotate>("operator root keyring rotate", None, 1);
    registry.add::<keyring::RootKeyringRemove>("operator root keyring remove", None, 1);
}

/// Members of an object as JSON on one line, in this order.
fn compact(value: &Value, order: &[&str]) -> String {
    let members = order.iter().map(|name| format!("\"{name}\":{}", value.get(*name).unwrap_or(&Value::Null)));
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}
