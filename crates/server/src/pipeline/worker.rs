//! Scheduling workers (`docs/spec/server.md §6`): threads that dequeue evaluations from the broker, run the schedulers
//! on a snapshot of the store, and submit plans to the applier.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use crate::evals::broker::{Delivery, wait_index};
use crate::handle::Server;
use crate::leadership::queues::PlanAnswer;
use crate::pipeline::error::PipelineError;
use crate::pipeline::plan_codec;
use crate::pipeline::planner::{PlannerBackend, WorkerPlanner};
use crate::pipeline::worker_calls::{self, Outcome, WorkerCall};
use encamp_host::ids;
use encamp_host::threads::{self, Instant};
use encamp_model::*;
use encamp_ops::Operation;
use encamp_scheduler::{Context, NodeOrder};
use encamp_state::StoreSnapshot;

/// How long one dequeue request waits.
const DEQUEUE: Duration = Duration::from_millis(500);
/// How long a worker waits for the state that an evaluation needs.
const STATE_WAIT: Duration = Duration::from_secs(5);
/// How long a worker backs off after that wait timed out.
const LAG_WAIT: Duration = Duration::from_secs(50);
/// How long a worker backs off from an unreachable leader: the first and the longest pause.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(10));
/// How often a paused worker checks whether it is still paused.
const PAUSED: Duration = Duration::from_millis(100);

/// The current activity of a worker, as shown by `/v1/agent/schedulers`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    /// Waiting for an evaluation.
    WaitingToDequeue,
    /// Waiting for the state that an evaluation needs.
    WaitingForRaft,
    /// Running a scheduler.
    Scheduling,
    /// Waiting for the result of a plan.
    Submitting,
    /// Paused by the leader.
    Paused,
    /// Stopped.
    Stopped,
}

impl Workload {
    /// The value in API responses.
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

/// A scheduling worker.
#[derive(Debug)]
pub struct Worker {
    /// Its ID, a UUID.
    pub id: String,
    /// The types of schedulers that it runs.
    pub schedulers: Vec<JobType>,
    /// Start time in Unix nanoseconds.
    pub started: i64,
    paused: AtomicBool,
    stopping: AtomicBool,
    workload: Mutex<Workload>,
}

/// Whether workers dequeue from this server's own broker.
fn uses_own_broker(server: &Server) -> bool {
    server.consensus().leads() || server.consensus().stats().num_peers == 0
}

impl Worker {
    /// Starts a worker in a new thread.
    pub fn start(server: Server, schedulers: Vec<JobType>) -> std::io::Result<Arc<Worker>> {
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

    /// Pauses or resumes the worker.
    pub fn pause(&self, paused: bool) {
        self.paused.store(paused, Ordering::Release);
    }

    /// Stops the worker after its current evaluation.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
    }

    /// Whether the worker accepts evaluations; if not, other workers get them.
    fn works(&self) -> bool {
        !self.stopping.load(Ordering::Acquire) && !self.paused.load(Ordering::Acquire)
    }

    /// The current activity of the worker.
    pub fn workload(&self) -> Workload {
        *self.workload.lock()
    }

    /// Whether the worker is processing an evaluation.
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
        *self.workload.lock() = what;
    }

    fn run(&self, server: &Server) {
        let mut failures = 0;
        while !self.stopping.load(Ordering::Acquire) && !server.queues().stopping() {
            // A server whose log has failed does not see the effects of its plans: other servers have to process the
            // evaluations.
            if self.paused.load(Ordering::Acquire) || server.consensus().stopped().is_some() {
                self.now_doing(Workload::Paused);
                threads::sleep(PAUSED);
                continue;
            }
            self.now_doing(Workload::WaitingToDequeue);
            let timer = server.metrics().timer("nomad.worker.dequeue_eval");
            let taken = if uses_own_broker(server) {
                let _timer = server.metrics().timer("nomad.eval.dequeue");
                server.queues().dequeue(&self.schedulers, DEQUEUE, || self.works()).map(|d| (d, None))
            } else {
                self.dequeue_remote(server, &mut failures).map(|(d, least)| (d, Some(least)))
            };
            let Some((delivery, least)) = taken else { continue };
            drop(timer);
            self.process(server, &delivery, least);
        }
        self.now_doing(Workload::Stopped);
    }

    /// Dequeues an evaluation from the leader's broker; backs off after errors.
    fn dequeue_remote(&self, server: &Server, failures: &mut u32) -> Option<(Delivery, u64)> {
        let call = WorkerCall::Dequeue { schedulers: self.schedulers.clone(), wait: DEQUEUE };
        match worker_calls::run(server, &call) {
            Ok(Outcome::Taken(taken)) => {
                *failures = 0;
                Some(taken.delivery())
            }
            Ok(_) => {
                *failures = 0;
                None
            }
            Err(error) => {
                tracing::debug!(target: "nomad.worker", %error, "failed to dequeue evaluation");
                let pause = BACKOFF.0.saturating_mul(1 << (*failures).min(9)).min(BACKOFF.1);
                *failures += 1;
                let until = Instant::now() + pause;
                while Instant::now() < until && !server.queues().stopping() && !uses_own_broker(server) {
                    threads::sleep(PAUSED.min(pause));
                }
                None
            }
        }
    }

    /// Processes an evaluation. `least` is the minimum index named by the leader for an evaluation from its broker;
    /// `None` for an evaluation from this server's broker.
    fn process(&self, server: &Server, delivery: &Delivery, least: Option<u64>) {
        let eval = &delivery.eval;
        record_wait(server, delivery);
        let remote = least.is_some();
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
            self.finish(server, delivery, remote, false);
            server.wait_for_index(least, LAG_WAIT);
            return;
        }
        self.now_doing(Workload::Scheduling);
        let started = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(|| self.invoke(server, delivery, remote)));
        let name = format!("nomad.worker.invoke_scheduler.{}", eval.r#type);
        server.metrics().time(&name, started.elapsed(), &[]);
        let result = result.unwrap_or(Err(PipelineError::Panicked));
        if let Err(error) = &result {
            tracing::error!(target: "nomad.worker", eval_id = eval.id.as_str(), %error, "error invoking scheduler");
        }
        self.finish(server, delivery, remote, result.is_ok());
    }

    fn invoke(&self, server: &Server, delivery: &Delivery, remote: bool) -> Result<(), PipelineError> {
        let snapshot = server.snapshot();
        if delivery.eval.r#type == JobType::Core {
            return threads::block_on(server.runtime(), crate::leadership::gc::run(server, &delivery.eval, &snapshot));
        }
        let mut backend = ServerBackend { server, worker: self, delivery, remote };
        let mut planner = WorkerPlanner::new(&mut backend, snapshot.clone());
        let began = Instant::now();
        let mut context = Context {
            stopwatch: &mut || i64::try_from(began.elapsed().as_nanos()).unwrap_or(i64::MAX),
            now: ids::now(),
            order: NodeOrder::Shuffle,
            new_id: &mut ids::uuid,
            random: &mut ids::random_below,
        };
        encamp_scheduler::process(snapshot.state(), &delivery.eval, &mut context, &mut planner)
            .map_err(|e| PipelineError::Scheduler(e.to_string()))?;
        planner.finish()
    }

    fn finish(&self, server: &Server, delivery: &Delivery, remote: bool, done: bool) {
        let timer = server.metrics().timer("nomad.worker.send_ack");
        let (id, token) = (&delivery.eval.id, &delivery.token);
        if remote {
            let call = WorkerCall::End { id: id.clone(), token: token.clone(), done };
            if let Err(error) = worker_calls::run(server, &call) {
                tracing::warn!(target: "nomad.worker", eval_id = id.as_str(), %error, "failed to end evaluation");
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

/// The labels of the broker metrics.
fn labels(eval: &Evaluation) -> [(&str, &str); 4] {
    let job = eval.job_id.split_once("/periodic-").or_else(|| eval.job_id.split_once("/dispatch-"));
    [
        ("job", job.map_or(eval.job_id.as_str(), |(parent, _)| parent)),
        ("namespace", &eval.namespace),
        ("eval_type", eval.r#type.as_str()),
        ("triggered_by", eval.triggered_by.as_str()),
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

/// The server as seen by the worker of one evaluation.
struct ServerBackend<'a> {
    server: &'a Server,
    worker: &'a Worker,
    delivery: &'a Delivery,
    /// Whether the evaluation came from the leader's broker and has to be acked there.
    remote: bool,
}

impl ServerBackend<'_> {
    fn ask(&self, call: &WorkerCall) -> Result<Outcome, PipelineError> {
        worker_calls::run(self.server, call)
    }

    fn of_eval(&self) -> (String, String) {
        (self.delivery.eval.id.clone(), self.delivery.token.clone())
    }

    fn submit_remote(&self, plan: &Plan, snapshot_index: u64) -> Result<PlanAnswer, PipelineError> {
        let token = self.delivery.token.clone();
        let call = WorkerCall::Submit { token, plan: Box::new(plan_codec::for_transfer(plan)), snapshot_index };
        match self.ask(&call)? {
            Outcome::Planned(verdict) => Ok(verdict.of(plan)),
            _ => Err(PipelineError::NoResult),
        }
    }

    fn submit_local(&self, plan: Plan, snapshot_index: u64) -> Result<PlanAnswer, PipelineError> {
        let (id, token) = (&self.delivery.eval.id, &self.delivery.token);
        self.server.queues().broker().pause(id, token, ids::now())?;
        let answer = worker_calls::submit(self.server, plan, snapshot_index);
        let _ = self.server.queues().broker().resume(id, token, ids::now());
        answer
    }
}

impl PlannerBackend for ServerBackend<'_> {
    fn now(&mut self) -> i64 {
        ids::now()
    }

    fn snapshot(&mut self) -> StoreSnapshot {
        self.server.snapshot()
    }

    fn snapshot_at(&mut self, index: u64) -> Result<StoreSnapshot, PipelineError> {
        if !self.server.wait_for_index(index, STATE_WAIT) {
            return Err(PipelineError::Late { seconds: STATE_WAIT.as_secs(), index });
        }
        Ok(self.server.snapshot())
    }

    fn still_ours(&mut self) -> Result<(), PipelineError> {
        if self.remote {
            let (id, token) = self.of_eval();
            return self.ask(&WorkerCall::StillOurs { id, token }).map(drop);
        }
        let (id, token) = (&self.delivery.eval.id, &self.delivery.token);
        Ok(self.server.queues().broker().reset(id, token, ids::now())?)
    }

    fn submit(&mut self, plan: Plan, snapshot_index: u64) -> Result<PlanAnswer, PipelineError> {
        self.worker.now_doing(Workload::Submitting);
        let started = Instant::now();
        let answer = if self.remote {
            self.submit_remote(&plan, snapshot_index)
        } else {
            self.submit_local(plan, snapshot_index)
        };
        if !self.remote {
            self.server.metrics().time("nomad.plan.submit", started.elapsed(), &[]);
        }
        self.server.metrics().time("nomad.worker.submit_plan", started.elapsed(), &[]);
        self.worker.now_doing(Workload::Scheduling);
        answer
    }

    fn write(&mut self, eval: Evaluation, new: bool) -> Result<(), PipelineError> {
        let metric = if new { "nomad.worker.create_eval" } else { "nomad.worker.update_eval" };
        let _timer = self.server.metrics().timer(metric);
        if self.remote {
            let (id, token) = self.of_eval();
            return self.ask(&WorkerCall::Write { id, token, eval: Box::new(eval) }).map(drop);
        }
        let _endpoint = self.server.metrics().timer(if new { "nomad.eval.create" } else { "nomad.eval.update" });
        Ok(self.server.commit_blocking(Operation::EvalUpdate { evals: vec![eval] }).map(drop)?)
    }

    fn block(&mut self, eval: Evaluation) -> Result<(), PipelineError> {
        let token = self.delivery.token.clone();
        let _timer = self.server.metrics().timer("nomad.worker.reblock_eval");
        if self.remote {
            return self.ask(&WorkerCall::Block { token, eval: Box::new(eval) }).map(drop);
        }
        let _endpoint = self.server.metrics().timer("nomad.eval.reblock");
        self.server.queues().block(Arc::new(eval), Some(token), |id| self.server.has_ended(id));
        Ok(())
    }
}
