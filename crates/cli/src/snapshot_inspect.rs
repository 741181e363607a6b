//! `snapshot inspect`: summarises a snapshot file or a running cluster.

use std::collections::BTreeMap;
use std::fmt::Display;

use super::cluster::{FetchFlags, SnapshotFlags};
use super::prelude::*;
use super::render::table::{Form, headed, table};
use super::render::values::{age, bytes, megabytes};
use encamp_snapshot::inspect::{Amounts, Inspection, Tally, inspect};

/// Inspect a cluster snapshot
///
/// Shows the number and size of the objects in a snapshot file or a server backup by kind, the source and the time of
/// the state, missing data, and the versions of the nodes. For each node pool, shows nodes, capacity and usage of CPU,
/// memory, disk and devices, allocations by client status, and jobs by type and status. Without a file, the running
/// cluster is read.
///
/// Capacity and usage do not include nodes that are down. Sizes are those of an uncompressed file.
#[derive(Debug, clap::Parser)]
pub struct SnapshotInspect {
    /// Print everything as JSON, see docs/reference/snapshot-inspect.schema.json
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub(crate) fetch: FetchFlags,
    #[command(flatten)]
    pub(crate) reading: SnapshotFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "[file]", add = CompleteWith::ANY_FILE)]
    pub(crate) args: Vec<String>,
}

impl Run for SnapshotInspect {
    const META: Meta = Meta::new("snapshot inspect").flags_anywhere().paged().offline_examples(&[
        ("Summarize a snapshot", "encamp snapshot inspect fixtures/demo/cluster.json"),
        ("Print the summary as JSON", "encamp snapshot inspect -json fixtures/demo/cluster.json"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let file = match self.args.as_slice() {
            [] => None,
            [file] => Some(file.as_str()),
            _ => return context.usage_error("This command takes at most one argument: [file]"),
        };
        context.attempt(|context| {
            let env = context.env;
            let snapshot = self.fetch.load(file, &self.reading, &self.general, env)?;
            let inspection = inspect(&snapshot, env.now).map_err(CommandError::new)?;
            if self.json {
                context.print_json(&inspection)?;
                return Ok(0);
            }
            context.ui.output(&header(&inspection, env.now));
            for (heading, lines) in sections(&inspection) {
                context.ui.section(heading, &table(&lines, Form::List));
            }
            inspection.notes.iter().for_each(|note| context.ui.warn(&format!("Note: {note}")));
            Ok(0)
        })
    }
}

fn header(i: &Inspection, now: i64) -> String {
    let releases = i.client_versions.iter().map(|(version, nodes)| {
        let version = if version.is_empty() { "unknown" } else { version };
        format!("{version} on {nodes}")
    });
    let taken = i.taken_at.unix_nanos();
    table(
        &[
            format!("Source|{}", i.source),
            format!("Taken at|{}", taken.map(|_| i.taken_at.to_string()).unwrap_or_default()),
            format!("Age|{}", taken.map(|t| age(t, now)).unwrap_or_default()),
            format!("Index|{}", i.index),
            format!("Format|{}", i.format_version),
            format!("Size|{}", bytes(i.tables.iter().map(|t| t.bytes).sum())),
            format!("Client versions|{}", releases.collect::<Vec<_>>().join(", ")),
        ],
        Form::KeyValue,
    )
}

/// The tables: heading and lines. Empty tables are omitted.
fn sections(i: &Inspection) -> Vec<(&'static str, Vec<String>)> {
    let mut sections = vec![("Tables", tables(i)), ("Nodes", nodes(i)), ("Use", uses(i))];
    let devices = by_pool(i, "Pool|Device|Instances|Healthy|Used", |pool, t, lines| {
        for (name, d) in &t.devices {
            lines.push(format!("{pool}|{name}|{}|{}|{}", d.instances, d.healthy, d.used));
        }
    });
    let allocations =
        by_pool(i, "Pool|Client Status|Allocations", |pool, t, lines| counts(pool, &t.allocations, lines));
    let jobs = by_pool(i, "Pool|Type|Status|Jobs", |pool, t, lines| {
        for (kind, statuses) in &t.jobs {
            counts(&format!("{pool}|{kind}"), statuses, lines);
        }
    });
    sections.extend([("Devices", devices), ("Allocations", allocations), ("Jobs", jobs)]);
    if !i.homeless_allocations.is_empty() {
        let rows = i.homeless_allocations.iter().map(|(status, n)| format!("{status}|{n}"));
        sections.push(("Allocations on unknown nodes", headed("Client Status|Allocations", rows)));
    }
    sections.retain(|(_, lines)| lines.len() > 1);
    sections
}

fn by_pool(i: &Inspection, head: &str, add: impl Fn(&str, &Tally, &mut Vec<String>)) -> Vec<String> {
    let mut lines = vec![head.to_string()];
    i.pools.iter().for_each(|(name, tally)| add(name, tally, &mut lines));
    lines
}

fn counts<S: Display>(prefix: &str, counts: &BTreeMap<S, usize>, lines: &mut Vec<String>) {
    lines.extend(counts.iter().map(|(name, n)| format!("{prefix}|{name}|{n}")));
}

fn tables(i: &Inspection) -> Vec<String> {
    let rows = i.tables.iter().map(|t| format!("{}|{}|{}|{:.1}%", t.name, t.objects, bytes(t.bytes), t.percent));
    headed("Table|Objects|Size|Share", rows)
}

fn nodes(i: &Inspection) -> Vec<String> {
    let mut lines = vec!["Pool|Nodes|Ready|Ineligible|Draining|Down|Other".to_string()];
    let row = |name: &str, t: &Tally| {
        let n = t.nodes;
        format!("{name}|{}|{}|{}|{}|{}|{}", n.total, n.ready, n.ineligible, n.draining, n.down, n.other)
    };
    lines.extend(i.pools.iter().map(|(name, tally)| row(name, tally)));
    lines
}

fn uses(i: &Inspection) -> Vec<String> {
    let rows = i.pools.iter().map(|(name, t)| format!("{name}|{}", used(&t.used, &t.capacity)));
    headed("Pool|CPU|Memory|Disk", rows)
}

/// The usage of a capacity: `1500/8000 MHz (19%)|…|…`.
pub fn used(used: &Amounts, capacity: &Amounts) -> String {
    let share = |part: i64, whole: i64| match whole {
        ..=0 => String::new(),
        _ => format!(" ({}%)", i128::from(part) * 100 / i128::from(whole)),
    };
    let size = |part: i64, whole: i64| format!("{}/{}{}", megabytes(part), megabytes(whole), share(part, whole));
    format!(
        "{}/{} MHz{}|{}|{}",
        used.cpu,
        capacity.cpu,
        share(used.cpu, capacity.cpu),
        size(used.memory, capacity.memory),
        size(used.disk, capacity.disk)
    )
}
