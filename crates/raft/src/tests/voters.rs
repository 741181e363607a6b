//! Three voters in one process.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::task::JoinHandle;

use super::support::{Recorder, TempDir, peer, until};
use crate::propose::Outcome;
use crate::{Consensus, MemoryNetwork, ProposeError, ServerId, Settings};
use encamp_ops::Operation;

pub(crate) struct Cluster {
    network: MemoryNetwork,
    pub settings: Vec<Settings>,
    pub nodes: BTreeMap<usize, (Consensus, Arc<Recorder>)>,
    /// Whether it has the capability level of this build.
    raised: bool,
    _dir: TempDir,
}

impl Cluster {
    async fn start() -> Cluster {
        Cluster::start_at(false).await
    }

    pub(crate) async fn start_at(raised: bool) -> Cluster {
        let dir = TempDir::new();
        let members: BTreeMap<ServerId, _> = (0..3).map(|n| (n.into(), peer(n))).collect();
        let settings = (0..3_u64).map(|n| Settings {
            bootstrap: members.clone(),
            snapshot_interval: Duration::from_secs(3600),
            trailing_logs: 5,
            timeout: Duration::from_secs(10),
            ..Settings::alone(dir.path().join(n.to_string()), n.into(), peer(n))
        });
        let settings = settings.collect();
        let mut cluster =
            Cluster { network: MemoryNetwork::default(), settings, nodes: BTreeMap::new(), raised, _dir: dir };
        for n in 0..3 {
            cluster.run(n).await;
        }
        cluster
    }

    pub(crate) async fn run(&mut self, n: usize) {
        let (settings, machine) =
            (self.settings[n].clone(), Arc::new(Recorder { raised: self.raised, ..Recorder::default() }));
        let (id, transport) = (settings.id, self.network.transport(settings.id));
        let node = Consensus::start(settings, machine.clone(), transport).await.expect("starts");
        self.network.join(id, node.clone());
        self.nodes.insert(n, (node, machine));
    }

    pub(crate) async fn stop(&mut self, n: usize) {
        let (node, _) = self.nodes.remove(&n).expect("runs");
        self.network.leave(self.settings[n].id);
        node.shutdown().await.expect("stops");
    }

    /// The one that leads, apart from `except`.
    pub(crate) async fn leader(&self, except: Option<usize>) -> usize {
        let leads = || self.nodes.iter().find(|(n, (c, _))| Some(**n) != except && c.leadership().borrow().is_leader);
        until("a leader", || leads().is_some()).await;
        *leads().expect("leads").0
    }

    /// Proposes to `n`; on a busy machine another one may lead meanwhile, which is asked then.
    pub(crate) async fn propose(&self, n: usize, count: u64) {
        for _ in 0..count {
            let mut to = n;
            while let Err(e) = self.nodes[&to].0.propose(Operation::Barrier).await {
                assert!(matches!(e, ProposeError::NotLeader { .. }), "{e}");
                to = self.leader(None).await;
            }
        }
    }

    /// Cuts the leader off, with a proposal that nobody else gets: the leader, the new one, and what becomes of the
    /// proposal.
    async fn leader_cut_off(&self) -> (usize, usize, JoinHandle<Outcome>) {
        let old = self.leader(None).await;
        self.propose(old, 5).await;
        self.network.cut_off(self.settings[old].id);
        let lonely = self.nodes[&old].0.clone();
        let lost = tokio::spawn(async move { lonely.propose(Operation::Barrier).await });
        (old, self.leader(Some(old)).await, lost)
    }

    /// Replaces the logs, but for that of `except`, by snapshots of at least that index.
    pub(crate) async fn cut_logs(&self, except: Option<usize>, index: u64) {
        for (_, (node, _)) in self.nodes.iter().filter(|(n, _)| Some(**n) != except) {
            node.snapshot().await.expect("asked");
            until("a snapshot", || node.stats().last_snapshot_index >= index).await;
            // Entries that are being sent to somebody are kept until that has ended.
            until("the log to be cut", || node.stats().purged > 0).await;
        }
    }

    pub(crate) async fn all_applied(&self, count: u64) {
        // An operation that was proposed twice may have been applied twice, and the entry of a new leader may come last.
        let equal = || {
            let seen: Vec<_> = self.nodes.values().map(|(_, m)| m.seen.lock().unwrap().clone()).collect();
            let enough = self.nodes.values().all(|(_, m)| m.applied() >= count);
            enough && seen.windows(2).all(|w| w[0] == w[1])
        };
        until("all have applied it, the same entries at the same indexes", equal).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_survives_its_leader() {
    let mut cluster = Cluster::start().await;
    let first = cluster.leader(None).await;
    cluster.propose(first, 10).await;
    cluster.all_applied(10).await;
    // Followers know the leader and send callers there.
    let follower = (first + 1) % 3;
    let leader = cluster.settings[first].id;
    match cluster.nodes[&follower].0.propose(Operation::Barrier).await {
        Err(ProposeError::NotLeader { leader: Some((id, to)) }) => assert_eq!((id, to), (leader, peer(first as u64))),
        other => panic!("{other:?}"),
    }
    assert!(matches!(cluster.nodes[&follower].0.barrier().await, Err(ProposeError::NotLeader { .. })));
    assert!(cluster.nodes[&follower].0.stats().last_contact.is_some_and(|c| c < Duration::from_secs(2)));
    assert_eq!(cluster.nodes[&first].0.stats().num_peers, 2);
    assert_eq!(cluster.nodes[&follower].0.configuration().servers.iter().filter(|s| s.leader && s.voter).count(), 1);

    cluster.stop(first).await;
    let second = cluster.leader(None).await;
    cluster.propose(second, 10).await;
    // The one that was away catches up from the log.
    cluster.run(first).await;
    cluster.all_applied(20).await;
    for n in 0..3 {
        cluster.stop(n).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_server_catches_up_by_snapshot() {
    let mut cluster = Cluster::start().await;
    let leader = cluster.leader(None).await;
    let late = (leader + 1) % 3;
    cluster.stop(late).await;
    cluster.propose(leader, 40).await;
    cluster.cut_logs(None, 40).await;
    cluster.propose(leader, 3).await;
    cluster.run(late).await;
    cluster.all_applied(43).await;
    assert_eq!(cluster.nodes[&late].1.restored.load(Ordering::Relaxed), 1);
    assert!(cluster.nodes[&late].0.stats().last_snapshot_index >= 40);
    // The installed snapshot is on disk.
    cluster.stop(late).await;
    cluster.run(late).await;
    cluster.all_applied(43).await;
    for n in 0..3 {
        cluster.stop(n).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_whose_entries_a_snapshot_replaced_can_lead_again() {
    let mut cluster = Cluster::start().await;
    let (old, new, lost) = cluster.leader_cut_off().await;
    cluster.propose(new, 40).await;
    cluster.cut_logs(Some(old), 40).await;
    cluster.network.heal();
    cluster.all_applied(45).await;
    assert_eq!(cluster.nodes[&old].1.restored.load(Ordering::Relaxed), 1);
    assert!(lost.await.expect("joined").is_err());
    let back = cluster.nodes[&old].0.clone();
    for _ in 0..10 {
        let leader = cluster.leader(None).await;
        if leader == old {
            break;
        }
        let ask = || async { drop(back.raft().trigger().elect().await) };
        cluster.nodes[&leader].0.hand_over(cluster.settings[old].id, ask).await;
    }
    assert!(back.leads());
    let done = tokio::time::timeout(Duration::from_secs(30), back.propose(Operation::Barrier)).await;
    assert!(matches!(done, Ok(Ok(_))), "{done:?}");
    for n in 0..3 {
        cluster.stop(n).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_hears_nothing_makes_room() {
    let mut cluster = Cluster::start().await;
    let old = cluster.leader(None).await;
    cluster.propose(old, 5).await;
    cluster.network.deafen(cluster.settings[old].id);
    // The others receive its heartbeats as before: it has to step down by itself.
    let new = cluster.leader(Some(old)).await;
    cluster.propose(new, 5).await;
    assert!(!cluster.nodes[&old].0.leads());
    cluster.network.heal();
    cluster.all_applied(10).await;
    for n in 0..3 {
        cluster.stop(n).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_is_cut_off_gives_up_and_loses_nothing() {
    let mut cluster = Cluster::start().await;
    let (old, new, lost) = cluster.leader_cut_off().await;
    until("the old leader gives up", || !cluster.nodes[&old].0.leadership().borrow().is_leader).await;
    cluster.propose(new, 5).await;
    cluster.network.heal();
    // The entry that only the old leader had is replaced.
    cluster.all_applied(10).await;
    assert!(matches!(lost.await.expect("joined"), Err(ProposeError::Timeout | ProposeError::NotLeader { .. })));
    for n in 0..3 {
        cluster.stop(n).await;
    }
}
