//! The result of a dry run (`docs/spec/cli.md §7.1`-`§7.6`).

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::metrics::explained_lines;
use super::styled::{Styled, TaggedText};
use super::table::{Form, headed, table};
use super::ui::Ui;
use super::wrap::fitted;
use super::{diff, page, values};
use encamp_model::cron::time_zone;
use encamp_model::{
    AllocListStub, DiffType, EvalTrigger, JobPlanResponse, JobType, PlanRejection, format_duration, quoted,
};
use encamp_plan::tally::{Launched, Tally};

/// From this number on, preempted allocations are counted by job, and jobs by type.
const MANY: usize = 10;

/// What a terminal shows about a plan besides the response.
#[derive(Debug, Default)]
pub struct Effects {
    /// What the servers would do.
    pub tally: Tally,
    /// The reasons for which nodes of ineligible classes are excluded, by group.
    pub class_reasons: BTreeMap<String, Vec<(String, u64)>>,
}

/// A plan and everything else that is needed to print it.
pub struct PlanView<'a> {
    /// The result of the dry run.
    pub plan: &'a JobPlanResponse,
    /// The effects of the plan, for people.
    pub effects: &'a Effects,
    /// The type of the planned job.
    pub job_type: JobType,
    /// Whether the planned job is parameterized: such a job is not launched by its schedule.
    pub parameterized: bool,
    /// Whether servers apply the plan completely or not at all (`all_at_once`).
    pub all_at_once: bool,
    /// The time zone of the planned job's periodic schedule, empty if there is none.
    pub time_zone: &'a str,
    /// The current time, Unix nanoseconds.
    pub now: i64,
    /// Whether to print the diff.
    pub diff: bool,
    /// Whether the diff shows the contents of added and deleted parts.
    pub verbose: bool,
    /// The arguments of the suggested command, each followed by a space, and the path.
    pub run_args: String,
}

/// The exit code of a plan: 1 if the job differs from the registered one and allocations are created or destroyed, else
/// 0. Of a system job, the allocations to create are counted by eligible nodes.
pub fn exit_code(plan: &JobPlanResponse) -> u8 {
    if plan.diff.as_ref().is_none_or(|d| d.r#type == DiffType::None) {
        return 0;
    }
    let annotations = plan.annotations.as_ref();
    let changes = annotations.is_some_and(|a| {
        let mut updates = a.desired_tg_updates.values();
        updates.any(|u| [u.stop, u.place, u.migrate, u.destructive_update, u.canary].iter().any(|n| *n > 0))
    });
    u8::from(changes)
}

/// Prints a plan and the command that submits the job.
pub fn print(ui: &mut Ui<'_>, view: &PlanView<'_>) {
    print_body(ui, view);
    ui.output_markup(&footer(view));
}

/// Prints a plan.
pub fn print_body(ui: &mut Ui<'_>, view: &PlanView<'_>) {
    if let (true, Some(d)) = (view.diff, &view.plan.diff) {
        let mut text = ui.markup(diff::planned_job(d, view.verbose, eligible_nodes(view)).trim());
        text.push("\n");
        ui.output(&text);
    }
    ui.output_markup("[bold]Scheduler dry-run:[reset]");
    ui.output(&dry_run(view, ui.colours_on()));
    ui.output("");
    print_warnings(ui, &view.plan.warnings);
    let preempted = view.plan.annotations.as_ref().map(|a| a.preempted_allocs.as_slice()).unwrap_or_default();
    if !preempted.is_empty() {
        ui.output_markup("[bold][yellow]Preemptions:\n[reset]");
        ui.output_markup(&table(&preemptions(preempted), Form::List));
    }
}

/// The effects on a system job, for a terminal: the diff counts eligible nodes as allocations to create.
fn eligible_nodes<'a>(view: &PlanView<'a>) -> Option<&'a Tally> {
    (view.job_type == JobType::System && page::width().is_some()).then_some(&view.effects.tally)
}

/// Prints the warnings about a job, if any.
pub fn print_warnings(ui: &mut Ui<'_>, warnings: &str) {
    if !warnings.is_empty() {
        let warnings = page::width().map_or(Cow::Borrowed(warnings), |columns| fitted(warnings, columns));
        ui.output_markup(&format!("[bold][yellow]Job Warnings:\n{warnings}[reset]\n"));
    }
}

/// The result of the scheduler: the placements, and why the others failed.
pub fn dry_run(view: &PlanView<'_>, colours: bool) -> Styled {
    let plan = view.plan;
    let next = plan.created_evals.iter().rfind(|e| e.triggered_by == EvalTrigger::RollingUpdate);
    let mut out = TaggedText::new(colours);
    if !plan.plan_rejections.is_empty() {
        rejections(&mut out, view);
    }
    if plan.failed_tg_allocs.is_empty() && plan.plan_rejections.is_empty() {
        out.tags("[bold][green]- All tasks successfully allocated.[reset]\n");
    } else if !plan.failed_tg_allocs.is_empty() {
        let what = if view.job_type == JobType::System { "allocations on all nodes" } else { "all allocations" };
        out.tags(&format!("[bold][yellow]- WARNING: Failed to place {what}.[reset]\n"));
        for (group, metric) in &plan.failed_tg_allocs {
            let n = metric.failures();
            let noun = values::plural(n, "allocation", "allocations");
            let classes = view.effects.class_reasons.get(group).map_or(&[][..], Vec::as_slice);
            let lines = explained_lines(metric, "    ", false, colours, classes);
            out.tags(&format!("  [yellow]Task Group {} (failed to place {n} {noun}):\n", quoted(group)));
            out.tags("[reset][yellow]");
            out.styled(&lines);
            out.tags("[reset]\n\n");
        }
        if next.is_none() {
            out.pop_line_end();
        }
    }
    if let Some(eval) = next {
        let wait = format_duration(eval.wait);
        out.tags(&format!("[green]- Rolling update, next evaluation will be in {wait}.\n"));
    }
    match plan.next_periodic_launch.unix_nanos() {
        Some(launch) if !view.parameterized => out.tags(&periodic(launch, view)),
        None if view.effects.tally.launched == Some(Launched::Periodically) => {
            out.tags("[yellow]- If submitted now, the job would never be launched.\n");
        }
        _ => {}
    }
    out.pop_line_end();
    out.finish()
}

/// The parts of the plan that the servers would reject, and the node that each is rejected for.
fn rejections(out: &mut TaggedText, view: &PlanView<'_>) {
    let what = if view.all_at_once { "the whole plan, because it is all at once" } else { "a part of this plan" };
    out.tags(&format!("[bold][yellow]- WARNING: The servers would reject {what}.[reset]\n"));
    for r in &view.plan.plan_rejections {
        out.tags(&format!("  [yellow]{}[reset]\n", rejection(r)));
    }
}

/// A line about a node for which a part of the plan is rejected.
pub fn rejection(r: &PlanRejection) -> String {
    let text = r.to_string();
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

fn periodic(launch: i64, view: &PlanView<'_>) -> String {
    let zone = match time_zone(view.time_zone) {
        Ok(zone) => zone,
        Err(e) => return format!("[yellow]- Invalid time zone: {e}\n"),
    };
    format!(
        "[green]- If submitted now, next periodic launch would be at {} ({} from now).\n",
        values::time(launch, &zone),
        values::difference(view.now, launch)
    )
}

fn preemptions(allocs: &[AllocListStub]) -> Vec<String> {
    if allocs.len() < MANY {
        let rows = allocs.iter().map(|a| format!("{}|{}|{}", a.id, a.job_id, a.task_group));
        return headed("Alloc ID|Job ID|Task Group", rows);
    }
    let mut jobs: BTreeMap<(&JobType, &str, &str), u64> = BTreeMap::new();
    let mut types: BTreeMap<&JobType, u64> = BTreeMap::new();
    for a in allocs {
        for n in
            [jobs.entry((&a.job_type, &a.namespace, &a.job_id)).or_default(), types.entry(&a.job_type).or_default()]
        {
            *n = n.saturating_add(1);
        }
    }
    if jobs.len() < MANY {
        let rows = jobs.iter().map(|((kind, namespace, id), n)| format!("{id}|{namespace}|{kind}|{n}"));
        return headed("Job ID|Namespace|Job Type|Preemptions", rows);
    }
    let rows = types.iter().map(|(kind, n)| format!("{kind}|{n}"));
    headed("Job Type|Preemptions", rows)
}

/// The command that submits the job if it has not been changed in the meantime.
pub fn run_command(view: &PlanView<'_>) -> String {
    format!("encamp job run -check-index {} {}", view.plan.job_modify_index, view.run_args)
}

fn footer(view: &PlanView<'_>) -> String {
    let index = view.plan.job_modify_index;
    format!(
        "[reset][bold]Job Modify Index: {index}[reset]\n\
         To submit the job with version verification run:\n\
         \n\
         {}\n\
         \n\
         With the -check-index flag, the job is only registered if its modify index on\n\
         the servers is still the one shown above. If the job has been changed in the\n\
         meantime, this plan is outdated, and the command fails instead of\n\
         overwriting that change.",
        run_command(view)
    )
}
