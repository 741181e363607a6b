//! Writing and removing evaluations (`docs/spec/server.md §3.4`, `docs/spec/garbage-collection.md §3.5`).

use std::collections::BTreeSet;
use std::sync::Arc;

use super::txn::Txn;
use super::{status, summary};
use encamp_model::*;
use encamp_ops::Refusal;

/// Writes evaluations and updates the statuses of their jobs.
pub(crate) fn update(txn: &mut Txn, evals: &[Evaluation]) -> Result<(), Refusal> {
    write(txn, evals);
    let jobs: BTreeSet<(&str, &str)> = evals.iter().map(|e| (e.namespace.as_str(), e.job_id.as_str())).collect();
    for (namespace, job) in jobs {
        status::refresh(txn, namespace, job, None, false);
    }
    Ok(())
}

/// Writes evaluations.
pub(crate) fn write(txn: &mut Txn, evals: &[Evaluation]) {
    for eval in evals {
        let stored = txn.store.eval(&eval.id).map(|e| e.create_index);
        let mut eval = eval.clone();
        eval.create_index = stored.unwrap_or(txn.index);
        eval.modify_index = txn.index;
        summary::queued(txn, &eval);
        if eval.status == EvalStatus::Complete && eval.failed_tg_allocs.is_empty() {
            cancel_blocked(txn, &eval);
        }
        txn.put_eval(Arc::new(eval));
    }
}

/// Cancels the blocked evaluations of a job after a successful one.
fn cancel_blocked(txn: &mut Txn, done: &Evaluation) {
    let of_job = txn.store.evals_of_job(&done.namespace, &done.job_id);
    let blocked: Vec<Arc<Evaluation>> =
        of_job.filter(|e| e.status == EvalStatus::Blocked && e.id != done.id).cloned().collect();
    for eval in blocked {
        let mut eval = Evaluation::clone(&eval);
        eval.status = EvalStatus::Canceled;
        eval.status_description = format!("evaluation {:?} successful", done.id);
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
