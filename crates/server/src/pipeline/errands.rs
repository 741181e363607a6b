//! What a worker of a follower asks of the leader (`docs/spec/server.md §6`, `§7.1`): evaluations to work on, and what
//! becomes of them. The follower schedules on its own state.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::error::Error;
use crate::evals::broker::{BrokerError, Delivery, wait_index};
use crate::handle::Server;
use crate::leadership::queues::{PendingPlan, PlanAnswer, Queues};
use crate::pipeline::travel::{self, Verdict, attach_job};
use encamp_host::ids;
use encamp_host::threads::{self, Instant, NoMessage};
use encamp_model::*;
use encamp_ops::Operation;

/// Longest wait for an evaluation.
const LONGEST_DEQUEUE: Duration = Duration::from_secs(5);
/// How long an errand is tried again while there is no leader.
const PATIENCE: Duration = Duration::from_secs(60);
/// Pauses between two tries: the first, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(10));

/// What a worker wants. `id` and `token` are those of its evaluation.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Errand {
    /// An evaluation of these schedulers, within a time.
    Dequeue {
        /// Names of schedulers.
        schedulers: Vec<String>,
        /// How long to wait for one.
        wait: Duration,
    },
    /// The evaluation is done, or is to be handed out again.
    End {
        /// ID of the evaluation.
        id: String,
        /// Its token.
        token: String,
        /// It is done.
        done: bool,
    },
    /// Is it still this worker's? Its time begins anew.
    StillOurs {
        /// ID of the evaluation.
        id: String,
        /// Its token.
        token: String,
    },
    /// A plan is to be applied.
    Submit {
        /// Token of the plan's evaluation.
        token: String,
        /// The plan; allocations of its own job come without the job.
        plan: Box<Plan>,
        /// The index of the snapshot it was made on.
        snapshot_index: u64,
    },
    /// An evaluation is to be written.
    Write {
        /// ID of the evaluation that is worked on.
        id: String,
        /// Its token.
        token: String,
        /// The evaluation to write, which may be another one.
        eval: Box<Evaluation>,
    },
    /// The evaluation waits for room again.
    Block {
        /// Its token.
        token: String,
        /// The evaluation.
        eval: Box<Evaluation>,
    },
}

impl Errand {
    /// The timer of the endpoint that does it (`docs/spec/server.md §24`).
    pub(crate) fn metric(&self) -> &'static str {
        match self {
            Errand::Dequeue { .. } => "nomad.eval.dequeue",
            Errand::End { done: true, .. } => "nomad.eval.ack",
            Errand::End { done: false, .. } => "nomad.eval.nack",
            Errand::StillOurs { .. } => "nomad.eval.reset",
            Errand::Submit { .. } => "nomad.plan.submit",
            Errand::Write { .. } => "nomad.eval.update",
            Errand::Block { .. } => "nomad.eval.reblock",
        }
    }
}

/// What came of an errand.
#[derive(Debug, Default, Serialize, Deserialize)]
pub enum Outcome {
    /// It was done.
    #[default]
    Done,
    /// An evaluation to work on.
    Taken(Box<Taken>),
    /// What became of a plan.
    Planned(Box<Verdict>),
}

/// An evaluation that was handed out to another server.
#[derive(Debug, Serialize, Deserialize)]
pub struct Taken {
    /// The evaluation.
    pub eval: Arc<Evaluation>,
    /// Proves that it is held.
    pub token: String,
    /// The queue it came from.
    pub queue: String,
    /// How often it was handed out.
    pub deliveries: u32,
    /// Nanoseconds since it was enqueued.
    pub wait: Option<i64>,
    /// It must be scheduled on a state at least as new as this.
    pub least_index: u64,
}

impl Taken {
    /// As the broker would have handed it out here, and the least index.
    pub fn delivery(self) -> (Delivery, u64) {
        let Taken { eval, token, queue, deliveries, wait, least_index } = self;
        (Delivery { eval, token, queue, deliveries, wait }, least_index)
    }
}

/// Does on the leader what a worker of another server wants.
///
/// # Errors
/// This server does not lead, or the evaluation is not the worker's any more.
pub async fn carry_out(server: &Server, errand: Errand) -> Result<Outcome, Error> {
    if !server.consensus().leads() {
        return Err(Error::no_leader());
    }
    let queues = server.queues();
    let refused = |e: BrokerError| Error::internal(e.to_string());
    let _timer = server.metrics().timer(errand.metric());
    match errand {
        Errand::Dequeue { schedulers, wait } => {
            let Some(d) = queues.dequeue_async(&schedulers, wait.min(LONGEST_DEQUEUE)).await else {
                return Ok(Outcome::Done);
            };
            let snapshot = server.snapshot();
            let of_job = snapshot.evals_of_job(&d.eval.namespace, &d.eval.job_id).map(|e| &**e);
            let least_index = wait_index(&d.eval, of_job);
            let Delivery { eval, token, queue, deliveries, wait } = d;
            return Ok(Outcome::Taken(Box::new(Taken { eval, token, queue, deliveries, wait, least_index })));
        }
        Errand::End { id, token, done } => {
            let ended = if done { queues.ack(&id, &token) } else { queues.nack(&id, &token) };
            ended.map_err(refused)?;
        }
        Errand::StillOurs { id, token } => queues.broker().reset(&id, &token, ids::now()).map_err(refused)?,
        Errand::Submit { token, mut plan, snapshot_index } => {
            attach_job(server, &mut plan)?;
            let (id, sizes) = (plan.eval_id.clone(), travel::sizes(&plan));
            let paused = Paused::begin(queues, &id, &token).map_err(refused)?;
            let own = server.clone();
            let waited = threads::unblock(move || submit(&own, *plan, snapshot_index)).await;
            drop(paused);
            let answer = waited.map_err(|e| Error::internal(e.to_string()))?.map_err(Error::internal)?;
            return Ok(Outcome::Planned(Box::new(Verdict::new(answer, sizes))));
        }
        Errand::Write { id, token, eval } => {
            queues.broker().reset(&id, &token, ids::now()).map_err(refused)?;
            server.commit(Operation::EvalUpdate { evals: vec![*eval] }).await?;
        }
        Errand::Block { token, eval } => {
            queues.broker().reset(&eval.id, &token, ids::now()).map_err(refused)?;
            queues.block(Arc::from(eval), Some(token), |id| server.has_ended(id));
        }
    }
    Ok(Outcome::Done)
}

/// While it lasts, a worker may be silent about an evaluation. It ends with the call, also when that is given up
/// because the worker's server is gone: otherwise the evaluation would never be handed out again.
struct Paused<'a> {
    queues: &'a Queues,
    id: &'a str,
    token: &'a str,
}

impl<'a> Paused<'a> {
    fn begin(queues: &'a Queues, id: &'a str, token: &'a str) -> Result<Paused<'a>, BrokerError> {
        queues.broker().pause(id, token, ids::now())?;
        Ok(Paused { queues, id, token })
    }
}

impl Drop for Paused<'_> {
    fn drop(&mut self) {
        let _ = self.queues.broker().resume(self.id, self.token, ids::now());
    }
}

/// Has the applier check and commit a plan; waits for the answer, outside of the runtime.
pub(crate) fn submit(server: &Server, plan: Plan, snapshot_index: u64) -> Result<PlanAnswer, String> {
    let (sender, mut receiver) = mpsc::channel(1);
    let queues = server.queues();
    let on_its_way = queues.on_its_way();
    queues.submit(PendingPlan { plan, snapshot_index, answer: sender, on_its_way })?;
    loop {
        match threads::receive_within(&mut receiver, PAUSES.0) {
            Ok(answer) => return answer,
            Err(NoMessage::Never) => return Err("the plan was dropped".into()),
            Err(NoMessage::Late) if queues.stopping() => return Err("shutdown while planning".into()),
            Err(NoMessage::Late) => {}
        }
    }
}

/// Runs an errand of one of this server's workers, outside of the runtime; again while there is no leader.
///
/// # Errors
/// A refusal, as a text for the log.
pub(crate) fn run(server: &Server, errand: &Errand) -> Result<Outcome, String> {
    let patient = !matches!(errand, Errand::Dequeue { .. });
    let begun = Instant::now();
    let mut pause = PAUSES.0;
    loop {
        let error = match threads::block_on(server.runtime(), once(server, errand)) {
            Ok(outcome) => return Ok(outcome),
            Err(e) => e,
        };
        let again = error == Error::no_leader() || error.message.contains("plan queue is disabled");
        if server.queues().stopping() {
            return Err("shutdown while planning".into());
        }
        if !(again && patient && begun.elapsed() < PATIENCE) {
            return Err(error.message);
        }
        threads::sleep(pause);
        pause = (pause * 2).min(PAUSES.1);
    }
}

async fn once(server: &Server, errand: &Errand) -> Result<Outcome, Error> {
    let leader = {
        let leadership = server.consensus().leadership();
        let now = leadership.borrow();
        if now.is_leader { None } else { Some(now.leader.clone().ok_or_else(Error::no_leader)?) }
    };
    match leader {
        None => carry_out(server, errand.clone()).await,
        Some((id, peer)) => server.others().run(id, &peer, errand).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nodes::heartbeat::HeartbeatSettings;

    #[tokio::test]
    async fn a_call_that_is_given_up_lets_its_evaluation_time_out() {
        let queues = Queues::new(HeartbeatSettings::default());
        let (id, token) = ("e", "t");
        let eval = Evaluation { id: id.into(), r#type: "service".into(), ..Evaluation::default() };
        {
            let mut broker = queues.broker();
            broker.set_enabled(true);
            broker.enqueue(Arc::new(eval), None, ids::now());
            let taken = broker.dequeue(&["service"], ids::now(), 0, || token.to_string());
            assert!(taken.is_ok_and(|d| d.is_some()));
        }
        let mut call = Box::pin(async {
            let _paused = Paused::begin(&queues, id, token).expect("it is ours");
            std::future::pending::<()>().await;
        });
        assert!(futures_util::poll!(&mut call).is_pending());
        assert_eq!(queues.broker().next_deadline(), None, "a plan takes as long as it takes");
        drop(call);
        assert!(queues.broker().next_deadline().is_some(), "it is handed out again");
    }
}
