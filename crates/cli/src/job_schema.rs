//! `job schema`: the JSON schema of job files in JSON (`docs/guide/editors.md`).

use super::general::LocalFlags;
use super::prelude::*;
use encamp_jobspec::reference::json_schema;

/// Print the JSON schema of job files in JSON
///
/// Prints a JSON schema of the job files that -json reads, for editors and pipelines. It is made from the types that the
/// program reads such files with. Members that no job has are refused, although servers ignore them: in a file that a
/// person writes, they are mistakes.
#[derive(Debug, clap::Parser)]
pub struct JobSchema {
    #[command(flatten)]
    pub(crate) local: LocalFlags,
}

impl Run for JobSchema {
    const META: Meta = Meta::new("job schema")
        .offline_examples(&[("Write the schema into a file", "encamp job schema > job.schema.json")]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.attempt(|context| {
            context.print_json(&json_schema())?;
            Ok(0)
        })
    }
}
