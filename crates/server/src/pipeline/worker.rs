//! Scheduling workers (`docs/spec/server.md §6`): threads that take evaluations from the broker, run the schedulers on
//! a snapshot of the store, and hand plans to the applier.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::evals::broker::{CORE, Delivery, wait_index};
use crate::handle::Server;
use crate::leadership::queues::PlanAnswer;
use crate::pipeline::errands::{self, Errand, Outcome};
use crate::pipeline::planner::{WorkerPlanner, Workplace};
use crate::pipeline::travel;
use encamp_host::ids;
use encamp_host::threads::{self, Instant};
use encamp_model::*;
use encamp_ops::Operation;
use encamp_scheduler::{Context, NodeOrder};
use encamp_state::StoreSnapshot;

/// How long one request for an evaluation waits.
const DEQUEUE: Duration = Duration::from_millis(500);
/// How long a worker waits for the state an evaluation needs.
const STATE_WAIT: Duration = Duration::from_secs(5);
/// How long it keeps away after that was not enough.
const LAG_WAIT: Duration = Duration::from_secs(50);
/// How long a worker keeps away from a leader that can't be asked: at first, and at most.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(10));
/// How often a paused worker looks whether it still is.
const PAUSED: Duration = Duration::from_millis(100);

/// What a worker does at the moment, as `/v1/agent/schedulers` shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    /// Waits for an evaluation.
    WaitingToDequeue,
    /// Waits for the state an evaluation needs.
    WaitingForRaft,
    /// Runs a scheduler.
    Scheduling,
    /// Waits for a plan.
    Submitting,
    /// Paused by the leader.
    Paused,
    /// Ended.
    Stopped,
}

impl Workload {
    /// The word clients see.
    pub fn word(self) -> &'static str {
        match self {
            Workload::WaitingToDequeue => "WaitingToDequeue",
            Workload::WaitingForRaft => "WaitingForRaft",
            Workload::Scheduling => "Scheduling",
            Workload::Submitting => "Submitting",
            Workload::Paused => "Paused",
            Workload::Stopped => "Stopped",
        }
    }
}

/// A worker as others see it.
#[derive(Debug)]
pub struct Worker {
    /// Its ID, a UUID.
    pub id: String,
    /// The schedulers it runs.
    pub schedulers: Vec<String>,
    /// When it was started, in Unix nanoseconds.
    pub started: i64,
    paused: AtomicBool,
    stopping: AtomicBool,
    workload: Mutex<Workload>,
}

/// Whether this server's own broker is the one to ask.
fn alone_or_leading(server: &Server) -> bool {
    server.consensus().leads() || server.consensus().stats().num_peers == 0
}

impl Worker {
    /// Starts a worker's thread.
    pub fn start(server: Server, schedulers: Vec<String>) -> std::io::Result<Arc<Worker>> {
        let worker = Arc::new(Worker {
            id: ids::uuid(),
            schedulers,
            started: ids::now(),
            paused: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            workload: Mutex::new(Workload::WaitingToDequeue),
        });
        let own = worker.clone();
        threads::spawn("worker", move || own.run(&server))?;
        Ok(worker)
    }

    /// Pauses or resumes.
    pub fn pause(&self, paused: bool) {
        self.paused.store(paused, Ordering::Release);
    }

    /// Lets it finish what it does and end.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
    }

    /// Whether it takes evaluations; otherwise one that comes is left to others.
    fn works(&self) -> bool {
        !self.stopping.load(Ordering::Acquire) && !self.paused.load(Ordering::Acquire)
    }

    /// What it does.
    pub fn workload(&self) -> Workload {
        *self.workload.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it works on an evaluation.
    pub fn busy(&self) -> bool {
        matches!(self.workload(), Workload::WaitingForRaft | Workload::Scheduling | Workload::Submitting)
    }

    /// `Started`, `Paused` or `Stopped`.
    pub fn status(&self) -> &'static str {
        match self.workload() {
            Workload::Stopped => "Stopped",
            Workload::Paused => "Paused",
            _ if self.stopping.load(Ordering::Acquire) => "Stopping",
            _ => "Started",
        }
    }

    fn now_doing(&self, what: Workload) {
        *self.workload.lock().unwrap_or_else(PoisonError::into_inner) = what;
    }

    fn run(&self, server: &Server) {
        let mut failures = 0;
        while !self.stopping.load(Ordering::Acquire) && !server.queues().stopping() {
            // A server whose log has failed does not see what its plans do: others are to have the evaluations.
            if self.paused.load(Ordering::Acquire) || server.consensus().stopped().is_some() {
                self.now_doing(Workload::Paused);
                threads::sleep(PAUSED);
                continue;
            }
            self.now_doing(Workload::WaitingToDequeue);
            let timer = server.metrics().timer("nomad.worker.dequeue_eval");
            let taken = if alone_or_leading(server) {
                let _timer = server.metrics().timer("nomad.eval.dequeue");
                server.queues().dequeue(&self.schedulers, DEQUEUE, || self.works()).map(|d| (d, None))
            } else {
                self.dequeue_afar(server, &mut failures).map(|(d, least)| (d, Some(least)))
            };
            let Some((delivery, least)) = taken else { continue };
            drop(timer);
            self.process(server, &delivery, least);
        }
        self.now_doing(Workload::Stopped);
    }

    /// Asks the leader for an evaluation; keeps away for a while after errors.
    fn dequeue_afar(&self, server: &Server, failures: &mut u32) -> Option<(Delivery, u64)> {
        let errand = Errand::Dequeue { schedulers: self.schedulers.clone(), wait: DEQUEUE };
        match errands::run(server, &errand) {
            Ok(Outcome::Taken(taken)) => {
                *failures = 0;
                Some(taken.delivery())
            }
            Ok(_) => {
                *failures = 0;
                None
            }
            Err(error) => {
                tracing::debug!(target: "nomad.worker", error = error.as_str(), "failed to dequeue evaluation");
                let pause = BACKOFF.0.saturating_mul(1 << (*failures).min(9)).min(BACKOFF.1);
                *failures += 1;
                let until = Instant::now() + pause;
                while Instant::now() < until && !server.queues().stopping() && !alone_or_leading(server) {
                    threads::sleep(PAUSED.min(pause));
                }
                None
            }
        }
    }

    /// `least`: the index that the leader names for an evaluation of its broker; none for one of this server's.
    fn process(&self, server: &Server, delivery: &Delivery, least: Option<u64>) {
        let eval = &delivery.eval;
        record_wait(server, delivery);
        let afar = least.is_some();
        let least = least.unwrap_or_else(|| {
            let snapshot = server.snapshot();
            wait_index(eval, snapshot.evals_of_job(&eval.namespace, &eval.job_id).map(|e| &**e))
        });
        self.now_doing(Workload::WaitingForRaft);
        let started = Instant::now();
        let there = server.wait_for_index(least, STATE_WAIT);
        server.metrics().time("nomad.worker.wait_for_index", started.elapsed(), &[]);
        if !there {
            tracing::warn!(target: "nomad.worker", eval_id = eval.id.as_str(), index = least, "error waiting for Raft index");
            self.finish(server, delivery, afar, false);
            server.wait_for_index(least, LAG_WAIT);
            return;
        }
        self.now_doing(Workload::Scheduling);
        let started = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(|| self.invoke(server, delivery, afar)));
        let name = format!("nomad.worker.invoke_scheduler.{}", eval.r#type);
        server.metrics().time(&name, started.elapsed(), &[]);
        let result = result.unwrap_or_else(|_| Err("the scheduler panicked".into()));
        if let Err(text) = &result {
            tracing::error!(target: "nomad.worker", eval_id = eval.id.as_str(), error = text.as_str(), "error invoking scheduler");
        }
        self.finish(server, delivery, afar, result.is_ok());
    }

    fn invoke(&self, server: &Server, delivery: &Delivery, afar: bool) -> Result<(), String> {
        let snapshot = server.snapshot();
        if delivery.eval.r#type == CORE {
            return threads::block_on(server.runtime(), crate::leadership::gc::run(server, &delivery.eval, &snapshot));
        }
        let mut desk = Desk { server, worker: self, delivery, afar };
        let mut planner = WorkerPlanner::new(&mut desk, snapshot.clone());
        let began = Instant::now();
        let mut context = Context {
            stopwatch: &mut || i64::try_from(began.elapsed().as_nanos()).unwrap_or(i64::MAX),
            now: ids::now(),
            order: NodeOrder::Shuffle,
            new_id: &mut ids::uuid,
            random: &mut ids::random_below,
        };
        encamp_scheduler::process(snapshot.state(), &delivery.eval, &mut context, &mut planner)?;
        planner.finish()
    }

    fn finish(&self, server: &Server, delivery: &Delivery, afar: bool, done: bool) {
        let timer = server.metrics().timer("nomad.worker.send_ack");
        let (id, token) = (&delivery.eval.id, &delivery.token);
        if afar {
            let errand = Errand::End { id: id.clone(), token: token.clone(), done };
            if let Err(e) = errands::run(server, &errand) {
                tracing::warn!(target: "nomad.worker", eval_id = id.as_str(), error = e.as_str(), "failed to end evaluation");
            }
            return;
        }
        let endpoint = server.metrics().timer(if done { "nomad.eval.ack" } else { "nomad.eval.nack" });
        let result = if done { server.queues().ack(id, token) } else { server.queues().nack(id, token) };
        drop((timer, endpoint));
        match result {
            Ok(finished) => record_end(server, &finished),
            Err(e) => {
                tracing::warn!(target: "nomad.worker", eval_id = id.as_str(), error = %e, "failed to end evaluation")
            }
        }
    }
}

/// The labels of the broker's metrics.
fn labels(eval: &Evaluation) -> [(&str, &str); 4] {
    let job = eval.job_id.split_once("/periodic-").or_else(|| eval.job_id.split_once("/dispatch-"));
    [
        ("job", job.map_or(eval.job_id.as_str(), |(parent, _)| parent)),
        ("namespace", &eval.namespace),
        ("eval_type", &eval.r#type),
        ("triggered_by", &eval.triggered_by),
    ]
}

fn record_wait(server: &Server, d: &Delivery) {
    if let Some(wait) = d.wait {
        server.metrics().time("nomad.broker.wait_time", duration::of_nanos(wait), &labels(&d.eval));
    }
}

fn record_end(server: &Server, f: &crate::evals::broker::Finished) {
    server.metrics().time("nomad.broker.process_time", duration::of_nanos(f.process), &labels(&f.eval));
    if let Some(response) = f.response {
        server.metrics().time("nomad.broker.response_time", duration::of_nanos(response), &labels(&f.eval));
    }
}

/// The server as the worker of one evaluation sees it.
struct Desk<'a> {
    server: &'a Server,
    worker: &'a Worker,
    delivery: &'a Delivery,
    /// The evaluation came from the leader's broker, and goes back there.
    afar: bool,
}

impl Desk<'_> {
    fn ask(&self, errand: &Errand) -> Result<Outcome, String> {
        errands::run(self.server, errand)
    }

    fn of_eval(&self) -> (String, String) {
        (self.delivery.eval.id.clone(), self.delivery.token.clone())
    }

    fn submit_afar(&self, plan: &Plan, snapshot_index: u64) -> Result<PlanAnswer, String> {
        let token = self.delivery.token.clone();
        let errand = Errand::Submit { token, plan: Box::new(travel::travelling(plan)), snapshot_index };
        match self.ask(&errand)? {
            Outcome::Planned(verdict) => Ok(verdict.of(plan)),
            _ => Err("the leader gave no answer to the plan".into()),
        }
    }

    fn submit_here(&self, plan: Plan, snapshot_index: u64) -> Result<PlanAnswer, String> {
        let (id, token) = (&self.delivery.eval.id, &self.delivery.token);
        self.server.queues().broker().pause(id, token, ids::now()).map_err(|e| e.to_string())?;
        let answer = errands::submit(self.server, plan, snapshot_index);
        let _ = self.server.queues().broker().resume(id, token, ids::now());
        answer
    }
}

impl Workplace for Desk<'_> {
    fn now(&mut self) -> i64 {
        ids::now()
    }

    fn snapshot(&mut self) -> StoreSnapshot {
        self.server.snapshot()
    }

    fn snapshot_at(&mut self, index: u64) -> Result<StoreSnapshot, String> {
        if !self.server.wait_for_index(index, STATE_WAIT) {
            return Err(format!("timed out after 5s waiting for index={index}"));
        }
        Ok(self.server.snapshot())
    }

    fn still_ours(&mut self) -> Result<(), String> {
        if self.afar {
            let (id, token) = self.of_eval();
            return self.ask(&Errand::StillOurs { id, token }).map(drop);
        }
        let (id, token) = (&self.delivery.eval.id, &self.delivery.token);
        self.server.queues().broker().reset(id, token, ids::now()).map_err(|e| e.to_string())
    }

    fn submit(&mut self, plan: Plan, snapshot_index: u64) -> Result<PlanAnswer, String> {
        self.worker.now_doing(Workload::Submitting);
        let started = Instant::now();
        let answer =
            if self.afar { self.submit_afar(&plan, snapshot_index) } else { self.submit_here(plan, snapshot_index) };
        if !self.afar {
            self.server.metrics().time("nomad.plan.submit", started.elapsed(), &[]);
        }
        self.server.metrics().time("nomad.worker.submit_plan", started.elapsed(), &[]);
        self.worker.now_doing(Workload::Scheduling);
        answer
    }

    fn write(&mut self, eval: Evaluation, new: bool) -> Result<(), String> {
        let metric = if new { "nomad.worker.create_eval" } else { "nomad.worker.update_eval" };
        let _timer = self.server.metrics().timer(metric);
        if self.afar {
            let (id, token) = self.of_eval();
            return self.ask(&Errand::Write { id, token, eval: Box::new(eval) }).map(drop);
        }
        let _endpoint = self.server.metrics().timer(if new { "nomad.eval.create" } else { "nomad.eval.update" });
        self.server.commit_blocking(Operation::EvalUpdate { evals: vec![eval] }).map(drop)
    }

    fn block(&mut self, eval: Evaluation) -> Result<(), String> {
        let token = self.delivery.token.clone();
        let _timer = self.server.metrics().timer("nomad.worker.reblock_eval");
        if self.afar {
            return self.ask(&Errand::Block { token, eval: Box::new(eval) }).map(drop);
        }
        let _endpoint = self.server.metrics().timer("nomad.eval.reblock");
        self.server.queues().block(Arc::new(eval), Some(token), |id| self.server.has_ended(id));
        Ok(())
    }
}
