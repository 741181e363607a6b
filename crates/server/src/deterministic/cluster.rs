//! The servers of a simulation: real servers on simulated disks and a simulated network.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use super::disk::Disk;
use super::members;
use super::network::{Line, Network, Place};
use super::sim::{self, Bug, Sim};
use crate::Server;
use crate::server::Links;
use crate::settings::HeartbeatSettings;
use crate::settings::Settings;
use encamp_host::simulation::on;
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
    /// How many servers bootstrap the cluster: those at the first places.
    founders: usize,
    /// Whether servers look after their members.
    churn: bool,
    settings: Settings,
    disks: Mutex<Vec<Arc<Disk>>>,
    lives: Mutex<Vec<Life>>,
    /// Where nodes begin.
    first_node: AtomicUsize,
    /// Whether files were damaged on purpose.
    rots: AtomicBool,
    /// All servers that there ever were, and where.
    known: Mutex<Vec<(ServerId, Place)>>,
}

/// Whether a server is away on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Absence {
    /// It runs, or will run again.
    None,
    /// It left, or was forced to leave.
    Left,
}

/// What has become of the server at a place.
#[derive(Debug, Clone, Copy)]
struct Life {
    /// How many servers there were at this place, each with a disk of its own.
    generation: u64,
    absence: Absence,
    /// When it last started: a true time.
    started: i64,
}

/// Places of servers that join later.
const SPARE: usize = 2;

fn id(at: Place, generation: u64) -> ServerId {
    format!("{generation:08x}-0000-4000-8000-{:012x}", at + 1).parse().expect("an ID")
}

fn peer(at: Place) -> Peer {
    Peer { name: format!("server-{at}.global"), address: address(at) }
}

fn address(at: Place) -> String {
    format!("server-{at}:4647")
}

/// The common settings of all servers.
fn settings(random: &mut Random, churn: bool) -> Settings {
    let mut settings = Settings::new("", "", PathBuf::new());
    settings.snapshot_threshold = 20 + random.below(300);
    settings.snapshot_interval = Duration::from_secs(1 + random.below(10));
    settings.trailing_logs = 1 + random.below(60);
    settings.num_schedulers = 2;
    settings.plan_pipeline = 1 + random.below(2) as usize;
    settings.heartbeat =
        HeartbeatSettings { min_ttl: 4 * SECOND, grace: 3 * SECOND, failover_ttl: 20 * SECOND, ..Default::default() };
    if churn {
        let preemption = &mut settings.scheduler_config.preemption_config;
        (preemption.service_scheduler_enabled, preemption.batch_scheduler_enabled) = (true, random.below(2) == 0);
        let gc = &mut settings.gc;
        (gc.job_interval, gc.job_threshold) = (20 * SECOND, COLLECTED_AFTER);
        (gc.eval_threshold, gc.batch_eval_threshold) = (COLLECTED_AFTER, COLLECTED_AFTER);
    }
    settings
}

/// How old what is collected has to be, in nanoseconds.
pub(crate) const COLLECTED_AFTER: i64 = 60 * SECOND;

impl Cluster {
    /// Creates a cluster from a seed; no server is running yet.
    pub(crate) fn new(seed: u64, sim: &Arc<Sim>) -> Arc<Cluster> {
        Cluster::with(seed, sim, false)
    }

    /// [`Cluster::new`]; with `churn`, servers look after the members, and there are places for more servers.
    pub(crate) fn with(seed: u64, sim: &Arc<Sim>, churn: bool) -> Arc<Cluster> {
        let mut random = Random::new(seed, "cluster");
        let founders = if random.below(4) == 0 { 5 } else { 3 };
        let size = founders + if churn { SPARE } else { 0 };
        let ids: Vec<ServerId> = (0..size).map(|at| id(at, 0)).collect();
        let slow = random.below(3) == 0;
        let disks = (0..size).map(|_| Disk::new(Random::new(random.number(), "disk"), slow)).collect();
        let settings = settings(&mut random, churn);
        let absence = |at| if at < founders { Absence::None } else { Absence::Left };
        let life = |at| Life { generation: 0, absence: absence(at), started: 0 };
        Arc::new(Cluster {
            sim: sim.clone(),
            network: Network::new(seed, sim.clone(), &ids),
            random: Mutex::new(random),
            founders,
            churn,
            settings,
            disks: Mutex::new(disks),
            lives: Mutex::new((0..size).map(life).collect()),
            first_node: AtomicUsize::new(usize::MAX),
            rots: AtomicBool::new(false),
            known: Mutex::new(ids.into_iter().zip(0..size).take(founders).collect()),
        })
    }

    fn disks(&self) -> MutexGuard<'_, Vec<Arc<Disk>>> {
        self.disks.lock()
    }

    /// A random stream.
    pub(crate) fn chance(&self, purpose: &str) -> Random {
        Random::new(self.random.lock().number(), purpose)
    }

    /// The number of places for servers.
    pub(crate) fn size(&self) -> usize {
        self.lives.lock().len()
    }

    /// The place after which there are nodes alone.
    pub(crate) fn first_node(&self) -> Place {
        self.first_node.load(Ordering::Relaxed)
    }

    /// Says where nodes begin.
    pub(crate) fn set_first_node(&self, at: Place) {
        self.first_node.store(at, Ordering::Relaxed);
    }

    /// Whether servers join and leave, and clocks are wrong.
    pub(crate) fn churns(&self) -> bool {
        self.churn
    }

    /// How many servers bootstrap the cluster.
    pub(crate) fn founders(&self) -> usize {
        self.founders
    }

    /// The ID of the server at a place.
    pub(crate) fn id(&self, at: Place) -> ServerId {
        id(at, self.lives.lock()[at].generation)
    }

    /// All servers that there ever were, and whether they are away on purpose.
    pub(crate) fn everyone(&self) -> Vec<(ServerId, Peer, Place, Absence)> {
        let lives = self.lives.lock();
        let of = |(known, at): &(ServerId, Place)| {
            let life = lives[*at];
            let absence = if id(*at, life.generation) == *known { life.absence } else { Absence::None };
            (*known, peer(*at), *at, absence)
        };
        self.known.lock().iter().map(of).collect()
    }

    /// When the server at a place last started: a true time.
    pub(crate) fn started(&self, at: Place) -> i64 {
        self.lives.lock()[at].started
    }

    /// Whether no server is or will be at a place.
    pub(crate) fn is_idle(&self, at: Place) -> bool {
        self.lives.lock()[at].absence == Absence::Left && !self.runs(at)
    }

    /// Says that a server is away on purpose.
    pub(crate) fn absent(&self, at: Place) {
        self.lives.lock()[at].absence = Absence::Left;
    }

    /// Puts an empty disk into a place: its server is another one.
    pub(crate) fn renew(&self, at: Place) {
        let slow = self.random.lock().below(3) == 0;
        self.disks()[at] = Disk::new(self.chance("disk"), slow);
        let life = &mut self.lives.lock()[at];
        life.generation += 1;
        self.network.rename(at, id(at, life.generation));
    }

    /// Whether a server gets messages of another one and answers them.
    pub(crate) fn reaches(&self, from: Place, to: Place) -> bool {
        self.runs(to) && !self.sim.clocks.is_stopped(to) && self.network.connects(from, to)
    }

    /// Starts the servers at the first places, which bootstrap a cluster.
    pub(crate) async fn begin(self: &Arc<Self>) {
        for at in 0..self.founders {
            self.start(at).await;
        }
        let members = (0..self.founders).map(|at| (id(at, 0), peer(at))).collect();
        if let Some(first) = self.network.server(0)
            && let Err(e) = on(0, first.consensus().make_cluster(members)).await
        {
            self.sim.broken(&format!("the cluster was not bootstrapped: {e}"));
        }
    }

    /// Starts a server with the contents of its disk.
    pub(crate) async fn start(self: &Arc<Self>, at: Place) {
        let own = {
            let life = &mut self.lives.lock()[at];
            (life.absence, life.started) = (Absence::None, self.sim.now());
            id(at, life.generation)
        };
        {
            let mut known = self.known.lock();
            if !known.contains(&(own, at)) {
                known.push((own, at));
            }
        }
        let start = self.network.begin(at);
        let disk = format!("{at}-{start}");
        self.sim.note(format_args!("server {at} starts"));
        self.sim.mount(&disk, self.disks()[at].clone());
        let settings = Settings {
            id: own.to_string(),
            name: format!("server-{at}"),
            rpc_address: address(at),
            data_dir: PathBuf::from(format!("/simulated/{disk}")),
            raft_multiplier: if sim::has(Bug::LongLease) && at == 0 { 10 } else { self.settings.raft_multiplier },
            ..self.settings.clone()
        };
        let end = self.network.end(at, start);
        let links = Links { transport: Arc::new(Line(end.clone())), others: Arc::new(Line(end)), alone: false };
        match on(at, Server::join(settings, Metrics::default(), links)).await {
            Ok(server) => {
                let health = server.consensus().storage_health();
                if !self.rots.load(Ordering::Relaxed) && (health.in_doubt || !health.damages.is_empty()) {
                    self.sim.broken(&format!("server {at} finds damage that nobody did: {health:?}"));
                }
                if self.churn {
                    tokio::spawn(on(at, members::look_after(self.clone(), at, start, server.clone())));
                }
                self.network.join(at, server);
            }
            Err(e) => self.sim.broken(&format!("server {at} does not start: {e}")),
        }
    }

    /// Cuts the power of a server: it cannot send anything any more, and its disk retains only durable data.
    pub(crate) fn crash(&self, at: Place) {
        let Some(gone) = self.network.leave(at) else { return };
        self.sim.clocks.start(at, self.sim.now());
        let (disk, damage) = self.disks()[at].after_crash();
        self.sim.note(format_args!("server {at} crashes: {} writes lost, {} torn", damage.lost, damage.torn));
        self.disks()[at] = disk;
        self.sim.watch.count("crashes", 1);
        self.sim.watch.count("writes lost", damage.lost);
        self.sim.watch.count("writes torn", damage.torn);
        tokio::spawn(on(at, async move { gone.shutdown().await }));
    }

    /// Ends the process of a server at once: its disk has all that it wrote.
    pub(crate) fn kill(&self, at: Place) {
        let Some(gone) = self.network.leave(at) else { return };
        self.sim.clocks.start(at, self.sim.now());
        self.sim.note(format_args!("server {at} is killed"));
        let disk = self.disks()[at].after_kill();
        self.disks()[at] = disk;
        tokio::spawn(on(at, async move { gone.shutdown().await }));
    }

    /// The disk of a server that does not run, to damage its files.
    pub(crate) fn rotten_disk(&self, at: Place) -> Arc<Disk> {
        self.rots.store(true, Ordering::Relaxed);
        self.disks()[at].clone()
    }

    /// Ends a server as its agent does, with all of its data on its disk.
    pub(crate) async fn halt(&self, at: Place) {
        let Some(gone) = self.network.leave(at) else { return };
        self.sim.clocks.start(at, self.sim.now());
        self.sim.note(format_args!("server {at} ends"));
        on(at, gone.shutdown()).await;
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
                on(at, server.shutdown()).await;
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
