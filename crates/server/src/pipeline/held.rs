//! The evaluation that a worker holds: dequeued from this server's broker ([`Local`]) or from the leader's
//! ([`Remote`]).

use std::sync::Arc;

use crate::evals::broker::{Delivery, Finished, wait_index};
use crate::leading::Leading;
use crate::other_agents::plan_codec;
use crate::other_agents::worker_calls::{Outcome, WorkerCall};
use crate::pipeline::call_leader;
use crate::queues::PlanAnswer;
use crate::queues::pipeline_error::PipelineError;
use crate::server_state::ServerState;
use encamp_host::ids;
use encamp_host::threads::Instant;
use encamp_model::*;
use encamp_ops::Operation;

/// What a worker does with the evaluation that it holds. All methods block, outside of the runtime.
pub(super) trait Held {
    /// The evaluation, with the token that proves that the worker holds it.
    fn delivery(&self) -> &Delivery;

    /// The index of the state that the evaluation must be scheduled on, at least.
    fn least_index(&self) -> u64;

    /// Checks that the worker still holds the evaluation, and restarts its nack timer.
    fn still_ours(&self) -> Result<(), PipelineError>;

    /// Submits a plan that was made on the state at an index. The evaluation's nack timer is paused meanwhile.
    fn submit(&self, plan: Plan, snapshot_index: u64) -> Result<PlanAnswer, PipelineError>;

    /// Writes a new or changed evaluation.
    fn write(&self, eval: Evaluation, new: bool) -> Result<(), PipelineError>;

    /// Adds the evaluation to the blocked evaluations; it stays outstanding until it is acked.
    fn block(&self, eval: Evaluation) -> Result<(), PipelineError>;

    /// Acks the evaluation, or nacks it so that it is delivered again.
    fn end(&self, done: bool) -> Result<(), PipelineError>;
}

/// An evaluation from this server's broker.
pub(super) struct Local<'a> {
    pub server: &'a Leading,
    pub delivery: Delivery,
}

impl Held for Local<'_> {
    fn delivery(&self) -> &Delivery {
        &self.delivery
    }

    fn least_index(&self) -> u64 {
        let (eval, snapshot) = (&self.delivery.eval, self.server.snapshot());
        wait_index(eval, snapshot.evals_of_job(&eval.namespace, &eval.job_id).map(|e| &**e))
    }

    fn still_ours(&self) -> Result<(), PipelineError> {
        Ok(self.server.queues().broker().reset(&self.delivery.eval.id, &self.delivery.token, ids::steady())?)
    }

    fn submit(&self, plan: Plan, snapshot_index: u64) -> Result<PlanAnswer, PipelineError> {
        let started = Instant::now();
        let (id, token) = (&self.delivery.eval.id, &self.delivery.token);
        self.server.queues().broker().pause(id, token, ids::steady())?;
        let answer = call_leader::submit(self.server, plan, snapshot_index);
        let _ = self.server.queues().broker().resume(id, token, ids::steady());
        self.server.metrics().time("nomad.plan.submit", started.elapsed(), &[]);
        answer
    }

    fn write(&self, eval: Evaluation, new: bool) -> Result<(), PipelineError> {
        let _endpoint = self.server.metrics().timer(if new { "nomad.eval.create" } else { "nomad.eval.update" });
        Ok(self.server.commit_blocking(Operation::EvalUpdate { evals: vec![eval] }).map(drop)?)
    }

    fn block(&self, eval: Evaluation) -> Result<(), PipelineError> {
        let _endpoint = self.server.metrics().timer("nomad.eval.reblock");
        let token = self.delivery.token.clone();
        self.server.queues().block(Arc::new(eval), Some(token), |id| self.server.has_ended(id));
        Ok(())
    }

    fn end(&self, done: bool) -> Result<(), PipelineError> {
        let (id, token) = (&self.delivery.eval.id, &self.delivery.token);
        let endpoint = self.server.metrics().timer(if done { "nomad.eval.ack" } else { "nomad.eval.nack" });
        let queues = self.server.queues();
        let ended = if done { queues.ack(id, token) } else { queues.nack(id, token) };
        drop(endpoint);
        record_end(self.server, &ended?);
        Ok(())
    }
}

fn record_end(server: &ServerState, f: &Finished) {
    server.metrics().time("nomad.broker.process_time", duration::of_nanos(f.process), &labels(&f.eval));
    if let Some(response) = f.response {
        server.metrics().time("nomad.broker.response_time", duration::of_nanos(response), &labels(&f.eval));
    }
}

/// The labels of the broker metrics.
pub(super) fn labels(eval: &Evaluation) -> [(&str, &str); 4] {
    let job = eval.job_id.split_once("/periodic-").or_else(|| eval.job_id.split_once("/dispatch-"));
    [
        ("job", job.map_or(eval.job_id.as_str(), |(parent, _)| parent)),
        ("namespace", &eval.namespace),
        ("eval_type", eval.r#type.as_str()),
        ("triggered_by", eval.triggered_by.as_str()),
    ]
}

/// An evaluation from the broker of the leader, which is another server.
pub(super) struct Remote<'a> {
    pub server: &'a Leading,
    pub delivery: Delivery,
    /// As the leader named it.
    pub least_index: u64,
}

impl Remote<'_> {
    fn call(&self, call: &WorkerCall) -> Result<Outcome, PipelineError> {
        call_leader::run(self.server, call)
    }

    /// ID of the evaluation, and its token.
    fn names(&self) -> (String, String) {
        (self.delivery.eval.id.to_string(), self.delivery.token.clone())
    }
}

impl Held for Remote<'_> {
    fn delivery(&self) -> &Delivery {
        &self.delivery
    }

    fn least_index(&self) -> u64 {
        self.least_index
    }

    fn still_ours(&self) -> Result<(), PipelineError> {
        let (id, token) = self.names();
        self.call(&WorkerCall::StillOurs { id, token }).map(drop)
    }

    fn submit(&self, plan: Plan, snapshot_index: u64) -> Result<PlanAnswer, PipelineError> {
        let (_, token) = self.names();
        let sent = Box::new(plan_codec::for_transfer(&plan));
        match self.call(&WorkerCall::Submit { token, plan: sent, snapshot_index })? {
            Outcome::Planned(verdict) => Ok(verdict.of(&plan)),
            Outcome::Done | Outcome::Taken(_) => Err(PipelineError::NoResult),
        }
    }

    fn write(&self, eval: Evaluation, _: bool) -> Result<(), PipelineError> {
        let (id, token) = self.names();
        self.call(&WorkerCall::Write { id, token, eval: Box::new(eval) }).map(drop)
    }

    fn block(&self, eval: Evaluation) -> Result<(), PipelineError> {
        let (_, token) = self.names();
        self.call(&WorkerCall::Block { token, eval: Box::new(eval) }).map(drop)
    }

    fn end(&self, done: bool) -> Result<(), PipelineError> {
        let (id, token) = self.names();
        self.call(&WorkerCall::End { id, token, done }).map(drop)
    }
}
