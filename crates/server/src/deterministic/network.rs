//! A network between the servers of a simulation and their clients: messages are delayed, reordered, duplicated or
//! lost, and pairs of places are partitioned for a while, in one direction or both.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;

use super::sim::Sim;
use crate::Server;
use crate::error::Error;
use crate::other_agents::servers::OtherServers;
use crate::other_agents::worker_calls::{Outcome, WorkerCall};
use crate::pipeline::call_leader;
use encamp_host::simulation::on;
use encamp_model::random::Random;
use encamp_ops::codec;
use encamp_raft::{Invalid, Message, Peer, Pending, ServerId, Transport, TransportError};

/// How long a caller waits for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The endpoints of messages: servers from 0, clients and nodes after them.
pub(crate) type Place = usize;

/// The current quality of the network.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Weather {
    /// Messages lost, per thousand.
    pub loss: u64,
    /// Messages between servers that are duplicated, per thousand.
    pub twice: u64,
    /// Maximum delay of most messages, in milliseconds.
    pub delay: u64,
    /// Messages that take up to twenty times as long, per thousand.
    pub late: u64,
}

/// A server at a place; every start has its own number.
#[derive(Clone)]
struct Seat {
    start: u64,
    server: Option<Server>,
}

struct Inner {
    random: Random,
    weather: Weather,
    /// Pairs of sender and receiver between which no message is delivered.
    cut: Vec<(Place, Place)>,
    seats: Vec<Seat>,
    ids: BTreeMap<ServerId, Place>,
}

/// The network; clones share it.
#[derive(Clone)]
pub(crate) struct Network {
    inner: Arc<Mutex<Inner>>,
    sim: Arc<Sim>,
}

/// A call without an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Lost {
    /// The call was not executed.
    Refused,
    /// Whether the call was executed is unknown.
    Unknown,
}

impl Network {
    /// Creates a network between servers with these IDs.
    pub(crate) fn new(seed: u64, sim: Arc<Sim>, ids: &[ServerId]) -> Network {
        let inner = Inner {
            random: Random::new(seed, "network"),
            weather: Weather { delay: 3, ..Weather::default() },
            cut: Vec::new(),
            seats: vec![Seat { start: 0, server: None }; ids.len()],
            ids: ids.iter().copied().zip(0..).collect(),
        };
        Network { inner: Arc::new(Mutex::new(inner)), sim }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }

    /// Changes the quality of the network.
    pub(crate) fn set_weather(&self, weather: Weather) {
        self.lock().weather = weather;
    }

    /// Partitions the network: no message is delivered over these links.
    pub(crate) fn cut(&self, links: Vec<(Place, Place)>) {
        self.lock().cut = links;
    }

    /// Called before a server starts at a place. Returns the number of the start.
    pub(crate) fn begin(&self, at: Place) -> u64 {
        let seat = &mut self.lock().seats[at];
        seat.start += 1;
        seat.start
    }

    /// Makes the server of a start reachable.
    pub(crate) fn join(&self, at: Place, server: Server) {
        self.lock().seats[at].server = Some(server);
    }

    /// Makes the server unreachable and drops the messages it sends.
    pub(crate) fn leave(&self, at: Place) -> Option<Server> {
        let seat = &mut self.lock().seats[at];
        seat.start += 1;
        seat.server.take()
    }

    /// The server at a place.
    pub(crate) fn server(&self, at: Place) -> Option<Server> {
        self.lock().seats[at].server.clone()
    }

    /// The place of a server.
    pub(crate) fn place_of(&self, id: ServerId) -> Option<Place> {
        self.lock().ids.get(&id).copied()
    }

    /// Gives a place another server: the one before is gone for good.
    pub(crate) fn rename(&self, at: Place, id: ServerId) {
        let ids = &mut self.lock().ids;
        ids.retain(|_, place| *place != at);
        ids.insert(id, at);
    }

    /// Whether messages pass between two places in both directions.
    pub(crate) fn connects(&self, a: Place, b: Place) -> bool {
        let inner = self.lock();
        !inner.cut.contains(&(a, b)) && !inner.cut.contains(&(b, a))
    }

    /// Whether this is the current start of the server at a place.
    pub(crate) fn is(&self, at: Place, start: u64) -> bool {
        self.lock().seats[at].start == start
    }

    /// Decides on a message: its delay, or `None` if it is lost.
    fn fate(&self, from: Place, to: Place) -> Option<Duration> {
        let inner = &mut *self.lock();
        let (weather, random) = (inner.weather, &mut inner.random);
        let lost = random.below(1000) < weather.loss;
        let late = random.below(1000) < weather.late;
        let ms = random.below(weather.delay + 1) * if late { 1 + random.below(20) } else { 1 };
        let cut = inner.cut.contains(&(from, to));
        let became = match (cut, lost, late) {
            (true, ..) => "messages that met a cut",
            (_, true, _) => "messages lost",
            (.., true) => "messages late",
            _ => "messages in time",
        };
        self.sim.watch.count(became, 1);
        (!lost && !cut).then(|| Duration::from_millis(ms))
    }

    /// Delivers a message. Returns false if it is lost.
    async fn hop(&self, from: Place, to: Place) -> bool {
        let Some(delay) = self.fate(from, to) else { return false };
        tokio::time::sleep(delay).await;
        true
    }

    /// Runs an operation on the server at a place for a caller at another place, which waits for the answer. The
    /// operation continues even if the caller times out.
    ///
    /// # Errors
    /// The server is down, or the call timed out.
    pub(crate) async fn call<T: Send + 'static>(
        &self,
        (from, to): (Place, Place),
        patience: Duration,
        work: impl FnOnce(Server) -> BoxFuture<'static, T> + Send + 'static,
    ) -> Result<T, Lost> {
        let (answer, answered) = oneshot::channel();
        let network = self.clone();
        tokio::spawn(async move {
            if !network.hop(from, to).await {
                // The caller gets no answer.
                tokio::time::sleep(PATIENCE * 10).await;
                return;
            }
            let (start, server) = {
                let seat = &network.lock().seats[to];
                (seat.start, seat.server.clone())
            };
            let Some(server) = server else {
                if network.hop(to, from).await {
                    let _ = answer.send(Err(Lost::Refused));
                }
                return;
            };
            let done = on(to, work(server)).await;
            if network.is(to, start) && network.hop(to, from).await {
                let _ = answer.send(Ok(done));
            } else {
                tokio::time::sleep(PATIENCE * 10).await;
            }
        });
        tokio::time::timeout(patience, answered).await.map_or(Err(Lost::Unknown), |a| a.unwrap_or(Err(Lost::Unknown)))
    }

    /// The network as seen by the server of a start.
    pub(crate) fn end(&self, at: Place, start: u64) -> Arc<End> {
        Arc::new(End { network: self.clone(), at, start })
    }
}

/// A server's end of the network.
pub(crate) struct End {
    network: Network,
    at: Place,
    start: u64,
}

/// The term of who sends a message.
fn term(message: &Message) -> u64 {
    match message {
        Message::Append(request) => request.vote.leader_id.term,
        Message::Vote(request) => request.vote.leader_id.term,
        Message::Snapshot(request) => request.vote.leader_id.term,
    }
}

impl End {
    fn gone(&self) -> bool {
        !self.network.is(self.at, self.start)
    }

    /// Whether this server knows of a later term.
    fn is_past(&self, term: u64) -> bool {
        self.network.server(self.at).is_some_and(|server| server.consensus().stats().term > term)
    }

    /// Never returns for a stopped server, because it sends nothing.
    async fn unless_gone(&self) {
        if self.gone() {
            std::future::pending().await
        }
    }

    async fn carry(
        self: Arc<Self>,
        (id, to): (ServerId, Place),
        bytes: Arc<Vec<u8>>,
        answer: Arc<Mutex<Option<oneshot::Sender<Carried>>>>,
    ) {
        let network = &self.network;
        if !network.hop(self.at, to).await || !network.is(self.at, self.start) {
            return;
        }
        let (start, server, from) = {
            let inner = network.lock();
            let seat = &inner.seats[to];
            let own = inner.ids.iter().find(|(_, place)| **place == self.at).map(|(id, _)| *id);
            // Another server at that place refuses the message.
            let server = seat.server.clone().filter(|_| inner.ids.get(&id) == Some(&to));
            (seat.start, server, own.expect("servers alone send messages"))
        };
        let carried = match server {
            Some(server) => {
                let message: Message = codec::decode(&bytes).expect("a message");
                let term = term(&message);
                let handled = on(to, server.consensus().handle(from, message)).await;
                if !network.is(to, start) {
                    return;
                }
                match handled {
                    Ok(handled) => Carried::Answer(codec::encode(&handled).expect("an answer")),
                    // Who is no leader any more may send entries of its successor with its own term.
                    Err(Invalid::Term) if self.is_past(term) => {
                        network.sim.watch.count("messages of an earlier leader refused", 1);
                        Carried::Refused
                    }
                    Err(why) => {
                        // Servers refuse no other messages from each other.
                        network.sim.broken(&format!("{to} refuses a message of {}: {why}", self.at));
                        Carried::Refused
                    }
                }
            }
            None => Carried::Refused,
        };
        if network.hop(to, self.at).await
            && let Some(answer) = answer.lock().take()
        {
            let _ = answer.send(carried);
        }
    }
}

enum Carried {
    Answer(Vec<u8>),
    Refused,
}

/// An end of the network in the form that Raft uses.
pub(crate) struct Line(pub Arc<End>);

impl Transport for Line {
    fn send<'a>(&'a self, to: ServerId, peer: &'a Peer, message: Message) -> Pending<'a> {
        let end = self.0.clone();
        Box::pin(async move {
            end.unless_gone().await;
            let network = &end.network;
            let Some(place) = network.place_of(to) else { return Err(TransportError("no such server".into())) };
            network.sim.watch.message(&network.sim, end.at, place, &message);
            let bytes = Arc::new(codec::encode(&message).map_err(|e| TransportError(e.to_string()))?);
            drop(message);
            let twice = {
                let inner = &mut *network.lock();
                inner.random.below(1000) < inner.weather.twice
            };
            let (answer, answered) = oneshot::channel();
            let answer = Arc::new(Mutex::new(Some(answer)));
            for _ in 0..=u8::from(twice) {
                tokio::spawn(end.clone().carry((to, place), bytes.clone(), answer.clone()));
            }
            if twice {
                network.sim.watch.count("messages twice", 1);
            }
            drop(answer);
            let answered = answered.await;
            // The server may have stopped meanwhile.
            end.unless_gone().await;
            match answered {
                Ok(Carried::Answer(bytes)) => codec::decode(&bytes).map_err(|e| TransportError(e.to_string())),
                Ok(Carried::Refused) => Err(TransportError(format!("no server answers at {}", peer.address))),
                // The message was lost: the caller has its own timeout.
                Err(_) => std::future::pending().await,
            }
        })
    }

    /// Nobody listens where no server runs. If the links of some servers are cut, their firewalls refuse connections.
    fn has_ended<'a>(&'a self, to: ServerId, _: &'a Peer) -> BoxFuture<'a, bool> {
        let end = self.0.clone();
        Box::pin(async move {
            end.unless_gone().await;
            let network = &end.network;
            let Some(place) = network.place_of(to) else { return false };
            if !network.connects(end.at, place) {
                return place.is_multiple_of(2);
            }
            if !network.hop(end.at, place).await {
                return false;
            }
            let runs = network.server(place).is_some();
            network.hop(place, end.at).await && !runs
        })
    }
}

impl OtherServers for Line {
    fn stand<'a>(&'a self, to: ServerId, _: &'a Peer) -> BoxFuture<'a, Result<(), TransportError>> {
        let end = self.0.clone();
        Box::pin(async move {
            end.unless_gone().await;
            let Some(place) = end.network.place_of(to) else { return Err(TransportError("no such server".into())) };
            let stood =
                end.network.call((end.at, place), PATIENCE, |s| Box::pin(async move { s.consensus().elect().await }));
            match stood.await {
                Ok(stood) => stood.map_err(|e| TransportError(e.to_string())),
                Err(lost) => Err(TransportError(format!("{lost:?}"))),
            }
        })
    }

    fn run<'a>(&'a self, leader: ServerId, _: &'a Peer, call: &'a WorkerCall) -> BoxFuture<'a, Result<Outcome, Error>> {
        let end = self.0.clone();
        Box::pin(async move {
            // A thread of a stopped server has to notice that it must end.
            if end.gone() {
                return Err(Error::no_leader());
            }
            let Some(place) = end.network.place_of(leader) else { return Err(Error::no_leader()) };
            // Encoded as on the wire.
            let bytes = codec::encode(call)?;
            let work = |server: Server| -> BoxFuture<'static, Result<Vec<u8>, Error>> {
                Box::pin(async move {
                    let call: WorkerCall = codec::decode(&bytes)?;
                    let outcome = call_leader::handle(&server, call).await?;
                    Ok(codec::encode(&outcome)?)
                })
            };
            match end.network.call((end.at, place), PATIENCE, work).await {
                Ok(done) => Ok(codec::decode(&done?)?),
                Err(Lost::Refused) => Err(Error::no_leader()),
                Err(Lost::Unknown) => Err(Error::internal("rpc error: no answer in time")),
            }
        })
    }
}
