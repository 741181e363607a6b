//! Simulated nodes: they register, send heartbeats, run their allocations and report; at times they disconnect and
//! return.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::cluster::Cluster;
use super::network::{Lost, Place};
use super::users::{self, Stop};
use crate::nodes::node_answer::NodeAnswer;
use crate::nodes::node_rpc;
use crate::tests::node;
use crate::{Error, Server};
use encamp_host::ids;
use encamp_model::random::Random;
use encamp_model::*;

const PATIENCE: Duration = Duration::from_secs(4);
const SECRET: &str = "secret";

/// A node agent.
pub(crate) struct Node {
    cluster: Arc<Cluster>,
    place: Place,
    id: String,
    random: Random,
    calm: Stop,
    /// How many times as long all pauses are.
    slowness: u32,
    /// The identity token of the node.
    held: SecretString,
    registered: bool,
    /// When the next heartbeat is due.
    beat: i64,
    /// The index of the newest list of allocations.
    seen: u64,
    /// The allocations to run.
    allocs: Vec<Arc<Allocation>>,
    /// The last reported status of each allocation.
    runs: BTreeMap<String, ClientStatus>,
}

/// The state of the single task of an allocation.
fn task_state(status: &ClientStatus) -> TaskState {
    let (now, over) = (Time::from_unix_nanos(ids::now()), *status != ClientStatus::Running);
    let finished_at = if over { now } else { Time::default() };
    let state = if over { TaskStatus::Dead } else { TaskStatus::Running };
    let failed = *status == ClientStatus::Failed;
    TaskState { state, failed, finished_at, ..Default::default() }
}

type Reply<T> = Result<T, Error>;

impl Node {
    /// Creates a node at a place. `calm`: no further faults are injected.
    pub(crate) fn new(cluster: Arc<Cluster>, place: Place, slowness: u32, calm: Stop) -> Node {
        let mut random = cluster.chance("node");
        Node {
            id: random.uuid(),
            cluster,
            place,
            random,
            calm,
            slowness,
            held: SecretString::default(),
            registered: false,
            beat: 0,
            seen: 0,
            allocs: Vec::new(),
            runs: BTreeMap::new(),
        }
    }

    /// Its ID.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    async fn call<T: Send + 'static>(
        &self,
        to: Place,
        work: impl FnOnce(Server) -> BoxFuture<'static, Reply<T>> + Send + 'static,
    ) -> Option<T> {
        match self.cluster.network.call((self.place, to), PATIENCE, work).await {
            Ok(Ok(done)) => Some(done),
            Ok(Err(_)) | Err(Lost::Refused | Lost::Unknown) => None,
        }
    }

    /// Runs until the cluster ends.
    pub(crate) async fn live(mut self) {
        loop {
            tokio::time::sleep(Duration::from_millis(100 + self.random.below(500)) * self.slowness).await;
            if !self.calm.now() && self.random.below(150) == 0 {
                let away = 1 + self.random.below(20);
                self.cluster.sim.watch.count("nodes away", 1);
                self.cluster.sim.note(format_args!("node {} is away for {away} s", self.place));
                tokio::time::sleep(Duration::from_secs(away)).await;
                // Some return as if their agent had been restarted.
                self.registered &= self.random.below(2) == 0;
            }
            if ids::steady() >= self.beat || !self.registered {
                self.show_up().await;
            }
            if self.registered {
                self.look().await;
            }
        }
    }

    /// Registers, or sends a heartbeat.
    async fn show_up(&mut self) {
        let Some(to) = users::find_leader(&self.cluster, &mut self.random) else { return };
        let (id, held, registered) = (self.id.clone(), self.held.clone(), self.registered);
        let work = move |s: Server| -> BoxFuture<'static, Reply<NodeAnswer>> {
            Box::pin(async move {
                if registered {
                    return node_rpc::update_status(&s, &id, &SECRET.into(), held.expose(), NodeStatus::Ready).await;
                }
                let mut node = node(&id);
                node.secret_id = SECRET.into();
                node.status = NodeStatus::Ready;
                node_rpc::register(&s, node, held.expose()).await
            })
        };
        let begun = self.cluster.sim.now();
        let Some(answer) = self.call(to, work).await else { return };
        self.registered = true;
        self.beat = ids::steady() + answer.heartbeat_ttl / 2;
        if self.cluster.sim.watch.leads(self.cluster.id(to)) {
            self.cluster.sim.watch.beat(&self.id, begun, answer.heartbeat_ttl);
        }
        if !answer.signed_identity.is_empty() {
            self.held = answer.signed_identity;
        }
    }

    /// Reads the allocations to run from any server, and reports their statuses.
    async fn look(&mut self) {
        let servers = self.cluster.servers();
        let Some(at) = self.random.pick(&servers).map(|s| s.0) else { return };
        let id = self.id.clone();
        let listed = self.call(at, move |s| {
            Box::pin(async move {
                let (allocs, index) = node_rpc::client_allocs(&s, &id, &SECRET.into(), 0, Duration::ZERO).await?;
                let wanted: Vec<String> = allocs.into_keys().collect();
                Ok((node_rpc::allocs(&s, &id, &SECRET.into(), &wanted, index).await?.0, index))
            })
        });
        let Some((allocs, index)) = listed.await else { return };
        // This server may be behind the one contacted before.
        if index >= self.seen {
            self.seen = index;
            self.runs.retain(|id, _| allocs.iter().any(|a| a.id == *id));
            self.allocs = allocs;
        }
        let allocs = self.allocs.clone();
        let reports: Vec<Allocation> = allocs.iter().filter_map(|a| self.carry_out(a)).collect();
        if reports.is_empty() {
            return;
        }
        let Some(to) = users::find_leader(&self.cluster, &mut self.random) else { return };
        let (id, runs) =
            (self.id.clone(), reports.iter().map(|a| (a.id.to_string(), a.client_status.clone())).collect::<Vec<_>>());
        let work = move |s: Server| -> BoxFuture<'static, Reply<u64>> {
            Box::pin(async move { node_rpc::update_allocs(&s, &id, &SECRET.into(), reports).await })
        };
        if self.call(to, work).await.is_some() {
            self.runs.extend(runs);
        }
    }

    /// The health of an allocation in a deployment: unset at first, then constant.
    fn health(&mut self, a: &Allocation, status: &ClientStatus) -> Option<bool> {
        let known = a.health();
        if known.is_some() || a.deployment_id.is_empty() {
            return known;
        }
        let bad = *status == ClientStatus::Failed || !self.calm.now() && self.random.below(30) == 0;
        let good = *status == ClientStatus::Running && self.random.below(3) > 0;
        (bad || good).then_some(!bad)
    }

    /// The report about an allocation, if there is something to report.
    fn carry_out(&mut self, a: &Allocation) -> Option<Allocation> {
        if a.client_terminal() {
            return None;
        }
        let last = self.runs.get(&*a.id).unwrap_or(&a.client_status).clone();
        let is = |r#type| a.job.as_ref().is_some_and(|j| j.r#type == r#type);
        // A failed allocation of a system job is only replaced with the next evaluation.
        let fails = !is(JobType::System) && !self.calm.now() && self.random.below(300) == 0;
        let status = match &last {
            ClientStatus::Complete | ClientStatus::Failed => last.clone(),
            _ if a.desired_status != DesiredStatus::Run => ClientStatus::Complete,
            ClientStatus::Running if is(JobType::Batch) && self.random.below(20) == 0 => ClientStatus::Complete,
            ClientStatus::Running if fails => ClientStatus::Failed,
            _ => ClientStatus::Running,
        };
        self.cluster
            .sim
            .watch
            .count("reports of failed allocations", u64::from(status != last && status == ClientStatus::Failed));
        let health = self.health(a, &status);
        (status != a.client_status || status != last || health != a.health()).then(|| Allocation {
            task_states: [("t".to_string(), task_state(&status))].into(),
            client_status: status,
            deployment_status: health.map(|h| {
                let mut status = a.deployment_status.clone().unwrap_or_default();
                (status.healthy, status.timestamp) = (Some(h), Time::from_unix_nanos(ids::now()));
                status
            }),
            job: None,
            modify_time: ids::now(),
            ..a.clone()
        })
    }
}
