//! Continuous checks of a simulation: leaders, applied entries, and invariants of the state.

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::{Mutex, MutexGuard};

use super::cluster::COLLECTED_AFTER;
use super::histories::events::Item;
use super::histories::placements::{self, Eviction, Rollout};
use super::histories::reads::Truth;
use super::network::Place;
use super::sim::{self, Sim};
use super::{Verdict, violation, watchers};
use crate::fsm::Change;
use crate::storage::events::event;
use encamp_host::simulation;
use encamp_model::*;
use encamp_ops::codec;
use encamp_ops::{NodeStatusChange, Operation, PlanResults};
use encamp_raft::{Message, ServerId};
use encamp_scheduler::descriptions;
use encamp_state::{State, StateStore, Table};
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
    /// All events by index.
    events: BTreeMap<u64, Vec<Item>>,
    /// The list of jobs after each write to it, and acknowledged writes.
    jobs: Truth,
    /// When a server applied a write to the list of jobs.
    applied_at: BTreeMap<(Place, u64), i64>,
    /// When each index was first applied.
    first_applied: BTreeMap<u64, i64>,
    /// The allocations that plans stopped, although they ran, to update them.
    updated: BTreeSet<String>,
    /// The last heartbeat of each node that the leader answered: when it began, the TTL of the answer,
    /// and whether it came in time.
    beats: BTreeMap<String, (i64, i64, bool)>,
    counts: BTreeMap<&'static str, u64>,
}

/// Called when a server has applied an operation; for every server, in log order.
pub(crate) fn applied(index: u64, op: &Operation, store: &StateStore) {
    if sim::running() {
        let sim = Sim::current();
        sim.watch.applied(&sim, index, op, store);
    }
}

/// Called when a server has applied an operation, with its changes.
pub(crate) fn changed(index: u64, op: &Operation, changes: &[Change], store: &StateStore) {
    if sim::running() {
        let sim = Sim::current();
        sim.watch.changed(&sim, index, op, changes, store);
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
            Message::Snapshot(m) => ("snapshot", &m.vote, usize::from(!m.data.is_empty())),
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

    /// Records events and the list of jobs, and checks what garbage collection removes. All servers have the same.
    fn changed(&self, sim: &Sim, index: u64, op: &Operation, changes: &[Change], store: &StateStore) {
        let now = sim.now();
        let published = op.event_type().map(|t| changes.iter().filter_map(|c| event(t, c)).collect::<Vec<_>>());
        let mut items: Vec<Item> = Vec::new();
        for item in published.into_iter().flatten().map(|e| watchers::item(index, &e)) {
            // Of an object that is written several times, subscribers get what was written last.
            items.retain(|earlier| (earlier.topic, &earlier.key) != (item.topic, &item.key));
            items.push(item);
        }
        let listed = store.index_of(Table::Jobs) == index;
        let seen = &mut *self.lock();
        let first = !seen.first_applied.contains_key(&index);
        seen.first_applied.entry(index).or_insert(now);
        if listed {
            if let Some(at) = simulation::machine() {
                // A server applies entries again after a crash, and answers with them from then on only.
                seen.applied_at.insert((at, index), now);
            }
            seen.jobs.contents.entry(index).or_insert_with(|| watchers::list_sum(store));
        }
        let known = seen.events.entry(index).or_insert_with(|| items.clone()).clone();
        let young =
            (first && matches!(op, Operation::EvalDelete { .. })).then(|| seen.youngest(changes, now)).flatten();
        let beats = if first { seen.beats.clone() } else { BTreeMap::new() };
        if known != items {
            sim.broken(&format!("at index {index}: servers publish different events"));
        }
        let least = COLLECTED_AFTER - 2 * sim.clocks.furthest(now);
        if let Some((id, age)) = young.filter(|(_, age)| *age < least) {
            sim.broken(&format!("at index {index}: evaluation {id} was collected after {} s", age / SECOND));
        }
        if let Err(found) = lively(op, &beats, now) {
            sim.broken(&format!("at index {index}: {found}"));
        }
    }

    /// Whether a server leads the newest term.
    pub(crate) fn leads(&self, id: ServerId) -> bool {
        self.lock().leaders.last_key_value().is_some_and(|(_, leader)| *leader == id)
    }

    /// Records a heartbeat that the leader answered. One that comes after the TTL of the one before proves nothing: that the
    /// node is dead may be written already.
    pub(crate) fn beat(&self, node: &str, begun: i64, ttl: i64) {
        let beats = &mut self.lock().beats;
        let late = beats.get(node).is_none_or(|(before, lasted, _)| begun > before + lasted);
        beats.insert(node.into(), (begun, ttl, !late));
    }

    /// When a server applied a write to the list of jobs.
    pub(crate) fn applied_at(&self, at: Place, index: u64) -> Option<i64> {
        self.lock().applied_at.get(&(at, index)).copied()
    }

    /// All events by index, and the writes to the list of jobs.
    pub(crate) fn truth(&self) -> (BTreeMap<u64, Vec<Item>>, Truth) {
        let seen = self.lock();
        (seen.events.clone(), seen.jobs.clone())
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
        if let Operation::PlanResults(r) = op {
            let state = store.state();
            let stopped = &mut self.lock().updated;
            stopped.extend(updated(state, r).map(|a| a.id.to_string()));
            let judged = placements::check(&evictions(state, r), &rollouts(state, r, stopped));
            if let Err(found) = judged {
                sim.broken(&format!("at index {index}: {found}"));
            }
        }
    }

    /// Records that a write was acknowledged at an index: the entry must have been applied there.
    pub(crate) fn acknowledged(&self, sim: &Sim, index: u64) {
        let mut seen = self.lock();
        seen.acknowledged = seen.acknowledged.max(index);
        seen.jobs.acknowledged.push((sim.now(), index));
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

impl Seen {
    /// The evaluation that was changed last of those that are gone, and how long ago that was.
    fn youngest(&self, changes: &[Change], now: i64) -> Option<(String, i64)> {
        let gone = changes.iter().filter_map(|c| match c {
            Change::EvalGone(e) => Some((e.id.to_string(), now - self.first_applied.get(&e.modify_index)?)),
            _ => None,
        });
        gone.min_by_key(|(_, age)| *age)
    }
}

/// How much faster than time the clock of a leader may go, as a share of a TTL.
const TOLERATED: i64 = 5;

/// No node is taken for dead before the TTL of its last answered heartbeat is over.
fn lively(op: &Operation, beats: &BTreeMap<String, (i64, i64, bool)>, now: i64) -> Verdict {
    let dead = |s: &NodeStatusChange| match (&s.status, beats.get(&s.id)) {
        (NodeStatus::Down | NodeStatus::Disconnected, Some((begun, ttl, true)))
            if now < begun + ttl - ttl / TOLERATED =>
        {
            Err(violation!("node {} is {} {} ms after a heartbeat", s.id, s.status.as_str(), (now - begun) / 1_000_000))
        }
        _ => Ok(()),
    };
    match op {
        Operation::NodeChange(change) => lively(&change.change, beats, now),
        Operation::NodeStatus(status) => dead(status),
        Operation::NodeStatusBatch { statuses } => statuses.iter().try_for_each(dead),
        _ => Ok(()),
    }
}

/// The evictions of a plan that was applied.
fn evictions(state: &State, r: &PlanResults) -> Vec<Eviction> {
    let of = |id: &str| {
        let job = state.alloc(id).and_then(|e| e.alloc.job.clone())?;
        Some((job.priority, job.id.clone()))
    };
    let one = |(victim, by): &(String, String)| Some(Eviction { victim: victim.clone(), of: of(victim)?, by: of(by)? });
    r.victims.iter().filter_map(one).collect()
}

/// The allocations that a plan stops, although they run, to update them.
fn updated<'s>(state: &'s State, r: &'s PlanResults) -> impl Iterator<Item = &'s Allocation> {
    let stopped = r.stops.iter().filter(|s| s.desired_description.as_str() == descriptions::UPDATING);
    stopped.filter_map(|s| Some(&*state.alloc(&s.id)?.alloc)).filter(|a| !a.client_terminal())
}

/// The rolling updates of a plan that was applied. `updated_before`: what plans stopped to update it.
fn rollouts(state: &State, r: &PlanResults, updated_before: &BTreeSet<String>) -> Vec<Rollout> {
    let mut groups: BTreeMap<String, Rollout> = BTreeMap::new();
    for old in updated(state, r) {
        // The plan's version of the job counts: there may be a newer one.
        let Some(job) = r.job.as_ref().filter(|j| *j.id == *old.job_id) else { continue };
        let update = job.lookup_group(&old.task_group).and_then(|g| g.update.clone());
        let Some(update) = update.filter(|_| job.r#type == JobType::Service) else { continue };
        let group = format!("{} {}", old.job_id, old.task_group);
        let unproved = || {
            let allocs = state.allocs_of_job(&old.namespace, &old.job_id);
            let live = allocs.iter().map(|e| &e.alloc).filter(|a| !a.terminal() && a.health() != Some(true));
            let current = live.filter(|a| a.job.as_ref().is_some_and(|j| j.version == job.version));
            // One of an older deployment that was updated in place does not count in the new one.
            let made =
                |a: &Allocation| state.deployment(&a.deployment_id).is_some_and(|d| a.create_index >= d.create_index);
            let new = current.filter(|a| a.task_group == old.task_group && made(a));
            // One that was lost meanwhile is replaced at once.
            let lost = |id: &str| state.alloc(id).is_none_or(|e| e.alloc.client_status == ClientStatus::Lost);
            let replaces = |id: &str| updated_before.contains(id) && !lost(id);
            new.filter(|a| replaces(a.previous_allocation.as_str())).count() as i64
        };
        let rollout = groups.entry(group.clone()).or_insert_with(|| Rollout {
            group,
            most: update.max_parallel,
            stopped: 0,
            unproved: unproved(),
        });
        rollout.stopped += 1;
    }
    groups.into_values().collect()
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

/// How many replacements of one allocation are followed.
const LONGEST_LINE: usize = 64;

/// No allocation name of a job is used twice.
fn no_twins(state: &State, job: &Job, may: &impl Fn(&Job) -> bool) -> Verdict {
    let everywhere = matches!(job.r#type, JobType::System | JobType::Sysbatch);
    let mut names: BTreeMap<(&str, &str), &Allocation> = BTreeMap::new();
    let allocs = state.allocs_of_job(&job.namespace, &job.id);
    for a in allocs.iter().map(|e| &e.alloc).filter(|a| !a.terminal()) {
        let place = if everywhere { a.node_id.as_str() } else { "" };
        let Some(other) = names.insert((&a.name, place), a) else { continue };
        if !((replaces(state, a, other) || replaces(state, other, a)) && may(job)) {
            return Err(violation!("{} is live as {} and as {}", a.name, other.id, a.id));
        }
    }
    Ok(())
}

/// Whether an allocation replaces another one, or one that replaced it: plans replace the newest allocation of a name,
/// also while the node of an older one still rejects its part.
fn replaces(state: &State, new: &Allocation, old: &Allocation) -> bool {
    let previous = |a: &Allocation| state.alloc(&a.previous_allocation).map(|e| &*e.alloc);
    let line = std::iter::successors(previous(new), |a| previous(a)).take_while(|a| a.name == new.name);
    line.take(LONGEST_LINE).any(|a| a.id == old.id)
}
