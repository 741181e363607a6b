//! `plugin status` (`docs/spec/cli.md §12.3`).

use super::print_allocations;
use crate::lookup::LookupError;
use crate::prelude::*;
use crate::render::table::{self, Columns, pairs};
use encamp_api::types::CsiPluginListStub;
use encamp_api::{Query, Received};
use encamp_model::{CsiPlugin, quoted};

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

type Row = Received<CsiPluginListStub>;

/// The CSI plugins whose ID begins so, the newest first.
fn rows(c: &Connection, prefix: &str) -> CommandResult<Vec<Row>> {
    let mut query = Query::default().with("type", "csi");
    if !prefix.is_empty() {
        query = query.with("prefix", prefix);
    }
    let read = c.wait(c.client.rows::<Row>("/v1/plugins", &query));
    let (mut rows, _) = read.context("Error querying CSI plugins")?;
    rows.retain(|row| row.id.starts_with(prefix));
    rows.sort_by(|a, b| (b.create_index, &a.id).cmp(&(a.create_index, &b.id)));
    Ok(rows)
}

fn listed(rows: &[Row]) -> String {
    let columns: &Columns<'_, Row> = &[
        ("ID", &|row| row.id.clone()),
        ("Provider", &|row| row.provider.clone()),
        ("Controllers Healthy/Expected", &|row| format!("{}/{}", row.controllers_healthy, row.controllers_expected)),
        ("Nodes Healthy/Expected", &|row| format!("{}/{}", row.nodes_healthy, row.nodes_expected)),
    ];
    table::columns(rows, columns)
}

/// The ID of the CSI plugin with this ID, or with an ID that begins so.
pub(super) fn find(c: &Connection, prefix: &str) -> CommandResult<String> {
    let found = rows(c, prefix)?;
    let exact = found.iter().find(|row| row.id == prefix);
    match (exact, found.as_slice()) {
        (Some(row), _) | (None, [row]) => Ok(row.id.clone()),
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
        let path = encamp_api::path("/v1/plugin/csi/", &id, "");
        let read = c.wait(c.client.get::<Received<CsiPlugin>>(&path, &Query::default()));
        let (plugin, _) = read.context("Error querying plugin")?;
        if self.format.wanted()? {
            return self.format.print(context.ui, &plugin, "*api.CSIPlugin");
        }
        context.ui.output(&pairs(&[
            ("ID", plugin.id.clone()),
            ("Provider", plugin.provider.clone()),
            ("Version", plugin.version.clone()),
            ("Controllers Healthy", plugin.controllers_healthy.to_string()),
            ("Controllers Expected", plugin.controllers_expected.to_string()),
            ("Nodes Healthy", plugin.nodes_healthy.to_string()),
            ("Nodes Expected", plugin.nodes_expected.to_string()),
        ]));
        if !self.short {
            print_allocations(context, &plugin.allocations, self.verbose);
        }
        Ok(0)
    }
}
