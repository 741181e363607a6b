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
use std::process::Command;
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

/// Who the commands are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caller {
    /// A browser or a program: commands run in a private directory, and job files read no other files.
    Other,
    /// The person who started this program: commands and job files read what the person can read.
    #[allow(dead_code, reason = "only `encamp top` uses it, which is for Unix alone")]
    Operator,
}

/// A cluster that answers requests and commands until it is closed.
pub(crate) struct OpenCluster {
    /// The cluster.
    pub(crate) cluster: Arc<dyn Cluster>,
    /// Its address, or the name of its file.
    pub(crate) shown: String,
    /// The runtime that its requests need.
    pub(crate) runtime: Runtime,
    /// A private directory.
    pub(crate) directory: PathBuf,
    /// The variables with which a command on the terminal reaches the cluster; none for a file.
    #[allow(dead_code, reason = "only `encamp top` uses it, which is for Unix alone")]
    connection: Option<Vec<(&'static str, OsString)>>,
    file: Option<Arc<FileCluster>>,
}

impl OpenCluster {
    /// A snapshot file or server backup. `limit`: how long a command about it may run, and for whom.
    ///
    /// # Errors
    /// The file cannot be read, or the process has no room for temporary files.
    pub(crate) fn of_file(
        context: &mut Context<'_, '_>,
        name: &str,
        reading: &SnapshotFlags,
        limit: (Duration, Caller),
    ) -> CommandResult<OpenCluster> {
        let (runtime, directory) = (runtime()?, scratch()?);
        let commands = commands(limit.0)?;
        let place = (limit.1.directory(&directory, &context.env.directory), environment(limit.1));
        let opened = FileCluster::open(context, name, reading, &runtime, commands, place);
        let file = match opened {
            Ok(file) => file,
            Err(e) => {
                // Nothing can be done about it here; the directory is private.
                let _ = std::fs::remove_dir_all(&directory);
                return Err(e);
            }
        };
        let shown = shown(name);
        Ok(OpenCluster { cluster: file.clone(), shown, runtime, directory, connection: None, file: Some(file) })
    }

    /// The running cluster of a client. `limit`: how long a command about it may run, and for whom. `working`: the
    /// working directory.
    ///
    /// # Errors
    /// The process has no room for temporary files.
    pub(crate) fn of_client(
        client: Client,
        runtime: Runtime,
        limit: (Duration, Caller),
        working: &Path,
    ) -> CommandResult<OpenCluster> {
        let (shown, directory) = (client.address().to_string(), scratch()?);
        let (connection, reads) = (Some(live::connection(client.config())), limit.1.directory(&directory, working));
        let cluster = Arc::new(Live::new(client, commands(limit.0)?, environment(limit.1), reads));
        Ok(OpenCluster { cluster, shown, runtime, directory, connection, file: None })
    }

    /// A command of this program about the running cluster, on the terminal of this process; `None` for a file.
    #[allow(dead_code, reason = "only `encamp top` uses it, which is for Unix alone")]
    pub(crate) fn on_terminal(&self) -> CommandResult<Option<impl Fn(&[String]) -> Command + 'static>> {
        let Some(connection) = self.connection.clone() else { return Ok(None) };
        let program = std::env::current_exe().context("Error finding this program")?;
        Ok(Some(move |arguments: &[String]| {
            let mut command = Command::new(&program);
            // The settings of this process hold, whether they came from flags, variables or a saved context.
            for (name, _) in std::env::vars_os() {
                let text = name.to_string_lossy();
                if (text.starts_with("NOMAD_") || text.starts_with("ENCAMP_")) && !INHERITED.contains(&&*text) {
                    command.env_remove(&name);
                }
            }
            command.envs(connection.iter().map(|(name, value)| (name, value))).args(arguments);
            command
        }))
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
fn environment(caller: Caller) -> Vec<(&'static str, OsString)> {
    let mut out: Vec<_> = INHERITED.iter().filter_map(|name| Some((*name, std::env::var_os(name)?))).collect();
    // As in an agent: the job files of pages and tools read no other files.
    if caller == Caller::Other {
        out.push((crate::environment_variables::FILE_FUNCTIONS, "false".into()));
    }
    out
}

impl Caller {
    /// Where commands run: in a private directory or the working directory.
    fn directory(self, private: &Path, working: &Path) -> PathBuf {
        match self {
            Caller::Other => private.to_path_buf(),
            Caller::Operator => working.to_path_buf(),
        }
    }
}

/// An empty directory for commands to run in.
fn scratch() -> CommandResult<PathBuf> {
    let directory = std::env::temp_dir().join(format!("encamp-ui-{}", encamp_host::ids::uuid()));
    std::fs::DirBuilder::new().mode(0o700).create(&directory).context("Error creating a temporary directory")?;
    Ok(directory)
}
