//! The threads a server works on.

use tokio::runtime::{Builder, Runtime};

/// The threads of a server. They are not those that answer requests: agreeing, writing and applying go on however many
/// requests wait.
pub(super) struct Workplace(Option<Runtime>);

impl Workplace {
    /// Starts them, one for each processor.
    ///
    /// # Errors
    /// The system has no room for them.
    pub(super) fn new() -> std::io::Result<Workplace> {
        Ok(Workplace(Some(Builder::new_multi_thread().thread_name("server").enable_all().build()?)))
    }

    /// Runs something there.
    ///
    /// # Errors
    /// It panicked.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, String> {
        let runtime = self.0.as_ref().ok_or("the server has stopped")?;
        runtime.spawn(work).await.map_err(|e| e.to_string())
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            // Nothing that still runs may hold up the end.
            runtime.shutdown_background();
        }
    }
}
