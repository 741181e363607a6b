//! The process that downloads one artifact. The agent starts it as `<program> artifact-download` and sends an [`Order`]
//! as one line on its standard input, which stays open; the process writes a [`Report`] on its standard output. When its
//! input ends, the agent has ended, and the process kills itself and all that it started.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use rustix::fs::Mode as FileMode;
use rustix::process::{Signal, kill_current_process_group, umask};

use super::archive::{self, Kind, UnpackError};
use super::checksum::{self, Checksum, ChecksumError};
use super::git::{Clone, GitError};
use super::http::{Downloader, HttpError};
use super::isolation;
use super::order::{ARGUMENT, Mode, Order, Report};
use super::publish::{self, PublishError};
use super::s3::{S3Error, Service};
use super::source::{FileOptions, Source, SourceError};
use crate::directory::{Directory, Links, PathError};
use encamp_model::format_duration;

/// The longest order that is read.
const LONGEST_ORDER: u64 = 16 << 20;
/// The longest error that is reported, in characters.
const LONGEST_ERROR: usize = 1000;
/// The longest file of checksums.
const LONGEST_LIST: usize = 1 << 20;
/// Names below the directory of the download: the file, what it is unpacked to.
const FILE: &str = "download";
const UNPACKED: &str = "unpacked";
const TREE: &str = "tree";

/// Why an artifact is not at its destination.
#[derive(Debug, thiserror::Error)]
enum ChildError {
    /// There is no order, or it can't be read.
    #[error("failed to read what to download: {0}")]
    Order(#[source] io::Error),
    /// The source can't be used.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The process was not isolated.
    #[error("failed to restrict the download to the directory of the allocation: {0}")]
    Isolation(#[from] landlock::RulesetError),
    /// The directory of the download can't be used.
    #[error("failed to use the directory of the download: {0}")]
    Directory(#[from] PathError),
    /// A file of the download can't be used.
    #[error("failed to use the downloaded file: {0}")]
    File(#[from] io::Error),
    /// The transfer took too long.
    #[error("the download took longer than {} ({setting})", format_duration(i64::try_from(limit.as_nanos()).unwrap_or(i64::MAX)))]
    Timeout {
        /// The limit.
        limit: Duration,
        /// The setting that bounds it.
        setting: &'static str,
    },
    /// The transfer failed.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The transfer failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The transfer failed.
    #[error(transparent)]
    S3(#[from] S3Error),
    /// It is not what it is to be.
    #[error(transparent)]
    Checksum(#[from] ChecksumError),
    /// It can't be unpacked.
    #[error(transparent)]
    Unpack(#[from] UnpackError),
    /// It can't be put to its destination.
    #[error(transparent)]
    Publish(#[from] PublishError),
}

/// The whole life of the process; `None` if the arguments ask for something else.
pub fn main() -> Option<ExitCode> {
    if std::env::args_os().nth(1)? != ARGUMENT {
        return None;
    }
    let (report, code) = match work() {
        Ok(()) => (Report::Done, ExitCode::SUCCESS),
        Err(e) => (Report::Failed(shown(&e.to_string())), ExitCode::FAILURE),
    };
    if let Ok(text) = serde_json::to_vec(&report) {
        // An agent that is gone reads nothing.
        let _ = io::stdout().write_all(&text).and_then(|()| io::stdout().flush());
    }
    Some(code)
}

/// An error as one line.
fn shown(text: &str) -> String {
    text.chars().take(LONGEST_ERROR).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn work() -> Result<(), ChildError> {
    let mut input = BufReader::new(io::stdin());
    let mut line = Vec::new();
    (&mut input).take(LONGEST_ORDER).read_until(b'\n', &mut line).map_err(ChildError::Order)?;
    let order: Order = serde_json::from_slice(&line).map_err(|e| ChildError::Order(e.into()))?;
    let source = Source::parse(&order.source, &order.options, order.mode)?;
    let git = matches!(source, Source::Git(_));
    umask(FileMode::from_raw_mode(0o022));
    isolation::limit(git);
    if let Some(reach) = &order.reach {
        isolation::restrict(&order.alloc_dir, reach, git)?;
    }
    std::thread::spawn(move || end_with(input));
    let alloc = Directory::open(&order.alloc_dir)?;
    let staging = alloc.open_dir(&order.staging, Links::Refused)?;
    let download = Download { order: &order, alloc, staging };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let [http, git, s3] = order.timeouts;
    let (limit, setting) = match &source {
        Source::Http { .. } => (http, "http_read_timeout"),
        Source::Git(_) => (git, "git_timeout"),
        Source::S3 { .. } => (s3, "s3_timeout"),
    };
    let fetched = runtime.block_on(async {
        let transfer = download.transfer(&source);
        match limit {
            None => transfer.await,
            Some(limit) => {
                tokio::time::timeout(limit, transfer).await.unwrap_or(Err(ChildError::Timeout { limit, setting }))
            }
        }
    })?;
    download.place(&source, fetched)
}

/// Waits for the end of the input, which comes with that of the agent.
fn end_with(mut input: impl Read) {
    let mut buffer = [0; 64];
    while input.read(&mut buffer).is_ok_and(|n| n > 0) {}
    let _ = kill_current_process_group(Signal::KILL);
    std::process::exit(1);
}

/// What a transfer left in the directory of the download.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fetched {
    /// A file.
    File,
    /// A tree.
    Tree,
}

struct Download<'a> {
    order: &'a Order,
    alloc: Directory,
    /// The directory of the download.
    staging: Directory,
}

impl Download<'_> {
    async fn transfer(&self, source: &Source) -> Result<Fetched, ChildError> {
        let order = self.order;
        let http = |headers| Downloader::new(headers, order.insecure, order.max_size);
        match source {
            Source::Http { url, file } => {
                let http = http(&order.headers)?;
                let mut to = self.staging.create_file(FILE)?;
                http.download(|| url.clone(), &mut to).await?;
                let name = url.path_segments().and_then(|mut s| s.next_back()).unwrap_or_default();
                self.check(file, name, &http, &mut to).await?;
                Ok(Fetched::File)
            }
            Source::Git(repository) => {
                let dir = order.alloc_dir.join(&order.staging);
                let (insecure, limit) = (order.insecure, order.max_size);
                Clone { repository, dir: &dir, name: TREE, insecure, limit }.run().await?;
                Ok(Fetched::Tree)
            }
            Source::S3 { object, file } => {
                let http = http(&BTreeMap::new())?;
                let service = Service::new(object, &http)?;
                let is_prefix = object.key.is_empty() || object.key.ends_with('/');
                let wants_all = order.mode == Mode::Dir && !file.kind.is_some_and(Kind::has_members);
                if !is_prefix && !wants_all {
                    let mut to = self.staging.create_file(FILE)?;
                    if service.object(&object.key, &mut to).await? {
                        let name = object.key.rsplit('/').next().unwrap_or_default();
                        self.check(file, name, &http, &mut to).await?;
                        return Ok(Fetched::File);
                    }
                }
                if order.mode == Mode::File {
                    return Err(S3Error::NotFound(object.key.clone()).into());
                }
                let limits = archive::Limits { bytes: order.max_size, members: order.limits.members };
                service.below(&self.staging.make_dirs(TREE)?, limits).await?;
                Ok(Fetched::Tree)
            }
        }
    }

    /// Compares a file with its checksum.
    async fn check(&self, file: &FileOptions, name: &str, http: &Downloader, to: &mut File) -> Result<(), ChildError> {
        let hash = match &file.checksum {
            None => return Ok(()),
            Some(Checksum::Hash(hash)) => hash.clone(),
            Some(Checksum::File(url)) => checksum::listed(&http.text(url, LONGEST_LIST).await?, name)?,
        };
        to.seek(SeekFrom::Start(0))?;
        Ok(hash.check(to)??)
    }

    /// Unpacks and checks what was fetched, and moves it to its destination.
    fn place(&self, source: &Source, fetched: Fetched) -> Result<(), ChildError> {
        let order = self.order;
        let (file, below) = match source {
            Source::Http { file, .. } | Source::S3 { file, .. } => (Some(file), file.subdirectory.as_str()),
            Source::Git(repository) => (None, repository.subdirectory.as_str()),
        };
        let kind = file.and_then(|f| f.kind);
        match (fetched, kind) {
            (Fetched::File, Some(kind)) if kind.has_members() => {
                let (archive, _) = self.staging.open_file(FILE, Links::Refused)?;
                archive::unpack(archive, kind, &self.staging.make_dirs(TREE)?, order.limits)?;
            }
            (Fetched::File, Some(Kind::Single(how))) => {
                let (from, _) = self.staging.open_file(FILE, Links::Refused)?;
                let mut to = self.staging.create_file(UNPACKED)?;
                archive::decompress(from, how, &mut to, order.limits)?;
                return self.place_file(&self.staging, OsStr::new(UNPACKED), file);
            }
            (Fetched::File, _) => return self.place_file(&self.staging, OsStr::new(FILE), file),
            (Fetched::Tree, _) => {}
        }
        let tree = self.staging.open_dir(TREE, Links::Refused)?;
        let tree = publish::subdirectory(&tree, if fetched == Fetched::Tree && file.is_some() { "" } else { below })?;
        if order.mode == Mode::File {
            let (dir, name) = publish::only_file(&tree)?;
            return Ok(self.move_file(&dir, &name, &order.destination)?);
        }
        publish::check(&tree, order.inspect, order.owner)?;
        Ok(publish::tree(&tree, &self.alloc, &order.destination, order.owner)?)
    }

    /// Moves a file to the destination; its mode decides whether that is the file or its directory.
    fn place_file(&self, dir: &Directory, name: &OsStr, file: Option<&FileOptions>) -> Result<(), ChildError> {
        let (opened, _) = dir.open_file(Path::new(name), Links::Refused)?;
        publish::make_readable(&opened)?;
        let own_name = file.map_or("", |f| f.name.as_str());
        let to = match self.order.mode {
            Mode::File => self.order.destination.clone(),
            Mode::Any | Mode::Dir => self.order.destination.join(own_name),
        };
        Ok(self.move_file(dir, name, &to)?)
    }

    fn move_file(&self, dir: &Directory, name: &OsStr, to: &Path) -> Result<(), PublishError> {
        if let Some(owner) = self.order.owner {
            let wrong = |source: io::Error| PublishError::Move { name: to.into(), source: source.into() };
            dir.give(name, owner).map_err(wrong)?;
        }
        publish::file(dir, name, &self.alloc, to)
    }
}
