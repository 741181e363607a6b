//! Tables of evaluations (`docs/spec/cli.md §8.3`, `§11.1`).

use std::cmp::Reverse;

use super::table::{self, Columns};
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
    let columns: &Columns<'_, Evaluation> = &[
        ("ID", &|e| values::id(&e.id, verbose).into()),
        ("Priority", &|e| e.priority.to_string()),
        ("Triggered By", &|e| e.triggered_by.to_string()),
        ("Job ID", &|e| e.job_id.to_string()),
        ("Namespace", &|e| e.namespace.to_string()),
        ("Node ID", &|e| values::id(&e.node_id, verbose).into()),
        ("Status", &|e| e.status.to_string()),
        ("Placement Failures", &placement_failures),
    ];
    table::columns(all, columns)
}

/// The same for the evaluations of one job.
pub fn listed_below_job(all: &[Evaluation], verbose: bool) -> String {
    let columns: &Columns<'_, Evaluation> = &[
        ("ID", &|e| values::id(&e.id, verbose).into()),
        ("Priority", &|e| e.priority.to_string()),
        ("Triggered By", &|e| e.triggered_by.to_string()),
        ("Status", &|e| e.status.to_string()),
        ("Placement Failures", &placement_failures),
    ];
    table::columns(all, columns)
}
