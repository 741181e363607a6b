//! A snapshot file or server backup behind an interface: not in this build, since the agent's HTTP interface answers the
//! requests.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{Request, Response};
use encamp_model::SecretString;
use encamp_ui::command::Commands;
use encamp_ui::{Cluster, CommandOutput, NoCommand, Source, Unreachable};
use futures_util::future::BoxFuture;
use tokio::runtime::Runtime;

use crate::cluster::SnapshotFlags;
use crate::context::Context;
use crate::error::CommandResult;

/// This build cannot show a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "this build of encamp has no agent, whose interface shows snapshot files here: use a build for Linux, or commands \
     that read the file themselves, such as job plan and what-if"
)]
struct NoAgent;

/// There is none.
pub(super) enum FileCluster {}

impl FileCluster {
    /// # Errors
    /// Always: this build has no agent.
    pub(super) fn open(
        _: &mut Context<'_, '_>,
        _: &str,
        _: &SnapshotFlags,
        _: &Runtime,
        _: Commands,
        _: (PathBuf, Vec<(&'static str, OsString)>),
    ) -> CommandResult<Arc<FileCluster>> {
        Err(NoAgent.into())
    }

    /// Stops nothing.
    pub(super) async fn stop(&self) {
        match *self {}
    }
}

impl Cluster for FileCluster {
    fn source(&self) -> &Source {
        match *self {}
    }

    fn send(&self, _: Request<Body>) -> BoxFuture<'_, Result<Response<Body>, Unreachable>> {
        match *self {}
    }

    fn run(&self, _: SecretString, _: Vec<String>, _: Vec<u8>) -> BoxFuture<'_, Result<CommandOutput, NoCommand>> {
        match *self {}
    }
}
