//! The event ring buffer (`docs/spec/server.md §21`): changes by log index, for subscribers.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::fsm::Change;
use encamp_host::watch_value;
use encamp_model::*;
use encamp_ops::EVALUATION_UPDATED;

/// The object of an event as it was written; the reader decides which parts to show.
#[derive(Debug, Clone)]
pub enum Payload {
    /// A job; `true` if it was removed.
    Job(Arc<Job>, bool),
    /// An evaluation.
    Evaluation(Arc<Evaluation>),
    /// An allocation, to be displayed without its job.
    Allocation(Arc<Allocation>),
    /// A deployment.
    Deployment(Arc<Deployment>),
    /// A node.
    Node(Arc<Node>),
    /// A node pool.
    NodePool(Arc<NodePool>),
    /// A registered service.
    Service(Arc<ServiceRegistration>),
    /// A variable, to be displayed without its items; `true` if it was removed.
    Variable(Box<VariableMetadata>, bool),
    /// A host volume.
    HostVolume(Arc<HostVolume>),
    /// A CSI volume, to be displayed without its secrets and claims.
    CsiVolume(Arc<CsiVolume>),
    /// A CSI plugin.
    CsiPlugin(Arc<CsiPlugin>),
    /// An ACL policy.
    AclPolicy(Arc<AclPolicy>),
    /// An ACL token, to be displayed without its secret.
    AclToken(Arc<AclToken>),
    /// An ACL role.
    AclRole(Arc<AclRole>),
    /// An auth method, to be displayed without its secrets.
    AclAuthMethod(Arc<AclAuthMethod>),
    /// A binding rule.
    AclBindingRule(Arc<AclBindingRule>),
}

/// An event: its topic, key and namespace are derived from its object.
#[derive(Debug, Clone)]
pub struct Event {
    /// The operation.
    pub r#type: &'static str,
    /// The object.
    pub payload: Payload,
}

impl Event {
    /// `Job`, `Evaluation`, …
    pub fn topic(&self) -> &'static str {
        match &self.payload {
            Payload::Job(..) => "Job",
            Payload::Evaluation(_) => "Evaluation",
            Payload::Allocation(_) => "Allocation",
            Payload::Deployment(_) => "Deployment",
            Payload::Node(_) => "Node",
            Payload::NodePool(_) => "NodePool",
            Payload::Service(_) => "Service",
            Payload::Variable(..) => "Variable",
            Payload::HostVolume(_) => "HostVolume",
            Payload::CsiVolume(_) => "CSIVolume",
            Payload::CsiPlugin(_) => "CSIPlugin",
            Payload::AclPolicy(_) => "ACLPolicy",
            Payload::AclToken(_) => "ACLToken",
            Payload::AclRole(_) => "ACLRole",
            Payload::AclAuthMethod(_) => "ACLAuthMethod",
            Payload::AclBindingRule(_) => "ACLBindingRule",
        }
    }

    /// ID or name of the object.
    pub fn key(&self) -> &str {
        match &self.payload {
            Payload::Job(j, _) => &j.id,
            Payload::Evaluation(e) => &e.id,
            Payload::Allocation(a) => &a.id,
            Payload::Deployment(d) => &d.id,
            Payload::Node(n) => &n.id,
            Payload::NodePool(p) => &p.name,
            Payload::Service(s) => &s.id,
            Payload::Variable(v, _) => &v.path,
            Payload::HostVolume(v) => &v.id,
            Payload::CsiVolume(v) => &v.id,
            Payload::CsiPlugin(p) => &p.id,
            Payload::AclPolicy(p) => &p.name,
            Payload::AclToken(t) => &t.accessor_id,
            Payload::AclRole(r) => &r.id,
            Payload::AclAuthMethod(m) => &m.name,
            Payload::AclBindingRule(r) => &r.id,
        }
    }

    /// The namespace of the object; empty if it has none.
    pub fn namespace(&self) -> &str {
        match &self.payload {
            Payload::Job(j, _) => &j.namespace,
            Payload::Evaluation(e) => &e.namespace,
            Payload::Allocation(a) => &a.namespace,
            Payload::Deployment(d) => &d.namespace,
            Payload::Node(_)
            | Payload::NodePool(_)
            | Payload::CsiPlugin(_)
            | Payload::AclPolicy(_)
            | Payload::AclToken(_)
            | Payload::AclRole(_)
            | Payload::AclAuthMethod(_)
            | Payload::AclBindingRule(_) => "",
            Payload::Service(s) => &s.namespace,
            Payload::Variable(v, _) => &v.namespace,
            Payload::HostVolume(v) => &v.namespace,
            Payload::CsiVolume(v) => &v.namespace,
        }
    }

    /// Other keys that match the event.
    pub fn filter_keys(&self) -> Vec<&str> {
        match &self.payload {
            Payload::Evaluation(e) => vec![&e.job_id, &e.deployment_id],
            Payload::Allocation(a) => vec![&a.job_id, &a.deployment_id],
            Payload::Deployment(d) => vec![&d.job_id],
            Payload::Service(s) => vec![&s.job_id, &s.service_name],
            Payload::HostVolume(v) => vec![&v.name, &v.plugin_id],
            Payload::CsiVolume(v) => vec![&v.name, &v.plugin_id],
            Payload::AclRole(r) => vec![&r.name],
            Payload::AclBindingRule(r) => vec![&r.auth_method],
            Payload::Job(..)
            | Payload::Node(_)
            | Payload::NodePool(_)
            | Payload::CsiPlugin(_)
            | Payload::Variable(..)
            | Payload::AclPolicy(_)
            | Payload::AclToken(_)
            | Payload::AclAuthMethod(_) => vec![],
        }
    }
}

/// All events of one log index.
#[derive(Debug, Clone)]
pub struct Batch {
    /// The log index.
    pub index: u64,
    /// One event for each object that was written, in the order of the last writes.
    pub events: Arc<[Event]>,
}

/// The subscriber's position is no longer in the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("event dropped from buffer")]
pub struct Dropped;

#[derive(Debug, Default)]
struct Ring {
    /// Position of the first retained batch, counted from the first batch ever.
    first: u64,
    batches: VecDeque<Batch>,
    /// How many events they hold together.
    events: usize,
}

impl Ring {
    fn push(&mut self, batch: Batch) {
        self.events += batch.events.len();
        self.batches.push_back(batch);
    }

    fn drop_oldest(&mut self) {
        if let Some(gone) = self.batches.pop_front() {
            self.events -= gone.events.len();
            self.first += 1;
        }
    }
}

/// The number of events per batch, on average, above which fewer batches are retained: an event of an allocation that was
/// written again since holds the only copy of it, and one plan or report of nodes may write thousands.
const EVENTS_PER_BATCH: usize = 100;

/// The most recent batches, and a signal for waiting subscribers.
#[derive(Debug)]
pub struct Events {
    size: usize,
    most_events: usize,
    ring: Mutex<Ring>,
    /// The total number of batches ever published.
    published: watch_value::Sender<u64>,
}

impl Events {
    /// A ring buffer of `size` batches; 0 means 100.
    pub fn new(size: usize) -> Events {
        let size = if size == 0 { 100 } else { size };
        let most_events = size.saturating_mul(EVENTS_PER_BATCH);
        Events { size, most_events, ring: Mutex::default(), published: watch_value::Sender::new(0) }
    }

    /// Publishes the changes of an operation.
    pub fn publish(&self, index: u64, r#type: &'static str, changes: &[Change]) {
        let events = events(r#type, changes);
        if events.is_empty() {
            return;
        }
        let mut ring = self.ring.lock();
        #[cfg(test)]
        match crate::deterministic::bugs::publications(index) {
            0 => return,
            1 => {}
            _ => ring.push(Batch { index, events: events.clone().into() }),
        }
        ring.push(Batch { index, events: events.into() });
        // A subscriber may still be about to read the newest one.
        while ring.batches.len() > self.size || (ring.events > self.most_events && ring.batches.len() > 1) {
            ring.drop_oldest();
        }
        let total = ring.first + ring.batches.len() as u64;
        drop(ring);
        self.published.send(total);
    }

    /// The index of the oldest batch.
    #[cfg(test)]
    pub(crate) fn oldest(&self) -> Option<u64> {
        self.ring.lock().batches.front().map(|b| b.index)
    }

    /// A restored store has no history: all subscriptions end.
    pub fn clear(&self) {
        let mut ring = self.ring.lock();
        let total = ring.first + ring.batches.len() as u64 + 1;
        *ring = Ring { first: total, ..Ring::default() };
        drop(ring);
        self.published.send(total);
    }

    /// Subscribes from a log index (`docs/spec/server.md §21.1`): 0 starts at the oldest batch; any other index at the
    /// first batch at or after it; an index past the end at the last batch.
    pub fn subscribe(self: &Arc<Self>, index: u64) -> Subscription {
        let ring = self.ring.lock();
        let at = ring.batches.iter().position(|b| b.index >= index);
        let offset = at.unwrap_or(ring.batches.len().saturating_sub(1)) as u64;
        Subscription { events: self.clone(), next: ring.first + offset, published: self.published.subscribe() }
    }
}

/// A subscriber's position in the ring buffer.
#[derive(Debug)]
pub struct Subscription {
    events: Arc<Events>,
    next: u64,
    published: watch_value::Receiver<u64>,
}

impl Subscription {
    /// Returns the next batch; waits until there is one.
    ///
    /// # Errors
    /// [`Dropped`] if the subscriber was too slow.
    pub async fn next(&mut self) -> Result<Batch, Dropped> {
        loop {
            {
                let ring = self.events.ring.lock();
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

/// The events of an operation. An object that it wrote several times has one event, with what was written last, at the
/// place of the last write (`docs/spec/server.md §21.1`).
fn events(r#type: &'static str, changes: &[Change]) -> Vec<Event> {
    let mut events: Vec<Event> = changes.iter().filter_map(|c| event(r#type, c)).collect();
    let mut last: Vec<bool> = {
        let mut seen = HashSet::new();
        events.iter().rev().map(|e| seen.insert((e.topic(), e.namespace(), e.key()))).collect()
    };
    // From the last one to the first one.
    events.retain(|_| last.pop().unwrap_or(true));
    events
}

/// The event of a change.
pub(crate) fn event(r#type: &'static str, change: &Change) -> Option<Event> {
    // Evaluations that follow from node changes are published like any others.
    let follows = matches!(change, Change::Eval(_) | Change::Job(_)) && r#type.starts_with("Node");
    let r#type = if follows { EVALUATION_UPDATED } else { r#type };
    let payload = match change {
        Change::Job(j) => Payload::Job(j.clone(), false),
        Change::JobGone(j) => Payload::Job(j.clone(), true),
        Change::Eval(e) => Payload::Evaluation(e.clone()),
        Change::Alloc(a) => Payload::Allocation(a.clone()),
        Change::Deployment(d) => Payload::Deployment(d.clone()),
        Change::Node(_, Some(n)) => Payload::Node(n.clone()),
        Change::NodePool(_, Some(p)) => Payload::NodePool(p.clone()),
        Change::Service(s) | Change::ServiceGone(s) => Payload::Service(s.clone()),
        Change::Variable(v) => Payload::Variable(v.metadata().into(), false),
        Change::VariableGone(v) => Payload::Variable(v.metadata().into(), true),
        Change::HostVolume(v) | Change::HostVolumeGone(v) => Payload::HostVolume(v.clone()),
        Change::CsiVolume(v) | Change::CsiVolumeGone(v) => Payload::CsiVolume(v.clone()),
        Change::CsiPlugin(p) | Change::CsiPluginGone(p) => Payload::CsiPlugin(p.clone()),
        Change::AclPolicy(p) => Payload::AclPolicy(p.clone()),
        Change::AclToken(t) => Payload::AclToken(t.clone()),
        Change::AclRole(r) => Payload::AclRole(r.clone()),
        Change::AclAuthMethod(m) => Payload::AclAuthMethod(m.clone()),
        Change::AclBindingRule(r) => Payload::AclBindingRule(r.clone()),
        Change::Node(_, None)
        | Change::NodePool(_, None)
        | Change::Namespace(_)
        | Change::JobVersion(..)
        | Change::Summary(..)
        | Change::EvalGone(_)
        | Change::AllocGone { .. }
        | Change::DeploymentGone(_)
        | Change::Other(_) => return None,
    };
    Some(Event { r#type, payload })
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

    #[test]
    fn an_object_has_one_event_of_an_index_with_its_last_state() {
        let job = |namespace: &str, status: JobStatus| {
            let job = Job { id: "j".into(), namespace: namespace.into(), status, ..Default::default() };
            Change::Job(Arc::new(job))
        };
        let eval = Change::Eval(Arc::new(Evaluation { id: "e".into(), ..Default::default() }));
        let changes =
            [job("a", JobStatus::Dead), job("b", JobStatus::Dead), eval, node("j"), job("a", JobStatus::Pending)];
        let seen: Vec<(&str, String, JobStatus)> = events("JobRegistered", &changes)
            .iter()
            .map(|e| {
                let status = match &e.payload {
                    Payload::Job(job, _) => job.status.clone(),
                    _ => JobStatus::Unset,
                };
                (e.topic(), e.namespace().to_string(), status)
            })
            .collect();
        let want = [
            ("Job", "b", JobStatus::Dead),
            ("Evaluation", "", JobStatus::Unset),
            ("Node", "", JobStatus::Unset),
            ("Job", "a", JobStatus::Pending),
        ];
        assert_eq!(seen, want.map(|(topic, namespace, status)| (topic, namespace.to_string(), status)));
    }

    #[tokio::test]
    async fn large_batches_leave_room_for_fewer() {
        let events = Arc::new(Events::new(3));
        let large: Vec<Change> = (0..2 * EVENTS_PER_BATCH).map(|n| node(&n.to_string())).collect();
        events.publish(10, "NodeRegistration", &large);
        let mut slow = events.subscribe(0);
        events.publish(20, "NodeRegistration", &large);
        assert_eq!(slow.next().await.unwrap_err(), Dropped);
        events.publish(30, "NodeRegistration", &[node("n")]);
        let mut second = events.subscribe(0);
        assert_eq!((second.next().await.unwrap().index, second.next().await.unwrap().index), (20, 30));
        let huge: Vec<Change> = (0..4 * EVENTS_PER_BATCH).map(|n| node(&n.to_string())).collect();
        events.publish(40, "NodeRegistration", &huge);
        assert_eq!(second.next().await.unwrap().events.len(), huge.len());
    }
}
