//! `job convert`: writes a job in JSON as a job file (`docs/spec/cli.md §15.4`).

use super::prelude::*;
use super::spec_file;
use encamp_jobspec::canonicalize::canonicalize;
use encamp_jobspec::parse::parse_json;
use encamp_jobspec::write::{Written, write};
use encamp_model::{api, quoted};

/// Exit code of a job file that is not the same job.
const DIFFERS: u8 = 2;

/// Convert a job from JSON to a job file in HCL
///
/// Reads a job as the HTTP API has it, with or without the "Job" key around it, and prints a job file that parses back
/// to the same job. Values that may be left out are marked "# default". What servers set, such as versions, indexes and
/// statuses, is left out.
///
/// The path is a file, or - for standard input. The job file is parsed again before it is printed; a warning names what
/// HCL cannot express.
#[derive(Debug, clap::Parser)]
pub struct JobConvert {
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "path", add = CompleteWith::Files(Files::Named(&["json"])))]
    pub(crate) path: String,
}

impl Run for JobConvert {
    const META: Meta = Meta::new("job convert")
        .exit_status(&[
            (0, "The printed job file is the same job."),
            (1, "An error occurred."),
            (2, "HCL cannot express all of the job; a warning names the differences."),
        ])
        .offline_examples(&[
            ("Convert a job from JSON to a job file", "encamp job convert web.json > converted.nomad.hcl"),
            (
                "Convert the JSON that another command prints",
                "encamp job run -output web.nomad.hcl | encamp job convert -",
            ),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let path = &self.path;
        context.attempt(|context| {
            let job = read(&spec_file::read(path, context.env)?, path)?;
            let written = write(&job).map_err(CommandError::new).context("The job cannot be written as a job file")?;
            Ok(print(&written, context))
        })
    }
}

/// Reads a job in JSON.
fn read(bytes: &[u8], path: &str) -> CommandResult<api::Job> {
    let starts_as_json = bytes.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'{');
    if !starts_as_json {
        let why = "it does not start with {. Job files in HCL need no conversion";
        return Err(CommandError::new(format!("{path:?} is not a job in JSON: {why}")));
    }
    let mut job = parse_json(bytes).map_err(CommandError::new)?;
    if job.id.as_deref().unwrap_or_default().is_empty() {
        return Err(CommandError::new(format!("{path:?} is not a job: it has no ID")));
    }
    canonicalize(&mut job);
    Ok(job)
}

/// Prints a job file and warns of what it does not say; the exit code.
pub(super) fn print(written: &Written, context: &mut Context<'_, '_>) -> u8 {
    context.ui.output(written.text.trim_end());
    if written.lost.is_empty() {
        return 0;
    }
    let lost: Vec<String> = written.lost.iter().map(|path| quoted(path).to_string()).collect();
    context.ui.warn(&format!("HCL cannot express all of the job. The job file differs in: {}", lost.join(", ")));
    DIFFERS
}
