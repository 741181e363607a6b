//! The log process of a container: it reads what the daemon keeps of the container's output and writes it to the log
//! files of the task, also while no agent runs (`docs/spec/client.md §20`, `§23.3`).
//!
//! The agent starts it as `<program> docker-logger` with an [`Order`] on its standard input. How far it came is in a file
//! beside the task, so that another process goes on there: lines are known by the time that the daemon gives them, and
//! by their number among those of the same time. One that is killed has not noted the lines of the last moment: they are
//! written again.

use std::io::{self, Read};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use bollard::container::LogOutput;
use bollard::query_parameters::{InspectContainerOptions, LogsOptions};
use encamp_model::Time;
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};

use super::super::LogSettings;
use super::connect::{Daemon, DaemonError, SHORT};
use crate::directory::{Directory, Links, PathError};
use crate::logs::rotate::Rotator;

/// First argument of the program that makes it a log process.
pub(crate) const ARGUMENT: &str = "docker-logger";
/// How often the position is written down.
const NOTE: Duration = Duration::from_millis(200);
/// Pauses between attempts to reach the daemon.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// So often in a row a daemon refuses to give any output before that is taken as its last word.
const REFUSALS: u32 = 4;
/// How long the daemon may take to begin the stream, and to say something at the end of the container.
const QUIET: Duration = Duration::from_secs(30);
/// A day: streams are asked for again now and then, in case one hangs.
const STREAM: Duration = Duration::from_secs(24 * 3600);

/// Whose output goes where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Order {
    /// The daemon, as the settings name it.
    pub endpoint: String,
    /// ID of the container.
    pub container: String,
    /// The directory of the allocation.
    pub alloc_dir: PathBuf,
    /// Name of the task.
    pub task: String,
    /// The run of the task, which names the file with the position.
    pub run: String,
    /// Number and size of the log files.
    pub logs: LogSettings,
}

/// How much is written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Position {
    /// The time of the last line, as the daemon writes it.
    time: String,
    /// The same in nanoseconds.
    nanos: i64,
    /// Lines of that time: of standard output and of standard error.
    seen: [u64; 2],
}

/// Why a log process can't do its work.
#[derive(Debug, thiserror::Error)]
enum LogError {
    /// The order can't be read.
    #[error(transparent)]
    Input(#[from] io::Error),
    /// The order is none.
    #[error(transparent)]
    Order(#[from] serde_json::Error),
    /// The directory of the task is not there.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The daemon does not let anybody read.
    #[error(transparent)]
    Daemon(#[from] DaemonError),
}

/// The whole life of a log process; `None` if the arguments ask for none.
pub fn main() -> Option<ExitCode> {
    if std::env::args_os().nth(1)? != ARGUMENT {
        return None;
    }
    // A session of its own: signals from a terminal don't reach it.
    let _ = rustix::process::setsid();
    Some(match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    })
}

fn run() -> Result<(), LogError> {
    let mut text = Vec::new();
    io::stdin().read_to_end(&mut text)?;
    let order: Order = serde_json::from_slice(&text)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async { Writer::open(order)?.follow().await })
}

/// Removes the file with the position of a run.
pub(super) fn forget(order: &Order) {
    if let Ok(dir) = private(order) {
        let _ = dir.remove_file(position_file(order));
    }
}

fn private(order: &Order) -> Result<Directory, PathError> {
    let task = Directory::open(&order.alloc_dir)?.open_dir(&order.task, Links::Refused)?;
    task.make_dir("private", 0o700, None)
}

fn position_file(order: &Order) -> String {
    format!("{}.position", order.run)
}

struct Writer {
    daemon: Daemon,
    private: Directory,
    files: [Rotator; 2],
    position: Position,
    noted: Instant,
    order: Order,
}

/// What became of a stream.
enum Streamed {
    /// It ended.
    Ended,
    /// It broke.
    Broken(DaemonError),
}

impl Writer {
    fn open(order: Order) -> Result<Writer, LogError> {
        let logs = Directory::open(&order.alloc_dir)?.open_dir("alloc/logs", Links::Refused)?;
        let file = |which: &str| Rotator::open(logs.clone(), format!("{}.{which}", order.task), order.logs);
        let files = [file("stdout")?, file("stderr")?];
        let private = private(&order)?;
        let stored = private.open_file(position_file(&order), Links::Refused).ok();
        let position = stored.and_then(|(file, _)| serde_json::from_reader(file).ok()).unwrap_or_default();
        let daemon = Daemon::new(&order.endpoint);
        Ok(Writer { daemon, private, files, position, noted: Instant::now(), order })
    }

    /// Copies until the container has ended and all that it said is written, or the container or the task is gone.
    async fn follow(mut self) -> Result<(), LogError> {
        let (mut pause, mut refusals) = (FIRST_PAUSE, 0);
        loop {
            // Asked before the stream: what the container says until then is in the stream.
            let running = match self.is_running().await {
                Ok(running) => running,
                Err(e) if e.is_not_found() => return Ok(()),
                Err(_) if !self.order.alloc_dir.is_dir() => return Ok(()),
                Err(_) => {
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                    continue;
                }
            };
            let before = self.position.clone();
            let streamed = self.stream(running).await;
            self.note();
            match streamed {
                Streamed::Ended if !running => return Ok(()),
                Streamed::Broken(e) if e.is_not_found() => return Ok(()),
                // The log driver of the container keeps nothing that can be read, or does not do so yet.
                Streamed::Broken(e @ DaemonError::Refused { status: 400 | 500 | 501, .. })
                    if before.time.is_empty() =>
                {
                    refusals += 1;
                    if refusals == REFUSALS {
                        return Err(e.into());
                    }
                }
                Streamed::Ended | Streamed::Broken(_) => {}
            }
            if before != self.position {
                pause = FIRST_PAUSE;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn is_running(&self) -> Result<bool, DaemonError> {
        let id = self.order.container.as_str();
        let call = self.daemon.call("inspect the container", SHORT, |d| async move {
            d.inspect_container(id, None::<InspectContainerOptions>).await
        });
        let state = call.await?.state.unwrap_or_default();
        Ok(state.running == Some(true) || state.paused == Some(true) || state.restarting == Some(true))
    }

    /// Copies what there is, and, with `follow`, what comes.
    async fn stream(&mut self, follow: bool) -> Streamed {
        // The daemon counts whole seconds, and may leave out what is exactly as old.
        let since = i32::try_from((self.position.nanos / 1_000_000_000 - 1).max(0)).unwrap_or(0);
        let options =
            LogsOptions { follow, stdout: true, stderr: true, since, timestamps: true, ..LogsOptions::default() };
        let mut skip = self.position.seen;
        let daemon = Daemon::new(&self.order.endpoint);
        let id = self.order.container.clone();
        let limit = if follow { STREAM } else { QUIET };
        let outcome = daemon.call("read the output of the container", limit, |d| async move {
            let mut lines = std::pin::pin!(d.logs(&id, Some(options)));
            let mut note = tokio::time::interval(NOTE);
            loop {
                tokio::select! {
                    line = lines.next() => match line {
                        Some(line) => self.take(&line?, &mut skip),
                        None => return Ok(()),
                    },
                    _ = note.tick() => self.note(),
                }
            }
        });
        match outcome.await {
            Ok(()) => Streamed::Ended,
            Err(e) => Streamed::Broken(e),
        }
    }

    /// Takes a line of the daemon: its time, a blank, and what the container wrote.
    fn take(&mut self, line: &LogOutput, skip: &mut [u64; 2]) {
        let which = usize::from(matches!(line, LogOutput::StdErr { .. }));
        let bytes = line.as_ref();
        let (text, rest) = split(bytes);
        if let Some((time, nanos)) = text {
            match nanos.cmp(&self.position.nanos) {
                std::cmp::Ordering::Less => return,
                std::cmp::Ordering::Equal => {
                    let left = skip.get_mut(which).filter(|n| **n > 0);
                    if let Some(left) = left {
                        *left -= 1;
                        return;
                    }
                }
                std::cmp::Ordering::Greater => {
                    self.position = Position { time: time.into(), nanos, seen: [0; 2] };
                    *skip = [0; 2];
                }
            }
            if let Some(seen) = self.position.seen.get_mut(which) {
                *seen += 1;
            }
        }
        if let Some(file) = self.files.get_mut(which)
            && let Err(e) = file.write(rest)
        {
            // A full disk: the container must not stand still for it.
            eprintln!("log: {e}");
        }
        if self.noted.elapsed() >= NOTE {
            self.note();
        }
    }

    /// Writes the position down.
    fn note(&mut self) {
        self.noted = Instant::now();
        if self.position.time.is_empty() {
            return;
        }
        let written = serde_json::to_vec(&self.position)
            .map_err(io::Error::from)
            .and_then(|text| Ok(self.private.replace(position_file(&self.order), &text, 0o600, None)?));
        if let Err(e) = written {
            eprintln!("position: {e}");
        }
    }
}

/// The time at the beginning of a line, as text and in nanoseconds, and what follows; lines may have none.
fn split(line: &[u8]) -> (Option<(&str, i64)>, &[u8]) {
    let found = line.iter().take(40).position(|b| *b == b' ').and_then(|at| {
        let (time, rest) = (line.get(..at)?, line.get(at + 1..)?);
        let text = std::str::from_utf8(time).ok()?;
        let nanos = Time::parse(text).ok()?.unix_nanos()?;
        Some(((text, nanos), rest))
    });
    match found {
        Some((time, rest)) => (Some(time), rest),
        None => (None, line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TempDir;

    fn writer(dir: &TempDir) -> Writer {
        std::fs::create_dir_all(dir.path().join("alloc/logs")).unwrap();
        std::fs::create_dir_all(dir.path().join("t")).unwrap();
        Writer::open(Order {
            endpoint: "unix:///nonexistent".into(),
            container: "c".into(),
            alloc_dir: dir.path().into(),
            task: "t".into(),
            run: "12".into(),
            logs: LogSettings { max_files: 2, max_bytes: 1 << 20 },
        })
        .unwrap()
    }

    fn out(text: &str) -> LogOutput {
        LogOutput::StdOut { message: text.as_bytes().to_vec().into() }
    }

    fn err(text: &str) -> LogOutput {
        LogOutput::StdErr { message: text.as_bytes().to_vec().into() }
    }

    #[test]
    fn times_of_lines() {
        assert_eq!(split(b"2026-01-02T03:04:05Z a b\n").1, b"a b\n");
        let (time, rest) = split(b"2026-01-02T03:04:05.000000007Z ");
        assert_eq!((time.unwrap().1 % 1_000_000_000, rest), (7, &b""[..]));
        assert_eq!(split(b"no time\n"), (None, &b"no time\n"[..]));
    }

    /// The next process gets the last lines again, whether the daemon counts seconds or nanoseconds.
    #[test]
    fn another_process_goes_on_where_the_last_one_was() {
        let dir = TempDir::new("docker-logs");
        let read = |which: &str| std::fs::read_to_string(dir.path().join(format!("alloc/logs/t.{which}.0"))).unwrap();
        let lines = [
            out("2026-01-02T03:04:04Z a\n"),
            out("2026-01-02T03:04:05Z b\n"),
            err("2026-01-02T03:04:05Z x\n"),
            out("2026-01-02T03:04:05Z c\n"),
            out("2026-01-02T03:04:05Z d\n"),
            err("2026-01-02T03:04:05.5Z y\n"),
            out("2026-01-02T03:04:06Z e\n"),
        ];
        let feed = |w: &mut Writer, lines: &[LogOutput]| {
            let mut skip = w.position.seen;
            lines.iter().for_each(|l| w.take(l, &mut skip));
            w.note();
        };
        for upto in [1, 2, 4, 6, 7, 7] {
            feed(&mut writer(&dir), &lines[..upto]);
        }
        assert_eq!((read("stdout").as_str(), read("stderr").as_str()), ("a\nb\nc\nd\ne\n", "x\ny\n"));
        let order = writer(&dir).order;
        forget(&order);
        assert_eq!(writer(&dir).position, Position::default());
    }
}
