//! `plugin status` (`docs/spec/cli.md §12.3`).

use serde_json::Value;

use super::print_allocations;
use crate::command::Run;
use crate::command_meta::{FlagErrorNote, Meta};
use crate::completion::values::{CompleteWith, Objects};
use crate::connection::Connection;
use crate::context::Context;
use crate::data::{self, number, text};
use crate::error::{CommandError, CommandResult, ErrorContext};
use crate::format::FormatFlags;
use crate::general::GeneralFlags;
use crate::lookup::LookupError;
use crate::render::table::{self, Columns, pairs};
use encamp_api::Query;
use encamp_model::quoted;

/// Display status information about storage plugins
///
/// Lists the CSI plugins of the cluster, or shows one of them. The argument is the plugin ID or a prefix of it.
#[derive(Debug, clap::Parser)]
pub struct PluginStatus {
    /// List only plugins of this type: csi
    #[arg(long = "type", value_name = "type", add = CompleteWith::Words(&["csi"]))]
    pub kind: Option<String>,
    /// Show brief output
    #[arg(long)]
    pub short: bool,
    /// Show full identifiers and timestamps
    #[arg(long)]
    pub verbose: bool,
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "plugin", add = CompleteWith::Live(Objects::Plugins))]
    pub(crate) optional_args: Vec<String>,
}

impl Run for PluginStatus {
    const META: Meta = Meta::new("plugin status").flag_error_note(FlagErrorNote::Arguments).examples(&[
        ("List the storage plugins", "encamp plugin status"),
        ("Print the CSI plugins as JSON", "encamp plugin status -type csi -json"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        if !matches!(self.kind.as_deref().unwrap_or_default(), "" | "csi") {
            return context.failure("Unsupported plugin type: only csi is supported");
        }
        match self.optional_args.as_slice() {
            [] => context.connected(&self.general, |c, context| self.list(c, context)),
            [prefix] => context.connected(&self.general, |c, context| self.one(c, context, prefix)),
            _ => context.usage_error("This command takes either no arguments or one: <plugin>"),
        }
    }
}

fn rows(c: &Connection, prefix: &str) -> CommandResult<Vec<Value>> {
    let mut query = Query::default().with("type", "csi");
    if !prefix.is_empty() {
        query = query.with("prefix", prefix);
    }
    let read = c.wait(c.client.rows::<Value>("/v1/plugins", &query));
    let (mut rows, _) = read.context("Error querying CSI plugins")?;
    rows.retain(|row| text(row, "ID").starts_with(prefix));
    data::newest_first(&mut rows);
    Ok(rows)
}

fn listed(rows: &[Value]) -> String {
    let healthy =
        |row: &Value, healthy: &str, expected: &str| format!("{}/{}", number(row, healthy), number(row, expected));
    let columns: &Columns<'_, Value> = &[
        ("ID", &|row| text(row, "ID").into()),
        ("Provider", &|row| text(row, "Provider").into()),
        ("Controllers Healthy/Expected", &|row| healthy(row, "ControllersHealthy", "ControllersExpected")),
        ("Nodes Healthy/Expected", &|row| healthy(row, "NodesHealthy", "NodesExpected")),
    ];
    table::columns(rows, columns)
}

/// The ID of the CSI plugin with this ID, or with an ID that begins so.
pub(super) fn find(c: &Connection, prefix: &str) -> CommandResult<String> {
    let found = rows(c, prefix)?;
    let exact = found.iter().find(|row| text(row, "ID") == prefix);
    match (exact, found.as_slice()) {
        (Some(row), _) | (None, [row]) => Ok(text(row, "ID").to_string()),
        (None, []) => Err(CommandError::new(format!("No plugins with prefix or id {} found", quoted(prefix)))),
        (None, several) => {
            let line = "Prefix matched multiple plugins".to_string();
            Err(LookupError::Ambiguous { objects: Some(Objects::Plugins), line, list: listed(several) }.into())
        }
    }
}

impl PluginStatus {
    fn list(&self, c: &Connection, context: &mut Context<'_, '_>) -> CommandResult<u8> {
        let rows = rows(c, "")?;
        if self.format.wanted()? {
            return self.format.print(context.ui, &rows, "[]*api.CSIPluginListStub");
        }
        context.ui.output_markup("[bold]Container Storage Interface[reset]");
        if rows.is_empty() {
            context.ui.error("No CSI plugins");
        } else {
            context.ui.output(&listed(&rows));
        }
        Ok(0)
    }

    fn one(&self, c: &Connection, context: &mut Context<'_, '_>, prefix: &str) -> CommandResult<u8> {
        let id = find(c, prefix)?;
        let read = c.wait(c.client.get::<Value>(&encamp_api::path("/v1/plugin/csi/", &id, ""), &Query::default()));
        let (plugin, _) = read.context("Error querying plugin")?;
        if self.format.wanted()? {
            return self.format.print(context.ui, &plugin, "*api.CSIPlugin");
        }
        let count = |name: &str| number(&plugin, name).to_string();
        context.ui.output(&pairs(&[
            ("ID", text(&plugin, "ID").to_string()),
            ("Provider", text(&plugin, "Provider").into()),
            ("Version", text(&plugin, "Version").into()),
            ("Controllers Healthy", count("ControllersHealthy")),
            ("Controllers Expected", count("ControllersExpected")),
            ("Nodes Healthy", count("NodesHealthy")),
            ("Nodes Expected", count("NodesExpected")),
        ]));
        if !self.short {
            print_allocations(context, &plugin, self.verbose)?;
        }
        Ok(0)
    }
}
