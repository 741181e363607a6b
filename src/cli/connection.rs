//! A client of the cluster and what runs its requests, for commands that ask more than once.

use std::future::Future;
use std::time::Duration;

use jiff::tz::TimeZone;
use tokio::runtime::{Builder, Runtime};

use super::context::Environment;
use super::general::GeneralFlags;
use encamp_api::Client;

/// A client of one cluster, its runtime, and the zone in which times are shown.
pub struct Connection {
    /// The client.
    pub client: Client,
    /// The zone of the user.
    pub zone: TimeZone,
    runtime: Runtime,
}

impl Connection {
    /// A client for the cluster of the flags and the environment. Connects with the first request.
    pub fn new(general: &GeneralFlags, env: &Environment) -> Result<Connection, String> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|e| format!("Error starting the network runtime: {e}"))?;
        Ok(Connection { client: general.client(env)?, zone: env.zone(), runtime })
    }

    /// Waits for something that waits for the network.
    pub fn wait<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }

    /// Does nothing for a while.
    pub fn pause(&self, time: Duration) {
        // Timers are made inside of the runtime.
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
