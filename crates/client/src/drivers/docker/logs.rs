//! The agent's side of the log process of a container: it starts it, starts it again when it is lost, and ends it.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use super::log_process::{self, Order};
use crate::directory::{Directory, Links};
use crate::processes;

/// How often a lost log process is started again.
const RESTARTS: u32 = 3;
/// How often it is looked after.
const POLL: Duration = Duration::from_millis(50);

/// A log process, for the next agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stored {
    order: Order,
    pid: u32,
    ticks: u64,
}

/// The log process of a running container.
pub(super) struct Logger {
    program: PathBuf,
    stored: Mutex<Stored>,
}

async fn spawn(program: &Path, order: &Order) -> std::io::Result<(u32, u64)> {
    let text = serde_json::to_vec(order)?;
    let own = Directory::open(&order.alloc_dir).and_then(|d| Ok(d.open_dir(&order.task, Links::Refused)?))?;
    let log = own.append("docker_logger.out", 0o644)?;
    let mut child = Command::new(program)
        .arg(log_process::ARGUMENT)
        .env_clear()
        // The user's own daemon is found by it.
        .envs(std::env::var_os("XDG_RUNTIME_DIR").map(|d| ("XDG_RUNTIME_DIR", d)))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::from(log))
        .kill_on_drop(false)
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(&text).await?;
    }
    let pid = child.id().unwrap_or(0);
    let ticks = processes::stat(pid).map_or(0, |s| s.starttime);
    tokio::spawn(async move { child.wait().await });
    Ok((pid, ticks))
}

impl Logger {
    /// Starts a log process.
    pub(super) async fn start(program: &Path, order: Order) -> std::io::Result<Logger> {
        let (pid, ticks) = spawn(program, &order).await?;
        Ok(Logger { program: program.into(), stored: Mutex::new(Stored { order, pid, ticks }) })
    }

    /// The log process of an earlier agent; if it is lost, another one goes on.
    pub(super) async fn recover(program: &Path, stored: Stored) -> Logger {
        let logger = Logger { program: program.into(), stored: Mutex::new(stored) };
        if !logger.is_alive() {
            logger.restart().await;
        }
        logger
    }

    /// What the next agent needs.
    pub(super) fn stored(&self) -> Stored {
        self.stored.lock().clone()
    }

    fn is_alive(&self) -> bool {
        let stored = self.stored.lock();
        processes::stat(stored.pid).is_some_and(|s| s.starttime == stored.ticks && !processes::is_zombie(&s))
    }

    async fn restart(&self) {
        let order = self.stored.lock().order.clone();
        match spawn(&self.program, &order).await {
            Ok((pid, ticks)) => {
                let mut stored = self.stored.lock();
                (stored.pid, stored.ticks) = (pid, ticks);
            }
            Err(error) => {
                tracing::warn!(target: "client.driver_mgr.docker", task = order.task, %error, "the output of the container is not collected");
            }
        }
    }

    /// Starts it again when it is lost while the container runs; ends when that was often enough.
    pub(super) async fn look_after(&self) {
        let mut left = RESTARTS;
        while left > 0 {
            tokio::time::sleep(Duration::from_secs(1)).await;
            if !self.is_alive() {
                left -= 1;
                let task = self.stored.lock().order.task.clone();
                tracing::warn!(target: "client.driver_mgr.docker", task, "the log process is lost; another one is started");
                self.restart().await;
            }
        }
        std::future::pending().await
    }

    /// Waits until all is written; the container has ended.
    pub(super) async fn finish(&self, limit: Duration) {
        let until = Instant::now() + limit;
        while self.is_alive() && Instant::now() < until {
            tokio::time::sleep(POLL).await;
        }
    }

    /// Ends it and removes what it keeps.
    pub(super) fn end(&self) {
        end(&self.stored());
    }
}

/// Ends a log process and removes what it keeps.
pub(super) fn end(stored: &Stored) {
    let pid = i32::try_from(stored.pid).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid.filter(|_| processes::is_alive(stored.pid, stored.ticks)) {
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
    log_process::forget(&stored.order);
}
