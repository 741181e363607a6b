//! The response to node agents and operators that change a node.

use super::node_status::Changed;
use crate::server_state::ServerState;
use encamp_model::{NodeEligibility, SecretString};

/// The response to a registration, a heartbeat, or another node change.
#[derive(Debug, Clone, Default)]
pub struct NodeAnswer {
    /// The TTL until the next heartbeat, in nanoseconds.
    pub heartbeat_ttl: i64,
    /// IDs of the created evaluations.
    pub eval_ids: Vec<String>,
    /// The index at which they were written.
    pub eval_create_index: u64,
    /// The node's ModifyIndex, if the node was changed.
    pub node_modify_index: u64,
    /// The number of nodes.
    pub num_nodes: usize,
    /// The node's eligibility.
    pub scheduling_eligibility: NodeEligibility,
    /// The index of the write; 0 if nothing was written.
    pub index: u64,
    /// The node's new identity; empty if the current one remains valid.
    pub signed_identity: SecretString,
}

impl NodeAnswer {
    /// The response for a changed node.
    pub fn of(changed: Changed) -> NodeAnswer {
        let (index, eval_create_index) = (changed.index, changed.eval_index());
        let eval_ids = changed.eval_ids;
        NodeAnswer { index, node_modify_index: index, eval_ids, eval_create_index, ..Default::default() }
    }

    /// Adds the stored data of the nodes.
    pub fn completed(mut self, server: &ServerState, id: &str) -> NodeAnswer {
        let snapshot = server.snapshot();
        self.num_nodes = snapshot.state().node_index().rows().len();
        if let Some(n) = snapshot.state().node(id) {
            self.scheduling_eligibility = n.node.scheduling_eligibility.clone();
        }
        self
    }
}
