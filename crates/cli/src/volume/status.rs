//! `volume status` (`docs/spec/cli.md §12.3`).

use serde_json::{Value, json};

use super::print_allocations;
use crate::alloc::mount_options;
use crate::data::typed;
use crate::lookup::LookupError;
use crate::prelude::*;
use crate::render::table::{self, Columns, Form, headed, pairs, table};
use crate::render::values;
use encamp_api::types::VolumeListStub;
use encamp_api::{Query, Received};
use encamp_model::{AllocListStub, CsiTopology, CsiVolume, HostVolume, quoted};

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

/// A volume in a list.
pub(super) type Row = Received<VolumeListStub>;

/// The volumes that these parameters select, the newest first; parameters without a value count as not given.
fn rows(c: &Connection, kind: Kind, parameters: &[(&'static str, Option<&str>)]) -> CommandResult<Vec<Row>> {
    let mut query = Query::default().with("type", kind.names().0);
    for (name, value) in parameters {
        if let Some(value) = value.filter(|v| !v.is_empty()) {
            query = query.with(name, value);
        }
    }
    let read = c.wait(c.client.rows::<Row>("/v1/volumes", &query));
    let (mut rows, _) = read.context(format_args!("Error querying {} volumes", kind.names().1))?;
    rows.sort_by(|a, b| (b.create_index, &a.id).cmp(&(a.create_index, &b.id)));
    Ok(rows)
}

/// The only volume among rows, or the one with exactly this ID or name.
fn only<'r>(rows: &'r [Row], kind: Kind, prefix: &str, verbose: bool) -> CommandResult<Option<&'r Row>> {
    let exact = rows.iter().find(|row| row.id == prefix || row.name == prefix);
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
pub(super) fn find(c: &Connection, kind: Kind, prefix: &str) -> CommandResult<Row> {
    let rows = rows(c, kind, &[("prefix", Some(prefix))])?;
    let found = only(&rows, kind, prefix, false)?.cloned();
    found.ok_or_else(|| CommandError::new(not_found(kind, prefix)))
}

impl VolumeStatus {
    fn rows(&self, c: &Connection, kind: Kind, prefix: Option<&str>) -> CommandResult<Vec<Row>> {
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

    fn show(&self, c: &Connection, context: &mut Context<'_, '_>, kind: Kind, row: &Row) -> CommandResult<u8> {
        let to = encamp_api::path(&format!("/v1/volume/{}/", kind.names().0), &row.id, "");
        let query = Query::in_namespace(&row.namespace);
        let read = c.wait(c.client.get::<Value>(&to, &query));
        let (volume, _) = read.context(format_args!("Error querying {} volume", kind.names().1))?;
        if self.format.wanted()? {
            return self.format.print(context.ui, &volume, "*api.Volume");
        }
        let Shown { block, topologies, capabilities, allocations } = match kind {
            Kind::Host => Shown::host(typed(&volume)?),
            Kind::Csi => Shown::csi(typed(&volume)?),
        };
        context.ui.output(&block);
        if self.short {
            return Ok(0);
        }
        if !topologies.is_empty() {
            context.ui.section("Topologies", &topology_table(&topologies));
        }
        if !capabilities.is_empty() {
            let columns: &Columns<'_, [String; 2]> =
                &[("Access Mode", &|[access, _]| access.clone()), ("Attachment Mode", &|[_, mode]| mode.clone())];
            context.ui.section("Capabilities", &table::columns(&capabilities, columns));
        }
        print_allocations(context, &allocations, self.verbose);
        Ok(0)
    }
}

/// What the command shows of a volume.
struct Shown {
    /// The properties.
    block: String,
    topologies: Vec<CsiTopology>,
    /// The access mode and the attachment mode of each.
    capabilities: Vec<[String; 2]>,
    allocations: Vec<AllocListStub>,
}

impl Shown {
    fn host(volume: HostVolume) -> Shown {
        let block = host_block(&volume);
        let capabilities = volume.requested_capabilities.into_iter();
        let capabilities = capabilities.map(|c| [c.access_mode.to_string(), c.attachment_mode]).collect();
        Shown { block, topologies: Vec::new(), capabilities, allocations: volume.allocations }
    }

    fn csi(volume: CsiVolume) -> Shown {
        let block = csi_block(&volume);
        let capabilities = volume.requested_capabilities.into_iter();
        let capabilities = capabilities.map(|c| [c.access_mode.to_string(), c.attachment_mode]).collect();
        Shown { block, topologies: volume.topologies, capabilities, allocations: volume.allocations }
    }
}

fn listed(kind: Kind, rows: &[Row], verbose: bool) -> String {
    let columns: &Columns<'_, Row> = match kind {
        Kind::Host => &[
            ("ID", &|row| values::id(&row.id, verbose).into()),
            ("Name", &|row| row.name.clone()),
            ("Namespace", &|row| row.namespace.clone()),
            ("Plugin ID", &|row| row.plugin_id.clone()),
            ("Node ID", &|row| values::id(&row.node_id, verbose).into()),
            ("Node Pool", &|row| row.node_pool.clone()),
            ("State", &|row| row.state.to_string()),
        ],
        Kind::Csi => &[
            ("ID", &|row| row.id.clone()),
            ("Name", &|row| row.name.clone()),
            ("Namespace", &|row| row.namespace.clone()),
            ("Plugin ID", &|row| row.plugin_id.clone()),
            ("Schedulable", &|row| row.schedulable.to_string()),
            ("Access Mode", &|row| row.access_mode.clone()),
        ],
    };
    table::columns(rows, columns)
}

/// A size in bytes, with its unit.
fn size(bytes: i64) -> String {
    values::bytes(u64::try_from(bytes).unwrap_or(0))
}

/// A host volume with its properties, one per line.
pub(crate) fn host_block(volume: &HostVolume) -> String {
    pairs(&[
        ("ID", volume.id.clone()),
        ("Name", volume.name.clone()),
        ("Namespace", volume.namespace.clone()),
        ("Plugin ID", volume.plugin_id.clone()),
        ("Node ID", volume.node_id.clone()),
        ("Node Pool", volume.node_pool.clone()),
        ("Capacity", size(volume.capacity_bytes)),
        ("State", volume.state.to_string()),
        ("Host Path", volume.host_path.clone()),
    ])
}

fn csi_block(volume: &CsiVolume) -> String {
    pairs(&[
        ("ID", volume.id.clone()),
        ("Name", volume.name.clone()),
        ("Namespace", volume.namespace.clone()),
        ("External ID", volume.external_id.clone()),
        ("Plugin ID", volume.plugin_id.clone()),
        ("Provider", volume.provider.clone()),
        ("Version", volume.provider_version.clone()),
        ("Capacity", size(volume.capacity)),
        ("Schedulable", volume.schedulable.to_string()),
        ("Controllers Healthy", volume.controllers_healthy.to_string()),
        ("Controllers Expected", volume.controllers_expected.to_string()),
        ("Nodes Healthy", volume.nodes_healthy.to_string()),
        ("Nodes Expected", volume.nodes_expected.to_string()),
        ("Access Mode", volume.access_mode.to_string()),
        ("Attachment Mode", volume.attachment_mode.clone()),
        ("Mount Options", volume.mount_options.as_ref().map(mount_options).unwrap_or_default()),
    ])
}

fn topology_table(topologies: &[CsiTopology]) -> String {
    let rows = topologies.iter().enumerate().map(|(i, topology)| {
        let segments: Vec<String> = topology.segments.iter().map(|(key, value)| format!("{key}={value}")).collect();
        format!("{i:02}|{}", segments.join(", "))
    });
    table(&headed("Topology|Segments", rows), Form::List)
}
