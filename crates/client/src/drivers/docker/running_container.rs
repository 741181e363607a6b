//! A running container: its end, signals, stop and removal (`docs/spec/client.md §23.3`).

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bollard::query_parameters::{KillContainerOptions, StopContainerOptions};
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::watch;

use super::super::{DriverError, ExecError, ExecRequest, ExecSession, Exit, RunningTask, signals};
use super::connect::{DaemonError, SHORT};
use super::container_state::{Found, look, remove, wait};
use super::driver_state::Shared;
use super::exec;
use super::logs::{self, Logger};
use super::network_holder::Holder;
use super::stats::Samples;
use crate::processes::Table;
use encamp_model::stats::TaskResourceUsage;

/// How long a killed container may take to end.
const AFTER_KILL: Duration = Duration::from_secs(15);
/// How long the last output of a container may take to be written; on a busy host, a log process takes long to begin.
const LAST_OUTPUT: Duration = Duration::from_secs(30);

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
