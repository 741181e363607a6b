//! One voter.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::support::{Recorder, TempDir, alone, led, peer, until};
use crate::{Consensus, NoTransport, ProposeError, Role, Settings, StartError, StoreError};
use encamp_ops::{Operation, Reply};

async fn start(settings: &Settings) -> (Consensus, Arc<Recorder>) {
    let machine = Arc::new(Recorder::default());
    let node = Consensus::start(settings.clone(), machine.clone(), Arc::new(NoTransport)).await.expect("starts");
    (node, machine)
}

async fn propose(node: &Consensus, count: usize) -> Vec<u64> {
    let propose = |_| {
        let node = node.clone();
        tokio::spawn(async move { node.propose(Operation::Barrier).await.expect("applied") })
    };
    let mut indexes = Vec::new();
    for task in (0..count).map(propose).collect::<Vec<_>>() {
        let (index, reply) = task.await.expect("joined");
        assert_eq!(reply, Reply::Evaluations(vec![index.to_string()]), "everyone gets their own reply");
        indexes.push(index);
    }
    indexes.sort_unstable();
    indexes.dedup();
    assert_eq!(indexes.len(), count, "every operation has an index of its own");
    indexes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_is_there_after_a_restart() {
    let dir = TempDir::new();
    let mut settings = alone(&dir);
    let (mut applied, mut last_term) = (0, 0);
    for round in 0..4 {
        let begun = Instant::now();
        let (node, machine) = start(&settings).await;
        led(&node).await;
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
        node.barrier().await.expect("leads");
        assert_eq!(machine.applied(), applied, "round {round}");
        let indexes = propose(&node, 300).await;
        applied += 300;
        let stats = node.stats();
        assert_eq!((stats.role, stats.num_peers, stats.last_contact), (Role::Leader, 0, Some(Duration::ZERO)));
        assert_eq!(Some(stats.applied_index), indexes.last().copied());
        assert_eq!(
            (stats.last_log_index, stats.commit_index, stats.fsm_pending),
            (stats.applied_index, stats.applied_index, 0)
        );
        assert!(stats.term > last_term);
        last_term = stats.term;
        until("the address", || node.configuration().servers.iter().all(|s| s.peer == settings.peer)).await;
        let configuration = node.configuration();
        assert_eq!(configuration.servers.len(), 1);
        assert!(configuration.servers[0].leader && configuration.servers[0].voter);
        node.shutdown().await.expect("stops");
        assert!(matches!(node.propose(Operation::Barrier).await, Err(ProposeError::Fatal(_))));
        // The port changes at every start.
        settings.peer = peer(10 + round);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn snapshots_are_taken_and_the_log_gets_shorter() {
    for (trailing_logs, trailing_bytes) in [(5, u64::MAX), (10_000, 500)] {
        gets_shorter(trailing_logs, trailing_bytes).await;
    }
}

async fn gets_shorter(trailing_logs: u64, trailing_bytes: u64) {
    let dir = TempDir::new();
    let settings = Settings {
        snapshot_interval: Duration::from_millis(20),
        snapshot_threshold: 50,
        trailing_logs,
        trailing_bytes,
        ..alone(&dir)
    };
    let (node, _) = start(&settings).await;
    led(&node).await;
    for _ in 0..10 {
        propose(&node, 30).await;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    until("a snapshot", || node.stats().last_snapshot_index > 200).await;
    let before = node.stats();
    node.shutdown().await.expect("stops");
    let (node, machine) = start(&settings).await;
    led(&node).await;
    node.barrier().await.expect("leads");
    assert_eq!(machine.applied(), 300);
    assert_eq!(machine.restored.load(Ordering::Relaxed), 1);
    assert!(node.stats().last_snapshot_index >= before.last_snapshot_index);
    assert!(node.stats().applied_index > before.applied_index, "a new leader's entry");
    until("a shorter log", || node.stats().purged > 0).await;
    node.shutdown().await.expect("stops");
    // Without snapshots there is no beginning.
    std::fs::remove_dir_all(settings.dir.join("snapshots")).expect("removed");
    let started = Consensus::start(settings.clone(), machine, Arc::new(NoTransport)).await;
    assert!(matches!(started, Err(StartError::Store(StoreError::Gap { .. }))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_ends_before_its_snapshot_is_refused() {
    let dir = TempDir::new();
    let settings = Settings { snapshot_interval: Duration::from_millis(20), snapshot_threshold: 50, ..alone(&dir) };
    let (node, machine) = start(&settings).await;
    led(&node).await;
    propose(&node, 60).await;
    until("a snapshot", || node.stats().last_snapshot_index > 0).await;
    node.shutdown().await.expect("stops");
    let names: Vec<_> =
        std::fs::read_dir(&settings.dir).expect("listed").map(|e| e.expect("an entry").path()).collect();
    let files: Vec<_> = names.into_iter().filter(|p| p.is_file() && !p.ends_with("lock")).collect();
    let saved: Vec<_> = files.iter().map(|p| (p, std::fs::read(p).expect("readable"))).collect();
    let segments = |p: &std::path::Path| p.extension().is_some_and(|e| e == "seg");
    // The second loss takes along what tells how far the log went, the third one the log's every trace.
    for lost in [
        &(|p: &std::path::Path| segments(p)) as &dyn Fn(&std::path::Path) -> bool,
        &|p| segments(p) || p.ends_with("held"),
        &|_| true,
    ] {
        for (path, _) in saved.iter().filter(|(p, _)| lost(p)) {
            std::fs::remove_file(path).expect("removed");
        }
        let started = Consensus::start(settings.clone(), machine.clone(), Arc::new(NoTransport)).await;
        let error = started.err().expect("refused").to_string();
        assert!(error.contains("files of the log are missing or cut off"), "{error}");
        for (path, bytes) in &saved {
            std::fs::write(path, bytes).expect("written");
        }
        for extra in std::fs::read_dir(&settings.dir).expect("listed").map(|e| e.expect("an entry").path()) {
            if extra.is_file() && !extra.ends_with("lock") && !files.contains(&extra) {
                std::fs::remove_file(extra).expect("removed");
            }
        }
    }
    let (node, _) = start(&settings).await;
    led(&node).await;
    node.shutdown().await.expect("stops");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn foreign_and_used_directories_are_refused() {
    let dir = TempDir::new();
    let (node, machine) = start(&alone(&dir)).await;
    led(&node).await;
    let second = Consensus::start(alone(&dir), machine.clone(), Arc::new(NoTransport)).await;
    assert!(matches!(second, Err(StartError::Store(StoreError::Locked { .. }))));
    node.shutdown().await.expect("stops");
    let other = Settings::alone(alone(&dir).dir, 2.into(), peer(2));
    let foreign = Consensus::start(other, Arc::new(Recorder::default()), Arc::new(NoTransport)).await;
    let error = foreign.err().expect("refused").to_string();
    assert!(error.contains("00000000-0000-0000-0000-000000000001"), "{error}");
    // A refused start lets go of the directory.
    let (node, _) = start(&alone(&dir)).await;
    led(&node).await;
    node.shutdown().await.expect("stops");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_disk_stops_the_node_and_says_why() {
    let dir = TempDir::new();
    let (node, machine) = start(&alone(&dir)).await;
    led(&node).await;
    propose(&node, 5).await;
    node.break_disk();
    let error = node.propose(Operation::Barrier).await.expect_err("no room").to_string();
    assert!(error.contains("No space left"), "{error}");
    let mut watch = node.leadership();
    let failed = tokio::time::timeout(Duration::from_secs(20), watch.wait_for(|l| l.failed.is_some())).await;
    assert!(!failed.expect("in time").expect("a value").is_leader);
    assert!(matches!(node.propose(Operation::Barrier).await, Err(ProposeError::Fatal(_))));
    assert!(matches!(node.barrier().await, Err(ProposeError::Fatal(_))));
    assert_eq!(machine.applied(), 5);
    assert!(node.shutdown().await.is_err());
    let (node, machine) = start(&alone(&dir)).await;
    led(&node).await;
    node.barrier().await.expect("leads");
    assert_eq!(machine.applied(), 5, "what failed was never acknowledged");
    node.shutdown().await.expect("stops");
}
