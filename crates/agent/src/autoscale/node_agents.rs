//! The resource usage of allocations, read from the agents of their nodes: servers do not forward such requests.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use encamp_api::{ApiError, Client};
use encamp_autoscale::cluster::{ClusterError, Usage};
use encamp_model::stats::AllocResourceUsage;
use encamp_model::{Node, SecretString};
use parking_lot::Mutex;

/// The time limit for the response of an agent.
const LIMIT: Duration = Duration::from_secs(10);
/// The maximum number of cached clients; beyond it, the cache is cleared.
const MOST: usize = 4096;

/// The agents of the cluster's nodes.
#[derive(Debug)]
pub struct NodeAgents {
    clients: Mutex<Clients>,
}

#[derive(Debug)]
struct Clients {
    /// Without the address.
    config: encamp_api::Config,
    /// By address and namespace, each with its token.
    by_target: HashMap<(String, String), (Option<SecretString>, Arc<Client>)>,
}

impl Clients {
    fn new(config: encamp_api::Config) -> Clients {
        let config = encamp_api::Config { connect_timeout: LIMIT, read_timeout: LIMIT, ..config };
        Clients { config, by_target: HashMap::new() }
    }
}

/// An allocation whose usage is read.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// ID of the allocation.
    pub alloc: &'a str,
    /// Its namespace.
    pub namespace: &'a str,
    /// The token for this namespace; none: that of the client configuration.
    pub token: Option<&'a SecretString>,
}

impl NodeAgents {
    /// Creates the agents, which are contacted with the token and the certificates of `config`.
    pub fn new(config: encamp_api::Config) -> NodeAgents {
        NodeAgents { clients: Mutex::new(Clients::new(config)) }
    }

    /// New requests use another token and other certificates.
    pub fn set_config(&self, config: encamp_api::Config) {
        *self.clients.lock() = Clients::new(config);
    }

    /// The client for a node and a namespace.
    fn client(&self, node: &Node, asked: &Asked<'_>) -> Result<Arc<Client>, ApiError> {
        let scheme = if node.tls_enabled { "https" } else { "http" };
        let address = format!("{scheme}://{}", node.http_addr);
        let Clients { config, by_target: clients } = &mut *self.clients.lock();
        let token = asked.token.or(config.token.as_ref()).cloned();
        let key = (address, asked.namespace.to_string());
        if let Some((_, client)) = clients.get(&key).filter(|(own, _)| *own == token) {
            return Ok(client.clone());
        }
        let config = encamp_api::Config { address: key.0.clone(), token: token.clone(), ..config.clone() };
        let client = Arc::new(Client::new(config)?);
        if clients.len() >= MOST {
            clients.clear();
        }
        clients.insert(key, (token, client.clone()));
        Ok(client)
    }

    /// The resource usage of an allocation on a node.
    ///
    /// # Errors
    /// The agent cannot be reached, does not respond in time, or does not run the allocation.
    pub async fn usage(&self, node: &Node, asked: Asked<'_>) -> Result<Usage, ClusterError> {
        let alloc = asked.alloc;
        let failed = |e: &dyn std::fmt::Display| ClusterError::Failed(format!("statistics of {alloc}: {e}"));
        if node.http_addr.is_empty() {
            return Err(failed(&"its node has no HTTP address"));
        }
        let client = self.client(node, &asked).map_err(|e| failed(&e))?;
        match tokio::time::timeout(LIMIT, client.allocation_stats(alloc)).await {
            Ok(Ok((stats, _))) => Ok(usage(&stats)),
            Ok(Err(e)) if e.is_not_found() => Err(ClusterError::NotFound(format!("allocation {alloc}"))),
            Ok(Err(e)) => Err(failed(&e)),
            Err(_) => Err(failed(&"its node does not respond in time")),
        }
    }
}

/// The usage of an allocation (`docs/spec/cluster-scaling.md §13`): MHz and resident memory. Nodes that do not measure
/// resident memory report the memory of the process group.
pub fn usage(stats: &AllocResourceUsage) -> Usage {
    let used = &stats.resource_usage;
    let bytes = match used.memory_stats.rss {
        0 => used.memory_stats.usage,
        rss => rss,
    };
    Usage { cpu: used.cpu_stats.total_ticks, memory: bytes as f64 / f64::from(1 << 20) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn resident_memory_counts_where_it_is_measured() {
        let of = |memory: serde_json::Value| {
            let stats = json!({"ResourceUsage": {"CpuStats": {"TotalTicks": 150.5}, "MemoryStats": memory}});
            usage(&serde_json::from_value(stats).expect("statistics"))
        };
        assert_eq!(of(json!({"RSS": 3 << 20, "Usage": 9 << 20})), Usage { cpu: 150.5, memory: 3.0 });
        assert_eq!(of(json!({"RSS": 0, "Usage": 9 << 20})), Usage { cpu: 150.5, memory: 9.0 });
        assert_eq!(of(json!(null)).memory, 0.0);
    }

    #[tokio::test]
    async fn a_node_without_an_address_is_not_asked() {
        let agents = NodeAgents::new(encamp_api::Config::default());
        let asked = Asked { alloc: "a", namespace: "default", token: None };
        let asked = agents.usage(&Node::default(), asked).await;
        assert_eq!(asked, Err(ClusterError::Failed("statistics of a: its node has no HTTP address".into())));
    }
}
