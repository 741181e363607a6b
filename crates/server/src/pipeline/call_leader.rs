//! Runs the calls of workers: on the leader for workers of all servers, and by a server for its own workers.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use crate::error::{Error, ErrorKind};
use crate::evals::broker::{BrokerError, Delivery, wait_index};
use crate::leading::Leading;
use crate::other_agents::plan_codec::{self, Verdict, attach_job};
use crate::other_agents::worker_calls::{Outcome, Taken, WorkerCall};
use crate::queues::pipeline_error::PipelineError;
use crate::queues::{PendingPlan, PlanAnswer, Queues};
use encamp_host::ids;
use encamp_host::threads::{self, Instant, NoMessage};
use encamp_model::*;
use encamp_ops::Operation;

/// Maximum time to wait for an evaluation.
const LONGEST_DEQUEUE: Duration = Duration::from_secs(5);
/// How long a call is retried while there is no leader.
const PATIENCE: Duration = Duration::from_secs(60);
/// The pause between two attempts: the first and the longest one.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(10));

/// Runs a call of another server's worker on the leader.
///
/// # Errors
/// This server is not the leader, or the worker does not hold the evaluation any more.
pub async fn handle(server: &Leading, call: WorkerCall) -> Result<Outcome, Error> {
    if !server.consensus().leads() {
        return Err(Error::no_leader());
    }
    let queues = server.queues();
    let _timer = server.metrics().timer(call.metric());
    match call {
        WorkerCall::Dequeue { schedulers, wait } => {
            let Some(d) = queues.dequeue_async(&schedulers, wait.min(LONGEST_DEQUEUE)).await else {
                return Ok(Outcome::Done);
            };
            let snapshot = server.snapshot();
            let of_job = snapshot.evals_of_job(&d.eval.namespace, &d.eval.job_id).map(|e| &**e);
            let least_index = wait_index(&d.eval, of_job);
            let Delivery { eval, token, queue, deliveries, wait } = d;
            return Ok(Outcome::Taken(Box::new(Taken { eval, token, queue, deliveries, wait, least_index })));
        }
        WorkerCall::End { id, token, done } => {
            let ended = if done { queues.ack(&id, &token) } else { queues.nack(&id, &token) };
            ended?;
        }
        WorkerCall::StillOurs { id, token } => queues.broker().reset(&id, &token, ids::steady())?,
        WorkerCall::Submit { token, mut plan, snapshot_index } => {
            attach_job(server.snapshot().state(), &mut plan)?;
            let (id, sizes) = (plan.eval_id.clone(), plan_codec::sizes(&plan));
            let paused = Paused::begin(queues, &id, &token)?;
            let own = server.clone();
            let waited = threads::unblock(move || submit(&own, *plan, snapshot_index)).await;
            drop(paused);
            let answer = waited.map_err(|e| Error::internal(e.to_string()))??;
            return Ok(Outcome::Planned(Box::new(Verdict::new(answer, sizes))));
        }
        WorkerCall::Write { id, token, eval } => {
            queues.broker().reset(&id, &token, ids::steady())?;
            server.commit(Operation::EvalUpdate { evals: vec![*eval] }).await?;
        }
        WorkerCall::Block { token, eval } => {
            queues.broker().reset(&eval.id, &token, ids::steady())?;
            queues.block(Arc::from(eval), Some(token), |id| server.has_ended(id));
        }
    }
    Ok(Outcome::Done)
}

/// Pauses the nack timer of an evaluation until it is dropped. That happens with the end of the call, including a call
/// that is cancelled because the worker's server is gone: otherwise the evaluation would never be delivered again.
struct Paused<'a> {
    queues: &'a Queues,
    id: &'a str,
    token: &'a str,
}

impl<'a> Paused<'a> {
    fn begin(queues: &'a Queues, id: &'a str, token: &'a str) -> Result<Paused<'a>, BrokerError> {
        queues.broker().pause(id, token, ids::steady())?;
        Ok(Paused { queues, id, token })
    }
}

impl Drop for Paused<'_> {
    fn drop(&mut self) {
        let _ = self.queues.broker().resume(self.id, self.token, ids::steady());
    }
}

/// Has the applier check and commit a plan. Blocks until the result is known; must be called outside of the runtime.
pub(crate) fn submit(server: &Leading, plan: Plan, snapshot_index: u64) -> Result<PlanAnswer, PipelineError> {
    let (sender, mut receiver) = mpsc::channel(1);
    let queues = server.queues();
    let in_flight = queues.in_flight();
    queues.submit(PendingPlan { plan, snapshot_index, answer: sender, in_flight })?;
    loop {
        match threads::receive_within(&mut receiver, PAUSES.0) {
            Ok(answer) => return answer,
            Err(NoMessage::Never) => return Err(PipelineError::Dropped),
            Err(NoMessage::Late) if queues.stopping() => return Err(PipelineError::Stopping),
            Err(NoMessage::Late) => {}
        }
    }
}

/// Runs a call for one of this server's workers and retries while there is no leader. Must be called outside of the
/// runtime.
///
/// # Errors
/// The call was refused, or the server stops.
pub(crate) fn run(server: &Leading, call: &WorkerCall) -> Result<Outcome, PipelineError> {
    let patient = !matches!(call, WorkerCall::Dequeue { .. });
    let begun = Instant::now();
    let mut pause = PAUSES.0;
    loop {
        let error = match threads::block_on(server.runtime(), once(server, call)) {
            Ok(outcome) => return Ok(outcome),
            Err(e) => e,
        };
        let again = matches!(error.kind, ErrorKind::NoLeader | ErrorKind::PlanQueueDisabled);
        if server.queues().stopping() {
            return Err(PipelineError::Stopping);
        }
        if !(again && patient && begun.elapsed() < PATIENCE) {
            return Err(error.into());
        }
        threads::sleep(pause);
        pause = (pause * 2).min(PAUSES.1);
    }
}

async fn once(server: &Leading, call: &WorkerCall) -> Result<Outcome, Error> {
    let leader = {
        let leadership = server.consensus().leadership();
        let now = leadership.borrow();
        if now.is_leader { None } else { Some(now.leader.clone().ok_or_else(Error::no_leader)?) }
    };
    match leader {
        None => handle(server, call.clone()).await,
        Some((id, peer)) => server.other_servers().run(id, &peer, call).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::HeartbeatSettings;

    #[tokio::test]
    async fn a_cancelled_call_lets_its_evaluation_time_out() {
        let queues = Queues::new(HeartbeatSettings::default());
        let (id, token) = ("e", "t");
        let eval = Evaluation { id: id.into(), r#type: JobType::Service, ..Evaluation::default() };
        {
            let mut broker = queues.broker();
            broker.set_enabled(true);
            broker.enqueue(Arc::new(eval), None, ids::steady());
            let taken = broker.dequeue(&[JobType::Service], ids::steady(), 0, || token.to_string());
            assert!(taken.is_ok_and(|d| d.is_some()));
        }
        let mut call = Box::pin(async {
            let _paused = Paused::begin(&queues, id, token).expect("the evaluation is held");
            std::future::pending::<()>().await;
        });
        assert!(futures_util::poll!(&mut call).is_pending());
        assert_eq!(queues.broker().next_deadline(), None, "the nack timer is paused while a plan is applied");
        drop(call);
        assert!(queues.broker().next_deadline().is_some(), "the evaluation will be delivered again");
    }
}
