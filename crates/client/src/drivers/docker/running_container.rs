//! A running container: its end, signals, stop and removal (`docs/spec/client.md §23.3`).

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bollard::query_parameters::{
    InspectContainerOptions, KillContainerOptions, RemoveContainerOptions, StopContainerOptions, WaitContainerOptions,
};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::watch;

use super::super::{DriverError, ExecError, ExecRequest, ExecSession, Exit, RunningTask, signals};
use super::connect::{Daemon, DaemonError, LONG, SHORT};
use super::logs::{self, Logger};
use super::network::Holder;
use super::stats::Samples;
use super::{Shared, exec};
use crate::processes::Table;
use encamp_model::stats::TaskResourceUsage;

/// How long a wait for the end of a container lasts before its state is read again: a daemon may forget to tell.
const WAIT: Duration = Duration::from_secs(60);
/// Pauses while the daemon does not answer.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// How long a killed container may take to end.
const AFTER_KILL: Duration = Duration::from_secs(15);
/// How long the last output of a container may take to be written; on a busy host, a log process takes long to begin.
const LAST_OUTPUT: Duration = Duration::from_secs(30);
/// The exit code of a container that was killed.
const KILLED: i64 = 137;

/// The data that is needed to find the container again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct State {
    /// ID of the task's run.
    pub task: String,
    pub container: String,
    pub name: String,
    /// ID of the image.
    pub image: String,
    pub logger: Option<logs::Stored>,
    /// What holds the network that the container joined; none: it has one of its own.
    #[serde(default)]
    pub network: Option<Holder>,
}

/// A running task.
pub(super) struct RunningContainer {
    shared: Arc<Shared>,
    state: State,
    logger: Option<Arc<Logger>>,
    exit: watch::Receiver<Option<Exit>>,
    samples: Samples,
    watches: Vec<tokio::task::AbortHandle>,
}

impl Drop for RunningContainer {
    fn drop(&mut self) {
        // An agent that goes leaves the container alone.
        self.watches.iter().for_each(tokio::task::AbortHandle::abort);
    }
}

/// What the daemon knows of a container.
pub(super) enum Found {
    Running,
    Ended(Exit),
    /// It was made, but never ran.
    NotStarted,
    Gone,
}

/// Looks at a container.
pub(super) async fn look(daemon: &Daemon, container: &str) -> Result<Found, DaemonError> {
    let call = daemon.call("inspect the container", SHORT, |d| async move {
        d.inspect_container(container, None::<InspectContainerOptions>).await
    });
    let state = match call.await {
        Ok(found) => found.state.unwrap_or_default(),
        Err(e) if e.is_not_found() => return Ok(Found::Gone),
        Err(e) => return Err(e),
    };
    if state.running == Some(true) || state.paused == Some(true) || state.restarting == Some(true) {
        return Ok(Found::Running);
    }
    use bollard::models::ContainerStateStatusEnum as Status;
    match state.status {
        Some(Status::CREATED) => Ok(Found::NotStarted),
        _ => Ok(Found::Ended(exit_of(
            state.exit_code.unwrap_or(0),
            state.oom_killed == Some(true),
            state.error.as_deref().unwrap_or_default(),
        ))),
    }
}

fn exit_of(code: i64, oom: bool, error: &str) -> Exit {
    let message = match (oom, code, error) {
        (true, ..) => "OOM Killed".to_string(),
        (false, _, error) if !error.is_empty() => super::connect::short(error),
        (false, 0, _) => String::new(),
        (false, code, _) => format!("Docker container exited with non-zero exit code: {code}"),
    };
    Exit { code, oom, message, ..Exit::default() }
}

/// Waits for the end of a container, whatever becomes of the daemon meanwhile.
async fn wait(daemon: &Daemon, container: &str) -> Exit {
    let mut pause = FIRST_PAUSE;
    loop {
        match look(daemon, container).await {
            Ok(Found::Running) => {
                let options = WaitContainerOptions { condition: "not-running".into() };
                let call = daemon.call("wait for the container", WAIT, |d| async move {
                    drop(std::pin::pin!(d.wait_container(container, Some(options))).next().await);
                    Ok(())
                });
                let begin = std::time::Instant::now();
                let _ = call.await;
                // A daemon that answers at once that a running container has ended is not asked again at once.
                if begin.elapsed() > FIRST_PAUSE {
                    pause = FIRST_PAUSE;
                    continue;
                }
            }
            Ok(Found::Ended(exit)) => return exit,
            Ok(Found::NotStarted) => {
                return Exit { code: 1, message: "the container did not start".into(), ..Exit::default() };
            }
            Ok(Found::Gone) => {
                let message = "the container is gone: it was removed, but not by the agent".into();
                return Exit { code: KILLED, message, ..Exit::default() };
            }
            Err(_) => {}
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Removes a container, also a running one; one that is gone is fine.
pub(super) async fn remove(daemon: &Daemon, container: &str) -> Result<(), DaemonError> {
    let options = RemoveContainerOptions { force: true, v: true, link: false };
    let call = daemon
        .call("remove the container", LONG, |d| async move { d.remove_container(container, Some(options)).await });
    match call.await {
        // Somebody else removes it already.
        Err(e) if e.is_not_found() || e.is_conflict() => Ok(()),
        done => done,
    }
}

impl RunningContainer {
    /// A handle of a container that runs, or ran.
    pub(super) fn new(shared: Arc<Shared>, state: State, logger: Option<Logger>) -> Arc<RunningContainer> {
        let logger = logger.map(Arc::new);
        let (tell, exit) = watch::channel(None);
        let (daemon, container) = (shared.daemon.clone(), state.container.clone());
        let waits = tokio::spawn(async move {
            let exit = wait(&daemon, &container).await;
            let _ = tell.send(Some(exit));
        });
        let mut watches = vec![waits.abort_handle()];
        if let Some(logger) = logger.clone() {
            let mut ended = exit.clone();
            let looks_after = tokio::spawn(async move {
                tokio::select! {
                    () = logger.look_after() => {}
                    _ = ended.wait_for(Option::is_some) => {}
                }
            });
            watches.push(looks_after.abort_handle());
        }
        Arc::new(RunningContainer { shared, state, logger, exit, samples: Samples::default(), watches })
    }

    async fn ended(&self) -> Exit {
        let mut exit = self.exit.clone();
        let value = exit.wait_for(Option::is_some).await.ok().and_then(|e| (*e).clone());
        value.unwrap_or_else(|| Exit { code: 1, message: "the watch of the container ended".into(), ..Exit::default() })
    }

    /// Sends a signal of a known name.
    async fn kill(&self, name: &str) -> Result<(), DriverError> {
        match signals::of_name(name) {
            None => return Err(DriverError::UnknownSignal(name.into())),
            Some(None) => return Ok(()),
            Some(Some(_)) => {}
        }
        let (id, options) = (self.state.container.as_str(), KillContainerOptions { signal: name.into() });
        let call = self.shared.daemon.call("send a signal to the container", SHORT, |d| async move {
            d.kill_container(id, Some(options)).await
        });
        match call.await {
            Err(e) if e.is_not_found() || e.is_conflict() => Err(DriverError::Ended),
            done => Ok(done?),
        }
    }

    /// Has the daemon stop the container, with the signal of its image.
    async fn stop_by_daemon(&self, timeout: Duration) -> Result<(), DriverError> {
        let whole = timeout.as_secs() + u64::from(timeout.subsec_nanos() > 0);
        let t = i32::try_from(whole).unwrap_or(i32::MAX);
        let (id, options) = (self.state.container.as_str(), StopContainerOptions { signal: None, t: Some(t) });
        let limit = timeout + AFTER_KILL;
        let call = self
            .shared
            .daemon
            .call("stop the container", limit, |d| async move { d.stop_container(id, Some(options)).await });
        let stopped = tokio::select! {
            _ = self.ended() => return Ok(()),
            stopped = call => stopped,
        };
        match stopped {
            Ok(()) => {}
            Err(e) if e.is_not_found() || matches!(e, DaemonError::Refused { status: 304, .. }) => {}
            Err(e) => return Err(e.into()),
        }
        let ended = tokio::time::timeout(AFTER_KILL, self.ended()).await;
        ended.map(drop).map_err(|_| DriverError::StillRunning)
    }

    async fn stop_task(&self, signal: &str, timeout: Duration) -> Result<(), DriverError> {
        if signal.is_empty() {
            return self.stop_by_daemon(timeout).await;
        }
        match self.kill(signal).await {
            Ok(()) | Err(DriverError::Ended) => {}
            Err(e) => return Err(e),
        }
        if tokio::time::timeout(timeout, self.ended()).await.is_ok() {
            return Ok(());
        }
        self.stop_by_daemon(Duration::ZERO).await
    }

    async fn clean_up(&self) {
        let running = self.exit.borrow().is_none();
        let daemon = &self.shared.daemon;
        if running {
            // Removal would end it, too, but takes the output along.
            let _ = self.kill("SIGKILL").await;
            let _ = tokio::time::timeout(AFTER_KILL, self.ended()).await;
        }
        if let Some(logger) = &self.logger {
            logger.finish(LAST_OUTPUT).await;
            logger.end();
        }
        if (running || self.shared.config.gc.container)
            && let Err(error) = remove(daemon, &self.state.container).await
        {
            tracing::warn!(target: "client.driver_mgr.docker", container = self.state.name, %error, "the container was not removed; it is tried again");
            self.shared.remove_later(self.state.container.clone());
        }
        self.shared.untrack(&self.state.name);
        self.shared.images.release(&self.shared.config, &self.state.image, &self.state.task);
    }
}

/// Removes what is left of a task that can't be found again.
pub(super) async fn forget(shared: &Shared, state: &State) {
    if let Some(logger) = &state.logger {
        logs::end(logger);
    }
    let ended = !matches!(look(&shared.daemon, &state.container).await, Ok(Found::Ended(_)));
    if (ended || shared.config.gc.container) && remove(&shared.daemon, &state.container).await.is_err() {
        shared.remove_later(state.container.clone());
    }
    shared.untrack(&state.name);
}

/// Finds a container again.
pub(super) async fn recover(
    shared: &Arc<Shared>,
    program: &Path,
    state: State,
) -> Result<Arc<RunningContainer>, DriverError> {
    match look(&shared.daemon, &state.container).await {
        Ok(Found::Gone | Found::NotStarted) => return Err(DriverError::Gone),
        Ok(Found::Running | Found::Ended(_)) => {}
        // A daemon that does not answer now may do so later; the container is waited for as long.
        Err(e) if e.is_temporary() => {
            tracing::warn!(target: "client.driver_mgr.docker", container = state.name, error = %e, "the container is looked for until the daemon answers");
        }
        Err(e) => return Err(e.into()),
    }
    shared.track(&state.name);
    shared.images.take(&state.image, &state.task);
    let logger = match &state.logger {
        Some(stored) => Some(Logger::recover(program, stored.clone()).await),
        None => None,
    };
    Ok(RunningContainer::new(shared.clone(), state, logger))
}

impl RunningTask for RunningContainer {
    fn state(&self) -> Value {
        let logger = self.logger.as_ref().map(|l| l.stored());
        serde_json::to_value(State { logger, ..self.state.clone() }).unwrap_or_default()
    }

    fn wait(&self) -> BoxFuture<'_, Exit> {
        Box::pin(self.ended())
    }

    fn stop<'a>(&'a self, signal: &'a str, timeout: Duration) -> BoxFuture<'a, Result<(), DriverError>> {
        Box::pin(self.stop_task(signal, timeout))
    }

    fn signal<'a>(&'a self, signal: &'a str) -> BoxFuture<'a, Result<(), DriverError>> {
        Box::pin(self.kill(signal))
    }

    fn destroy(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.clean_up())
    }

    fn usage(&self, _: &Table, mhz_per_core: f64) -> Option<TaskResourceUsage> {
        self.samples.last(&self.shared.daemon, &self.state.container, mhz_per_core)
    }

    fn exec(&self, request: ExecRequest) -> BoxFuture<'_, Result<ExecSession, ExecError>> {
        Box::pin(exec::run(self.shared.daemon.clone(), self.state.container.clone(), request))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_containers() {
        assert!(exit_of(0, false, "").success());
        assert_eq!(exit_of(3, false, "").message, "Docker container exited with non-zero exit code: 3");
        let oom = exit_of(137, true, "");
        assert_eq!((oom.message.as_str(), oom.oom), ("OOM Killed", true));
        assert_eq!(exit_of(127, false, "no such file\n").message, "no such file");
    }
}
