//! A snapshot file or server backup behind an interface: its state answers API requests, and commands read the file.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{Request, Response};
use encamp_agent::frozen::FrozenApi;
use encamp_model::SecretString;
use encamp_ui::command::{Commands, Invocation};
use encamp_ui::{Cluster, CommandOutput, NoCommand, Source, Unreachable};
use futures_util::future::BoxFuture;
use tokio::runtime::Runtime;

use super::shown;
use crate::cluster::SnapshotFlags;
use crate::command::Registry;
use crate::context::Context;
use crate::error::{CommandResult, ErrorContext};
use crate::file_state::FileState;

/// A file.
pub(super) struct FileCluster {
    api: FrozenApi,
    source: Source,
    commands: Commands,
    /// What commands have of the environment.
    environment: Vec<(&'static str, OsString)>,
    directory: PathBuf,
    /// The flags that make a command read the file.
    flags: Vec<String>,
    registry: Registry,
}

impl FileCluster {
    /// Reads a file. `place`: the directory and the environment of commands about it.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) fn open(
        context: &mut Context<'_, '_>,
        name: &str,
        reading: &SnapshotFlags,
        runtime: &Runtime,
        commands: Commands,
        (directory, environment): (PathBuf, Vec<(&'static str, OsString)>),
    ) -> CommandResult<Arc<FileCluster>> {
        let state = FileState::read(name, reading, context.env)?;
        state.notes.iter().for_each(|note| context.ui.warn(note));
        let api = runtime.block_on(FrozenApi::start(state.store, state.now)).context("Error reading snapshot")?;
        let mut flags = vec![format!("-snapshot={}", context.env.directory.join(name).display())];
        flags.extend(reading.ignore_unknown_tables.then(|| "-ignore-unknown-tables".to_string()));
        Ok(Arc::new(FileCluster {
            api,
            source: Source::File { name: shown(name), taken: state.taken.unwrap_or(0) },
            commands,
            environment,
            directory,
            flags,
            registry: Registry::new(),
        }))
    }

    /// Stops what answers requests.
    pub(super) async fn stop(&self) {
        self.api.stop().await;
    }
}

/// The arguments with the flags for the file behind the words of the command, if the command has such flags.
///
/// # Errors
/// The command would ask a cluster: the one of the environment, which is not that of the file.
fn about_file(registry: &Registry, file: &[String], arguments: Vec<String>) -> Result<Vec<String>, NoCommand> {
    let Some((words, name)) = registry.longest_name(&arguments) else { return Ok(arguments) };
    let flags: Vec<String> = registry.get(&name).into_iter().flat_map(|c| longs(c.clap())).collect();
    let has = |flag: &str| flags.iter().any(|f| f == flag);
    // It only prints what it would register.
    let prints = has("output") && arguments.iter().any(|a| a == "-output");
    if has("snapshot") {
        let (words, rest) = arguments.split_at(words.min(arguments.len()));
        Ok(words.iter().chain(file).chain(rest).cloned().collect())
    } else if has("address") && !prints {
        Err(NoCommand::NeedsCluster(name))
    } else {
        Ok(arguments)
    }
}

/// The long flags of a command.
fn longs(command: &clap::Command) -> Vec<String> {
    command.get_arguments().filter_map(|a| a.get_long().map(str::to_string)).collect()
}

impl Cluster for FileCluster {
    fn source(&self) -> &Source {
        &self.source
    }

    fn send(&self, request: Request<Body>) -> BoxFuture<'_, Result<Response<Body>, Unreachable>> {
        Box::pin(async move { Ok(self.api.respond(request).await) })
    }

    fn run(
        &self,
        _: SecretString,
        arguments: Vec<String>,
        input: Vec<u8>,
    ) -> BoxFuture<'_, Result<CommandOutput, NoCommand>> {
        Box::pin(async move {
            let arguments = about_file(&self.registry, &self.flags, arguments)?;
            let (environment, directory) = (self.environment.clone(), self.directory.clone());
            self.commands.run(Invocation { arguments, environment, directory, input }).await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_ask_the_file_or_nothing() {
        let (registry, file) = (Registry::new(), vec!["-snapshot=c.json".to_string()]);
        let of = |line: &str| about_file(&registry, &file, line.split(' ').map(str::to_string).collect());
        let given = |line: &str| of(line).expect("a command for files").join(" ");
        assert_eq!(given("what-if -down=n1"), "what-if -snapshot=c.json -down=n1");
        assert_eq!(given("job plan -json web.hcl"), "job plan -snapshot=c.json -json web.hcl");
        assert_eq!(given("job run -output web.hcl"), "job run -output web.hcl");
        assert_eq!(given("version -json"), "version -json");
        for line in ["eval explain -suggest e1", "job run web.hcl", "node status n1"] {
            assert!(matches!(of(line), Err(NoCommand::NeedsCluster(_))), "{line}");
        }
    }
}
