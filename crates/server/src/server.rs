//! A running server: its start and its end, and what the endpoints need besides its state and the write path.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

use crate::acl::{Access, Denied, Resolver};
use crate::error::Error;
use crate::frozen;
use crate::leadership::leader;
use crate::leading::Leading;
use crate::nodes::alloc_updates::AllocUpdates;
use crate::other_agents::servers::OtherServers;
use crate::pipeline::applier::Applier;
use crate::pipeline::worker::Worker;
use crate::pipeline::workers::{Workers, WorkersError};
use crate::queues::Queues;
use crate::server_state::ServerState;
use crate::settings::Settings;
use crate::storage::machine::StoreMachine;
use encamp_host::ids;
use encamp_host::simulation::here;
use encamp_host::threads;
use encamp_model::token_bucket::TokenBucket;
use encamp_model::{Bytes, JobType, duration};
use encamp_raft::{Consensus, NoTransport, Peer, ServerId, StartError, Transport};
use encamp_state::StateStore;
use encamp_telemetry::Metrics;

/// The rate of answers to waiting nodes per second, for each processor.
const NEWS_RATE: f64 = 250.0;
/// The burst size, in seconds of that rate.
const NEWS_BURST: f64 = 0.4;

/// The cost factor of an answer while evaluations are pending, because more changes for the node will follow.
const NEWS_WHILE_BUSY: f64 = 4.0;

fn node_news() -> TokenBucket {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let rate = NEWS_RATE * processors as f64;
    TokenBucket::per_second(rate, rate * NEWS_BURST)
}

/// A handle on the server; clones share it. It gives what [`Leading`] and [`ServerState`] give.
#[derive(Clone)]
pub struct Server(Arc<Inner>);

struct Inner {
    leading: Leading,
    workers: Arc<Workers>,
    alloc_updates: AllocUpdates,
    node_news: Mutex<TokenBucket>,
    acl: Resolver,
    restores: mpsc::Sender<leader::Restore>,
}

impl Deref for Server {
    type Target = Leading;

    fn deref(&self) -> &Leading {
        &self.0.leading
    }
}

/// A server's connections to other servers.
pub struct Links {
    /// Sends and receives Raft messages.
    pub transport: Arc<dyn Transport>,
    /// Sends calls to other servers.
    pub others: Arc<dyn OtherServers>,
    /// Whether this server bootstraps a single-server cluster if it has no log; otherwise it waits for others.
    pub alone: bool,
}

/// The settings of consensus that follow from those of the server.
fn raft_settings(settings: &Settings, metrics: &Metrics, alone: bool) -> Result<encamp_raft::Settings, StartError> {
    let id: ServerId = settings.id.parse().map_err(|_| StartError::Settings("the server's ID is no UUID".into()))?;
    let peer = Peer { name: format!("{}.{}", settings.name, settings.region), address: settings.rpc_address.clone() };
    let mut raft_settings = encamp_raft::Settings::alone(settings.data_dir.join("raft"), id, peer);
    raft_settings.level = encamp_host::capability::own();
    raft_settings.raft_multiplier = settings.raft_multiplier;
    raft_settings.snapshot_threshold = settings.snapshot_threshold;
    raft_settings.snapshot_interval = settings.snapshot_interval;
    raft_settings.trailing_logs = settings.trailing_logs;
    raft_settings.metrics = metrics.clone();
    if !alone {
        raft_settings.bootstrap.clear();
    }
    Ok(raft_settings)
}

impl Server {
    /// Starts a server as a single-server cluster; see [`Server::join`].
    ///
    /// # Errors
    /// See [`Server::join`].
    pub async fn start(settings: Settings, metrics: Metrics) -> Result<Server, StartError> {
        Server::join(
            settings,
            metrics,
            Links { transport: Arc::new(NoTransport), others: Arc::new(NoTransport), alone: true },
        )
        .await
    }

    /// Opens the data directory, joins the Raft cluster and starts workers and plan applier. Returns before there is a
    /// leader.
    ///
    /// # Errors
    /// See [`StartError`]; threads that cannot be started are reported as settings errors.
    pub async fn join(settings: Settings, metrics: Metrics, links: Links) -> Result<Server, StartError> {
        let raft_settings = raft_settings(&settings, &metrics, links.alone)?;
        let queues = Arc::new(Queues::new(settings.heartbeat));
        queues.broker().set_shedding(settings.shedding);
        let state = ServerState::new(settings, metrics);
        state.store().listen(queues.clone());
        let (store, keyring) = (state.store().clone(), state.keyring().clone());
        let machine = Arc::new(StoreMachine { store, keyring, metrics: state.metrics().clone() });
        let consensus = Consensus::start(raft_settings, machine, links.transport).await?;
        let leading = Leading::new(state, queues, consensus, links.others);
        let workers = Arc::<Workers>::default();
        workers.replace(&leading).map_err(|e| StartError::Settings(format!("can't start workers: {e}")))?;
        let applier = leading.clone();
        threads::spawn("plan-applier", move || Applier::run(applier))
            .map_err(|e| StartError::Settings(format!("can't start the plan applier: {e}")))?;
        let (restores, asked) = mpsc::channel(1);
        tokio::spawn(here(leader::follow(leading.clone(), workers.clone(), asked)));
        tokio::spawn(here(crate::leadership::metrics::of_consensus(leading.clone())));
        Ok(Server::of(leading, workers, restores))
    }

    /// Starts the server of a state that never changes: it answers reads and plans as of [`Settings::as_of`], and refuses
    /// every write. Nothing else happens: no workers, no timers, no garbage collection. The data directory holds nothing
    /// that is of use afterwards.
    ///
    /// # Errors
    /// See [`Server::join`].
    pub async fn frozen(settings: Settings, state: StateStore, metrics: Metrics) -> Result<Server, StartError> {
        let raft_settings = raft_settings(&settings, &metrics, true)?;
        let queues = Arc::new(Queues::new(settings.heartbeat));
        let server = ServerState::new(settings, metrics);
        let state = frozen::complete(state);
        server.store().replace(state.latest_index(), state);
        // Reads ask for a leader: this server leads a cluster of its own.
        let machine = Arc::new(frozen::Machine);
        let consensus = Consensus::start(raft_settings, machine, Arc::new(NoTransport)).await?;
        let mut leadership = consensus.leadership();
        match leadership.wait_for(|l| l.is_leader || l.failed.is_some()).await {
            Ok(now) if now.is_leader => {}
            Ok(now) => return Err(StartError::Raft(now.failed.unwrap_or_default())),
            Err(_) => return Err(StartError::Raft("it ended at once".into())),
        }
        let leading = Leading::new(server, queues, consensus, Arc::new(NoTransport));
        leading.set_ready(true);
        Ok(Server::of(leading, Arc::default(), mpsc::channel(1).0))
    }

    /// A handle on a server that was started.
    fn of(leading: Leading, workers: Arc<Workers>, restores: mpsc::Sender<leader::Restore>) -> Server {
        Server(Arc::new(Inner {
            leading,
            workers,
            alloc_updates: AllocUpdates::default(),
            node_news: Mutex::new(node_news()),
            acl: Resolver::default(),
            restores,
        }))
    }

    /// Stops the server; waits until the log is closed.
    pub async fn shutdown(&self) {
        self.queues().stop();
        self.set_ready(false);
        self.0.workers.stop();
        self.store().unlisten();
        if let Err(e) = self.consensus().shutdown().await {
            tracing::error!(target: "nomad.raft", error = %e, "error shutting down raft");
        }
    }

    /// In-flight allocation updates of nodes.
    pub(crate) fn alloc_updates(&self) -> &AllocUpdates {
        &self.0.alloc_updates
    }

    /// How long a waiting node has to wait for its answer. When thousands of nodes have changes at once, scheduling
    /// takes precedence: a node that waited gets all changes in one answer.
    pub(crate) fn node_news_due(&self) -> Duration {
        let busy = self.queues().broker().has_ready() || self.workers().iter().any(|w| w.busy());
        let mut rate = self.0.node_news.lock();
        let wait = rate.take(ids::steady(), if busy { NEWS_WHILE_BUSY } else { 1.0 });
        duration::of_nanos(wait)
    }

    /// The caller with a secret, and what it may do at `now`, in Unix nanoseconds (`docs/spec/http-api.md §7.7`).
    ///
    /// # Errors
    /// The secret is not valid.
    pub fn resolve(&self, secret: &str, now: i64) -> Result<Access, Denied> {
        self.0.acl.resolve(&self.snapshot(), self.keyring(), secret, now)
    }

    /// Sets how the CSI plugins of nodes are asked; the first call counts.
    pub fn ask_csi_plugins_by(&self, nodes: Arc<dyn crate::csi::Nodes>) {
        self.csi().set(nodes);
    }

    /// The workers, without the one for core evaluations.
    pub fn workers(&self) -> Vec<Arc<Worker>> {
        self.0.workers.list()
    }

    /// Changes the number of workers or the schedulers they run. Returns whether this was a change.
    ///
    /// # Errors
    /// A number or name is invalid, or threads cannot be started.
    pub fn set_workers(&self, count: usize, schedulers: Vec<JobType>) -> Result<bool, WorkersError> {
        self.0.workers.change(self, count, schedulers)
    }

    /// Replaces the state by the output of [`Store::write_snapshot`]. Returns the index of the log entry. The leader
    /// then re-establishes itself on the new state.
    ///
    /// [`Store::write_snapshot`]: crate::storage::store::Store::write_snapshot
    ///
    /// # Errors
    /// There is no leader, or the content is invalid; the state is then unchanged.
    pub async fn restore(&self, state: Bytes) -> Result<u64, Error> {
        self.wait_ready().await?;
        let (answer, outcome) = oneshot::channel();
        self.0.restores.send((state, answer)).await.map_err(|_| Error::no_leader())?;
        outcome.await.map_err(|_| Error::no_leader())?
    }
}
