//! Log messages (`docs/spec/agent-config.md §10.2`): from `tracing` to standard output, a file, syslog, and monitors.
//!
//! [`Logs`] is the handle: it changes the level at run time and accepts monitors. Messages of this program carry the
//! name of their module (`client.gc` for `encamp_client::gc`) or the `target` they are given; those of libraries are
//! shown from WARN on, and all of them at TRACE.
//!
//! - `level`: levels. `line`: the format of a message. `file`: the log file and its rotation. `syslog`: the system's log.

mod file;
mod level;
mod line;
mod syslog;

use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::SystemTime;

use parking_lot::{Mutex, RwLock};
use thiserror::Error;
use tokio::sync::mpsc;
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

pub use file::FileSettings;
use file::LogFile;
pub use level::Level;
use line::Line;
pub use syslog::SyslogError;

/// The maximum number of queued lines per monitor; further lines are dropped.
const BACKLOG: usize = 512;

/// An output for messages that cannot be used.
#[derive(Debug, Error)]
pub enum LogError {
    /// The log file cannot be opened.
    #[error("Error setting up log file: {0}")]
    File(#[source] std::io::Error),
    /// The system's log.
    #[error("Error setting up syslog: {0}")]
    Syslog(#[from] SyslogError),
}

/// The output stream of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// Standard output, which also contains the start messages of an agent; log messages are indented below them.
    Standard,
    /// Standard error.
    Error,
}

/// How and where messages are written.
#[derive(Debug, Clone)]
pub struct LogSettings {
    /// The minimum level of messages.
    pub level: Level,
    /// JSON instead of text.
    pub json: bool,
    /// Whether to include the source file and line.
    pub location: bool,
    /// The stream to write to.
    pub output: Output,
    /// An additional log file.
    pub file: Option<FileSettings>,
    /// The facility of an additional syslog output, such as `LOCAL0`.
    pub syslog: Option<String>,
}

/// The log of an agent. Clones are the same log.
#[derive(Clone)]
pub struct Logs {
    shared: Arc<Shared>,
}

struct Shared {
    level: AtomicU8,
    /// The lowest level of all outputs.
    lowest: AtomicU8,
    json: bool,
    location: bool,
    /// Whether text is indented below the start messages.
    indented: bool,
    sinks: Mutex<Sinks>,
    watchers: RwLock<Vec<Watcher>>,
    next_watcher: AtomicU64,
}

struct Sinks {
    out: Option<File>,
    /// Lines that are held back until the start messages are printed; `None` afterwards.
    held: Option<String>,
    file: Option<LogFile>,
    syslog: Option<syslog::Syslog>,
}

struct Watcher {
    id: u64,
    level: Level,
    json: bool,
    location: bool,
    lines: mpsc::Sender<Arc<str>>,
    dropped: Arc<AtomicU64>,
}

impl Logs {
    /// Creates a log. Lines for standard output are held back until [`Logs::release`].
    ///
    /// # Errors
    /// The file or syslog cannot be opened.
    pub fn open(settings: &LogSettings) -> Result<Logs, LogError> {
        let file = settings.file.as_ref().map(LogFile::open).transpose().map_err(LogError::File)?;
        let syslog = settings.syslog.as_deref().map(syslog::Syslog::connect).transpose()?;
        // A descriptor of its own: the command line keeps the lock of standard output.
        let out = match settings.output {
            Output::Standard => std::io::stdout().as_fd().try_clone_to_owned(),
            Output::Error => std::io::stderr().as_fd().try_clone_to_owned(),
        };
        let out = out.ok().map(File::from);
        let sinks = Sinks { out, held: Some(String::new()), file, syslog };
        let level = settings.level as u8;
        let shared = Shared {
            level: AtomicU8::new(level),
            lowest: AtomicU8::new(level),
            json: settings.json,
            location: settings.location,
            indented: settings.output == Output::Standard && !settings.json,
            sinks: Mutex::new(sinks),
            watchers: RwLock::default(),
            next_watcher: AtomicU64::new(0),
        };
        Ok(Logs { shared: Arc::new(shared) })
    }

    /// Installs this as the log of the process. Fails if one is already installed.
    pub fn install(&self) -> Result<(), tracing::subscriber::SetGlobalDefaultError> {
        tracing::subscriber::set_global_default(tracing_subscriber::registry().with(self.clone()))
    }

    /// Changes the level from now on.
    pub fn set_level(&self, level: Level) {
        self.shared.level.store(level as u8, Ordering::Relaxed);
        self.shared.find_lowest();
    }

    /// The level.
    pub fn level(&self) -> Level {
        self.shared.level()
    }

    /// Whether standard output is JSON.
    pub fn is_json(&self) -> bool {
        self.shared.json
    }

    /// Writes the lines that were held back, and all further lines immediately.
    pub fn release(&self) {
        let mut sinks = self.shared.sinks.lock();
        if let Some(held) = sinks.held.take() {
            sinks.print(&held);
        }
    }

    /// Writes one message of the agent to standard output immediately, regardless of the level: used for start messages
    /// in JSON.
    pub fn tell(&self, message: &str) {
        let line = Line::told(SystemTime::now(), message);
        let text = line.text(self.shared.json, false);
        self.shared.sinks.lock().print(&format!("{text}\n"));
    }

    /// The current log file, if there is one.
    pub fn file(&self) -> Option<PathBuf> {
        self.shared.sinks.lock().file.as_ref().map(|f| f.path().to_path_buf())
    }

    /// All messages from now on with at least this level.
    pub fn watch(&self, level: Level, json: bool, location: bool) -> Watch {
        let (lines, receiver) = mpsc::channel(BACKLOG);
        let dropped = Arc::new(AtomicU64::new(0));
        let id = self.shared.next_watcher.fetch_add(1, Ordering::Relaxed);
        let watcher = Watcher { id, level, json, location, lines, dropped: dropped.clone() };
        self.shared.watchers.write().push(watcher);
        self.shared.find_lowest();
        Watch { id, lines: receiver, next: None, dropped, shared: self.shared.clone() }
    }
}

impl Shared {
    fn level(&self) -> Level {
        Level::from_number(self.level.load(Ordering::Relaxed))
    }

    fn find_lowest(&self) {
        let watchers = self.watchers.read();
        let lowest = watchers.iter().map(|w| w.level as u8).min().unwrap_or(u8::MAX);
        self.lowest.store(lowest.min(self.level.load(Ordering::Relaxed)), Ordering::Relaxed);
    }

    fn write(&self, line: &Line) {
        if line.shown_at(self.level()) {
            let text = line.text(self.json, self.location);
            let mut sinks = self.sinks.lock();
            let shown = if self.indented { format!("    {text}\n") } else { format!("{text}\n") };
            match &mut sinks.held {
                Some(held) => held.push_str(&shown),
                None => sinks.print(&shown),
            }
            if let Some(file) = &mut sinks.file {
                file.write(SystemTime::now(), &format!("{text}\n"));
            }
            if let Some(syslog) = &sinks.syslog {
                syslog.write(line.level, &line.text(false, self.location));
            }
        }
        for watcher in self.watchers.read().iter() {
            let wanted = line.shown_at(watcher.level);
            if wanted && watcher.lines.try_send(line.text(watcher.json, watcher.location).into()).is_err() {
                watcher.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

impl Sinks {
    fn print(&mut self, text: &str) {
        // Errors cannot be reported if standard output is closed.
        let _ = self.out.as_mut().map(|out| out.write_all(text.as_bytes()));
    }
}

/// Libraries whose messages below a warning are left out.
const LIBRARIES: &[&str] = &["aws", "h2", "hyper", "rustls", "tower", "reqwest"];
/// This library logs ten messages per second about every server that is down. The server logs the relevant events
/// itself.
const CONSENSUS: &str = "openraft";

impl<S: Subscriber> Layer<S> for Logs {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        // The level changes at run time. What libraries say of every frame they send is never of use to operators.
        let of = |library: &str| metadata.target().starts_with(library);
        let detail = LIBRARIES.iter().any(|library| of(library)) && *metadata.level() > tracing::Level::WARN;
        if detail || of(CONSENSUS) { Interest::never() } else { Interest::sometimes() }
    }

    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        metadata.is_event() && Level::of(*metadata.level()) as u8 >= self.shared.lowest.load(Ordering::Relaxed)
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        self.shared.write(&Line::of(SystemTime::now(), event));
    }
}

/// A stream of messages. Messages that arrive while the queue is full are dropped, and a line reports their number.
pub struct Watch {
    id: u64,
    lines: mpsc::Receiver<Arc<str>>,
    /// A line that follows the notice about dropped messages.
    next: Option<Arc<str>>,
    dropped: Arc<AtomicU64>,
    shared: Arc<Shared>,
}

impl Watch {
    /// The next line, without its line end.
    pub async fn next(&mut self) -> Option<Arc<str>> {
        if let Some(line) = self.next.take() {
            return Some(line);
        }
        let line = self.lines.recv().await?;
        let dropped = self.dropped.swap(0, Ordering::Relaxed);
        if dropped == 0 {
            return Some(line);
        }
        self.next = Some(line);
        Some(format!("[WARN] Monitor dropped {dropped} logs during monitor request").into())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.watchers.write().retain(|w| w.id != self.id);
        self.shared.find_lowest();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logs(level: Level) -> Logs {
        let output = Output::Standard;
        Logs::open(&LogSettings { level, json: false, location: false, output, file: None, syslog: None })
            .expect("a log")
    }

    fn with<T>(logs: &Logs, f: impl FnOnce() -> T) -> T {
        tracing::subscriber::with_default(tracing_subscriber::registry().with(logs.clone()), f)
    }

    fn held(logs: &Logs) -> String {
        logs.shared.sinks.lock().held.clone().expect("not released")
    }

    #[test]
    fn the_level_changes_at_run_time() {
        let logs = logs(Level::Info);
        with(&logs, || {
            let say = || tracing::debug!(target: "agent", "hello");
            say();
            assert_eq!(held(&logs), "");
            logs.set_level(Level::Debug);
            say();
            assert!(held(&logs).ends_with("[DEBUG] agent: hello\n"), "{}", held(&logs));
            logs.set_level(Level::Off);
            tracing::error!("gone");
            assert!(!held(&logs).contains("gone"));
        });
    }

    #[tokio::test]
    async fn watchers_have_their_own_level_and_form() {
        let logs = logs(Level::Error);
        let mut text = logs.watch(Level::Debug, false, false);
        let mut json = logs.watch(Level::Warn, true, false);
        with(&logs, || {
            tracing::debug!(target: "client.gc", alloc_id = "a b", count = 2, "removing");
            tracing::warn!(target: "client", "late");
        });
        let first = text.next().await.expect("a line");
        assert!(first.ends_with("[DEBUG] client.gc: removing: alloc_id=\"a b\" count=2"), "{first}");
        assert!(text.next().await.expect("a line").ends_with("[WARN]  client: late"));
        let line: serde_json::Value = serde_json::from_str(&json.next().await.expect("a line")).expect("JSON");
        assert_eq!((line["@level"].as_str(), line["@message"].as_str()), (Some("warn"), Some("late")));
        assert_eq!(held(&logs), "");
        drop((text, json));
        assert_eq!(logs.shared.lowest.load(Ordering::Relaxed), Level::Error as u8);
    }

    #[tokio::test]
    async fn slow_watchers_are_told_what_they_lost() {
        let logs = logs(Level::Off);
        let mut watch = logs.watch(Level::Info, false, false);
        with(&logs, || (0..BACKLOG + 3).for_each(|i| tracing::info!(target: "x", "line {i}")));
        let notice = watch.next().await.expect("a line");
        assert_eq!(&*notice, "[WARN] Monitor dropped 3 logs during monitor request");
        assert!(watch.next().await.expect("a line").ends_with("x: line 0"));
        assert!(watch.next().await.expect("a line").ends_with("x: line 1"));
    }
}
