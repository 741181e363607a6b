//! `setup man` and `setup completion`: install manual pages and completion scripts from the program alone
//! (`docs/spec/cli.md §15.6`).

use std::path::{Path, PathBuf};

use super::command::Registry;
use super::completion::Shell;
use super::job_file::cause;
use super::manual;
use super::prelude::*;

/// Install the manual pages
///
/// Writes the manual pages to the directory of manual pages of the user, ~/.local/share/man/man1, or of another
/// directory. Pages of an older version are replaced.
#[derive(Debug, clap::Parser)]
pub struct SetupMan {
    /// The directory to write the pages to
    #[arg(long, value_name = "directory", add = CompleteWith::DIRECTORIES)]
    pub directory: Option<String>,
}

/// Install the completion script of a shell
///
/// Writes the script for bash, zsh or fish to the directory in which the shell looks for scripts of the user, or to
/// another directory. zsh looks only in the directories of $fpath: put
/// fpath=(~/.local/share/zsh/site-functions $fpath) into ~/.zshrc, before compinit.
#[derive(Debug, clap::Parser)]
pub struct SetupCompletion {
    /// The directory to write the script to
    #[arg(long, value_name = "directory", add = CompleteWith::DIRECTORIES)]
    pub directory: Option<String>,
    #[arg(value_name = "shell", add = CompleteWith::Words(&["bash", "fish", "zsh"]))]
    pub name: String,
}

impl Run for SetupMan {
    const META: Meta = Meta::new("setup man").offline_examples(&[
        ("Install the manual pages for the current user", "encamp setup man"),
        ("Write the manual pages to a directory", "encamp setup man -directory man"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.attempt(|context| {
            let directory = chosen(self.directory.as_deref(), "share/man/man1", context.env)?;
            let pages = manual::pages(&Registry::new());
            for (name, text) in &pages {
                put(&directory, name, text)?;
            }
            context.ui.output(&format!("{} manual pages written to {}", pages.len(), directory.display()));
            Ok(0)
        })
    }
}

impl Run for SetupCompletion {
    const META: Meta = Meta::new("setup completion").offline_examples(&[
        ("Install the completion script of fish for the current user", "encamp setup completion fish"),
        ("Write the completion script of zsh to a directory", "encamp setup completion -directory functions zsh"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let Some(shell) = Shell::parse(&self.name) else {
            let name = &self.name;
            return context.usage_error(&format!("Unknown shell {name:?}: it is one of bash, zsh and fish"));
        };
        let (below, file) = match shell {
            Shell::Bash => ("share/bash-completion/completions", "encamp"),
            Shell::Zsh => ("share/zsh/site-functions", "_encamp"),
            Shell::Fish => ("share/fish/vendor_completions.d", "encamp.fish"),
        };
        context.attempt(|context| {
            let directory = chosen(self.directory.as_deref(), below, context.env)?;
            put(&directory, file, shell.script())?;
            context.ui.output(&format!("Completion script written to {}", directory.join(file).display()));
            Ok(0)
        })
    }
}

/// The given directory, or one below `~/.local`.
fn chosen(given: Option<&str>, below: &str, env: &Environment) -> CommandResult<PathBuf> {
    if let Some(given) = given {
        return Ok(env.directory.join(given));
    }
    match env.var("HOME").filter(|home| !home.is_empty()) {
        Some(home) => Ok(Path::new(home).join(".local").join(below)),
        None => Err(CommandError::new("HOME is not set: name a directory with -directory")),
    }
}

/// Writes a file, and the directories above it.
fn put(directory: &Path, name: &str, text: &str) -> CommandResult<()> {
    let file = directory.join(name);
    let written = std::fs::create_dir_all(directory).and_then(|()| std::fs::write(&file, text));
    written.map_err(|e| CommandError::new(format!("Failed to write {}: {}", file.display(), cause(&e))))
}
