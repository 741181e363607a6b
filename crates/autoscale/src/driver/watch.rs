//! Discovers worker pools (`docs/spec/cluster-scaling.md §1`, `§2`).

use std::collections::{BTreeMap, BTreeSet};

use futures_util::StreamExt;

use super::{Finished, Seen, Shared};
use crate::cluster::ClusterError;
use crate::params::PoolParameters;
use crate::paths;
use crate::registry::{Fallbacks, NodeProblem, Pool, Registry};
use crate::store;

/// The registry, and the pools whose last node left while an operation is in progress.
#[derive(Debug, Default)]
pub(super) struct Watch {
    registry: Registry,
    fallbacks: Fallbacks,
    /// Every pool that has nodes, or had some and may have an operation: its parameters are the last that were known.
    pools: BTreeMap<String, Pool>,
}

impl Watch {
    /// Reads the cluster, and the Variables of pools that nodes name alone.
    pub(super) async fn read(&mut self, shared: &Shared) -> Result<Seen, ClusterError> {
        let seen = shared.read().await?;
        let state = &seen.state;
        self.registry.update(state, &self.fallbacks);
        let names = self.registry.named_alone();
        if !names.is_empty() || !self.fallbacks.is_empty() {
            self.fallbacks = self.read_fallbacks(shared, names).await;
            self.registry.update(state, &self.fallbacks);
        }
        for pool in self.pools.values_mut() {
            pool.nodes.clear();
        }
        self.pools.extend(self.registry.pools().iter().map(|(name, pool)| (name.clone(), pool.clone())));
        Ok(seen)
    }

    /// The Variables of pools. One that cannot be read now is taken as it was.
    async fn read_fallbacks(&self, shared: &Shared, names: BTreeSet<String>) -> Fallbacks {
        let known = &self.fallbacks;
        let read = futures_util::stream::iter(names).map(async |name| {
            let path = paths::pool_configuration(&name);
            let found = match store::within(shared.cluster.variable(&path)).await {
                Ok(None) => None,
                Ok(Some(stored)) => Some(PoolParameters::read(&stored.items)),
                Err(error) => Some(known.get(&name).cloned().unwrap_or_else(|| Err(vec![error.to_string()]))),
            };
            (name, found)
        });
        let read: Vec<_> = read.buffer_unordered(shared.settings.concurrency.max(1)).collect().await;
        read.into_iter().filter_map(|(name, found)| Some((name, found?))).collect()
    }

    /// The pools by name. Those without nodes are not evaluated: they may have an operation to go on with.
    pub(super) fn pools(&self) -> &BTreeMap<String, Pool> {
        &self.pools
    }

    /// Nodes whose configuration does not hold.
    pub(super) fn problems(&self) -> &[NodeProblem] {
        self.registry.problems()
    }

    /// Takes note of tasks that ended. Pools without nodes and without an operation are forgotten.
    pub(super) fn end(&mut self, busy: &mut BTreeSet<String>, ended: Vec<Finished>) {
        for finished in ended {
            busy.remove(&finished.pool);
            let without_nodes = self.pools.get(&finished.pool).is_some_and(|p| p.nodes.is_empty());
            if without_nodes && !finished.in_operation {
                self.pools.remove(&finished.pool);
            }
        }
    }
}
