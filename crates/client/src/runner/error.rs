//! Errors of runners. Their texts become events of tasks.

use std::io;
use std::path::PathBuf;

use tokio::task::JoinError;

use crate::csi::dirs::SocketError;
use crate::directory::PathError;
use crate::drivers::DriverError;
use crate::netns;
use crate::network::ConnectError;
use crate::policy::network::RefusedNetwork;
use crate::servers::ServersError;
use crate::services::{AddressError, RegistrationError};
use crate::templates::NoAnswer;
use crate::users::UserError;

use super::csi::mount::MountError;

/// Why an allocation can't be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAlloc {
    /// The job does not have its task group.
    #[error("task group \"{0}\" not found in the job")]
    NoGroup(String),
    /// Its ID can't be the name of a directory.
    #[error("the allocation has no usable ID")]
    Id,
    /// The name of a task can't be the name of a directory.
    #[error("task name \"{0}\" can't be used")]
    TaskName(String),
    /// The files of an earlier run are gone.
    #[error("the directory of the allocation is gone")]
    NoDirectory,
}

/// Why an allocation could not be set up: the pre-run hook that failed, and its error.
#[derive(Debug, thiserror::Error)]
pub(super) enum PrerunError {
    /// Its directories could not be made.
    #[error("pre-run hook \"alloc_dir\" failed: {0}")]
    AllocDir(#[source] io::Error),
    /// What remained of a previous disk could not be removed.
    #[error("pre-run hook \"migrate_disk\" failed: {0}")]
    MigrateDisk(#[source] io::Error),
    /// Its network could not be made.
    #[error("pre-run hook \"network\" failed: {0}")]
    Network(#[from] NetworkError),
    /// The services of the group could not be registered.
    #[error("pre-run hook \"group_services\" failed: {0}")]
    Services(#[from] ServicesError),
    /// Its CSI volumes could not be mounted.
    #[error("pre-run hook \"csi_hook\" failed: {0}")]
    Csi(#[from] MountError),
    /// A check has no address.
    #[error("pre-run hook \"checks_hook\" failed: {0}")]
    Checks(#[from] AddressError),
}

/// Why an allocation has no network.
#[derive(Debug, thiserror::Error)]
pub(super) enum NetworkError {
    /// The agent does not have the network mode.
    #[error("this agent does not support \"{0}\" networking mode")]
    Mode(String),
    /// The drivers of the tasks do not allow it.
    #[error(transparent)]
    Refused(#[from] RefusedNetwork),
    /// The driver did not make the namespace.
    #[error("failed to configure network: {0}")]
    Driver(#[source] DriverError),
    /// The namespace is not attached to its network.
    #[error("failed to configure network: {0}")]
    Connect(#[from] ConnectError),
    /// The program that makes namespaces is not known.
    #[error(transparent)]
    Program(io::Error),
    /// The namespace was not made.
    #[error("failed to configure network: {0}")]
    Namespace(#[from] netns::CreateError),
    /// The work did not end.
    #[error("failed to configure network: {0}")]
    Interrupted(#[from] JoinError),
}

/// Why services are not registered.
#[derive(Debug, thiserror::Error)]
pub(super) enum ServicesError {
    /// One of them has no address.
    #[error(transparent)]
    Registration(#[from] RegistrationError),
    /// The servers did not take them.
    #[error(transparent)]
    Servers(#[from] ServersError),
}

/// A hook of a task that failed.
#[derive(Debug, thiserror::Error)]
#[error("{hook}: {error}")]
pub(super) struct FailedHook {
    /// The name of the hook.
    pub hook: &'static str,
    /// Why it failed.
    #[source]
    pub error: HookError,
}

/// Why a hook of a task failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum HookError {
    /// No task of the driver may run as that user.
    #[error("running as user \"{0}\" is disallowed")]
    User(String),
    /// Its directory could not be made.
    #[error(transparent)]
    TaskDir(#[from] io::Error),
    /// A token could not be written.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The socket of the task API could not be made.
    #[error("failed to create the task API socket: {0}")]
    TaskApi(#[source] PathError),
    /// The file for the payload is outside the task's directory.
    #[error("dispatch payload file \"{0}\" escapes the task directory")]
    PayloadEscapes(String),
    /// The payload could not be written.
    #[error("failed to write dispatch payload to {file}: {source}")]
    Payload {
        /// Its file.
        file: String,
        /// The reason.
        source: PathError,
    },
    /// The socket of a storage plugin could not be prepared.
    #[error(transparent)]
    PluginSocket(#[from] SocketError),
    /// The task is a storage plugin of an unknown type.
    #[error("unknown type of storage plugin {0:?}; the types are controller, node and monolith")]
    PluginType(String),
    /// Tasks of the driver neither see the files of the host nor get mounts; the socket of a storage plugin needs one.
    #[error("task driver {0:?} can't run storage plugins: its tasks do not see the directory of the socket")]
    PluginDriver(String),
    /// The driver mounts no volumes.
    #[error("task driver \"{driver}\" for \"{task}\" does not support host volumes")]
    Volumes {
        /// The driver.
        driver: String,
        /// The task.
        task: String,
    },
    /// A host volume can't be mounted.
    #[error("host volume validation error: {0}")]
    HostVolume(#[source] VolumeError),
    /// A CSI volume can't be mounted.
    #[error(transparent)]
    CsiVolume(VolumeError),
    /// A secret can't be read.
    #[error(transparent)]
    Secret(#[from] SecretError),
}

/// Why a secret of a task is not there.
#[derive(Debug, thiserror::Error)]
pub(super) enum SecretError {
    /// Its provider is not known.
    #[error("secret \"{secret}\": this agent has no provider \"{provider}\"; the only one is \"nomad\"")]
    Provider {
        /// The secret.
        secret: String,
        /// The provider.
        provider: String,
    },
    /// Its provider does not know a setting.
    #[error("secret \"{secret}\": config: \"{setting}\" is not known")]
    Setting {
        /// The secret.
        secret: String,
        /// The setting.
        setting: String,
    },
    /// Its namespace is no text.
    #[error("secret \"{secret}\": config: namespace is no text")]
    Namespace {
        /// The secret.
        secret: String,
    },
    /// The servers did not answer, or refused.
    #[error("secret \"{secret}\": {reason}")]
    NoAnswer {
        /// The secret.
        secret: String,
        /// The reason.
        reason: NoAnswer,
    },
}

/// Why a task does not get its token.
#[derive(Debug, thiserror::Error)]
pub(super) enum TokenError {
    /// The owner of the file is unknown.
    #[error(transparent)]
    User(#[from] UserError),
    /// The file could not be written.
    #[error("failed to write {path}: {source}")]
    Write {
        /// The file.
        path: String,
        /// The reason.
        source: PathError,
    },
}

/// Why a volume can't be mounted.
#[derive(Debug, thiserror::Error)]
pub(super) enum VolumeError {
    /// The group of the task does not ask for it.
    #[error("the group has no volume \"{0}\"")]
    NotRequested(String),
    /// The node does not have it, or not any more.
    #[error("host volume \"{0}\" does not exist on this node")]
    Missing(String),
    /// Its directory is not there.
    #[error("host volume \"{name}\": {}: {source}", path.display())]
    Directory {
        /// The volume.
        name: String,
        /// Its directory.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The allocation has not mounted it.
    #[error("CSI volume \"{0}\" is not mounted")]
    NotMounted(String),
    /// The block says no known propagation.
    #[error("volume mount \"{volume}\": unknown propagation mode \"{mode}\"")]
    Propagation {
        /// The volume.
        volume: String,
        /// What it says.
        mode: String,
    },
}
