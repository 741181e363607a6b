//! What the server needs from its process: the cluster, the settings of job files, checks of other files.

use std::path::Path;

use encamp_jobspec::convert::ConvertOptions;
use encamp_jobspec::parse::ParseOptions;
use encamp_model::api;

use crate::cluster::Summary;
use crate::lens::Planned;

/// Files that are no job files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtherFile {
    /// The configuration of an agent.
    AgentConfiguration,
    /// An ACL policy.
    Policy,
    /// Values of variables of job files.
    Variables,
    /// The specification of a volume.
    Volume,
    /// The specification of a namespace.
    Namespace,
}

/// What is wrong in such a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherProblem {
    /// Line and column, from 1; `None`: the whole file.
    pub place: Option<(usize, usize)>,
    /// What is wrong.
    pub message: String,
    /// Whether the file can be used all the same.
    pub warning: bool,
}

/// The process around the server.
pub trait Surroundings: Send + Sync {
    /// Reads the cluster; `None` where none is configured. Called by a thread of its own, again for each refresh. What it
    /// needs of memory beside the summary is free again when it returns.
    ///
    /// # Errors
    /// The cluster cannot be read: why.
    fn load(&self) -> Result<Option<Summary>, String>;

    /// Plans a job on the cluster that was read last. Called by the same thread, with the same rule about memory.
    ///
    /// # Errors
    /// The cluster cannot be read: why.
    fn plan(&self, job: &api::Job) -> Result<Planned, String>;

    /// How a job file of this name is read, in this directory.
    fn parse_options(&self, name: &str, directory: &Path) -> ParseOptions;

    /// How a job is converted for registration in a cluster of this region, if there is one.
    fn convert_options(&self, job: &api::Job, region: Option<&str>) -> ConvertOptions;

    /// The options of the `config` block of a driver; empty where they are not known.
    fn driver_options(&self, driver: &str) -> Vec<&'static str>;

    /// The names of the drivers whose options are known.
    fn drivers(&self) -> &'static [&'static str];

    /// Checks a file that is no job file.
    fn check(&self, file: OtherFile, path: &Path, text: &str) -> Vec<OtherProblem>;

    /// Runs a command of this program about a job file and returns what it prints, in a thread of its own.
    fn run(&self, command: &[&str], path: &Path) -> String;

    /// The current time, Unix nanoseconds, for files without a cluster.
    fn now(&self) -> i64;
}
