//! Continuous checks of a simulation: leaders, applied entries, and invariants of the state.

use std::collections::BTreeMap;

use parking_lot::{Mutex, MutexGuard};

use super::network::Place;
use super::sim::{self, Sim};
use super::{Verdict, violation};
use encamp_model::*;
use encamp_ops::Operation;
use encamp_ops::codec;
use encamp_raft::{Message, ServerId};
use encamp_state::{State, StateStore};
use encamp_test_support::count::{taken, within_capacity};

/// The observations so far.
#[derive(Default)]
pub(crate) struct Watch(Mutex<Seen>);

#[derive(Default)]
struct Seen {
    leaders: BTreeMap<u64, ServerId>,
    /// A checksum of the entry at each index, and its name.
    entries: BTreeMap<u64, (u32, &'static str)>,
    /// The highest index that was acknowledged to a client.
    acknowledged: u64,
    counts: BTreeMap<&'static str, u64>,
}

/// Called when a server has applied an operation; for every server, in log order.
pub(crate) fn applied(index: u64, op: &Operation, store: &StateStore) {
    if sim::running() {
        let sim = Sim::current();
        sim.watch.applied(&sim, index, op, store);
    }
}

/// Called when a server has applied an entry without an operation.
pub(crate) fn skipped(index: u64) {
    if sim::running() {
        let sim = Sim::current();
        sim.watch.entered(&sim, index, (0, "entry without an operation"));
    }
}

impl Watch {
    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.0.lock()
    }

    /// Called when a server sends a message to another one: a term has a single leader.
    pub(crate) fn message(&self, sim: &Sim, from: Place, to: Place, message: &Message) {
        let (what, vote, entries) = match message {
            Message::Append(m) => ("append", &m.vote, m.entries.len()),
            Message::Vote(m) => ("vote", &m.vote, 0),
            Message::Snapshot(m) => ("snapshot", &m.vote, m.data.len()),
        };
        let leads = !matches!(message, Message::Vote(_));
        if !leads || entries > 0 {
            sim.note(format_args!("{from} > {to} {what} {entries} term {}", vote.leader_id.term));
        }
        if !leads {
            return;
        }
        if matches!(message, Message::Snapshot(_)) {
            self.count("snapshots sent", 1);
        }
        let (term, id) = (vote.leader_id.term, vote.leader_id.voted_for.unwrap_or_default());
        let mut seen = self.lock();
        let known = *seen.leaders.entry(term).or_insert(id);
        drop(seen);
        if known != id {
            sim.broken(&format!("term {term} has two leaders, {known} and {id}"));
        }
    }

    fn applied(&self, sim: &Sim, index: u64, op: &Operation, store: &StateStore) {
        let bytes = codec::encode(op).unwrap_or_default();
        let entry = (crc32fast::hash(&bytes), op.metric());
        if self.entered(sim, index, entry) {
            self.check(sim, index, op, store);
        }
    }

    /// Checks that all servers have the same entry at an index. Returns false after a violation.
    fn entered(&self, sim: &Sim, index: u64, entry: (u32, &'static str)) -> bool {
        let mut seen = self.lock();
        let known = *seen.entries.entry(index).or_insert(entry);
        let news = seen.entries.last_key_value().is_some_and(|(last, _)| *last == index);
        if news && known == entry {
            *seen.counts.entry(entry.1).or_default() += 1;
        }
        drop(seen);
        if known != entry {
            let (was, is) = (known.1, entry.1);
            sim.broken(&format!("index {index} was {was} and is now {is}"));
        }
        known == entry
    }

    /// Checks the invariants after an operation.
    fn check(&self, sim: &Sim, index: u64, op: &Operation, store: &StateStore) {
        if let Operation::PlanResults(r) = op {
            sim.note(format_args!("applied {index} {}", op.metric()));
            for a in &r.placements {
                sim.tell(format_args!("  for {} places {} as {} on {}", r.eval_id, a.name, a.id, a.node_id));
            }
            r.stops.iter().for_each(|s| sim.tell(format_args!("  for {} stops {}", r.eval_id, s.id)));
            r.victims.iter().for_each(|(id, by)| sim.tell(format_args!("  for {} evicts {id} for {by}", r.eval_id)));
        }
        if let Operation::EvalUpdate { evals } = op {
            for e in evals {
                let why = [e.triggered_by.as_str(), e.status.as_str(), &e.status_description].join(", ");
                sim.tell(format_args!("applied {index} evaluation {} of {}: {why}", e.id, e.job_id));
            }
        }
        if let Operation::EvalCancel { evals, .. } = op {
            evals.for_each(|id| sim.tell(format_args!("applied {index} evaluation {id}: canceled")));
        }
        if matches!(op, Operation::PlanResults(_) | Operation::NodeChange(_))
            && let Err(found) = given_once(store.state(), |_| true)
        {
            sim.broken(&format!("at index {index}: {found}"));
        }
    }

    /// Records that a write was acknowledged at an index: the entry must have been applied there.
    pub(crate) fn acknowledged(&self, sim: &Sim, index: u64) {
        let mut seen = self.lock();
        seen.acknowledged = seen.acknowledged.max(index);
        if !seen.entries.contains_key(&index) {
            drop(seen);
            sim.broken(&format!("a write was acknowledged at index {index}, where there is no entry"));
        }
    }

    /// The highest acknowledged index.
    pub(crate) fn highest_acknowledged(&self) -> u64 {
        self.lock().acknowledged
    }

    /// Counts an occurrence.
    pub(crate) fn count(&self, what: &'static str, n: u64) {
        *self.lock().counts.entry(what).or_default() += n;
    }

    /// The counts of operations by name, terms with a leader, and others.
    pub(crate) fn counts(&self) -> BTreeMap<&'static str, u64> {
        let seen = self.lock();
        let mut counts = seen.counts.clone();
        counts.insert("terms with a leader", seen.leaders.len() as u64);
        counts
    }
}

/// No resource is allocated twice, computed from the records only. If `may` returns true for a job, a replaced
/// allocation can run next to its replacement because its node rejected its part of the plan
/// (`docs/spec/server.md §7`).
pub(crate) fn given_once(state: &State, may: impl Fn(&Job) -> bool) -> Verdict {
    for id in state.nodes().map(|n| &n.node.id) {
        within_capacity(state, id).map_err(|e| violation!("node {id}: {e}: {:?}", live_on(state, id)))?;
    }
    state.jobs().try_for_each(|j| no_twins(state, &j.current, &may))
}

/// The allocations of a node, for messages.
fn live_on(state: &State, node: &str) -> Vec<String> {
    let tell = |a: &Allocation| {
        let (t, version) = (taken(a), a.job.as_ref().map_or(0, |j| j.version));
        let places = [a.name.as_str(), &a.id, a.desired_status.as_str(), a.client_status.as_str()].join(" ");
        format!("{places} of version {version} with {} and {} since {}", t.cpu, t.memory, a.modify_index)
    };
    state.allocs_of_node(node).iter().filter(|e| !e.phase.terminal()).map(|e| tell(&e.alloc)).collect()
}

/// No allocation name of a job is used twice.
fn no_twins(state: &State, job: &Job, may: &impl Fn(&Job) -> bool) -> Verdict {
    let everywhere = matches!(job.r#type, JobType::System | JobType::Sysbatch);
    let mut names: BTreeMap<(&str, &str), &Allocation> = BTreeMap::new();
    let allocs = state.allocs_of_job(&job.namespace, &job.id);
    for a in allocs.iter().map(|e| &e.alloc).filter(|a| !a.terminal()) {
        let place = if everywhere { a.node_id.as_str() } else { "" };
        let Some(other) = names.insert((&a.name, place), a) else { continue };
        let replaces = a.previous_allocation == other.id || other.previous_allocation == a.id;
        if !(replaces && may(job)) {
            return Err(violation!("{} is live as {} and as {}", a.name, other.id, a.id));
        }
    }
    Ok(())
}
