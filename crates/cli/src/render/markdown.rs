//! Plans as comments on merge requests, in GitHub and GitLab Flavored Markdown.
//!
//! Text that comes from jobs is escaped or fenced, so that no name can change the formatting of the comment.

use super::markup::markup;
use super::plan::{PlanView, dry_run, run_command};
use super::{diff, values};
use encamp_model::{AllocListStub, AllocMetric, DesiredUpdates, DiffType, PlanRejection};

/// The maximum number of preempted allocations that are listed; further ones are only counted.
const MOST_PREEMPTED: usize = 20;

/// Formats one plan. `assumed` is a paragraph about assumed changes, `explanation` the output of `-explain` with
/// markup.
pub fn plan(view: &PlanView<'_>, job_id: &str, assumed: Option<&str>, explanation: Option<&str>) -> String {
    let plan = view.plan;
    let kind = plan.diff.as_ref().map_or(&DiffType::None, |d| &d.r#type);
    let change = match kind {
        DiffType::Added => "new job",
        DiffType::Edited => "changed",
        DiffType::Deleted => "deleted",
        DiffType::None | DiffType::Unset | DiffType::Other(_) => "unchanged",
    };
    let mut out = format!("### Plan of job {} ({change})\n\n", code(job_id));
    out.extend(assumed.iter().flat_map(|text| [text, "\n\n"]));
    out += &summary(view);
    let updates = plan.annotations.iter().flat_map(|a| &a.desired_tg_updates);
    let rows: Vec<String> = updates.map(|(group, u)| group_row(view, group, u)).collect();
    if !rows.is_empty() {
        out += "\n| Group | Changes | Unplaced |\n|---|---|---|\n";
        rows.iter().for_each(|row| out += row);
    }
    if !(plan.failed_tg_allocs.is_empty() && plan.plan_rejections.is_empty()) {
        out += &format!("\n{}", fenced("", dry_run(view, false).as_str()));
    }
    preemptions(&mut out, plan.annotations.as_ref().map_or(&[], |a| a.preempted_allocs.as_slice()));
    if !plan.warnings.trim().is_empty() {
        out += &format!("\n**Warnings**\n\n{}", fenced("", plan.warnings.trim()));
    }
    if let (true, Some(d)) = (view.diff && *kind != DiffType::None, &plan.diff) {
        out += &details("Diff", &fenced("diff", markup(diff::job(d, view.verbose).trim(), false).trim()));
    }
    if let Some(text) = explanation {
        out += &details("Explanation", &fenced("", markup(text, false).trim()));
    }
    out += &format!(
        "\nJob modify index {}. To submit exactly this plan, run:\n\n{}",
        plan.job_modify_index,
        fenced("sh", &run_command(view))
    );
    out
}

/// Summarises the changes of the plan in one sentence.
fn summary(view: &PlanView<'_>) -> String {
    let plan = view.plan;
    let sum = |part: fn(&DesiredUpdates) -> u64| {
        let updates = plan.annotations.iter().flat_map(|a| a.desired_tg_updates.values());
        updates.map(part).fold(0_u64, u64::saturating_add)
    };
    let failed: i64 = plan.failed_tg_allocs.values().map(AllocMetric::failures).fold(0, i64::saturating_add);
    let preempted = plan.annotations.as_ref().map_or(0, |a| a.preempted_allocs.len() as u64);
    let rejected = plan.plan_rejections.iter().map(PlanRejection::allocations).fold(0, u64::saturating_add);
    let parts = [
        (sum(|u| u.place), "to create"),
        (sum(|u| u.destructive_update), "to replace"),
        (sum(|u| u.in_place_update), "to update in place"),
        (sum(|u| u.canary), "canaries"),
        (sum(|u| u.migrate), "to migrate"),
        (sum(|u| u.stop), "to stop"),
        (u64::try_from(failed).unwrap_or(0), "unplaced"),
        (preempted, "preempted"),
        (rejected, "rejected by the servers"),
    ];
    let parts: Vec<String> = parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("**{n}** {what}")).collect();
    let mark = if failed > 0 || preempted > 0 || rejected > 0 { ":warning: " } else { "" };
    let text = if parts.is_empty() { "No allocation changes".to_string() } else { parts.join(", ") };
    format!("{mark}{text}.\n")
}

fn group_row(view: &PlanView<'_>, group: &str, u: &DesiredUpdates) -> String {
    let parts = [
        (u.place, "create"),
        (u.destructive_update, "create/destroy update"),
        (u.in_place_update, "in-place update"),
        (u.canary, "canary"),
        (u.migrate, "migrate"),
        (u.stop, "stop"),
        (u.ignore, "ignore"),
    ];
    let parts: Vec<String> = parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    let failed = view.plan.failed_tg_allocs.get(group).map_or(0, AllocMetric::failures);
    let failed = if failed == 0 { "-".to_string() } else { failed.to_string() };
    let parts = if parts.is_empty() { "none".to_string() } else { parts.join(", ") };
    format!("| {} | {parts} | {failed} |\n", code(group))
}

fn preemptions(out: &mut String, all: &[AllocListStub]) {
    if all.is_empty() {
        return;
    }
    let noun = values::plural(i64::try_from(all.len()).unwrap_or(i64::MAX), "allocation", "allocations");
    *out += &format!("\n**Preempts {} {noun}**\n\n| Allocation | Job | Group |\n|---|---|---|\n", all.len());
    for a in all.iter().take(MOST_PREEMPTED) {
        *out += &format!("| {} | {} | {} |\n", code(&a.id), code(&a.job_id), code(&a.task_group));
    }
    if all.len() > MOST_PREEMPTED {
        *out += &format!("\nand {} more\n", all.len() - MOST_PREEMPTED);
    }
}

/// Formats a name as inline code, in a line or a table cell.
pub fn code(name: &str) -> String {
    let name: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let ticks = "`".repeat(longest_run(&name) + 1);
    let space = if name.starts_with('`') || name.ends_with('`') { " " } else { "" };
    // A bar ends a table cell even inside of code, unless it is escaped.
    format!("{ticks}{space}{}{space}{ticks}", name.replace('|', "\\|"))
}

/// Text in a fenced code block.
fn fenced(language: &str, text: &str) -> String {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    format!("{fence}{language}\n{text}\n{fence}\n")
}

fn details(title: &str, content: &str) -> String {
    format!("\n<details><summary>{title}</summary>\n\n{content}\n</details>\n")
}

/// The length of the longest run of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_texts_stay_in_their_places() {
        assert_eq!(code("web"), "`web`");
        assert_eq!(code("a|b`c\nd"), "``a\\|b`c d``");
        assert_eq!(code("`x"), "`` `x ``");
        assert_eq!(fenced("diff", "+ a"), "```diff\n+ a\n```\n");
        assert_eq!(fenced("", "````"), "`````\n````\n`````\n");
    }
}
