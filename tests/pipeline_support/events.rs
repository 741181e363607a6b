//! Events caused by operators and nodes, written like the endpoints of a server do.

use std::collections::BTreeMap;
use std::sync::Arc;

use encamp_model::*;
use encamp_ops::*;
use encamp_server::fsm::node_evals::cluster_event;
use encamp_server::jobs::rollout;
use encamp_server::nodes::report_evals::report_evals;
use encamp_server::nodes::status_decision::{HEARTBEAT_MISSED, decide_status, missed_heartbeat_status};

use super::cluster;
use super::world::World;
use encamp_test_support::dice::Dice;

/// Maximum number of jobs.
const MOST_JOBS: usize = 8;
/// Maximum number of nodes.
const MOST_NODES: usize = 9;

/// Triggers one event.
pub fn happen(w: &mut World) {
    match w.random.roll(40) {
        0..6 => register(w),
        6..9 => stop(w),
        9 => evaluate(w),
        10 => stop_alloc(w),
        11..20 => report(w),
        20..22 => lose(w),
        22..26 => come_back(w),
        26 => drain(w),
        27 => eligibility(w),
        28 => node_changes(w),
        29 => deployment(w),
        30..34 => w.look(),
        34..36 => w.reap(),
        36 => w.fail_over(),
        _ => {
            let time = w.random.of(&[SECOND / 10, SECOND, 2 * SECOND, 20 * SECOND, 70 * SECOND, 5 * MINUTE]);
            w.pass(time);
        }
    }
}

fn some_job(w: &mut World) -> Option<Arc<Job>> {
    let jobs: Vec<Arc<Job>> = w.store.state().jobs().map(|j| j.current.clone()).collect();
    w.random.pick(&jobs).cloned()
}

fn some_node(w: &mut World, wanted: impl Fn(&Node) -> bool) -> Option<Arc<Node>> {
    let nodes: Vec<Arc<Node>> = w.store.state().nodes().map(|n| n.node.clone()).filter(|n| wanted(n)).collect();
    w.random.pick(&nodes).cloned()
}

// ---- jobs

/// Registers a new or changed job.
pub fn register(w: &mut World) {
    let number = w.store.state().jobs().count();
    let job = match some_job(w) {
        Some(old) if number >= MOST_JOBS || w.random.one_in(2) => {
            let mut job = Job { stop: false, ..Job::clone(&old) };
            cluster::change_job(&mut w.random, &mut job);
            job
        }
        _ => cluster::job(&mut w.random, number),
    };
    let eval = Evaluation::pending(&job, EvalTrigger::JobRegister, w.now, w.id());
    let r = JobRegister { job: job.into(), eval: Some(eval), submission: None, enforce_index: None, now: w.now };
    w.commit(Operation::JobRegister(Box::new(r)));
}

fn stop(w: &mut World) {
    let Some(job) = some_job(w) else { return };
    let eval =
        Evaluation { r#type: JobType::Service, ..Evaluation::pending(&job, EvalTrigger::JobDeregister, w.now, w.id()) };
    let d = JobDeregister {
        job: job.key(),
        purge: w.random.one_in(3),
        no_shutdown_delay: false,
        eval: Some(eval),
        submit_time: w.now,
    };
    w.commit(Operation::JobDeregister(Box::new(d)));
}

fn evaluate(w: &mut World) {
    let Some(job) = some_job(w) else { return };
    let eval = Evaluation {
        job_modify_index: job.modify_index,
        ..Evaluation::pending(&job, EvalTrigger::JobRegister, w.now, w.id())
    };
    w.commit(Operation::EvalUpdate { evals: vec![eval] });
}

fn stop_alloc(w: &mut World) {
    let live: Vec<Arc<Allocation>> =
        w.store.state().allocs().filter(|a| !a.phase.terminal()).map(|a| a.alloc.clone()).collect();
    let mut live = live;
    live.sort_by(|a, b| a.id.cmp(&b.id));
    let Some(a) = w.random.pick(&live).cloned() else { return };
    let Some(job) = w.store.state().job(&a.namespace, &a.job_id).cloned() else { return };
    let eval = Evaluation {
        job_modify_index: job.modify_index,
        ..Evaluation::pending(&job, EvalTrigger::AllocStop, w.now, w.id())
    };
    let migrate = DesiredTransition { migrate: Some(true), ..Default::default() };
    w.commit(Operation::AllocTransition { transitions: [(a.id.to_string(), migrate)].into(), evals: vec![eval] });
}

/// An operator promotes or fails a deployment.
fn deployment(w: &mut World) {
    let active: Vec<Arc<Deployment>> = w.store.state().deployments().filter(|d| d.active()).cloned().collect();
    let Some(d) = w.random.pick(&active).cloned() else { return };
    let Some(job) = w.store.state().job(&d.namespace, &d.job_id).cloned() else { return };
    let (now, id) = (w.now, w.id());
    let eval = Some(rollout::evaluation(&d, &job, now, id));
    let op = if w.random.one_in(3) {
        let update = DeploymentStatusUpdate {
            deployment_id: d.id.clone(),
            status: DeploymentStatus::Failed,
            status_description: "Deployment marked as failed".into(),
        };
        Operation::DeploymentStatus(Box::new(DeploymentStatusChange { update, job: None, eval, now }))
    } else {
        Operation::DeploymentPromotion(Box::new(DeploymentPromotion { id: d.id.clone(), groups: None, eval, now }))
    };
    w.commit(op);
}

// ---- nodes

/// Changes a node, with the evaluations that follow from it.
pub fn change(w: &mut World, change: Operation) {
    let op = NodeChange { change, seed: w.random.number(), now: w.now };
    w.commit(Operation::NodeChange(Box::new(op)));
}

fn set_status(w: &mut World, node: &Node, status: NodeStatus, event: Option<NodeEvent>) {
    let (id, identity_key_id) = (node.id.clone(), String::new());
    let op = NodeStatusChange { id, status, event, identity_key_id, updated_at: w.now };
    change(w, Operation::NodeStatus(op));
}

/// A node stops heartbeating.
fn lose(w: &mut World) {
    let Some(node) = some_node(w, |n| n.status != NodeStatus::Down) else { return };
    let allocs = w.store.state().allocs_of_node(&node.id);
    let status = missed_heartbeat_status(&node, allocs.iter().map(|a| &*a.alloc), w.now);
    w.tally.add(if status == NodeStatus::Down { "nodes down" } else { "nodes disconnected" }, 1);
    let event = cluster_event(HEARTBEAT_MISSED, w.now);
    set_status(w, &node, status, Some(event));
}

/// A node reports that it is ready: at once, or after it reported its allocations.
fn heartbeat(w: &mut World, id: &str) {
    let Some(node) = w.store.state().node(id).map(|n| n.node.clone()) else { return };
    let live = w.store.state().allocs_of_node(id).iter().any(|a| !a.phase.terminal());
    let decision = decide_status(&node, NodeStatus::Ready, None, live, true, w.now);
    if decision.changes(&node) {
        set_status(w, &node, decision.status, decision.event);
    }
}

fn come_back(w: &mut World) {
    let Some(node) = some_node(w, |n| n.status != NodeStatus::Ready) else { return };
    revive(w, &node.id);
}

/// A node returns.
pub fn revive(w: &mut World, id: &str) {
    heartbeat(w, id);
    report_of(w, id);
    heartbeat(w, id);
}

fn drain(w: &mut World) {
    let Some(node) = some_node(w, |_| true) else { return };
    let ends = node.drain_strategy.is_some() && w.random.one_in(2);
    let deadline = w.random.of(&[-1, 0, 30 * SECOND, 10 * MINUTE]);
    let force_deadline = if deadline > 0 { Time::from_unix_nanos(w.now + deadline) } else { Time::ZERO };
    let strategy = (!ends).then(|| DrainStrategy {
        deadline,
        ignore_system_jobs: w.random.one_in(2),
        force_deadline,
        started_at: Time::from_unix_nanos(w.now),
    });
    let mark_eligible = ends && w.random.one_in(2);
    let update = DrainUpdate { strategy, mark_eligible, ..Default::default() };
    let op = NodeDrain { nodes: [(node.id.clone(), update)].into(), events: BTreeMap::new(), updated_at: w.now };
    change(w, Operation::NodeDrain(op));
}

fn eligibility(w: &mut World) {
    let Some(node) = some_node(w, |n| n.drain_strategy.is_none()) else { return };
    let eligibility = match node.scheduling_eligibility {
        NodeEligibility::Eligible => NodeEligibility::Ineligible,
        NodeEligibility::Ineligible | NodeEligibility::Unset | NodeEligibility::Other(_) => NodeEligibility::Eligible,
    };
    let op = Operation::NodeEligibility { id: node.id.clone(), eligibility, event: None, updated_at: w.now };
    change(w, op);
}

/// A node registers, updates its registration, or is removed.
fn node_changes(w: &mut World) {
    let number = w.store.state().nodes().count();
    let node = match some_node(w, |_| true) {
        Some(old) if number >= MOST_NODES || w.random.one_in(2) => {
            if w.random.one_in(3) {
                return change(w, Operation::NodeDeregister { ids: vec![old.id.clone()] });
            }
            let mut node = Node::clone(&old);
            cluster::change_node(&mut w.random, &mut node);
            node
        }
        // Addresses are unique, because the number of entries is.
        _ => cluster::node(&mut w.random, w.index as usize),
    };
    let op = NodeRegister { node, create_pool: false, now: w.now };
    change(w, Operation::NodeRegister(Box::new(op)));
}

// ---- allocations

fn report(w: &mut World) {
    let Some(node) = some_node(w, |_| true) else { return };
    report_of(w, &node.id);
}

/// A node reports the statuses of its allocations. Returns true if there was something to report.
pub fn report_of(w: &mut World, node_id: &str) -> bool {
    let Some(node) = w.store.state().node(node_id).map(|n| n.node.clone()) else { return false };
    if matches!(node.status, NodeStatus::Down | NodeStatus::Disconnected) {
        return false;
    }
    let allocs = w.store.state().allocs_of_node(node_id);
    let updates: Vec<Arc<Allocation>> = allocs.iter().filter_map(|a| next(w, &a.alloc)).map(Arc::new).collect();
    if updates.is_empty() {
        return false;
    }
    let mut ids = encamp_model::random::Random::new(w.random.number(), "reports");
    let evals = report_evals(w.store.state(), &updates, w.now, &mut || ids.uuid());
    w.commit(Operation::AllocClientUpdate { allocs: updates, evals, now: w.now });
    true
}

/// The next report of a client about an allocation.
fn next(w: &mut World, a: &Allocation) -> Option<Allocation> {
    // Some reports are delayed.
    if !w.calm && w.random.one_in(3) {
        return None;
    }
    let batch = a.job.as_ref().is_some_and(|j| matches!(j.r#type, JobType::Batch | JobType::Sysbatch));
    let mut health = None;
    let status = match (a.server_terminal(), &a.client_status) {
        (true, ClientStatus::Pending | ClientStatus::Running | ClientStatus::Unknown | ClientStatus::Lost) => {
            ClientStatus::Complete
        }
        (false, ClientStatus::Pending | ClientStatus::Unknown) => ClientStatus::Running,
        (false, ClientStatus::Running) if !w.calm && w.random.one_in(10) => ClientStatus::Failed,
        (false, ClientStatus::Running) if !w.calm && batch && w.random.one_in(4) => ClientStatus::Complete,
        (false, ClientStatus::Running) if !a.deployment_id.is_empty() && a.health().is_none() => {
            health = Some(w.calm || !w.random.one_in(6));
            ClientStatus::Running
        }
        _ => return None,
    };
    let over = matches!(status, ClientStatus::Complete | ClientStatus::Failed);
    let task = TaskState {
        state: if over { TaskStatus::Dead } else { TaskStatus::Running },
        failed: status == ClientStatus::Failed,
        started_at: Time::from_unix_nanos(w.now),
        finished_at: if over { Time::from_unix_nanos(w.now) } else { Time::ZERO },
        ..Default::default()
    };
    let timestamp = Time::from_unix_nanos(w.now);
    let verdict =
        |h| AllocDeploymentStatus { healthy: Some(h), timestamp, canary: a.is_canary(), ..Default::default() };
    Some(Allocation {
        id: a.id.clone(),
        node_id: a.node_id.clone(),
        client_status: status,
        task_states: [("t".to_string(), task)].into(),
        deployment_status: health.map(|h| Box::new(verdict(h))).or_else(|| a.deployment_status.clone()),
        ..Default::default()
    })
}
