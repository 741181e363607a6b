//! `volume snapshot create`, `volume snapshot delete`, `volume snapshot list` (`docs/spec/cli.md §12.3`).

use serde_json::json;

use super::plugin;
use super::secrets::{SecretFlags, pairs};
use super::status::{Kind, find};
use crate::flags::parse_int;
use crate::format::page_from;
use crate::prelude::*;
use crate::render::table::{self, Columns};
use crate::render::values;
use encamp_api::Query;
use encamp_api::types::CsiSnapshots;
use encamp_model::CsiSnapshot;

/// The path of snapshots.
const SNAPSHOTS: &str = "/v1/volumes/snapshot";

/// Create a snapshot of a CSI volume
///
/// The arguments are the volume ID or a prefix of it, and, if the storage plugin takes it, a name for the snapshot.
#[derive(Debug, clap::Parser)]
pub struct VolumeSnapshotCreate {
    /// Parameter for the storage plugin as key=value; may be given several times
    #[arg(long, value_name = "key=value")]
    pub parameter: Vec<String>,
    #[command(flatten)]
    pub(crate) secrets: SecretFlags,
    /// Show full identifiers
    #[arg(long)]
    pub verbose: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "<volume> [name]", add = CompleteWith::Live(Objects::CsiVolumes))]
    pub(crate) args: Vec<String>,
}

impl Run for VolumeSnapshotCreate {
    const META: Meta = Meta::new("volume snapshot create").flag_error_note(FlagErrorNote::Arguments).examples(&[
        ("Create a snapshot of a CSI volume", "encamp volume snapshot create database"),
        (
            "Create a snapshot with a name and a parameter of the plugin",
            "encamp volume snapshot create -parameter tier=cold database nightly",
        ),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let (given, name) = match self.args.as_slice() {
            [volume] => (volume, ""),
            [volume, name] => (volume, name.as_str()),
            _ => return context.argument_error("This command takes one or two arguments: <volume> [name]"),
        };
        context.connected(&self.general, |c, context| {
            let (secrets, parameters) = (pairs("secret", &self.secrets.secret)?, pairs("parameter", &self.parameter)?);
            let volume = find(c, Kind::Csi, given)?;
            let body = json!({"Snapshots": [{
                "SourceVolumeID": volume.id,
                "Name": name,
                "PluginID": volume.plugin_id,
                "Secrets": secrets,
                "Parameters": parameters,
            }]});
            let query = Query::in_namespace(&volume.namespace);
            let done = c.wait(c.client.put::<_, CsiSnapshots>(SNAPSHOTS, &query, &body));
            let (answer, _) = done.context("Error creating snapshot")?;
            context.ui.output(&listed(&answer.snapshots, self.verbose, &c.zone));
            Ok(0)
        })
    }
}

fn listed(snapshots: &[CsiSnapshot], verbose: bool, zone: &jiff::tz::TimeZone) -> String {
    let id = |full: &str| -> String { if verbose { full.into() } else { full.chars().take(ID_WIDTH).collect() } };
    let columns: &Columns<'_, CsiSnapshot> = &[
        ("Snapshot ID", &|s| id(&s.id)),
        ("Volume ID", &|s| match s.external_source_volume_id.as_str() {
            "" => id(&s.source_volume_id),
            external => id(external),
        }),
        ("Size", &|s| values::bytes(u64::try_from(s.size_bytes).unwrap_or(0))),
        ("Create Time", &|s| values::time(s.create_time.saturating_mul(encamp_model::SECOND), zone)),
        ("Ready?", &|s| s.is_ready.to_string()),
    ];
    table::columns(snapshots, columns)
}

/// How much of an ID of the storage provider is shown.
const ID_WIDTH: usize = 40;

/// Delete a snapshot of a CSI volume
///
/// The arguments are the ID of the storage plugin and the ID of the snapshot.
#[derive(Debug, clap::Parser)]
pub struct VolumeSnapshotDelete {
    #[command(flatten)]
    pub(crate) secrets: SecretFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "<plugin> <snapshot>")]
    pub(crate) args: Vec<String>,
}

impl Run for VolumeSnapshotDelete {
    const META: Meta = Meta::new("volume snapshot delete").flag_error_note(FlagErrorNote::Arguments).examples(&[
        ("Delete a snapshot", "encamp volume snapshot delete ebs snap-0b12"),
        (
            "Delete a snapshot with a secret of the storage provider",
            "encamp volume snapshot delete -secret key=$ADMIN_TOKEN ebs snap-0b12",
        ),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let [plugin, snapshot] = self.args.as_slice() else {
            return context.usage_error("This command takes two arguments: <plugin> <snapshot>");
        };
        context.connected(&self.general, |c, context| {
            let query = Query::default().with("plugin_id", plugin).with("snapshot_id", snapshot);
            self.secrets.send(c, "DELETE", SNAPSHOTS.into(), query, "Error deleting snapshot")?;
            context.ui.output(&format!("Deleted snapshot {snapshot}"));
            Ok(0)
        })
    }
}

/// List the snapshots of a storage plugin
///
/// Lists the snapshots that a storage provider has, also those of volumes that the cluster does not know.
#[derive(Debug, clap::Parser)]
pub struct VolumeSnapshotList {
    /// ID of the storage plugin, or a prefix of it; required
    #[arg(long, value_name = "id")]
    pub plugin: Option<String>,
    /// Number of results per page
    #[arg(long, value_name = "n", default_value = "30", value_parser = parse_int)]
    pub per_page: i64,
    /// Token of the page to start from, as printed after the previous page
    #[arg(long, value_name = "token")]
    pub page_token: Option<String>,
    #[command(flatten)]
    pub(crate) secrets: SecretFlags,
    /// Show full identifiers
    #[arg(long)]
    pub verbose: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

impl Run for VolumeSnapshotList {
    const META: Meta = Meta::new("volume snapshot list").flag_error_note(FlagErrorNote::Arguments).examples(&[
        ("List the snapshots of a storage plugin", "encamp volume snapshot list -plugin ebs"),
        ("List the first ten snapshots with full IDs", "encamp volume snapshot list -plugin ebs -per-page 10 -verbose"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let Some(given) = self.plugin.as_deref().filter(|p| !p.is_empty()) else {
            return context.usage_error("The -plugin flag is required");
        };
        context.connected(&self.general, |c, context| {
            const FAILED: &str = "Error listing snapshots";
            let plugin = plugin::find(c, given)?;
            let mut query = Query::default().with("plugin_id", plugin).with("per_page", self.per_page.to_string());
            if let Some(token) = self.page_token.as_deref().filter(|t| !t.is_empty()) {
                query = query.with("next_token", token);
            }
            let answer = self.secrets.send(c, "GET", SNAPSHOTS.into(), query, FAILED)?;
            let answer: CsiSnapshots = serde_json::from_slice(&answer).context(FAILED)?;
            if answer.snapshots.is_empty() {
                context.ui.output("No snapshots found");
                return Ok(0);
            }
            context.ui.output(&listed(&answer.snapshots, self.verbose, &c.zone));
            page_from(context, &answer.next_token);
            Ok(0)
        })
    }
}
