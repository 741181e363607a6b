//! What the agent and the process that downloads an artifact say to each other.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{archive, isolation};
use crate::config::artifacts::ArtifactConfig;

/// First argument of the program that makes it download an artifact.
pub(crate) const ARGUMENT: &str = "artifact-download";
/// How many artifacts of a task are downloaded at once.
pub(crate) const AT_ONCE: usize = 3;
/// Begins the name of the directory of an allocation to which artifacts of a task are downloaded.
pub(crate) const STAGING: &str = ".artifacts-";

/// What an artifact is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Mode {
    /// What its source says.
    Any,
    /// One file; the destination is its path.
    File,
    /// A directory.
    Dir,
}

impl Mode {
    /// The mode as job files have it.
    pub(crate) fn of(text: &str) -> Mode {
        match text {
            "file" => Mode::File,
            "dir" => Mode::Dir,
            _ => Mode::Any,
        }
    }
}

/// An artifact to download, with everything filled in. May hold secrets.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Order {
    /// The source, as in the job file.
    pub source: String,
    /// Its options.
    pub options: BTreeMap<String, String>,
    /// Headers of requests over HTTP.
    pub headers: BTreeMap<String, String>,
    /// What it is to be.
    pub mode: Mode,
    /// Certificates are accepted unverified.
    pub insecure: bool,
    /// The directory of the allocation.
    pub alloc_dir: PathBuf,
    /// The directory below it to which the artifact is downloaded. It exists, and is empty.
    pub staging: PathBuf,
    /// The destination below the directory of the allocation.
    pub destination: PathBuf,
    /// The user and group that get the files; none: the agent's.
    pub owner: Option<(u32, u32)>,
    /// How long a transfer may take: over HTTP, by Git, from S3.
    pub timeouts: [Option<Duration>; 3],
    /// The largest download, in bytes.
    pub max_size: Option<u64>,
    /// What an archive may contain.
    pub limits: archive::Limits,
    /// Links that lead out of the artifact are refused.
    pub inspect: bool,
    /// What the process may reach; none: everything.
    pub reach: Option<isolation::Reach>,
}

impl Order {
    /// An order with the settings of the node.
    pub(crate) fn new(config: &ArtifactConfig, alloc_dir: PathBuf, destination: PathBuf) -> Order {
        Order {
            source: String::new(),
            options: BTreeMap::new(),
            headers: BTreeMap::new(),
            mode: Mode::Any,
            insecure: false,
            alloc_dir,
            staging: PathBuf::new(),
            destination,
            owner: None,
            timeouts: [config.http_read_timeout, config.git_timeout, config.s3_timeout],
            max_size: config.max_size,
            limits: archive::Limits { bytes: config.decompression_size, members: config.decompression_files },
            inspect: config.inspect,
            reach: config.isolate.then(|| isolation::Reach { extra: config.extra_paths.clone() }),
        }
    }

    /// How long the whole work may take: unpacking gets the same time as the longest transfer.
    pub(super) fn deadline(&self) -> Option<Duration> {
        let longest = self.timeouts.iter().try_fold(Duration::ZERO, |longest, t| Some(longest.max((*t)?)))?;
        Some(longest.saturating_mul(2))
    }
}

/// How the work of the process went.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Report {
    /// The artifact is at its destination.
    Done,
    /// It is not, and why.
    Failed(String),
}
