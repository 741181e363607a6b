//! `snapshot fetch`: writes the state of a running cluster to a file.

use super::cluster::FetchFlags;
use super::prelude::*;
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
        context.attempt(|context| {
            let client = self.general.client(context.env)?;
            let Fetched { file, report, .. } = self.fetch.fetch(&client, Detail::Everything, context.env)?;
            let size = save::save_private(&path, &file).context(format_args!("Error writing {out:?}"))?;
            for missing in &report.missing {
                context.ui.warn(&format!("Partial data: {missing}"));
            }
            let (jobs, allocations) = (file.jobs.len(), file.allocations.len());
            if !self.json {
                context.ui.output(&report.summary());
                let content = format!("{jobs} job versions, {allocations} allocations, {size} bytes");
                context.ui.output(&format!("Wrote {out}: {content}"));
                return Ok(0);
            }
            context.print_json(&serde_json::json!({
                "SchemaVersion": 1,
                "File": out,
                "Bytes": size,
                "Source": file.source,
                "Index": file.index,
                "FirstIndex": report.indexes.0,
                "Nodes": report.nodes,
                "Jobs": jobs,
                "Allocations": allocations,
                "Requests": report.requests,
                "Read": report.read,
                "Unchanged": report.kept,
                "Moved": report.moved,
                "Unsettled": report.unsettled,
                "Missing": report.missing,
            }))?;
            Ok(0)
        })
    }
}
