//! Job diffs as text with tags (`docs/spec/cli.md §7.3`, `docs/spec/jobspec.md §19`). Nothing is reordered here.

use super::values::counted;
use encamp_model::{DiffType, FieldDiff, JobDiff, ObjectDiff, TaskDiff, TaskGroupDiff, quoted};
use encamp_plan::tally::Tally;

/// The mark in front of an entry, and its printed width.
#[derive(Clone, Copy)]
struct Marker {
    text: &'static str,
    width: usize,
}

fn marker(r#type: &DiffType) -> Marker {
    let (text, width) = match r#type {
        DiffType::Added => ("[green]+[reset] ", 2),
        DiffType::Deleted => ("[red]-[reset] ", 2),
        DiffType::Edited => ("[light_yellow]+/-[reset] ", 4),
        DiffType::None | DiffType::Unset | DiffType::Other(_) => ("", 0),
    };
    Marker { text, width }
}

/// The widths that align the entries of one container.
#[derive(Clone, Copy)]
struct Widths {
    marker: usize,
    name: usize,
}

impl Widths {
    /// The widest of the container's fields and objects, and of the types of what else it lists.
    fn of<'a>(
        fields: &'a [FieldDiff],
        objects: &'a [ObjectDiff],
        others: impl Iterator<Item = &'a DiffType>,
    ) -> Widths {
        let types = fields.iter().map(|f| &f.r#type).chain(objects.iter().map(|o| &o.r#type));
        Widths {
            marker: types.chain(others).map(|t| marker(t).width).max().unwrap_or(0),
            name: fields.iter().map(|f| f.name.len()).max().unwrap_or(0),
        }
    }

    fn pad(self, m: Marker) -> usize {
        self.marker.saturating_sub(m.width)
    }
}

fn spaces(n: usize) -> String {
    " ".repeat(n)
}

/// The diff of a job. With `verbose`, added and deleted groups and tasks list their content.
pub fn job(diff: &JobDiff, verbose: bool) -> String {
    planned_job(diff, verbose, None)
}

/// The same. With the effects on a system job, its counts of allocations to create are shown as what they are: the
/// numbers of eligible nodes (`docs/spec/reconciliation.md §9.3`).
pub fn planned_job(diff: &JobDiff, verbose: bool, system: Option<&Tally>) -> String {
    let mut out = format!("{}[bold]Job: {}\n", marker(&diff.r#type).text, quoted(&diff.id));
    let widths = Widths::of(&diff.fields, &diff.objects, diff.task_groups.iter().map(|g| &g.r#type));
    if diff.r#type == DiffType::Edited || verbose {
        push_block(&mut out, &diff.fields, &diff.objects, 0, widths);
    }
    for g in &diff.task_groups {
        group(&mut out, g, widths.pad(marker(&g.r#type)), verbose, system);
        out.push('\n');
    }
    out
}

fn group(out: &mut String, diff: &TaskGroupDiff, pad: usize, verbose: bool, system: Option<&Tally>) {
    let m = marker(&diff.r#type);
    out.push_str(&format!("{}{}[bold]Task Group: {}[reset]", m.text, spaces(pad), quoted(&diff.name)));
    match &diff.updates {
        Some(updates) if !updates.is_empty() => {
            let entries = updates.iter().map(|(kind, n)| match system {
                Some(tally) if kind == "create" => {
                    let new = tally.groups.get(&diff.name).map_or(0, |g| g.placed);
                    format!("[reset]{}; {}", counted(*n, "eligible node", "eligible nodes"), update(TO_CREATE, new))
                }
                _ => update(kind, *n),
            });
            let entries: Vec<String> = entries.collect();
            out.push_str(&format!(" ({}[reset])", entries.join(", ")));
        }
        _ => out.push_str("[reset]"),
    }
    out.push('\n');

    let start = pad.saturating_add(2);
    let widths = Widths::of(&diff.fields, &diff.objects, diff.tasks.iter().map(|t| &t.r#type));
    if diff.r#type == DiffType::Edited || verbose {
        push_block(out, &diff.fields, &diff.objects, start, widths);
    }
    for t in &diff.tasks {
        task(out, t, start, widths.pad(marker(&t.r#type)), verbose);
        out.push('\n');
    }
}

/// The allocations of a system job to create.
const TO_CREATE: &str = "to create";

fn update(kind: &str, n: u64) -> String {
    let colour = match kind {
        "create" | TO_CREATE => "[green]",
        "destroy" => "[red]",
        "migrate" => "[blue]",
        "in-place update" => "[cyan]",
        "create/destroy update" => "[yellow]",
        "canary" => "[light_yellow]",
        _ => "",
    };
    format!("[reset]{colour}{n} {kind}")
}

fn task(out: &mut String, diff: &TaskDiff, start: usize, pad: usize, verbose: bool) {
    let m = marker(&diff.r#type);
    out.push_str(&format!("{}{}{}[bold]Task: {}", spaces(start), m.text, spaces(pad), quoted(&diff.name)));
    if !diff.annotations.is_empty() {
        out.push_str(&format!(" [reset]({})", annotations(&diff.annotations)));
    }
    match diff.r#type {
        DiffType::None => return,
        DiffType::Added | DiffType::Deleted if !verbose => return,
        _ => out.push('\n'),
    }
    let widths = Widths::of(&diff.fields, &diff.objects, std::iter::empty());
    block(out, &diff.fields, &diff.objects, start.saturating_add(2), widths);
}

/// A block and, unless it is empty, a newline.
fn push_block(out: &mut String, fields: &[FieldDiff], objects: &[ObjectDiff], start: usize, widths: Widths) {
    block(out, fields, objects, start, widths);
    if !fields.is_empty() || !objects.is_empty() {
        out.push('\n');
    }
}

fn block(out: &mut String, fields: &[FieldDiff], objects: &[ObjectDiff], start: usize, widths: Widths) {
    let mut first = true;
    let mut separate = |out: &mut String| {
        if !std::mem::take(&mut first) {
            out.push('\n');
        }
    };
    for f in fields {
        separate(out);
        field(out, f, start, widths);
    }
    for o in objects {
        separate(out);
        object(out, o, start, widths.pad(marker(&o.r#type)));
    }
}

fn field(out: &mut String, diff: &FieldDiff, start: usize, widths: Widths) {
    let m = marker(&diff.r#type);
    let value = match diff.r#type {
        DiffType::Deleted => quoted(&diff.old),
        DiffType::Edited => format!("{} => {}", quoted(&diff.old), quoted(&diff.new)),
        _ => quoted(&diff.new),
    };
    let value_pad = spaces(widths.name.saturating_sub(diff.name.len()));
    out.push_str(&format!("{}{}{}{}: {value_pad}{value}", spaces(start), m.text, spaces(widths.pad(m)), diff.name));
    if !diff.annotations.is_empty() {
        out.push_str(&format!(" ({})", annotations(&diff.annotations)));
    }
}

/// Nesting is bounded by the diff types: objects nest as deep as job specifications do.
fn object(out: &mut String, diff: &ObjectDiff, start: usize, pad: usize) {
    let m = marker(&diff.r#type);
    out.push_str(&format!("{}{}{}{} {{\n", spaces(start), m.text, spaces(pad), diff.name));
    let widths = Widths::of(&diff.fields, &diff.objects, std::iter::empty());
    block(out, &diff.fields, &diff.objects, start.saturating_add(pad).saturating_add(2), widths);
    out.push_str(&format!("\n{}}}", spaces(start.saturating_add(m.width).saturating_add(pad))));
}

fn annotations(list: &[String]) -> String {
    let coloured = |a: &String| match a.as_str() {
        "forces create" => format!("[green]{a}[reset]"),
        "forces destroy" => format!("[red]{a}[reset]"),
        "forces in-place update" => format!("[cyan]{a}[reset]"),
        "forces create/destroy update" => format!("[yellow]{a}[reset]"),
        _ => a.clone(),
    };
    list.iter().map(coloured).collect::<Vec<_>>().join(", ")
}
