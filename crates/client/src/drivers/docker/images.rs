//! Images: pulls, one at a time for each image, and the removal of images that no task uses any more
//! (`docs/spec/client.md §23.3`).

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bollard::query_parameters::{CreateImageOptions, ImportImageOptions, RemoveImageOptions};
use futures_util::StreamExt;
use parking_lot::Mutex;
use tokio::io::AsyncReadExt;
use tokio::sync::watch;

use super::super::{StartFailure, StartTask};
use super::auth::{self, AuthError};
use super::connect::{Daemon, DaemonError, SHORT, short};
use super::progress::Progress;
use super::task_config::{Login, TaskConfig};
use crate::config::docker::DockerConfig;
use crate::directory::{Directory, Links, PathError};
use crate::events;

/// The tag of images that name none.
const LATEST: &str = "latest";
/// How often an event reports a pull that lasts.
const REPORT: Duration = Duration::from_secs(120);
/// How often an image is tried to be removed, and the pause between.
const TRIES: u32 = 3;
const PAUSE: Duration = Duration::from_secs(3);
/// How long a removal may take.
const REMOVAL: Duration = Duration::from_secs(300);
/// How much of an image is read at once.
const CHUNK: usize = 256 * 1024;

/// Why an image is not there.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum ImageError {
    /// The login is not known.
    #[error("failed to pull image {image:?}: {reason}")]
    Auth {
        /// The image.
        image: String,
        /// Why.
        reason: String,
    },
    /// The daemon did not get it.
    #[error(
        "failed to pull image {image:?}: {source}; check the name and the tag, and, if the registry asks for one, the \
         login (\"auth\" of the task or of plugin \"docker\")"
    )]
    Pull {
        /// The image.
        image: String,
        /// Why not.
        source: DaemonError,
    },
    /// It took too long.
    #[error(
        "failed to pull image {image:?}: the pull was not complete within {limit:?}; image_pull_timeout sets the limit"
    )]
    Late {
        /// The image.
        image: String,
        /// How long it could take.
        limit: Duration,
    },
    /// It stood still.
    #[error("failed to pull image {image:?}: no progress within {limit:?}; pull_activity_timeout sets the limit")]
    Stuck {
        /// The image.
        image: String,
        /// How long it could stand still.
        limit: Duration,
    },
    /// The archive can't be read.
    #[error("failed to load an image from {path:?}: {reason}")]
    Archive {
        /// The file.
        path: String,
        /// Why not.
        reason: String,
    },
    /// The daemon does not take the archive, or the image is not in it.
    #[error("failed to load image {image:?} from {path:?}: {source}")]
    Load {
        /// The image.
        image: String,
        /// The file.
        path: String,
        /// Why not.
        source: DaemonError,
    },
    /// The daemon does not tell.
    #[error(transparent)]
    Daemon(#[from] DaemonError),
    /// The task is to end.
    #[error("the task is to end")]
    Killed,
}

impl From<ImageError> for StartFailure {
    fn from(error: ImageError) -> StartFailure {
        let recoverable = match &error {
            ImageError::Killed => return StartFailure::Killed,
            ImageError::Late { .. } | ImageError::Stuck { .. } => true,
            // The registry, not the daemon, is at the other end.
            ImageError::Pull { source: DaemonError::Refused { status, .. }, .. } => !matches!(status, 400..=404),
            ImageError::Pull { source, .. } | ImageError::Daemon(source) | ImageError::Load { source, .. } => {
                source.is_temporary()
            }
            ImageError::Auth { .. } | ImageError::Archive { .. } => false,
        };
        StartFailure::Failed { text: error.to_string(), recoverable }
    }
}

/// How far a pull is.
#[derive(Debug, Clone)]
enum Pull {
    Running(String),
    Done(Result<(), ImageError>),
}

/// Tells those who wait for a pull how far it is.
type PullState = Arc<watch::Sender<Pull>>;

/// The users of an image, and the time of its removal.
#[derive(Default)]
struct Use {
    tasks: BTreeSet<String>,
    removal: Option<tokio::task::AbortHandle>,
}

/// The images of a daemon.
pub(crate) struct Images {
    daemon: Arc<Daemon>,
    /// Pulls by image and user.
    pulls: Mutex<HashMap<(String, String), PullState>>,
    uses: Arc<Mutex<HashMap<String, Use>>>,
}

/// Repository and tag (or digest) of an image.
fn parts(image: &str) -> (&str, &str) {
    if let Some((repository, digest)) = image.split_once('@') {
        return (repository, digest);
    }
    match image.rsplit_once(':') {
        Some((repository, tag)) if !tag.contains('/') => (repository, tag),
        _ => (image, LATEST),
    }
}

/// The image with its tag.
fn full(image: &str) -> String {
    let (repository, tag) = parts(image);
    let between = if image.contains('@') { "@" } else { ":" };
    format!("{repository}{between}{tag}")
}

impl Images {
    /// The images of a daemon; no task uses one.
    pub(crate) fn new(daemon: Arc<Daemon>) -> Images {
        Images { daemon, pulls: Mutex::default(), uses: Arc::default() }
    }

    async fn id(&self, image: &str) -> Result<Option<String>, DaemonError> {
        let asked =
            self.daemon.call("look for the image", SHORT, |d| async move { d.inspect_image(image).await }).await;
        match asked {
            Ok(found) => Ok(found.id.filter(|id| !id.is_empty())),
            Err(e) if e.is_not_found() => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Has the image of a task be there; gives its ID.
    pub(crate) async fn get(
        &self,
        config: &DockerConfig,
        task: &TaskConfig,
        start: &StartTask,
    ) -> Result<String, ImageError> {
        let image = full(&task.image);
        let missing = || DaemonError::Refused { call: "find the image", status: 404, message: "no such image".into() };
        if !task.load.is_empty() {
            self.load(task, start).await?;
            let load = |source| ImageError::Load { image: image.clone(), path: task.load.clone(), source };
            return self.id(&image).await.map_err(load)?.ok_or_else(|| load(missing()));
        }
        if parts(&task.image).1 != LATEST
            && !task.force_pull
            && let Some(id) = self.id(&image).await?
        {
            return Ok(id);
        }
        let of_auth = |e: AuthError| ImageError::Auth { image: image.clone(), reason: e.to_string() };
        let login = auth::find(config, task).await.map_err(of_auth)?;
        let mut event = events::driver("Downloading image");
        event.details.insert("image".into(), image.clone());
        start.events.emit(event);
        let limit = task.pull_timeout.unwrap_or(config.image_pull_timeout);
        let pulled = self.pull(&image, login, limit, config.pull_activity_timeout, start);
        let late = || Err(ImageError::Late { image: image.clone(), limit });
        tokio::time::timeout(limit, pulled).await.unwrap_or_else(|_| late())?;
        let pull = |source| ImageError::Pull { image: image.clone(), source };
        self.id(&image).await?.ok_or_else(|| pull(missing()))
    }

    /// Waits for the pull of an image, which others may wait for, too.
    async fn pull(
        &self,
        image: &str,
        login: Option<Login>,
        limit: Duration,
        activity: Duration,
        start: &StartTask,
    ) -> Result<(), ImageError> {
        let mut state = self.join(image, login, limit, activity);
        let killed = start.killed.wait();
        tokio::pin!(killed);
        let mut reported = Instant::now();
        loop {
            match &*state.borrow_and_update() {
                Pull::Done(outcome) => return outcome.clone(),
                Pull::Running(progress) if reported.elapsed() >= REPORT && !progress.is_empty() => {
                    let mut event = events::driver(&format!("Downloading image: {progress}"));
                    event.details.insert("image".into(), image.into());
                    start.events.emit(event);
                    reported = Instant::now();
                }
                Pull::Running(_) => {}
            }
            tokio::select! {
                changed = state.changed() => if changed.is_err() {
                    let reason = "the pull ended early".into();
                    return Err(DaemonError::Garbled { call: "pull the image", reason }.into());
                },
                () = &mut killed => return Err(ImageError::Killed),
            }
        }
    }

    /// Pulls an image that no task asks for.
    pub(super) async fn pull_alone(&self, image: &str) -> Result<(), ImageError> {
        let mut state = self.join(image, None, LONG_REMOVAL, LONG_REMOVAL);
        loop {
            if let Pull::Done(outcome) = &*state.borrow_and_update() {
                return outcome.clone();
            }
            if state.changed().await.is_err() {
                return Err(
                    DaemonError::Garbled { call: "pull the image", reason: "the pull ended early".into() }.into()
                );
            }
        }
    }

    /// The pull of an image: one that runs already, or a new one. It is given up when nobody waits for it any more.
    fn join(&self, image: &str, login: Option<Login>, limit: Duration, activity: Duration) -> watch::Receiver<Pull> {
        let key = (image.to_string(), login.as_ref().map(|l| l.username.clone()).unwrap_or_default());
        let mut pulls = self.pulls.lock();
        // One that ended, or that nobody waits for, is over.
        pulls.retain(|_, p| p.receiver_count() > 0 && matches!(*p.borrow(), Pull::Running(_)));
        if let Some(running) = pulls.get(&key) {
            return running.subscribe();
        }
        let (sender, receiver) = watch::channel(Pull::Running(String::new()));
        let sender = Arc::new(sender);
        pulls.insert(key, sender.clone());
        let (daemon, image) = (self.daemon.clone(), image.to_string());
        tokio::spawn(async move {
            let pulled = pull(&daemon, &image, login, limit, activity, &sender);
            tokio::select! {
                outcome = pulled => drop(sender.send_replace(Pull::Done(outcome))),
                () = sender.closed() => {}
            }
        });
        receiver
    }

    /// Loads the archive that a task brings.
    async fn load(&self, task: &TaskConfig, start: &StartTask) -> Result<(), ImageError> {
        let path = task.load.clone();
        let archive = |reason: String| ImageError::Archive { path: path.clone(), reason };
        let file = Directory::open(&start.alloc_dir)
            .map_err(PathError::from)
            .and_then(|d| d.open_dir(&start.task, Links::Refused)?.open_file(&task.load, Links::Inside))
            .map_err(|e| archive(e.to_string()))?;
        let file = tokio::fs::File::from_std(file.0);
        let chunks = futures_util::stream::unfold(file, |mut file| async move {
            let mut chunk = vec![0; CHUNK];
            match file.read(&mut chunk).await {
                Ok(0) => None,
                Ok(n) => {
                    chunk.truncate(n);
                    Some((Ok(chunk.into()), file))
                }
                Err(e) => Some((Err(e), file)),
            }
        });
        let limit = task.pull_timeout.unwrap_or(REMOVAL);
        let loaded = self.daemon.call("load the image", limit, |d| async move {
            let mut answers = std::pin::pin!(d.import_image_stream(ImportImageOptions::default(), chunks, None));
            while let Some(answer) = answers.next().await {
                answer?;
            }
            Ok(())
        });
        let image = task.image.clone();
        loaded.await.map_err(|source| ImageError::Load { image, path: path.clone(), source })
    }

    /// A task uses an image.
    pub(crate) fn take(&self, image: &str, task: &str) {
        let mut uses = self.uses.lock();
        let found = uses.entry(image.into()).or_default();
        found.tasks.insert(task.into());
        if let Some(removal) = found.removal.take() {
            removal.abort();
        }
    }

    /// A task uses an image no more; after the delay, if no other one does, it is removed.
    pub(crate) fn release(&self, config: &DockerConfig, image: &str, task: &str) {
        let mut uses = self.uses.lock();
        let Some(found) = uses.get_mut(image) else { return };
        if !found.tasks.remove(task) || !found.tasks.is_empty() {
            return;
        }
        if !config.gc.image {
            uses.remove(image);
            return;
        }
        let (daemon, id, delay, all) =
            (self.daemon.clone(), image.to_string(), config.gc.image_delay, self.uses.clone());
        let removal = tokio::spawn(async move {
            tokio::time::sleep(delay).await;
            remove(&daemon, &id).await;
            let mut uses = all.lock();
            if uses.get(&id).is_some_and(|u| u.tasks.is_empty()) {
                uses.remove(&id);
            }
        });
        found.removal = Some(removal.abort_handle());
    }
}

/// Removes an image; one that is gone or in use is let alone.
async fn remove(daemon: &Daemon, id: &str) {
    for left in (0..TRIES).rev() {
        let options = RemoveImageOptions::default();
        let call = daemon
            .call("remove the image", LONG_REMOVAL, |d| async move { d.remove_image(id, Some(options), None).await });
        match call.await {
            Ok(_) => {
                return tracing::debug!(target: "client.driver_mgr.docker", image = id, "removed an image that no task uses");
            }
            Err(e) if e.is_not_found() || e.is_conflict() => return,
            Err(error) if left == 0 => {
                return tracing::warn!(target: "client.driver_mgr.docker", image = id, %error, "an image that no task uses was not removed");
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// How long the daemon may take to remove an image.
const LONG_REMOVAL: Duration = Duration::from_secs(60);

/// Pulls an image.
async fn pull(
    daemon: &Daemon,
    image: &str,
    login: Option<Login>,
    limit: Duration,
    activity: Duration,
    state: &watch::Sender<Pull>,
) -> Result<(), ImageError> {
    let (repository, tag) = parts(image);
    let options = CreateImageOptions {
        from_image: Some(repository.into()),
        tag: Some(tag.into()),
        ..CreateImageOptions::default()
    };
    let credentials = login.as_ref().map(auth::credentials);
    let mut stuck = false;
    let (progress, stands) = (Mutex::new(Progress::default()), &mut stuck);
    let pulled = daemon.call("pull the image", limit, |d| async move {
        let mut answers = std::pin::pin!(d.create_image(Some(options), None, credentials));
        loop {
            match tokio::time::timeout(activity, answers.next()).await {
                Ok(Some(answer)) => {
                    let mut progress = progress.lock();
                    progress.add(&answer?);
                    let text = progress.text();
                    drop(progress);
                    state.send_if_modified(|s| match s {
                        Pull::Running(known) if *known != text => {
                            *known = text;
                            true
                        }
                        _ => false,
                    });
                }
                Ok(None) => return Ok(()),
                Err(_) => {
                    *stands = true;
                    return Ok(());
                }
            }
        }
    });
    let image = image.to_string();
    match pulled.await {
        Ok(()) if stuck => Err(ImageError::Stuck { image, limit: activity }),
        Ok(()) => Ok(()),
        Err(DaemonError::Slow { .. }) => Err(ImageError::Late { image, limit }),
        Err(DaemonError::Refused { call, status, message }) => {
            let message = short(&message);
            Err(ImageError::Pull { image, source: DaemonError::Refused { call, status, message } })
        }
        Err(source) => Err(ImageError::Pull { image, source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_images() {
        assert_eq!(parts("redis"), ("redis", "latest"));
        assert_eq!(parts("redis:7"), ("redis", "7"));
        assert_eq!(parts("host:5000/redis"), ("host:5000/redis", "latest"));
        assert_eq!(parts("host:5000/redis:7"), ("host:5000/redis", "7"));
        assert_eq!(parts("redis@sha256:12"), ("redis", "sha256:12"));
        assert_eq!((full("redis"), full("redis@sha256:12")), ("redis:latest".into(), "redis@sha256:12".into()));
    }

    #[test]
    fn failures_that_another_try_may_mend() {
        let refused = |status| ImageError::Pull {
            image: "x".into(),
            source: DaemonError::Refused { call: "pull the image", status, message: "no".into() },
        };
        let recoverable = |e: ImageError| matches!(e.into(), StartFailure::Failed { recoverable: true, .. });
        assert!(recoverable(refused(500)) && !recoverable(refused(404)) && !recoverable(refused(401)));
        assert!(recoverable(ImageError::Late { image: "x".into(), limit: SHORT }));
        assert!(!recoverable(ImageError::Archive { path: "x".into(), reason: "y".into() }));
        let text = refused(404).to_string();
        assert!(text.contains("\"x\": failed to pull the image: no; check the name and the tag"), "{text}");
    }

    #[tokio::test]
    async fn images_stay_while_tasks_use_them() {
        let images = Images::new(Arc::new(Daemon::new("unix:///nonexistent")));
        let mut config = DockerConfig::default();
        let known = || images.uses.lock().get("i").map(|u| (u.tasks.len(), u.removal.is_some()));
        images.take("i", "a");
        images.take("i", "b");
        images.release(&config, "i", "a");
        assert_eq!(known(), Some((1, false)));
        images.release(&config, "i", "b");
        images.release(&config, "i", "b");
        assert_eq!(known(), Some((0, true)));
        images.take("i", "c");
        assert_eq!(known(), Some((1, false)), "taken again");
        config.gc.image = false;
        images.release(&config, "i", "c");
        assert_eq!(known(), None);
    }
}
