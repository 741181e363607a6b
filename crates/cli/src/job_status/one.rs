//! The sections about one job.

use super::{JobStatus, future};
use crate::connection::Connection;
use crate::context::{Context, clock};
use crate::error::{CommandResult, ErrorContext};
use crate::launch;
use crate::render::allocations::{self, Listing, Row};
use crate::render::metrics::metric_lines;
use crate::render::styled::Styled;
use crate::render::table::{Form, headed, pairs, table};
use crate::render::ui::Ui;
use crate::render::{deployments, evaluations, values};
use encamp_api::Query;
use encamp_model::responses::JobListStub;
use encamp_model::{AllocListStub, EvalStatus, Evaluation, JobSummary, JobType, api, quoted};

/// The maximum number of task groups whose placement failures are shown.
const MOST_FAILURES: usize = 5;

/// Prints one job.
pub(super) fn show(
    command: &JobStatus,
    connection: &Connection,
    namespace: Option<&str>,
    id: &str,
    context: &mut Context<'_, '_>,
) -> CommandResult<u8> {
    let client = &connection.client;
    let (job, _) = connection.wait(client.job_within(namespace, id)).context("Error querying job")?;
    let kind = Kind { periodic: job.periodic.is_some(), parameterized: is_parameterized(&job) };
    context.ui.output(&header(&job, connection));
    if command.short {
        return Ok(0);
    }
    let summary = || {
        let read = connection.wait(client.job_summary(namespace, id));
        read.map(|(summary, _)| summary).context("Error querying job summary")
    };
    if kind.periodic || kind.parameterized {
        if let Some(config) = job.parameterized_job.as_ref().filter(|_| kind.parameterized) {
            print_parameters(context.ui, config);
        }
        print_summary(context.ui, &summary()?, kind);
        return print_children(connection, namespace, id, kind, context);
    }
    let allocs = connection.wait(client.job_allocations(namespace, id, command.all_allocs));
    let (allocs, _) = allocs.context("Error querying job allocations")?;
    let evals = connection.wait(client.job_evaluations(namespace, id));
    let (mut evals, _) = evals.context("Error querying job evaluations")?;
    evaluations::sort(&mut evals);
    let latest = connection.wait(client.latest_deployment(namespace, id));
    let (latest, _) = latest.context("Error querying latest job deployment")?;
    print_summary(context.ui, &summary()?, kind);
    if command.evals || command.verbose {
        context.ui.section("Evaluations", &evaluations::listed_below_job(&evals, command.verbose));
    }
    print_failures(context.ui, &evals);
    let attempts = future::attempts(connection, &job, &allocs, command.verbose);
    if !attempts.is_empty() {
        context.ui.section("Future Rescheduling Attempts", &attempts);
    }
    if let Some(latest) = latest {
        context.ui.heading("Latest Deployment");
        context.ui.output_markup(&deployments::short_block(&latest, command.verbose));
    }
    print_actions(context.ui, &job);
    context.ui.section("Allocations", &allocation_table(&job, &allocs, command.verbose, connection));
    Ok(0)
}

/// What a job takes when it is dispatched.
fn print_parameters(ui: &mut Ui<'_>, config: &api::ParameterizedJobConfig) {
    ui.heading("Parameterized Job");
    let keys = |list: &Option<Vec<String>>| list.as_deref().unwrap_or_default().join(", ");
    let lines = [
        ("Payload", config.payload.clone()),
        ("Required Metadata", keys(&config.meta_required)),
        ("Optional Metadata", keys(&config.meta_optional)),
    ];
    ui.output(&pairs(&lines));
}

/// The kind of a job that has child jobs.
#[derive(Clone, Copy)]
struct Kind {
    periodic: bool,
    parameterized: bool,
}

/// Whether a job can be dispatched. A dispatched job keeps the `parameterized` block of its parent, but runs itself.
fn is_parameterized(job: &api::Job) -> bool {
    job.parameterized_job.is_some() && !job.dispatched
}

fn header(job: &api::Job, connection: &Connection) -> String {
    let text = |v: &Option<String>| v.clone().unwrap_or_default();
    let stopped = job.stop.unwrap_or(false);
    let mut lines = vec![
        format!("ID|{}", text(&job.id)),
        format!("Name|{}", text(&job.name)),
        format!("Submit Date|{}", values::time(job.submit_time.unwrap_or(0), &connection.zone)),
        format!("Type|{}", text(&job.r#type)),
        format!("Priority|{}", job.priority.unwrap_or(0)),
        format!("Datacenters|{}", job.datacenters.as_deref().unwrap_or_default().join(",")),
        format!("Namespace|{}", text(&job.namespace)),
        format!("Node Pool|{}", text(&job.node_pool)),
        format!("Status|{}{}", text(&job.status), if stopped { " (stopped)" } else { "" }),
        format!("Periodic|{}", job.periodic.is_some()),
        format!("Parameterized|{}", is_parameterized(job)),
    ];
    if let Some(token) = job.dispatch_idempotency_token.as_deref().filter(|t| !t.is_empty()) {
        lines.push(format!("Idempotency Token|{token}"));
    }
    if job.periodic.is_some() && !is_parameterized(job) {
        let next = match launch::next(job, clock()) {
            _ if stopped => Some("none (job stopped)".into()),
            Ok(next) => Some(next.unwrap_or_else(|| "never".into())),
            Err(_) => None,
        };
        lines.extend(next.map(|next| format!("Next Periodic Launch|{next}")));
    }
    table(&lines, Form::KeyValue)
}

fn print_summary(ui: &mut Ui<'_>, summary: &JobSummary, kind: Kind) {
    if !kind.periodic && !kind.parameterized {
        ui.heading("Summary");
        let rows = summary.summary.iter().map(|(group, s)| {
            let counts = [s.queued, s.starting, s.running, s.failed, s.complete, s.lost, s.unknown];
            format!("{group}|{}", counts.map(|n| n.to_string()).join("|"))
        });
        ui.output(&table(&headed("Task Group|Queued|Starting|Running|Failed|Complete|Lost|Unknown", rows), Form::List));
    }
    let Some(children) = &summary.children else { return };
    let sum = children.pending.saturating_add(children.running).saturating_add(children.dead);
    if kind.periodic || kind.parameterized || sum > 0 {
        ui.heading(if kind.parameterized { "Parameterized Job Summary" } else { "Children Job Summary" });
        let counts = format!("{}|{}|{}", children.pending, children.running, children.dead);
        ui.output(&table(&["Pending|Running|Dead".to_string(), counts], Form::List));
    }
}

/// The child jobs of a periodic or parameterized job.
fn print_children(
    connection: &Connection,
    namespace: Option<&str>,
    id: &str,
    kind: Kind,
    context: &mut Context<'_, '_>,
) -> CommandResult<u8> {
    let (infix, title, none) = if kind.parameterized {
        ("dispatch", "Dispatched Jobs", "No dispatched instances of parameterized job found")
    } else {
        ("periodic", "Previously Launched Jobs", "No instances of periodic job found")
    };
    let query = Query { namespace: namespace.map(str::to_string), ..Query::default() };
    let query = query.with("prefix", format!("{id}/{infix}-"));
    let found = connection.wait(connection.client.rows::<JobListStub>("/v1/jobs", &query));
    let (mut found, _) = found.context("Error querying job")?;
    if found.is_empty() {
        context.ui.output(&format!("\n{none}"));
        return Ok(0);
    }
    found.sort_by(|a, b| a.id.cmp(&b.id));
    let rows = found.iter().filter(|c| c.parent_id == id).map(|c| format!("{}|{}", c.id, c.status));
    context.ui.section(title, &table(&headed("ID|Status", rows), Form::List));
    Ok(0)
}

/// The placement failures of the newest failed evaluation, if the job is still waiting for capacity.
fn print_failures(ui: &mut Ui<'_>, newest_first: &[Evaluation]) {
    let waits = newest_first.iter().any(|e| e.status == EvalStatus::Blocked);
    // The metrics of the blocked evaluation itself are those of the evaluation that created it.
    let Some(failed) = newest_first.iter().find(|e| !e.failed_tg_allocs.is_empty()).filter(|_| waits) else { return };
    ui.heading("Placement Failure");
    let total = failed.failed_tg_allocs.len();
    for (i, (group, metric)) in failed.failed_tg_allocs.iter().enumerate().take(MOST_FAILURES) {
        let lines = metric_lines(metric, "  ", false, ui.colours_on());
        let mut text = Styled::from(format!("Task Group {}:\n", quoted(group)));
        text.push(lines);
        ui.output(&text);
        if i + 1 < total {
            ui.output("");
        }
    }
    if total > MOST_FAILURES {
        ui.output(&format!("\nPlacement failures truncated. To see remainder run:\nencamp eval-status {}", failed.id));
    }
}

fn print_actions(ui: &mut Ui<'_>, job: &api::Job) {
    let mut lines = vec!["Action Name|Task Group|Task".to_string()];
    for group in job.task_groups.iter().flatten() {
        let name = group.name.as_deref().unwrap_or_default();
        for task in group.tasks.iter().flatten() {
            lines.extend(task.actions.iter().flatten().map(|a| format!("{}|{name}|{}", a.name, task.name)));
        }
    }
    if lines.len() > 1 {
        ui.section("Actions", &table(&lines, Form::List));
    }
}

/// The allocations of a job, with their max run deadlines, if any.
pub(crate) fn allocation_table(
    job: &api::Job,
    allocs: &[AllocListStub],
    verbose: bool,
    connection: &Connection,
) -> String {
    let limited = matches!(job.r#type.as_deref().map(JobType::from), Some(JobType::Batch | JobType::Sysbatch));
    let groups = job.task_groups.as_deref().unwrap_or_default();
    let max_run = |group: &str| {
        let group = groups.iter().find(|g| g.name.as_deref() == Some(group)).filter(|_| limited)?;
        group.max_run_duration.filter(|d| *d > 0)
    };
    let row = |a| {
        let row = Row::from(a);
        Row { max_run: max_run(row.group), ..row }
    };
    let mut rows: Vec<Row<'_>> = allocs.iter().map(row).collect();
    allocations::sort(&mut rows);
    let listing = Listing { verbose, node_names: true, zone: &connection.zone, now: clock() };
    allocations::listed(&rows, &listing)
}
