//! The cluster over its HTTP API, for the external autoscaler. It acts only while it holds the lock (`lock`).

use std::sync::Arc;
use std::time::Duration;

use encamp_api::members::{self, ServerAddress};
use encamp_api::variables::{Variable, VariableError};
use encamp_api::{ApiError, Client};
use encamp_autoscale::cluster::{Answer, Cluster, ClusterError, Items, Stored, Usage};
use encamp_autoscale::paths::NAMESPACE;
use encamp_autoscale::protection::{ServerMember, Servers};
use encamp_model::NodeEligibility;
use encamp_model::requests::DrainSpec;
use encamp_model::requests::ScalingRequest;
use encamp_snapshot::file::into_state;
use encamp_snapshot::live::{self, Collected, Detail, Options};
use encamp_state::Snapshot;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::time::Instant;

use super::drain_meta;
use super::lock::LeaderLock;
use super::node_agents::{Asked, NodeAgents, usage};

/// The maximum age of a cached state that may serve a call.
const FRESH: Duration = Duration::from_millis(400);
/// The number of concurrent requests while the state is read.
const CONCURRENCY: usize = 16;

/// The clock: Unix nanoseconds.
type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// The cluster at an address.
pub struct HttpCluster {
    client: Arc<Client>,
    lock: Arc<LeaderLock>,
    region: String,
    agents: NodeAgents,
    now: Clock,
    read: tokio::sync::Mutex<LastRead>,
    /// The state of the last read, for calls that need no newer one.
    last: Mutex<Option<Snapshot>>,
}

/// The result of the last read of the state.
#[derive(Default)]
struct LastRead {
    collected: Collected,
    index: u64,
    /// When the read started, and its result.
    state: Option<(Instant, Snapshot)>,
}

/// Progress of reads is not shown.
struct Unseen;

impl live::Progress for Unseen {
    fn begin(&self, _: &'static str, _: u64) {}
    fn advance(&self) {}
}

impl HttpCluster {
    /// The cluster that `client` reaches; `lock` says whether this process may act.
    pub fn new(client: Arc<Client>, lock: Arc<LeaderLock>, region: String, now: Clock) -> HttpCluster {
        let config = client.config();
        let agents = NodeAgents::new(encamp_api::Config {
            tls: encamp_api::Tls { server_name: Some(format!("client.{region}.nomad")), ..config.tls.clone() },
            ..config.clone()
        });
        HttpCluster { client, lock, region, agents, now, read: Default::default(), last: Mutex::default() }
    }

    /// Reads the state. Concurrent calls share one read.
    async fn fetch(&self) -> Result<Snapshot, ClusterError> {
        let asked = Instant::now();
        let mut read = self.read.lock().await;
        if let Some((began, state)) = &read.state
            && *began + FRESH >= asked
        {
            return Ok(state.clone());
        }
        let began = Instant::now();
        let options =
            Options { detail: Detail::Everything, concurrency: CONCURRENCY, allow_partial: false, now: (self.now)() };
        // A failed read must not discard the known state.
        let (client, known) = (self.client.clone(), (read.collected.clone(), read.index));
        let runtime = Handle::current();
        // Decoding large clusters takes time and must not block the threads of the loops.
        let fetched = tokio::task::spawn_blocking(move || {
            let fetched = runtime.block_on(live::fetch(&client, &options, known, &Unseen));
            let fetched = fetched.map_err(|e| ClusterError::Failed(e.to_string()))?;
            let index = fetched.file.index;
            let state = into_state(fetched.file).map_err(|e| ClusterError::Failed(e.to_string()))?.state;
            Ok::<_, ClusterError>((fetched.collected, index, Arc::new(state)))
        });
        let state;
        (read.collected, read.index, state) = fetched.await.map_err(|e| ClusterError::Failed(e.to_string()))??;
        read.state = Some((began, state.clone()));
        *self.last.lock() = Some(state.clone());
        Ok(state)
    }

    /// Sends a write while the lock is held, and aborts it when the lock is lost: a late write could conflict with
    /// those of the next holder.
    async fn act<T>(&self, what: &str, write: impl Future<Output = Result<T, ApiError>>) -> Result<T, ClusterError> {
        let until = self.lock.until().ok_or(ClusterError::NotLeader)?;
        match tokio::time::timeout_at(until, write).await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(e)) if e.is_not_found() => Err(ClusterError::NotFound(what.to_string())),
            Ok(Err(e)) => Err(failed(what, &e)),
            Err(_) => Err(ClusterError::NotLeader),
        }
    }

    async fn put(&self, path: &str, items: Items, check: u64) -> Result<u64, ClusterError> {
        let variable = Variable { namespace: NAMESPACE.into(), path: path.into(), items, ..Variable::default() };
        let until = self.lock.until().ok_or(ClusterError::NotLeader)?;
        match tokio::time::timeout_at(until, self.client.put_variable(&variable, Some(check))).await {
            Ok(Ok(written)) => Ok(written.modify_index),
            Ok(Err(VariableError::Conflict(_))) => Err(ClusterError::Conflict(path.to_string())),
            Ok(Err(VariableError::Other(e))) => Err(failed(path, &e)),
            Err(_) => Err(ClusterError::NotLeader),
        }
    }

    /// Whether the cluster reports that the node does not exist.
    async fn has_no(&self, node: &str) -> bool {
        matches!(self.client.node(node).await, Err(e) if e.is_not_found())
    }

    /// Starts or stops a drain.
    async fn set_drain(&self, node: &str, spec: Option<DrainSpec>) -> Result<(), ClusterError> {
        let what = format!("node {node}");
        let eligible = spec.is_none();
        let set = self.act(&what, self.client.drain_node(node, spec, eligible, &drain_meta())).await;
        match set {
            Ok(_) => Ok(()),
            // The status of the response does not identify an unknown node.
            Err(ClusterError::Failed(_)) if self.has_no(node).await => Err(ClusterError::NotFound(what)),
            Err(e) => Err(e),
        }
    }
}

fn failed(what: &str, e: &ApiError) -> ClusterError {
    ClusterError::Failed(format!("{what}: {e}"))
}

impl Cluster for HttpCluster {
    fn name(&self) -> String {
        self.region.clone()
    }

    fn leads(&self) -> bool {
        self.lock.until().is_some()
    }

    fn state(&self) -> Answer<'_, Snapshot> {
        Box::pin(self.fetch())
    }

    fn servers(&self) -> Answer<'_, Servers> {
        Box::pin(async {
            const WHAT: &str = "the members of the cluster";
            let (answer, _) = self.client.agent_members().await.map_err(|e| failed(WHAT, &e))?;
            let listed = members::servers(&answer).map_err(|e| ClusterError::Failed(format!("{WHAT}: {e}")))?;
            let server =
                |s: &ServerAddress| ServerMember::new(&s.name, &s.region, s.addresses.iter().map(String::as_str));
            let members = listed.iter().map(server).collect();
            // This process is not an agent and has no node.
            Ok(Servers { own_node: None, members })
        })
    }

    fn variable<'a>(&'a self, path: &'a str) -> Answer<'a, Option<Stored>> {
        Box::pin(async move {
            match self.client.variable(path).await {
                Ok(v) => Ok(Some(Stored { items: v.items, modify_index: v.modify_index })),
                Err(e) if e.is_not_found() => Ok(None),
                Err(e) => Err(failed(path, &e)),
            }
        })
    }

    fn write<'a>(&'a self, path: &'a str, items: Items, check: u64) -> Answer<'a, u64> {
        Box::pin(self.put(path, items, check))
    }

    fn drain<'a>(&'a self, node: &'a str, deadline: Duration) -> Answer<'a, ()> {
        let deadline = i64::try_from(deadline.as_nanos()).unwrap_or(i64::MAX);
        Box::pin(self.set_drain(node, Some(DrainSpec { deadline, ignore_system_jobs: true })))
    }

    fn cancel_drain<'a>(&'a self, node: &'a str) -> Answer<'a, ()> {
        Box::pin(async move {
            self.set_drain(node, None).await?;
            // After a completed drain there is nothing to cancel, but the node is ineligible.
            let what = format!("node {node}");
            let now = self.client.node(node).await.map_err(|e| failed(&what, &e))?.0;
            if now.scheduling_eligibility != NodeEligibility::Eligible {
                self.act(&what, self.client.set_node_eligibility(node, true)).await?;
            }
            Ok(())
        })
    }

    fn purge<'a>(&'a self, node: &'a str) -> Answer<'a, ()> {
        Box::pin(async move {
            match self.act(&format!("node {node}"), self.client.purge_node(node)).await {
                Ok(_) | Err(ClusterError::NotFound(_)) => Ok(()),
                Err(ClusterError::Failed(_)) if self.has_no(node).await => Ok(()),
                Err(e) => Err(e),
            }
        })
    }

    fn scale<'a>(&'a self, job: (&'a str, &'a str), group: &'a str, count: i64, message: &'a str) -> Answer<'a, ()> {
        Box::pin(async move {
            let request = ScalingRequest {
                count: Some(count),
                target: [("Group".to_string(), group.to_string())].into(),
                message: message.to_string(),
                ..ScalingRequest::default()
            };
            let scale = self.client.scale_job(Some(job.0), job.1, &request);
            self.act(&format!("job {}", job.1), scale).await.map(|_| ())
        })
    }

    fn usage<'a>(&'a self, alloc: &'a str) -> Answer<'a, Usage> {
        Box::pin(async move {
            match self.client.allocation_stats(alloc).await {
                Ok((stats, _)) => return Ok(usage(&stats)),
                // Servers that do not forward the request cannot reach the node: its agent is contacted directly.
                Err(e) if e.is_not_found() => {}
                Err(e) => return Err(failed(&format!("statistics of {alloc}"), &e)),
            }
            let last = self.last.lock().clone();
            let state = match last {
                Some(state) => state,
                None => self.fetch().await?,
            };
            let missing = |what: &str, id: &str| ClusterError::NotFound(format!("{what} {id}"));
            let found = state.alloc(alloc).map(|a| (a.alloc.node_id.to_string(), a.alloc.namespace.to_string()));
            let (node_id, namespace) = found.ok_or_else(|| missing("allocation", alloc))?;
            let node = state.node(&node_id).map(|n| n.node.clone()).ok_or_else(|| missing("node", &node_id))?;
            self.agents.usage(&node, Asked { alloc, namespace: &namespace, token: None }).await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::canned::{Canned, json};
    use super::*;

    /// A cluster whose answers the test knows, with the lock held.
    async fn cluster(canned: &Canned) -> HttpCluster {
        let lock = Arc::new(LeaderLock::new(canned.client(), "me".into()));
        lock.acquire().await;
        HttpCluster::new(canned.client(), lock, "here".into(), Arc::new(|| 7))
    }

    /// An empty cluster that gives the lock to everybody.
    fn empty(method: &str, path: &str) -> Option<(u16, String)> {
        match (method, path) {
            ("GET", "/v1/var/encamp/autoscale/leader") => Some((404, "variable not found".into())),
            ("PUT", "/v1/var/encamp/autoscale/leader") => Some((200, json(&[("Lock", "{\"ID\":\"l\"}")]))),
            ("GET", "/v1/agent/self" | "/v1/operator/scheduler/configuration") => Some((200, "{}".into())),
            ("GET", "/v1/nodes" | "/v1/jobs" | "/v1/allocations" | "/v1/deployments" | "/v1/namespaces") => {
                Some((200, "[]".into()))
            }
            _ => None,
        }
    }

    #[tokio::test]
    async fn calls_at_the_same_time_share_one_read_of_the_state() {
        let canned = Canned::start(|method, path, _| empty(method, path).unwrap_or((200, "[]".into()))).await;
        let cluster = cluster(&canned).await;
        let states = futures_util::future::join_all((0..5).map(|_| cluster.state())).await;
        assert!(states.iter().all(|s| s.as_ref().is_ok_and(|s| s.nodes().count() == 0)), "{states:?}");
        let reads = |canned: &Canned| canned.count("GET", "/v1/allocations");
        let before = reads(&canned);
        assert!(before > 0 && before < 5, "{before}");
        assert!(cluster.state().await.is_ok());
        assert_eq!(reads(&canned), before, "it is fresh");
        assert_eq!((cluster.name(), cluster.leads()), ("here".into(), true));
    }

    #[tokio::test]
    async fn servers_that_cannot_be_read_are_not_taken_for_none() {
        for (status, text, want) in [
            (200, r#"{"Members":[{"Name":"a.here","Addr":"10.0.0.1","Tags":{"region":"here"},"Status":"alive"}]}"#, 1),
            (200, r#"{"Members":[]}"#, 0),
        ] {
            let canned = Canned::start(move |method, path, _| match path {
                "/v1/agent/members" => (status, text.to_string()),
                _ => empty(method, path).unwrap_or((404, String::new())),
            });
            let servers = cluster(&canned.await).await.servers().await.expect("the servers");
            assert_eq!((servers.own_node, servers.members.len()), (None, want));
        }
        for (status, text) in [(403, "Permission denied"), (200, "{}"), (404, "")] {
            let canned = Canned::start(move |method, path, _| match path {
                "/v1/agent/members" => (status, text.to_string()),
                _ => empty(method, path).unwrap_or((404, String::new())),
            });
            let servers = cluster(&canned.await).await.servers().await;
            assert!(matches!(&servers, Err(ClusterError::Failed(why)) if why.contains("the members of the cluster")));
        }
    }

    #[tokio::test]
    async fn answers_are_told_apart() {
        let canned = Canned::start(|method, path, query| {
            let answer = |status, text: &str| (status, text.to_string());
            match (method, path) {
                ("PUT", "/v1/var/a/b") if query.contains("cas=4") => (200, json(&[("ModifyIndex", "9")])),
                ("PUT", "/v1/var/a/b") => answer(409, "{\"Path\":\"a/b\"}"),
                ("GET", "/v1/var/a/b") => answer(200, "{\"ModifyIndex\":9,\"Items\":{\"state\":\"x\"}}"),
                ("PUT", "/v1/node/gone/purge" | "/v1/node/gone/drain") => answer(500, "node not found"),
                ("PUT", "/v1/node/here/purge") => answer(500, "no"),
                ("PUT", "/v1/job/web/scale") => answer(400, "job scaling blocked due to active deployment"),
                ("GET", "/v1/node/here") => answer(200, "{\"ID\":\"here\",\"SchedulingEligibility\":\"eligible\"}"),
                ("PUT", "/v1/node/here/drain") => answer(200, "{}"),
                _ => empty(method, path).unwrap_or((404, "nothing".into())),
            }
        })
        .await;
        let cluster = cluster(&canned).await;
        let items = Items::from([("state".to_string(), "x".to_string())]);
        assert_eq!(cluster.write("a/b", items.clone(), 4).await, Ok(9));
        assert_eq!(cluster.write("a/b", items.clone(), 5).await, Err(ClusterError::Conflict("a/b".into())));
        assert_eq!(cluster.variable("a/b").await, Ok(Some(Stored { items: items.clone(), modify_index: 9 })));
        assert_eq!(cluster.variable("a/c").await, Ok(None));
        let minute = Duration::from_secs(60);
        assert_eq!(cluster.drain("here", minute).await, Ok(()));
        assert_eq!(cluster.drain("gone", minute).await, Err(ClusterError::NotFound("node gone".into())));
        assert_eq!(cluster.cancel_drain("here").await, Ok(()));
        assert_eq!(canned.count("PUT", "/v1/node/here/eligibility"), 0, "it is eligible");
        assert_eq!(cluster.purge("gone").await, Ok(()), "a node that is not there is no error");
        assert!(matches!(cluster.purge("here").await, Err(ClusterError::Failed(_))));
        let scaled = cluster.scale(("default", "web"), "g", 2, "more").await.expect_err("refused");
        assert!(scaled.to_string().contains("active deployment"), "{scaled}");
        let body: serde_json::Value = serde_json::from_str(&canned.last_body("/v1/node/here/drain")).expect("JSON");
        assert_eq!((&body["DrainSpec"], &body["MarkEligible"]), (&serde_json::Value::Null, &true.into()));

        cluster.lock.release().await.expect("released");
        let sent = canned.count("PUT", "/v1/var/a/b");
        assert_eq!(cluster.write("a/b", items, 4).await, Err(ClusterError::NotLeader));
        assert_eq!(cluster.drain("here", minute).await, Err(ClusterError::NotLeader));
        assert_eq!((canned.count("PUT", "/v1/var/a/b"), cluster.leads()), (sent, false), "nothing is sent");
    }
}
