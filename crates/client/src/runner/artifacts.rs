//! The task hook `artifacts`: downloads the artifacts of a task before it starts (`docs/spec/client.md §18`).

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use sha2::Digest;

use super::alloc::AllocRunner;
use super::setup::NotStarted;
use super::task::TaskRunner;
use crate::artifacts::{self, AT_ONCE, FetchError, Mode, Order, STAGING};
use crate::directory::PathError;
use crate::env::TaskEnv;
use crate::events;
use crate::hex::hex;
use crate::policy::restart::Ending;
use crate::users::UserError;
use encamp_model::{Task, TaskArtifact};

/// Why an artifact is not there.
#[derive(Debug, thiserror::Error)]
#[error("failed to download artifact \"{source_text}\": {reason}")]
struct ArtifactError {
    /// The source, as the job file has it.
    source_text: String,
    #[source]
    reason: Reason,
}

#[derive(Debug, thiserror::Error)]
enum Reason {
    /// The destination is elsewhere.
    #[error("artifact destination path escapes alloc directory")]
    Escapes,
    /// The user of the task is unknown.
    #[error(transparent)]
    User(#[from] UserError),
    /// The directory of the download can't be made.
    #[error("failed to make the directory of the download: {0}")]
    Directory(#[from] PathError),
    /// The program that downloads is not known.
    #[error("failed to find the program that downloads: {0}")]
    Program(#[source] io::Error),
    /// A task has the name of that directory.
    #[error("the name of a task is in the way of the directory of the download")]
    Name,
    /// The download failed.
    #[error(transparent)]
    Fetch(#[from] FetchError),
}

impl ArtifactError {
    /// Whether another try may help.
    fn is_recoverable(&self) -> bool {
        !matches!(self.reason, Reason::Escapes | Reason::Name)
    }
}

impl TaskRunner {
    /// Downloads the artifacts that were not downloaded yet. A kill of the task, and the end of the agent, end the
    /// downloads.
    pub(super) async fn download_artifacts(&self, owner: &AllocRunner, task: &Task) -> Result<(), NotStarted> {
        let missing: Vec<_> = {
            let inner = self.inner.lock();
            let new = task.artifacts.iter().map(|a| (a, hash(a))).filter(|(_, h)| !inner.record.artifacts.contains(h));
            new.collect()
        };
        if missing.is_empty() {
            return Ok(());
        }
        self.emit(events::downloading_artifacts());
        let begin = Instant::now();
        let done = tokio::select! {
            biased;
            () = self.killed() => None,
            // The next run of the agent removes what was downloaded.
            () = self.going() => return Err(NotStarted::Shutdown),
            done = self.download_all(owner, task, missing) => Some(done),
        };
        let Some(done) = done else {
            self.remove_staging(owner).await;
            return Err(NotStarted::Killed);
        };
        self.shared.hook("task_hook.prestart", "artifacts", &owner.alloc(), begin, done.is_ok());
        done.map_err(|error| {
            self.emit(events::failed_artifact_download(&error.to_string()));
            NotStarted::Failed(Ending::NotStarted { recoverable: error.is_recoverable() })
        })
    }

    /// Downloads several artifacts, all of them even if one fails; gives the last error.
    async fn download_all(
        &self,
        owner: &AllocRunner,
        task: &Task,
        missing: Vec<(&TaskArtifact, String)>,
    ) -> Result<(), ArtifactError> {
        let staging = self.make_staging(owner).await;
        let env = self.env(owner, task);
        let mut downloads: Vec<BoxFuture<'_, Result<(), ArtifactError>>> = Vec::new();
        for (n, (artifact, hash)) in missing.into_iter().enumerate() {
            let (env, staging) = (&env, &staging);
            downloads.push(Box::pin(async move {
                let done = match staging {
                    Ok(staging) => self.download(owner, task, artifact, env, &staging.join(n.to_string())).await,
                    Err(e) => Err(e.again()),
                };
                let source_text = || artifact.getter_source.clone();
                done.map_err(|reason| ArtifactError { source_text: source_text(), reason })?;
                self.inner.lock().record.artifacts.insert(hash);
                Ok(())
            }));
        }
        let mut downloads = futures_util::stream::iter(downloads).buffer_unordered(AT_ONCE);
        let mut outcome = Ok(());
        while let Some(done) = downloads.next().await {
            match done {
                Ok(()) => self.persist().await,
                Err(error) => outcome = Err(error),
            }
        }
        drop(downloads);
        self.remove_staging(owner).await;
        outcome
    }

    async fn download(
        &self,
        owner: &AllocRunner,
        task: &Task,
        artifact: &TaskArtifact,
        env: &TaskEnv,
        staging: &Path,
    ) -> Result<(), Reason> {
        let config = &self.shared.config.artifacts;
        let root = owner.dirs.root();
        let inside = env.with_directories(&owner.dirs, &self.name).replace(&artifact.relative_dest);
        let destination = artifacts::destination(&inside, &root, &self.name).ok_or(Reason::Escapes)?;
        let own = env.without_node();
        let filled = |map: &BTreeMap<String, String>| {
            map.iter().map(|(k, v)| (k.clone(), own.replace(v))).collect::<BTreeMap<_, _>>()
        };
        let order = Order {
            source: own.replace(&artifact.getter_source),
            options: filled(&artifact.getter_options),
            headers: filled(&artifact.getter_headers),
            mode: Mode::of(&artifact.getter_mode),
            insecure: artifact.getter_insecure,
            staging: staging.into(),
            owner: if artifact.chown { self.owner_of_files(env, task)? } else { None },
            ..Order::new(config, root, destination)
        };
        owner.dirs.open().map_err(PathError::from)?.make_dirs(staging)?;
        let host = &self.shared.host_env;
        let given = config.variables.iter().filter_map(|name| Some((name.clone(), host.get(name)?.clone())));
        let program = self.shared.config.helper().map_err(Reason::Program)?;
        Ok(artifacts::fetch(&program, &order, &given.collect()).await?)
    }

    /// The directory for downloads, below that of the allocation. What an earlier run left there is removed.
    async fn make_staging(&self, owner: &AllocRunner) -> Result<PathBuf, Reason> {
        let name = format!("{STAGING}{}", self.name);
        if owner.alloc().group().is_some_and(|g| g.tasks.iter().any(|t| t.name == name)) {
            return Err(Reason::Name);
        }
        self.remove_staging(owner).await;
        owner.dirs.open().map_err(PathError::from)?.make_dir(&name, 0o700, None)?;
        Ok(name.into())
    }

    async fn remove_staging(&self, owner: &AllocRunner) {
        let (dirs, name) = (owner.dirs.clone(), format!("{STAGING}{}", self.name));
        let removed = tokio::task::spawn_blocking(move || Ok(dirs.open()?.remove_tree(&name)?)).await;
        if let Err(error) = removed.unwrap_or_else(|e| Err(io::Error::other(e))) {
            tracing::warn!(target: "client.alloc_runner.task_runner", alloc_id = owner.id, task = self.name, %error, "files of a download were not removed");
        }
    }
}

impl Reason {
    /// The same for another artifact: all of them need the directory.
    fn again(&self) -> Reason {
        match self {
            Reason::Name => Reason::Name,
            other => Reason::Directory(io::Error::other(other.to_string()).into()),
        }
    }
}

/// The definition of an artifact as a short text.
fn hash(artifact: &TaskArtifact) -> String {
    let text = serde_json::to_vec(artifact).unwrap_or_default();
    hex(&sha2::Sha256::digest(text))
}
