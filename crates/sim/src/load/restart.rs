//! Measures how a server with a large state writes a snapshot, and how long it takes to start again.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::setpriority_process;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::LoadError;
use super::outcome::{Restart, Timing};
use super::probe;
use super::stage::{PATIENCE, Stage};
use super::timings::{Timings, timing};
use encamp_api::{Client, Query};

/// Lines of a configuration that have a snapshot written as soon as anything was written.
const SNAPSHOT_AT_ONCE: &str = "  raft_snapshot_interval = \"100ms\"\n  raft_snapshot_threshold = 1\n";
/// The time between two small writes.
const PACE: Duration = Duration::from_millis(20);
/// How many small writes are measured while nothing else happens.
const IDLE_WRITES: usize = 250;
/// How often it is checked whether the snapshot was written.
const LOOK: Duration = Duration::from_millis(250);

/// Restarts the server of a scenario, lets it write a snapshot, and restarts it again; returns the times of these, and
/// those of small writes before and during the snapshot.
///
/// # Errors
/// The server does not start or answer, or it takes an hour.
pub(crate) async fn measure(stage: &mut Stage<'_>) -> Result<(Restart, Vec<Timing>), LoadError> {
    stage.tell("the server restarts from its log".into());
    let from_log = stage.restart("").await?;
    let idle = writes(stage.new_client()?, idle_writes()).await?;
    stage.tell("the server writes a snapshot".into());
    stage.restart(SNAPSHOT_AT_ONCE).await?;
    let index = probe::consensus(stage.client(), "applied_index").await?;
    let during = writes(stage.new_client()?, snapshot_after(stage.client(), index)).await?;
    let snapshot_seconds = milliseconds(stage.client(), "nomad_raft_snapshot_persist").await? / 1000.0;
    let snapshot_mb = largest_snapshot(stage.folder())? >> 20;
    stage.tell("the server restarts from its snapshot".into());
    let restart = stage.restart("").await?;
    let restart = Restart {
        from_log_seconds: from_log.as_secs_f64(),
        snapshot_seconds,
        snapshot_mb,
        seconds: restart.as_secs_f64(),
        restore_seconds: milliseconds(stage.client(), "nomad_raft_fsm_restore").await? / 1000.0,
    };
    Ok((restart, vec![timing("write, idle", idle), timing("write, snapshot", during)]))
}

/// Ends after the time of [`IDLE_WRITES`] writes.
async fn idle_writes() -> Result<(), LoadError> {
    tokio::time::sleep(PACE * u32::try_from(IDLE_WRITES).unwrap_or(u32::MAX)).await;
    Ok(())
}

/// Ends once a snapshot holds the operation of that index.
async fn snapshot_after(client: &Client, index: u64) -> Result<(), LoadError> {
    let end = Instant::now() + PATIENCE;
    while probe::consensus(client, "last_snapshot_index").await? < index {
        if Instant::now() > end {
            return Err(LoadError(format!("a snapshot: not within {PATIENCE:?}")));
        }
        tokio::time::sleep(LOOK).await;
    }
    Ok(())
}

/// Writes a namespace every [`PACE`] until `end` is over. Returns how long each write took from the time that it was due:
/// one that is late because the one before it took long counts from then.
///
/// A thread makes them that does nothing else: on those of this process, each would wait behind thousands of simulated
/// nodes that connect again, which are other machines in reality.
async fn writes(client: Client, end: impl Future<Output = Result<(), LoadError>>) -> Result<Vec<Duration>, LoadError> {
    let failed = |e| LoadError::of("starting to write", e);
    let over = Arc::new(AtomicBool::new(false));
    let (done, written) = oneshot::channel();
    let until = over.clone();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let work = move || {
        // Without the right to do it, it yields to the servers as nodes do.
        let _ = setpriority_process(None, 0);
        let _ = done.send(runtime.block_on(write_until(&client, &until)));
    };
    std::thread::Builder::new().name("small-writes".into()).spawn(work).map_err(failed)?;
    let ended = end.await;
    over.store(true, Ordering::Release);
    let written = written.await.map_err(|_| LoadError("the thread that writes ended early".into()))?;
    ended.and(written)
}

async fn write_until(client: &Client, over: &AtomicBool) -> Result<Vec<Duration>, LoadError> {
    let mut taken = Vec::new();
    let mut due = Instant::now();
    while !over.load(Ordering::Acquire) {
        tokio::time::sleep_until(due).await;
        let namespace = json!({"Name": "measured", "Description": taken.len().to_string()});
        let written: Result<(Value, _), _> = client.put("/v1/namespace", &Query::default(), &namespace).await;
        written.map_err(|e| LoadError::of("writing a namespace", e))?;
        taken.push(due.elapsed());
        due += PACE;
    }
    Ok(taken)
}

/// The longest sample of a metric of a server that has just done what it counts.
async fn milliseconds(client: &Client, name: &str) -> Result<f64, LoadError> {
    let mut timings = Timings::default();
    timings.read(client).await?;
    let found = timings.finish().into_iter().find(|t| t.name == name);
    let found = found.ok_or_else(|| LoadError(format!("the server does not report {name}")))?;
    Ok(found.p99_ms)
}

/// The length of the largest snapshot of a server, in bytes.
fn largest_snapshot(folder: &Path) -> Result<u64, LoadError> {
    let failed = |e| LoadError::of("looking for snapshots", e);
    let dir = folder.join("data/server/raft/snapshots");
    let lengths = std::fs::read_dir(dir).map_err(failed)?.map(|entry| Ok(entry?.metadata()?.len()));
    let lengths = lengths.collect::<std::io::Result<Vec<u64>>>().map_err(failed)?;
    Ok(lengths.into_iter().max().unwrap_or(0))
}
