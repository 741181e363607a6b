//! Gauges of the leader's queues, and job counts (`docs/spec/server.md §24`).

use std::time::Duration;

use tokio::task::JoinSet;

use crate::leading::Leading;
use crate::server_state::ServerState;
use encamp_host::ids;
use encamp_host::simulation::here;
use encamp_model::{JobStatus, SECOND};
use encamp_raft::Role;

/// How often the gauges are updated.
const EVERY: Duration = Duration::from_secs(1);
/// After the gauges of so many jobs, other tasks get the thread.
const JOBS_AT_ONCE: usize = 128;

/// Starts updating the gauges.
pub fn start(server: &Leading, tasks: &mut JoinSet<()>) {
    let server = server.clone();
    tasks.spawn(here(async move {
        let mut every = tokio::time::interval(EVERY);
        loop {
            every.tick().await;
            refresh(&server).await;
        }
    }));
}

/// Records the progress of Raft on this server, as leader or follower, until the server stops.
pub(crate) async fn of_consensus(server: Leading) {
    let mut every = tokio::time::interval(EVERY);
    every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut leadership = server.consensus().leadership();
    let mut role = None;
    loop {
        tokio::select! {
            biased;
            changed = leadership.changed() => if changed.is_err() { return },
            _ = every.tick() => {}
        }
        if server.queues().stopping() {
            return;
        }
        let stats = server.consensus().stats();
        let m = server.metrics();
        m.gauge("raft.lastIndex", stats.last_log_index as f64, &[]);
        m.gauge("raft.appliedIndex", stats.applied_index as f64, &[]);
        m.gauge("raft.commitIndex", stats.commit_index as f64, &[]);
        m.gauge("raft.term", stats.term as f64, &[]);
        m.gauge("raft.peers", (stats.num_peers + 1) as f64, &[]);
        let health = server.consensus().storage_health();
        m.gauge("raft.storage.damaged_files", health.damages.len() as f64, &[]);
        m.gauge("raft.storage.in_doubt", f64::from(u8::from(health.in_doubt)), &[]);
        m.gauge("state.snapshotIndex", stats.last_snapshot_index as f64, &[]);
        let contact = if stats.role == Role::Leader { stats.quorum_contact } else { stats.last_contact };
        if let Some(contact) = contact.filter(|_| stats.num_peers > 0) {
            let name = if stats.role == Role::Leader { "raft.leader.lastContact" } else { "raft.follower.lastContact" };
            m.time(name, contact, &[]);
        }
        if role.replace(stats.role) != Some(stats.role) {
            m.count(&format!("raft.state.{}", stats.role.name().to_ascii_lowercase()), 1, &[]);
        }
    }
}

/// Updates the gauges.
pub async fn refresh(server: &Leading) {
    broker(server);
    blocked(server);
    let m = server.metrics();
    m.gauge("nomad.plan.queue_depth", server.queues().plans().depth() as f64, &[]);
    m.gauge("raft.last_log_entry", server.consensus().stats().last_entry as f64, &[]);
    m.gauge("nomad.heartbeat.active", server.queues().heartbeats().active() as f64, &[]);
    let (held, delayed) = server.queues().locks().counts();
    m.gauge("variables.locks.ttl_timer.num", held as f64, &[]);
    m.gauge("variables.locks.delay_timer.num", delayed as f64, &[]);
    jobs(server).await;
}

fn broker(server: &Leading) {
    let m = server.metrics();
    let broker = server.queues().broker();
    let stats = broker.stats();
    let now = ids::steady();
    let delayed: Vec<_> = broker.delayed().map(|(e, due)| (e.clone(), due)).collect();
    drop(broker);
    for (name, n) in [
        ("ready", stats.ready),
        ("unacked", stats.unacked),
        ("pending", stats.pending),
        ("waiting", stats.waiting),
        ("cancelable", stats.cancelable),
    ] {
        m.gauge(&format!("nomad.broker.total_{name}"), n as f64, &[]);
    }
    for (name, q) in &stats.by_queue {
        m.gauge(&format!("nomad.broker.{name}.ready"), q.ready as f64, &[]);
        m.gauge(&format!("nomad.broker.{name}.unacked"), q.unacked as f64, &[]);
    }
    for (eval, due) in delayed {
        let seconds = (due - now) as f64 / SECOND as f64;
        m.gauge("nomad.broker.eval_waiting", seconds, &[("job", &eval.job_id), ("namespace", &eval.namespace)]);
    }
}

fn blocked(server: &Leading) {
    let m = server.metrics();
    let stats = server.queues().blocked().stats();
    m.gauge("nomad.blocked_evals.total_blocked", stats.blocked as f64, &[]);
    m.gauge("nomad.blocked_evals.total_escaped", stats.escaped as f64, &[]);
    m.gauge("nomad.blocked_evals.total_quota_limit", stats.quota_limit as f64, &[]);
    for (job, lacking) in &stats.by_job {
        let labels = [("namespace", job.namespace.as_str()), ("job", job.id.as_str())];
        m.gauge("nomad.blocked_evals.job.cpu", lacking.cpu as f64, &labels);
        m.gauge("nomad.blocked_evals.job.memory", lacking.memory as f64, &labels);
    }
    for (place, lacking) in &stats.by_place {
        let labels = [
            ("datacenter", place.datacenter.as_str()),
            ("node_class", place.node_class.as_str()),
            ("node_pool", place.node_pool.as_str()),
        ];
        m.gauge("nomad.blocked_evals.cpu", lacking.cpu as f64, &labels);
        m.gauge("nomad.blocked_evals.memory", lacking.memory as f64, &labels);
    }
}

async fn jobs(server: &ServerState) {
    let m = server.metrics();
    let store = server.snapshot();
    let (mut pending, mut running, mut dead) = (0u64, 0u64, 0u64);
    for (n, entry) in store.state().jobs().enumerate() {
        make_way(n).await;
        match entry.current.status {
            JobStatus::Pending => pending += 1,
            JobStatus::Running => running += 1,
            JobStatus::Dead => dead += 1,
            JobStatus::Unset | JobStatus::Other(_) => {}
        }
    }
    for (status, n) in [(JobStatus::Pending, pending), (JobStatus::Running, running), (JobStatus::Dead, dead)] {
        m.gauge(&format!("nomad.job_status.{status}"), n as f64, &[]);
    }
    for (n, s) in store.summaries().enumerate() {
        make_way(n).await;
        for (group, c) in &s.summary {
            let labels =
                [("job", s.job_id.as_str()), ("task_group", group.as_str()), ("namespace", s.namespace.as_str())];
            for (name, n) in [
                ("queued", c.queued),
                ("complete", c.complete),
                ("failed", c.failed),
                ("running", c.running),
                ("starting", c.starting),
                ("lost", c.lost),
                ("unknown", c.unknown),
            ] {
                m.gauge(&format!("nomad.job_summary.{name}"), n as f64, &labels);
            }
        }
    }
}

/// Lets other tasks of the thread go on after every [`JOBS_AT_ONCE`] jobs: there may be hundreds of thousands.
async fn make_way(number: usize) {
    if (number + 1).is_multiple_of(JOBS_AT_ONCE) {
        tokio::task::yield_now().await;
    }
}
