//! The interface to the node agent that runs in the same process (`docs/spec/http-api.md §5.4, §5.5, §6`).
//!
//! Errors carry the status and the text of the response. An allocation that the node does not know is answered with 404
//! `Unknown allocation "<id>"`.

use std::collections::BTreeMap;

use futures_util::stream::BoxStream;
use serde_json::Value;

use super::pending::{ByteStream, Pending};
use crate::error::Error;
use encamp_client::Unhealthy;
pub use encamp_client::drivers::{ExecInput, ExecOutput, ExecSession};
pub use encamp_client::handle::{LogsRequest, Origin};
pub use encamp_client::types::{NodeMeta, StreamFrame};
pub use encamp_model::responses::AllocFileInfo;
use encamp_model::{CsiCall, CsiError, CsiReply, HostVolume};

/// Frames as they come. An error ends the stream.
pub type Frames = BoxStream<'static, Result<StreamFrame, Error>>;

/// A request for the content of a file as it grows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamRequest {
    /// The file, below the allocation's directory.
    pub path: String,
    /// Go on at the end of the file.
    pub follow: bool,
    /// Bytes to skip.
    pub offset: u64,
    /// Where they are counted from.
    pub origin: Origin,
}

/// A command to run in a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecRequest {
    /// The task.
    pub task: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// With a terminal.
    pub tty: bool,
}

/// An action to run in a task: a command that the job declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionRequest {
    /// The job.
    pub job_id: String,
    /// The task.
    pub task: String,
    /// The action's name.
    pub action: String,
    /// With a terminal.
    pub tty: bool,
}

/// The node agent that runs beside the interface.
pub trait LocalClient: Send + Sync {
    /// The node's ID.
    fn node_id(&self) -> String;

    /// The servers it knows, sorted.
    fn servers(&self) -> Vec<String>;

    /// Replaces the servers it knows by those of these that answer; an error if none does.
    fn set_servers(&self, servers: Vec<String>) -> Pending<'_, Result<(), Error>>;

    /// Whether it does its work; else why not.
    fn health(&self) -> Result<(), Unhealthy>;

    /// Figures for `agent/self`, by group: `client`.
    fn stats(&self) -> crate::agent::control::AgentStats;

    /// HostStats.
    fn host_stats(&self) -> Pending<'_, Result<Value, Error>>;

    /// Metadata of the node.
    fn metadata(&self) -> Pending<'_, Result<NodeMeta, Error>>;

    /// The claims of the node's identity, if it has one. A node that starts gets some seconds to register.
    fn identity(&self) -> Pending<'_, Option<serde_json::Map<String, Value>>>;

    /// Has the node ask for a new identity.
    fn renew_identity(&self);

    /// Sets metadata; null takes a key away.
    fn set_metadata(&self, meta: BTreeMap<String, Option<String>>) -> Pending<'_, Result<NodeMeta, Error>>;

    /// Makes a host volume; gives its place and its size in bytes.
    fn create_volume<'a>(&'a self, volume: &'a HostVolume) -> Pending<'a, Result<(String, i64), Error>>;

    /// Registers an existing directory as a host volume.
    fn register_volume<'a>(&'a self, volume: &'a HostVolume) -> Pending<'a, Result<(), Error>>;

    /// Lets go of a host volume; what was made for it is removed.
    fn delete_volume<'a>(&'a self, id: &'a str) -> Pending<'a, Result<(), Error>>;

    /// Asks a CSI plugin of the node.
    fn ask_csi_plugin(&self, call: CsiCall) -> Pending<'_, Result<CsiReply, CsiError>>;

    /// Removes all finished allocations.
    fn collect_all(&self) -> Pending<'_, Result<(), Error>>;

    /// The namespace of an allocation, if the node has it.
    fn alloc_namespace(&self, alloc_id: &str) -> Option<String>;

    /// Whether a task sees a file system of its own; of no name, the only task of the allocation.
    fn isolates(&self, alloc_id: &str, task: &str) -> bool;

    /// AllocResourceUsage; of one task, if it is named.
    fn alloc_stats<'a>(&'a self, alloc_id: &'a str, task: &'a str) -> Pending<'a, Result<Value, Error>>;

    /// Results of checks by their ID.
    fn checks<'a>(&'a self, alloc_id: &'a str) -> Pending<'a, Result<Value, Error>>;

    /// Restarts one task, all that run, or all.
    fn restart<'a>(&'a self, alloc_id: &'a str, task: &'a str, all: bool) -> Pending<'a, Result<(), Error>>;

    /// Sends a signal to a task, or to all.
    fn signal<'a>(&'a self, alloc_id: &'a str, task: &'a str, signal: &'a str) -> Pending<'a, Result<(), Error>>;

    /// Removes a finished allocation.
    fn collect<'a>(&'a self, alloc_id: &'a str) -> Pending<'a, Result<(), Error>>;

    /// The content of a directory.
    fn list<'a>(&'a self, alloc_id: &'a str, path: &'a str) -> Pending<'a, Result<Vec<AllocFileInfo>, Error>>;

    /// One file.
    fn stat<'a>(&'a self, alloc_id: &'a str, path: &'a str) -> Pending<'a, Result<AllocFileInfo, Error>>;

    /// A part of a file; without a limit, to its end.
    fn read<'a>(
        &'a self,
        alloc_id: &'a str,
        path: &'a str,
        offset: i64,
        limit: Option<i64>,
    ) -> Pending<'a, Result<ByteStream, Error>>;

    /// A file as it grows.
    fn stream<'a>(&'a self, alloc_id: &'a str, request: StreamRequest) -> Pending<'a, Result<Frames, Error>>;

    /// The output of a task.
    fn logs<'a>(&'a self, alloc_id: &'a str, request: LogsRequest) -> Pending<'a, Result<Frames, Error>>;

    /// The disk of an allocation that has ended, for the node that has its migrate token: a tar archive.
    fn disk<'a>(&'a self, alloc_id: &'a str, token: &'a str) -> Pending<'a, Result<ByteStream, Error>>;

    /// Runs a command in a task.
    fn exec<'a>(&'a self, alloc_id: &'a str, request: ExecRequest) -> Pending<'a, Result<ExecSession, Error>>;

    /// Runs an action of the allocation's job in a task.
    fn run_action<'a>(&'a self, alloc_id: &'a str, request: ActionRequest) -> Pending<'a, Result<ExecSession, Error>>;
}
