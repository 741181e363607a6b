//! Annotates a diff with the scheduler's counts (`docs/spec/jobspec.md §18`).

use std::collections::BTreeMap;

use encamp_model::{DesiredUpdates, DiffType, FieldDiff, JobDiff, ObjectDiff, PlanAnnotations, TaskDiff};

const CREATE: &str = "forces create";
const DESTROY: &str = "forces destroy";
const IN_PLACE: &str = "forces in-place update";
const DESTRUCTIVE: &str = "forces create/destroy update";

/// Objects of a task whose change does not restart it.
const IN_PLACE_OBJECTS: &[&str] = &["Service", "Constraint", "Affinity", "Spread", "LogConfig"];

/// Adds the counts per group, and per field and task what its change leads to, to a contextual diff.
pub fn annotate(diff: &mut JobDiff, annotations: &PlanAnnotations) {
    for group in &mut diff.task_groups {
        group.updates = annotations.desired_tg_updates.get(&group.name).map(updates);
        group.fields.iter_mut().filter(|f| f.name == "Count").for_each(annotate_count);
        let group_type = group.r#type.clone();
        group.tasks.iter_mut().for_each(|task| annotate_task(task, &group_type));
    }
}

/// The counters that are not zero, by the words the plan shows.
fn updates(u: &DesiredUpdates) -> BTreeMap<String, u64> {
    [
        ("ignore", u.ignore),
        ("create", u.place),
        ("migrate", u.migrate),
        ("destroy", u.stop),
        ("canary", u.canary),
        ("in-place update", u.in_place_update),
        ("create/destroy update", u.destructive_update),
    ]
    .into_iter()
    .filter(|(_, n)| *n > 0)
    .map(|(name, n)| (name.to_string(), n))
    .collect()
}

fn annotate_count(field: &mut FieldDiff) {
    let number = |text: &str| text.parse::<i64>().unwrap_or(0);
    match number(&field.old).cmp(&number(&field.new)) {
        std::cmp::Ordering::Less => field.annotations.push(CREATE.into()),
        std::cmp::Ordering::Greater => field.annotations.push(DESTROY.into()),
        std::cmp::Ordering::Equal => {}
    }
}

fn annotate_task(task: &mut TaskDiff, group_type: &DiffType) {
    if task.r#type == DiffType::None {
        return;
    }
    let annotation = match (group_type, &task.r#type) {
        (DiffType::Added | DiffType::Deleted, DiffType::Added) => CREATE,
        (DiffType::Added | DiffType::Deleted, DiffType::Deleted) => DESTROY,
        _ if is_destructive(task) => DESTRUCTIVE,
        _ => IN_PLACE,
    };
    task.annotations.push(annotation.into());
}

/// Whether an annotated diff says that the task's allocations are replaced, now or later in a rolling update.
pub fn forces_replacement(task: &TaskDiff) -> bool {
    task.annotations.iter().any(|annotation| annotation == DESTRUCTIVE)
}

fn is_destructive(task: &TaskDiff) -> bool {
    let restarts = |o: &ObjectDiff| {
        !IN_PLACE_OBJECTS.contains(&o.name.as_str())
            || (o.name == "LogConfig" && o.fields.iter().any(|f| f.name == "Disabled"))
    };
    task.fields.iter().any(|f| f.name != "KillTimeout") || task.objects.iter().any(restarts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_model::TaskGroupDiff;

    #[test]
    fn only_non_zero_counters_of_reported_groups_show() {
        let mut diff = JobDiff {
            task_groups: ["a", "b", "c"]
                .map(|name| TaskGroupDiff { name: name.into(), ..TaskGroupDiff::default() })
                .into(),
            ..JobDiff::default()
        };
        let counts = DesiredUpdates { ignore: 2, stop: 1, preemptions: 4, ..DesiredUpdates::default() };
        let desired_tg_updates = [("a".to_string(), counts), ("b".to_string(), DesiredUpdates::default())].into();
        annotate(&mut diff, &PlanAnnotations { desired_tg_updates, ..PlanAnnotations::default() });
        let got: Vec<_> = diff.task_groups.into_iter().map(|g| g.updates).collect();
        assert_eq!(
            got,
            vec![Some([("destroy".to_string(), 1), ("ignore".to_string(), 2)].into()), Some(BTreeMap::new()), None]
        );
    }
}
