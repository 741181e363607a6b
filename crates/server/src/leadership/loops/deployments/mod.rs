//! The deployment watcher (`docs/spec/server.md §13`): turns the health of allocations into evaluations, promotions,
//! failures and rollbacks of deployments.
//!
//! - [`rules`]: decides on a deployment, given its allocations.
//!
//! All decisions follow from the store, except for the batched updates and for deadlines that have passed. A new leader
//! therefore continues where the old one stopped, and after a failed write the decision is made again.

pub mod rules;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::driver::Machine;
use crate::jobs::rollout::{self, Cause};
use crate::storage::watch::WatchKey;
use encamp_model::*;
use encamp_ops::{DeploymentPromotion, DeploymentStatusChange, Operation};
use encamp_state::{StateStore, Table};

/// How long the updates of one deployment are batched, from the first one on.
const GATHER: i64 = SECOND;
/// How long the updates of several deployments are batched after that.
const GATHER_ALL: i64 = SECOND / 4;

/// The state of an active deployment's watcher.
#[derive(Debug)]
struct Watcher {
    /// The job as it was when the deployment was first seen.
    job: Arc<Job>,
    /// The state at the last evaluation.
    seen: Option<(u64, u64)>,
    deadline: Option<i64>,
    /// The last deadline that passed.
    came: Option<i64>,
    /// Whether a deadline passed: later failures are attributed to it.
    late: bool,
}

/// A batched update of a deployment: an evaluation, and reschedule marks if there are any.
#[derive(Debug, Default)]
struct Update {
    /// When the first part of the update was added.
    since: i64,
    /// Allocations that may be rescheduled.
    reschedule: BTreeSet<String>,
}

/// The watcher of all deployments.
#[derive(Debug, Default)]
pub struct Deployments {
    watchers: BTreeMap<String, Watcher>,
    updates: BTreeMap<String, Update>,
}

impl Machine for Deployments {
    const NAME: &'static str = "deployment watcher";

    fn look(&mut self, store: &StateStore, now: i64, new_id: &mut dyn FnMut() -> String) -> Vec<Operation> {
        let active: BTreeMap<&str, &Arc<Deployment>> =
            store.state().deployments().filter(|d| d.active()).map(|d| (d.id.as_str(), d)).collect();
        self.watchers.retain(|id, _| active.contains_key(id.as_str()));
        self.updates.retain(|id, _| active.contains_key(id.as_str()));
        let mut work = Vec::new();
        for (id, d) in &active {
            if !self.watchers.contains_key(*id) {
                let Some(job) = store.state().job(&d.namespace, &d.job_id).cloned() else { continue };
                let new = Watcher { job, seen: None, deadline: None, came: None, late: false };
                self.watchers.insert(id.to_string(), new);
            }
            let Some(watcher) = self.watchers.get_mut(*id) else { continue };
            work.extend(look_at(store, d, watcher, &mut self.updates, now, new_id));
        }
        work.extend(self.flush(&active, now, new_id));
        work
    }

    fn next(&self) -> Option<i64> {
        let deadlines = self.watchers.values().filter(|w| w.came != w.deadline).filter_map(|w| w.deadline);
        deadlines.chain(self.flush_at()).min()
    }

    fn keys(&self) -> Vec<WatchKey> {
        let of_deployments = self.watchers.keys().map(|id| WatchKey::OfDeployment(id.clone()));
        [WatchKey::Table(Table::Deployment)].into_iter().chain(of_deployments).collect()
    }

    fn failed(&mut self) {
        self.updates.clear();
        self.watchers.values_mut().for_each(|w| (w.seen, w.came) = (None, None));
    }
}

impl Deployments {
    fn flush_at(&self) -> Option<i64> {
        self.updates.values().map(|u| u.since.saturating_add(GATHER + GATHER_ALL)).min()
    }

    /// Builds the log entry for the updates that were batched long enough.
    fn flush(
        &mut self,
        active: &BTreeMap<&str, &Arc<Deployment>>,
        now: i64,
        new_id: &mut dyn FnMut() -> String,
    ) -> Option<Operation> {
        if self.flush_at().is_none_or(|t| t > now) {
            return None;
        }
        let (mut transitions, mut evals) = (BTreeMap::new(), Vec::new());
        let due = self.updates.extract_if(.., |_, u| u.since.saturating_add(GATHER) <= now);
        for (id, update) in due {
            let (Some(d), Some(watcher)) = (active.get(id.as_str()), self.watchers.get(&id)) else { continue };
            let mark = DesiredTransition { reschedule: Some(true), ..Default::default() };
            transitions.extend(update.reschedule.into_iter().map(|a| (a, mark.clone())));
            evals.push(rollout::evaluation(d, &watcher.job, now, new_id()));
        }
        Some(Operation::AllocTransition { transitions, evals })
    }
}

/// Decides on one deployment and returns the urgent operations; the others go to `updates`.
fn look_at(
    store: &StateStore,
    d: &Arc<Deployment>,
    watcher: &mut Watcher,
    updates: &mut BTreeMap<String, Update>,
    now: i64,
    new_id: &mut dyn FnMut() -> String,
) -> Option<Operation> {
    let seen = Some(rules::seen(store, d));
    let changed = std::mem::replace(&mut watcher.seen, seen) != seen;
    if changed {
        watcher.deadline = rules::progress_deadline(store, d);
    }
    let mut came = false;
    if watcher.deadline.is_some_and(|t| t <= now) && watcher.came != watcher.deadline {
        watcher.came = watcher.deadline;
        came = d.status != DeploymentStatus::Paused;
        watcher.late |= came;
    }
    if came && let Some(roll_back) = rules::missed_deadline(d, &watcher.job) {
        return Some(failure(store, d, watcher, roll_back, now, new_id));
    }
    if !changed {
        return None;
    }
    let verdict = rules::verdict(store, d, now);
    if let Some(roll_back) = verdict.fail {
        return Some(failure(store, d, watcher, roll_back, now, new_id));
    }
    let promotion = rules::promotes_itself(store, d).then(|| {
        let eval = rollout::evaluation(d, &watcher.job, now, new_id());
        let promotion = DeploymentPromotion { id: d.id.clone(), groups: None, eval: Some(eval), now };
        Operation::DeploymentPromotion(Box::new(promotion))
    });
    // A promotion creates its own evaluation, and a batched evaluation will see this change, too.
    let evaluate = promotion.is_none() && !updates.contains_key(&d.id) && rules::unseen_health(store, d);
    if evaluate || !verdict.reschedule.is_empty() {
        let update = updates.entry(d.id.clone()).or_insert_with(|| Update { since: now, ..Default::default() });
        update.reschedule.extend(verdict.reschedule);
    }
    promotion
}

fn failure(
    store: &StateStore,
    d: &Deployment,
    watcher: &Watcher,
    roll_back: bool,
    now: i64,
    new_id: &mut dyn FnMut() -> String,
) -> Operation {
    let cause = if watcher.late { Cause::ProgressDeadline } else { Cause::UnhealthyAllocations };
    let entry = store.state().job_entry(&d.namespace, &d.job_id);
    let versions = entry.iter().flat_map(|e| e.versions.values());
    let failure = rollout::failure(&d.id, cause, roll_back, &watcher.job, versions);
    let eval = rollout::evaluation(d, &watcher.job, now, new_id());
    let change = DeploymentStatusChange { update: failure.update, job: failure.rollback, eval: Some(eval), now };
    Operation::DeploymentStatus(Box::new(change))
}
