//! The selection of the allocations to restart.

use std::cmp::Reverse;

use super::Plan;
use crate::connection::Connection;
use crate::context::{Context, clock};
use crate::render::values;
use encamp_model::{AllocListStub, ClientStatus, DesiredStatus, quoted};

/// The running allocations of the selected groups and tasks, newest first. With `verbose`, prints why each other
/// allocation is skipped.
pub(super) fn wanted(
    plan: &Plan,
    mut all: Vec<AllocListStub>,
    verbose: bool,
    connection: &Connection,
    context: &mut Context<'_, '_>,
) -> Vec<AllocListStub> {
    all.sort_by(|a, b| (Reverse(a.create_index), &a.id).cmp(&(Reverse(b.create_index), &b.id)));
    let mut wanted = Vec::new();
    for a in all {
        match left_out(plan, &a) {
            None => wanted.push(a),
            Some(why) if verbose => {
                let now = values::time(clock(), &connection.zone);
                let line = format!("    {now}: Skipping allocation {} because {why}", quoted(&a.id));
                context.ui.output_markup(&format!("[dark_gray]{line}[reset]"));
            }
            Some(_) => {}
        }
    }
    wanted
}

/// Why an allocation is skipped.
fn left_out(plan: &Plan, a: &AllocListStub) -> Option<String> {
    if a.client_status != ClientStatus::Running || a.desired_status != DesiredStatus::Run {
        let (client, desired) = (quoted(a.client_status.as_str()), quoted(a.desired_status.as_str()));
        // The two statuses are swapped: that is how the output is defined.
        return Some(format!("desired status is {client} and client status is {desired}"));
    }
    if !a.next_allocation.is_empty() {
        return Some(format!("it has already been replaced by {}", quoted(&a.next_allocation)));
    }
    if !plan.groups.is_empty() && !plan.groups.contains(&a.task_group) {
        return Some("it doesn't have any of requested groups".into());
    }
    if !plan.tasks.is_empty() && !a.task_states.keys().any(|task| plan.tasks.contains(&task)) {
        return Some("it doesn't have any of requested tasks".into());
    }
    None
}
