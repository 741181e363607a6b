//! Scheduling workers (`docs/spec/server.md §6`): threads that dequeue evaluations from the broker, run the schedulers
//! on a snapshot of the store, and submit plans to the applier.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use crate::evals::broker::Delivery;
use crate::leadership::gc::run;
use crate::leading::Leading;
use crate::other_agents::worker_calls::{Outcome, WorkerCall};
use crate::pipeline::call_leader;
use crate::pipeline::held::{Held, Local, Remote, labels};
use crate::pipeline::planner::{PlannerBackend, WorkerPlanner};
use crate::queues::PlanAnswer;
use crate::queues::gc_runs::Ended;
use crate::queues::pipeline_error::PipelineError;
use crate::server_state::ServerState;
use encamp_host::ids;
use encamp_host::threads::{self, Instant};
use encamp_model::*;
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
    /// The types of schedulers that the server's workers run.
    pub schedulers: Vec<JobType>,
    /// Those that this one dequeues.
    takes: Vec<JobType>,
    /// Start time in Unix nanoseconds.
    pub started: i64,
    paused: AtomicBool,
    stopping: AtomicBool,
    workload: Mutex<Workload>,
}

/// Whether workers dequeue from this server's own broker.
fn uses_own_broker(server: &Leading) -> bool {
    server.consensus().leads() || server.consensus().stats().num_peers == 0
}

impl Worker {
    /// Starts a worker in a new thread.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(server: Leading, schedulers: Vec<JobType>) -> std::io::Result<Arc<Worker>> {
        let takes = schedulers.iter().filter(|s| **s != JobType::Core).cloned().collect();
        Self::start_taking(server, schedulers, takes)
    }

    /// Starts the worker for core evaluations in a new thread. They have a worker of their own because a collection can
    /// take minutes: no other evaluation may wait for it. It works while the server leads.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start_core(server: Leading) -> std::io::Result<Arc<Worker>> {
        Self::start_taking(server, vec![JobType::Core], vec![JobType::Core])
    }

    fn start_taking(server: Leading, schedulers: Vec<JobType>, takes: Vec<JobType>) -> std::io::Result<Arc<Worker>> {
        let worker = Arc::new(Worker {
            id: ids::uuid(),
            schedulers,
            takes,
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
            Workload::WaitingToDequeue | Workload::WaitingForRaft | Workload::Scheduling | Workload::Submitting => {
                if self.stopping.load(Ordering::Acquire) {
                    "Stopping"
                } else {
                    "Started"
                }
            }
        }
    }

    fn now_doing(&self, what: Workload) {
        *self.workload.lock() = what;
    }

    fn run(&self, server: &Leading) {
        let mut failures = 0;
        while !self.stopping.load(Ordering::Acquire) && !server.queues().stopping() {
            // A server whose log has failed does not see the effects of its plans: other servers have to process the
            // evaluations.
            // A collection writes through this server's log, so it has to lead.
            let follows = self.takes == [JobType::Core] && !uses_own_broker(server);
            if follows || self.paused.load(Ordering::Acquire) || server.consensus().stopped().is_some() {
                self.now_doing(Workload::Paused);
                threads::sleep(PAUSED);
                continue;
            }
            self.now_doing(Workload::WaitingToDequeue);
            let timer = server.metrics().timer("nomad.worker.dequeue_eval");
            let held: Option<Box<dyn Held + '_>> = if uses_own_broker(server) {
                let _timer = server.metrics().timer("nomad.eval.dequeue");
                let delivery = server.queues().dequeue(&self.takes, DEQUEUE, || self.works());
                delivery.map(|delivery| Box::new(Local { server, delivery }) as _)
            } else {
                let taken = self.dequeue_remote(server, &mut failures);
                taken.map(|(delivery, least_index)| Box::new(Remote { server, delivery, least_index }) as _)
            };
            let Some(held) = held else { continue };
            drop(timer);
            self.process(server, &*held);
        }
        self.now_doing(Workload::Stopped);
    }

    /// Dequeues an evaluation from the leader's broker; backs off after errors.
    fn dequeue_remote(&self, server: &Leading, failures: &mut u32) -> Option<(Delivery, u64)> {
        let call = WorkerCall::Dequeue { schedulers: self.takes.clone(), wait: DEQUEUE };
        match call_leader::run(server, &call) {
            Ok(Outcome::Taken(taken)) => {
                *failures = 0;
                Some(taken.delivery())
            }
            Ok(Outcome::Done | Outcome::Planned(_)) => {
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

    /// Processes an evaluation.
    fn process(&self, server: &Leading, held: &dyn Held) {
        let (eval, least) = (&held.delivery().eval, held.least_index());
        record_wait(server, held.delivery());
        self.now_doing(Workload::WaitingForRaft);
        let started = Instant::now();
        let there = server.wait_for_index(least, STATE_WAIT);
        server.metrics().time("nomad.worker.wait_for_index", started.elapsed(), &[]);
        if !there {
            tracing::warn!(target: "nomad.worker", eval_id = eval.id.as_str(), index = least, "error waiting for Raft index");
            self.finish(server, held, false);
            server.wait_for_index(least, LAG_WAIT);
            return;
        }
        self.now_doing(Workload::Scheduling);
        let started = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(|| self.invoke(server, held)));
        let name = format!("nomad.worker.invoke_scheduler.{}", eval.r#type);
        server.metrics().time(&name, started.elapsed(), &[]);
        let result = result.unwrap_or(Err(PipelineError::Panicked));
        if let Err(error) = &result {
            tracing::error!(target: "nomad.worker", eval_id = eval.id.as_str(), %error, "error invoking scheduler");
        }
        self.finish(server, held, result.is_ok());
    }

    fn invoke(&self, server: &Leading, held: &dyn Held) -> Result<(), PipelineError> {
        let snapshot = server.snapshot();
        if held.delivery().eval.r#type == JobType::Core {
            return collect(server, held, &snapshot);
        }
        let mut backend = ServerBackend { server, worker: self, held };
        let mut planner = WorkerPlanner::new(&mut backend, snapshot.clone());
        let began = Instant::now();
        let mut context = Context {
            stopwatch: &mut || i64::try_from(began.elapsed().as_nanos()).unwrap_or(i64::MAX),
            stop: &|| false,
            now: ids::now(),
            order: NodeOrder::Shuffle,
            new_id: &mut ids::uuid,
            random: &mut ids::random_below,
        };
        encamp_scheduler::process(snapshot.state(), &held.delivery().eval, &mut context, &mut planner)
            .map_err(|e| PipelineError::Scheduler(e.to_string()))?;
        planner.finish()
    }

    fn finish(&self, server: &Leading, held: &dyn Held, done: bool) {
        let _timer = server.metrics().timer("nomad.worker.send_ack");
        if let Err(error) = held.end(done) {
            let id = held.delivery().eval.id.as_str();
            tracing::warn!(target: "nomad.worker", eval_id = id, %error, "failed to end evaluation");
        }
    }
}

/// Runs a core evaluation, and notes how it ended for those who wait.
fn collect(server: &Leading, held: &dyn Held, snapshot: &StoreSnapshot) -> Result<(), PipelineError> {
    let eval = &held.delivery().eval;
    let result = threads::block_on(server.runtime(), run::run(server, held.delivery(), snapshot));
    let ended = match &result {
        Ok(report) => Ended::Done(report.clone()),
        Err(error) => Ended::Failed(error.to_string()),
    };
    // Only somebody who waits for the report misses it.
    match held.still_ours() {
        Ok(()) => server.queues().gc_runs().note(&eval.job_id, eval.modify_index, ended),
        Err(error) => {
            tracing::debug!(target: "nomad.worker", eval_id = eval.id.as_str(), %error, "failed to report a collection");
        }
    }
    result.map(drop)
}

fn record_wait(server: &ServerState, d: &Delivery) {
    if let Some(wait) = d.wait {
        server.metrics().time("nomad.broker.wait_time", duration::of_nanos(wait), &labels(&d.eval));
    }
}

/// The server as seen by the worker of one evaluation.
struct ServerBackend<'a> {
    server: &'a Leading,
    worker: &'a Worker,
    held: &'a dyn Held,
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
        self.held.still_ours()
    }

    fn submit(&mut self, plan: Plan, snapshot_index: u64) -> Result<PlanAnswer, PipelineError> {
        self.worker.now_doing(Workload::Submitting);
        let started = Instant::now();
        let answer = self.held.submit(plan, snapshot_index);
        self.server.metrics().time("nomad.worker.submit_plan", started.elapsed(), &[]);
        self.worker.now_doing(Workload::Scheduling);
        answer
    }

    fn write(&mut self, eval: Evaluation, new: bool) -> Result<(), PipelineError> {
        let metric = if new { "nomad.worker.create_eval" } else { "nomad.worker.update_eval" };
        let _timer = self.server.metrics().timer(metric);
        self.held.write(eval, new)
    }

    fn block(&mut self, eval: Evaluation) -> Result<(), PipelineError> {
        let _timer = self.server.metrics().timer("nomad.worker.reblock_eval");
        self.held.block(eval)
    }
}
