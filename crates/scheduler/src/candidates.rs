//! Candidate nodes of a job (`docs/spec/scheduling.md §3.1`).

use std::sync::Arc;

use encamp_model::{Job, Node, SortedMap, glob};
use encamp_state::State;

/// The ready nodes of a job's pool and datacenters.
#[derive(Debug, Clone, Default)]
pub struct ReadyNodes {
    /// Slots of the candidates by ascending node ID.
    pub slots: Vec<u32>,
    /// Candidates per datacenter; a datacenter without any has no entry.
    pub available: Arc<SortedMap<i64>>,
    /// Number of candidates.
    pub in_pool: i64,
    /// The pool they were looked for in, unless nobody looked.
    pool: Option<String>,
}

impl ReadyNodes {
    /// Whether the node belongs to the pool but is not ready, whatever its datacenter.
    pub(crate) fn is_not_ready(&self, state: &State, node_id: &str) -> bool {
        let Some(pool) = &self.pool else { return false };
        state.node(node_id).is_some_and(|n| !n.node.ready() && in_pool(pool, &n.node.node_pool))
    }
}

/// Whether a job of `pool` may use the nodes of another one.
pub fn in_pool(pool: &str, node_pool: &str) -> bool {
    matches!(pool, "" | "all") || node_pool == pool
}

/// Whether the node is in the job's pool and datacenters, ready or not.
pub fn covers(job: &Job, node: &Node) -> bool {
    in_pool(&job.node_pool, &node.node_pool) && datacenter_matches(&job.datacenters, &node.datacenter)
}

/// Collects the candidates of a job with these datacenters and this pool.
pub fn ready_nodes(state: &State, datacenters: &[String], pool: &str) -> ReadyNodes {
    let index = state.node_index();
    let in_datacenters: Vec<bool> = index.datacenters().iter().map(|d| datacenter_matches(datacenters, d)).collect();
    let in_pool: Vec<bool> = index.pools().iter().map(|p| in_pool(pool, p)).collect();
    let mut counts = vec![0i64; in_datacenters.len()];
    let mut slots = Vec::with_capacity(index.rows().len());
    for r in index.rows() {
        let dc = r.datacenter as usize;
        if r.ready && in_pool[r.pool as usize] && in_datacenters[dc] {
            counts[dc] += 1;
            slots.push(r.slot);
        }
    }
    let available = index.datacenters().iter().zip(counts).filter(|(_, n)| *n > 0);
    ReadyNodes {
        in_pool: slots.len() as i64,
        slots,
        available: Arc::new(available.map(|(dc, n)| (dc.clone(), n)).collect()),
        pool: Some(pool.to_string()),
    }
}

/// Whether a datacenter matches any of the patterns.
pub fn datacenter_matches(patterns: &[String], datacenter: &str) -> bool {
    patterns.iter().any(|p| glob::matches(p, datacenter))
}
