//! A run: a cluster, its clients, faults, and the wait until it has settled.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::cluster::Cluster;
use super::nodes::Node;
use super::registers::{self, History, Register};
use super::sim::{Bug, Sim};
use super::users::Stop;
use super::watchers::{self, Watched};
use super::{faults, jobs, rest, rot, starved};
use crate::leadership::level;
use encamp_host::ids;
use encamp_host::simulation::on;
use encamp_linear::Did;
use encamp_model::capability::CapabilityLevel;
use encamp_model::random::Random;

/// The number of register clients.
const CLIENTS: usize = 3;

/// The result of a seed.
pub(crate) struct Outcome {
    /// The first violation, with the preceding trace.
    pub broken: Option<String>,
    /// A digest of the trace: the same for the same seed.
    pub digest: u64,
    /// Occurrences with their counts.
    pub counts: BTreeMap<&'static str, u64>,
}

/// What happens in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Half a minute with many faults; the servers stay the same, and their clocks are right.
    Dense,
    /// The same, while servers join and leave, clocks are wrong, and clients watch.
    Churn,
    /// Six minutes or more of it, at a lower rate.
    Long,
    /// Files of servers are damaged.
    Rot,
    /// Servers get no processor for seconds at a time.
    Starved,
}

impl Kind {
    /// Whether servers join and leave and clocks are wrong.
    pub(crate) fn churns(self) -> bool {
        matches!(self, Kind::Churn | Kind::Long)
    }

    /// How many times as long all pauses are as in the densest run.
    pub(crate) fn slowness(self) -> u32 {
        if self == Kind::Long { 3 } else { 1 }
    }

    /// How long faults happen.
    fn lasts(self, random: &mut Random) -> Duration {
        match self {
            Kind::Dense => Duration::from_secs(8 + random.below(25)),
            Kind::Churn => Duration::from_secs(40 + random.below(40)),
            Kind::Rot => Duration::from_secs(20 + random.below(20)),
            Kind::Starved => Duration::from_secs(150),
            Kind::Long => Duration::from_secs(360 + random.below(120)),
        }
    }
}

/// Runs a seed.
pub(crate) fn run(seed: u64, kind: Kind, bug: Option<Bug>, aloud: bool) -> Outcome {
    let sim = Sim::new(seed, bug, aloud);
    let _inside = sim.enter();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(live(seed, kind, &sim));
    let broken = sim.verdict().map(|why| format!("{why}\n{}", sim.last_lines()));
    Outcome { broken, digest: sim.digest(), counts: sim.watch.counts() }
}

/// Raises the level of the cluster, if the leader has not done so. A lost answer is not repeated before the next look.
async fn raise_level(cluster: &Cluster) {
    let Some((_, leader)) = cluster.leader() else { return };
    if leader.snapshot().capability_level() < CapabilityLevel::BUILD {
        let raised = tokio::time::timeout(Duration::from_secs(1), level::raise(&leader, CapabilityLevel::BUILD)).await;
        if raised.is_ok_and(|raised| raised.is_ok()) {
            cluster.sim.watch.count("raised capability levels", 1);
        }
    }
}

/// Starts the clients that wait for news.
fn watch(
    users: &mut tokio::task::JoinSet<()>,
    cluster: &Arc<Cluster>,
    next_place: &mut impl FnMut() -> usize,
    watched: &Arc<Watched>,
    stop: &Stop,
) {
    for stale in [false, true] {
        users.spawn(watchers::reader(cluster.clone(), next_place(), watched.clone(), stale, stop.clone()));
        users.spawn(watchers::subscriber(cluster.clone(), next_place(), watched.clone(), stop.clone()));
    }
    for _ in 0..3 {
        users.spawn(watchers::holder(cluster.clone(), next_place(), watched.clone(), stop.clone()));
    }
}

async fn live(seed: u64, kind: Kind, sim: &Arc<Sim>) {
    sim.begin();
    let cluster = Cluster::with(seed, sim, kind.churns());
    let mut random = cluster.chance("run");
    cluster.begin().await;
    let (stop, calm) = (Stop::default(), Stop::default());
    let history = Arc::new(History::default());
    let mut place = cluster.size();
    let mut next_place = || {
        place += 1;
        place - 1
    };
    let mut users = tokio::task::JoinSet::new();
    for _ in 0..CLIENTS {
        users.spawn(registers::client(cluster.clone(), next_place(), history.clone(), kind.slowness(), stop.clone()));
    }
    users.spawn(jobs::operator(cluster.clone(), next_place(), kind.slowness(), stop.clone()));
    let watched = Arc::new(Watched::default());
    if kind.churns() {
        watch(&mut users, &cluster, &mut next_place, &watched, &stop);
    }
    let mut nodes = Vec::new();
    let mut agents = tokio::task::JoinSet::new();
    cluster.set_first_node(next_place());
    for _ in 0..2 + random.below(4) {
        let at = next_place();
        let node = Node::new(cluster.clone(), at, kind.slowness(), calm.clone());
        nodes.push(node.id().to_string());
        agents.spawn(on(at, node.live()));
    }
    let faults = match kind {
        Kind::Rot => tokio::spawn(rot::happen(cluster.clone(), stop.clone())),
        Kind::Starved => tokio::spawn(starved::happen(cluster.clone(), stop.clone())),
        Kind::Dense | Kind::Churn | Kind::Long => {
            tokio::spawn(faults::happen(cluster.clone(), kind, next_place(), stop.clone()))
        }
    };
    let end = tokio::time::Instant::now() + kind.lasts(&mut random);
    let raise = tokio::time::Instant::now() + Duration::from_secs(random.below(8));
    while tokio::time::Instant::now() < end && sim.verdict().is_none() {
        tokio::time::sleep(Duration::from_millis(200)).await;
        cluster.check_running();
        if tokio::time::Instant::now() > raise {
            raise_level(&cluster).await;
        }
    }
    stop.set();
    calm.set();
    if faults.await.is_err() {
        sim.broken("the faults themselves failed");
    }
    while users.join_next().await.is_some() {}
    rest::come(&cluster, &nodes).await;
    agents.abort_all();
    let levels: Vec<_> = cluster.servers().iter().map(|(_, s)| s.snapshot().capability_level()).collect();
    if levels.windows(2).any(|pair| pair[0] != pair[1]) {
        sim.broken(&format!("the servers have different capability levels: {levels:?}"));
    }
    if sim.verdict().is_none() {
        for (_, server) in cluster.servers() {
            for register in Register::ALL {
                let from = ids::now();
                history.note(register, from, true, Did::Read(register.read(&server).0));
            }
        }
        if let Err(found) = history.check() {
            sim.broken(&found.to_string());
        }
        if let Err(found) = watched.check(&cluster) {
            sim.broken(&found.to_string());
        }
    }
    let (calls, unknown) = history.size();
    sim.watch.count("calls of registers", calls as u64);
    sim.watch.count("calls of registers without an answer", unknown as u64);
    sim.watch.count("seconds", sim.elapsed().as_secs());
    cluster.end().await;
}
