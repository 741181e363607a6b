//! `volume status` (`docs/spec/cli.md §12.3`).

use serde_json::{Value, json};

use super::print_allocations;
use crate::command::Run;
use crate::command_meta::{FlagErrorNote, Meta};
use crate::completion::values::{CompleteWith, Objects};
use crate::connection::Connection;
use crate::context::Context;
use crate::data::{self, flag, list, number, text};
use crate::error::{CommandError, CommandResult, ErrorContext};
use crate::format::FormatFlags;
use crate::general::GeneralFlags;
use crate::lookup::LookupError;
use crate::render::table::{self, Columns, Form, pairs, table};
use crate::render::values;
use encamp_api::Query;
use encamp_model::quoted;

/// Display status information about volumes
///
/// Lists the dynamic host volumes and the CSI volumes of the cluster, or shows one of them. The argument is the volume
/// ID or a prefix of it.
#[derive(Debug, clap::Parser)]
pub struct VolumeStatus {
    /// List only volumes of this type: csi or host
    #[arg(long = "type", value_name = "type", add = CompleteWith::Words(&["csi", "host"]))]
    pub kind: Option<String>,
    /// Show brief output
    #[arg(long)]
    pub short: bool,
    /// Show full identifiers and timestamps
    #[arg(long)]
    pub verbose: bool,
    /// List only volumes on this node
    #[arg(long, value_name = "id")]
    pub node: Option<String>,
    /// List only host volumes of this node pool
    #[arg(long, value_name = "name")]
    pub node_pool: Option<String>,
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "id", add = CompleteWith::Live(Objects::Volumes))]
    pub(crate) optional_args: Vec<String>,
}

/// The kinds of volumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Dynamic host volumes.
    Host,
    /// CSI volumes.
    Csi,
}

impl Kind {
    /// The kind that a flag names.
    pub(super) fn parse(text: &str) -> Option<Kind> {
        match text {
            "host" => Some(Kind::Host),
            "csi" => Some(Kind::Csi),
            _ => None,
        }
    }

    /// The name in requests, the name in errors, and the heading of the list.
    fn names(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Kind::Host => ("host", "host", "Dynamic Host Volumes"),
            Kind::Csi => ("csi", "CSI", "Container Storage Interface"),
        }
    }
}

impl Run for VolumeStatus {
    const META: Meta = Meta::new("volume status").paged().flag_error_note(FlagErrorNote::Arguments).examples(&[
        ("List the volumes", "encamp volume status"),
        ("List the host volumes of a node pool", "encamp volume status -type host -node-pool default"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let kinds: &[Kind] = match self.kind.as_deref().unwrap_or_default() {
            "" => &[Kind::Host, Kind::Csi],
            "host" => &[Kind::Host],
            "csi" => &[Kind::Csi],
            other => return context.failure(&format!("Error unknown volume type: {other}")),
        };
        match self.optional_args.as_slice() {
            [] => context.connected(&self.general, |c, context| self.list(c, context, kinds)),
            [prefix] => context.connected(&self.general, |c, context| self.one(c, context, kinds, prefix)),
            _ => context.usage_error("This command takes either no arguments or one: <id>"),
        }
    }
}

/// The volumes that these parameters select, the newest first; parameters without a value count as not given.
fn rows(c: &Connection, kind: Kind, parameters: &[(&'static str, Option<&str>)]) -> CommandResult<Vec<Value>> {
    let mut query = Query::default().with("type", kind.names().0);
    for (name, value) in parameters {
        if let Some(value) = value.filter(|v| !v.is_empty()) {
            query = query.with(name, value);
        }
    }
    let read = c.wait(c.client.rows::<Value>("/v1/volumes", &query));
    let (mut rows, _) = read.context(format_args!("Error querying {} volumes", kind.names().1))?;
    data::newest_first(&mut rows);
    Ok(rows)
}

/// The only volume among rows, or the one with exactly this ID or name.
fn only<'r>(rows: &'r [Value], kind: Kind, prefix: &str, verbose: bool) -> CommandResult<Option<&'r Value>> {
    let exact = rows.iter().find(|row| text(row, "ID") == prefix || text(row, "Name") == prefix);
    match (exact, rows) {
        (Some(row), _) | (None, [row]) => Ok(Some(row)),
        (None, []) => Ok(None),
        (None, several) => {
            let line = "Prefix matched multiple volumes".to_string();
            let list = listed(kind, several, verbose);
            Err(LookupError::Ambiguous { objects: Some(Objects::Volumes), line, list }.into())
        }
    }
}

fn not_found(kind: Kind, prefix: &str) -> String {
    let (name, id) = (kind.names().1, quoted(prefix));
    format!("Error listing {name} volumes: no volumes with prefix or ID {id} found")
}

/// The list entry of the volume with this ID, or with an ID or name that begins so.
pub(super) fn find(c: &Connection, kind: Kind, prefix: &str) -> CommandResult<Value> {
    let rows = rows(c, kind, &[("prefix", Some(prefix))])?;
    let found = only(&rows, kind, prefix, false)?.cloned();
    found.ok_or_else(|| CommandError::new(not_found(kind, prefix)))
}

impl VolumeStatus {
    fn rows(&self, c: &Connection, kind: Kind, prefix: Option<&str>) -> CommandResult<Vec<Value>> {
        let parameters = [
            ("node_id", self.node.as_deref()),
            ("node_pool", self.node_pool.as_deref().filter(|_| kind == Kind::Host)),
            ("prefix", prefix),
        ];
        rows(c, kind, &parameters)
    }

    fn list(&self, c: &Connection, context: &mut Context<'_, '_>, kinds: &[Kind]) -> CommandResult<u8> {
        if self.format.wanted()? {
            let mut all = Vec::new();
            for kind in kinds {
                all.push(self.rows(c, *kind, None)?);
            }
            let value = match all.as_slice() {
                [only] => json!(only),
                both => json!({"HostVolumes": both.first(), "CSIVolumes": both.get(1)}),
            };
            return self.format.print(context.ui, &value, "[]*api.VolumeListStub");
        }
        for (i, kind) in kinds.iter().enumerate() {
            if i > 0 {
                context.ui.output("");
            }
            let rows = self.rows(c, *kind, None)?;
            context.ui.output_markup(&format!("[bold]{}[reset]", kind.names().2));
            match (rows.is_empty(), kind) {
                (false, _) => context.ui.output(&listed(*kind, &rows, self.verbose)),
                (true, Kind::Host) => context.ui.error("No dynamic host volumes"),
                (true, Kind::Csi) => context.ui.error("No CSI volumes"),
            }
        }
        Ok(0)
    }

    fn one(&self, c: &Connection, context: &mut Context<'_, '_>, kinds: &[Kind], prefix: &str) -> CommandResult<u8> {
        let mut missing = Vec::new();
        for kind in kinds {
            let rows = self.rows(c, *kind, Some(prefix))?;
            match only(&rows, *kind, prefix, self.verbose)? {
                Some(row) => return self.show(c, context, *kind, row),
                None => missing.push(not_found(*kind, prefix)),
            }
        }
        Err(CommandError::new(missing.join("\n")))
    }

    fn show(&self, c: &Connection, context: &mut Context<'_, '_>, kind: Kind, row: &Value) -> CommandResult<u8> {
        let to = encamp_api::path(&format!("/v1/volume/{}/", kind.names().0), text(row, "ID"), "");
        let query = Query::in_namespace(text(row, "Namespace"));
        let read = c.wait(c.client.get::<Value>(&to, &query));
        let (volume, _) = read.context(format_args!("Error querying {} volume", kind.names().1))?;
        if self.format.wanted()? {
            return self.format.print(context.ui, &volume, "*api.Volume");
        }
        let block = match kind {
            Kind::Host => host_block(&volume),
            Kind::Csi => csi_block(&volume),
        };
        context.ui.output(&block);
        if self.short {
            return Ok(0);
        }
        let topologies = list(&volume, "Topologies");
        if !topologies.is_empty() {
            context.ui.output_markup("\n[bold]Topologies[reset]");
            context.ui.output(&topology_table(topologies));
        }
        let capabilities = list(&volume, "RequestedCapabilities");
        if !capabilities.is_empty() {
            let mut lines = vec!["Access Mode|Attachment Mode".to_string()];
            lines.extend(
                capabilities.iter().map(|c| format!("{}|{}", text(c, "AccessMode"), text(c, "AttachmentMode"))),
            );
            context.ui.output_markup("\n[bold]Capabilities[reset]");
            context.ui.output(&table(&lines, Form::List));
        }
        print_allocations(context, &volume, self.verbose)?;
        Ok(0)
    }
}

fn listed(kind: Kind, rows: &[Value], verbose: bool) -> String {
    let columns: &Columns<'_, Value> = match kind {
        Kind::Host => &[
            ("ID", &|row| values::id(text(row, "ID"), verbose).into()),
            ("Name", &|row| text(row, "Name").into()),
            ("Namespace", &|row| text(row, "Namespace").into()),
            ("Plugin ID", &|row| text(row, "PluginID").into()),
            ("Node ID", &|row| values::id(text(row, "NodeID"), verbose).into()),
            ("Node Pool", &|row| text(row, "NodePool").into()),
            ("State", &|row| text(row, "State").into()),
        ],
        Kind::Csi => &[
            ("ID", &|row| text(row, "ID").into()),
            ("Name", &|row| text(row, "Name").into()),
            ("Namespace", &|row| text(row, "Namespace").into()),
            ("Plugin ID", &|row| text(row, "PluginID").into()),
            ("Schedulable", &|row| flag(row, "Schedulable").to_string()),
            ("Access Mode", &|row| text(row, "AccessMode").into()),
        ],
    };
    table::columns(rows, columns)
}

fn size(volume: &Value, name: &str) -> String {
    values::bytes(u64::try_from(number(volume, name)).unwrap_or(0))
}

/// A host volume with its properties, one per line.
pub(crate) fn host_block(volume: &Value) -> String {
    let own = |name: &str| text(volume, name).to_string();
    pairs(&[
        ("ID", own("ID")),
        ("Name", own("Name")),
        ("Namespace", own("Namespace")),
        ("Plugin ID", own("PluginID")),
        ("Node ID", own("NodeID")),
        ("Node Pool", own("NodePool")),
        ("Capacity", size(volume, "CapacityBytes")),
        ("State", own("State")),
        ("Host Path", own("HostPath")),
    ])
}

fn csi_block(volume: &Value) -> String {
    let own = |name: &str| text(volume, name).to_string();
    let count = |name: &str| number(volume, name).to_string();
    let options = volume.get("MountOptions").filter(|o| o.is_object());
    // Flags of mounts may hold secrets.
    let options = options.map(|o| {
        let kind = Some(text(o, "FSType")).filter(|t| !t.is_empty()).map(|t| format!("fs_type: {t}"));
        let flags = (!list(o, "MountFlags").is_empty()).then(|| "flags: [REDACTED]".to_string());
        kind.into_iter().chain(flags).collect::<Vec<_>>().join(" ")
    });
    pairs(&[
        ("ID", own("ID")),
        ("Name", own("Name")),
        ("Namespace", own("Namespace")),
        ("External ID", own("ExternalID")),
        ("Plugin ID", own("PluginID")),
        ("Provider", own("Provider")),
        ("Version", own("ProviderVersion")),
        ("Capacity", size(volume, "Capacity")),
        ("Schedulable", flag(volume, "Schedulable").to_string()),
        ("Controllers Healthy", count("ControllersHealthy")),
        ("Controllers Expected", count("ControllersExpected")),
        ("Nodes Healthy", count("NodesHealthy")),
        ("Nodes Expected", count("NodesExpected")),
        ("Access Mode", own("AccessMode")),
        ("Attachment Mode", own("AttachmentMode")),
        ("Mount Options", options.unwrap_or_default()),
    ])
}

fn topology_table(topologies: &[Value]) -> String {
    let mut lines = vec!["Topology|Segments".to_string()];
    lines.extend(topologies.iter().enumerate().map(|(i, topology)| {
        let segments: Vec<String> = data::map(topology, "Segments")
            .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
            .collect();
        format!("{i:02}|{}", segments.join(", "))
    }));
    table(&lines, Form::List)
}
