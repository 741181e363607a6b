//! The cluster behind an interface for people or programs: web pages, the terminal UI, tools of the Model Context Protocol.
//!
//! [`OpenCluster`] is a running cluster ([`live`]), or a snapshot file or server backup ([`file`]), with the runtime that
//! answers its requests and the directory in which commands about it run.

#[cfg(feature = "agent")]
mod file;
#[cfg(not(feature = "agent"))]
#[path = "file_absent.rs"]
mod file;
mod live;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use encamp_api::Client;
use encamp_host::platform::files::DirBuilderExt as _;
use encamp_ui::Cluster;
use encamp_ui::command::Commands;
use tokio::runtime::{Builder, Runtime};

use self::file::FileCluster;
use self::live::Live;
use crate::cluster::SnapshotFlags;
use crate::context::Context;
use crate::error::{CommandResult, ErrorContext};

/// Variables that commands have of this process besides those of every command: where caches are.
const INHERITED: &[&str] = if cfg!(windows) {
    // Without the last one, no program can use the network.
    &["USERPROFILE", "XDG_CACHE_HOME", "ENCAMP_CACHE_DIR", "SystemRoot"]
} else {
    &["HOME", "XDG_CACHE_HOME", "ENCAMP_CACHE_DIR"]
};

/// A cluster that answers requests and commands until it is closed.
pub(crate) struct OpenCluster {
    /// The cluster.
    pub(crate) cluster: Arc<dyn Cluster>,
    /// Its address, or the name of its file.
    pub(crate) shown: String,
    /// The runtime that its requests need.
    pub(crate) runtime: Runtime,
    /// A private directory, in which commands run.
    pub(crate) directory: PathBuf,
    file: Option<Arc<FileCluster>>,
}

impl OpenCluster {
    /// A snapshot file or server backup. `limit`: how long a command about it may run.
    ///
    /// # Errors
    /// The file cannot be read, or the process has no room for temporary files.
    pub(crate) fn of_file(
        context: &mut Context<'_, '_>,
        name: &str,
        reading: &SnapshotFlags,
        limit: Duration,
    ) -> CommandResult<OpenCluster> {
        let (runtime, directory) = (runtime()?, scratch()?);
        let commands = commands(limit)?;
        let opened = FileCluster::open(context, name, reading, &runtime, &directory, commands, environment());
        let file = match opened {
            Ok(file) => file,
            Err(e) => {
                // Nothing can be done about it here; the directory is private.
                let _ = std::fs::remove_dir_all(&directory);
                return Err(e);
            }
        };
        let shown = shown(name);
        Ok(OpenCluster { cluster: file.clone(), shown, runtime, directory, file: Some(file) })
    }

    /// The running cluster of a client. `limit`: how long a command about it may run.
    ///
    /// # Errors
    /// The process has no room for temporary files.
    pub(crate) fn of_client(client: Client, runtime: Runtime, limit: Duration) -> CommandResult<OpenCluster> {
        let (shown, directory) = (client.address().to_string(), scratch()?);
        let cluster = Arc::new(Live::new(client, commands(limit)?, environment(), directory.clone()));
        Ok(OpenCluster { cluster, shown, runtime, directory, file: None })
    }

    /// Stops what answers, and removes temporary files.
    pub(crate) fn close(self) {
        if let Some(file) = self.file {
            self.runtime.block_on(file.stop());
        }
        // Nothing can be done about it here; the directory is private.
        let _ = std::fs::remove_dir_all(&self.directory);
        // Requests that are still open must not delay the exit.
        self.runtime.shutdown_background();
    }
}

/// How a file is named: without its directory.
fn shown(file: &str) -> String {
    Path::new(file).file_name().map_or_else(|| file.into(), |n| n.to_string_lossy().into_owned())
}

/// A runtime for requests.
///
/// # Errors
/// The system has no threads for it.
pub(crate) fn runtime() -> CommandResult<Runtime> {
    Builder::new_multi_thread().enable_all().build().context("Error starting the network runtime")
}

/// The commands of this program.
fn commands(limit: Duration) -> CommandResult<Commands> {
    Ok(Commands::new(std::env::current_exe().context("Error finding this program")?, limit))
}

/// What commands have of the environment of this process.
fn environment() -> Vec<(&'static str, OsString)> {
    let mut out: Vec<_> = INHERITED.iter().filter_map(|name| Some((*name, std::env::var_os(name)?))).collect();
    // As in an agent: the job files of pages and tools read no other files.
    out.push((crate::environment_variables::FILE_FUNCTIONS, "false".into()));
    out
}

/// An empty directory for commands to run in.
fn scratch() -> CommandResult<PathBuf> {
    let directory = std::env::temp_dir().join(format!("encamp-ui-{}", encamp_host::ids::uuid()));
    std::fs::DirBuilder::new().mode(0o700).create(&directory).context("Error creating a temporary directory")?;
    Ok(directory)
}
