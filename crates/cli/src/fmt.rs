//! `fmt`: formats job files and configuration files (`docs/spec/cli.md §15.4`).

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};

use super::command::Run;
use super::command_meta::Meta;
use super::completion::values::{CompleteWith, Files};
use super::context::Context;
use super::diagnostics::{DiagnosticsFormat, Refused};
use super::error::CommandError;
use super::flags::FlagKind;
use super::general::GeneralFlags;
use super::job_file::cause;
use encamp_jobspec::admission::error_list;
use encamp_jobspec::explain;
use encamp_jobspec::fmt::format;
use encamp_snapshot::replace::replace;

/// Rewrite job files in the standard format
///
/// Rewrites job files and other HCL files in the standard format: indentation, spacing and alignment. Only white space
/// is changed: comments, empty lines and heredocs are preserved, and so is the meaning of the files. Files with syntax
/// errors are not changed.
///
/// A path is a file whose name ends in .nomad or .hcl, or a directory with such files; the default is the current
/// directory. With - as the only path, standard input is read and the result is written to standard output.
#[derive(Debug, clap::Parser)]
pub struct Fmt {
    /// Write nothing; exit with code 1 if a file would change
    #[arg(long)]
    pub check: bool,
    /// Print the names of files that change. With neither -list nor -write, the result is written to standard output
    #[arg(long, switch = Some(true))]
    pub list: bool,
    /// Write the result into the files
    #[arg(long, switch = Some(true))]
    pub write: bool,
    /// Process subdirectories as well
    #[arg(long)]
    pub recursive: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "[path]...", add = CompleteWith::Every(&CompleteWith::Files(Files::Named(&["hcl", "nomad"]))))]
    pub(crate) optional_args: Vec<String>,
}

/// The results so far.
#[derive(Default)]
struct Progress {
    /// Whether some file is not in the standard format.
    changed: bool,
    /// Whether a file has syntax errors, which were already reported.
    refused: bool,
    /// Other errors, which are reported at the end.
    errors: Vec<String>,
}

impl Run for Fmt {
    const META: Meta = Meta::new("fmt")
        .exit_status(&[
            (0, "The files are in the standard format, or were rewritten."),
            (1, "An error occurred or, with -check, a file is not in the standard format."),
        ])
        .offline_examples(&[
            ("Rewrite a job file in the standard format", "encamp fmt web.nomad.hcl"),
            (
                "List the files below a directory that are not in the standard format",
                "encamp fmt -check -recursive jobs",
            ),
            ("Format a job file from standard input", "encamp fmt - < web.nomad.hcl"),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let mut progress = Progress::default();
        match self.optional_args.as_slice() {
            [] => self.folder(".", context, &mut progress),
            [path] if path == "-" => self.standard_input(context, &mut progress),
            paths => paths.iter().for_each(|path| self.path(path, context, &mut progress)),
        }
        if !progress.errors.is_empty() {
            return context.usage_error(&error_list(&progress.errors));
        }
        u8::from(progress.refused || (self.check && progress.changed))
    }
}

impl Fmt {
    fn standard_input(&self, context: &mut Context<'_, '_>, progress: &mut Progress) {
        let mut content = Vec::new();
        if let Err(e) = io::stdin().lock().read_to_end(&mut content) {
            return progress.errors.push(format!("Error reading standard input: {}", cause(&e)));
        }
        if let Some(text) = formatted(&content, "stdin", context, progress) {
            progress.changed |= text.as_bytes() != content;
            context.ui.content(&text);
        }
    }

    /// A path of the command line.
    fn path(&self, path: &str, context: &mut Context<'_, '_>, progress: &mut Progress) {
        match std::fs::metadata(context.env.directory.join(path)) {
            Ok(metadata) if metadata.is_dir() => self.folder(path, context, progress),
            Ok(_) if !has_known_ending(path) => {
                progress.errors.push("Only .nomad and .hcl files can be processed using encamp fmt".into());
            }
            Ok(metadata) if !metadata.is_file() => progress.errors.push(format!("{path} is not a regular file")),
            Ok(_) => self.file(path, context, progress),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                progress.errors.push(format!("No file or directory at {path}"));
            }
            Err(e) => progress.errors.push(format!("Error reading {path}: {}", cause(&e))),
        }
    }

    fn folder(&self, path: &str, context: &mut Context<'_, '_>, progress: &mut Progress) {
        let folder = context.env.directory.join(path);
        let entries = std::fs::read_dir(&folder);
        let mut names: Vec<_> = match entries.and_then(|list| list.map(|e| Ok(e?.file_name())).collect()) {
            Ok(names) => names,
            Err(e) => return progress.errors.push(format!("Error reading {path}: {}", cause(&e))),
        };
        names.sort();
        for name in names {
            // Names that are not UTF-8 are skipped.
            let Some(name) = name.to_str() else { continue };
            let below: PathBuf = Path::new(path).join(name).components().filter(|c| *c != Component::CurDir).collect();
            let below = below.to_string_lossy();
            match kind_of(&folder.join(name)) {
                // Links to directories are not followed, because they may form cycles.
                Some((metadata, false)) if metadata.is_dir() && self.recursive => {
                    self.folder(&below, context, progress)
                }
                Some((metadata, _)) if metadata.is_file() && has_known_ending(name) && !name.starts_with(".#") => {
                    self.file(&below, context, progress);
                }
                _ => {}
            }
        }
    }

    fn file(&self, path: &str, context: &mut Context<'_, '_>, progress: &mut Progress) {
        let full = context.env.directory.join(path);
        let content = match std::fs::read(&full) {
            Ok(content) => content,
            Err(e) => return progress.errors.push(format!("Error reading {path}: {}", cause(&e))),
        };
        let Some(text) = formatted(&content, path, context, progress) else { return };
        let changes = text.as_bytes() != content;
        progress.changed |= changes;
        if changes && self.write && !self.check {
            // A file that is not writable must not be replaced either.
            let written = OpenOptions::new().write(true).open(&full);
            let written = written.and_then(|_| replace(&full, |file: &mut File| file.write_all(text.as_bytes())));
            if let Err(e) = written {
                return progress.errors.push(format!("Error writing {path}: {}", cause(&e)));
            }
        }
        if changes && self.list {
            context.ui.output(path);
        }
        if !self.list && !self.write {
            context.ui.content(&text);
        }
    }
}

/// The formatted text of a file, unless it has syntax errors, which are reported.
fn formatted(content: &[u8], name: &str, context: &mut Context<'_, '_>, progress: &mut Progress) -> Option<String> {
    match format(content, name) {
        Ok(text) => Some(text),
        Err(e) => {
            progress.refused = true;
            let error = CommandError::new(format!("Error parsing {name}:\n{e}"));
            context.refuse(Refused { error, findings: explain::parse_error(&e) }, DiagnosticsFormat::Text);
            None
        }
    }
}

fn has_known_ending(path: &str) -> bool {
    [".nomad", ".hcl"].iter().any(|ending| path.ends_with(ending))
}

/// The target of a path, and whether the path is a symbolic link. `None` for a dangling link.
fn kind_of(path: &Path) -> Option<(Metadata, bool)> {
    let link = std::fs::symlink_metadata(path).ok()?.is_symlink();
    Some((std::fs::metadata(path).ok()?, link))
}
