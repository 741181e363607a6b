//! Starts the process that downloads an artifact, and waits for it.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

use super::order::{ARGUMENT, Order, Report};
use crate::processes;
use encamp_model::format_duration;

/// The longest report that is read.
const LONGEST_REPORT: u64 = 64 * 1024;

/// Why an artifact was not downloaded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchError {
    /// The process could not be started, or not get its order.
    #[error("failed to start the download: {0}")]
    Start(#[source] io::Error),
    /// The process said nothing at its end.
    #[error("the process of the download ended early ({0})")]
    Ended(std::process::ExitStatus),
    /// The process took too long.
    #[error("the download took longer than {}", format_duration(i64::try_from(.0.as_nanos()).unwrap_or(i64::MAX)))]
    Timeout(Duration),
    /// The download failed.
    #[error("{0}")]
    Failed(String),
}

/// The process, and all that it started: killed when this is dropped.
struct Group(Option<u32>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.0 {
            // Its number is not used again: the leader was not waited for yet.
            processes::kill_group(leader);
        }
    }
}

/// Downloads an artifact by `program`, which calls [`super::main`]. `env`: all variables of the process. Dropped, it
/// kills the process.
pub(crate) async fn fetch(program: &Path, order: &Order, env: &BTreeMap<String, String>) -> Result<(), FetchError> {
    match order.deadline() {
        None => run(program, order, env).await,
        Some(limit) => {
            tokio::time::timeout(limit, run(program, order, env)).await.unwrap_or(Err(FetchError::Timeout(limit)))
        }
    }
}

async fn run(program: &Path, order: &Order, env: &BTreeMap<String, String>) -> Result<(), FetchError> {
    let mut line = serde_json::to_vec(order).map_err(|e| FetchError::Start(e.into()))?;
    line.push(b'\n');
    let mut child = Command::new(program)
        .arg(ARGUMENT)
        .env_clear()
        .envs(env)
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(FetchError::Start)?;
    let group = Group(child.id());
    // Open until the end: the process ends when the agent does.
    let mut stdin = child.stdin.take();
    let mut report = Vec::new();
    let talked = async {
        if let Some(stdin) = &mut stdin {
            stdin.write_all(&line).await?;
        }
        match child.stdout.take() {
            Some(stdout) => stdout.take(LONGEST_REPORT).read_to_end(&mut report).await.map(drop),
            None => Ok(()),
        }
    };
    let talked = talked.await;
    drop(group);
    let status = child.wait().await.map_err(FetchError::Start)?;
    match serde_json::from_slice(&report) {
        Ok(Report::Done) => Ok(()),
        Ok(Report::Failed(text)) => Err(FetchError::Failed(text)),
        Err(_) => match talked {
            Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(FetchError::Start(e)),
            _ => Err(FetchError::Ended(status)),
        },
    }
}
