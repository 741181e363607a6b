//! Entries in flight to another server. openraft waits for a response no longer than one heartbeat interval and then
//! sends the same entries again: large ones over and over, to a server that is busy reading them. This module keeps one
//! request in flight instead and sends heartbeats meanwhile.

use std::sync::Arc;
use std::time::Duration;

use openraft::Vote;
use openraft::raft::{AppendEntriesRequest, AppendEntriesResponse};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::contacts::{Contacts, Sent as SentAt};
use super::network::{Answer, Message, Transport, TransportError};
use super::types::{EntryId, Peer, ServerId, Types};
use encamp_host::simulation::here;

/// A request to append entries.
pub(super) type Append = AppendEntriesRequest<Types>;
type Sent = Result<Answer, TransportError>;

/// Unanswered entries are sent again after so many times the limit of a call, twice as late each time that this was too
/// early.
const FIRST: u32 = 10;
/// At the latest after this.
const LATEST: Duration = Duration::from_secs(30);

/// The connection to another server.
pub(super) struct Way {
    pub(super) transport: Arc<dyn Transport>,
    pub(super) contacts: Arc<Contacts>,
    pub(super) id: ServerId,
    pub(super) peer: Peer,
}

impl Way {
    /// Sends a message and waits for the answer.
    pub(super) async fn send(&self, message: Message) -> Sent {
        let sent = SentAt::now(&message);
        let answer = self.transport.send(self.id, &self.peer, message).await;
        self.contacts.note(self.id, sent, &answer);
        answer
    }

    /// The error of a response that did not arrive in time.
    pub(super) fn late(&self, limit: Duration) -> TransportError {
        TransportError(format!("{} did not answer within {limit:?}", self.peer.address))
    }
}

/// A request with entries that has been sent; dropping it cancels the request.
struct Sending {
    vote: Vote<ServerId>,
    prev: Option<EntryId>,
    last: Option<EntryId>,
    begun: Instant,
    answer: JoinHandle<Sent>,
}

impl Drop for Sending {
    fn drop(&mut self) {
        self.answer.abort();
    }
}

impl Sending {
    fn begin(way: &Arc<Way>, request: Append) -> Sending {
        let (vote, prev, last) = (request.vote, request.prev_log_id, last(&request));
        let way = way.clone();
        let answer = tokio::spawn(here(async move { way.send(Message::Append(request)).await }));
        Sending { vote, prev, last, begun: Instant::now(), answer }
    }

    /// Whether it is what the request asks for, or the first part of it.
    fn serves(&self, request: &Append) -> bool {
        self.vote == request.vote && self.prev == request.prev_log_id && self.last <= last(request)
    }
}

fn last(request: &Append) -> Option<EntryId> {
    request.entries.last().map(|e| e.log_id).or(request.prev_log_id)
}

/// The entries in flight to one server.
#[derive(Default)]
pub(super) struct Sendings {
    current: Option<Sending>,
    /// When the current one is sent again, counted from its beginning.
    patience: Duration,
}

impl Sendings {
    /// Sends entries, unless they are in flight already, and waits for the response. If that takes long, it sends a
    /// heartbeat and returns the response to the heartbeat, as a partial success without new entries.
    ///
    /// # Errors
    /// The other server could not be reached, or answered neither within nine tenths of `limit`.
    pub(super) async fn append(&mut self, way: &Arc<Way>, request: Append, limit: Duration) -> Sent {
        let end = Instant::now() + limit * 9 / 10;
        self.patience = self.patience.max(limit * FIRST);
        let wanted = last(&request);
        let sign = Append {
            vote: request.vote,
            prev_log_id: request.prev_log_id,
            leader_commit: request.leader_commit,
            entries: Vec::new(),
        };
        let current = match self.current.take() {
            Some(s) if !s.serves(&request) => None,
            Some(s) if s.begun.elapsed() > self.patience => {
                self.patience = (self.patience * 2).min(LATEST);
                None
            }
            kept => kept,
        };
        let sending = self.current.insert(current.unwrap_or_else(|| Sending::begin(way, request)));
        let arrived = sending.last;
        let answer = tokio::select! {
            biased;
            answer = &mut sending.answer => answer,
            shown = heartbeat(way, sign, limit, end) => return shown,
        };
        self.current = None;
        self.patience /= 2;
        match answer {
            Ok(Ok(Answer::Append(Ok(AppendEntriesResponse::Success)))) if arrived != wanted => {
                Ok(Answer::Append(Ok(AppendEntriesResponse::PartialSuccess(arrived))))
            }
            Ok(answer) => answer,
            Err(e) => Err(TransportError(format!("sending entries to {} stopped: {e}", way.peer.address))),
        }
    }
}

/// Sends a heartbeat after a while. A success is returned only at `end`: openraft would just send the entries again.
async fn heartbeat(way: &Way, sign: Append, limit: Duration, end: Instant) -> Sent {
    let prev = sign.prev_log_id;
    // openraft has no response for "nothing has arrived at all".
    if prev.is_none() {
        sleep_until(end).await;
        return Err(way.late(limit));
    }
    tokio::time::sleep(limit / 4).await;
    let shown = timeout_at(end, way.send(Message::Append(sign))).await.unwrap_or_else(|_| Err(way.late(limit)))?;
    if !matches!(&shown, Answer::Append(Ok(AppendEntriesResponse::Success))) {
        return Ok(shown);
    }
    sleep_until(end).await;
    Ok(Answer::Append(Ok(AppendEntriesResponse::PartialSuccess(prev))))
}
