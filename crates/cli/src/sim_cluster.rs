//! `sim cluster`: generates a cluster.

use std::collections::BTreeMap;
use std::io;

use super::command::Run;
use super::command_meta::Meta;
use super::completion::values::CompleteWith;
use super::context::{Context, Environment};
use super::error::{CommandError, CommandResult};
use super::flags::{InvalidFlag, parse_int};
use super::general::ColourFlags;
use super::job_file::cause;
use super::render::json;
use super::render::table::{Form, table};
use super::render::values::bytes;
use encamp_model::{Time, quoted};
use encamp_sim::cluster::{Cluster, ClusterOptions, EPOCH, cluster};
use encamp_sim::summary::Summary;
use encamp_snapshot::save::{self, Compression};

/// Generate a synthetic cluster snapshot
///
/// Generates a cluster with the given number of nodes and allocations and writes it to a snapshot file, for planning
/// with job plan -snapshot, benchmarks, demonstrations and tests. The cluster has several node classes, node pools,
/// datacenters and namespaces, GPUs, host volumes, jobs of all types and priorities with constraints, affinities and
/// spreads, full and nearly empty nodes, and some nodes that are draining, ineligible, down or disconnected. No node is
/// overcommitted.
///
/// The same flags generate the same file, byte for byte.
#[derive(Debug, clap::Parser)]
pub struct SimCluster {
    /// Number of nodes
    #[arg(long, value_name = "count", default_value = "100", value_parser = parse_int)]
    pub nodes: i64,
    /// Number of allocations, including completed and failed ones
    #[arg(long, value_name = "count", default_value = "1000", value_parser = parse_int)]
    pub allocs: i64,
    /// Seed of the generated data
    #[arg(long, value_name = "number", default_value = "1", value_parser = parse_int)]
    pub seed: i64,
    /// Time of the snapshot, in RFC 3339 format. Default: 2026-03-01T00:00:00Z
    #[arg(long, value_name = "time")]
    pub now: Option<String>,
    /// File to write, or - for standard output. A name that ends in .gz or .zst is compressed. Required
    #[arg(long, value_name = "file", add = CompleteWith::ANY_FILE)]
    pub out: Option<String>,
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub(crate) colours: ColourFlags,
}

impl SimCluster {
    fn options(&self) -> Result<ClusterOptions, InvalidFlag> {
        let count = |flag: &str, value: i64| {
            let wrong = |_| InvalidFlag::new(format_args!("-{flag} must not be negative: it is {value}"));
            usize::try_from(value).map_err(wrong)
        };
        let now = match &self.now {
            None => EPOCH,
            Some(text) => {
                let time = Time::parse(text).ok().and_then(Time::unix_nanos);
                // Times several years before and after it must be representable as well.
                let time = time.filter(|t| (0..=4_000_000_000_000_000_000).contains(t));
                let hint = "write it like 2026-03-01T00:00:00Z";
                let wrong = || InvalidFlag::new(format_args!("-now {} is not a time after 1970: {hint}", quoted(text)));
                time.ok_or_else(wrong)?
            }
        };
        Ok(ClusterOptions {
            nodes: count("nodes", self.nodes)?,
            allocs: count("allocs", self.allocs)?,
            // Any number is valid.
            seed: self.seed as u64,
            now,
        })
    }
}

impl Run for SimCluster {
    const META: Meta = Meta::new("sim cluster")
        .exit_status(&[(0, "The file was written."), (1, "An error occurred. No file is left behind.")])
        .offline_examples(&[
            ("Write the snapshot of a synthetic cluster", "encamp sim cluster -out cluster.json"),
            (
                "Write a compressed snapshot of a larger cluster, from another seed",
                "encamp sim cluster -nodes 500 -allocs 5000 -seed 7 \\
    -out large.json.zst",
            ),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let Some(out) = self.out.as_deref().filter(|o| !o.is_empty()) else {
            return context.usage_error("-out is required: the file to write, or - for standard output");
        };
        let options = match self.options() {
            Ok(options) => options,
            Err(e) => return context.usage_error(&e.to_string()),
        };
        let made = match cluster(&options) {
            Ok(made) => made,
            Err(e) => return context.failure(&format!("Error generating the cluster: {e}")),
        };
        let size = match write(&made, out, context) {
            Ok(size) => size,
            Err(e) if out == "-" && e.kind() == io::ErrorKind::BrokenPipe => return 0,
            Err(e) => return context.failure(&format!("Error writing {}: {}", quoted(out), cause(&e))),
        };
        let text = if self.json {
            match summary_json(&made.summary, out, size) {
                Ok(text) => text,
                Err(e) => return context.failure(&format!("Error formatting the data: {e}")),
            }
        } else {
            summary_text(&made.summary, out, size)
        };
        // The snapshot may be on standard output.
        if out == "-" {
            context.ui.error_plain(&text)
        } else {
            context.ui.output(&text)
        }
        0
    }
}

/// Writes the cluster and returns the size of the file; `None` for standard output.
fn write(made: &Cluster, out: &str, context: &mut Context<'_, '_>) -> io::Result<Option<u64>> {
    if out == "-" {
        return save::write(context.ui.stdout(), Compression::None, &made.file, made.allocations()).map(|()| None);
    }
    let env: &Environment = context.env;
    save::save(&env.directory.join(out), &made.file, made.allocations()).map(Some)
}

fn summary_json(summary: &Summary, out: &str, size: Option<u64>) -> CommandResult<String> {
    let mut value = serde_json::to_value(summary)?;
    if let Some(object) = value.as_object_mut() {
        object.insert("File".into(), out.into());
        object.insert("FileBytes".into(), size.into());
    }
    json::indented(&value).map_err(CommandError::new)
}

fn summary_text(summary: &Summary, out: &str, size: Option<u64>) -> String {
    let list = |map: &BTreeMap<String, usize>| {
        map.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
    };
    let file = match size {
        Some(size) => format!("{out}, {}", bytes(size)),
        None => "standard output".into(),
    };
    table(
        &[
            format!("File|{file}"),
            format!("Nodes|{}: {}", summary.nodes, list(&summary.nodes_by_condition)),
            format!("Classes|{}", list(&summary.nodes_by_class)),
            format!("Pools|{}", list(&summary.nodes_by_pool)),
            format!("Datacenters|{}", list(&summary.nodes_by_datacenter)),
            format!("Jobs|{}: {}", summary.jobs, list(&summary.jobs_by_type)),
            format!("Deployments|{} running", summary.running_deployments),
            format!("Allocations|{}: {}", summary.allocations, list(&summary.allocations_by_status)),
            format!("In use|CPU {} %, memory {} %", summary.cpu_percent, summary.memory_percent),
            format!("Nodes by use|above 90 %: {}, below 10 %: {}", summary.full_nodes, summary.nearly_empty_nodes),
        ],
        Form::KeyValue,
    )
}
