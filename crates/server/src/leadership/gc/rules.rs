//! Eligibility for garbage collection (`docs/spec/garbage-collection.md §3-8, 10, 11`): one function for each kind of
//! objects, which runs, dry runs and explanations share. No I/O and no clock: see [`Verdict`].

use std::sync::Arc;

use encamp_model::gc::{GcReason, GcRule, GcSetting, GcTimestamp};
use encamp_model::*;
use encamp_state::{JobEntry, NodeEntry, StateStore};

use crate::csi::watcher::releasable;

use super::verdict::{Age, Due, Hold, Looking, Named, Verdict, also};

/// Receives what belongs to an evaluation or a job while its rule is evaluated.
pub trait Sink<'a> {
    /// An allocation of the evaluation.
    fn alloc(&mut self, alloc: &'a Allocation, verdict: Verdict<'a>);

    /// An evaluation of the job.
    fn eval(&mut self, eval: &'a Evaluation);
}

/// Nobody wants to know.
pub struct Ignored;

impl Sink<'_> for Ignored {
    fn alloc(&mut self, _: &Allocation, _: Verdict) {}
    fn eval(&mut self, _: &Evaluation) {}
}

/// An allocation by itself (`docs/spec/garbage-collection.md §3.3`). `job` is the current version of its job.
pub fn alloc<'a>(a: &Allocation, job: Option<&Job>, age: Age) -> Verdict<'a> {
    if !a.terminal() {
        return Err(Hold::new(GcReason::AllocationNotTerminal));
    }
    if a.client_status == ClientStatus::Running {
        return Err(Hold::new(GcReason::StillRunning));
    }
    let due = age.of(GcRule::TerminalAllocation, GcTimestamp::ModifyTime, a.modify_time);
    let Some(job) = job.filter(|j| !j.stop && j.status != JobStatus::Dead) else { return Ok(due) };
    if a.desired_status == DesiredStatus::Stop || a.client_status != ClientStatus::Failed {
        return Ok(due);
    }
    let policy = job.lookup_group(&a.task_group).and_then(|g| g.reschedule_policy.as_ref());
    let Some(policy) = policy.filter(|p| p.unlimited || p.attempts != 0) else { return Ok(due) };
    if !a.next_allocation.is_empty() {
        return Ok(due);
    }
    let last = a.reschedule_tracker.as_ref().and_then(|t| t.events.as_ref()?.last());
    match last {
        Some(event) if !policy.unlimited => {
            let interval = Age { setting: GcSetting::RescheduleInterval, nanos: policy.interval };
            Ok(due.and(interval.of(due.rule, GcTimestamp::RescheduleTime, event.reschedule_time).exceeded()))
        }
        _ => Err(Hold::new(GcReason::Reschedulable)),
    }
}

/// An allocation of a batch job that may have to know that its work is done (`docs/spec/garbage-collection.md §3.2`
/// step 3).
fn batch_alloc<'a>(a: &Allocation, job: &'a Job, age: Age) -> Verdict<'a> {
    if !a.terminal() {
        return Err(Hold::new(GcReason::AllocationNotTerminal));
    }
    if a.create_index >= job.job_modify_index {
        return Err(Hold::by(GcReason::CurrentBatchVersion, Named::job(job)));
    }
    Ok(age.of(GcRule::OldBatchVersion, GcTimestamp::ModifyTime, a.modify_time).exceeded())
}

/// An allocation that belongs to an evaluation of a type. `with_job`: the job is being collected.
pub(super) fn alloc_of<'a>(
    a: &Allocation,
    of: &JobType,
    job: Option<&'a Arc<Job>>,
    age: Age,
    with_job: bool,
) -> Verdict<'a> {
    match job {
        Some(job) if *of == JobType::Batch && !(job.status == JobStatus::Dead && (job.stop || with_job)) => {
            batch_alloc(a, job, age)
        }
        _ => alloc(a, job.map(|j| &**j), age),
    }
}

/// An evaluation (`docs/spec/garbage-collection.md §3.2`). Its allocations, which can be deleted even if the evaluation
/// stays, go to the sink. `with_job`: its job is being collected.
pub fn eval<'a>(
    store: &'a StateStore,
    eval: &'a Evaluation,
    age: Age,
    with_job: bool,
    looking: Looking,
    sink: &mut impl Sink<'a>,
) -> Verdict<'a> {
    let own = if eval.terminal() {
        Ok(age.of(GcRule::EndedEvaluation, GcTimestamp::ModifyTime, eval.modify_time))
    } else {
        Err(Hold::new(GcReason::EvaluationNotEnded))
    };
    if looking.done_with(&own) {
        return own;
    }
    let job = store.state().job(&eval.namespace, &eval.job_id);
    let mut whole = own;
    for entry in store.allocs_of_eval(&eval.id) {
        let a = &*entry.alloc;
        let alone = alloc_of(a, &eval.r#type, job, age, with_job);
        whole = also(whole, alone, Named::alloc(a), GcReason::AllocationOfEvaluation);
        sink.alloc(a, also(alone, own, Named::eval(eval), GcReason::EvaluationOfAllocation));
    }
    whole
}

/// A job without what belongs to it (`docs/spec/garbage-collection.md §4.1, 4.2`).
fn finished<'a>(entry: &'a JobEntry, age: Age) -> Verdict<'a> {
    let job = &*entry.current;
    if let Some(tag) = &job.version_tag {
        return Err(Hold { tag: &tag.name, ..Hold::new(GcReason::CurrentVersionTagged) });
    }
    if job.is_template() {
        if !job.stop {
            return Err(Hold::new(GcReason::JobLaunches));
        }
    } else if job.status != JobStatus::Dead {
        return Err(Hold::new(GcReason::JobNotDead));
    } else if !job.stop && !matches!(job.r#type, JobType::Batch | JobType::Sysbatch) {
        return Err(Hold::new(GcReason::JobNotStopped));
    }
    if let Some(tag) = entry.versions.values().find_map(|v| v.version_tag.as_ref()) {
        return Err(Hold { tag: &tag.name, ..Hold::new(GcReason::VersionTagged) });
    }
    Ok(age.of(GcRule::FinishedJob, GcTimestamp::SubmitTime, job.submit_time))
}

/// A job (`docs/spec/garbage-collection.md §4.2`). Its evaluations and their allocations go to the sink.
pub fn job<'a>(
    store: &'a StateStore,
    entry: &'a JobEntry,
    age: Age,
    looking: Looking,
    sink: &mut impl Sink<'a>,
) -> Verdict<'a> {
    let mut whole = finished(entry, age);
    if looking.done_with(&whole) {
        return whole;
    }
    let job = &*entry.current;
    for e in store.evals_of_job(&job.namespace, &job.id) {
        let verdict = eval(store, e, age, true, looking, sink);
        sink.eval(e);
        whole = also(whole, verdict, Named::eval(e), GcReason::EvaluationOfJob);
        if looking.done_with(&whole) {
            return whole;
        }
    }
    whole
}

/// The verdict of an object that is deleted together with its job (`docs/spec/garbage-collection.md §4.4`).
pub(super) fn with_job<'a>(job: &'a Job, verdict: Verdict<'a>) -> Option<Verdict<'a>> {
    let due = verdict.ok()?;
    Some(Ok(Due { rule: GcRule::WithJob, of: due.of.or(Some(Named::job(job))), ..due }))
}

/// A deployment (`docs/spec/garbage-collection.md §5`).
pub fn deployment<'a>(store: &'a StateStore, d: &'a Deployment, age: Age, looking: Looking) -> Verdict<'a> {
    if d.active() {
        return Err(Hold::new(GcReason::DeploymentActive));
    }
    let due = Ok(age.of(GcRule::EndedDeployment, GcTimestamp::ModifyTime, d.modify_time));
    if looking.done_with(&due) {
        return due;
    }
    match store.allocs_of_deployment(&d.id).find(|a| !a.phase.terminal()) {
        Some(a) => Err(Hold::by(GcReason::AllocationOfDeployment, Named::alloc(&a.alloc))),
        None => due,
    }
}

/// A node (`docs/spec/garbage-collection.md §6.1`).
pub fn node<'a>(entry: &'a NodeEntry, age: Age, looking: Looking) -> Verdict<'a> {
    if entry.node.status != NodeStatus::Down {
        return Err(Hold::new(GcReason::NodeNotDown));
    }
    let since = entry.node.status_updated_at.saturating_mul(SECOND);
    let due = Ok(age.of(GcRule::DownNode, GcTimestamp::StatusUpdatedAt, since));
    if looking.done_with(&due) {
        return due;
    }
    match entry.allocs.iter().find(|a| !a.phase.terminal()) {
        Some(a) => Err(Hold::by(GcReason::AllocationOfNode, Named::alloc(&a.alloc))),
        None => due,
    }
}

/// A CSI plugin (`docs/spec/garbage-collection.md §7`).
pub fn csi_plugin<'a>(p: &CsiPlugin, age: Age) -> Verdict<'a> {
    if !crate::fsm::is_empty_plugin(p) {
        return Err(Hold::new(GcReason::CsiPluginRuns));
    }
    Ok(age.of(GcRule::EmptyCsiPlugin, GcTimestamp::ModifyTime, p.modify_time))
}

/// The claims on a CSI volume (`docs/spec/garbage-collection.md §8`).
pub fn csi_claims<'a>(store: &StateStore, v: &CsiVolume, age: Age, looking: Looking) -> Verdict<'a> {
    let due = Ok(age.of(GcRule::EndedCsiClaims, GcTimestamp::ModifyTime, v.modify_time));
    if looking.done_with(&due) {
        return due;
    }
    if releasable(store, v).is_empty() {
        return Err(Hold::new(GcReason::NoEndedClaims));
    }
    due
}

/// An ACL token (`docs/spec/garbage-collection.md §10.1`).
pub fn token<'a>(t: &AclToken, age: Age) -> Verdict<'a> {
    let Some(expires) = t.expiration_time.and_then(Time::unix_nanos) else {
        return Err(Hold::new(GcReason::NeverExpires));
    };
    let at_once = Age { setting: GcSetting::Expiration, nanos: 0 };
    let expired = at_once.of(GcRule::ExpiredToken, GcTimestamp::ExpirationTime, expires).exceeded();
    let Some(created) = t.create_time.unix_nanos() else { return Ok(expired) };
    Ok(age.of(GcRule::ExpiredToken, GcTimestamp::CreateTime, created).and(expired))
}

/// A one-time token (`docs/spec/garbage-collection.md §10.2`).
pub fn one_time_token<'a>(t: &OneTimeToken) -> Verdict<'a> {
    let at_once = Age { setting: GcSetting::Expiration, nanos: 0 };
    let expires = t.expires_at.unix_nanos().unwrap_or(0);
    Ok(at_once.of(GcRule::ExpiredOneTimeToken, GcTimestamp::ExpirationTime, expires))
}

/// A root key (`docs/spec/garbage-collection.md §11.2` step 3).
pub fn key<'a>(store: &'a StateStore, k: &'a WrappedRootKey, age: Age, looking: Looking) -> Verdict<'a> {
    match k.meta.state {
        RootKeyState::Active => return Err(Hold::new(GcReason::KeyActive)),
        RootKeyState::Prepublished => return Err(Hold::new(GcReason::KeyPrepublished)),
        RootKeyState::Rekeying => return Err(Hold::new(GcReason::KeyRekeying)),
        RootKeyState::Unset | RootKeyState::Other(_) => return Err(Hold::new(GcReason::KeyUnknown)),
        RootKeyState::Inactive | RootKeyState::Deprecated => {}
    }
    let due = Ok(age.of(GcRule::UnusedKey, GcTimestamp::CreateTime, k.meta.create_time));
    if looking.done_with(&due) {
        return due;
    }
    match key_user(store, &k.meta.key_id) {
        Some(held) => Err(held),
        None => due,
    }
}

/// An object that needs a key: one that was encrypted with it or has an identity signed by it.
pub(super) fn key_user<'a>(store: &'a StateStore, id: &str) -> Option<Hold<'a>> {
    // The iterator borrows the ID: the variable is looked up again to outlive it.
    let variable = store.variables_of_key(id).next().map(|v| (v.namespace.clone(), v.path.clone()));
    if let Some(v) = variable.and_then(|(namespace, path)| store.variable(&namespace, &path)) {
        return Some(Hold::by(GcReason::KeyOfVariable, Named::variable(v)));
    }
    let ended = |a: &Allocation| a.client_terminal() && a.server_terminal();
    if let Some(a) = store.state().allocs().find(|a| a.alloc.signing_key_id == id && !ended(&a.alloc)) {
        return Some(Hold::by(GcReason::KeyOfAllocation, Named::alloc(&a.alloc)));
    }
    let node = store.state().nodes().find(|n| n.node.identity_signing_key_id == id)?;
    Some(Hold::by(GcReason::KeyOfNode, Named::node(&node.node)))
}
