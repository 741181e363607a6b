//! The audit log of an agent: its sinks, filters and key.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use encamp_host::ids;
use encamp_telemetry::Metrics;

use super::event::{Auth, AuthKind, Event, NodeMeta, PayloadKind, RequestInfo, ResponseInfo, Stage};
use super::filter::Filters;
use super::secrets::Hasher;
use super::sink::{Guarantee, Sink, SinkSettings, WriteError};

/// The settings of an audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Where rows are written.
    pub sinks: Vec<SinkSettings>,
    /// What is left out.
    pub filters: Filters,
    /// The file of the key for hashes; none for a key that is forgotten with the process.
    pub key: Option<PathBuf>,
    /// The agent, as rows name it.
    pub node: NodeMeta,
}

/// An audit log that cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file of a sink.
    #[error("sink {name:?}: {}: {source}", path.display())]
    Sink {
        /// The label of the sink.
        name: String,
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The key.
    #[error("key: {}: {source}", path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// The audit log of an agent.
pub struct AuditLog {
    sinks: Vec<Sink>,
    filters: Filters,
    hasher: Hasher,
    node: NodeMeta,
}

impl std::fmt::Debug for AuditLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AuditLog").field("node", &self.node).finish_non_exhaustive()
    }
}

impl AuditLog {
    /// Opens all sinks.
    ///
    /// # Errors
    /// A file or the key cannot be used.
    pub fn open(settings: Settings, metrics: &Metrics) -> Result<AuditLog, OpenError> {
        let hasher = match &settings.key {
            Some(path) => Hasher::of_file(path),
            None => Hasher::forgotten(),
        };
        let path = settings.key.unwrap_or_default();
        let hasher = hasher.map_err(|source| OpenError::Key { path, source })?;
        let start = |s: &SinkSettings| {
            let failed = |source| OpenError::Sink { name: s.name.clone(), path: s.file.path.clone(), source };
            Sink::start(s, metrics).map_err(failed)
        };
        let sinks = settings.sinks.iter().map(start).collect::<Result<_, _>>()?;
        Ok(AuditLog { sinks, filters: settings.filters, hasher, node: settings.node })
    }

    /// Whether a row about a request is to be written. A sink that failed gets every first row of what is not left out
    /// altogether: it shows whether the sink works again before anything is carried out.
    pub fn wants(&self, stage: Stage, path: &str, operation: &str) -> bool {
        let keep = |stage| self.filters.keep(stage, path, operation);
        let probes = || self.sinks.iter().any(|s| s.guarantee() == Guarantee::Enforced && s.has_failed());
        keep(stage) || (stage == Stage::OperationReceived && keep(Stage::OperationComplete) && probes())
    }

    /// The keyed hash of a secret; empty for none.
    pub fn hash(&self, secret: &str) -> String {
        if secret.is_empty() { String::new() } else { self.hasher.hash(secret) }
    }

    /// The agent, as rows name it.
    pub fn node(&self) -> &NodeMeta {
        &self.node
    }

    /// Writes a row to all sinks. Where a sink enforces it: a row of [`Stage::OperationReceived`] is written, one of
    /// [`Stage::OperationComplete`] is on the disk when this returns.
    ///
    /// # Errors
    /// A sink that enforces it did not write the row.
    pub async fn write(&self, event: Event) -> Result<(), WriteError> {
        let sync = event.payload.stage == Stage::OperationComplete;
        let line: Arc<[u8]> = event.line().into();
        let mut result = Ok(());
        for sink in &self.sinks {
            result = result.and(sink.write(&line, sync).await);
        }
        result
    }

    /// Writes a row to all sinks without waiting for it.
    pub fn write_later(&self, event: Event) {
        let line: Arc<[u8]> = event.line().into();
        self.sinks.iter().for_each(|sink| sink.write_later(&line));
    }

    /// Notes what an operator did with the agent's process; `error` is empty if it went well.
    pub fn note(&self, operation: &str, source: &str, error: &str) {
        let auth = Auth { r#type: AuthKind::Host, ..Auth::default() };
        let request = RequestInfo {
            id: ids::uuid(),
            operation: operation.into(),
            endpoint: source.into(),
            node_meta: self.node.clone(),
            ..RequestInfo::default()
        };
        let status_code = if error.is_empty() { 200 } else { 500 };
        let response = ResponseInfo { status_code, allowed: true, error: error.into(), ..ResponseInfo::default() };
        let (id, now) = (ids::uuid(), ids::now());
        self.write_later(Event::new(PayloadKind::Agent, id, now, auth, request, Some(response)));
    }

    /// Opens all files again, after they were moved away.
    pub fn reopen(&self) {
        self.sinks.iter().for_each(Sink::reopen);
    }

    /// Waits until all rows are written, for a while at most.
    pub async fn flush(&self) {
        for sink in &self.sinks {
            sink.flush().await;
        }
    }
}
