//! Damage of every kind to every file of a server, and what becomes of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use openraft::{CommittedLeaderId, Entry, EntryPayload, LogId, Membership, Vote};

use super::*;
use crate::log::Log;
use crate::tests::support::{Recorder, TempDir, alone, led, peer, until};
use crate::tests::voters::Cluster;
use crate::types::{Batch, EntryId, Types};
use crate::{Consensus, NoTransport, Settings, StartError, StorageHealth};
use encamp_model::random::Random;
use encamp_ops::Operation;

/// Small, so that a few entries fill several segments.
const SMALL: u64 = 300;
/// The last term of the server's vote.
const TERM: u64 = 5;
/// Entries of the log.
const ENTRIES: u64 = 12;

fn id(term: u64, index: u64) -> EntryId {
    LogId::new(CommittedLeaderId::new(term, ServerId::default()), index)
}

/// An entry: the first one names the voters.
fn entry(index: u64, voters: u64) -> Entry<Types> {
    let payload = if index == 0 {
        let nodes: BTreeMap<ServerId, _> = (1..=voters).map(|n| (n.into(), peer(n))).collect();
        EntryPayload::Membership(Membership::new(vec![nodes.keys().copied().collect::<BTreeSet<_>>()], nodes))
    } else {
        let operations = (0..index % 3 + 1).map(|_| Arc::new(Operation::Barrier)).collect();
        EntryPayload::Normal(Batch::new(operations, CapabilityLevel::BUILD).expect("encoded"))
    };
    Entry { log_id: id(index.div_ceil(4), index), payload }
}

/// The files of a server, in a directory of its own, and an older copy of them.
struct Files {
    now: BTreeMap<String, Vec<u8>>,
    before: BTreeMap<String, Vec<u8>>,
}

fn contents(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let names = files::names(dir).expect("names").into_iter().filter(|n| n != "lock");
    names.filter_map(|n| Some((n.clone(), fs::read(dir.join(n)).ok()?))).collect()
}

fn write(dir: &Path, files: &BTreeMap<String, Vec<u8>>) {
    for (name, bytes) in files {
        fs::write(dir.join(name), bytes).expect("written");
    }
}

/// A server with a log of some entries that it closed.
async fn files_of(voters: u64) -> Files {
    let dir = TempDir::new();
    let log = Log::open_with(dir.path(), SMALL, CapabilityLevel::BUILD).expect("opens");
    let mut before = BTreeMap::new();
    for index in 0..ENTRIES {
        if index % 4 == 1 || index == 0 {
            log.keep_vote(&Vote::new(index.div_ceil(4), 2.into())).await.expect("kept");
        }
        log.append_now(vec![entry(index, voters)]).await.expect("appended");
        if index == 6 {
            before = contents(dir.path());
        }
    }
    log.keep_vote(&Vote::new(TERM, 3.into())).await.expect("kept");
    log.close().await.expect("closed");
    Files { now: contents(dir.path()), before }
}

/// One kind of damage, by which a file of a healthy server has other bytes.
fn damaged(files: &Files, name: &str, random: &mut Random) -> Option<(String, Vec<u8>)> {
    let whole = &files.now[name];
    let at = random.below(whole.len() as u64) as usize;
    let mut bytes = whole.clone();
    let what = match random.below(6) {
        0 => {
            bytes[at] ^= 1 << random.below(8);
            format!("bit at {at}")
        }
        1 => {
            let end = (at + 512).min(bytes.len());
            bytes[at..end].fill(0);
            format!("zeros at {at}")
        }
        2 => {
            let to = random.below(whole.len() as u64) as usize;
            let len = 64.min(bytes.len() - at.max(to));
            let (a, b) = (whole[at..at + len].to_vec(), whole[to..to + len].to_vec());
            bytes[at..at + len].copy_from_slice(&b);
            bytes[to..to + len].copy_from_slice(&a);
            format!("swap of {at} and {to}")
        }
        3 => {
            bytes.truncate(at);
            format!("cut at {at}")
        }
        4 => {
            bytes = files.before.get(name)?.clone();
            "older copy".into()
        }
        _ => {
            let others: Vec<_> = files.now.keys().filter(|n| *n != name).collect();
            bytes = files.now[*random.pick(&others)?].clone();
            "another file".into()
        }
    };
    (bytes != *whole).then_some((what, bytes))
}

fn opened(dir: &Path) -> Result<Opened, StoreError> {
    open(dir, CapabilityLevel::BUILD, Owner { id: Some(1.into()), alone: false })
}

async fn close(opened: &Opened) {
    opened.log.close().await.expect("closed");
}

#[tokio::test]
async fn whatever_is_damaged_no_acknowledged_entry_and_no_vote_is_given_up_silently() {
    let files = files_of(3).await;
    assert!(files.now.keys().filter(|n| n.ends_with(".seg")).count() > 2, "{:?}", files.now.keys());
    let mut random = Random::new(49, "damage");
    let names: Vec<String> = files.now.keys().cloned().collect();
    let (mut doubts, mut whole) = (0, 0);
    for round in 0..400 {
        let name = random.pick(&names).expect("a file").clone();
        let Some((what, bytes)) = damaged(&files, &name, &mut random) else { continue };
        let dir = TempDir::new();
        write(dir.path(), &files.now);
        fs::write(dir.path().join(&name), &bytes).expect("written");
        let case = format!("round {round}: {what} of {name}");
        let found = opened(dir.path()).unwrap_or_else(|e| panic!("{case}: {e}"));
        let entries = found.log.read(0, u64::MAX, usize::MAX).await.expect("readable");
        let ids: Vec<EntryId> = entries.iter().map(|e| e.log_id).collect();
        let expected: Vec<EntryId> = (0..ids.len() as u64).map(|i| entry(i, 3).log_id).collect();
        assert_eq!(ids, expected, "{case}");
        let vote = found.log.vote();
        match &found.doubt {
            Some(doubt) => {
                assert!(doubt.term > TERM && vote == Some(Vote::new(doubt.term, 1.into())), "{case}: {doubt:?}");
                doubts += 1;
            }
            None => {
                assert_eq!((ids.len() as u64, vote), (ENTRIES, Some(Vote::new(TERM, 3.into()))), "{case}");
                whole += 1;
            }
        }
        // An older record says less, and an older vote has a newer copy.
        let harmless = what == "older copy" && !name.ends_with(".seg");
        assert!(!found.damages.is_empty() || harmless, "{case} is not reported");
        assert!(
            harmless
                || found.damages.iter().any(|d| d.path.ends_with(&name))
                || what == "another file"
                || name.ends_with(".seg"),
            "{case}: {:?}",
            found.damages
        );
        close(&found).await;
        // A second start finds no more damage, and the doubt lasts.
        let again = opened(dir.path()).unwrap_or_else(|e| panic!("{case}, again: {e}"));
        assert!(again.damages.is_empty() && again.doubt == found.doubt, "{case}: {:?}", again.damages);
        close(&again).await;
    }
    assert!(doubts > 50 && whole > 50, "{doubts} {whole}");
}

#[tokio::test]
async fn the_only_copy_is_never_cut() {
    let files = files_of(1).await;
    let segments: Vec<&String> = files.now.keys().filter(|n| n.ends_with(".seg")).collect();
    for name in &segments {
        let dir = TempDir::new();
        write(dir.path(), &files.now);
        let mut bytes = files.now[*name].clone();
        let at = bytes.len() - 5;
        bytes[at] ^= 1;
        fs::write(dir.path().join(name), &bytes).expect("written");
        let before = contents(dir.path());
        let error =
            open(dir.path(), CapabilityLevel::BUILD, Owner { id: Some(1.into()), alone: true }).err().expect("refused");
        assert!(matches!(error, StoreError::OnlyCopy { .. }), "{error}");
        let text = error.to_string();
        assert!(
            text.contains(&**name) && text.contains(&format!("to {} ", ENTRIES - 1)) || text.contains("missing"),
            "{text}"
        );
        assert_eq!(contents(dir.path()), before, "nothing was changed");
    }
    // What needs no other server is repaired.
    for name in ["vote", "vote.copy", "held", "synced"] {
        let dir = TempDir::new();
        write(dir.path(), &files.now);
        fs::write(dir.path().join(name), b"rubbish").expect("written");
        let owner = Owner { id: Some(1.into()), alone: true };
        let found = open(dir.path(), CapabilityLevel::BUILD, owner).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!((found.log.last(), found.doubt.is_none()), (Some(entry(ENTRIES - 1, 1).log_id), true), "{name}");
        assert_eq!(found.damages.len(), 1, "{name}: {:?}", found.damages);
        close(&found).await;
        assert_eq!(fs::read(dir.path().join(format!("{name}.damaged-0"))).expect("set aside"), b"rubbish");
    }
}

#[tokio::test]
async fn a_lost_vote_ends_in_doubt_of_a_later_term() {
    let files = files_of(3).await;
    let dir = TempDir::new();
    write(dir.path(), &files.now);
    for name in ["vote", "vote.copy"] {
        fs::write(dir.path().join(name), b"rubbish").expect("written");
    }
    let found = opened(dir.path()).expect("opens");
    assert_eq!(found.doubt.as_ref().map(|d| d.term), Some(TERM + 1));
    assert_eq!(found.log.last(), Some(entry(ENTRIES - 1, 3).log_id), "all entries are kept");
    close(&found).await;
    // Without the record nobody knows of the term: the server can't take part in anything.
    write(dir.path(), &files.now);
    for name in ["vote", "vote.copy", "synced", "doubt"] {
        fs::write(dir.path().join(name), b"rubbish").expect("written");
    }
    assert!(matches!(opened(dir.path()).err(), Some(StoreError::Vote { held: 0, .. })));
}

/// Flips a bit in the middle of a file.
fn flip(path: &Path) {
    let mut bytes = fs::read(path).expect("readable");
    let at = bytes.len() / 2;
    bytes[at] ^= 4;
    fs::write(path, bytes).expect("written");
}

fn files_ending(dir: &Path, suffix: &str) -> Vec<PathBuf> {
    let names = files::names(dir).expect("names");
    names.iter().filter(|n| n.ends_with(suffix)).map(|n| dir.join(n)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_servers_repair_a_damaged_one() {
    let mut cluster = Cluster::start_at(true).await;
    let leader = cluster.leader(None).await;
    cluster.propose(leader, 20).await;
    cluster.all_applied(20).await;
    // The leader itself: the others elect another one.
    cluster.stop(leader).await;
    flip(&files_ending(&cluster.settings[leader].dir, ".seg").pop().expect("a segment"));
    cluster.run(leader).await;
    let health = cluster.nodes[&leader].0.storage_health();
    assert_eq!((health.damages.len(), health.in_doubt), (1, true), "{health:?}");
    let repaired = cluster.nodes[&leader].0.clone();
    until("the repair", || !repaired.storage_health().in_doubt).await;
    cluster.all_applied(20).await;
    let leader = cluster.leader(None).await;
    cluster.propose(leader, 5).await;
    cluster.all_applied(25).await;
    assert!(!cluster.settings[0].dir.join(doubt::DOUBT).exists());
    for n in 0..3 {
        cluster.stop(n).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_majority_in_doubt_elects_nobody() {
    let mut cluster = Cluster::start_at(true).await;
    let leader = cluster.leader(None).await;
    cluster.propose(leader, 10).await;
    cluster.all_applied(10).await;
    for n in 0..3 {
        cluster.stop(n).await;
    }
    for n in 0..2 {
        flip(&files_ending(&cluster.settings[n].dir, ".seg").pop().expect("a segment"));
    }
    for n in 0..3 {
        cluster.run(n).await;
    }
    tokio::time::sleep(Duration::from_secs(4)).await;
    for n in 0..3 {
        let node = &cluster.nodes[&n].0;
        assert!(node.leadership().borrow().leader.is_none(), "server {n} knows of a leader");
        assert_eq!(node.storage_health().in_doubt, n < 2);
        node.elect().await.expect("runs");
    }
    for n in 0..3 {
        cluster.stop(n).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_snapshot_is_replaced() {
    let mut cluster = Cluster::start_at(true).await;
    let leader = cluster.leader(None).await;
    cluster.propose(leader, 40).await;
    cluster.all_applied(40).await;
    cluster.cut_logs(None, 40).await;
    let follower = (leader + 1) % 3;
    cluster.stop(follower).await;
    let dir = cluster.settings[follower].dir.join(SNAPSHOTS);
    files_ending(&dir, ".snap").iter().for_each(|path| flip(path));
    cluster.run(follower).await;
    let repaired = cluster.nodes[&follower].0.clone();
    assert!(repaired.storage_health().in_doubt);
    until("the repair", || !repaired.storage_health().in_doubt).await;
    cluster.all_applied(40).await;
    assert!(!files_ending(&dir, ".damaged-0").is_empty());
    for n in 0..3 {
        cluster.stop(n).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_alone_refuses_to_start_with_a_damaged_log() {
    let dir = TempDir::new();
    let settings: Settings = alone(&dir);
    let machine = || Arc::new(Recorder { raised: true, ..Recorder::default() });
    let node = Consensus::start(settings.clone(), machine(), Arc::new(NoTransport)).await.expect("starts");
    led(&node).await;
    for _ in 0..5 {
        node.propose(Operation::Barrier).await.expect("applied");
    }
    node.shutdown().await.expect("stops");
    flip(&files_ending(&settings.dir, ".seg").pop().expect("a segment"));
    let refused = Consensus::start(settings, machine(), Arc::new(NoTransport)).await.err();
    assert!(matches!(refused, Some(StartError::Store(StoreError::OnlyCopy { .. }))), "{refused:?}");
}

/// Damages the newest file with a suffix.
fn flip_newest(dir: &Path, suffix: &str) {
    flip(&files_ending(dir, suffix).pop().expect("a file"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_that_is_damaged_later_is_not_sent() {
    let mut cluster = Cluster::start_at(true).await;
    let leader = cluster.leader(None).await;
    let late = (leader + 1) % 3;
    cluster.stop(late).await;
    cluster.propose(leader, 40).await;
    cluster.cut_logs(None, 40).await;
    for n in cluster.nodes.keys() {
        flip_newest(&cluster.settings[*n].dir.join(SNAPSHOTS), ".snap");
    }
    cluster.run(late).await;
    cluster.all_applied(40).await;
    let health: Vec<StorageHealth> = cluster.nodes.values().map(|(node, _)| node.storage_health()).collect();
    assert!(health.iter().any(|h| h.damages.len() == 1) && !health.iter().any(|h| h.in_doubt), "{health:?}");
    assert!(cluster.nodes.values().all(|(node, _)| node.stopped().is_none()), "nobody stopped");
    for n in 0..3 {
        cluster.stop(n).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damage_that_appears_while_the_server_runs_is_repaired_from_memory() {
    let dir = TempDir::new();
    let scrubbing = scrub::Scrubbing { pause: Duration::from_millis(50), rate: 64 << 20 };
    let settings = Settings { scrubbing, ..alone(&dir) };
    let machine = Arc::new(Recorder { raised: true, ..Recorder::default() });
    let node = Consensus::start(settings.clone(), machine.clone(), Arc::new(NoTransport)).await.expect("starts");
    led(&node).await;
    for _ in 0..20 {
        node.propose(Operation::Barrier).await.expect("applied");
    }
    let damages = || node.storage_health().damages.len();
    assert_eq!(damages(), 0, "{:?}", node.storage_health());
    flip_newest(&settings.dir, ".seg");
    until("the log is replaced", || damages() == 1 && node.stats().purged >= 20).await;
    flip_newest(&settings.dir.join(SNAPSHOTS), ".snap");
    until("the snapshot is replaced", || {
        damages() == 2 && files_ending(&settings.dir.join(SNAPSHOTS), ".snap").len() == 1
    })
    .await;
    for (n, name) in ["vote", "vote.copy", "purged", "synced"].iter().enumerate() {
        node.propose(Operation::Barrier).await.expect("applied");
        flip(&settings.dir.join(name));
        until(name, || damages() == 3 + n).await;
    }
    let health = node.storage_health();
    assert!(!health.in_doubt && node.stopped().is_none(), "{health:?}");
    node.shutdown().await.expect("stops");
    // All that was acknowledged is there, and nothing is damaged.
    let again = Arc::new(Recorder { raised: true, ..Recorder::default() });
    let node = Consensus::start(settings, again.clone(), Arc::new(NoTransport)).await.expect("starts");
    led(&node).await;
    until("all operations", || again.applied() >= machine.applied()).await;
    assert_eq!(node.storage_health().damages, Vec::new());
    node.shutdown().await.expect("stops");
}
