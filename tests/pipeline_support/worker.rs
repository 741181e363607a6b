//! Workers. Nothing runs in parallel, but anything may happen between the time when a worker takes its snapshot and the
//! time when its plan is checked: meanwhile other workers run, completely or partly.

use encamp_model::random::Random;
use encamp_model::*;
use encamp_ops::Operation;
use encamp_scheduler::{Context, NodeOrder};
use encamp_server::evals::broker::{Delivery, wait_index};
use encamp_server::pipeline::applier;
use encamp_server::pipeline::planner::{PlannerBackend, WorkerPlanner};
use encamp_server::queues::PlanAnswer;
use encamp_server::queues::pipeline_error::PipelineError;
use encamp_state::StoreSnapshot;

use super::events;
use super::rules;
use super::world::World;
use encamp_test_support::dice::Dice;

const SCHEDULERS: [JobType; 4] = [JobType::Service, JobType::Batch, JobType::System, JobType::Sysbatch];
/// The number of workers.
const WORKERS: usize = 3;

impl World {
    /// Dequeues and processes an evaluation. Returns false if there is none.
    pub fn work(&mut self) -> bool {
        let (choice, token) = (self.random.number(), self.random.uuid());
        let Ok(Some(delivery)) = self.broker.dequeue(&SCHEDULERS, self.now, choice, || token) else { return false };
        self.busy += 1;
        self.process(&delivery);
        self.busy -= 1;
        true
    }

    fn process(&mut self, delivery: &Delivery) {
        let eval = &delivery.eval;
        self.tally.add("evaluations", 1);
        let of_job = self.store.evals_of_job(&eval.namespace, &eval.job_id).map(|e| &**e);
        let least = wait_index(eval, of_job);
        let snapshot = self.some_snapshot(least);
        let crash = !self.calm && self.random.one_in(40);
        if super::replayed() {
            println!("   evaluation {} is taken, on the state at {}", eval.id, snapshot.latest_index());
        }
        let now = self.now;
        let mut ids = Random::new(self.random.number(), "worker");
        let mut ports = Random::new(self.random.number(), "ports");
        let mut place = Place { world: self, delivery, seen: snapshot.latest_index(), crash };
        let mut planner = WorkerPlanner::new(&mut place, snapshot.clone());
        let mut context = Context {
            now,
            order: NodeOrder::Shuffle,
            new_id: &mut || ids.uuid(),
            random: &mut |n| ports.below(n),
            stopwatch: &mut || 0,
            stop: &|| false,
        };
        let done = encamp_scheduler::process(snapshot.state(), eval, &mut context, &mut planner);
        let done = done.map_err(|e| PipelineError::Scheduler(e.to_string())).and_then(|()| planner.finish());
        let (id, token) = (&eval.id, &delivery.token);
        if let Err(error) = &done {
            self.tally.add("failed attempts", 1);
            if super::replayed() {
                println!("   evaluation {id} fails: {error}");
            }
        }
        // A crashed worker sends nothing; a worker that is too late gets an error.
        let _ = match done {
            Ok(()) => self.broker.ack(id, token, self.now).map(drop),
            Err(_) if crash => Ok(()),
            Err(_) => self.broker.nack(id, token, self.now).map(drop),
        };
    }

    /// Runs other work while a worker is busy.
    fn meanwhile(&mut self) {
        if self.calm {
            return;
        }
        for _ in 0..self.random.roll(4) {
            if self.busy < WORKERS && self.random.one_in(2) {
                self.work();
            } else if self.random.one_in(2) {
                events::happen(self);
            }
        }
    }
}

/// The leader as seen by the worker of one evaluation.
struct Place<'a> {
    world: &'a mut World,
    delivery: &'a Delivery,
    /// The index of the newest state that the worker has seen.
    seen: u64,
    /// Whether the worker crashes once its plan is written.
    crash: bool,
}

impl PlannerBackend for Place<'_> {
    fn now(&mut self) -> i64 {
        self.world.now
    }

    fn snapshot(&mut self) -> StoreSnapshot {
        self.world.store.snapshot()
    }

    fn snapshot_at(&mut self, index: u64) -> Result<StoreSnapshot, PipelineError> {
        let there = self.world.store.latest_index() >= index;
        if !there {
            return Err(PipelineError::Late { seconds: 0, index });
        }
        // The state of a server never goes back.
        let snapshot = self.world.some_snapshot(index.max(self.seen));
        self.seen = snapshot.latest_index();
        Ok(snapshot)
    }

    fn still_ours(&mut self) -> Result<(), PipelineError> {
        let (id, token, now) = (&self.delivery.eval.id, &self.delivery.token, self.world.now);
        Ok(self.world.broker.reset(id, token, now)?)
    }

    fn submit(&mut self, plan: Plan, snapshot_index: u64) -> Result<PlanAnswer, PipelineError> {
        let (id, token) = (&self.delivery.eval.id, &self.delivery.token);
        let world = &mut *self.world;
        world.meanwhile();
        world.broker.pause(id, token, world.now)?;
        let term = world.term;
        world.meanwhile();
        if world.term != term {
            // Queued plans are answered when leadership is lost.
            return Err(PipelineError::Flushed);
        }
        assert!(world.store.latest_index() >= snapshot_index, "plans are made on states that there are");
        let answer = world.apply_plan(&plan);
        world.meanwhile();
        let _ = world.broker.resume(id, token, world.now);
        if self.crash { Err(PipelineError::Dropped) } else { answer }
    }

    fn write(&mut self, eval: Evaluation, _: bool) -> Result<(), PipelineError> {
        Ok(self.world.try_commit(Operation::EvalUpdate { evals: vec![eval] }).map(drop)?)
    }

    fn block(&mut self, eval: Evaluation) -> Result<(), PipelineError> {
        let (token, now) = (self.delivery.token.clone(), self.world.now);
        let released = self.world.blocked.block(eval.into(), Some(token), now);
        self.world.tally.add("reblocks", 1);
        if super::replayed() {
            println!("   evaluation {} is blocked again: {} released", self.delivery.eval.id, released.len());
        }
        self.world.broker.enqueue_all(released, now);
        Ok(())
    }
}

impl World {
    /// The applier applies a plan.
    fn apply_plan(&mut self, plan: &Plan) -> Result<PlanAnswer, PipelineError> {
        let (checked, refresh) = applier::judge(&self.store, plan);
        self.tally.plan(plan, &checked);
        if super::replayed() {
            for (node, reason) in &checked.rejected {
                let asked = plan.node_allocation.get(node).into_iter().flatten();
                let asked: Vec<_> = asked.map(|a| (&a.name, &a.id, &a.client_status)).collect();
                println!("   evaluation {}: node {node} refuses: {reason}: {asked:?}", plan.eval_id);
            }
        }
        let verdict = rules::accepted(&self.store, plan, &checked);
        self.check(verdict);
        if checked.is_no_op() {
            return Ok(PlanAnswer::new(checked, refresh, 0));
        }
        let mut ids = Random::new(self.random.number(), "applier");
        let entry = applier::entry(&self.store, plan, &checked, Vec::new(), self.now, &mut || ids.uuid());
        self.tally.add("preemption evaluations", entry.preemption_evals.len());
        let index = self.try_commit(Operation::PlanResults(Box::new(entry)))?;
        Ok(PlanAnswer::new(checked, refresh, index))
    }
}
