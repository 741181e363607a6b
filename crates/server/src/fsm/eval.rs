//! Writing and removing evaluations (`docs/spec/server.md §3.4`, `docs/spec/garbage-collection.md §3.5`).

use std::collections::BTreeSet;
use std::sync::Arc;

use super::eval_times::modify_time;
use super::txn::Txn;
use super::{status, summary};
use encamp_model::*;
use encamp_ops::{EvalIds, Refusal};

/// The description of evaluations that were superseded by newer ones of their jobs.
const SUPERSEDED: &str = "canceled after more recent eval was processed";

/// Writes evaluations and updates the statuses of their jobs.
pub(crate) fn update(txn: &mut Txn, evals: &[Evaluation]) -> Result<(), Refusal> {
    write(txn, evals);
    let jobs: BTreeSet<(&str, &str)> = evals.iter().map(|e| (e.namespace.as_str(), e.job_id.as_str())).collect();
    for (namespace, job) in jobs {
        status::refresh(txn, namespace, job, None, false);
    }
    Ok(())
}

/// Cancels evaluations that were superseded by newer ones of their jobs, and updates the statuses of the jobs.
pub(crate) fn cancel(txn: &mut Txn, ids: &EvalIds, now: i64) -> Result<(), Refusal> {
    let mut jobs = BTreeSet::new();
    // Those of a job mostly follow each other.
    let mut last: Option<JobKey> = None;
    ids.for_each(|id| {
        let Some(stored) = txn.store.eval(id).filter(|e| !e.terminal()) else { return };
        let mut eval = Evaluation::clone(stored);
        eval.status = EvalStatus::Canceled;
        eval.status_description = SUPERSEDED.into();
        eval.modify_time = modify_time(&eval, now);
        if last.as_ref().is_none_or(|job| job.namespace != eval.namespace || job.id != eval.job_id) {
            jobs.extend(last.replace(eval.job_key()));
        }
        put(txn, eval);
    });
    jobs.extend(last);
    for job in jobs {
        status::refresh(txn, &job.namespace, &job.id, None, false);
    }
    Ok(())
}

/// Writes evaluations.
pub(crate) fn write(txn: &mut Txn, evals: &[Evaluation]) {
    for eval in evals {
        let stored = txn.store.eval(&eval.id).map(|e| e.create_index);
        let mut eval = eval.clone();
        eval.create_index = stored.unwrap_or(txn.index);
        put(txn, eval);
    }
}

/// Writes an evaluation with the index of the transaction.
fn put(txn: &mut Txn, mut eval: Evaluation) {
    eval.modify_index = txn.index;
    summary::queued(txn, &eval);
    if eval.status == EvalStatus::Complete && eval.failed_tg_allocs.is_empty() {
        cancel_blocked(txn, &eval);
    }
    txn.put_eval(Arc::new(eval));
}

/// Cancels the blocked evaluations of a job after a successful one.
fn cancel_blocked(txn: &mut Txn, done: &Evaluation) {
    let of_job = txn.store.blocked_evals_of_job(&done.namespace, &done.job_id);
    let blocked: Vec<Arc<Evaluation>> = of_job.filter(|e| e.id != done.id).cloned().collect();
    for eval in blocked {
        let mut eval = Evaluation::clone(&eval);
        eval.status = EvalStatus::Canceled;
        eval.status_description = format!("evaluation {:?} successful", done.id).into();
        eval.modify_index = txn.index;
        eval.modify_time = done.modify_time;
        txn.put_eval(Arc::new(eval));
    }
}

/// Removes evaluations and allocations. IDs that do not exist are ignored.
pub(crate) fn delete(txn: &mut Txn, evals: &[String], allocs: &[String]) -> Result<(), Refusal> {
    let mut jobs = BTreeSet::new();
    for id in evals {
        if let Some(old) = txn.store.remove_eval(id) {
            jobs.insert(old.job_key());
            txn.touch(encamp_state::Table::Evals);
            txn.changes.push(super::Change::EvalGone(old));
        }
    }
    txn.remove_allocs(allocs.iter().map(String::as_str));
    for job in jobs {
        status::refresh(txn, &job.namespace, &job.id, None, true);
    }
    Ok(())
}
