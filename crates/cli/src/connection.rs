//! A client of the cluster and its runtime, for commands that send several requests.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use jiff::tz::TimeZone;
use tokio::runtime::{Builder, Runtime};

use super::context::Environment;
use super::error::{CommandResult, ErrorContext};
use super::general::GeneralFlags;
use encamp_api::{ApiError, Client, Meta};

/// A client of one cluster, its runtime, and the time zone of the output.
pub struct Connection {
    /// The client.
    pub client: Client,
    /// The user's time zone.
    pub zone: TimeZone,
    runtime: Runtime,
}

/// Waits for a future. It is boxed since the runtime's loop is compiled for each type of future: hundreds of kilobytes.
pub(crate) fn block_on_boxed<T>(runtime: &Runtime, future: Pin<Box<dyn Future<Output = T> + '_>>) -> T {
    runtime.block_on(future)
}

impl Connection {
    /// Creates a client for the cluster that the flags and the environment select. Connects with the first request.
    pub fn new(general: &GeneralFlags, env: &Environment) -> CommandResult<Connection> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.context("Error starting the network runtime")?;
        Ok(Connection { client: general.client(env)?, zone: env.zone(), runtime })
    }

    /// Waits for a future that uses the network.
    pub fn wait<F: Future>(&self, future: F) -> F::Output {
        block_on_boxed(&self.runtime, Box::pin(future))
    }

    /// Waits for the result of a request. `failed` begins the message about a failure.
    pub fn ask<T>(&self, request: impl Future<Output = Result<(T, Meta), ApiError>>, failed: &str) -> CommandResult<T> {
        Ok(self.wait(request).context(failed)?.0)
    }

    /// Sleeps.
    pub fn pause(&self, time: Duration) {
        // Timers must be created inside the runtime.
        self.wait(async { tokio::time::sleep(time).await });
    }

    /// Whether the requests go to all namespaces.
    pub fn everywhere(&self) -> bool {
        self.client.config().namespace.as_deref() == Some("*")
    }

    /// The namespace of the requests.
    pub fn namespace(&self) -> Option<&str> {
        self.client.config().namespace.as_deref()
    }
}
