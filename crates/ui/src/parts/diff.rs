//! The changes between two versions of a job.

use encamp_model::{DiffType, FieldDiff, JobDiff, ObjectDiff};
use maud::{Markup, html};

/// All changes.
pub(crate) fn job(diff: &JobDiff) -> Markup {
    html! {
        ul.diff {
            (fields(&diff.fields, &diff.objects))
            @for group in &diff.task_groups {
                @if group.r#type != DiffType::None {
                    (block(&group.r#type, "group", &group.name, &html! {
                        (effects(&group.updates.iter().flatten().map(|(what, n)| format!("{n} {what}")).collect::<Vec<_>>()))
                        (fields(&group.fields, &group.objects))
                        @for task in &group.tasks {
                            @if task.r#type != DiffType::None {
                                (block(&task.r#type, "task", &task.name, &html! { (effects(&task.annotations)) (fields(&task.fields, &task.objects)) }))
                            }
                        }
                    }))
                }
            }
        }
    }
}

/// How many fields differ.
pub(crate) fn count(diff: &JobDiff) -> usize {
    fn of(fields: &[FieldDiff], objects: &[ObjectDiff]) -> usize {
        let changed = fields.iter().filter(|f| f.r#type != DiffType::None).count();
        changed + objects.iter().map(|o| of(&o.fields, &o.objects)).sum::<usize>()
    }
    let groups = diff.task_groups.iter().map(|g| {
        let tasks: usize = g.tasks.iter().map(|t| of(&t.fields, &t.objects)).sum();
        of(&g.fields, &g.objects) + tasks
    });
    of(&diff.fields, &diff.objects) + groups.sum::<usize>()
}

fn fields(fields: &[FieldDiff], objects: &[ObjectDiff]) -> Markup {
    html! {
        @for field in fields { @if field.r#type != DiffType::None { (self::field(field)) } }
        @for o in objects {
            @if o.r#type != DiffType::None { (block(&o.r#type, "", &o.name, &self::fields(&o.fields, &o.objects))) }
        }
    }
}

fn block(kind: &DiffType, label: &str, name: &str, inner: &Markup) -> Markup {
    html! { li { (mark(kind)) code { (label) " " (name) } ul { (inner) } } }
}

fn field(field: &FieldDiff) -> Markup {
    html! {
        li {
            (mark(&field.r#type))
            code { (field.name) ": " }
            @if field.r#type != DiffType::Added { del { code { (field.old) } } " " }
            @if field.r#type != DiffType::Deleted { ins { code { (field.new) } } }
            @if !field.annotations.is_empty() { span.muted { " (" (field.annotations.join(", ")) ")" } }
        }
    }
}

fn mark(kind: &DiffType) -> Markup {
    let (class, sign, word) = match kind {
        DiffType::Added => ("added", "+", "added"),
        DiffType::Deleted => ("deleted", "−", "deleted"),
        _ => ("edited", "±", "changed"),
    };
    html! { span class={ "mark " (class) } title=(word) { span aria-hidden="true" { (sign) } span.hidden { (word) } } }
}

/// What the change of a group or a task leads to, where a plan says it.
fn effects(effects: &[String]) -> Markup {
    html! { @if !effects.is_empty() { li { span.muted { "(" (effects.join(", ")) ")" } } } }
}
