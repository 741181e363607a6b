//! The threads of a server.

use thiserror::Error;
use tokio::runtime::{Builder, Runtime};
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

/// The threads of a server. They are separate from those that serve requests, so that consensus, log writes and the
/// state machine make progress regardless of the number of waiting requests.
pub(super) struct Workplace(Option<Runtime>);

impl Workplace {
    /// Starts the threads, one per processor.
    ///
    /// # Errors
    /// The system cannot create the threads.
    pub(super) fn new() -> std::io::Result<Workplace> {
        Ok(Workplace(Some(Builder::new_multi_thread().thread_name("server").enable_all().build()?)))
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
}

impl Drop for Workplace {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            // Tasks that still run must not delay the exit.
            runtime.shutdown_background();
        }
    }
}
