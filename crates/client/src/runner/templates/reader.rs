//! Reads what templates depend on, and tells what is new.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::super::alloc::AllocRunner;
use super::super::task::TaskRunner;
use crate::directory::PathError;
use crate::templates::place::{MAX_FILE, Place};
use crate::templates::reads::{self, Blocking};
use crate::templates::{ApiReads, NoAnswer, values};
use encamp_template::{Answer, Dependency, Value};

/// How often files are read again.
const FILE_PAUSE: Duration = Duration::from_secs(2);
/// The shortest time between two reads of a dependency.
pub(super) const READ_PAUSE: Duration = Duration::from_millis(100);
/// The pause after an answer that came at once, and says nothing new.
const IDLE_PAUSE: Duration = Duration::from_secs(1);
/// How much longer than it blocks a read may take.
pub(super) const READ_SLACK: Duration = Duration::from_secs(60);
/// How long the first read waits for the identity of the task.
pub(super) const TOKEN_WAIT: Duration = Duration::from_secs(60);

/// What is new about a dependency.
pub(super) struct News {
    pub dependency: Dependency,
    pub answer: Result<Answer, NoAnswer>,
}

/// Reads a dependency again and again.
pub(super) struct Reader {
    pub runner: Arc<TaskRunner>,
    pub owner: Arc<AllocRunner>,
    pub place: Place,
    pub dependency: Dependency,
    pub news: mpsc::Sender<News>,
    /// It asks without end.
    pub patient: bool,
}

impl Reader {
    /// Reads until nobody listens.
    pub(super) async fn read_forever(self) {
        match &self.dependency {
            Dependency::File(path) => self.read_file(path).await,
            _ => self.read_servers().await,
        }
    }

    /// Tells an answer; false if nobody listens any more.
    async fn send(&self, answer: Result<Answer, NoAnswer>) -> bool {
        self.news.send(News { dependency: self.dependency.clone(), answer }).await.is_ok()
    }

    async fn read_file(&self, path: &str) {
        let mut last = None;
        loop {
            let (place, wanted) = (self.place.clone(), path.to_string());
            let read = tokio::task::spawn_blocking(move || {
                let Some(target) = place.target(&wanted) else {
                    return Answer::Failed("the path of the file escapes the alloc directory".into());
                };
                match place.read(&target, MAX_FILE) {
                    Ok(Some(text)) => Answer::Ready(Value::text(text)),
                    Ok(None) => Answer::Failed("the file is no text of at most 1 MiB".into()),
                    Err(PathError::Escapes) => {
                        Answer::Failed("the path of the file escapes the alloc directory".into())
                    }
                    Err(_) => Answer::Missing,
                }
            });
            let Ok(answer) = read.await else { return };
            if last.as_ref() != Some(&answer) {
                if !self.send(Ok(answer.clone())).await {
                    return;
                }
                last = Some(answer);
            }
            tokio::time::sleep(FILE_PAUSE).await;
        }
    }

    async fn read_servers(&self) {
        let shared = &self.runner.shared;
        let config = &shared.config.template;
        let namespace = self.owner.alloc().namespace.clone();
        self.owner.template_token_ready(TOKEN_WAIT).await;
        let mut blocking =
            Blocking { index: 0, wait: config.block_query_wait.as_millis(), stale: !config.max_stale.is_zero() };
        let (mut last, mut failures) = (None, 0_u32);
        loop {
            let begun = Instant::now();
            match self.read_once(&namespace, blocking).await {
                Ok((index, answer)) => {
                    failures = 0;
                    let new = last.as_ref() != Some(&answer);
                    if new {
                        if !self.send(Ok(answer.clone())).await {
                            return;
                        }
                        last = Some(answer);
                    }
                    let blocks = index > 0 && (index != blocking.index || begun.elapsed() > IDLE_PAUSE);
                    // An index that goes back is that of other servers.
                    blocking.index = if index < blocking.index { 0 } else { index };
                    tokio::time::sleep(if new || blocks { READ_PAUSE } else { IDLE_PAUSE }).await;
                }
                Err(reason) => {
                    failures = failures.saturating_add(1);
                    blocking.index = 0;
                    let (task, dependency) = (&self.runner.name, &self.dependency);
                    tracing::warn!(target: "client.alloc_runner.task_runner.template", task, %dependency, %reason, "a dependency of a template was not read");
                    // A task whose templates are rendered goes on: its servers may come back.
                    let given_up = !self.patient
                        && last.is_none()
                        && config.retry_attempts > 0
                        && failures >= config.retry_attempts;
                    if given_up {
                        self.send(Err(reason)).await;
                        return;
                    }
                    let factor = 1_u32.checked_shl(failures.saturating_sub(1).min(16)).unwrap_or(u32::MAX);
                    let wait = config.retry_backoff.saturating_mul(factor).min(config.retry_max_backoff);
                    tokio::time::sleep(wait.max(READ_PAUSE)).await;
                }
            }
        }
    }

    async fn read_once(&self, namespace: &str, blocking: Blocking) -> Result<(u64, Answer), NoAnswer> {
        let shared = &self.runner.shared;
        let api: &Arc<dyn ApiReads> = shared.services.api_reads.as_ref().ok_or(NoAnswer::NotServed)?;
        let path = reads::path(&self.dependency, namespace, blocking).ok_or(NoAnswer::Form)?;
        let token = self.owner.template_token(&self.runner.name);
        let most = shared.config.template.block_query_wait.saturating_add(READ_SLACK);
        let read = tokio::time::timeout(most, api.read(&path, &token)).await;
        let answer = read.map_err(|_| NoAnswer::Unreadable)??;
        Ok((answer.index, values::answer(&self.dependency, &answer)?))
    }
}
