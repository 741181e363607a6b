//! Carries out the operation of a pool (`docs/spec/cluster-scaling.md §5`, `§6`): calls [`operation::next`] for the
//! next step until the operation completes, fails temporarily, or is taken over.

use std::time::Duration;

use encamp_state::Snapshot;

use super::Shared;
use super::pool::{Loaded, group_id, within};
use crate::cluster::ClusterError;
use crate::notify::Reason;
use crate::operation::{self, Effect, Event, Failure, Next, Observation, failed};
use crate::provider::{ProviderError, ScalingGroup};
use crate::record::{Direction, Record, Step};
use crate::registry::Pool;
use crate::status::Action;
use crate::store;

/// The pauses between observations grow from here...
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// ... to here.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// Pauses after the first, second and third try of what failed.
const TRIES: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4)];
/// How often a task that pauses looks whether this instance still leads.
const LEAD_CHECK: Duration = Duration::from_secs(1);

/// Why a call to cluster or provider had no effect that is known of.
#[derive(Debug)]
enum CallError {
    Cluster(ClusterError),
    Provider(ProviderError),
}

impl CallError {
    /// This instance may not act any more.
    fn ends_leadership(&self) -> bool {
        match self {
            CallError::Cluster(ClusterError::NotLeader) => true,
            CallError::Cluster(ClusterError::Conflict(_) | ClusterError::NotFound(_) | ClusterError::Failed(_))
            | CallError::Provider(_) => false,
        }
    }
}

impl std::fmt::Display for CallError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CallError::Cluster(error) => error.fmt(f),
            CallError::Provider(error) => error.fmt(f),
        }
    }
}

/// An effect that was tried and does not show yet.
struct Attempt {
    effect: Effect,
    /// How often; what was accepted and must not be repeated counts as tried again each time it is looked for.
    tries: usize,
    /// Some call was accepted.
    accepted: bool,
    /// After the last try there was a pause and another look.
    paused: bool,
    /// The error of the last failed call.
    error: Option<String>,
}

impl Attempt {
    fn new(effect: Effect) -> Attempt {
        Attempt { effect, tries: 0, accepted: false, paused: true, error: None }
    }

    fn pause(&self) -> Option<Duration> {
        TRIES.get(self.tries.saturating_sub(1)).copied()
    }
}

/// The result of an attempt.
enum Tried {
    /// The operation is observed once more, after this pause.
    Look(Duration),
    /// It failed for good.
    Failed(String),
    /// This instance does not lead any more.
    NotLeader,
}

impl Shared {
    /// Goes on with an operation; true if it is not over. It ends early when this instance is no longer the leader,
    /// another client writes the state object, or something failed: later cycles go on.
    pub(super) async fn operate(&self, pool: &Pool, path: &str) -> bool {
        let mut pause = FIRST_PAUSE;
        let mut attempt: Option<Attempt> = None;
        loop {
            if !self.cluster.leads() {
                return true;
            }
            let Ok(permit) = self.permits.acquire().await else { return true };
            let observed = self.observe(pool).await;
            // Read again each time, right before anything is done: an operator may have entered failsafe mode.
            let loaded = match self.load(&pool.name, path).await {
                Ok(loaded) => loaded,
                Err(error) => {
                    tracing::warn!(target: "autoscale", pool = pool.name, %error, "an operation waits");
                    return true;
                }
            };
            self.board.note(&pool.name, &loaded.record);
            let (state, group) = match observed {
                Ok(seen) => seen,
                Err((failure, error)) => {
                    if !error.ends_leadership() {
                        self.give_up(pool, path, loaded, failure, &error).await;
                    }
                    return true;
                }
            };
            let seen = Observation { state: &state, group: &group };
            let next = operation::next(&loaded.record, &seen, &pool.parameters, &self.limits, self.now());
            match next {
                Next::Idle => return loaded.record.operation.is_some(),
                Next::Persist(record, events) => {
                    let before = step(&loaded.record);
                    let Some(written) = self.write(pool, path, *record, loaded.index, events).await else {
                        return true;
                    };
                    if written.operation.is_none() || written.failsafe_mode {
                        return written.operation.is_some();
                    }
                    attempt = None;
                    if step(&written) != before {
                        pause = FIRST_PAUSE;
                        continue;
                    }
                }
                Next::Act(effect) => {
                    let Some(pause) = self.try_effect(pool, path, loaded, &mut attempt, effect).await else {
                        return true;
                    };
                    drop((permit, state));
                    self.pause(pause).await;
                    continue;
                }
                Next::Wait => {}
            }
            drop((permit, state));
            self.pause(pause).await;
            pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
        }
    }

    /// Tries an effect, which `attempt` counts. Returns the pause until the operation is observed again; `None` if the
    /// operation does not go on now, because the effect failed for good or this instance does not lead any more.
    async fn try_effect(
        &self,
        pool: &Pool,
        path: &str,
        loaded: Loaded,
        attempt: &mut Option<Attempt>,
        effect: Effect,
    ) -> Option<Duration> {
        let attempt = match attempt {
            Some(attempt) if attempt.effect == effect => attempt,
            other => other.insert(Attempt::new(effect)),
        };
        match self.attempt(pool, attempt).await {
            Tried::Look(pause) => Some(pause),
            Tried::Failed(error) => {
                self.give_up(pool, path, loaded, Failure::Effect(&attempt.effect), &error).await;
                None
            }
            Tried::NotLeader => None,
        }
    }

    /// Tries an effect that does not show, at most three times.
    async fn attempt(&self, pool: &Pool, attempt: &mut Attempt) -> Tried {
        if !attempt.paused {
            attempt.paused = true;
            return Tried::Look(attempt.pause().unwrap_or_default());
        }
        if attempt.tries >= TRIES.len() {
            let error = attempt.error.take();
            return Tried::Failed(error.unwrap_or_else(|| "it was accepted, but does not show".to_string()));
        }
        attempt.tries += 1;
        if attempt.accepted && !attempt.effect.repeatable() {
            return Tried::Look(attempt.pause().unwrap_or_default());
        }
        if !self.cluster.leads() {
            return Tried::NotLeader;
        }
        tracing::info!(target: "autoscale", pool = pool.name, "{}", attempt.effect);
        match self.act(pool, &attempt.effect).await {
            Ok(()) => {
                (attempt.accepted, attempt.paused, attempt.error) = (true, false, None);
                Tried::Look(Duration::ZERO)
            }
            Err(error) if error.ends_leadership() => Tried::NotLeader,
            Err(error) => {
                tracing::warn!(target: "autoscale", pool = pool.name, %error, "{} failed", attempt.effect);
                attempt.error = Some(error.to_string());
                // It may have had its effect: that is checked even after the last try.
                Tried::Look(attempt.pause().unwrap_or_default())
            }
        }
    }

    /// Brings an effect about.
    async fn act(&self, pool: &Pool, effect: &Effect) -> Result<(), CallError> {
        let (cluster, id) = (&*self.cluster, group_id(&pool.parameters));
        let provider = || self.provider(&pool.parameters).map_err(CallError::Provider);
        match effect {
            Effect::SetDesired(n) => within(provider()?.set_desired(id, *n)).await.map_err(CallError::Provider),
            Effect::Terminate { instance, decrement } => {
                within(provider()?.terminate(id, instance, *decrement)).await.map_err(CallError::Provider)
            }
            Effect::Detach { instance } => within(provider()?.detach(id, instance)).await.map_err(CallError::Provider),
            Effect::Drain { node, deadline } => {
                store::within(cluster.drain(node, *deadline)).await.map_err(CallError::Cluster)
            }
            Effect::CancelDrain { node } => store::within(cluster.cancel_drain(node)).await.map_err(CallError::Cluster),
            Effect::Purge { node } => store::within(cluster.purge(node)).await.map_err(CallError::Cluster),
        }
    }

    /// Reads cluster and scaling group, at most three times each.
    async fn observe(&self, pool: &Pool) -> Result<(Snapshot, ScalingGroup), (Failure<'static>, CallError)> {
        let mut tries = TRIES.iter();
        loop {
            let read = async {
                let state = store::within(self.cluster.state()).await;
                let state = state.map_err(|e| (Failure::ReadingCluster, CallError::Cluster(e)))?;
                let group = self.group(&pool.parameters).await;
                Ok((state, group.map_err(|e| (Failure::ReadingGroup, CallError::Provider(e)))?))
            };
            let (failure, error) = match read.await {
                Ok(seen) => return Ok(seen),
                Err(problem) => problem,
            };
            let pause = tries.next();
            match pause {
                Some(pause) if tries.len() > 0 && !error.ends_leadership() => self.pause(*pause).await,
                Some(_) | None => return Err((failure, error)),
            }
        }
    }

    /// Counts a failure.
    async fn give_up(
        &self,
        pool: &Pool,
        path: &str,
        loaded: Loaded,
        failure: Failure<'_>,
        error: &(dyn std::fmt::Display + Sync),
    ) {
        if loaded.record.failsafe_mode {
            return;
        }
        let (record, events) = failed(&loaded.record, failure, &error, &pool.parameters, self.now());
        self.write(pool, path, record, loaded.index, events).await;
    }

    /// Writes a state object and tells what goes with it; `None` if it could not be written.
    async fn write(&self, pool: &Pool, path: &str, record: Record, check: u64, events: Vec<Event>) -> Option<Record> {
        match self.save(path, record, check).await {
            Ok(saved) => {
                self.board.note(&pool.name, &saved);
                events.into_iter().for_each(|event| self.tell(pool, event));
                Some(saved)
            }
            Err(error) => {
                tracing::warn!(target: "autoscale", pool = pool.name, %error, "the state object cannot be written");
                None
            }
        }
    }

    /// Logs, counts and notifies.
    fn tell(&self, pool: &Pool, event: Event) {
        let name = pool.name.as_str();
        let count = |metric: &str| self.metrics.count(metric, 1, &[("pool", name)]);
        let (action, reason, text) = match event {
            Event::ScaledOut { instances } => {
                count("nomad.autoscale.pool.scale_out.success");
                let nodes = if instances.len() == 1 { "node" } else { "nodes" };
                let text = format!("{} new {nodes}: {}", instances.len(), instances.join(", "));
                (Action::ScaleOut, Reason::ScaleOut, text)
            }
            Event::ScaledIn { node } => {
                count("nomad.autoscale.pool.scale_in.success");
                (Action::ScaleIn, Reason::ScaleIn, format!("node {node} was removed"))
            }
            Event::TakenBack { node } => {
                count("nomad.autoscale.pool.scale_in.taken_back");
                let text = format!("node {node} was taken back, since the pool needs it: it is eligible again");
                (Action::TakeBack, Reason::ScaleIn, text)
            }
            Event::Failed { direction, reason } => {
                let (metric, notification) = match direction {
                    Direction::Out => ("nomad.autoscale.pool.scale_out.failure", Reason::ScaleOut),
                    Direction::In => ("nomad.autoscale.pool.scale_in.failure", Reason::ScaleIn),
                };
                count(metric);
                (Action::Error, notification, format!("scaling {} failed: {reason}", direction.name()))
            }
            Event::EnteredFailsafe { reason } => {
                (Action::Failsafe, Reason::ClusterFailsafeMode, format!("the pool entered failsafe mode: {reason}"))
            }
        };
        match action {
            Action::Error | Action::Failsafe => tracing::warn!(target: "autoscale", pool = name, "{text}"),
            Action::None
            | Action::Denied
            | Action::Requested
            | Action::ScaleOut
            | Action::ScaleIn
            | Action::TakeBack => {
                tracing::info!(target: "autoscale", pool = name, "{text}");
            }
        }
        if reason != Reason::ClusterFailsafeMode || self.board.tells_failsafe(name) {
            self.notify(name, reason, format!("worker pool {name}: {text}"));
        }
        self.board.decide(name, action, text, self.now());
    }

    /// Pauses, for less if this instance is no longer the leader.
    async fn pause(&self, mut left: Duration) {
        while !left.is_zero() && self.cluster.leads() {
            let part = left.min(LEAD_CHECK);
            tokio::time::sleep(part).await;
            left = left.saturating_sub(part);
        }
    }
}

/// The step a record's operation is at.
fn step(record: &Record) -> Option<Step> {
    record.operation.as_ref().map(|o| o.step)
}
