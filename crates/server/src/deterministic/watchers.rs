//! Clients that wait for news: subscribers of events, readers of the list of jobs with blocking queries, and holders of a
//! lock. What they see is checked at the end by [`histories`](super::histories).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use encamp_host::ids;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::cluster::Cluster;
use super::histories::events::{self, Delivered, Item};
use super::histories::locks::{self, Hold};
use super::histories::reads::{self, Mode, Read};
use super::network::Place;
use super::users::{self, Stop};
use super::{Verdict, violation};
use crate::endpoints::variables;
use crate::storage::events::{Event, Payload};
use crate::storage::watch::WatchKey;
use crate::{Error, Server};
use encamp_model::random::Random;
use encamp_model::{SECOND, VariableLock};
use encamp_ops::VariableReply;
use encamp_state::{StateStore, Table};

/// How long a client waits for an answer.
const PATIENCE: Duration = Duration::from_secs(8);
/// How long a blocking query waits for news.
const WAIT: Duration = Duration::from_secs(4);
/// The events that one answer may hold.
const MOST_BATCHES: usize = 8;
/// The time that a lock is held without a renewal: the shortest that is allowed.
const TTL: i64 = 10 * SECOND;

/// What all watching clients saw.
#[derive(Default)]
pub(crate) struct Watched(Mutex<Seen>);

#[derive(Default)]
struct Seen {
    streams: Vec<Delivered>,
    reads: BTreeMap<Place, Vec<Read>>,
    holds: Vec<Hold>,
}

impl Watched {
    /// Checks all histories.
    pub(crate) fn check(&self, cluster: &Cluster) -> Verdict {
        let seen = self.0.lock();
        let (events, jobs) = cluster.sim.watch.truth();
        seen.streams.iter().try_for_each(|s| events::check(&events, s)).map_err(|e| violation!("event stream: {e}"))?;
        let all = || seen.reads.iter();
        for (client, reads) in all() {
            reads::check(&jobs, reads).map_err(|e| violation!("list of jobs, client {client}: {e}"))?;
        }
        locks::check(&seen.holds).map_err(|e| violation!("lock: {e}"))?;
        let count = |what, n: usize| cluster.sim.watch.count(what, n as u64);
        count("events received", seen.streams.iter().map(|s| s.items.len()).sum());
        count("reads of lists", all().map(|(_, r)| r.len()).sum());
        count("holds of a lock", seen.holds.len());
        Ok(())
    }
}

/// A checksum of the list of jobs.
pub(crate) fn list_sum(store: &StateStore) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    for job in store.state().jobs().map(|j| &j.current) {
        sum.update(format!("{}\n{} {} {}\n", job.id, job.version, job.modify_index, job.status).as_bytes());
    }
    sum.finalize()
}

/// A subscriber of all events, until asked to stop. It goes on where the last answer ended.
pub(crate) async fn subscriber(cluster: Arc<Cluster>, place: Place, watched: Arc<Watched>, stop: Stop) {
    let mut random = cluster.chance("subscriber");
    let mut next = 0;
    while !stop.now() {
        tokio::time::sleep(Duration::from_millis(random.below(1500))).await;
        let servers = cluster.servers();
        let Some(at) = random.pick(&servers).map(|s| s.0) else { continue };
        let work = move |s: Server| -> BoxFuture<'static, Delivered> { Box::pin(deliver(s, next)) };
        let Ok(delivered) = cluster.network.call((place, at), PATIENCE, work).await else { continue };
        if let Some(last) = delivered.items.last() {
            next = last.index + 1;
            watched.0.lock().streams.push(delivered);
        }
    }
}

async fn deliver(server: Server, asked: u64) -> Delivered {
    let events = server.store().events();
    let oldest = events.oldest().unwrap_or(server.store().applied_index() + 1);
    let mut subscription = events.subscribe(asked);
    let mut items = Vec::new();
    let end = Instant::now() + WAIT;
    for _ in 0..MOST_BATCHES {
        let Ok(Ok(batch)) = tokio::time::timeout_at(end, subscription.next()).await else { break };
        // A subscription past the end begins with the last events (`docs/spec/server.md §21.1`).
        if batch.index >= asked {
            items.extend(batch.events.iter().map(|e| item(batch.index, e)));
        }
    }
    Delivered { asked, oldest, items }
}

/// An event as it is recorded.
pub(crate) fn item(index: u64, event: &Event) -> Item {
    let status = match &event.payload {
        Payload::Job(job, _) => job.status.as_str(),
        Payload::Evaluation(eval) => eval.status.as_str(),
        Payload::Allocation(alloc) => alloc.client_status.as_str(),
        Payload::Deployment(deployment) => deployment.status.as_str(),
        Payload::Node(node) => node.status.as_str(),
        _ => "",
    };
    Item { index, topic: event.topic(), key: event.key().into(), status: status.into() }
}

/// A reader of the list of jobs, until asked to stop: of the leader, or of any server.
pub(crate) async fn reader(cluster: Arc<Cluster>, place: Place, watched: Arc<Watched>, stale: bool, stop: Stop) {
    let mut random = cluster.chance("reader");
    let mut known = 0;
    while !stop.now() {
        tokio::time::sleep(Duration::from_millis(random.below(1000))).await;
        let to = if stale {
            random.pick(&cluster.servers()).map(|s| s.0)
        } else {
            users::find_leader(&cluster, &mut random)
        };
        let Some(to) = to else { continue };
        let asked = if random.below(3) == 0 { 0 } else { known };
        let (from, own) = (ids::now(), cluster.clone());
        let work = move |s: Server| -> BoxFuture<'static, Result<Read, Error>> {
            Box::pin(async move { read(&own, to, s, asked, from, stale).await })
        };
        let Ok(Ok(read)) = cluster.network.call((place, to), PATIENCE, work).await else { continue };
        known = read.index;
        watched.0.lock().reads.entry(place).or_default().push(read);
    }
}

async fn read(cluster: &Cluster, at: Place, s: Server, asked: u64, from: i64, stale: bool) -> Result<Read, Error> {
    let sim = &cluster.sim;
    if !stale {
        s.wait_ready().await?;
    }
    let keys = vec![WatchKey::Table(Table::Jobs)];
    let look = |store: &StateStore| Ok::<_, Error>((store.index_of(Table::Jobs), list_sum(store)));
    let begun = sim.now();
    let (index, content) = s.store().read_newer(keys, asked, Instant::now() + WAIT, look).await?;
    let applied = s.store().applied_index();
    let stats = s.consensus().stats();
    let to = sim.now();
    // A server that has just started, or went on, may still have to catch up.
    let current = cluster.started(at) < to - CATCHES_UP && !sim.clocks.stopped_since(at, to - CATCHES_UP);
    let heard = stats.last_contact.filter(|_| current).map(|ago| i64::try_from(ago.as_nanos()).unwrap_or(i64::MAX));
    let mode = if stale { Mode::Stale(heard) } else { Mode::Leader };
    // A machine that was stopped answers late.
    let running = !sim.clocks.stopped_since(at, begun);
    // What a server knew before its start it may get again in a snapshot, later.
    let news = sim.watch.applied_at(at, index).filter(|at_index| running && *at_index >= cluster.started(at));
    Ok(Read { mode, asked, index, content, applied, from, to, news: news.map(|n| n.max(begun)) })
}

/// How long a server may take to catch up after its start.
const CATCHES_UP: i64 = 20 * SECOND;

fn lock_key() -> (String, String) {
    ("default".into(), "locks/l".into())
}

/// A client that holds a lock at times, until asked to stop: it renews it, gives it back, or forgets to do so.
pub(crate) async fn holder(cluster: Arc<Cluster>, place: Place, watched: Arc<Watched>, stop: Stop) {
    let mut random = cluster.chance("holder");
    while !stop.now() {
        tokio::time::sleep(Duration::from_millis(200 + random.below(4000))).await;
        let lock = VariableLock { id: random.uuid(), ttl: TTL, lock_delay: SECOND };
        let Some(mut hold) = acquire(&cluster, place, &mut random, &lock).await else { continue };
        let renewals = random.below(6);
        for _ in 0..renewals {
            tokio::time::sleep(Duration::from_millis(1000 + random.below(5000))).await;
            let (begun, id) = (ids::now(), lock.id.clone());
            let Some(to) = users::find_leader(&cluster, &mut random) else { continue };
            let work = move |s: Server| -> BoxFuture<'static, bool> {
                Box::pin(async move { variables::renew(&s, &lock_key(), &id).await.is_ok() })
            };
            if begun >= hold.until || stop.now() {
                break;
            }
            if matches!(cluster.network.call((place, to), PATIENCE, work).await, Ok(true)) && ids::now() < hold.until {
                hold.until = begun.saturating_add(TTL);
            }
        }
        if random.below(2) == 0 {
            hold.until = hold.until.min(ids::now());
            give_back(&cluster, place, &mut random, &lock).await;
        }
        cluster.sim.note(format_args!("client {place} held the lock at {} until {}", hold.index, hold.until));
        watched.0.lock().holds.push(hold);
    }
}

async fn acquire(cluster: &Cluster, client: Place, random: &mut Random, lock: &VariableLock) -> Option<Hold> {
    let to = users::find_leader(cluster, random)?;
    let (begun, wanted) = (ids::now(), lock.clone());
    let items = variables::Items([("v".to_string(), client.to_string())].into());
    let work = move |s: Server| -> BoxFuture<'static, Result<variables::Written, Error>> {
        Box::pin(async move { variables::acquire(&s, lock_key(), items, Some(wanted)).await })
    };
    let done = cluster.network.call((client, to), PATIENCE, work).await.ok()?.ok()?;
    let VariableReply::Written(_) = done.reply else { return None };
    cluster.sim.watch.acknowledged(&cluster.sim, done.index);
    Some(Hold { client, index: done.index, from: ids::now(), until: begun.saturating_add(TTL) })
}

async fn give_back(cluster: &Cluster, client: Place, random: &mut Random, lock: &VariableLock) {
    let Some(to) = users::find_leader(cluster, random) else { return };
    let named = Some(lock.clone());
    let work = move |s: Server| -> BoxFuture<'static, bool> {
        Box::pin(async move { variables::release(&s, lock_key(), variables::Items::default(), named).await.is_ok() })
    };
    let _ = cluster.network.call((client, to), PATIENCE, work).await;
}
