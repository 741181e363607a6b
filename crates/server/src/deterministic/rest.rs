//! Waits until the cluster has settled, and checks the final state.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::cluster::Cluster;
use super::watch::given_once;
use super::{Verdict, violation};
use crate::Server;
use encamp_model::*;
use encamp_ops::codec;
use encamp_state::StoreSnapshot;

/// The maximum time to settle: failed evaluations are retried after at most six minutes.
const LONGEST: Duration = Duration::from_secs(900);
/// The same after clocks were wrong: what waits for a time of a clock that was ahead waits for longer.
const LONGEST_WITH_CLOCKS: Duration = Duration::from_secs(1800);
const LOOK: Duration = Duration::from_millis(500);
/// The cluster is stuck if nothing was written for this long and no evaluation is delayed.
const STUCK: Duration = Duration::from_secs(150);

/// The newest index, and whether evaluations are delayed.
fn progress(cluster: &Cluster) -> (u64, bool) {
    let newest = cluster.servers().iter().map(|(_, s)| s.store().applied_index()).max();
    let broker = cluster.leader().map(|(_, s)| s.queues().broker().stats());
    (newest.unwrap_or(0), broker.is_some_and(|b| b.waiting + b.unacked > 0))
}

/// Waits until the cluster has settled. Reports a violation if it does not.
pub(crate) async fn come(cluster: &Cluster, nodes: &[String]) {
    let longest = if cluster.churns() { LONGEST_WITH_CLOCKS } else { LONGEST };
    let deadline = tokio::time::Instant::now() + longest;
    let (mut why, mut newest, mut since) = (violation!("never checked"), 0, tokio::time::Instant::now());
    while tokio::time::Instant::now() < deadline && since.elapsed() < STUCK {
        tokio::time::sleep(LOOK).await;
        cluster.check_running();
        if cluster.sim.verdict().is_some() {
            return;
        }
        match at_rest(cluster, nodes) {
            Ok(()) => {
                if let Err(found) = check(cluster) {
                    cluster.sim.broken(&format!("settled: {found}"));
                }
                return;
            }
            Err(found) => why = found,
        }
        let (index, waits) = progress(cluster);
        if index != newest || waits {
            (newest, since) = (index, tokio::time::Instant::now());
        }
    }
    cluster.sim.broken(&format!("not settled: {why}"));
}

/// Fails with the work that is still in progress.
fn at_rest(cluster: &Cluster, nodes: &[String]) -> Verdict {
    let (_, leader) = cluster.leader().ok_or_else(|| violation!("there is no leader"))?;
    let store = leader.snapshot();
    let index = leader.store().applied_index();
    for (at, server) in cluster.servers() {
        let own = server.store().applied_index();
        if own != index {
            return Err(violation!("server {at} is at {own}, the leader at {index}"));
        }
    }
    if cluster.churns() {
        all_vote(cluster, &leader)?;
    }
    for id in nodes {
        let status = store.state().node(id).map(|n| &n.node.status);
        if status != Some(&NodeStatus::Ready) {
            return Err(violation!("node {id} is {status:?}"));
        }
    }
    let open = store.evals_from("").filter(|e| !e.terminal() && e.status != EvalStatus::Blocked);
    let (far, open): (Vec<_>, Vec<_>) = open.partition(|e| far_off(cluster, e));
    if let Some(e) = open.first() {
        return Err(violation!("evaluation {} of {} ({}) is {}", e.id, e.job_id, e.triggered_by, e.status));
    }
    let queued = leader.queues().broker().stats();
    if queued.ready + queued.unacked + queued.pending + queued.cancelable > 0 || queued.waiting != far.len() {
        return Err(violation!("the broker has {queued:?}, and {} evaluations are delayed", far.len()));
    }
    for job in store.state().jobs().map(|j| &j.current) {
        for a in store.state().allocs_of_job(&job.namespace, &job.id).iter().map(|e| &e.alloc) {
            let done = a.client_terminal()
                || a.desired_status == DesiredStatus::Run && a.client_status == ClientStatus::Running;
            let batch = job.r#type == JobType::Batch && a.desired_status == DesiredStatus::Run && !a.client_terminal();
            if !done || batch {
                let state = (&a.desired_status, &a.client_status);
                return Err(violation!("allocation {} of {} is to {} and {}", a.id, job.id, state.0, state.1));
            }
        }
    }
    // A deployment needs nothing but health reports, or capacity.
    let jobs = store.state();
    let waits = |d: &Deployment| jobs.job(&d.namespace, &d.job_id).is_some_and(|j| waits(&store, j));
    let open = |d: &&Arc<Deployment>| d.active() && !waits(d) && !far_off_deadline(cluster, d);
    if let Some(d) = store.deployments_by_create().find(open) {
        return Err(violation!("deployment {} of {} version {} is {}", d.id, d.job_id, d.job_version, d.status));
    }
    // Duplicates will be cancelled soon.
    blocked(&leader, &store)
}

/// Whether an evaluation waits for longer than the cluster may take to settle, because an allocation ended on a node whose
/// clock was ahead: delays count from that time (`docs/spec/reconciliation.md §6.3`).
fn far_off(cluster: &Cluster, e: &Evaluation) -> bool {
    let now = cluster.sim.now();
    let limit = i64::try_from(LONGEST.as_nanos()).unwrap_or(i64::MAX);
    let delayed = e.wait_until.unix_nanos().unwrap_or(0).saturating_sub(now);
    e.status == EvalStatus::Pending && (limit..=limit + cluster.sim.clocks.furthest(now)).contains(&delayed)
}

/// Whether a deployment with an unhealthy allocation waits for a deadline that is later than it could be by the true time:
/// it counts from the time that a node gave when an allocation became healthy (`docs/spec/server.md §13`).
fn far_off_deadline(cluster: &Cluster, d: &Deployment) -> bool {
    let now = cluster.sim.now();
    d.task_groups.values().flatten().filter(|group| group.unhealthy_allocs > 0).any(|group| {
        let left = group.require_progress_by.unix_nanos().unwrap_or(0).saturating_sub(now);
        let most = group.progress_deadline.saturating_add(cluster.sim.clocks.furthest(now));
        left > group.progress_deadline && left <= most
    })
}

/// All servers that run have a vote, and nobody else is a member.
fn all_vote(cluster: &Cluster, leader: &Server) -> Verdict {
    let members = leader.consensus().configuration().servers;
    let mut voters: Vec<_> = members.iter().filter(|m| m.voter).map(|m| m.id).collect();
    let mut running: Vec<_> = cluster.servers().iter().map(|(at, _)| cluster.id(*at)).collect();
    voters.sort();
    running.sort();
    if voters != running || members.len() != running.len() {
        return Err(violation!("servers {running:?} run, and members are {members:?}"));
    }
    Ok(())
}

/// Checks the state of a settled cluster.
fn check(cluster: &Cluster) -> Verdict {
    let (_, leader) = cluster.leader().ok_or_else(|| violation!("there is no leader"))?;
    same_everywhere(cluster)?;
    let store = leader.snapshot();
    let state = store.state();
    let (acknowledged, index) = (cluster.sim.watch.highest_acknowledged(), leader.store().applied_index());
    if acknowledged > index {
        return Err(violation!("a write was acknowledged at index {acknowledged}, but the highest index is {index}"));
    }
    // Replaced allocations keep running while there is insufficient capacity for all of the newer version
    // (`docs/spec/reconciliation.md §8`), even if the next attempt finds one next to its replacement: the count is
    // right, and the name changes with the pending update.
    given_once(state, |j| waits(&store, j))?;
    state.jobs().try_for_each(|j| placed(&store, &j.current))
}

/// All servers have the same state.
fn same_everywhere(cluster: &Cluster) -> Verdict {
    let mut first: Option<(usize, Vec<(&'static str, u32)>)> = None;
    for (at, server) in cluster.servers() {
        let tables = tables(&server.snapshot());
        match &first {
            None => first = Some((at, tables)),
            Some((other, known)) => {
                let differ = known.iter().zip(&tables).find(|(a, b)| a != b);
                if let Some(((name, _), _)) = differ {
                    return Err(violation!("servers {other} and {at} have different {name}"));
                }
            }
        }
    }
    Ok(())
}

/// A checksum of every table.
fn tables(store: &StoreSnapshot) -> Vec<(&'static str, u32)> {
    fn sum<T: serde::Serialize>(rows: impl Iterator<Item = T>) -> u32 {
        let mut all: Vec<Vec<u8>> = rows.map(|r| codec::encode(&r).unwrap_or_default()).collect();
        all.sort();
        crc32fast::hash(&all.concat())
    }
    let state = store.state();
    vec![
        ("nodes", sum(state.nodes().map(|n| n.node.clone()))),
        ("jobs", sum(state.jobs().flat_map(|j| j.versions.values().cloned().collect::<Vec<_>>()))),
        ("allocations", sum(store.allocs_by_create().map(|a| a.alloc.clone()))),
        ("evaluations", sum(store.evals_from("").cloned())),
        ("deployments", sum(store.deployments_by_create().cloned())),
        ("summaries", sum(store.summaries().cloned())),
        ("variables", sum(store.variables().cloned())),
        ("keys", sum(store.root_keys().cloned())),
    ]
}

/// The stored blocked evaluations are exactly the tracked ones, one per job and node.
fn blocked(leader: &Server, store: &StoreSnapshot) -> Verdict {
    let mut blocked: BTreeMap<(&str, &str, &str), &str> = BTreeMap::new();
    for e in store.evals_from("").filter(|e| e.status == EvalStatus::Blocked) {
        if let Some(other) = blocked.insert((&e.namespace, &e.job_id, &e.node_id), &e.id) {
            return Err(violation!("evaluations {other} and {} of {} are blocked", e.id, e.job_id));
        }
    }
    let tracked = leader.queues().blocked().stats().blocked;
    if tracked != blocked.len() {
        return Err(violation!("{tracked} blocked evaluations are tracked, {} stored", blocked.len()));
    }
    Ok(())
}

/// Whether a job is blocked for lack of capacity, or one of its evaluations is delayed.
fn waits(store: &StoreSnapshot, job: &Job) -> bool {
    store.blocked_evals_of_job(&job.namespace, &job.id).next().is_some()
        || store
            .evals_of_job(&job.namespace, &job.id)
            .any(|e| e.status == EvalStatus::Pending && !e.wait_until.is_zero())
}

/// Whether the deployment of a job's version has failed: allocations that were not placed before stay unplaced
/// (`docs/spec/reconciliation.md §5`).
fn failed(store: &StoreSnapshot, job: &Job) -> bool {
    let latest = store.state().latest_deployment(&job.namespace, &job.id);
    latest.is_some_and(|d| d.status == DeploymentStatus::Failed && d.job_version == job.version)
}

/// Whether a failed allocation is not replaced, which happens in Nomad in two cases (`docs/spec/reconciliation.md`): it
/// was marked healthy and failed while the deployment was still running (`§6.4`), or a delayed evaluation found it and
/// creates no follow-up for it (`§3`, quirk 2).
fn left_alone(store: &StoreSnapshot, a: &Allocation) -> bool {
    let went_on = |d: &Arc<Deployment>| d.modify_index > a.modify_index;
    let rolled_out = a.health() == Some(true) && store.state().deployment(&a.deployment_id).is_some_and(went_on);
    let forgotten = !a.followup_eval_id.is_empty() && store.eval(&a.followup_eval_id).is_none();
    a.desired_status == DesiredStatus::Run && a.client_status == ClientStatus::Failed && (rolled_out || forgotten)
}

/// A job has all its allocations, or it has fewer and is blocked, or fewer after a failed deployment.
fn placed(store: &StoreSnapshot, job: &Job) -> Verdict {
    if job.r#type == JobType::Batch {
        return Ok(());
    }
    let nodes = store.state().nodes().count() as i64;
    let wanted = match job.r#type {
        _ if job.stop => 0,
        JobType::System => nodes * job.task_groups[0].count,
        _ => job.task_groups[0].count,
    };
    let allocs = store.state().allocs_of_job(&job.namespace, &job.id);
    let count = |of: &dyn Fn(&Allocation) -> bool| allocs.iter().filter(|a| of(&a.alloc)).count() as i64;
    let (live, left) = (count(&|a| !a.terminal()), count(&|a| left_alone(store, a)));
    // Jobs that were never evaluated are used as registers.
    let evaluated = store.evals_of_job(&job.namespace, &job.id).next().is_some();
    let enough = live + left >= wanted || waits(store, job) || failed(store, job);
    if evaluated && (live > wanted || !enough) {
        let states =
            |a: &Allocation| format!("{} {} {} at {}", a.name, a.desired_status, a.client_status, a.modify_index);
        let all: Vec<String> = allocs.iter().map(|a| states(&a.alloc)).collect();
        return Err(violation!("{live} of {wanted} allocations of {} run: {all:?}", job.id));
    }
    Ok(())
}
