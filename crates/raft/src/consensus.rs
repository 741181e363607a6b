//! The handle to Raft consensus.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use openraft::error::{CheckIsLeaderError, Fatal, RaftError};
use openraft::raft::AppendEntriesResponse;
use openraft::{ChangeMembers, Config, LogIdOptionExt, Raft, SnapshotPolicy};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::applier::{Applier, Shared};
use super::contacts::Contacts;
use super::elections::{Signs, Times};
use super::error::StoreError;
use super::log::Log;
use super::machine::Machine;
use super::network::{Answer, Message, Network, Transport};
use super::propose::{self, Outcome, ProposeError, Proposer, Queue};
use super::repair::doubt::Health;
use super::repair::scrub::Scrubbing;
use super::repair::{self, Opened, Owner};
use super::room::Room;
use super::status::{self, Configuration, Leadership, Member, Stats};
use super::types::{Peer, ServerId, Types};
use super::validate::{Invalid, Own, Receiving};
use encamp_host::simulation::here;
use encamp_host::threads::{self, Instant};
use encamp_host::watch_value;
use encamp_model::capability::CapabilityLevel;
use encamp_ops::Operation;
use encamp_ops::codec;
use encamp_telemetry::Metrics;

/// Settings (`docs/spec/server.md §23`).
#[derive(Debug, Clone)]
pub struct Settings {
    /// Directory of log, votes and snapshots; made if it is missing.
    pub dir: PathBuf,
    /// This server.
    pub id: ServerId,
    /// Its name and the address that it advertises to other servers.
    pub peer: Peer,
    /// The first members of a new cluster, ignored if a log exists. If empty, the server waits for a leader.
    pub bootstrap: BTreeMap<ServerId, Peer>,
    /// The highest capability level that this server supports.
    pub level: CapabilityLevel,
    /// Stretches heartbeats and elections, 1 to 10.
    pub raft_multiplier: u32,
    /// How often it is checked whether a snapshot is due.
    pub snapshot_interval: Duration,
    /// Operations since the last snapshot that make a new one due.
    pub snapshot_threshold: u64,
    /// Entries of the log kept behind a snapshot, for servers that are a little late.
    pub trailing_logs: u64,
    /// Bytes of entries kept behind a snapshot: fewer entries, if they are long. A server reads all of them when it
    /// starts.
    pub trailing_bytes: u64,
    /// Longest wait for a proposal or a barrier.
    pub timeout: Duration,
    /// How the files are read again while the server runs.
    pub scrubbing: Scrubbing,
    /// Where times of the log and of agreement are recorded.
    pub metrics: Metrics,
}

impl Settings {
    /// The defaults, for a cluster of this server alone.
    pub fn alone(dir: PathBuf, id: ServerId, peer: Peer) -> Settings {
        Settings {
            dir,
            id,
            bootstrap: BTreeMap::from([(id, peer.clone())]),
            peer,
            level: CapabilityLevel::BUILD,
            raft_multiplier: 1,
            snapshot_interval: Duration::from_secs(120),
            snapshot_threshold: 8192,
            trailing_logs: 10240,
            trailing_bytes: 256 << 20,
            timeout: Duration::from_secs(30),
            scrubbing: Scrubbing::default(),
            metrics: Metrics::default(),
        }
    }

    /// openraft's settings. A leader shows up ten times per lease. Elections are started by
    /// [`Consensus::hold_elections`] alone: of openraft's election timeouts, the shorter one limits the wait for a vote,
    /// and for the longer one a vote is refused after a message of a leader.
    fn openraft(&self) -> Result<Config, StartError> {
        let times = Times::new(self.lease());
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Config {
            cluster_name: "encamp".into(),
            heartbeat_interval: ms(self.lease() / 10),
            election_timeout_min: ms(times.vote_limit()),
            election_timeout_max: ms(times.refusal()),
            enable_elect: false,
            install_snapshot_timeout: 10_000,
            snapshot_max_chunk_size: 1 << 20,
            max_payload_entries: 64,
            replication_lag_threshold: self.trailing_logs,
            snapshot_policy: SnapshotPolicy::Never,
            max_in_snapshot_log_to_keep: self.trailing_logs,
            ..Config::default()
        }
        .validate()
        .map_err(|e| StartError::Settings(e.to_string()))
    }

    /// How long a leader stays leader without an answer from a quorum. No server votes for another one earlier, unless
    /// the process of the leader seems to have ended.
    fn lease(&self) -> Duration {
        Duration::from_millis(1000) * self.raft_multiplier.clamp(1, 10)
    }
}

/// Why consensus did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Files can't be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Settings contradict each other.
    #[error("raft settings: {0}")]
    Settings(String),
    /// openraft refused.
    #[error("can't start consensus: {0}")]
    Raft(String),
    /// The directory holds another cluster's log.
    #[error("{} holds the log of a cluster without this server ({id}); members are {members}", dir.display())]
    Foreign {
        /// The directory.
        dir: PathBuf,
        /// This server.
        id: ServerId,
        /// IDs of the members.
        members: String,
    },
}

impl From<Fatal<ServerId>> for StartError {
    fn from(fatal: Fatal<ServerId>) -> StartError {
        StartError::Raft(fatal.to_string())
    }
}

/// A running node; clones share it. It stops by [`Consensus::shutdown`].
#[derive(Clone)]
pub struct Consensus {
    inner: Arc<Inner>,
}

struct Inner {
    raft: Raft<Types>,
    log: Log,
    /// What became of its files.
    health: Arc<Health>,
    progress: Shared,
    queue: Queue,
    level: CapabilityLevel,
    leadership: watch_value::Receiver<Leadership>,
    /// When voters last answered this server as their leader.
    contacts: Arc<Contacts>,
    /// What is known of leaders and candidates.
    signs: Arc<Signs>,
    timeout: Duration,
    lease: Duration,
    /// This server transfers leadership: it proposes nothing and sends no heartbeats.
    handing_over: AtomicBool,
    /// It stands for election when it hears of no leader.
    stands: AtomicBool,
    /// When the leader last sent something.
    heard: Mutex<Option<Instant>>,
    /// It is stopped on purpose.
    stopping: AtomicBool,
    /// How far a snapshot of another server has arrived.
    receiving: Mutex<Receiving>,
    /// Held while a message of a leader is dealt with that is not the one of the messages before.
    unfamiliar: tokio::sync::Mutex<()>,
}

impl Consensus {
    /// Opens log and snapshots, restores the state and joins in. Returns before there is a leader; see
    /// [`Consensus::leadership`]. A server alone elects itself at once.
    ///
    /// # Errors
    /// See [`StartError`].
    pub async fn start(
        settings: Settings,
        machine: Arc<dyn Machine>,
        transport: Arc<dyn Transport>,
    ) -> Result<Consensus, StartError> {
        let config = Arc::new(settings.openraft()?);
        let (dir, metrics, level) = (settings.dir.clone(), settings.metrics.clone(), settings.level);
        let owner = Owner { id: Some(settings.id), alone: settings.bootstrap.keys().eq([&settings.id]) };
        let state = machine.clone();
        let opened = threads::unblock(move || {
            let Opened { log, snapshots, damages, doubt } = repair::open(&dir, level, owner)?;
            log.record_in(metrics);
            let health = Health::new(damages, doubt.as_ref());
            let applier = Applier::open(state, snapshots.clone(), health.clone())?;
            Ok::<_, StoreError>((log, applier, health, snapshots))
        });
        let (log, applier, health, snapshots) = opened.await.map_err(|e| StartError::Raft(e.to_string()))??;
        let started = Self::join_in(&settings, config, (&log, health), (applier, machine), transport).await;
        match &started {
            Ok(running) => {
                let Settings { scrubbing, metrics, .. } = settings;
                tokio::spawn(here(running.clone().scrub(scrubbing, snapshots, metrics)));
            }
            Err(_) => {
                // Lets go of the directory.
                let _ = log.close().await;
            }
        }
        started
    }

    async fn join_in(
        settings: &Settings,
        config: Arc<Config>,
        (log, health): (&Log, Arc<Health>),
        (applier, machine): (Applier, Arc<dyn Machine>),
        transport: Arc<dyn Transport>,
    ) -> Result<Consensus, StartError> {
        let progress = applier.progress();
        let (contacts, signs) = (Arc::new(Contacts::default()), Arc::new(Signs::new()));
        let (network, core) = Network::new(transport.clone(), contacts.clone(), signs.clone());
        let raft = Raft::new(settings.id, config, network, log.clone(), applier).await?;
        let _ = core.set(raft.clone());
        // Elections are not for who is in doubt.
        let begun = if health.doubt().is_some() { Ok(()) } else { Self::begin(settings, &raft).await };
        if let Err(error) = begun {
            let _ = raft.shutdown().await;
            return Err(error);
        }
        let leadership = status::watch_leadership(&raft, settings.lease());
        let inner = Inner {
            queue: propose::start(Proposer {
                raft: raft.clone(),
                log: log.clone(),
                room: Room::of(&settings.dir),
                metrics: settings.metrics.clone(),
                machine,
            }),
            level: settings.level,
            raft,
            log: log.clone(),
            health,
            progress,
            leadership,
            contacts,
            signs,
            timeout: settings.timeout,
            lease: settings.lease(),
            handing_over: AtomicBool::new(false),
            stands: AtomicBool::new(true),
            heard: Mutex::new(None),
            stopping: AtomicBool::new(false),
            receiving: Mutex::default(),
            unfamiliar: tokio::sync::Mutex::default(),
        };
        let consensus = Consensus { inner: Arc::new(inner) };
        tokio::spawn(here(consensus.clone().keep_snapshots(settings.snapshot_interval, settings.snapshot_threshold)));
        tokio::spawn(here(consensus.clone().keep_log_short(settings.trailing_bytes)));
        tokio::spawn(here(consensus.clone().keep_lease()));
        tokio::spawn(here(consensus.clone().hold_elections(transport)));
        tokio::spawn(here(consensus.clone().resolve_doubt(settings.dir.clone())));
        tokio::spawn(here(consensus.clone().complete_changes()));
        tokio::spawn(here(consensus.clone().keep_address(settings.id, settings.peer.clone())));
        Ok(consensus)
    }

    /// Makes a new cluster, or takes part in the old one.
    async fn begin(settings: &Settings, raft: &Raft<Types>) -> Result<(), StartError> {
        if !raft.is_initialized().await? {
            if !settings.bootstrap.is_empty() {
                let made = raft.initialize(settings.bootstrap.clone()).await;
                made.map_err(|e| StartError::Raft(e.to_string()))?;
            }
            return Ok(());
        }
        let voters = raft.with_raft_state(|s| s.membership_state.effective().voter_ids().collect::<Vec<_>>()).await?;
        if voters == [settings.id] {
            raft.trigger().elect().await?;
        } else if settings.bootstrap.len() == 1 && !voters.contains(&settings.id) {
            let members = voters.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            return Err(StartError::Foreign { dir: settings.dir.clone(), id: settings.id, members });
        }
        Ok(())
    }

    /// [`Consensus::propose_shared`] of an operation.
    #[cfg(test)]
    pub(crate) async fn propose(&self, op: Operation) -> Outcome {
        self.propose_shared(Arc::new(op)).await
    }

    /// Has an operation agreed upon, made durable and applied; gives its index and the reply.
    ///
    /// # Errors
    /// See [`ProposeError`]. After `Timeout`, and after `NotLeader` when leadership was lost meanwhile, the operation
    /// may still be applied.
    pub async fn propose_shared(&self, op: Arc<Operation>) -> Outcome {
        if cfg!(debug_assertions) {
            readable(&op)?;
        }
        if self.handing_over() {
            return Err(ProposeError::NotLeader { leader: None });
        }
        let (waiting, outcome) = oneshot::channel();
        let stopped = || ProposeError::Fatal(self.why_stopped());
        let proposed = async {
            self.inner.queue.send((op, waiting, Instant::now())).await.map_err(|_| stopped())?;
            outcome.await.map_err(|_| stopped())?
        };
        tokio::time::timeout(self.inner.timeout, proposed).await.unwrap_or(Err(ProposeError::Timeout))
    }

    /// Makes sure that this server leads and that its state holds all that was acknowledged before.
    ///
    /// # Errors
    /// See [`ProposeError`]; nothing was proposed.
    pub async fn barrier(&self) -> Result<(), ProposeError> {
        let reached = tokio::time::timeout(self.inner.timeout, self.inner.raft.ensure_linearizable()).await;
        match reached {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(RaftError::APIError(CheckIsLeaderError::ForwardToLeader(f)))) => {
                Err(ProposeError::NotLeader { leader: f.leader_id.zip(f.leader_node) })
            }
            Ok(Err(RaftError::APIError(CheckIsLeaderError::QuorumNotEnough(_)))) => {
                Err(ProposeError::NotLeader { leader: None })
            }
            Ok(Err(RaftError::Fatal(_))) => Err(ProposeError::Fatal(self.why_stopped())),
            Err(_) => Err(ProposeError::Timeout),
        }
    }

    /// A watch on who leads, and on whether the node still runs.
    pub fn leadership(&self) -> watch_value::Receiver<Leadership> {
        self.inner.leadership.clone()
    }

    /// Whether this server leads, as far as it knows now.
    pub fn leads(&self) -> bool {
        self.inner.leadership.borrow().is_leader
    }

    /// How far the log is.
    pub fn stats(&self) -> Stats {
        let metrics = self.inner.raft.metrics().borrow().clone();
        let (log, progress) = (&self.inner.log, self.inner.progress.lock().clone());
        let (last, applied) = (log.last(), progress.last.index());
        let ahead = |upto: Option<u64>| progress.index + log.width_between(applied, upto);
        let commit_index = ahead(log.committed().index());
        let heard = *self.inner.heard.lock();
        let role = status::role(metrics.state);
        Stats {
            role,
            term: metrics.current_term,
            last_log_index: ahead(last.index()),
            last_log_term: last.map_or(0, |l| l.leader_id.term),
            last_entry: last.map_or(0, |l| l.index),
            commit_index,
            applied_index: progress.index,
            fsm_pending: commit_index - progress.index,
            last_snapshot_index: progress.snapshot.0,
            last_snapshot_term: progress.snapshot.1,
            purged: log.purged().map_or(0, |p| p.index),
            latest_configuration_index: progress.membership_index,
            num_peers: metrics.membership_config.voter_ids().filter(|v| *v != metrics.id).count() as u64,
            last_contact: if role == status::Role::Leader { Some(Duration::ZERO) } else { heard.map(|h| h.elapsed()) },
            quorum_contact: metrics.millis_since_quorum_ack.map(Duration::from_millis),
        }
    }

    /// Members of the cluster, as last agreed upon.
    pub fn configuration(&self) -> Configuration {
        let leader = self.inner.leadership.borrow().leader.as_ref().map(|(id, _)| *id);
        let progress = self.inner.progress.lock();
        let voters: Vec<ServerId> = progress.membership.voter_ids().collect();
        let member = |(id, peer): (&ServerId, &Peer)| Member {
            id: *id,
            peer: peer.clone(),
            leader: leader == Some(*id),
            voter: voters.contains(id),
        };
        Configuration {
            index: progress.membership_index,
            changing: progress.membership.membership().get_joint_config().len() > 1,
            servers: progress.membership.nodes().map(member).collect(),
        }
    }

    /// Why the node has stopped; `None` while it runs. A log that can't be written counts at once: consensus notices it
    /// a moment later.
    pub fn stopped(&self) -> Option<String> {
        let inner = &self.inner;
        let failed = || inner.leadership.borrow().failed.is_some().then(|| self.why_stopped());
        inner.log.failure().or_else(failed)
    }

    /// Waits until the node has ended by itself, and gives the reason. A log that can't be written is no end: what
    /// there is can be read until the server is started again.
    pub async fn ended(&self) -> String {
        let mut leadership = self.leadership();
        let failed = leadership.wait_for(|l| l.failed.is_some()).await;
        if failed.is_err() || self.inner.stopping.load(Ordering::Acquire) || self.inner.log.failure().is_some() {
            return std::future::pending().await;
        }
        self.why_stopped()
    }

    pub(super) fn raft(&self) -> &Raft<Types> {
        &self.inner.raft
    }

    pub(super) fn log(&self) -> &Log {
        &self.inner.log
    }

    pub(super) fn health(&self) -> &Health {
        &self.inner.health
    }

    pub(super) fn lease(&self) -> Duration {
        self.inner.lease
    }

    pub(super) fn handing_over_flag(&self) -> &AtomicBool {
        &self.inner.handing_over
    }

    /// Whether this server stands for election when it hears of no leader. Who gave up does not until it has heard from
    /// another server: the others may hear it, and would vote for it again and again without its ever knowing.
    pub(super) fn stand(&self, stands: bool) {
        if !self.inner.stands.swap(stands, Ordering::AcqRel) && stands {
            // The message that it has heard comes first.
            self.signs().asked();
        }
    }

    pub(super) fn stands(&self) -> bool {
        self.inner.stands.load(Ordering::Acquire) && !self.in_doubt()
    }

    pub(super) fn contacts(&self) -> &Contacts {
        &self.inner.contacts
    }

    pub(super) fn signs(&self) -> &Signs {
        &self.inner.signs
    }

    /// Term of the last applied entry.
    pub(super) fn applied_term(&self) -> Option<u64> {
        self.inner.progress.lock().last.map(|last| last.leader_id.term)
    }

    /// Whether this server leads and goes on to do so: it does not transfer its leadership. Requests that need the leader
    /// wait for the next one otherwise.
    pub fn serves(&self) -> bool {
        self.leads() && !self.handing_over()
    }

    /// Whether it transfers its leadership to another server.
    pub(super) fn handing_over(&self) -> bool {
        self.inner.handing_over.load(Ordering::Acquire)
    }

    /// Why the node does not run.
    fn why_stopped(&self) -> String {
        let why = status::why_stopped(&self.inner.raft, &self.inner.log);
        // A node that panicked tells of nothing.
        let failed = self.inner.leadership.borrow().failed.clone();
        if self.inner.raft.metrics().borrow().running_state.is_ok() { failed.unwrap_or(why) } else { why }
    }

    /// Answers a message of another server. Who sent it is known to be a member, or about to become one.
    ///
    /// # Errors
    /// No correct server sends such a message: nothing was done.
    pub async fn handle(&self, from: ServerId, message: Message) -> Result<Answer, Invalid> {
        let vote = match &message {
            Message::Append(request) => Some(request.vote),
            Message::Snapshot(request) => Some(request.vote),
            Message::Vote(_) => None,
        };
        let known = self.inner.raft.metrics().borrow().vote;
        // One by one, so that of two leaders of one term the second meets the vote of the first.
        let _alone = match vote {
            Some(vote) if vote != known => Some(self.inner.unfamiliar.lock().await),
            Some(_) | None => None,
        };
        self.check(from, &message, vote == Some(known)).await?;
        let raft = &self.inner.raft;
        self.stand(true);
        if vote.is_some() {
            *self.inner.heard.lock() = Some(Instant::now());
        }
        if vote == Some(known) {
            self.signs().heard();
        }
        Ok(match message {
            Message::Append(request) => {
                let answer = raft.append_entries(request).await;
                if answer.as_ref().is_ok_and(|a| !matches!(a, AppendEntriesResponse::HigherVote(_))) {
                    self.signs().heard();
                }
                Answer::Append(answer)
            }
            Message::Vote(_) if self.in_doubt() => self.no_vote().await,
            Message::Vote(request) => Answer::Vote(self.vote_for(request).await),
            Message::Snapshot(request) => Answer::Snapshot(raft.install_snapshot(request).await),
        })
    }

    /// `familiar`: it is of the leader whose messages came before.
    async fn check(&self, from: ServerId, message: &Message, familiar: bool) -> Result<(), Invalid> {
        let (id, known) = {
            let metrics = self.inner.raft.metrics();
            let metrics = metrics.borrow();
            (metrics.id, metrics.vote)
        };
        // The vote in the metrics may be a little late; a server that has stopped has no other.
        let vote = match familiar {
            true => known,
            false => self.inner.raft.with_raft_state(|s| *s.vote_ref()).await.unwrap_or(known),
        };
        let log = &self.inner.log;
        Own { id, vote, committed: log.committed(), supported: self.inner.level }
            .check(from, message, |index| log.id_at(index))?;
        if let Message::Snapshot(request) = message {
            let mut receiving = self.inner.receiving.lock();
            receiving.piece(&request.meta.snapshot_id, request.offset, &request.data, request.done)?;
        }
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn break_disk(&self) {
        self.inner.log.break_disk();
    }

    /// Has a snapshot written now, whether one is due or not; returns before it is written.
    ///
    /// # Errors
    /// The node has stopped.
    pub async fn snapshot(&self) -> Result<(), ProposeError> {
        self.inner.raft.trigger().snapshot().await.map_err(|e| ProposeError::Fatal(e.to_string()))
    }

    /// Stops the node and releases its directory. In-flight proposals end with [`ProposeError::Fatal`].
    ///
    /// # Errors
    /// The log had failed, or was closed before.
    pub async fn shutdown(&self) -> Result<(), StoreError> {
        self.inner.stopping.store(true, Ordering::Release);
        let stopped = self.inner.raft.shutdown().await;
        let closed = self.inner.log.close().await;
        stopped.map_err(|e| StoreError::Machine(format!("consensus failed to stop cleanly: {e}")))?;
        closed
    }

    /// Has snapshots written when they are due.
    async fn keep_snapshots(self, interval: Duration, threshold: u64) {
        let mut leadership = self.leadership();
        loop {
            let sleeping = tokio::time::sleep(interval);
            let stopped = leadership.wait_for(|l| l.failed.is_some());
            tokio::select! {
                biased;
                () = sleeping => {}
                _ = stopped => return,
            }
            let due = {
                let progress = self.inner.progress.lock();
                progress.index - progress.snapshot.0.min(progress.index) >= threshold
            };
            if due && self.snapshot().await.is_err() {
                return;
            }
        }
    }

    /// Drops entries that a snapshot holds, if those that are kept for other servers take too many bytes.
    async fn keep_log_short(self, most: u64) {
        let mut metrics = self.inner.raft.metrics();
        let mut seen = None;
        loop {
            match metrics.wait_for(|m| m.snapshot > seen || m.running_state.is_err()).await {
                Ok(m) if m.running_state.is_ok() => seen = m.snapshot,
                _ => return,
            }
            // openraft drops nothing that the snapshot does not hold.
            if let Some(upto) = self.inner.log.last_behind(most)
                && self.inner.raft.trigger().purge_log(upto).await.is_err()
            {
                return;
            }
        }
    }

    /// Tells the cluster this server's name and address, if they changed while it was down. Done by the leader for
    /// itself.
    async fn keep_address(self, id: ServerId, peer: Peer) {
        let mut leadership = self.leadership();
        loop {
            let Ok(now) = leadership.wait_for(|l| l.is_leader || l.failed.is_some()).await else {
                return;
            };
            if now.failed.is_some() {
                return;
            }
            let known = now.leader.is_some_and(|(_, p)| p == peer);
            if known
                || self
                    .inner
                    .raft
                    .change_membership(ChangeMembers::SetNodes(BTreeMap::from([(id, peer.clone())])), true)
                    .await
                    .is_ok()
            {
                return;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}

/// An operation that can't be read back would be lost at the next start; programs under test find out early.
fn readable(op: &Operation) -> Result<(), ProposeError> {
    let bytes = codec::encode(op).map_err(|e| ProposeError::Fatal(format!("an operation can't be encoded: {e}")))?;
    let read: Result<Operation, _> = codec::decode(&bytes);
    read.map(drop).map_err(|e| ProposeError::Fatal(format!("an operation can't be read back: {e}")))
}
