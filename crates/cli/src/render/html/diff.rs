//! Job diffs as nested lists (`docs/spec/cli.md §7.3`).

use maud::{Markup, html};

use super::parts::{code, name, rest, value};
use encamp_model::{DiffType, FieldDiff, JobDiff, ObjectDiff, TaskDiff, TaskGroupDiff};

/// The maximum number of entries of a diff.
const MOST_ENTRIES: usize = 2_000;

/// How an entry differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Added,
    Deleted,
    Edited,
    None,
}

impl Change {
    /// The change that a diff names.
    fn of(r#type: &DiffType) -> Change {
        match r#type {
            DiffType::Added => Change::Added,
            DiffType::Deleted => Change::Deleted,
            DiffType::Edited => Change::Edited,
            DiffType::None | DiffType::Unset | DiffType::Other(_) => Change::None,
        }
    }

    /// The mark in front of an entry, with a word for screen readers.
    fn mark(self) -> Markup {
        let (class, mark, word) = match self {
            Change::Added => ("mark added", "+", "added"),
            Change::Deleted => ("mark deleted", "-", "deleted"),
            Change::Edited => ("mark edited", "+/-", "edited"),
            Change::None => return html! { span.mark {} },
        };
        html! { span class=(class) role="img" aria-label=(word) { (mark) } }
    }
}

/// Counts the entries, and leaves out those that are too many.
struct Budget {
    left: usize,
    left_out: usize,
}

impl Budget {
    fn takes(&mut self) -> bool {
        let takes = self.left > 0;
        self.left = self.left.saturating_sub(1);
        self.left_out += usize::from(!takes);
        takes
    }
}

/// The diff of a job. With `verbose`, the contents of added and deleted groups and tasks are open.
pub(super) fn job(diff: &JobDiff, verbose: bool) -> Markup {
    let mut budget = Budget { left: MOST_ENTRIES, left_out: 0 };
    let change = Change::of(&diff.r#type);
    let title = html! { "Job " (code(&diff.id)) };
    let content = html! {
        (fields(&diff.fields, &diff.objects, &mut budget))
        @for g in &diff.task_groups { (group(g, verbose, &mut budget)) }
    };
    // The groups of a new job are what the job consists of.
    let body = html! { ul.diff { (entry(change, &title, &content, true)) } };
    html! { (body) (rest(budget.left_out)) }
}

/// An entry with others inside. Closed ones can be opened.
fn entry(change: Change, title: &Markup, content: &Markup, open: bool) -> Markup {
    html! {
        li {
            @if content.0.is_empty() { (change.mark()) (title) }
            @else if open { (change.mark()) (title) ul { (content) } }
            @else { details { summary { (change.mark()) (title) } ul { (content) } } }
        }
    }
}

fn group(diff: &TaskGroupDiff, verbose: bool, budget: &mut Budget) -> Markup {
    if !budget.takes() {
        return html! {};
    }
    let updates: Vec<String> = diff.updates.iter().flatten().map(|(kind, n)| format!("{n} {kind}")).collect();
    let title = html! {
        "Group " (code(&diff.name)) @if !updates.is_empty() { span.muted { " (" (updates.join(", ")) ")" } }
    };
    let content = html! {
        (fields(&diff.fields, &diff.objects, budget))
        @for t in &diff.tasks { (task(t, verbose, budget)) }
    };
    let change = Change::of(&diff.r#type);
    entry(change, &title, &content, verbose || matches!(change, Change::Edited | Change::None))
}

fn task(diff: &TaskDiff, verbose: bool, budget: &mut Budget) -> Markup {
    if !budget.takes() {
        return html! {};
    }
    let title = html! { "Task " (code(&diff.name)) (annotations(&diff.annotations)) };
    let content = fields(&diff.fields, &diff.objects, budget);
    let change = Change::of(&diff.r#type);
    entry(change, &title, &content, verbose || matches!(change, Change::Edited | Change::None))
}

/// Nesting is bounded by the diff types: objects nest as deep as job specifications do.
fn fields(fields: &[FieldDiff], objects: &[ObjectDiff], budget: &mut Budget) -> Markup {
    html! {
        @for f in fields { @if budget.takes() { (field(f)) } }
        @for o in objects {
            @if budget.takes() {
                @let content = self::fields(&o.fields, &o.objects, budget);
                (entry(Change::of(&o.r#type), &html! { (name(&o.name)) }, &content, true))
            }
        }
    }
}

fn field(diff: &FieldDiff) -> Markup {
    let change = Change::of(&diff.r#type);
    let new = || html! { ins { code { (value(&diff.new)) } } };
    let old = || html! { del { code { (value(&diff.old)) } } };
    html! {
        li {
            (change.mark()) (name(&diff.name)) ": "
            @match change {
                Change::Added => { (new()) }
                Change::Deleted => { (old()) }
                Change::Edited => { (old()) " → " (new()) }
                Change::None => { code { (value(&diff.new)) } }
            }
            (annotations(&diff.annotations))
        }
    }
}

fn annotations(list: &[String]) -> Markup {
    html! { @if !list.is_empty() { span.muted { " (" (list.join(", ")) ")" } } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_diffs_are_cut_off() {
        let field = |n: usize| FieldDiff {
            r#type: DiffType::Edited,
            name: format!("Meta[<{n}>]"),
            old: "<i>".into(),
            new: "x".repeat(1 << 20),
            annotations: vec!["forces <b>".into()],
        };
        let fields: Vec<FieldDiff> = (0..MOST_ENTRIES + 7).map(field).collect();
        let diff = JobDiff { r#type: DiffType::Edited, id: "<job>".into(), fields, ..JobDiff::default() };
        let text = job(&diff, false).into_string();
        assert!(text.contains("Job <code>&lt;job&gt;</code>"), "{}", &text[..200]);
        assert!(text.contains("and 7 more, which this report does not list"));
        assert!(!text.contains("<i>") && !text.contains("<b>"));
        assert!(text.len() < MOST_ENTRIES * 2_500, "{} bytes", text.len());
    }

    #[test]
    fn new_tasks_are_closed() {
        let fields = vec![FieldDiff { r#type: DiffType::Added, name: "Driver".into(), ..FieldDiff::default() }];
        let task = TaskDiff { r#type: DiffType::Added, name: "t".into(), fields, ..TaskDiff::default() };
        let text = |verbose| super::task(&task, verbose, &mut Budget { left: 9, left_out: 0 }).into_string();
        assert!(text(false).starts_with("<li><details><summary>"), "{}", text(false));
        assert!(!text(true).contains("<details>"));
    }
}
