//! The thread that reads the cluster and plans jobs, so that no input ever waits for either.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use lsp_types::Url;

use crate::cluster::Summary;
use crate::lens::Planned;
use crate::surroundings::Surroundings;
use encamp_model::api;

/// How long the input has to rest before a job is planned.
const REST: Duration = Duration::from_millis(250);

/// What the thread is asked for.
pub(crate) enum Task {
    /// Read the cluster.
    Load,
    /// Plan a version of a document, in place of earlier requests about it.
    Plan {
        /// The document.
        uri: Url,
        /// Its version.
        version: i32,
        /// The job.
        job: Box<api::Job>,
    },
    /// Run a command of the program.
    Run {
        /// The request that waits for it.
        id: lsp_server::RequestId,
        /// The command.
        command: Vec<&'static str>,
        /// The job file.
        path: PathBuf,
    },
}

/// What the thread has to tell.
pub(crate) enum News {
    /// The cluster was read.
    Loaded(Option<Box<Summary>>),
    /// The cluster cannot be read.
    Failed(String),
    /// A version of a document was planned.
    Planned(Url, i32, Planned),
    /// A command has ended.
    Ran(lsp_server::RequestId, String),
}

/// Works until nobody asks any more.
pub(crate) fn work(around: &Arc<dyn Surroundings>, tasks: &Receiver<Task>, tell: &dyn Fn(News) -> bool) {
    let mut has_cluster = false;
    let mut waiting: Vec<(Url, i32, Box<api::Job>)> = Vec::new();
    loop {
        let next = if waiting.is_empty() || !has_cluster {
            tasks.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            tasks.recv_timeout(REST)
        };
        let news = match next {
            Err(RecvTimeoutError::Disconnected) => return,
            Ok(Task::Plan { uri, version, job }) => {
                waiting.retain(|(other, ..)| *other != uri);
                waiting.push((uri, version, job));
                continue;
            }
            Ok(Task::Load) => match around.load() {
                Ok(loaded) => {
                    has_cluster = loaded.is_some();
                    News::Loaded(loaded.map(Box::new))
                }
                Err(why) => News::Failed(why),
            },
            Ok(Task::Run { id, command, path }) => News::Ran(id, around.run(&command, &path)),
            Err(RecvTimeoutError::Timeout) => {
                let Some((uri, version, job)) = waiting.pop() else { continue };
                let planned = around.plan(&job).unwrap_or_else(|why| Planned::failed(&why));
                News::Planned(uri, version, planned)
            }
        };
        if !tell(news) {
            return;
        }
    }
}

/// Asks the thread; a thread that has ended answers nothing any more.
pub(crate) fn ask(tasks: &Sender<Task>, task: Task) {
    // The loop ends when the client goes; then nobody waits for an answer.
    let _ = tasks.send(task);
}
