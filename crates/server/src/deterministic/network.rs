//! A network between the servers of a simulation and their clients: messages take time, overtake each other, come twice
//! or never, and pairs of places can't reach each other for a while, in one direction or both.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

use super::sim::Sim;
use crate::Server;
use crate::error::Error;
use crate::handle::Others;
use crate::pipeline::errands::{self, Errand, Outcome};
use encamp_model::random::Random;
use encamp_ops::codec;
use encamp_raft::{Message, Peer, Pending, ServerId, Transport, TransportError};

/// How long a caller waits for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where messages come from and go to: servers from 0, everybody else after them.
pub(crate) type Place = usize;

/// How the network is at the moment.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Weather {
    /// Messages that are lost, of a thousand.
    pub loss: u64,
    /// Messages between servers that come twice, of a thousand.
    pub twice: u64,
    /// Longest delay of most messages, in milliseconds.
    pub delay: u64,
    /// Messages that take up to twenty times as long, of a thousand.
    pub late: u64,
}

/// A server at a place; every start has a number of its own.
#[derive(Clone)]
struct Seat {
    start: u64,
    server: Option<Server>,
}

struct Inner {
    random: Random,
    weather: Weather,
    /// From where no message gets where.
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

/// What became of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Lost {
    /// It never began.
    Refused,
    /// Nobody knows.
    Unknown,
}

impl Network {
    /// Between servers with these IDs.
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
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the weather.
    pub(crate) fn set_weather(&self, weather: Weather) {
        self.lock().weather = weather;
    }

    /// From now on nothing gets from the one place to the other.
    pub(crate) fn cut(&self, links: Vec<(Place, Place)>) {
        self.lock().cut = links;
    }

    /// A server is about to start at a place; gives the number of the start.
    pub(crate) fn begin(&self, at: Place) -> u64 {
        let seat = &mut self.lock().seats[at];
        seat.start += 1;
        seat.start
    }

    /// The server of a start can be reached.
    pub(crate) fn join(&self, at: Place, server: Server) {
        self.lock().seats[at].server = Some(server);
    }

    /// Nobody reaches the server any more, and nothing it sends arrives.
    pub(crate) fn leave(&self, at: Place) -> Option<Server> {
        let seat = &mut self.lock().seats[at];
        seat.start += 1;
        seat.server.take()
    }

    /// The server at a place.
    pub(crate) fn server(&self, at: Place) -> Option<Server> {
        self.lock().seats[at].server.clone()
    }

    /// Where a server is.
    pub(crate) fn place_of(&self, id: ServerId) -> Option<Place> {
        self.lock().ids.get(&id).copied()
    }

    fn is(&self, at: Place, start: u64) -> bool {
        self.lock().seats[at].start == start
    }

    /// Decides about a message: its delay, unless it gets lost.
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

    /// Carries a message; false if it never arrives.
    async fn hop(&self, from: Place, to: Place) -> bool {
        let Some(delay) = self.fate(from, to) else { return false };
        tokio::time::sleep(delay).await;
        true
    }

    /// Has the server at a place do something, for a caller at another one who waits for the answer. The work goes on
    /// even if the caller gives up.
    ///
    /// # Errors
    /// The server is down, or there was no answer in time.
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
                // The caller learns nothing.
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
            let done = work(server).await;
            if network.is(to, start) && network.hop(to, from).await {
                let _ = answer.send(Ok(done));
            } else {
                tokio::time::sleep(PATIENCE * 10).await;
            }
        });
        tokio::time::timeout(patience, answered).await.map_or(Err(Lost::Unknown), |a| a.unwrap_or(Err(Lost::Unknown)))
    }

    /// The network as the server of a start sees it.
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

impl End {
    fn gone(&self) -> bool {
        !self.network.is(self.at, self.start)
    }

    /// Servers that are gone send nothing.
    async fn unless_gone(&self) {
        if self.gone() {
            std::future::pending().await
        }
    }

    async fn carry(
        self: Arc<Self>,
        to: Place,
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
            (seat.start, seat.server.clone(), own.expect("servers alone send messages"))
        };
        let carried = match server {
            Some(server) => {
                let message: Message = codec::decode(&bytes).expect("a message");
                let handled = server.consensus().handle(from, message).await;
                let handled = handled.expect("servers send each other nothing that they refuse");
                if !network.is(to, start) {
                    return;
                }
                Carried::Answer(codec::encode(&handled).expect("an answer"))
            }
            None => Carried::Refused,
        };
        if network.hop(to, self.at).await
            && let Some(answer) = answer.lock().unwrap_or_else(PoisonError::into_inner).take()
        {
            let _ = answer.send(carried);
        }
    }
}

enum Carried {
    Answer(Vec<u8>),
    Refused,
}

/// An end that can be handed to consensus.
pub(crate) struct Line(pub Arc<End>);

impl Transport for Line {
    fn send<'a>(&'a self, to: ServerId, peer: &'a Peer, message: Message) -> Pending<'a> {
        let end = self.0.clone();
        Box::pin(async move {
            end.unless_gone().await;
            let network = &end.network;
            let Some(place) = network.place_of(to) else { return Err(TransportError("no such server".into())) };
            network.sim.watch.message(&network.sim, end.at, place, &message);
            let bytes = Arc::new(codec::encode(&message).map_err(TransportError)?);
            drop(message);
            let twice = {
                let inner = &mut *network.lock();
                inner.random.below(1000) < inner.weather.twice
            };
            let (answer, answered) = oneshot::channel();
            let answer = Arc::new(Mutex::new(Some(answer)));
            for _ in 0..=u8::from(twice) {
                tokio::spawn(end.clone().carry(place, bytes.clone(), answer.clone()));
            }
            if twice {
                network.sim.watch.count("messages twice", 1);
            }
            drop(answer);
            let answered = answered.await;
            // It may have gone meanwhile.
            end.unless_gone().await;
            match answered {
                Ok(Carried::Answer(bytes)) => codec::decode(&bytes).map_err(TransportError),
                Ok(Carried::Refused) => Err(TransportError(format!("nobody answers at {}", peer.address))),
                // Lost: whoever waits bounds the time.
                Err(_) => std::future::pending().await,
            }
        })
    }
}

impl Others for Line {
    fn stand<'a>(&'a self, to: ServerId, _: &'a Peer) -> BoxFuture<'a, Result<(), String>> {
        let end = self.0.clone();
        Box::pin(async move {
            end.unless_gone().await;
            let Some(place) = end.network.place_of(to) else { return Err("no such server".into()) };
            let stood =
                end.network.call((end.at, place), PATIENCE, |s| Box::pin(async move { s.consensus().elect().await }));
            stood.await.unwrap_or_else(|lost| Err(format!("{lost:?}")))
        })
    }

    fn run<'a>(&'a self, leader: ServerId, _: &'a Peer, errand: &'a Errand) -> BoxFuture<'a, Result<Outcome, Error>> {
        let end = self.0.clone();
        Box::pin(async move {
            // A thread of a server that is gone has to see that it is to end.
            if end.gone() {
                return Err(Error::no_leader());
            }
            let Some(place) = end.network.place_of(leader) else { return Err(Error::no_leader()) };
            // As on a wire.
            let bytes = codec::encode(errand).map_err(Error::internal)?;
            let work = |server: Server| -> BoxFuture<'static, Result<Vec<u8>, Error>> {
                Box::pin(async move {
                    let errand: Errand = codec::decode(&bytes).map_err(Error::internal)?;
                    let outcome = errands::carry_out(&server, errand).await?;
                    codec::encode(&outcome).map_err(Error::internal)
                })
            };
            match end.network.call((end.at, place), PATIENCE, work).await {
                Ok(done) => codec::decode(&done?).map_err(Error::internal),
                Err(Lost::Refused) => Err(Error::no_leader()),
                Err(Lost::Unknown) => Err(Error::internal("rpc error: no answer in time")),
            }
        })
    }
}
