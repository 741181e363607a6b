//! `snapshot index`: the side indexes of snapshot files.

use std::time::SystemTime;

use super::prelude::*;
use super::render::table::{Form, headed, table};
use super::render::values::{age, bytes};
use super::snapshot_indexes;

/// List or remove the side indexes of snapshot files
///
/// A command that plans on a large snapshot file writes a side index of it to the cache directory, so that the next one
/// needs less time. Shows these indexes, those that were used last first, or removes them with -clear. They are only
/// read by the same build of the program and if the content of the snapshot file is the same; at most 16 and 1 GiB are
/// kept.
#[derive(Debug, clap::Parser)]
pub struct SnapshotIndex {
    /// Remove all side indexes
    #[arg(long)]
    pub clear: bool,
    #[command(flatten)]
    pub(crate) local: LocalFlags,
}

impl Run for SnapshotIndex {
    const META: Meta = Meta::new("snapshot index").offline_examples(&[
        ("List the side indexes", "encamp snapshot index"),
        ("Remove the side indexes", "encamp snapshot index -clear"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.attempt(|context| {
            let folder = snapshot_indexes::folder(context.env)
                .ok_or_else(|| CommandError::new("There is no cache directory: HOME is not set"))?;
            if self.clear {
                let removed = folder.clear().context("Error removing side indexes")?;
                context.ui.output(&format!("Removed {removed} side indexes"));
                return Ok(0);
            }
            let nanos = |time: SystemTime| {
                let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
                i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
            };
            let row = |index: &encamp_snapshot::side_index::IndexFile| {
                let name = index.path.file_name().unwrap_or_default().to_string_lossy();
                format!("{name}|{}|{}", bytes(index.size), age(nanos(index.used), context.env.now))
            };
            let indexes = folder.list();
            if indexes.is_empty() {
                context.ui.output("No side indexes");
                return Ok(0);
            }
            let lines = table(&headed("File|Size|Used", indexes.iter().map(row)), Form::List);
            context.ui.output(&format!("Directory: {}\n\n{lines}", folder.path().display()));
            Ok(0)
        })
    }
}
