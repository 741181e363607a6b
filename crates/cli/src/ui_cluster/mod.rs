//! The cluster behind an interface for people or programs: web pages, the terminal UI, tools of the Model Context Protocol.
//!
//! [`OpenCluster`] is a running cluster ([`live`]), or a snapshot file or server backup ([`file`]), with the runtime that
//! answers its requests and the directory in which commands about it run.

mod file;
mod live;

use std::ffi::OsString;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use encamp_agent::frozen::FrozenApi;
use encamp_api::Client;
use encamp_ui::command::Commands;
use encamp_ui::{Cluster, Source};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};

use self::file::FileCluster;
use self::live::Live;
use crate::cluster::SnapshotFlags;
use crate::command::Registry;
use crate::context::Context;
use crate::error::{CommandResult, ErrorContext};
use crate::file_state::FileState;

/// Variables that commands have of this process besides those of every command: where caches are.
const INHERITED: &[&str] = &["HOME", "XDG_CACHE_HOME", "ENCAMP_CACHE_DIR"];

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
        let runtime = runtime()?;
        let state = FileState::read(name, reading, context.env)?;
        let shown = Path::new(name).file_name().map_or_else(|| name.into(), |n| n.to_string_lossy().into_owned());
        state.notes.iter().for_each(|note| context.ui.warn(note));
        let api = runtime.block_on(FrozenApi::start(state.store, state.now)).context("Error reading snapshot")?;
        let mut flags = vec![format!("-snapshot={}", context.env.directory.join(name).display())];
        flags.extend(reading.ignore_unknown_tables.then(|| "-ignore-unknown-tables".to_string()));
        let directory = scratch()?;
        let file = Arc::new(FileCluster {
            api,
            source: Source::File { name: shown.clone(), taken: state.taken.unwrap_or(0) },
            commands: commands(limit)?,
            environment: environment(),
            directory: directory.clone(),
            flags,
            registry: Registry::new(),
        });
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
            self.runtime.block_on(file.api.stop());
        }
        // Nothing can be done about it here; the directory is private.
        let _ = std::fs::remove_dir_all(&self.directory);
        // Requests that are still open must not delay the exit.
        self.runtime.shutdown_background();
    }
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

/// The signals that end a command.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    /// Receives the signals from now on. Must be called inside a runtime.
    ///
    /// # Errors
    /// The system refuses to deliver them.
    pub(crate) fn new() -> io::Result<Signals> {
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for one of them.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}
