//! A snapshot file or server backup behind the pages: its state answers API requests, and commands read the file.

use std::ffi::OsString;
use std::path::PathBuf;

use axum::body::Body;
use axum::http::{Request, Response};
use encamp_agent::frozen::FrozenApi;
use encamp_model::SecretString;
use encamp_ui::command::{Commands, Invocation};
use encamp_ui::{Cluster, CommandOutput, NoCommand, Source, Unreachable};
use futures_util::future::BoxFuture;

use crate::command::Registry;

/// A file.
pub(super) struct FileCluster {
    pub(super) api: FrozenApi,
    pub(super) source: Source,
    pub(super) commands: Commands,
    /// What commands have of the environment.
    pub(super) environment: Vec<(&'static str, OsString)>,
    pub(super) directory: PathBuf,
    /// The flags that make a command read the file.
    pub(super) flags: Vec<String>,
    pub(super) registry: Registry,
}

impl FileCluster {
    /// The arguments with the flags for the file behind the words of the command, if the command has such flags.
    fn about_file(&self, arguments: Vec<String>) -> Vec<String> {
        let Some((words, name)) = self.registry.longest_name(&arguments) else { return arguments };
        let command = self.registry.get(&name);
        let reads = command.is_some_and(|c| c.clap().get_arguments().any(|a| a.get_long() == Some("snapshot")));
        if !reads {
            return arguments;
        }
        let (words, rest) = arguments.split_at(words.min(arguments.len()));
        words.iter().chain(&self.flags).chain(rest).cloned().collect()
    }
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
        let arguments = self.about_file(arguments);
        let (environment, directory) = (self.environment.clone(), self.directory.clone());
        Box::pin(self.commands.run(Invocation { arguments, environment, directory, input }))
    }
}
