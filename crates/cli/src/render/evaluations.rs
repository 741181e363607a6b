//! Tables of evaluations (`docs/spec/cli.md §8.3`, `§11.1`).

use std::cmp::Reverse;

use super::table::{Form, table};
use super::values;
use encamp_model::{EvalStatus, Evaluation};

/// Sorts evaluations as they are listed: the newest first.
pub fn sort(all: &mut [Evaluation]) {
    all.sort_by(|a, b| (Reverse(a.create_index), &a.id).cmp(&(Reverse(b.create_index), &b.id)));
}

/// Whether groups have unplaced allocations, as tables show it.
pub fn placement_failures(e: &Evaluation) -> String {
    if e.status == EvalStatus::Blocked {
        "N/A - In Progress".into()
    } else {
        (!e.failed_tg_allocs.is_empty()).to_string()
    }
}

/// The table of these evaluations, in their order.
pub fn listed(all: &[Evaluation], verbose: bool) -> String {
    let mut lines = vec!["ID|Priority|Triggered By|Job ID|Namespace|Node ID|Status|Placement Failures".to_string()];
    lines.extend(all.iter().map(|e| {
        let (id, node) = (values::id(&e.id, verbose), values::id(&e.node_id, verbose));
        let failures = placement_failures(e);
        let (by, job, namespace) = (&e.triggered_by, &e.job_id, &e.namespace);
        format!("{id}|{}|{by}|{job}|{namespace}|{node}|{}|{failures}", e.priority, e.status)
    }));
    table(&lines, Form::List)
}

/// The same for the evaluations of one job.
pub fn listed_below_job(all: &[Evaluation], verbose: bool) -> String {
    let mut lines = vec!["ID|Priority|Triggered By|Status|Placement Failures".to_string()];
    lines.extend(all.iter().map(|e| {
        let (id, failures) = (values::id(&e.id, verbose), placement_failures(e));
        format!("{id}|{}|{}|{}|{failures}", e.priority, e.triggered_by, e.status)
    }));
    table(&lines, Form::List)
}
