//! Batches proposals into entries. openraft makes each entry durable before it takes the next one, so operations that
//! arrive while an entry is being written share the following entry and its write.

use std::sync::Arc;
use std::time::Duration;

use openraft::Raft;
use openraft::error::ClientWriteError;
use openraft::raft::ClientWriteResponse;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::error::StoreError;
use super::log::Log;
use super::machine::Machine;
use super::room::Room;
use super::status::why_stopped;
use super::types::{Applied, Batch, Peer, ServerId, Types};
use encamp_host::simulation::here;
use encamp_host::threads::Instant;
use encamp_model::outcome;
use encamp_ops::{Operation, Reply};
use encamp_telemetry::Metrics;

/// Most operations in one entry.
const BATCH: usize = 128;
/// Full entries in flight: while one is written, the one before it is applied and answered.
const IN_FLIGHT: usize = 2;
/// Proposals that wait; more wait outside.
const QUEUE: usize = 4096;

/// How often a full disk is logged.
const REMINDER: Duration = Duration::from_secs(30);

/// Why a proposal was not applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProposeError {
    /// Another server leads, or none. If leadership was lost meanwhile, the operation may still be applied.
    #[error("this server is not the leader{}", leader.as_ref().map(|(_, p)| format!("; the leader is {} at {}", p.name, p.address)).unwrap_or_default())]
    NotLeader {
        /// The leader, if it is known.
        leader: Option<(ServerId, Peer)>,
    },
    /// It took too long; the operation may still be applied.
    #[error("the operation was not applied in time; {}", outcome::MAY_BE_DONE)]
    Timeout,
    /// The disk is full, or it can't be encoded; the operation was not applied.
    #[error("{0}")]
    Refused(String),
    /// The node has stopped, for instance because its disk failed.
    #[error("{}: {}", outcome::STOPPED, .0)]
    Fatal(String),
}

/// openraft's answer for an entry.
type Written = Result<ClientWriteResponse<Types>, ClientWriteError<ServerId, Peer>>;

/// The result of a proposal: index and reply.
pub(super) type Outcome = Result<(u64, Reply), ProposeError>;

/// An operation, who waits for it, and since when.
pub(super) type Proposal = (Arc<Operation>, oneshot::Sender<Outcome>, Instant);

/// Where proposals go.
pub(super) type Queue = mpsc::Sender<Proposal>;

/// What gathering works with.
pub(super) struct Proposer {
    pub raft: Raft<Types>,
    pub log: Log,
    pub room: Room,
    pub metrics: Metrics,
    /// Tells the form of entries.
    pub machine: Arc<dyn Machine>,
}

/// Starts gathering; ends when all senders are gone.
pub(super) fn start(proposer: Proposer) -> Queue {
    let (queue, proposals) = mpsc::channel(QUEUE);
    tokio::spawn(here(gather(proposer, proposals)));
    queue
}

async fn gather(proposer: Proposer, mut proposals: mpsc::Receiver<Proposal>) {
    let Proposer { raft, log, room, metrics, machine } = proposer;
    let mut in_flight = JoinSet::new();
    let mut gathered: Vec<Proposal> = Vec::new();
    let mut reminder = Reminder::default();
    loop {
        let more = BATCH - gathered.len();
        tokio::select! {
            biased;
            _ = in_flight.join_next(), if !in_flight.is_empty() => {}
            count = proposals.recv_many(&mut gathered, more), if more > 0 => if count == 0 { break },
        }
        // Nobody waits for these any more.
        gathered.retain(|(_, waiting, _)| !waiting.is_closed());
        // A small batch is worth waiting for company: the entry before it keeps the disk busy anyway.
        let full = gathered.len() == BATCH;
        if gathered.is_empty() || in_flight.len() >= if full { IN_FLIGHT } else { 1 } {
            continue;
        }
        let oldest = gathered.iter().map(|(_, _, since)| *since).min();
        let (ops, mut waiting): (Vec<_>, Vec<_>) = gathered.drain(..).map(|(op, waiting, _)| (op, waiting)).unzip();
        // A new leader needs its barrier, so that what is there can be read.
        let barrier = ops.iter().all(|op: &Arc<Operation>| matches!(**op, Operation::Barrier));
        if let Err(error) = room.check()
            && !barrier
        {
            reminder.refused(&error);
            tell(waiting, Err(ProposeError::Refused(error.to_string())));
            continue;
        }
        let count = ops.len();
        let batch = match Batch::new(ops, machine.level()) {
            Ok(batch) => batch,
            Err(error) => {
                tell(waiting, Err(ProposeError::Refused(format!("operations can't be encoded: {error}"))));
                continue;
            }
        };
        metrics.sample("raft.batch.operations", count as f64, &[]);
        metrics.count("raft.apply", count as u64, &[]);
        metrics.time("raft.batch.wait", oldest.map_or(Duration::ZERO, |since| since.elapsed()), &[]);
        let commit = metrics.timer("raft.commitTime");
        // Sent from this one task, so entries keep the order of the queue.
        let sent = raft.client_write_ff(batch).await;
        let (raft, log) = (raft.clone(), log.clone());
        in_flight.spawn(here(async move {
            let stopped = || ProposeError::Fatal(why_stopped(&raft, &log));
            let outcome = match sent {
                Ok(answer) => outcome_of(answer, stopped, &mut waiting).await,
                Err(_) => Some(Err(stopped())),
            };
            let Some(outcome) = outcome else { return };
            drop(commit);
            tell(waiting, outcome);
        }));
    }
    while in_flight.join_next().await.is_some() {}
}

/// The outcome of an entry; `None` if nobody waits for it any more. openraft never answers for an entry that a snapshot
/// of another leader replaced. Nor does anybody wait for ever.
async fn outcome_of<E>(
    answer: impl Future<Output = Result<Written, E>>,
    stopped: impl Fn() -> ProposeError,
    waiting: &mut [oneshot::Sender<Outcome>],
) -> Option<Result<Applied, ProposeError>> {
    tokio::select! {
        biased;
        answer = answer => Some(match answer {
            Ok(Ok(response)) => Ok(response.data),
            Ok(Err(error)) => Err(refused(error)),
            Err(_) => Err(stopped()),
        }),
        () = given_up(waiting) => None,
    }
}

/// Returns when nobody waits any more.
async fn given_up(waiting: &mut [oneshot::Sender<Outcome>]) {
    for caller in waiting {
        caller.closed().await;
    }
}

/// When a full disk was last logged.
#[derive(Default)]
struct Reminder(Option<Instant>);

impl Reminder {
    fn refused(&mut self, error: &StoreError) {
        if self.0.is_none_or(|last| last.elapsed() >= REMINDER) {
            self.0 = Some(Instant::now());
            tracing::error!(target: "server.raft.propose", %error, "operations are refused");
        }
    }
}

fn refused(error: ClientWriteError<ServerId, Peer>) -> ProposeError {
    match error {
        ClientWriteError::ForwardToLeader(forward) => {
            ProposeError::NotLeader { leader: forward.leader_id.zip(forward.leader_node) }
        }
        ClientWriteError::ChangeMembershipError(e) => ProposeError::Fatal(e.to_string()),
    }
}

fn tell(waiting: Vec<oneshot::Sender<Outcome>>, outcome: Result<Applied, ProposeError>) {
    // Callers that gave up are not notified.
    match outcome {
        Ok(applied) => {
            for ((caller, reply), index) in waiting.into_iter().zip(applied.replies).zip(applied.first..) {
                let _ = caller.send(Ok((index, reply)));
            }
        }
        Err(error) => waiting.into_iter().for_each(|caller| {
            let _ = caller.send(Err(error.clone()));
        }),
    }
}
