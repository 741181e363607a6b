//! A running server: store, Raft, queues, workers, and the single write path.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::{Mutex, RwLock};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use crate::acl::{Access, Denied, Resolver};
use crate::error::Error;
use crate::fsm::Limits;
use crate::keyring::Keyring;
use crate::leadership::leader;
use crate::leadership::queues::Queues;
use crate::nodes::alloc_updates::AllocUpdates;
use crate::pipeline::applier::Applier;
use crate::pipeline::worker::Worker;
use crate::pipeline::worker_calls::{Outcome, WorkerCall};
use crate::settings::Settings;
use crate::storage::store::Store;
use encamp_host::ids;
use encamp_host::threads;
use encamp_host::watch_value;
use encamp_model::outcome::NOT_READY;
use encamp_model::token_bucket::TokenBucket;
use encamp_model::{Bytes, JobType, duration};
use encamp_ops::{Operation, Reply};
use encamp_raft::{
    Consensus, Machine, Member, NoTransport, Peer, ProposeError, ServerId, SnapshotWriter, StartError, Transport,
    TransportError,
};
use encamp_state::StoreSnapshot;
use encamp_telemetry::Metrics;

/// Maximum time a call waits for a leader, or for the leader to be ready.
const LEADER_WAIT: Duration = Duration::from_secs(5);

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

/// A handle on the server; clones share it.
#[derive(Clone)]
pub struct Server(Arc<Inner>);

struct Inner {
    settings: RwLock<Arc<Settings>>,
    store: Arc<Store>,
    queues: Arc<Queues>,
    consensus: Consensus,
    metrics: Metrics,
    runtime: Handle,
    workers: Mutex<Vec<Arc<Worker>>>,
    /// The worker for core evaluations.
    core_worker: Mutex<Option<Arc<Worker>>>,
    alloc_updates: AllocUpdates,
    node_news: Mutex<TokenBucket>,
    keyring: Arc<Keyring>,
    acl: Resolver,
    /// Whether the leader has been established.
    ready: watch_value::Sender<bool>,
    restores: mpsc::Sender<leader::Restore>,
    others: Arc<dyn Others>,
    csi: crate::csi::Calls,
}

/// The Raft state machine.
struct StoreMachine(Arc<Store>, Metrics, Arc<Keyring>);

impl Machine for StoreMachine {
    fn apply(&self, index: u64, op: &Arc<Operation>) -> Reply {
        let started = std::time::Instant::now();
        let keys = matches!(
            **op,
            Operation::RootKeyUpsert { .. } | Operation::RootKeyDelete { .. } | Operation::Restore { .. }
        );
        if let Operation::RootKeyUpsert { key, .. } = &**op {
            self.2.add(key);
        }
        let reply = self.0.apply(index, op);
        if keys {
            self.2.follow(&self.0.snapshot());
        }
        self.1.time(&format!("nomad.fsm.{}", op.metric()), started.elapsed(), &[]);
        self.1.time("raft.fsm.apply", started.elapsed(), &[]);
        reply
    }

    fn skip(&self, index: u64) {
        self.0.skip(index);
    }

    fn snapshot(&self) -> Box<dyn SnapshotWriter> {
        Box::new(Frozen(self.0.snapshot(), self.1.clone()))
    }

    fn restore(&self, index: u64, from: &mut dyn Read) -> io::Result<()> {
        self.0.restore(index, from)?;
        self.2.follow(&self.0.snapshot());
        Ok(())
    }
}

/// A state to be written, and where the duration is recorded.
pub(crate) struct Frozen(pub StoreSnapshot, pub Metrics);

impl SnapshotWriter for Frozen {
    fn write(self: Box<Self>, to: &mut dyn Write) -> io::Result<()> {
        let _timer = self.1.timer("raft.snapshot.persist");
        Store::write_snapshot(&self.0, to)
    }
}

/// A server's connections to other servers.
pub struct Links {
    /// Sends and receives Raft messages.
    pub transport: Arc<dyn Transport>,
    /// Sends calls to other servers.
    pub others: Arc<dyn Others>,
    /// Whether this server bootstraps a single-server cluster if it has no log; otherwise it waits for others.
    pub alone: bool,
}

/// Why the workers were not changed.
#[derive(Debug, thiserror::Error)]
pub enum WorkersError {
    /// There would be more workers than processors.
    #[error("number of schedulers should be between 0 and {most}")]
    Count {
        /// The number of processors.
        most: usize,
    },
    /// There is no such scheduler.
    #[error("unknown scheduler {0:?} in enabled schedulers")]
    UnknownScheduler(JobType),
    /// A thread could not be started.
    #[error(transparent)]
    Threads(#[from] io::Error),
}

/// Calls to other servers.
pub trait Others: Send + Sync + 'static {
    /// Asks another server to start an election.
    fn stand<'a>(&'a self, to: ServerId, peer: &'a Peer) -> BoxFuture<'a, Result<(), TransportError>>;

    /// Runs a call of one of this server's workers on the leader.
    fn run<'a>(
        &'a self,
        leader: ServerId,
        peer: &'a Peer,
        call: &'a WorkerCall,
    ) -> BoxFuture<'a, Result<Outcome, Error>>;
}

/// Used by a single server.
impl Others for NoTransport {
    fn stand<'a>(&'a self, _: ServerId, peer: &'a Peer) -> BoxFuture<'a, Result<(), TransportError>> {
        let error = TransportError(format!("this server runs alone and can't reach {}", peer.address));
        Box::pin(std::future::ready(Err(error)))
    }

    fn run<'a>(&'a self, _: ServerId, _: &'a Peer, _: &'a WorkerCall) -> BoxFuture<'a, Result<Outcome, Error>> {
        Box::pin(std::future::ready(Err(Error::no_leader())))
    }
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
        let store = Store::new(Limits { tracked_versions: settings.tracked_versions }, settings.event_buffer_size);
        let queues = Arc::new(Queues::new(settings.heartbeat));
        queues.broker().set_shedding(settings.shedding);
        store.listen(queues.clone());
        let id: ServerId =
            settings.id.parse().map_err(|_| StartError::Settings("the server's ID is no UUID".into()))?;
        let peer =
            Peer { name: format!("{}.{}", settings.name, settings.region), address: settings.rpc_address.clone() };
        let mut raft_settings = encamp_raft::Settings::alone(settings.data_dir.join("raft"), id, peer);
        raft_settings.raft_multiplier = settings.raft_multiplier;
        raft_settings.snapshot_threshold = settings.snapshot_threshold;
        raft_settings.snapshot_interval = settings.snapshot_interval;
        raft_settings.trailing_logs = settings.trailing_logs;
        raft_settings.metrics = metrics.clone();
        if !links.alone {
            raft_settings.bootstrap.clear();
        }
        let keyring = Arc::new(Keyring::default());
        let machine = Arc::new(StoreMachine(store.clone(), metrics.clone(), keyring.clone()));
        let consensus = Consensus::start(raft_settings, machine, links.transport).await?;
        let (restores, asked) = mpsc::channel(1);
        let server = Server(Arc::new(Inner {
            settings: RwLock::new(Arc::new(settings)),
            store,
            queues,
            consensus,
            metrics,
            runtime: Handle::current(),
            workers: Mutex::default(),
            core_worker: Mutex::default(),
            alloc_updates: AllocUpdates::default(),
            node_news: Mutex::new(node_news()),
            keyring,
            acl: Resolver::default(),
            ready: watch_value::Sender::new(false),
            restores,
            others: links.others,
            csi: crate::csi::Calls::default(),
        }));
        server.replace_workers().map_err(|e| StartError::Settings(format!("can't start workers: {e}")))?;
        let applier = server.clone();
        threads::spawn("plan-applier", move || Applier::run(applier))
            .map_err(|e| StartError::Settings(format!("can't start the plan applier: {e}")))?;
        tokio::spawn(leader::follow(server.clone(), asked));
        tokio::spawn(crate::leadership::metrics::of_consensus(server.clone()));
        Ok(server)
    }

    /// Stops the server; waits until the log is closed.
    pub async fn shutdown(&self) {
        self.0.queues.stop();
        self.0.ready.send(false);
        self.workers().iter().for_each(|w| w.stop());
        self.0.core_worker.lock().iter().for_each(|w| w.stop());
        self.0.store.unlisten();
        if let Err(e) = self.0.consensus.shutdown().await {
            tracing::error!(target: "nomad.raft", error = %e, "error shutting down raft");
        }
    }

    /// The current settings.
    pub fn settings(&self) -> Arc<Settings> {
        self.0.settings.read().clone()
    }

    /// The limits of the state machine, derived from the settings.
    pub fn limits(&self) -> Limits {
        Limits { tracked_versions: self.settings().tracked_versions }
    }

    /// The store.
    pub fn store(&self) -> &Arc<Store> {
        &self.0.store
    }

    /// A snapshot of the current state.
    pub fn snapshot(&self) -> StoreSnapshot {
        self.0.store.snapshot()
    }

    /// Whether an evaluation has ended or does not exist any more.
    pub(crate) fn has_ended(&self, eval_id: &str) -> bool {
        self.snapshot().eval(eval_id).is_none_or(|e| e.terminal())
    }

    /// The leader's queues.
    pub fn queues(&self) -> &Arc<Queues> {
        &self.0.queues
    }

    /// The Raft node.
    pub fn consensus(&self) -> &Consensus {
        &self.0.consensus
    }

    /// In-flight allocation updates of nodes.
    pub(crate) fn alloc_updates(&self) -> &AllocUpdates {
        &self.0.alloc_updates
    }

    /// How long a waiting node has to wait for its answer. When thousands of nodes have changes at once, scheduling
    /// takes precedence: a node that waited gets all changes in one answer.
    pub(super) fn node_news_due(&self) -> Duration {
        let busy = self.queues().broker().has_ready() || self.workers().iter().any(|w| w.busy());
        let mut rate = self.0.node_news.lock();
        let wait = rate.take(ids::now(), if busy { NEWS_WHILE_BUSY } else { 1.0 });
        duration::of_nanos(wait)
    }

    /// The root keys, unwrapped.
    pub fn keyring(&self) -> &Arc<Keyring> {
        &self.0.keyring
    }

    /// The caller with a secret, and what it may do at `now`, in Unix nanoseconds (`docs/spec/http-api.md §7.7`).
    ///
    /// # Errors
    /// The secret is not valid.
    pub fn resolve(&self, secret: &str, now: i64) -> Result<Access, Denied> {
        self.0.acl.resolve(&self.snapshot(), self.keyring(), secret, now)
    }

    /// Metrics.
    pub fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    /// The runtime of the server.
    pub fn runtime(&self) -> &Handle {
        &self.0.runtime
    }

    /// Sets how the CSI plugins of nodes are asked; the first call counts.
    pub fn ask_csi_plugins_by(&self, nodes: Arc<dyn crate::csi::Nodes>) {
        self.0.csi.set(nodes);
    }

    pub(crate) fn csi(&self) -> &crate::csi::Calls {
        &self.0.csi
    }

    pub(super) fn others(&self) -> &Arc<dyn Others> {
        &self.0.others
    }

    // ---- workers

    /// The workers, without the one for core evaluations.
    pub fn workers(&self) -> Vec<Arc<Worker>> {
        self.0.workers.lock().clone()
    }

    /// Replaces all workers according to the settings; the old ones finish their current evaluations.
    fn replace_workers(&self) -> io::Result<()> {
        let settings = self.settings();
        let count = if settings.enabled_schedulers.is_empty() { 0 } else { settings.num_schedulers };
        if count == 0 {
            tracing::warn!(target: "nomad", "no enabled schedulers");
        }
        let new: io::Result<Vec<_>> =
            (0..count).map(|_| Worker::start(self.clone(), settings.enabled_schedulers.clone())).collect();
        let collects = count > 0 && settings.enabled_schedulers.contains(&JobType::Core);
        let core = collects.then(|| Worker::start_core(self.clone())).transpose();
        let mut workers = self.0.workers.lock();
        workers.iter().for_each(|w| w.stop());
        *workers = new?;
        drop(workers);
        let mut core_worker = self.0.core_worker.lock();
        core_worker.iter().for_each(|w| w.stop());
        *core_worker = core?;
        drop(core_worker);
        self.pause_workers(*self.0.ready.borrow());
        Ok(())
    }

    /// Changes the number of workers or the schedulers they run. Returns whether this was a change.
    ///
    /// # Errors
    /// A number or name is invalid, or threads cannot be started.
    pub fn set_workers(&self, count: usize, schedulers: Vec<JobType>) -> Result<bool, WorkersError> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        if count > cores {
            return Err(WorkersError::Count { most: cores });
        }
        if let Some(unknown) = schedulers.iter().find(|s| !s.is_known()) {
            return Err(WorkersError::UnknownScheduler(unknown.clone()));
        }
        let sorted = |list: &[JobType]| {
            let mut list = list.to_vec();
            list.sort_unstable();
            list.dedup();
            list
        };
        {
            let mut settings = self.0.settings.write();
            if settings.num_schedulers == count && sorted(&settings.enabled_schedulers) == sorted(&schedulers) {
                return Ok(false);
            }
            let new = Settings { num_schedulers: count, enabled_schedulers: schedulers, ..Settings::clone(&settings) };
            *settings = Arc::new(new);
        }
        self.replace_workers()?;
        Ok(true)
    }

    /// Pauses some workers to leave capacity for the leader's other duties (`docs/spec/server.md §2.2` step 2).
    pub(super) fn pause_workers(&self, leading: bool) {
        let workers = self.workers();
        let paused = if leading && workers.len() > 1 { 3 * workers.len() / 4 } else { 0 };
        workers.iter().enumerate().for_each(|(i, w)| w.pause(i < paused));
    }

    // ---- leadership

    pub(super) fn set_ready(&self, ready: bool) {
        self.0.ready.send(ready);
    }

    /// Waits until the server can answer reads and writes.
    ///
    /// # Errors
    /// There is no leader within the hold time; the error names the reason.
    pub async fn wait_ready(&self) -> Result<(), Error> {
        if let Some(why) = self.0.consensus.stopped() {
            return Err(ProposeError::Fatal(why).into());
        }
        let mut ready = self.0.ready.subscribe();
        let waited = tokio::time::timeout(LEADER_WAIT, ready.wait_for(|r| *r)).await;
        if matches!(waited, Ok(Ok(_))) {
            return Ok(());
        }
        let leads = self.0.consensus.leads();
        Err(if leads { Error::internal(NOT_READY) } else { Error::no_leader() })
    }

    /// The leader's address as configured; `None` while there is no leader.
    pub fn leader_address(&self) -> Option<String> {
        self.0.consensus.leadership().borrow().leader.as_ref().map(|(_, p)| p.address.clone())
    }

    /// Transfers leadership to another member. Returns true if this server does not lead any more.
    pub async fn hand_over(&self, to: &Member) -> bool {
        let ask = || async {
            if let Err(error) = self.0.others.stand(to.id, &to.peer).await {
                tracing::debug!(target: "nomad", server = to.peer.name.as_str(), %error, "failed to ask a server to start an election");
            }
        };
        self.0.consensus.hand_over(to.id, ask).await
    }

    // ---- writing

    /// Commits and applies an operation. Returns its index and reply.
    ///
    /// # Errors
    /// There is no leader, or the state machine refused the operation (with its text).
    pub async fn commit(&self, op: Operation) -> Result<(u64, Reply), Error> {
        self.wait_ready().await?;
        self.commit_shared(Arc::new(op)).await
    }

    /// [`Server::commit`] without waiting for the leader to be ready.
    ///
    /// # Errors
    /// See [`Server::commit`].
    pub(crate) async fn commit_shared(&self, op: Arc<Operation>) -> Result<(u64, Reply), Error> {
        match self.0.consensus.propose_shared(op).await? {
            (_, Reply::Refused(refusal)) => Err(refusal.into()),
            done => Ok(done),
        }
    }

    /// [`Server::commit_shared`] for threads outside of the runtime.
    ///
    /// # Errors
    /// See [`Server::commit`].
    pub(crate) fn commit_blocking(&self, op: Operation) -> Result<u64, Error> {
        threads::block_on(&self.0.runtime, self.commit_shared(Arc::new(op))).map(|(index, _)| index)
    }

    /// Replaces the state by the output of [`Store::write_snapshot`]. Returns the index of the log entry. The leader
    /// then re-establishes itself on the new state.
    ///
    /// # Errors
    /// There is no leader, or the content is invalid; the state is then unchanged.
    pub async fn restore(&self, state: Bytes) -> Result<u64, Error> {
        self.wait_ready().await?;
        let (answer, outcome) = oneshot::channel();
        self.0.restores.send((state, answer)).await.map_err(|_| Error::no_leader())?;
        outcome.await.map_err(|_| Error::no_leader())?
    }

    /// Blocks, outside of the runtime, until the store has applied an index. Returns false on timeout.
    pub(crate) fn wait_for_index(&self, index: u64, timeout: Duration) -> bool {
        if self.0.store.applied_index() >= index {
            return true;
        }
        let mut applied = self.0.store.follow_applied();
        let wait = async { tokio::time::timeout(timeout, applied.wait_for(|a| *a >= index)).await };
        matches!(threads::block_on(&self.0.runtime, wait), Ok(Ok(_)))
    }
}
