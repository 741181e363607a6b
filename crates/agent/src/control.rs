//! The agent, as seen by the HTTP interface.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use procfs::process::Process;
use serde_json::Value;

use super::Logs;
use super::log::{Level, Watch};
use super::start::{ReloadError, Reloader};
use super::{export, profile};
use encamp_http::agent::control::{AgentControl, AgentStats, LogSource, LogWatch, Profile, ProfileKind};
use encamp_http::agent::pending::ByteStream;
use encamp_http::agent::pending::Pending;
use encamp_http::error::Error;

/// The effective configuration without secrets, which a reload changes; clones share it.
#[derive(Clone)]
pub struct ShownConfig(Arc<RwLock<Value>>);

impl ShownConfig {
    /// Begins with a configuration.
    pub fn new(config: Value) -> ShownConfig {
        ShownConfig(Arc::new(RwLock::new(config)))
    }

    /// Replaces it.
    pub fn set(&self, config: Value) {
        *self.0.write() = config;
    }
}

/// The agent's functions for the HTTP interface.
pub struct Control {
    /// The effective configuration, without secrets.
    pub config: ShownConfig,
    /// Messages.
    pub logs: Logs,
    /// Reloads the configuration.
    pub reloader: Reloader,
}

struct Lines(Watch);

impl LogWatch for Lines {
    fn next(&mut self) -> Pending<'_, Option<String>> {
        Box::pin(async move { self.0.next().await.map(|line| line.to_string()) })
    }
}

impl AgentControl for Control {
    fn config(&self) -> Value {
        self.config.0.read().clone()
    }

    fn stats(&self) -> AgentStats {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let entries = [
            ("arch", go_arch().to_string()),
            ("cpu_count", cores.to_string()),
            ("goroutines", threads().to_string()),
            ("kernel.name", std::env::consts::OS.to_string()),
            ("max_procs", cores.to_string()),
            ("version", format!("rust {}", env!("CARGO_PKG_RUST_VERSION"))),
        ];
        let runtime: BTreeMap<String, String> = entries.into_iter().map(|(k, v)| (k.to_string(), v)).collect();
        [("runtime".to_string(), runtime)].into()
    }

    fn reload(&self) -> Pending<'_, Result<(), Error>> {
        Box::pin(async move {
            let done = tokio::time::timeout(Duration::from_secs(10), self.reloader.request()).await;
            done.unwrap_or(Err(ReloadError::TimedOut)).map_err(|e| Error::internal(e.to_string()))
        })
    }

    fn watch_logs(&self, level: &str, json: bool, location: bool) -> Option<Box<dyn LogWatch>> {
        let level = Level::parse(level)?;
        Some(Box::new(Lines(self.logs.watch(level, json, location))))
    }

    fn export_logs(&self, from: LogSource) -> Pending<'_, Result<ByteStream, Error>> {
        Box::pin(async move { export::open(self.logs.file().as_deref(), from).await })
    }

    fn profile(&self, kind: ProfileKind, length: Duration, text: bool) -> Pending<'_, Result<Profile, Error>> {
        let failed = |e: std::io::Error| Error::internal(format!("the system does not tell: {e}"));
        Box::pin(async move { profile::make(kind, length, text).await.map_err(failed) })
    }
}

/// The name of the processor architecture, as clients expect it.
fn go_arch() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// The number of threads of this process; 0 if unknown.
fn threads() -> i64 {
    Process::myself().and_then(|p| p.stat()).map_or(0, |s| s.num_threads)
}
