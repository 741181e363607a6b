//! The agent itself: its configuration, log messages and profiles.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::pending::{ByteStream, Pending};
use crate::error::Error;

/// Groups of names and texts, as `agent/self` shows them.
pub type AgentStats = BTreeMap<String, BTreeMap<String, String>>;

/// Where old messages are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogSource {
    /// In the agent's log file.
    File,
    /// In the journal of the system.
    Journal {
        /// The unit that wrote them.
        unit: String,
        /// How old they are at most.
        since: Duration,
        /// Go on with new ones.
        follow: bool,
    },
}

/// The subject of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProfileKind {
    /// The command line of the agent.
    CommandLine,
    /// Which threads use the processors.
    Processor,
    /// Which threads there are.
    Threads,
    /// The mappings of its memory.
    Memory,
}

/// A profile of the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Its content type.
    pub content_type: &'static str,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// Requests to the agent itself.
pub trait AgentControl: Send + Sync {
    /// The effective configuration as `agent/self` shows it; without secrets.
    fn config(&self) -> Value;

    /// Figures besides those of server and client: `runtime`.
    fn stats(&self) -> AgentStats;

    /// Reads the configuration again, as SIGHUP does.
    fn reload(&self) -> Pending<'_, Result<(), Error>>;

    /// Messages of this level and above from now on; `None` for a level that does not exist.
    fn watch_logs(&self, level: &str, json: bool, location: bool) -> Option<Box<dyn LogWatch>>;

    /// Messages of the past, as they stand where they are kept.
    fn export_logs(&self, from: LogSource) -> Pending<'_, Result<ByteStream, Error>>;

    /// A profile; processor time is measured for as long as `length`. `text`: in words instead of the form of the
    /// tools.
    fn profile(&self, kind: ProfileKind, length: Duration, text: bool) -> Pending<'_, Result<Profile, Error>>;
}

/// Messages as they come.
pub trait LogWatch: Send {
    /// The next line, without a newline; `None` at the end.
    fn next(&mut self) -> Pending<'_, Option<String>>;
}
