//! Eligibility for garbage collection (`docs/spec/garbage-collection.md §3-6`). No I/O: times are parameters in Unix
//! nanoseconds.

use encamp_model::*;
use encamp_state::StateStore;

/// Whether an allocation can be collected (`docs/spec/garbage-collection.md §3.3`). A time equal to the cutoff is old
/// enough.
pub(crate) fn alloc_eligible(a: &Allocation, job: Option<&Job>, now: i64, cutoff: i64) -> bool {
    if !a.terminal() || a.modify_time > cutoff || a.client_status == ClientStatus::Running {
        return false;
    }
    let Some(job) = job.filter(|j| !j.stop && j.status != JobStatus::Dead) else { return true };
    if a.desired_status == DesiredStatus::Stop || a.client_status != ClientStatus::Failed {
        return true;
    }
    let policy = job.lookup_group(&a.task_group).and_then(|g| g.reschedule_policy.as_ref());
    let Some(policy) = policy.filter(|p| p.unlimited || p.attempts != 0) else { return true };
    if !a.next_allocation.is_empty() {
        return true;
    }
    if policy.unlimited {
        return false;
    }
    let last = a.reschedule_tracker.as_ref().and_then(|t| t.events.as_ref()?.last());
    last.is_some_and(|e| now.saturating_sub(e.reschedule_time) > policy.interval)
}

/// Whether an evaluation can be collected, and which of its allocations; the latter can be collected even if the
/// evaluation cannot (`docs/spec/garbage-collection.md §3.2`).
pub(crate) fn eval_eligible(
    store: &StateStore,
    eval: &Evaluation,
    now: i64,
    cutoff: i64,
    allow_batch: bool,
) -> (bool, Vec<String>) {
    if !eval.terminal() || eval.modify_time > cutoff {
        return (false, Vec::new());
    }
    let job = store.state().job(&eval.namespace, &eval.job_id);
    let allocs: Vec<_> = store.allocs_of_eval(&eval.id).collect();
    let collect = job.is_none_or(|j| j.status == JobStatus::Dead && (j.stop || allow_batch));
    let eligible = |a: &Allocation| match job {
        Some(job) if eval.r#type == JobType::Batch && !collect => {
            a.create_index < job.job_modify_index && a.modify_time < cutoff && a.terminal()
        }
        _ => alloc_eligible(a, job.map(|j| &**j), now, cutoff),
    };
    let gone: Vec<String> = allocs.iter().filter(|a| eligible(&a.alloc)).map(|a| a.alloc.id.clone()).collect();
    (gone.len() == allocs.len(), gone)
}

/// Evaluations and allocations to remove.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Evaluation IDs.
    pub evals: Vec<String>,
    /// Allocation IDs.
    pub allocs: Vec<String>,
}

impl Collected {
    /// Whether there is nothing to collect.
    pub fn is_empty(&self) -> bool {
        self.evals.is_empty() && self.allocs.is_empty()
    }
}

/// Collects old evaluations (`docs/spec/garbage-collection.md §3.1`).
pub fn evals(store: &StateStore, now: i64, threshold: i64, batch_threshold: i64) -> Collected {
    let mut out = Collected::default();
    for eval in store.evals_by_create() {
        let threshold = if eval.r#type == JobType::Batch { batch_threshold } else { threshold };
        let (whole, allocs) = eval_eligible(store, eval, now, now.saturating_sub(threshold), false);
        if whole {
            out.evals.push(eval.id.clone());
        }
        out.allocs.extend(allocs);
    }
    out
}

/// Whether a job can be collected in its current state (`docs/spec/garbage-collection.md §4.1`).
fn candidate(job: &Job) -> bool {
    if job.version_tag.is_some() {
        return false;
    }
    if job.is_template() {
        return job.stop;
    }
    job.status == JobStatus::Dead && (job.stop || matches!(job.r#type, JobType::Batch | JobType::Sysbatch))
}

/// Collects finished jobs, by namespace and ID, with their evaluations and allocations
/// (`docs/spec/garbage-collection.md §4.2`).
pub fn jobs(store: &StateStore, now: i64, threshold: i64) -> (Vec<(String, String)>, Collected) {
    let cutoff = now.saturating_sub(threshold);
    let (mut jobs, mut rest) = (Vec::new(), Collected::default());
    for entry in store.state().jobs() {
        let job = &entry.current;
        if !candidate(job) || job.submit_time > cutoff {
            continue;
        }
        let mut of_job = Collected::default();
        let mut whole = true;
        for eval in store.evals_of_job(&job.namespace, &job.id) {
            let (gone, allocs) = eval_eligible(store, eval, now, cutoff, true);
            whole &= gone;
            of_job.evals.push(eval.id.clone());
            of_job.allocs.extend(allocs);
        }
        if whole && entry.versions.values().all(|v| v.version_tag.is_none()) {
            jobs.push((job.namespace.clone(), job.id.clone()));
            rest.evals.extend(of_job.evals);
            rest.allocs.extend(of_job.allocs);
        }
    }
    (jobs, rest)
}

/// Collects finished deployments whose allocations are terminal (`docs/spec/garbage-collection.md §5`).
pub fn deployments(store: &StateStore, now: i64, threshold: i64) -> Vec<String> {
    let cutoff = now.saturating_sub(threshold);
    let over = |d: &&std::sync::Arc<Deployment>| {
        !d.active() && d.modify_time <= cutoff && store.allocs_of_deployment(&d.id).all(|a| a.phase.terminal())
    };
    store.deployments_by_create().filter(over).map(|d| d.id.clone()).collect()
}

/// Collects nodes that have been down for long enough and have no allocations (`docs/spec/garbage-collection.md §6.1`).
pub fn nodes(store: &StateStore, now: i64, threshold: i64) -> Vec<String> {
    let cutoff = now.saturating_sub(threshold);
    let over = |n: &&std::sync::Arc<encamp_state::NodeEntry>| {
        n.node.status == NodeStatus::Down
            && n.node.status_updated_at.saturating_mul(SECOND) <= cutoff
            && n.allocs.iter().all(|a| a.phase.terminal())
    };
    store.state().nodes().filter(over).map(|n| n.node.id.clone()).collect()
}

/// The most tokens of one log entry.
const TOKENS: usize = 4096;

/// Collects expired tokens that were created long enough ago (`docs/spec/garbage-collection.md §10.1`).
pub fn tokens(store: &StateStore, now: i64, threshold: i64, global: bool) -> Vec<String> {
    let cutoff = now.saturating_sub(threshold);
    let expired = store.acl_tokens_by_expiry(global).take_while(|t| crate::acl::is_expired(t, now));
    let old = expired.filter(|t| t.create_time.unix_nanos().is_none_or(|at| at <= cutoff));
    old.take(TOKENS).map(|t| t.accessor_id.clone()).collect()
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
