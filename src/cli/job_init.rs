//! `job init`: writes an example job file (`spec/cli.md §8.11`).

use std::io::Write;

use super::context::Context;
use super::general::GeneralFlags;
use super::job_file::cause;
use super::registry::Run;

/// The file that is written unless another is named.
const DEFAULT_NAME: &str = "example.nomad.hcl";

/// Write an example job file
///
/// Creates a job file to start from. Without an argument it is called example.nomad.hcl. A file that exists is left alone.
#[derive(Debug, clap::Parser)]
pub struct JobInit {
    /// Write the example without comments
    #[arg(long)]
    pub short: bool,
    /// Write an example whose service is part of a Consul service mesh
    #[arg(long)]
    pub connect: bool,
    #[command(flatten)]
    pub general: GeneralFlags,
    #[arg(value_name = "filename")]
    pub optional_args: Vec<String>,
}

impl JobInit {
    fn text(&self) -> String {
        let text =
            if self.connect { include_str!("examples/connect.hcl") } else { include_str!("examples/example.hcl") };
        if self.short { without_comments(text) } else { text.into() }
    }
}

/// The text without whole-line comments and the empty lines around them.
fn without_comments(text: &str) -> String {
    let mut out: Vec<&str> = Vec::new();
    let mut after_comment = false;
    for line in text.lines() {
        let comment = line.trim_start().starts_with('#');
        let empty = line.trim().is_empty();
        let opens = out.last().is_none_or(|l| l.trim().is_empty() || l.ends_with('{'));
        if !comment && !(empty && (after_comment || opens)) {
            out.push(line);
        }
        after_comment = comment;
    }
    let mut text = out.join("\n");
    text.push('\n');
    text
}

impl Run for JobInit {
    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let name = match self.optional_args.as_slice() {
            [] => DEFAULT_NAME,
            [name] => name,
            _ => return context.usage_error("This command takes no arguments or one: <filename>"),
        };
        let file = std::fs::OpenOptions::new().write(true).create_new(true).open(context.env.directory.join(name));
        let written = file.and_then(|mut f| f.write_all(self.text().as_bytes()).and_then(|()| f.sync_all()));
        match written {
            Ok(()) => {
                context.ui.output(&format!("Example job file written to {name}"));
                0
            }
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
                context.failure(&format!("Job '{name}' already exists"))
            }
            Err(e) => context.failure(&format!("Failed to write '{name}': {}", cause(&e))),
        }
    }
}
