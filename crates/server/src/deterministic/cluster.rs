//! The servers of a simulation: real servers on simulated disks and a simulated network.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use super::disk::Disk;
use super::network::{Line, Network, Place};
use super::sim::Sim;
use crate::Server;
use crate::server::Links;
use crate::settings::HeartbeatSettings;
use crate::settings::Settings;
use encamp_model::SECOND;
use encamp_model::random::Random;
use encamp_raft::{Peer, ServerId};
use encamp_telemetry::Metrics;

/// The servers, their disks and their network.
pub(crate) struct Cluster {
    /// The simulation.
    pub sim: Arc<Sim>,
    /// The network between them.
    pub network: Network,
    /// The random source of the cluster's driver.
    random: Mutex<Random>,
    members: BTreeMap<ServerId, Peer>,
    settings: Settings,
    disks: Mutex<Vec<Arc<Disk>>>,
}

fn id(at: Place) -> String {
    format!("00000000-0000-4000-8000-{:012x}", at + 1)
}

fn address(at: Place) -> String {
    format!("server-{at}:4647")
}

/// The common settings of all servers.
fn settings(random: &mut Random) -> Settings {
    let mut settings = Settings::new("", "", PathBuf::new());
    settings.snapshot_threshold = 20 + random.below(300);
    settings.snapshot_interval = Duration::from_secs(1 + random.below(10));
    settings.trailing_logs = 1 + random.below(60);
    settings.num_schedulers = 2;
    settings.plan_pipeline = 1 + random.below(2) as usize;
    settings.heartbeat =
        HeartbeatSettings { min_ttl: 4 * SECOND, grace: 3 * SECOND, failover_ttl: 20 * SECOND, ..Default::default() };
    settings
}

impl Cluster {
    /// Creates a cluster from a seed; no server is running yet.
    pub(crate) fn new(seed: u64, sim: &Arc<Sim>) -> Arc<Cluster> {
        let mut random = Random::new(seed, "cluster");
        let size = if random.below(4) == 0 { 5 } else { 3 };
        let ids: Vec<ServerId> = (0..size).map(|at| id(at).parse().expect("an ID")).collect();
        let slow = random.below(3) == 0;
        let disks = (0..size).map(|_| Disk::new(Random::new(random.number(), "disk"), slow)).collect();
        let settings = settings(&mut random);
        let peer = |at| Peer { name: format!("server-{at}.global"), address: address(at) };
        Arc::new(Cluster {
            sim: sim.clone(),
            network: Network::new(seed, sim.clone(), &ids),
            random: Mutex::new(random),
            members: ids.into_iter().zip((0..size).map(peer)).collect(),
            settings,
            disks: Mutex::new(disks),
        })
    }

    fn disks(&self) -> MutexGuard<'_, Vec<Arc<Disk>>> {
        self.disks.lock()
    }

    /// A random stream.
    pub(crate) fn chance(&self, purpose: &str) -> Random {
        Random::new(self.random.lock().number(), purpose)
    }

    /// The number of servers of the cluster.
    pub(crate) fn size(&self) -> usize {
        self.members.len()
    }

    /// Starts all servers, which bootstrap a cluster.
    pub(crate) async fn begin(&self) {
        for at in 0..self.size() {
            self.start(at).await;
        }
        if let Some(first) = self.network.server(0)
            && let Err(e) = first.consensus().make_cluster(self.members.clone()).await
        {
            self.sim.broken(&format!("the cluster was not bootstrapped: {e}"));
        }
    }

    /// Starts a server with the contents of its disk.
    pub(crate) async fn start(&self, at: Place) {
        let start = self.network.begin(at);
        let disk = format!("{at}-{start}");
        self.sim.note(format_args!("server {at} starts"));
        self.sim.mount(&disk, self.disks()[at].clone());
        let settings = Settings {
            id: id(at),
            name: format!("server-{at}"),
            rpc_address: address(at),
            data_dir: PathBuf::from(format!("/simulated/{disk}")),
            ..self.settings.clone()
        };
        let end = self.network.end(at, start);
        let links = Links { transport: Arc::new(Line(end.clone())), others: Arc::new(Line(end)), alone: false };
        match Server::join(settings, Metrics::default(), links).await {
            Ok(server) => self.network.join(at, server),
            Err(e) => self.sim.broken(&format!("server {at} does not start: {e}")),
        }
    }

    /// Cuts the power of a server: it cannot send anything any more, and its disk retains only durable data.
    pub(crate) fn crash(&self, at: Place) {
        let Some(gone) = self.network.leave(at) else { return };
        let (disk, damage) = self.disks()[at].after_crash();
        self.sim.note(format_args!("server {at} crashes: {} writes lost, {} torn", damage.lost, damage.torn));
        self.disks()[at] = disk;
        self.sim.watch.count("crashes", 1);
        self.sim.watch.count("writes lost", damage.lost);
        self.sim.watch.count("writes torn", damage.torn);
        tokio::spawn(async move { gone.shutdown().await });
    }

    /// Whether a server has pending writes.
    pub(crate) fn writes(&self, at: Place) -> bool {
        self.disks()[at].busy()
    }

    /// Whether a server is running.
    pub(crate) fn runs(&self, at: Place) -> bool {
        self.network.server(at).is_some()
    }

    /// The running servers.
    pub(crate) fn servers(&self) -> Vec<(Place, Server)> {
        (0..self.size()).filter_map(|at| Some((at, self.network.server(at)?))).collect()
    }

    /// The server that is the leader to its own knowledge.
    pub(crate) fn leader(&self) -> Option<(Place, Server)> {
        self.servers().into_iter().find(|(_, s)| s.consensus().leadership().borrow().is_leader)
    }

    /// Reports a violation if a server has stopped: no injected fault may cause that.
    pub(crate) fn check_running(&self) {
        for (at, server) in self.servers() {
            if let Some(why) = server.consensus().stopped() {
                self.sim.broken(&format!("server {at} has stopped: {why}"));
            }
        }
    }

    /// Stops all servers, and waits for the remaining threads.
    pub(crate) async fn end(&self) {
        for at in 0..self.size() {
            if let Some(server) = self.network.leave(at) {
                server.shutdown().await;
            }
        }
        for _ in 0..2000 {
            if self.sim.guests() == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        self.sim.broken(&format!("{} threads did not end", self.sim.guests()));
    }
}
