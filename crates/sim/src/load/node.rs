//! A simulated node: it registers, sends heartbeats, pulls allocations and reports them as a real one does
//! (`docs/spec/client.md §3, §6, §7`), by the same calls and the same rules. Its tasks are not processes: they run at
//! once and end when they are asked to stop.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Semaphore;

use super::tally::Tally;
use encamp_client::clock;
use encamp_client::policy::{backoff, pull};
use encamp_client::servers::{Credentials, Servers, ServersError};
use encamp_model::random::Random;
use encamp_model::responses::NodeUpdateResponse;
use encamp_model::*;

/// How long a request for allocations waits for news.
const BLOCK: Duration = Duration::from_secs(300);
/// How often reports are sent.
const REPORT: Duration = Duration::from_millis(200);

/// The state of a node while it is disconnected.
#[derive(Debug, Default)]
struct Memory {
    /// AllocModifyIndex of what it holds.
    known: pull::Known,
    /// The tasks of what runs.
    tasks: HashMap<String, Vec<Box<str>>>,
    /// The reports that the servers have not received yet.
    reports: Vec<Allocation>,
    /// The allocations that run and will count as healthy, with the time from which they do, in the order in which they
    /// began to run.
    waiting: Vec<(i64, Allocation)>,
}

impl Memory {
    /// Reports what has run long enough.
    fn judge(&mut self, now: i64) {
        let Memory { reports, waiting, .. } = self;
        reports.extend(waiting.extract_if(.., |(at, _)| *at <= now).map(|(_, report)| report));
    }
}

/// A node.
pub(crate) struct SimNode {
    node: Node,
    memory: Mutex<Memory>,
    random: Mutex<Random>,
    tally: Arc<Tally>,
    /// Waits are as short as in development mode.
    quick: bool,
}

/// Counts a node while it lives.
struct Live(Arc<Tally>);

impl Drop for Live {
    fn drop(&mut self) {
        Tally::take(&self.0.live, 1);
    }
}

impl SimNode {
    /// A node that has not started yet. `node` has an ID and a secret; `seed` decides its waits.
    pub(crate) fn new(node: Node, seed: u64, quick: bool, tally: Arc<Tally>) -> SimNode {
        let random = Mutex::new(Random::new(seed, &node.id));
        SimNode { node, memory: Mutex::default(), random, tally, quick }
    }

    /// Its ID.
    pub(crate) fn id(&self) -> &str {
        &self.node.id
    }

    /// Whether it runs allocations.
    pub(crate) fn is_used(&self) -> bool {
        !self.memory.lock().tasks.is_empty()
    }

    async fn pause(&self, draw: impl FnOnce(&mut Random) -> i64) {
        let nanos = draw(&mut self.random.lock());
        tokio::time::sleep(duration::of_nanos(nanos)).await;
    }

    /// Runs until it is dropped. `gate` bounds how many register at once.
    pub(crate) async fn live(&self, servers: &dyn Servers, gate: &Semaphore) {
        let who = Mutex::new(Credentials {
            node_id: self.node.id.clone(),
            secret_id: self.node.secret_id.clone(),
            identity: SecretString::default(),
        });
        self.register(servers, &who, gate).await;
        Tally::add(&self.tally.live, 1);
        let _live = Live(self.tally.clone());
        tokio::join!(self.beat(servers, &who, gate), self.watch(servers, &who), self.report(servers, &who));
    }

    fn answered(&self, servers: &dyn Servers, who: &Mutex<Credentials>, reply: &NodeUpdateResponse, sent: i64) {
        servers.learn(&reply.servers);
        self.tally.ttl_until(sent.saturating_add(reply.heartbeat_ttl));
        if !reply.signed_identity.is_empty() {
            who.lock().identity.clone_from(&reply.signed_identity);
        }
    }

    async fn register(&self, servers: &dyn Servers, who: &Mutex<Credentials>, gate: &Semaphore) {
        loop {
            let sent = clock::now();
            let permit = gate.acquire().await;
            let answer = servers.register(&self.node, identity(who).expose()).await;
            drop(permit);
            match answer {
                Ok(reply) => return self.answered(servers, who, &reply, sent),
                Err(error) => {
                    Tally::add(&self.tally.errors, 1);
                    self.pause(|r| backoff::registration(self.quick, error == ServersError::NoServers, r)).await;
                }
            }
        }
    }

    async fn beat(&self, servers: &dyn Servers, who: &Mutex<Credentials>, gate: &Semaphore) {
        let mut last = None;
        self.pause(|r| backoff::first_heartbeat(self.quick, r)).await;
        loop {
            let (me, sent) = (credentials(who), clock::now());
            match servers.update_status(&me, NodeStatus::Ready, false).await {
                Ok(reply) => {
                    Tally::add(&self.tally.beats, 1);
                    if last.is_some() && reply.index != 0 && reply.signed_identity.is_empty() {
                        Tally::add(&self.tally.expired, 1);
                    }
                    last = Some((sent, reply.heartbeat_ttl));
                    self.answered(servers, who, &reply, sent);
                    self.pause(|_| reply.heartbeat_ttl).await;
                }
                Err(ServersError::NodeNotFound) => {
                    self.register(servers, who, gate).await;
                    self.pause(|r| backoff::first_heartbeat(self.quick, r)).await;
                }
                Err(_) => {
                    Tally::add(&self.tally.errors, 1);
                    self.pause(|r| backoff::heartbeat(self.quick, last, clock::now(), r)).await;
                }
            }
        }
    }

    async fn watch(&self, servers: &dyn Servers, who: &Mutex<Credentials>) {
        let (mut min_index, mut first) = (0, true);
        loop {
            match self.pull(servers, &credentials(who), min_index, first).await {
                Ok(index) if index > min_index => (min_index, first) = (index, false),
                // Servers that answer old news at once must not be asked in a hurry.
                Ok(_) => self.pause(|_| 10_000_000).await,
                Err(_) => {
                    Tally::add(&self.tally.errors, 1);
                    self.pause(|r| backoff::pull(self.quick, r)).await;
                }
            }
        }
    }

    /// One look at what there is to run; gives the index of what was seen in full.
    async fn pull(
        &self,
        servers: &dyn Servers,
        who: &Credentials,
        min_index: u64,
        first: bool,
    ) -> Result<u64, ServersError> {
        let listed = servers.client_allocs(who, min_index, BLOCK, first).await?;
        if listed.index <= min_index {
            return Ok(min_index);
        }
        let wanted = pull::plan(&listed.allocs, &self.memory.lock().known, &BTreeSet::new());
        let mut pulled = BTreeMap::new();
        if !wanted.pull.is_empty() {
            let reply = servers.allocs(who, &wanted.pull, wanted.newest.saturating_sub(1)).await?;
            pulled.extend(reply.allocs.into_iter().map(|a| (a.id.clone(), a)));
            if wanted.pull.iter().any(|id| !pulled.contains_key(id)) {
                return Ok(min_index);
            }
        }
        self.apply(&pulled, &wanted.filtered);
        Ok(listed.index)
    }

    /// Starts what is new, and stops what is to stop.
    fn apply(&self, pulled: &BTreeMap<String, Arc<Allocation>>, filtered: &BTreeSet<String>) {
        let now = clock::now();
        let mut memory = self.memory.lock();
        let indexes = pulled.iter().map(|(id, a)| (id.clone(), a.alloc_modify_index)).collect();
        let changes = pull::changes(&indexes, filtered, &memory.known);
        for id in &changes.removed {
            memory.known.remove(id);
            if memory.tasks.remove(id).is_some() {
                Tally::take(&self.tally.running, 1);
            }
        }
        for a in changes.added.iter().chain(&changes.updated).filter_map(|id| pulled.get(id)) {
            memory.known.insert(a.id.clone(), a.alloc_modify_index);
            let runs = memory.tasks.contains_key(&a.id);
            // An allocation that the servers considered lost is reported again.
            let again = runs && a.client_status == ClientStatus::Unknown;
            if a.server_terminal() {
                memory.waiting.retain(|(_, report)| report.id != a.id);
                if let Some(tasks) = memory.tasks.remove(&a.id) {
                    Tally::take(&self.tally.running, 1);
                    memory.reports.push(report(a, &tasks, false, now));
                } else if !a.client_terminal() {
                    memory.reports.push(report(a, &[], false, now));
                }
            } else if !a.client_terminal() && (!runs || again) {
                let tasks: Vec<Box<str>> =
                    a.group().map_or_else(Vec::new, |g| g.tasks.iter().map(|t| t.name.as_str().into()).collect());
                let runs = report(a, &tasks, true, now);
                if !a.deployment_id.is_empty() {
                    let at = now.saturating_add(least_healthy_time(a));
                    memory.waiting.push((at, healthy(&runs, a.is_canary(), at)));
                }
                memory.reports.push(runs);
                if memory.tasks.insert(a.id.clone(), tasks).is_none() {
                    Tally::add(&self.tally.running, 1);
                }
            }
        }
    }

    async fn report(&self, servers: &dyn Servers, who: &Mutex<Credentials>) {
        let mut every = tokio::time::interval(REPORT);
        every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            every.tick().await;
            let mut reports = {
                let mut memory = self.memory.lock();
                memory.judge(clock::now());
                std::mem::take(&mut memory.reports)
            };
            if reports.is_empty() {
                continue;
            }
            while let Err(error) = servers.update_allocs(&credentials(who), reports.clone()).await {
                Tally::add(&self.tally.errors, 1);
                if matches!(error, ServersError::NodeNotFound) {
                    reports.clear();
                    break;
                }
                self.pause(|r| backoff::report(self.quick, r)).await;
            }
            // Those that never ran here have no tasks.
            let stopped = |r: &&Allocation| r.client_status == ClientStatus::Complete && !r.task_states.is_empty();
            Tally::add(&self.tally.stopped, reports.iter().filter(stopped).count());
        }
    }
}

fn credentials(who: &Mutex<Credentials>) -> Credentials {
    who.lock().clone()
}

fn identity(who: &Mutex<Credentials>) -> SecretString {
    who.lock().identity.clone()
}

/// The report of a node about an allocation: only the fields that are its own.
fn report(a: &Allocation, tasks: &[Box<str>], runs: bool, now: i64) -> Allocation {
    let time = Time::from_unix_nanos(now);
    let state = TaskState {
        state: if runs { TaskStatus::Running } else { TaskStatus::Dead },
        started_at: time,
        finished_at: if runs { Time::ZERO } else { time },
        ..Default::default()
    };
    Allocation {
        id: a.id.clone(),
        node_id: a.node_id.clone(),
        client_status: if runs { ClientStatus::Running } else { ClientStatus::Complete },
        task_states: tasks.iter().map(|t| (t.to_string(), state.clone())).collect(),
        ..Default::default()
    }
}

/// How long an allocation of a deployment runs before it counts as healthy, in nanoseconds.
fn least_healthy_time(a: &Allocation) -> i64 {
    a.group().and_then(|g| g.update.as_ref()).map_or(0, |u| u.min_healthy_time)
}

/// The report that something runs well.
fn healthy(runs: &Allocation, canary: bool, at: i64) -> Allocation {
    let timestamp = Time::from_unix_nanos(at);
    let status = AllocDeploymentStatus { healthy: Some(true), timestamp, canary, ..Default::default() };
    Allocation { deployment_status: Some(status), ..runs.clone() }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use encamp_client::servers::Answer;
    use encamp_model::responses::{AllocsGetResponse, NodeClientAllocsResponse};

    /// A server with one allocation, which is asked to stop once it was reported as running.
    #[derive(Default)]
    struct OneAlloc {
        index: Mutex<u64>,
        received: Mutex<Vec<Allocation>>,
    }

    impl OneAlloc {
        fn index(&self) -> u64 {
            *self.index.lock()
        }
    }

    fn ready<'a, T: Send + 'a>(value: T) -> Answer<'a, T> {
        Box::pin(std::future::ready(Ok(value)))
    }

    impl Servers for OneAlloc {
        fn register<'a>(&'a self, node: &'a Node, _: &'a str) -> Answer<'a, NodeUpdateResponse> {
            assert_eq!((&node.status, node.secret_id.expose()), (&NodeStatus::Initializing, "s"));
            *self.index.lock() = 5;
            ready(NodeUpdateResponse { servers: vec!["x:1".into()], heartbeat_ttl: SECOND, ..Default::default() })
        }

        fn update_status<'a>(
            &'a self,
            who: &'a Credentials,
            status: NodeStatus,
            _: bool,
        ) -> Answer<'a, NodeUpdateResponse> {
            assert_eq!((who.node_id.as_str(), status), ("n", NodeStatus::Ready));
            ready(NodeUpdateResponse { heartbeat_ttl: SECOND / 100, ..Default::default() })
        }

        fn client_allocs<'a>(
            &'a self,
            _: &'a Credentials,
            min_index: u64,
            _: Duration,
            _: bool,
        ) -> Answer<'a, NodeClientAllocsResponse> {
            Box::pin(async move {
                while self.index() <= min_index {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                Ok(NodeClientAllocsResponse { allocs: [("a".into(), self.index())].into(), index: self.index() })
            })
        }

        fn allocs<'a>(&'a self, _: &'a Credentials, ids: &'a [String], _: u64) -> Answer<'a, AllocsGetResponse> {
            assert_eq!(ids, ["a"]);
            let stopped = self.index() > 5;
            let task = Task { name: "t".into(), ..Default::default() };
            let group = TaskGroup { name: "g".into(), tasks: vec![task], ..Default::default() };
            let a = Allocation {
                id: "a".into(),
                node_id: "n".into(),
                task_group: "g".into(),
                deployment_id: "d".into(),
                job: Some(Arc::new(Job { task_groups: vec![group], ..Default::default() })),
                desired_status: if stopped { DesiredStatus::Stop } else { DesiredStatus::Run },
                client_status: ClientStatus::Pending,
                alloc_modify_index: self.index(),
                ..Default::default()
            };
            ready(AllocsGetResponse { allocs: vec![Arc::new(a)], index: self.index() })
        }

        fn update_allocs<'a>(&'a self, _: &'a Credentials, allocs: Vec<Allocation>) -> Answer<'a, u64> {
            self.received.lock().extend(allocs);
            *self.index.lock() += 1;
            ready(self.index())
        }

        fn emit_events<'a>(&'a self, _: &'a Credentials, _: Vec<NodeEvent>) -> Answer<'a, u64> {
            ready(0)
        }

        fn drain_self<'a>(
            &'a self,
            _: &'a Credentials,
            _: DrainStrategy,
            _: BTreeMap<String, String>,
        ) -> Answer<'a, u64> {
            ready(0)
        }

        fn node<'a>(&'a self, _: &'a Credentials) -> Answer<'a, Option<Arc<Node>>> {
            ready(None)
        }

        fn known(&self) -> Vec<String> {
            Vec::new()
        }
    }

    #[tokio::test]
    async fn it_runs_what_it_is_given_and_stops_what_it_is_told_to() {
        let status = NodeStatus::Initializing;
        let node = Node { id: "n".into(), secret_id: "s".into(), status, ..Default::default() };
        let tally = Arc::new(Tally::default());
        let (sim, servers) = (SimNode::new(node, 1, true, tally.clone()), OneAlloc::default());
        let gate = Semaphore::new(1);
        let over = async {
            let end = Instant::now() + Duration::from_secs(30);
            while servers.received.lock().len() < 3 || Tally::get(&tally.beats) < 2 {
                assert!(Instant::now() < end, "{tally:?}");
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            () = sim.live(&servers, &gate) => unreachable!("it never ends"),
            () = over => {}
        }
        let received = servers.received.lock();
        let [run, well, stop] = &received[..] else { panic!("{received:?}") };
        assert_eq!((&run.client_status, run.health()), (&ClientStatus::Running, None));
        assert_eq!((&well.client_status, well.health()), (&ClientStatus::Running, Some(true)));
        let state = |a: &Allocation| a.task_states.get("t").expect("a state").state;
        assert_eq!((state(run), state(stop)), (TaskStatus::Running, TaskStatus::Dead));
        assert_eq!((&stop.client_status, stop.deployment_status.is_none()), (&ClientStatus::Complete, true));
        let counts = [&tally.live, &tally.expired, &tally.errors, &tally.running, &tally.stopped].map(Tally::get);
        assert_eq!(counts, [0, 0, 0, 0, 1]);
        assert!(tally.last_ttl() > 0);
    }
}
