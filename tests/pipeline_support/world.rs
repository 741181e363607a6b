//! A leader: the store and its dependents, driven by one generator.

use std::collections::VecDeque;

use encamp_model::random::Random;
use encamp_model::*;
use encamp_ops::{NodeRegister, Operation, Refusal, Reply};
use encamp_server::evals::blocked::BlockedEvals;
use encamp_server::evals::broker::{Broker, CANCEL_BATCH};
use encamp_server::evals::eval_lifecycle;
use encamp_server::evals::reapers;
use encamp_server::fsm::{self, Change, Limits};
use encamp_server::leadership::loops::deployments::Deployments;
use encamp_server::leadership::loops::drain::Drainer;
use encamp_server::leadership::loops::driver::Machine;
use encamp_server::storage::persist;
use encamp_state::{State, StateStore, StoreSnapshot};

use super::tally::Tally;
use super::{cluster, replayed, rules};
use encamp_test_support::dice::Dice;

/// The start of the simulated time.
const START: i64 = 1_700_000_000 * SECOND;
/// How far behind the state of workers may be, in entries.
const BEHIND: usize = 6;

/// The leader.
pub struct World {
    /// The only random source.
    pub random: Random,
    /// Unix nanoseconds.
    pub now: i64,
    /// The current state.
    pub store: StateStore,
    /// The index of the last entry.
    pub index: u64,
    /// The most recent states, the newest at the end.
    recent: VecDeque<StoreSnapshot>,
    /// The evaluations to process.
    pub broker: Broker,
    /// The blocked evaluations.
    pub blocked: BlockedEvals,
    drainer: Drainer,
    deployments: Deployments,
    /// The number of leaders so far.
    pub term: u64,
    /// The number of workers that are processing an evaluation.
    pub busy: usize,
    /// Whether there are no further events, only necessary work.
    pub calm: bool,
    /// The counts of events.
    pub tally: Tally,
    /// The first violation.
    pub broken: Option<String>,
}

impl World {
    /// Begins with a state in which nothing happens by itself.
    pub fn of_state(seed: u64, state: State) -> World {
        let index = state.index;
        World { calm: true, index, ..World::begin(seed, StateStore::of_state(state)) }
    }

    fn begin(seed: u64, store: StateStore) -> World {
        let mut world = World {
            random: Random::new(seed, "pipeline"),
            now: START,
            store,
            index: 10,
            recent: VecDeque::new(),
            broker: Broker::new(),
            blocked: BlockedEvals::new(),
            drainer: Drainer::default(),
            deployments: Deployments::default(),
            term: 0,
            busy: 0,
            calm: false,
            tally: Tally::default(),
            broken: None,
        };
        world.broker.set_enabled(true);
        world.blocked.set_enabled(true, START);
        world
    }

    /// Creates a cluster with nodes and without jobs.
    pub fn new(seed: u64) -> World {
        let mut world = World::begin(seed, StateStore::new());
        let preemption = |r: &mut Random| !r.one_in(4);
        let config = SchedulerConfiguration {
            scheduler_algorithm: world.random.of(&[SchedulerAlgorithm::Binpack, SchedulerAlgorithm::Spread]),
            preemption_config: PreemptionConfig {
                system_scheduler_enabled: preemption(&mut world.random),
                sys_batch_scheduler_enabled: preemption(&mut world.random),
                batch_scheduler_enabled: preemption(&mut world.random),
                service_scheduler_enabled: preemption(&mut world.random),
            },
            ..Default::default()
        };
        world.commit(Operation::SchedulerConfig { config, cas: None });
        world.commit(Operation::NamespaceUpsert {
            namespaces: vec![Namespace { name: "other".into(), ..Default::default() }],
        });
        for number in 0..world.random.between(2, 7) as usize {
            let node = cluster::node(&mut world.random, number);
            let now = world.now;
            world.commit(Operation::NodeRegister(Box::new(NodeRegister { node, create_pool: false, now })));
        }
        world
    }

    /// Records a violation; the first one is retained.
    pub fn check(&mut self, verdict: super::Verdict) {
        if let Err(text) = verdict {
            let index = self.index;
            self.broken.get_or_insert_with(|| format!("at index {index}: {text}"));
        }
    }

    /// Applies an operation with its immediate consequences. Returns its index.
    pub fn commit(&mut self, op: Operation) -> Option<u64> {
        self.try_commit(op).ok()
    }

    /// [`World::commit`], with the refusal.
    pub fn try_commit(&mut self, op: Operation) -> Result<u64, Refusal> {
        self.index += 1;
        let index = self.index;
        let applied = fsm::apply(&mut self.store, index, &op, Limits::default());
        if replayed() {
            println!("{index} {} {:?}{}", op.metric(), applied.reply, list_changes(&applied.changes));
        }
        if let Reply::Refused(refusal) = applied.reply {
            return Err(refusal);
        }
        self.recent.push_back(self.store.snapshot());
        if self.recent.len() > BEHIND {
            self.recent.pop_front();
        }
        let released = eval_lifecycle::entail(&op, &applied, index, self.now, &mut self.blocked);
        let again = released.iter().filter(|(e, _)| e.status == EvalStatus::Blocked).count();
        self.tally.add("unblocks", again);
        eval_lifecycle::take_over(&applied, released, self.now, &mut self.broker);
        let verdict = rules::after(&self.store, &applied.changes);
        self.check(verdict);
        Ok(index)
    }

    /// A new ID.
    pub fn id(&mut self) -> String {
        self.random.uuid()
    }

    /// A state that a worker may use: not older than `least`.
    pub fn some_snapshot(&mut self, least: u64) -> StoreSnapshot {
        let newest = self.store.snapshot();
        if self.calm {
            return newest;
        }
        let enough: Vec<StoreSnapshot> =
            self.recent.iter().filter(|s| s.latest_index() >= least).cloned().chain([newest]).collect();
        self.random.of(&enough)
    }

    /// Advances the clock.
    pub fn pass(&mut self, nanos: i64) {
        self.now += nanos;
        self.tick();
    }

    fn tick(&mut self) {
        let lost = self.broker.tick(self.now);
        self.tally.add("lost deliveries", lost.len());
        let released = self.blocked.tick(self.now);
        self.tally.add("conflicts tried again", released.len());
        self.broker.enqueue_all(released, self.now);
    }

    /// Runs the reapers.
    pub fn reap(&mut self) {
        while let Ok(Some(d)) = {
            let token = self.random.uuid();
            self.broker.dequeue_failed(self.now, || token)
        } {
            self.tally.add("failed evaluations", 1);
            let exists = self.store.state().job(&d.eval.namespace, &d.eval.job_id).is_some();
            let (random, id) = (self.random.number(), self.id());
            let evals = reapers::failed(&d.eval, exists, self.now, random, || id);
            self.commit(Operation::EvalUpdate { evals });
            // The delivery may have timed out.
            let _ = self.broker.ack(&d.eval.id, &d.token, self.now);
        }
        let redundant = self.broker.take_cancelable(CANCEL_BATCH);
        self.tally.add("cancelled evaluations", redundant.len());
        for e in &redundant {
            let verdict = rules::cancellable(&self.store, e);
            self.check(verdict);
        }
        let duplicates = self.blocked.take_duplicates();
        self.tally.add("duplicates", duplicates.len());
        if !redundant.is_empty() {
            self.commit(reapers::cancelled(&redundant, self.now));
        }
        if !duplicates.is_empty() {
            self.commit(Operation::EvalUpdate { evals: reapers::duplicates(&duplicates, self.now) });
        }
    }

    /// Runs the drainer and the deployment watcher.
    pub fn look(&mut self) {
        let mut ids = Random::new(self.random.number(), "loops");
        let mut new_id = || ids.uuid();
        let work = self.drainer.look(&self.store, self.now, &mut new_id);
        self.tally.add("drains", work.len());
        if work.into_iter().any(|op| self.commit(op).is_none()) {
            self.drainer.failed();
        }
        let work = self.deployments.look(&self.store, self.now, &mut new_id);
        self.tally.add("deployment updates", work.len());
        if work.into_iter().any(|op| self.commit(op).is_none()) {
            self.deployments.failed();
        }
    }

    /// The next time at which something happens even without writes.
    pub fn next_deadline(&self) -> Option<i64> {
        [self.broker.next_deadline(), self.drainer.next(), self.deployments.next()].into_iter().flatten().min()
    }

    /// Fails over to another server: it only knows the log, in some cases from a snapshot.
    pub fn fail_over(&mut self) {
        self.tally.add("fail-overs", 1);
        self.term += 1;
        if replayed() {
            println!("   another leader");
        }
        if self.random.one_in(2) {
            let mut file = Vec::new();
            persist::write(&self.store, &mut file).expect("memory takes it");
            self.store = persist::read(&mut file.as_slice()).expect("a whole snapshot");
            self.recent.clear();
        }
        self.broker.set_enabled(false);
        self.blocked.set_enabled(false, self.now);
        self.broker.set_enabled(true);
        self.blocked.set_enabled(true, self.now);
        (self.drainer, self.deployments) = (Drainer::default(), Deployments::default());
        eval_lifecycle::refill(&self.store, self.now, &mut self.broker);
    }
}

/// A summary of the changes.
fn list_changes(changes: &[Change]) -> String {
    let mut out = String::new();
    for change in changes {
        match change {
            Change::Eval(e) => {
                out += &format!("\n   eval {} {} {} {}", e.id, e.job_id, e.triggered_by, e.status);
                for (group, m) in &e.failed_tg_allocs {
                    let why = (&m.constraint_filtered, &m.dimension_exhausted, &m.quota_exhausted);
                    out += &format!(" {group}: {} of {} filtered, {why:?}", m.nodes_filtered, m.nodes_evaluated);
                }
            }
            Change::Alloc(a) => {
                out += &format!(
                    "\n   alloc {} {} on {} {} {} {}",
                    a.id, a.name, a.node_id, a.desired_status, a.client_status, a.desired_description
                );
            }
            Change::Node(id, n) => {
                let now = n.as_ref().map(|n| (&n.status, &n.scheduling_eligibility, n.drain));
                out += &format!("\n   node {id} {now:?}");
            }
            Change::Job(j) => {
                let counts: Vec<_> = j.task_groups.iter().map(|g| g.count).collect();
                out += &format!("\n   job {} v{} {} stop {} counts {counts:?}", j.id, j.version, j.status, j.stop);
            }
            Change::Deployment(d) => out += &format!("\n   deployment {} of {} {}", d.id, d.job_id, d.status),
            _ => {}
        }
    }
    out
}
