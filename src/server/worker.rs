//! Scheduling workers (`spec/server.md §6`): threads that take evaluations from the broker, run the schedulers on a snapshot
//! of the store, and hand plans to the applier.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::broker::{CORE, Delivery, wait_index};
use super::handle::Server;
use super::ids;
use super::ops::Operation;
use super::queues::{PendingPlan, PlanAnswer};
use super::reapers::modify_time;
use crate::model::*;
use crate::scheduler::{self, Context, NodeOrder, PlanResult, Planner};
use crate::state::StoreSnapshot;

/// How long one request for an evaluation waits.
const DEQUEUE: Duration = Duration::from_millis(500);
/// How long a worker waits for the state an evaluation needs.
const STATE_WAIT: Duration = Duration::from_secs(5);
/// How long it keeps away after that was not enough.
const LAG_WAIT: Duration = Duration::from_secs(50);
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
        std::thread::Builder::new().name("worker".into()).stack_size(8 << 20).spawn(move || own.run(&server))?;
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

    /// What it does.
    pub fn workload(&self) -> Workload {
        *self.workload.lock().unwrap_or_else(PoisonError::into_inner)
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
        while !self.stopping.load(Ordering::Acquire) && !server.queues().stopping() {
            if self.paused.load(Ordering::Acquire) {
                self.now_doing(Workload::Paused);
                std::thread::sleep(PAUSED);
                continue;
            }
            self.now_doing(Workload::WaitingToDequeue);
            let timer = server.metrics().timer("nomad.worker.dequeue_eval");
            let Some(delivery) = server.queues().dequeue(&self.schedulers, DEQUEUE) else { continue };
            drop(timer);
            self.process(server, &delivery);
        }
        self.now_doing(Workload::Stopped);
    }

    fn process(&self, server: &Server, delivery: &Delivery) {
        let eval = &delivery.eval;
        record_wait(server, delivery);
        let snapshot = server.snapshot();
        let least = wait_index(eval, snapshot.evals_of_job(&eval.namespace, &eval.job_id).map(|e| &**e));
        self.now_doing(Workload::WaitingForRaft);
        let started = Instant::now();
        let there = server.wait_for_index(least, STATE_WAIT);
        server.metrics().time("nomad.worker.wait_for_index", started.elapsed(), &[]);
        if !there {
            tracing::warn!(target: "nomad.worker", eval_id = eval.id.as_str(), index = least, "error waiting for Raft index");
            self.finish(server, delivery, false);
            server.wait_for_index(least, LAG_WAIT);
            return;
        }
        self.now_doing(Workload::Scheduling);
        let started = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(|| self.invoke(server, delivery)));
        let name = format!("nomad.worker.invoke_scheduler.{}", eval.r#type);
        server.metrics().time(&name, started.elapsed(), &[]);
        let result = result.unwrap_or_else(|_| Err("the scheduler panicked".into()));
        if let Err(text) = &result {
            tracing::error!(target: "nomad.worker", eval_id = eval.id.as_str(), error = text.as_str(), "error invoking scheduler");
        }
        self.finish(server, delivery, result.is_ok());
    }

    fn invoke(&self, server: &Server, delivery: &Delivery) -> Result<(), String> {
        let snapshot = server.snapshot();
        if delivery.eval.r#type == CORE {
            return server.runtime().block_on(super::gc::run(server, &delivery.eval, &snapshot));
        }
        let mut planner = WorkerPlanner {
            server,
            worker: self,
            delivery,
            snapshot_index: snapshot.latest_index(),
            snapshot: snapshot.clone(),
            failed: None,
        };
        let mut context = Context {
            now: ids::now(),
            order: NodeOrder::Shuffle,
            new_id: &mut ids::uuid,
            random: &mut ids::random_below,
        };
        scheduler::process(snapshot.state(), &delivery.eval, &mut context, &mut planner)?;
        planner.failed.map_or(Ok(()), Err)
    }

    fn finish(&self, server: &Server, delivery: &Delivery, done: bool) {
        let timer = server.metrics().timer("nomad.worker.send_ack");
        let (id, token) = (&delivery.eval.id, &delivery.token);
        let result = if done { server.queues().ack(id, token) } else { server.queues().nack(id, token) };
        drop(timer);
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

fn nanos(n: i64) -> Duration {
    Duration::from_nanos(n.max(0).unsigned_abs())
}

fn record_wait(server: &Server, d: &Delivery) {
    if let Some(wait) = d.wait {
        server.metrics().time("nomad.broker.wait_time", nanos(wait), &labels(&d.eval));
    }
}

fn record_end(server: &Server, f: &super::broker::Finished) {
    server.metrics().time("nomad.broker.process_time", nanos(f.process), &labels(&f.eval));
    if let Some(response) = f.response {
        server.metrics().time("nomad.broker.response_time", nanos(response), &labels(&f.eval));
    }
}

/// Whether an evaluation may be blocked again (§6.3). One that ended while it was scheduled, as duplicates of another blocked
/// evaluation of the job do, needs nothing more: to hand it out again would only use up its deliveries.
fn may_reblock(stored: Option<&Evaluation>) -> Result<bool, &'static str> {
    match stored {
        None => Err("evaluation does not exist"),
        Some(e) if e.terminal() => Ok(false),
        Some(e) if e.status == "blocked" => Ok(true),
        Some(_) => Err("evaluation not blocked"),
    }
}

/// What a scheduler may ask of its worker (§6.3).
struct WorkerPlanner<'a> {
    server: &'a Server,
    worker: &'a Worker,
    delivery: &'a Delivery,
    /// The index of the snapshot the scheduler began with.
    snapshot_index: u64,
    snapshot: StoreSnapshot,
    /// The first error; nothing is written after it.
    failed: Option<String>,
}

impl WorkerPlanner<'_> {
    fn still_ours(&self) -> Result<(), String> {
        let (id, token) = (&self.delivery.eval.id, &self.delivery.token);
        self.server.queues().broker().reset(id, token, ids::now()).map_err(|e| e.to_string())
    }

    fn write(&mut self, metric: &'static str, eval: Evaluation) {
        if self.failed.is_some() {
            return;
        }
        let timer = self.server.metrics().timer(metric);
        let result = self.still_ours().and_then(|()| {
            let op = Operation::EvalUpdate { evals: vec![eval] };
            self.server.commit_blocking(op).map(drop)
        });
        drop(timer);
        self.failed = result.err();
    }

    fn wait_for_plan(&self, plan: Plan) -> Result<PlanAnswer, String> {
        let (sender, receiver) = sync_channel(1);
        let queues = self.server.queues();
        let (snapshot_index, on_its_way) = (self.snapshot.latest_index(), queues.on_its_way());
        queues.submit(PendingPlan { plan, snapshot_index, answer: sender, on_its_way })?;
        loop {
            match receiver.recv_timeout(DEQUEUE) {
                Ok(answer) => return answer,
                Err(RecvTimeoutError::Disconnected) => return Err("the plan was dropped".into()),
                Err(RecvTimeoutError::Timeout) if self.server.queues().stopping() => {
                    return Err("shutdown while planning".into());
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

impl Planner for WorkerPlanner<'_> {
    fn submit_plan(&mut self, mut plan: Plan) -> Result<PlanResult, String> {
        if let Some(text) = &self.failed {
            return Err(text.clone());
        }
        if let Some(job) = &plan.job {
            let latest = self.server.snapshot();
            let missing = || format!("job {:?} in namespace {:?} not found", job.id, job.namespace);
            let current = latest.state().job(&job.namespace, &job.id).ok_or_else(missing)?;
            plan.job = Some(current.clone());
        }
        let (id, token) = (&self.delivery.eval.id, &self.delivery.token);
        self.server.queues().broker().pause(id, token, ids::now()).map_err(|e| e.to_string())?;
        self.worker.now_doing(Workload::Submitting);
        let started = Instant::now();
        let answer = self.wait_for_plan(plan);
        self.server.metrics().time("nomad.plan.submit", started.elapsed(), &[]);
        self.server.metrics().time("nomad.worker.submit_plan", started.elapsed(), &[]);
        self.worker.now_doing(Workload::Scheduling);
        let _ = self.server.queues().broker().resume(id, token, ids::now());
        let PlanAnswer { accepted, refresh_index, .. } = answer?;
        let mut refresh = None;
        if refresh_index != 0 {
            if !self.server.wait_for_index(refresh_index, STATE_WAIT) {
                return Err(format!("timed out after 5s waiting for index={refresh_index}"));
            }
            self.snapshot = self.server.snapshot();
            refresh = Some(self.snapshot.state().clone());
        }
        Ok(PlanResult {
            node_update: accepted.node_update,
            node_allocation: accepted.node_allocation,
            node_preemptions: accepted.node_preemptions,
            deployment: accepted.deployment,
            deployment_updates: accepted.deployment_updates,
            refresh,
        })
    }

    fn update_eval(&mut self, mut eval: Evaluation) {
        eval.snapshot_index = self.snapshot_index;
        eval.modify_time = modify_time(&eval, ids::now());
        self.write("nomad.worker.update_eval", eval);
    }

    fn create_eval(&mut self, mut eval: Evaluation) {
        eval.snapshot_index = self.snapshot_index;
        let now = ids::now();
        (eval.create_time, eval.modify_time) = (now, now);
        if self.server.snapshot().eval(&eval.id).is_some() {
            self.failed.get_or_insert_with(|| "evaluation already exists".into());
            return;
        }
        self.write("nomad.worker.create_eval", eval);
    }

    fn reblock_eval(&mut self, mut eval: Evaluation) {
        eval.snapshot_index = self.snapshot_index;
        let latest = self.server.snapshot();
        match may_reblock(latest.eval(&eval.id).map(|e| &**e)) {
            Ok(true) => {}
            Ok(false) => return,
            Err(text) => {
                self.failed.get_or_insert_with(|| text.into());
                return;
            }
        }
        let summary = latest.summary(&eval.namespace, &eval.job_id);
        let queued = |g: &String| summary.and_then(|s| s.summary.get(g)).map_or(0, |s| s.queued);
        if eval.queued_allocations.iter().any(|(g, n)| queued(g) != *n) {
            eval.modify_time = modify_time(&eval, ids::now());
            self.write("nomad.worker.update_eval", eval.clone());
        } else if let Err(text) = self.still_ours() {
            self.failed.get_or_insert(text);
        }
        if self.failed.is_none() {
            self.server.queues().block(Arc::new(eval), Some(self.delivery.token.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ended_meanwhile_is_not_blocked_again() {
        let with = |status: &str| may_reblock(Some(&Evaluation { status: status.into(), ..Default::default() }));
        assert_eq!((with("blocked"), with("canceled"), with("failed")), (Ok(true), Ok(false), Ok(false)));
        assert_eq!(
            (with("pending"), may_reblock(None)),
            (Err("evaluation not blocked"), Err("evaluation does not exist"))
        );
    }
}
