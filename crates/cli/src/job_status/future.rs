//! Future rescheduling attempts of failed allocations.

use std::collections::BTreeMap;

use crate::connection::Connection;
use crate::context::clock;
use crate::render::table::{Form, table};
use crate::render::values;
use encamp_model::{AllocListStub, api, format_duration};

/// The table of future rescheduling attempts by task group; empty if there are none.
pub(super) fn attempts(connection: &Connection, job: &api::Job, allocs: &[AllocListStub], verbose: bool) -> String {
    let mut newest: BTreeMap<&str, &AllocListStub> = BTreeMap::new();
    for a in allocs {
        let known = newest.entry(&a.task_group).or_insert(a);
        if (a.modify_time, a.modify_index) > (known.modify_time, known.modify_index) {
            *known = a;
        }
    }
    let now = clock();
    let columns =
        if verbose { "Task Group|Reschedule Policy|Eval ID|Eval Time" } else { "Task Group|Eval ID|Eval Time" };
    let mut lines = vec![columns.to_string()];
    for (group, a) in newest.into_iter().filter(|(_, a)| !a.followup_eval_id.is_empty()) {
        // An evaluation that no longer exists is skipped.
        let Ok((eval, _)) = connection.wait(connection.client.evaluation_alone(&a.followup_eval_id)) else { continue };
        let Some(due) = eval.wait_until.unix_nanos().filter(|due| *due > now) else { continue };
        let policy = if verbose { format!("{}|", policy(job, group)) } else { String::new() };
        lines.push(format!("{group}|{policy}{}|{}", values::id(&eval.id, verbose), values::age(due, now)));
    }
    if lines.len() > 1 { table(&lines, Form::List) } else { String::new() }
}

/// Describes the reschedule policy of a task group.
fn policy(job: &api::Job, group: &str) -> String {
    let found = job.task_groups.iter().flatten().find(|g| g.name.as_deref() == Some(group));
    let Some(policy) = found.and_then(|g| g.reschedule_policy.as_ref()) else { return String::new() };
    let function = policy.delay_function.as_deref().unwrap_or_default();
    let longest = format_duration(policy.max_delay.unwrap_or(0));
    if policy.unlimited.unwrap_or(false) {
        return format!("unlimited with {function} delay, max_delay = {longest}");
    }
    let (attempts, interval) = (policy.attempts.unwrap_or(0), format_duration(policy.interval.unwrap_or(0)));
    format!("{attempts} in {interval} with {function} delay, max_delay = {longest}")
}
