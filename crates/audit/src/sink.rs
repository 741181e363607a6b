//! A sink: a thread that writes rows to a file, many at once, and tells those that wait whether it could.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use encamp_telemetry::Metrics;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

use super::chain::Chain;
use super::file::LogFile;

/// Rows that wait to be written.
const QUEUE: usize = 4096;
/// The most that is written at once, in bytes.
const BATCH: usize = 1 << 20;
/// How long a row may take to be written.
const PATIENCE: Duration = Duration::from_secs(5);
/// The pause between two log messages about failures.
const QUIET: Duration = Duration::from_secs(30);

/// What happens to an operation whose row cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guarantee {
    /// It is refused.
    Enforced,
    /// It goes on; the loss is logged and counted.
    BestEffort,
}

impl Guarantee {
    /// The guarantee of that name.
    pub fn parse(name: &str) -> Option<Guarantee> {
        match name {
            "enforced" => Some(Guarantee::Enforced),
            "best-effort" => Some(Guarantee::BestEffort),
            _ => None,
        }
    }
}

/// A log file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSettings {
    /// The path.
    pub path: PathBuf,
    /// The size in bytes at which it is rotated; 0 for never.
    pub rotate_bytes: u64,
    /// The age at which it is rotated; 0 for never.
    pub rotate_duration: Duration,
    /// The number of old files that are kept; 0 for all.
    pub rotate_max_files: usize,
    /// Its permissions.
    pub mode: u32,
}

/// A sink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SinkSettings {
    /// The label of its block.
    pub name: String,
    /// What it guarantees.
    pub guarantee: Guarantee,
    /// Its file.
    pub file: FileSettings,
}

/// A row was not written to a sink that guarantees it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("audit sink {sink:?}: {reason}")]
pub struct WriteError {
    /// The label of the sink.
    pub sink: String,
    /// Why.
    pub reason: WriteFailure,
}

/// Why a row was not written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteFailure {
    /// The thread that writes has ended.
    #[error("it has stopped")]
    Stopped,
    /// Too many rows wait.
    #[error("the disk is too slow: the row was not written within {} s", PATIENCE.as_secs())]
    Slow,
    /// The file can't be written.
    #[error("{problem}")]
    File {
        /// The kind of the error.
        kind: io::ErrorKind,
        /// The error of the operating system.
        problem: String,
    },
}

impl From<io::Error> for WriteFailure {
    fn from(e: io::Error) -> Self {
        WriteFailure::File { kind: e.kind(), problem: e.to_string() }
    }
}

/// A row in flight.
struct Row {
    line: Arc<[u8]>,
    /// Whether it has to be on the disk.
    sync: bool,
    /// Who waits for it.
    written: Option<oneshot::Sender<Result<(), WriteFailure>>>,
}

enum Message {
    Row(Row),
    /// Does nothing but to wake the thread.
    Wake,
    /// Answered when all former rows are written.
    Flush(oneshot::Sender<()>),
}

/// What the thread and its users share.
#[derive(Default)]
struct Shared {
    reopen: AtomicBool,
    /// Whether the last write failed: the next rows show whether it works again.
    failed: AtomicBool,
    /// Rows that were not written, since the last one that was.
    unwritten: AtomicU64,
    logged: Mutex<Option<Instant>>,
}

/// A sink at work. It ends when it is dropped.
pub(crate) struct Sink {
    name: String,
    guarantee: Guarantee,
    rows: mpsc::Sender<Message>,
    shared: Arc<Shared>,
    metrics: Metrics,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Sink {
    /// Opens the file and starts the thread.
    pub(crate) fn start(settings: &SinkSettings, metrics: &Metrics) -> io::Result<Sink> {
        let file = LogFile::open(&settings.file)?;
        let (chain, damage) = match file.is_regular() {
            true => Chain::open(&settings.file.path, settings.file.mode)?,
            false => (Chain::forgotten(), Vec::new()),
        };
        for damage in damage {
            let path = settings.file.path.display();
            tracing::error!(target: "audit", sink = settings.name, %path, %damage, "the audit log is damaged");
        }
        let (rows, queue) = mpsc::channel(QUEUE);
        let shared = Arc::new(Shared::default());
        let (name, guarantee) = (settings.name.clone(), settings.guarantee);
        let sink = Sink { name, guarantee, rows, shared, metrics: metrics.clone(), thread: Mutex::default() };
        let writer = Writer { file, chain, queue, shared: sink.shared.clone(), reports: sink.teller() };
        *sink.thread.lock() = Some(std::thread::Builder::new().name("audit".into()).spawn(move || writer.run())?);
        Ok(sink)
    }

    pub(crate) fn guarantee(&self) -> Guarantee {
        self.guarantee
    }

    /// Whether the last write failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.shared.failed.load(Ordering::Relaxed)
    }

    fn teller(&self) -> Teller {
        Teller { name: self.name.clone(), shared: self.shared.clone(), metrics: self.metrics.clone() }
    }

    fn error(&self, reason: WriteFailure) -> WriteError {
        WriteError { sink: self.name.clone(), reason }
    }

    /// Writes a row as far as the sink guarantees it. `sync`: a row that is guaranteed has to be on the disk.
    pub(crate) async fn write(&self, line: &Arc<[u8]>, sync: bool) -> Result<(), WriteError> {
        match self.guarantee {
            Guarantee::BestEffort => {
                self.write_later(line);
                Ok(())
            }
            Guarantee::Enforced => self.write_now(line, sync).await,
        }
    }

    /// Queues a row; it is lost if the queue is full.
    pub(crate) fn write_later(&self, line: &Arc<[u8]>) {
        let row = Row { line: line.clone(), sync: false, written: None };
        if self.rows.try_send(Message::Row(row)).is_err() {
            self.shared.unwritten.fetch_add(1, Ordering::Relaxed);
            self.teller().lost(1, "the disk is too slow: too many rows wait to be written");
        }
    }

    async fn write_now(&self, line: &Arc<[u8]>, sync: bool) -> Result<(), WriteError> {
        let (sender, written) = oneshot::channel();
        // After a failure of the disk, only what reaches the disk shows that it works again.
        let sync = sync || self.has_failed();
        let row = Row { line: line.clone(), sync, written: Some(sender) };
        let all = async {
            self.rows.send(Message::Row(row)).await.map_err(|_| WriteFailure::Stopped)?;
            written.await.map_err(|_| WriteFailure::Stopped)?
        };
        let done = tokio::time::timeout(PATIENCE, all).await;
        done.unwrap_or(Err(WriteFailure::Slow)).map_err(|reason| self.error(reason))
    }

    /// Has the file opened again.
    pub(crate) fn reopen(&self) {
        self.shared.reopen.store(true, Ordering::Release);
        // A thread that has rows to write is awake.
        let _ = self.rows.try_send(Message::Wake);
    }

    /// Waits until all rows are written, for a while at most.
    pub(crate) async fn flush(&self) {
        let (sender, done) = oneshot::channel();
        let all = async {
            if self.rows.send(Message::Flush(sender)).await.is_ok() {
                // A thread that ended has nothing left to write.
                let _ = done.await;
            }
        };
        if tokio::time::timeout(PATIENCE, all).await.is_err() {
            tracing::warn!(target: "audit", sink = self.name, "rows are not written yet");
        }
    }
}

/// Logs and counts failures.
struct Teller {
    name: String,
    shared: Arc<Shared>,
    metrics: Metrics,
}

impl Teller {
    fn lost(&self, rows: u64, reason: &str) {
        self.metrics.count("nomad.audit.write_failures", rows, &[("sink", &self.name)]);
        self.failed("rows of the audit log were not written", reason);
    }

    /// Logs a failure, at a bounded rate.
    fn failed(&self, what: &str, reason: &str) {
        let mut logged = self.shared.logged.lock();
        if logged.is_none_or(|at| at.elapsed() >= QUIET) {
            *logged = Some(Instant::now());
            tracing::error!(target: "audit", sink = self.name, error = reason, "{what}");
        }
    }
}

/// The thread of a sink.
struct Writer {
    file: LogFile,
    chain: Chain,
    queue: mpsc::Receiver<Message>,
    shared: Arc<Shared>,
    reports: Teller,
}

impl Writer {
    fn run(mut self) {
        while let Some(first) = self.queue.blocking_recv() {
            let (mut rows, mut flushed, mut size) = (Vec::new(), Vec::new(), 0);
            let mut next = Some(first);
            while let Some(message) = next {
                match message {
                    Message::Row(row) => {
                        size += row.line.len();
                        rows.push(row);
                    }
                    Message::Wake => {}
                    Message::Flush(sender) => flushed.push(sender),
                }
                next = if size < BATCH { self.queue.try_recv().ok() } else { None };
            }
            if self.shared.reopen.swap(false, Ordering::AcqRel)
                && let Err(e) = self.file.reopen()
            {
                self.reports
                    .failed("the audit log could not be opened again; the old file stays in use", &e.to_string());
            }
            if !rows.is_empty() {
                self.write(rows, size);
            }
            for sender in flushed {
                // Who waited may be gone.
                let _ = sender.send(());
            }
        }
    }

    fn write(&mut self, rows: Vec<Row>, size: usize) {
        let mut bytes = Vec::with_capacity(size);
        let unwritten = self.shared.unwritten.swap(0, Ordering::Relaxed);
        let (mut head, mut lost) = (self.chain.head.clone(), unwritten);
        rows.iter().for_each(|row| head.append(&row.line, std::mem::take(&mut lost), &mut bytes));
        let (written, rotated) = self.file.write(SystemTime::now(), &bytes);
        if let Err(e) = rotated {
            self.reports.failed("the audit log could not be rotated", &e.to_string());
        }
        match &written {
            Ok(()) => {
                if let Err(e) = self.chain.advance(head) {
                    self.reports.failed("the number of the last row was not stored", &e.to_string());
                }
            }
            Err(_) => {
                self.shared.unwritten.fetch_add(unwritten + rows.len() as u64, Ordering::Relaxed);
                if self.file.may_be_torn() && self.file.is_regular() {
                    self.chain.catch_up(self.file.path());
                }
            }
        }
        let sync = rows.iter().any(|row| row.sync);
        let done = written.and_then(|()| if sync { self.file.sync() } else { Ok(()) });
        let done = done.map_err(WriteFailure::from);
        self.shared.failed.store(done.is_err(), Ordering::Relaxed);
        if let Err(reason) = &done {
            self.reports.lost(rows.len() as u64, &reason.to_string());
        }
        for row in rows {
            // Who waited may be gone.
            let _ = row.written.map(|sender| sender.send(done.clone()));
        }
    }
}
