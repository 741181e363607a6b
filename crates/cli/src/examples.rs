//! The example files that `… init` commands write.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

use super::completion::values::CompleteWith;
use super::context::Context;
use super::general::GeneralFlags;
use super::job_file::cause;
use encamp_model::quoted;

/// The flags and the argument of commands that write an example in either format.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct InitFlags {
    /// Format of the file: hcl or json
    #[arg(long, value_name = "format", default_value = "hcl", add = CompleteWith::Words(&["hcl", "json"]))]
    pub(crate) out: String,
    /// Write the example without comments
    #[arg(long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "filename", add = CompleteWith::DIRECTORIES)]
    pub(crate) optional_args: Vec<String>,
}

impl InitFlags {
    /// Writes the example that the flags select.
    pub(crate) fn write(&self, context: &mut Context<'_, '_>, files: &Files) -> u8 {
        write(context, files, &self.out, self.quiet, &self.optional_args)
    }
}

/// An example in two formats.
pub struct Files {
    /// Name and text in HCL.
    pub hcl: (&'static str, &'static str),
    /// Name and text in JSON.
    pub json: (&'static str, &'static str),
    /// The kind of object that the file specifies.
    pub what: &'static str,
}

/// Writes an example; an existing file is not overwritten.
pub fn write(context: &mut Context<'_, '_>, files: &Files, format: &str, quiet: bool, args: &[String]) -> u8 {
    let (default, text) = match format {
        "hcl" => files.hcl,
        "json" => files.json,
        _ => return context.usage_error("Invalid value for \"-out\"; valid values are [hcl, json]"),
    };
    let name = match args {
        [] => default,
        [name] => name.as_str(),
        _ => return context.usage_error("This command takes no arguments or one: <filename>"),
    };
    let text = if quiet { without_comments(text) } else { text.to_string() };
    match write_new(&context.env.directory.join(name), &text) {
        Ok(()) => {
            context.ui.output(&format!("Example {} specification written to {name}", files.what));
            0
        }
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
            context.failure(&format!("File {} already exists", quoted(name)))
        }
        Err(e) => context.failure(&format!("Failed to write {}: {}", quoted(name), cause(&e))),
    }
}

/// Writes a file that must not exist. A file that could not be written in full is removed.
pub fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    if written.is_err() {
        // The error that is reported is the first one.
        let _ = std::fs::remove_file(path);
    }
    written
}

/// The text without lines that contain only comments.
fn without_comments(text: &str) -> String {
    text.lines().filter(|line| !line.trim_start().starts_with('#')).map(|line| format!("{line}\n")).collect()
}
