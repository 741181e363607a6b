//! The event ring (`spec/server.md §21`): what changed, by log index, for those who follow.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::fsm::Change;
use super::ops::EVALUATION_UPDATED;
use crate::model::*;

/// The object of an event as it was written; what is shown of it is the reader's.
#[derive(Debug, Clone)]
pub enum Payload {
    /// A job; `true`: it was removed.
    Job(Arc<Job>, bool),
    /// An evaluation.
    Evaluation(Arc<Evaluation>),
    /// An allocation, to be shown without its job.
    Allocation(Arc<Allocation>),
    /// A deployment.
    Deployment(Arc<Deployment>),
    /// A node, to be shown without its secret.
    Node(Arc<Node>),
    /// A pool.
    NodePool(Arc<NodePool>),
    /// A registered service.
    Service(Arc<ServiceRegistration>),
    /// A variable, to be shown without its items; `true`: it was removed.
    Variable(Box<VariableMetadata>, bool),
    /// A host volume.
    HostVolume(Arc<HostVolume>),
}

/// One event.
#[derive(Debug, Clone)]
pub struct Event {
    /// `Job`, `Evaluation`, …
    pub topic: &'static str,
    /// The operation.
    pub r#type: &'static str,
    /// ID or name of the object.
    pub key: String,
    /// Its namespace; empty if it has none.
    pub namespace: String,
    /// Other keys it is found by.
    pub filter_keys: Vec<String>,
    /// The object.
    pub payload: Payload,
}

/// All events of one log index.
#[derive(Debug, Clone)]
pub struct Batch {
    /// The log index.
    pub index: u64,
    /// In the order of the writes.
    pub events: Arc<[Event]>,
}

/// A reader fell off the ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("event dropped from buffer")]
pub struct Dropped;

#[derive(Debug, Default)]
struct Ring {
    /// Position of the first batch that is held, counted from the first ever.
    first: u64,
    batches: VecDeque<Batch>,
}

/// The last batches, and a signal for those who wait for more.
#[derive(Debug)]
pub struct Events {
    size: usize,
    ring: Mutex<Ring>,
    /// How many batches there ever were.
    published: watch::Sender<u64>,
}

impl Events {
    /// A ring of `size` batches; 0 gives 100.
    pub fn new(size: usize) -> Events {
        let size = if size == 0 { 100 } else { size };
        Events { size, ring: Mutex::default(), published: watch::channel(0).0 }
    }

    fn lock(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds what an operation changed.
    pub fn publish(&self, index: u64, r#type: &'static str, changes: &[Change]) {
        let events: Vec<Event> = changes.iter().filter_map(|c| event(r#type, c)).collect();
        if events.is_empty() {
            return;
        }
        let mut ring = self.lock();
        ring.batches.push_back(Batch { index, events: events.into() });
        if ring.batches.len() > self.size {
            ring.batches.pop_front();
            ring.first += 1;
        }
        let total = ring.first + ring.batches.len() as u64;
        drop(ring);
        self.published.send_replace(total);
    }

    /// A restored store has no past: readers are cut off.
    pub fn clear(&self) {
        let mut ring = self.lock();
        let total = ring.first + ring.batches.len() as u64 + 1;
        *ring = Ring { first: total, batches: VecDeque::new() };
        drop(ring);
        self.published.send_replace(total);
    }

    /// Follows the ring from a log index on (§21.1): 0 from the oldest batch; else the first batch at or after the
    /// index; past the end, from the last batch.
    pub fn subscribe(self: &Arc<Self>, index: u64) -> Subscription {
        let ring = self.lock();
        let at = ring.batches.iter().position(|b| b.index >= index);
        let offset = at.unwrap_or(ring.batches.len().saturating_sub(1)) as u64;
        Subscription { events: self.clone(), next: ring.first + offset, published: self.published.subscribe() }
    }
}

/// A reader's place in the ring.
#[derive(Debug)]
pub struct Subscription {
    events: Arc<Events>,
    next: u64,
    published: watch::Receiver<u64>,
}

impl Subscription {
    /// The next batch; waits until there is one.
    ///
    /// # Errors
    /// [`Dropped`] when the reader was too slow.
    pub async fn next(&mut self) -> Result<Batch, Dropped> {
        loop {
            {
                let ring = self.events.lock();
                let Some(offset) = self.next.checked_sub(ring.first) else { return Err(Dropped) };
                if let Some(b) = usize::try_from(offset).ok().and_then(|o| ring.batches.get(o)) {
                    self.next += 1;
                    return Ok(b.clone());
                }
            }
            if self.published.changed().await.is_err() {
                return Err(Dropped);
            }
        }
    }
}

fn event(r#type: &'static str, change: &Change) -> Option<Event> {
    // Evaluations that follow from changes of nodes are told of like any others.
    let follows = matches!(change, Change::Eval(_) | Change::Job(_)) && r#type.starts_with("Node");
    let r#type = if follows { EVALUATION_UPDATED } else { r#type };
    let make = |topic, key: &str, namespace: &str, filter_keys: &[&str], payload| {
        let filter_keys = filter_keys.iter().map(|k| k.to_string()).collect();
        Some(Event { topic, r#type, key: key.into(), namespace: namespace.into(), filter_keys, payload })
    };
    match change {
        Change::Job(j) => make("Job", &j.id, &j.namespace, &[], Payload::Job(j.clone(), false)),
        Change::JobGone(j) => make("Job", &j.id, &j.namespace, &[], Payload::Job(j.clone(), true)),
        Change::Eval(e) => {
            let keys = [e.job_id.as_str(), e.deployment_id.as_str()];
            make("Evaluation", &e.id, &e.namespace, &keys, Payload::Evaluation(e.clone()))
        }
        Change::Alloc(a) => {
            let keys = [a.job_id.as_str(), a.deployment_id.as_str()];
            make("Allocation", &a.id, &a.namespace, &keys, Payload::Allocation(a.clone()))
        }
        Change::Deployment(d) => make("Deployment", &d.id, &d.namespace, &[&d.job_id], Payload::Deployment(d.clone())),
        Change::Node(id, Some(n)) => make("Node", id, "", &[], Payload::Node(n.clone())),
        Change::NodePool(name, Some(p)) => make("NodePool", name, "", &[], Payload::NodePool(p.clone())),
        Change::Service(s) | Change::ServiceGone(s) => {
            let keys = [s.job_id.as_str(), s.service_name.as_str()];
            make("Service", &s.id, &s.namespace, &keys, Payload::Service(s.clone()))
        }
        Change::Variable(v) => {
            make("Variable", &v.path, &v.namespace, &[], Payload::Variable(v.metadata().into(), false))
        }
        Change::VariableGone(v) => {
            make("Variable", &v.path, &v.namespace, &[], Payload::Variable(v.metadata().into(), true))
        }
        Change::HostVolume(v) | Change::HostVolumeGone(v) => {
            let keys = [v.name.as_str(), v.plugin_id.as_str()];
            make("HostVolume", &v.id, &v.namespace, &keys, Payload::HostVolume(v.clone()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(id: &str) -> Change {
        Change::Node(id.into(), Some(Arc::new(Node { id: id.into(), ..Default::default() })))
    }

    #[tokio::test]
    async fn readers_start_where_they_ask_and_fall_off() {
        let events = Arc::new(Events::new(3));
        for index in [10, 20, 30] {
            events.publish(index, "NodeRegistration", &[node("n")]);
        }
        events.publish(35, "NodeRegistration", &[Change::Namespace("x".into())]);
        let mut oldest = events.subscribe(0);
        let mut later = events.subscribe(15);
        let mut end = events.subscribe(99);
        assert_eq!(oldest.next().await.unwrap().index, 10);
        assert_eq!(later.next().await.unwrap().index, 20);
        assert_eq!(end.next().await.unwrap().index, 30);
        for index in [40, 50] {
            events.publish(index, "NodeRegistration", &[node("n")]);
        }
        assert_eq!(oldest.next().await.unwrap_err(), Dropped);
        assert_eq!(later.next().await.unwrap().index, 30);
        assert_eq!((end.next().await.unwrap().index, end.next().await.unwrap().index), (40, 50));
        events.clear();
        assert_eq!(end.next().await.unwrap_err(), Dropped);
    }
}
