//! `plan show`: prints a plan file.

use serde_json::{Value, json};

use super::format::Content;
use super::{Opened, open};
use crate::command::Run;
use crate::command_meta::Meta;
use crate::completion::values::CompleteWith;
use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::general::ColourFlags;
use crate::render::table::{Form, cell, headed, table};
use crate::render::ui::Ui;
use crate::render::{diff, json as render, plan, plan_summary, values};
use encamp_model::short_id;
use encamp_plan::review::Touched;

/// Show a plan file
///
/// Prints the plan in a file that job plan -out wrote: what it was made from, the diff of the job, the placements with
/// their nodes, the allocations that are stopped, updated and evicted, and what cannot be placed. Contacts no cluster.
///
/// With -verify, the file is only shown if it is signed with that key.
#[derive(Debug, clap::Parser)]
pub struct PlanShow {
    /// Print everything as JSON, see docs/reference/plan-file.schema.json
    #[arg(long)]
    pub json: bool,
    /// Show full identifiers, and the contents of added and deleted groups and tasks
    #[arg(long)]
    pub verbose: bool,
    /// Show the file only if it is signed with the Ed25519 key in this PEM file. Can be given several times
    #[arg(long, value_name = "key file", action = clap::ArgAction::Append, add = CompleteWith::PEM_FILES)]
    pub verify: Vec<String>,
    #[command(flatten)]
    pub(crate) colours: ColourFlags,
    #[arg(value_name = "file", add = CompleteWith::ANY_FILE)]
    pub(crate) path: String,
}

impl Run for PlanShow {
    const META: Meta = Meta::new("plan show")
        .paged()
        .exit_status(&[
            (0, "The plan file was printed."),
            (1, "An error occurred."),
            (4, "With -verify: the signature is missing or wrong."),
        ])
        .offline_examples(&[
            ("Show a plan that was written by job plan -out", "encamp plan show plan.encamp"),
            ("Print a plan as JSON", "encamp plan show -json plan.encamp"),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let shown =
            open(&self.path, &self.verify, &context.env.directory).and_then(|opened| self.show(&opened, context));
        context.end(shown.map(|()| 0))
    }
}

impl PlanShow {
    fn show(&self, opened: &Opened, context: &mut Context<'_, '_>) -> CommandResult<()> {
        if self.json {
            let text = value(opened).map_err(CommandError::new)?;
            let text = render::indented(&text).map_err(CommandError::new)?;
            context.ui.output(&text);
            return Ok(());
        }
        let content = &opened.content;
        let zone = context.env.zone();
        context.ui.output(&table(&facts(opened, |time| values::time(time, &zone)), Form::KeyValue));
        let mut text = context.ui.markup(diff::job(&content.outcome.diff, self.verbose).trim());
        text.push("\n");
        context.ui.output("");
        context.ui.output(&text);
        self.tables(content, context.ui);
        plan::print_warnings(context.ui, &content.outcome.warnings);
        Ok(())
    }

    fn id<'a>(&self, id: &'a str) -> &'a str {
        if self.verbose { id } else { short_id(id) }
    }

    fn tables(&self, content: &Content, ui: &mut Ui<'_>) {
        let outcome = &content.outcome;
        let node = |id: &str, name: &str| format!("{}|{}", cell(name), self.id(id));
        let touched =
            |t: &Touched| format!("{}|{}|{}", self.id(&t.alloc_id), cell(&t.name), node(&t.node_id, &t.node_name));
        let evicted = |t: &Touched| format!("{}|{}|{}", touched(t), cell(&t.job_id), cell(&t.namespace));
        let new = outcome.placements.iter().map(|p| plan_summary::placement(p, |id| self.id(id)));
        section(ui, "Placements", plan_summary::PLACEMENT, new);
        section(ui, "Stops", "Alloc ID|Allocation|Node|Node ID", outcome.stops.iter().map(touched));
        section(ui, "In-Place Updates", "Alloc ID|Allocation|Node|Node ID", outcome.updates.iter().map(touched));
        let heads = "Alloc ID|Allocation|Node|Node ID|Job ID|Namespace";
        section(ui, "Evictions", heads, outcome.evictions.iter().map(evicted));
        let unplaced = outcome.unplaced.iter().map(|(group, n)| format!("{}|{n}", cell(group)));
        section(ui, "Unplaced", "Task Group|Allocations", unplaced);
        let rejected =
            outcome.rejections.iter().map(|r| format!("{}|{}", node(&r.node_id, &r.node_name), cell(&r.reason)));
        section(ui, "Rejected By Servers", "Node|Node ID|Reason", rejected);
    }
}

/// A heading and a table, if there are rows.
fn section(ui: &mut Ui<'_>, heading: &str, heads: &str, rows: impl Iterator<Item = String>) {
    let rows = headed(heads, rows);
    if rows.len() > 1 {
        ui.output_markup(&format!("[bold]{heading}[reset]"));
        ui.output(&table(&rows, Form::List));
        ui.output("");
    }
}

fn facts(opened: &Opened, time: impl Fn(i64) -> String) -> Vec<String> {
    let content = &opened.content;
    let state = &content.state;
    let source = match (&state.snapshot, &state.address) {
        (Some(file), _) => format!("snapshot {file}"),
        (None, Some(address)) => format!("cluster {address}"),
        (None, None) => "not recorded".into(),
    };
    let variables: Vec<String> =
        content.variables.values.iter().map(|v| format!("{} ({})", v.name, v.origin.name())).collect();
    let signature = match (opened.sealed.key(), opened.verified) {
        (None, _) => "none".to_string(),
        (Some(key), true) => format!("Ed25519, key {key}, verified"),
        (Some(key), false) => format!("Ed25519, key {key}, not verified"),
    };
    let registered = match content.outcome.job_version {
        Some(version) => format!("version {version}, modify index {}", content.outcome.job_modify_index),
        None => "no".into(),
    };
    let rows = [
        ("Job", content.job_id().to_string()),
        ("Namespace", content.namespace.clone()),
        ("Type", content.outcome.job_type.to_string()),
        ("Job file", content.job_file.path.clone()),
        ("Variables", if variables.is_empty() { "none".into() } else { variables.join(", ") }),
        ("Registered", registered),
        ("Created", time(content.created)),
        ("State", format!("{source} at index {}, {}", state.index, time(state.time))),
        ("Program", format!("encamp v{}", content.program)),
        ("Signature", signature),
    ];
    rows.into_iter().map(|(name, value)| format!("{name}|{}", cell(&value))).collect()
}

/// The content, and what the signature is.
fn value(opened: &Opened) -> serde_json::Result<Value> {
    let mut value = serde_json::to_value(&opened.content)?;
    if let Value::Object(members) = &mut value {
        let key = opened.sealed.key().map(ToString::to_string);
        members.insert("Signature".into(), json!({"KeyID": key, "Verified": opened.verified}));
    }
    Ok(value)
}
