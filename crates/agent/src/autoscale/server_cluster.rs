//! The cluster as seen by the leader: its own state and endpoints. It acts as the server itself, so ACLs do not apply,
//! as for the other loops of the leader. Only agents of nodes are asked with a token.

use std::sync::Arc;
use std::time::Duration;

use encamp_api::json;
use encamp_autoscale::cluster::{Answer, Cluster, ClusterError, Items, Stored, Usage};
use encamp_autoscale::paths::NAMESPACE;
use encamp_autoscale::protection::Servers;
use encamp_http::agent::local_client::LocalClient;
use encamp_model::requests::ScalingRequest;
use encamp_model::stats::AllocResourceUsage;
use encamp_model::{DrainStrategy, Node, NodeEligibility, VariableEncrypted};
use encamp_server::endpoints::variables::{self, Items as PlainItems};
use encamp_server::endpoints::{node, scale};
use encamp_server::error::ErrorKind;
use encamp_server::leadership::peers::KnownServer;
use encamp_server::nodes::drain::{DrainRequest, set_drain};
use encamp_server::{Error, Server};
use encamp_state::Snapshot;

use super::leader_token::LeaderTokens;
use super::node_agents::{Asked, NodeAgents, usage};
use super::{drain_meta, members};

/// Returns the servers that the server knows through gossip.
pub type KnownServers = Arc<dyn Fn() -> Vec<KnownServer> + Send + Sync>;

/// The cluster during one term in which this server is the leader.
pub struct ServerCluster {
    server: Server,
    region: String,
    term: u64,
    known: KnownServers,
    local: Option<Arc<dyn LocalClient>>,
    agents: Arc<NodeAgents>,
    tokens: LeaderTokens,
}

impl ServerCluster {
    /// Creates the cluster of the leader of this term. `known`: the servers that it knows through gossip; `local`: the
    /// node in the same agent.
    pub fn new(
        server: Server,
        region: String,
        term: u64,
        known: KnownServers,
        local: Option<Arc<dyn LocalClient>>,
        agents: Arc<NodeAgents>,
    ) -> ServerCluster {
        ServerCluster { server, region, term, known, local, agents, tokens: LeaderTokens::default() }
    }

    /// Returns an error after the term has ended.
    fn acting(&self) -> Result<(), ClusterError> {
        if self.leads() { Ok(()) } else { Err(ClusterError::NotLeader) }
    }

    /// Converts the error of a failed call; a call that failed because another server is the leader becomes
    /// `NotLeader`.
    fn failed(&self, e: &Error) -> ClusterError {
        if self.leads() { ClusterError::Failed(e.message.clone()) } else { ClusterError::NotLeader }
    }

    async fn current(&self) -> Result<Snapshot, ClusterError> {
        self.server.wait_ready().await.map_err(|e| self.failed(&e))?;
        Ok(self.server.snapshot().state().clone())
    }

    async fn node(&self, id: &str) -> Result<Arc<Node>, ClusterError> {
        let state = self.current().await?;
        state.node(id).map(|n| n.node.clone()).ok_or_else(|| ClusterError::NotFound(format!("node {id}")))
    }

    async fn has_no(&self, node: &str) -> Result<bool, ClusterError> {
        Ok(self.current().await?.node(node).is_none())
    }

    fn open(&self, v: &VariableEncrypted) -> Result<Stored, ClusterError> {
        let mut items = variables::open(&self.server, v).map_err(|e| self.failed(&e))?;
        Ok(Stored { items: std::mem::take(&mut items.0), modify_index: v.modify_index })
    }

    async fn put(&self, path: &str, items: Items, check: u64) -> Result<u64, ClusterError> {
        self.acting()?;
        let key = (NAMESPACE.to_string(), path.to_string());
        let written = variables::put(&self.server, key, PlainItems(items), None, Some(check)).await;
        let written = written.map_err(|e| self.failed(&e))?;
        written.variable().map(|v| v.modify_index).ok_or_else(|| ClusterError::Conflict(path.to_string()))
    }

    async fn set_drain(&self, id: &str, strategy: Option<DrainStrategy>) -> Result<(), ClusterError> {
        self.acting()?;
        self.node(id).await?;
        let request = DrainRequest {
            mark_eligible: strategy.is_none(),
            strategy,
            meta: drain_meta(),
            accessor_id: String::new(),
        };
        set_drain(&self.server, id, request).await.map_err(|e| self.failed(&e))?;
        Ok(())
    }
}

impl Cluster for ServerCluster {
    fn name(&self) -> String {
        self.region.clone()
    }

    fn leads(&self) -> bool {
        let leadership = self.server.consensus().leadership();
        let now = leadership.borrow();
        now.is_leader && now.term == self.term && now.failed.is_none()
    }

    fn state(&self) -> Answer<'_, Snapshot> {
        Box::pin(self.current())
    }

    fn servers(&self) -> Answer<'_, Servers> {
        let own_node = self.local.as_ref().map(|l| l.node_id()).filter(|id| !id.is_empty());
        let servers = Servers { own_node, members: members::of_known(&(self.known)()) };
        Box::pin(async { Ok(servers) })
    }

    fn variable<'a>(&'a self, path: &'a str) -> Answer<'a, Option<Stored>> {
        Box::pin(async move {
            self.server.wait_ready().await.map_err(|e| self.failed(&e))?;
            let stored = self.server.snapshot().variable(NAMESPACE, path).cloned();
            stored.map(|v| self.open(&v)).transpose()
        })
    }

    fn write<'a>(&'a self, path: &'a str, items: Items, check: u64) -> Answer<'a, u64> {
        Box::pin(self.put(path, items, check))
    }

    fn drain<'a>(&'a self, node: &'a str, deadline: Duration) -> Answer<'a, ()> {
        let deadline = i64::try_from(deadline.as_nanos()).unwrap_or(i64::MAX);
        let strategy = DrainStrategy { deadline, ignore_system_jobs: true, ..DrainStrategy::default() };
        Box::pin(self.set_drain(node, Some(strategy)))
    }

    fn cancel_drain<'a>(&'a self, id: &'a str) -> Answer<'a, ()> {
        Box::pin(async move {
            self.set_drain(id, None).await?;
            // After a completed drain there is nothing to cancel, but the node is ineligible.
            if self.node(id).await?.scheduling_eligibility != NodeEligibility::Eligible {
                self.acting()?;
                node::eligibility(&self.server, id, NodeEligibility::Eligible).await.map_err(|e| self.failed(&e))?;
            }
            Ok(())
        })
    }

    fn purge<'a>(&'a self, id: &'a str) -> Answer<'a, ()> {
        Box::pin(async move {
            self.acting()?;
            if self.has_no(id).await? {
                return Ok(());
            }
            match node::purge(&self.server, id).await {
                Ok(_) => Ok(()),
                Err(_) if self.has_no(id).await? => Ok(()),
                Err(e) => Err(self.failed(&e)),
            }
        })
    }

    fn scale<'a>(&'a self, job: (&'a str, &'a str), group: &'a str, count: i64, message: &'a str) -> Answer<'a, ()> {
        Box::pin(async move {
            self.acting()?;
            let request = ScalingRequest {
                count: Some(count),
                target: [("Group".to_string(), group.to_string())].into(),
                message: message.to_string(),
                ..ScalingRequest::default()
            };
            match scale::scale(&self.server, job.0, job.1, request, false).await {
                Ok(_) => Ok(()),
                Err(e) if e.kind == ErrorKind::NotFound => Err(ClusterError::NotFound(format!("job {}", job.1))),
                Err(e) => Err(self.failed(&e)),
            }
        })
    }

    fn usage<'a>(&'a self, alloc: &'a str) -> Answer<'a, Usage> {
        Box::pin(async move {
            if let Some(local) = self.local.as_ref().filter(|l| l.alloc_namespace(alloc).is_some()) {
                let failed = |e: &dyn std::fmt::Display| ClusterError::Failed(format!("statistics of {alloc}: {e}"));
                let stats = local.alloc_stats(alloc, "").await.map_err(|e| failed(&e))?;
                let stats: AllocResourceUsage = json::from_value(&stats).map_err(|e| failed(&e))?;
                return Ok(usage(&stats));
            }
            let state = self.current().await?;
            let missing = |what: &str, id: &str| ClusterError::NotFound(format!("{what} {id}"));
            let found = state.alloc(alloc).map(|a| (a.alloc.node_id.to_string(), a.alloc.namespace.to_string()));
            let (node_id, namespace) = found.ok_or_else(|| missing("allocation", alloc))?;
            let node = state.node(&node_id).map(|n| n.node.clone()).ok_or_else(|| missing("node", &node_id))?;
            let token = self.tokens.for_namespace(&self.server, &namespace).await.map_err(|e| self.failed(&e))?;
            self.agents.usage(&node, Asked { alloc, namespace: &namespace, token: Some(&token) }).await
        })
    }
}

#[cfg(test)]
mod tests {
    use encamp_host::ids;
    use encamp_server::settings::Settings;
    use encamp_telemetry::Metrics;

    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn it_acts_in_its_term_alone() {
        let dir = std::env::temp_dir().join(format!("encamp-autoscale-{}", ids::uuid()));
        let mut settings = Settings::new(&ids::uuid(), "s", dir.clone());
        settings.num_schedulers = 1;
        let server = Server::start(settings, Metrics::default()).await.expect("a server");
        let ready = async { while server.wait_ready().await.is_err() {} };
        tokio::time::timeout(Duration::from_secs(30), ready).await.expect("ready in time");
        let term = server.consensus().leadership().borrow().term;
        let agents = Arc::new(NodeAgents::new(encamp_api::Config::default()));
        let known: KnownServers = Arc::new(Vec::new);
        let of = |term| ServerCluster::new(server.clone(), "here".into(), term, known.clone(), None, agents.clone());
        let cluster = of(term);
        assert_eq!((cluster.name(), cluster.leads()), ("here".into(), true));
        assert!(cluster.state().await.is_ok_and(|s| s.nodes().count() == 0));
        assert_eq!(cluster.servers().await, Ok(Servers::default()));

        let path = "encamp/autoscale/state/nodes/web";
        let items = |text: &str| Items::from([("state".to_string(), text.to_string())]);
        assert_eq!(cluster.variable(path).await, Ok(None));
        let index = cluster.write(path, items("one"), 0).await.expect("written");
        assert_eq!(cluster.variable(path).await, Ok(Some(Stored { items: items("one"), modify_index: index })));
        let conflict = Err(ClusterError::Conflict(path.into()));
        assert_eq!(cluster.write(path, items("two"), 0).await, conflict);
        assert_eq!(cluster.write(path, items("two"), index + 1).await, conflict);
        let second = cluster.write(path, items("two"), index).await.expect("written");
        assert!(second > index);

        let missing = Err(ClusterError::NotFound("node n".into()));
        assert_eq!(cluster.drain("n", Duration::from_secs(1)).await, missing);
        assert_eq!(cluster.cancel_drain("n").await, missing);
        assert_eq!(cluster.purge("n").await, Ok(()), "a node that is not there is no error");
        let scaled = cluster.scale(("default", "web"), "g", 2, "more").await;
        assert_eq!(scaled, Err(ClusterError::NotFound("job web".into())));
        assert_eq!(cluster.usage("a").await, Err(ClusterError::NotFound("allocation a".into())));

        let other = of(term + 1);
        assert!(!other.leads());
        assert_eq!(other.write(path, items("three"), second).await, Err(ClusterError::NotLeader));
        assert_eq!(other.drain("n", Duration::from_secs(1)).await, Err(ClusterError::NotLeader));
        assert_eq!(other.purge("n").await, Err(ClusterError::NotLeader));
        assert_eq!(other.variable(path).await.map(|v| v.map(|v| v.items)), Ok(Some(items("two"))));
        server.shutdown().await;
        let _ = std::fs::remove_dir_all(dir);
    }
}
