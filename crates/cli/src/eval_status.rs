//! `eval status`: one evaluation (`docs/spec/cli.md §11.2`).

use std::cmp::Reverse;

use serde_json::Value;

use super::context::clock;
use super::prelude::*;
use super::render::metrics::metric_lines;
use super::render::plan::rejection;
use super::render::table::{Form, headed, table};
use super::render::{evaluations, objects, values};
use super::{lookup_id, monitor};
use crate::web::hint::UiPage;
use encamp_api::{Query, path};
use encamp_model::{AllocListStub, DesiredUpdates, EvalTrigger, Evaluation, PlanAnnotations, quoted};

/// Display the status of an evaluation
///
/// Shows an evaluation, the desired changes and the placements of the scheduler, and the reasons for failed placements.
/// The argument is the evaluation ID or a prefix of it.
#[derive(Debug, clap::Parser)]
pub struct EvalStatus {
    /// Monitor the evaluation until it completes, and its deployment
    #[arg(long)]
    pub monitor: bool,
    /// Show full identifiers and timestamps
    #[arg(long)]
    pub verbose: bool,
    /// Open the page of the web UI in a browser
    #[arg(long)]
    pub ui: bool,
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "evaluation", add = CompleteWith::Live(Objects::Evaluations))]
    pub(crate) id: String,
}

impl Run for EvalStatus {
    const META: Meta = Meta::new("eval status")
        .alias("eval-status", Listing::Alias)
        .exit_status(&[
            (0, "The evaluation was printed. With -monitor: it completed, and all allocations were placed."),
            (1, "An error occurred. With -monitor: also if the deployment was not successful."),
            (2, "With -monitor: allocations are unplaced, and no deployment waits for them."),
        ])
        .examples(&[
            ("Show an evaluation", "encamp eval status 2c3f8e0a"),
            ("Monitor an evaluation until it completes", "encamp eval status -monitor 2c3f8e0a"),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.attempt(|context| self.show(&self.id, context))
    }
}

impl EvalStatus {
    fn show(&self, given: &str, context: &mut Context<'_, '_>) -> CommandResult<u8> {
        let formatted = self.format.wanted()?;
        let connection = Connection::new(&self.general, context.env)?;
        let found = lookup_id::evaluation(&connection, given)?;
        if self.monitor {
            return Ok(monitor::evaluation::watch(&connection, context.ui, &found.id, self.verbose));
        }
        let query = Query::default().with("related", "true");
        let read = connection.wait(connection.client.get::<Value>(&path("/v1/evaluation/", &found.id, ""), &query));
        let (value, _) = read.context("Error querying evaluation")?;
        if formatted {
            return self.format.print(context.ui, &objects::evaluation(value), "*api.Evaluation");
        }
        let placed = connection.wait(connection.client.evaluation_allocations(&found.id));
        let (mut placed, _) = placed.context("Error querying related allocations")?;
        let eval: Evaluation = encamp_api::json::from_value(&value).context("Error querying evaluation")?;
        context.ui.output(&self.header(&eval, &connection));
        self.print_related(&eval, context);
        if let Some(annotations) = &eval.plan_annotations {
            self.print_annotations(annotations, context);
        }
        sort(&mut placed);
        if !placed.is_empty() {
            context.ui.section("Placed Allocations", &self.allocations(&placed, false));
        }
        self.print_failures(&eval, context);
        if !eval.plan_rejections.is_empty() {
            context.ui.heading("Rejected Plan");
            for r in &eval.plan_rejections {
                context.ui.output(&format!("  {}", rejection(r)));
            }
        }
        if !eval.missing_non_node_resources.is_empty() {
            context.ui.heading("Missing Resources");
            for resource in &eval.missing_non_node_resources {
                context.ui.output(&format!("  {resource}"));
            }
        }
        UiPage::evaluation(&eval.id).show(&connection, self.ui, context);
        Ok(0)
    }

    fn id<'a>(&self, full: &'a str) -> &'a str {
        values::id(full, self.verbose)
    }

    fn header(&self, e: &Evaluation, connection: &Connection) -> String {
        let now = clock();
        let when = |t: i64| if self.verbose { values::time(t, &connection.zone) } else { values::age(t, now) };
        let description = if e.status_description.is_empty() { e.status.as_str() } else { &e.status_description };
        let mut lines = vec![
            format!("ID|{}", self.id(&e.id)),
            format!("Create Time|{}", when(e.create_time)),
            format!("Modify Time|{}", when(e.modify_time)),
            format!("Status|{}", e.status),
            format!("Status Description|{description}"),
            format!("Type|{}", e.r#type),
            format!("TriggeredBy|{}", e.triggered_by),
            format!("Job ID|{}", e.job_id),
            format!("Namespace|{}", e.namespace),
        ];
        match e.triggered_by {
            EvalTrigger::NodeUpdate => lines.push(format!("Node ID|{}", e.node_id)),
            EvalTrigger::MaxPlanAttempts => lines.push(format!("Previous Eval|{}", e.previous_eval)),
            _ => {}
        }
        lines.push(format!("Priority|{}", e.priority));
        lines.push(format!("Placement Failures|{}", evaluations::placement_failures(e)));
        if !e.wait_until.is_zero() {
            lines.push(format!("Wait Until|{}", values::written_time(e.wait_until)));
        }
        if !e.quota_limit_reached.is_empty() {
            lines.push(format!("Quota Limit Reached|{}", e.quota_limit_reached));
        }
        lines.push(format!("Previous Eval|{}", self.id(&e.previous_eval)));
        lines.push(format!("Next Eval|{}", self.id(&e.next_eval)));
        lines.push(format!("Blocked Eval|{}", self.id(&e.blocked_eval)));
        table(&lines, Form::KeyValue)
    }

    fn print_related(&self, e: &Evaluation, context: &mut Context<'_, '_>) {
        if e.related_evals.is_empty() {
            return;
        }
        let mut related: Vec<_> = e.related_evals.iter().collect();
        related.sort_by_key(|r| (Reverse(r.create_index), &r.id));
        let rows = related.iter().map(|r| {
            let (id, node) = (self.id(&r.id), self.id(&r.node_id));
            format!("{id}|{}|{}|{node}|{}|{}", r.priority, r.triggered_by, r.status, r.status_description)
        });
        context.ui.section(
            "Related Evaluations",
            &table(&headed("ID|Priority|Triggered By|Node ID|Status|Description", rows), Form::List),
        );
    }

    /// The desired changes of the scheduler, and the preempted allocations.
    fn print_annotations(&self, annotations: &PlanAnnotations, context: &mut Context<'_, '_>) {
        if !annotations.desired_tg_updates.is_empty() {
            context.ui.heading("Plan Annotations");
            let updates: Vec<(&str, &DesiredUpdates)> =
                annotations.desired_tg_updates.iter().map(|(group, u)| (group.as_str(), u)).collect();
            context.ui.output(&wanted(&updates, self.verbose));
        }
        if !annotations.preempted_allocs.is_empty() {
            let mut victims = annotations.preempted_allocs.clone();
            sort(&mut victims);
            context.ui.section("Preempted Allocations", &self.allocations(&victims, true));
        }
    }

    fn allocations(&self, list: &[AllocListStub], jobs: bool) -> String {
        let now = clock();
        let job_column = if jobs { "Job ID|" } else { "" };
        let rows = list.iter().map(|a| {
            let job = if jobs { format!("{}|", a.job_id) } else { String::new() };
            let (created, modified) = (values::age(a.create_time, now), values::age(a.modify_time, now));
            let (id, node, group) = (self.id(&a.id), self.id(&a.node_id), &a.task_group);
            let (version, desired, status) = (a.job_version, &a.desired_status, &a.client_status);
            format!("{id}|{job}{node}|{group}|{version}|{desired}|{status}|{created}|{modified}")
        });
        table(
            &headed(&format!("ID|{job_column}Node ID|Task Group|Version|Desired|Status|Created|Modified"), rows),
            Form::List,
        )
    }

    fn print_failures(&self, e: &Evaluation, context: &mut Context<'_, '_>) {
        if e.failed_tg_allocs.is_empty() {
            return;
        }
        context.ui.heading("Failed Placements");
        for (group, metric) in &e.failed_tg_allocs {
            let n = metric.coalesced_failures.saturating_add(1);
            let noun = values::plural(n, "allocation", "allocations");
            context.ui.output(&format!("Task Group {} (failed to place {n} {noun}):", quoted(group)));
            let lines = metric_lines(metric, "  ", false, context.ui.colours_on());
            context.ui.output(&lines);
        }
        if !e.blocked_eval.is_empty() {
            let id = quoted(self.id(&e.blocked_eval));
            context.ui.output(&format!("\nEvaluation {id} waiting for additional capacity to place remainder"));
        }
    }
}

fn sort(list: &mut [AllocListStub]) {
    list.sort_by(|a, b| (Reverse(a.create_index), &a.id).cmp(&(Reverse(b.create_index), &b.id)));
}

/// A column of the annotations: its name, its count, and whether it is always shown.
type Column = (&'static str, fn(&DesiredUpdates) -> u64, bool);

/// The table of desired changes by task group.
fn wanted(updates: &[(&str, &DesiredUpdates)], verbose: bool) -> String {
    const COLUMNS: [Column; 12] = [
        ("Ignore", |u| u.ignore, true),
        ("Place", |u| u.place, true),
        ("Stop", |u| u.stop, true),
        ("InPlace", |u| u.in_place_update, true),
        ("Destructive", |u| u.destructive_update, true),
        ("Migrate", |u| u.migrate, false),
        ("Canary", |u| u.canary, false),
        ("Preemptions", |u| u.preemptions, false),
        ("Reschedule Now", |u| u.reschedule_now, false),
        ("Reschedule Later", |u| u.reschedule_later, false),
        ("Disconnect", |u| u.disconnect, false),
        ("Reconnect", |u| u.reconnect, false),
    ];
    let shown = |c: &&Column| verbose || c.2 || updates.iter().any(|(_, u)| (c.1)(u) > 0);
    let columns: Vec<&Column> = COLUMNS.iter().filter(shown).collect();
    let row = |first: &str, cells: Vec<String>| format!("{first}|{}", cells.join("|"));
    let mut lines = vec![row("Task Group", columns.iter().map(|c| c.0.to_string()).collect())];
    lines.extend(updates.iter().map(|(group, u)| row(group, columns.iter().map(|c| (c.1)(u).to_string()).collect())));
    table(&lines, Form::Spaced)
}
