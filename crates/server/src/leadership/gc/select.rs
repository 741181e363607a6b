//! The objects that one run deletes (`docs/spec/garbage-collection.md §3-8, 10`): those of which the rules say that
//! they can be deleted now. No I/O: times are parameters in Unix nanoseconds.

use std::collections::HashSet;

use super::rules::{self, Sink};
use super::verdict::{Looking, Thresholds, Verdict, is_due};
use encamp_model::*;
use encamp_state::StateStore;

/// Evaluations and allocations to delete.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Evaluation IDs.
    pub evals: Vec<String>,
    /// Allocation IDs.
    pub allocs: Vec<String>,
}

impl Collected {
    /// Whether there is nothing to delete.
    pub fn is_empty(&self) -> bool {
        self.evals.is_empty() && self.allocs.is_empty()
    }
}

/// Jobs by namespace and ID.
pub(super) type JobKeys<'a> = HashSet<(&'a str, &'a str)>;

/// Jobs to delete, and what goes with them.
#[derive(Debug, Default)]
pub struct CollectedJobs<'a> {
    /// The jobs.
    pub jobs: Vec<&'a Job>,
    /// Their evaluations, with the allocations of these.
    pub rest: Collected,
    /// How many more allocations go with the jobs: those whose evaluation is gone.
    pub other_allocs: usize,
    /// How many deployments go with the jobs.
    pub deployments: usize,
}

impl<'a> CollectedJobs<'a> {
    /// The jobs by namespace and ID.
    pub(super) fn keys(&self) -> JobKeys<'a> {
        self.jobs.iter().map(|j| (j.namespace.as_str(), j.id.as_str())).collect()
    }
}

/// Takes the allocations that can be deleted at a time, and all evaluations.
struct Take<'c> {
    now: i64,
    into: &'c mut Collected,
}

impl<'a> Sink<'a> for Take<'_> {
    fn alloc(&mut self, alloc: &'a Allocation, verdict: Verdict<'a>) {
        if is_due(&verdict, self.now) {
            self.into.allocs.push(alloc.id.to_string());
        }
    }

    fn eval(&mut self, eval: &'a Evaluation) {
        self.into.evals.push(eval.id.to_string());
    }
}

/// The evaluations and allocations to delete (`docs/spec/garbage-collection.md §3.1`), without those of jobs that the
/// same run has deleted.
pub fn evals(store: &StateStore, thresholds: &Thresholds, now: i64, without: &JobKeys) -> Collected {
    let mut found = Collected::default();
    for eval in store.evals_by_create() {
        if !without.is_empty() && without.contains(&(eval.namespace.as_str(), eval.job_id.as_str())) {
            continue;
        }
        let age = thresholds.of_eval(&eval.r#type);
        let mut take = Take { now, into: &mut found };
        let verdict = rules::eval(store, eval, age, false, Looking::For(now), &mut take);
        if is_due(&verdict, now) {
            found.evals.push(eval.id.to_string());
        }
    }
    found
}

/// The jobs to delete, with what goes with them (`docs/spec/garbage-collection.md §4.2`).
pub fn jobs<'a>(store: &'a StateStore, thresholds: &Thresholds, now: i64) -> CollectedJobs<'a> {
    let mut found = CollectedJobs::default();
    for entry in store.state().jobs() {
        let (evals, allocs) = (found.rest.evals.len(), found.rest.allocs.len());
        let mut take = Take { now, into: &mut found.rest };
        let verdict = rules::job(store, entry, thresholds.job, Looking::For(now), &mut take);
        if !is_due(&verdict, now) {
            found.rest.evals.truncate(evals);
            found.rest.allocs.truncate(allocs);
            continue;
        }
        let job = &*entry.current;
        let all = store.state().allocs_of_job(&job.namespace, &job.id).len();
        found.other_allocs += all.saturating_sub(found.rest.allocs.len() - allocs);
        found.deployments += store.state().deployments_of_job(&job.namespace, &job.id).len();
        found.jobs.push(job);
    }
    found
}

/// The deployments to delete (`docs/spec/garbage-collection.md §5`), without those of jobs that the same run has
/// deleted.
pub fn deployments(store: &StateStore, thresholds: &Thresholds, now: i64, without: &JobKeys) -> Vec<String> {
    let over = |d: &&std::sync::Arc<Deployment>| {
        !without.contains(&(d.namespace.as_str(), d.job_id.as_str()))
            && is_due(&rules::deployment(store, d, thresholds.deployment, Looking::For(now)), now)
    };
    store.deployments_by_create().filter(over).map(|d| d.id.clone()).collect()
}

/// The nodes to delete (`docs/spec/garbage-collection.md §6.1`).
pub fn nodes(store: &StateStore, thresholds: &Thresholds, now: i64) -> Vec<String> {
    let over =
        |n: &&std::sync::Arc<encamp_state::NodeEntry>| is_due(&rules::node(n, thresholds.node, Looking::For(now)), now);
    store.state().nodes().filter(over).map(|n| n.node.id.clone()).collect()
}

/// The CSI plugins to delete (`docs/spec/garbage-collection.md §7`).
pub fn csi_plugins(store: &StateStore, thresholds: &Thresholds, now: i64) -> Vec<String> {
    let over = |p: &&std::sync::Arc<CsiPlugin>| is_due(&rules::csi_plugin(p, thresholds.csi_plugin), now);
    store.csi_plugins().filter(over).map(|p| p.id.clone()).collect()
}

/// The CSI volumes whose claims are to be released, by namespace and ID (`docs/spec/garbage-collection.md §8`).
pub fn csi_claims(store: &StateStore, thresholds: &Thresholds, now: i64) -> Vec<(String, String)> {
    let over = |v: &&std::sync::Arc<CsiVolume>| {
        is_due(&rules::csi_claims(store, v, thresholds.csi_claim, Looking::For(now)), now)
    };
    store.state().csi_volumes().filter(over).map(|v| (v.namespace.clone(), v.id.clone())).collect()
}

/// The most tokens of one run.
pub(super) const TOKENS: usize = 4096;

/// The global or local tokens to delete (`docs/spec/garbage-collection.md §10.1`).
pub fn tokens(store: &StateStore, thresholds: &Thresholds, now: i64, global: bool) -> Vec<String> {
    if !thresholds.acl || global && !thresholds.authoritative {
        return Vec::new();
    }
    let expired = store.acl_tokens_by_expiry(global).take_while(|t| crate::acl::is_expired(t, now));
    let old = expired.filter(|t| is_due(&rules::token(t, thresholds.token), now));
    old.take(TOKENS).map(|t| t.accessor_id.clone()).collect()
}

/// How many one-time tokens have expired; none are deleted without access control.
pub fn one_time_tokens(store: &StateStore, thresholds: &Thresholds, now: i64) -> usize {
    if !thresholds.acl {
        return 0;
    }
    store.one_time_tokens().filter(|t| is_due(&rules::one_time_token(t), now)).count()
}

/// The root keys to delete (`docs/spec/garbage-collection.md §11.2` step 3).
pub fn keys(store: &StateStore, thresholds: &Thresholds, now: i64) -> Vec<String> {
    let over =
        |k: &&std::sync::Arc<WrappedRootKey>| is_due(&rules::key(store, k, thresholds.key, Looking::For(now)), now);
    store.root_keys().filter(over).map(|k| k.meta.key_id.clone()).collect()
}

/// Splits a removal into log entries of `most` IDs: allocations first; evaluations only after all their allocations
/// (`docs/spec/garbage-collection.md §3.4`).
pub fn batches(collected: Collected, most: usize) -> Vec<Collected> {
    let Collected { evals, allocs } = collected;
    let (mut evals, mut allocs) = (evals.into_iter().peekable(), allocs.into_iter().peekable());
    let mut out = Vec::new();
    while evals.peek().is_some() || allocs.peek().is_some() {
        let first: Vec<String> = allocs.by_ref().take(most).collect();
        let room = if allocs.peek().is_some() { 0 } else { most - first.len() };
        out.push(Collected { evals: evals.by_ref().take(room).collect(), allocs: first });
    }
    out
}
