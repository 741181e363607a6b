//! `snapshot fetch`: writes the state of a running cluster to a file.

use super::cluster::FetchFlags;
use super::prelude::*;
use super::render::json;
use encamp_snapshot::live::{Detail, Fetched};
use encamp_snapshot::save;

/// Fetch a snapshot of a running cluster
///
/// Reads all state that is required for planning over the HTTP API and writes it to a file: nodes, jobs and their
/// versions, allocations, deployments, node pools, namespaces, volumes and the scheduler configuration. Objects that
/// have not changed since the last fetch come from the cache. Objects that change during the fetch are read again.
///
/// The file is compressed if its name ends in .zst or .gz. It is only readable by its owner, because it contains the
/// full job specifications, including secrets in their environments. See snapshot anonymize.
///
/// The token needs node read, operator read, node_pool read, and list-jobs, read-job, csi-read-volume and
/// host-volume-read on all namespaces.
#[derive(Debug, clap::Parser)]
pub struct SnapshotFetch {
    /// File to write
    #[arg(long, value_name = "file", add = CompleteWith::ANY_FILE)]
    pub out: Option<String>,
    /// Print a report of the fetch as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub(crate) fetch: FetchFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

impl Run for SnapshotFetch {
    const META: Meta = Meta::new("snapshot fetch").examples(&[
        ("Write the state of the running cluster to a compressed file", "encamp snapshot fetch -out cluster.json.zst"),
        ("Fetch it without the cache, and report as JSON", "encamp snapshot fetch -json -no-cache -out fresh.json.gz"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let Some(out) = self.out.as_deref().filter(|o| !o.is_empty()) else {
            return context.usage_error("This command needs -out <file>");
        };
        let path = context.env.directory.join(out);
        let client = match self.general.client(context.env) {
            Ok(client) => client,
            Err(e) => return context.report(&e),
        };
        let Fetched { file, report, .. } = match self.fetch.fetch(&client, Detail::Everything, context.env) {
            Ok(fetched) => fetched,
            Err(e) => return context.report(&e),
        };
        let size = match save::save_private(&path, &file) {
            Ok(size) => size,
            Err(e) => return context.failure(&format!("Error writing {out:?}: {e}")),
        };
        for missing in &report.missing {
            context.ui.warn(&format!("Partial data: {missing}"));
        }
        if self.json {
            let value = serde_json::json!({
                "SchemaVersion": 1,
                "File": out,
                "Bytes": size,
                "Source": file.source,
                "Index": file.index,
                "FirstIndex": report.indexes.0,
                "Nodes": report.nodes,
                "Jobs": file.jobs.len(),
                "Allocations": file.allocations.len(),
                "Requests": report.requests,
                "Read": report.read,
                "Unchanged": report.kept,
                "Moved": report.moved,
                "Unsettled": report.unsettled,
                "Missing": report.missing,
            });
            return match json::indented(&value) {
                Ok(text) => {
                    context.ui.output(&text);
                    0
                }
                Err(e) => context.failure(&e.to_string()),
            };
        }
        context.ui.output(&report.summary());
        let (jobs, allocations) = (file.jobs.len(), file.allocations.len());
        context.ui.output(&format!("Wrote {out}: {jobs} job versions, {allocations} allocations, {size} bytes"));
        0
    }
}
