//! The edits of a job file that a change consists of.

use encamp_jobspec::edit::{FileEdit, NewValue, Step};

use super::edit::{Edit, Holder};

/// The edits of the job file for a change; none for a change of the cluster.
pub fn changes(edit: &Edit) -> Vec<FileEdit> {
    let set = |at: Vec<Step>, name, value| vec![FileEdit::Set { at, name, value: NewValue::Number(value) }];
    match edit {
        Edit::Task { group, task, amount, new, .. } => {
            set(path(&Holder::task(group, task), [Step::Nth("resources", 0)]), amount.name(), *new)
        }
        Edit::Reserve { group, task, old, new } => {
            let at = || path(&Holder::task(group, task), [Step::Nth("resources", 0)]);
            [set(at(), "memory", *new), set(at(), "memory_max", *old)].concat()
        }
        Edit::Device { group, task, number, new, .. } => {
            let inner = [Step::Nth("resources", 0), Step::Nth("device", *number)];
            set(path(&Holder::task(group, task), inner), "count", *new)
        }
        Edit::Disk { group, new, .. } => {
            set(path(&Holder::group(group), [Step::Nth("ephemeral_disk", 0)]), "size", *new)
        }
        Edit::Count { group, new, .. } => set(path(&Holder::group(group), []), "count", *new),
        Edit::Port { holder, network, label, .. } => {
            vec![FileEdit::Unset { at: port(holder, *network, label), name: "static" }]
        }
        Edit::DropPort { holder, network, label } => vec![FileEdit::Remove { at: port(holder, *network, label) }],
        Edit::DropConstraint { holder, number, .. } => {
            vec![FileEdit::Remove { at: path(holder, [Step::Nth("constraint", *number)]) }]
        }
        Edit::ConstraintValue { holder, number, new, .. } => {
            let at = path(holder, [Step::Nth("constraint", *number)]);
            vec![FileEdit::Set { at, name: "value", value: NewValue::Text(new.clone()) }]
        }
        Edit::Datacenter { new, .. } => {
            vec![FileEdit::Append { at: Vec::new(), name: "datacenters", item: new.clone() }]
        }
        Edit::Pool { new, .. } => {
            vec![FileEdit::Set { at: Vec::new(), name: "node_pool", value: NewValue::Text(new.clone()) }]
        }
        Edit::Canaries { group, in_job, new, .. } => set(update(group, *in_job), "canary", *new),
        Edit::Parallel { group, in_job, new, .. } => set(update(group, *in_job), "max_parallel", *new),
        Edit::Priority { new, .. } => set(Vec::new(), "priority", *new),
        Edit::Preemption { .. } | Edit::AddNodes { .. } | Edit::Wait { .. } | Edit::Moves { .. } => Vec::new(),
    }
}

fn update(group: &str, in_job: bool) -> Vec<Step> {
    let holder = if in_job { Holder::job() } else { Holder::group(group) };
    path(&holder, [Step::Nth("update", 0)])
}

fn port(holder: &Holder, network: usize, label: &str) -> Vec<Step> {
    let of_task = holder.task.is_some().then_some(Step::Nth("resources", 0));
    let inner = [Step::Nth("network", network), Step::Labelled("port", label.into())];
    path(holder, of_task.into_iter().chain(inner))
}

/// The path of a holder, and on.
fn path(holder: &Holder, inner: impl IntoIterator<Item = Step>) -> Vec<Step> {
    let group = holder.group.iter().map(|name| Step::Labelled("group", name.clone()));
    let task = holder.task.iter().map(|name| Step::Labelled("task", name.clone()));
    group.chain(task).chain(inner).collect()
}
