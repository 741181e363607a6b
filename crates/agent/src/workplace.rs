//! The threads of a server.

use thiserror::Error;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinError;

/// A future that did not end on the threads of a server.
#[derive(Debug, Error)]
pub enum WorkplaceError {
    /// The threads have stopped.
    #[error("the server has stopped")]
    Stopped,
    /// The future panicked.
    #[error(transparent)]
    Panicked(#[from] JoinError),
}

/// Threads of a server. They are separate from those that answer the HTTP interface:
///
/// - `server`: consensus, log writes and the state machine make progress regardless of the number of waiting requests.
/// - `agents`: nodes and other servers. When thousands of nodes connect or have news at once, requests of people and
///   programs do not wait behind all of them.
pub(super) struct Workplace(Option<Runtime>);

impl Workplace {
    /// Starts the threads, one per processor, with this name.
    ///
    /// # Errors
    /// The system cannot create the threads.
    pub(super) fn new(name: &str) -> std::io::Result<Workplace> {
        Ok(Workplace(Some(Builder::new_multi_thread().thread_name(name).enable_all().build()?)))
    }

    /// Runs a future on these threads.
    ///
    /// # Errors
    /// It panicked, or the threads have stopped.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, WorkplaceError> {
        let runtime = self.0.as_ref().ok_or(WorkplaceError::Stopped)?;
        Ok(runtime.spawn(work).await?)
    }

    /// Starts tasks on these threads; `None` once they have stopped.
    pub(super) fn handle(&self) -> Option<Handle> {
        self.0.as_ref().map(|runtime| runtime.handle().clone())
    }

    /// Starts work whose tasks run on these threads.
    pub(super) fn start<T>(&self, start: impl FnOnce() -> T) -> T {
        let _entered = self.0.as_ref().map(Runtime::enter);
        start()
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            // Tasks that still run must not delay the exit.
            runtime.shutdown_background();
        }
    }
}
