//! Events in a cluster between two evaluations.

use std::sync::Arc;

use encamp_model::random::Random;
use encamp_model::*;
use encamp_state::State;

use super::cluster::{condition, configuration};
use super::jobs;
use encamp_test_support::dice::Dice;

/// Lets one thing happen.
pub fn happen(random: &mut Random, state: &mut State, now: i64) {
    let index = state.index + 1;
    match random.roll(16) {
        0..4 => change_job(random, state, index),
        4..6 => change_node(random, state, index),
        6..8 => return_node(random, state, index),
        8..12 => change_allocs(random, state, now, index),
        12 => change_deployment(random, state, index),
        13 => forge_alloc(random, state, now, index),
        14 => {
            let mut config = configuration(random);
            config.modify_index = index;
            state.set_scheduler_config(Arc::new(config));
        }
        _ => mark_health(random, state, index),
    }
    state.index = state.index.max(index);
}

/// Registers a job, new or changed.
pub fn register(state: &mut State, mut job: Job, index: u64) -> Arc<Job> {
    match state.job(&job.namespace, &job.id) {
        Some(old) => (job.version, job.create_index) = (old.version + 1, old.create_index),
        None => job.create_index = index,
    }
    (job.modify_index, job.job_modify_index) = (index, index);
    let job = Arc::new(job);
    state.upsert_job(job.clone());
    job
}

fn some_job(random: &mut Random, state: &State) -> Option<Arc<Job>> {
    let jobs: Vec<Arc<Job>> = state.jobs().map(|j| j.current.clone()).collect();
    random.pick(&jobs).cloned()
}

fn change_job(random: &mut Random, state: &mut State, index: u64) {
    let Some(job) = some_job(random, state) else { return };
    let mut job = Job::clone(&job);
    job.stop = random.one_in(12);
    if !job.stop {
        for _ in 0..random.between(1, 2) {
            jobs::change(random, &mut job);
        }
    }
    register(state, job, index);
}

fn some_node(random: &mut Random, state: &State) -> Option<Node> {
    let nodes: Vec<Arc<Node>> = state.nodes().map(|n| n.node.clone()).collect();
    random.pick(&nodes).map(|n| Node::clone(n))
}

fn change_node(random: &mut Random, state: &mut State, index: u64) {
    let Some(mut node) = some_node(random, state) else { return };
    match random.roll(8) {
        0 => {
            // Less room than is given away.
            if let Some(r) = &mut node.node_resources {
                r.memory.memory_mb /= 2;
                r.disk.disk_mb -= r.disk.disk_mb / 3;
            }
        }
        1 => {
            let ill = node.drivers.values_mut().next();
            ill.into_iter().for_each(|d| d.healthy = !d.healthy);
        }
        2 => {
            let devices = node.node_resources.iter_mut().flat_map(|r| &mut r.devices);
            devices.flat_map(|d| d.instances.first_mut()).for_each(|i| i.healthy = !i.healthy);
        }
        _ => condition(random, &mut node, 1),
    }
    node.modify_index = index;
    if node.drain_strategy.is_some() {
        drain(random, state, &node, index);
    }
    state.upsert_node(Arc::new(node));
}

/// The drainer marks some allocations.
fn drain(random: &mut Random, state: &mut State, node: &Node, index: u64) {
    let list: Vec<Arc<Allocation>> =
        state.node(&node.id).map_or_else(Vec::new, |n| n.live_allocs().map(|a| a.alloc.clone()).collect());
    for a in list.iter().filter(|a| !a.server_terminal() && !random.one_in(3)) {
        let mut a = Allocation::clone(a);
        a.desired_transition.migrate = Some(true);
        a.desired_transition.migrate_disable_placement = a.of_batch_job().then_some(true);
        a.modify_index = index;
        state.upsert_allocs([Arc::new(a)]);
    }
}

/// A node is ready again; what it lost contact with runs on.
fn return_node(random: &mut Random, state: &mut State, index: u64) {
    let Some(mut node) = some_node(random, state) else { return };
    condition(random, &mut node, 1000);
    node.modify_index = index;
    let id = node.id.clone();
    state.upsert_node(Arc::new(node));
    let list: Vec<Arc<Allocation>> =
        state.node(&id).map_or_else(Vec::new, |n| n.allocs.iter().map(|a| a.alloc.clone()).collect());
    for a in list.iter().filter(|a| a.client_status == ClientStatus::Unknown) {
        let status = random.of(&[ClientStatus::Running, ClientStatus::Running, ClientStatus::Failed]);
        state.upsert_allocs([Arc::new(Allocation {
            client_status: status,
            modify_index: index,
            ..Allocation::clone(a)
        })]);
    }
}

fn some_allocs(random: &mut Random, state: &State, most: usize) -> Vec<Allocation> {
    let mut live: Vec<Arc<Allocation>> =
        state.allocs().filter(|a| !a.phase.client_terminal()).map(|a| a.alloc.clone()).collect();
    live.sort_by(|a, b| a.id.cmp(&b.id));
    random.shuffle(&mut live);
    live.iter().take(1 + random.roll(most)).map(|a| Allocation::clone(a)).collect()
}

fn change_allocs(random: &mut Random, state: &mut State, now: i64, index: u64) {
    let kind = random.roll(9);
    for mut a in some_allocs(random, state, 5) {
        match kind {
            0..4 => end(random, &mut a, ClientStatus::Failed, now),
            4 => end(random, &mut a, ClientStatus::Complete, now),
            5 => a.client_status = random.of(&[ClientStatus::Pending, ClientStatus::Running]),
            6 => {
                a.desired_transition.migrate = Some(true);
                a.desired_transition.reschedule = random.of(&[None, Some(true)]);
            }
            7 => {
                end(random, &mut a, ClientStatus::Failed, now);
                a.desired_transition.force_reschedule = Some(true);
            }
            _ => {
                end(random, &mut a, ClientStatus::Failed, now);
                a.desired_transition.reschedule = Some(true);
            }
        }
        (a.modify_index, a.modify_time) = (index, now);
        state.upsert_allocs([Arc::new(a)]);
    }
}

fn end(random: &mut Random, a: &mut Allocation, status: ClientStatus, now: i64) {
    let finished = Time::from_unix_nanos(now - random.of(&[0, SECOND, 40 * SECOND, HOUR, 3 * HOUR]));
    a.task_states.change(|t| {
        (t.state, t.failed, t.finished_at) = (TaskStatus::Dead, status == ClientStatus::Failed, finished);
    });
    a.client_status = status;
}

fn mark_health(random: &mut Random, state: &mut State, index: u64) {
    for mut a in some_allocs(random, state, 8).into_iter().filter(|a| !a.deployment_id.is_empty()) {
        let healthy = !random.one_in(4);
        a.deployment_status.get_or_insert_default().healthy = Some(healthy);
        a.modify_index = index;
        if let Some(d) = state.deployment(&a.deployment_id) {
            let mut d = Deployment::clone(d);
            if let Some(Some(s)) = d.task_groups.get_mut(&a.task_group) {
                *if healthy { &mut s.healthy_allocs } else { &mut s.unhealthy_allocs } += 1;
            }
            d.modify_index = index;
            state.upsert_deployment(Arc::new(d));
        }
        state.upsert_allocs([Arc::new(a)]);
    }
}

fn change_deployment(random: &mut Random, state: &mut State, index: u64) {
    let active: Vec<Arc<Deployment>> = state.deployments().filter(|d| d.active()).cloned().collect();
    let Some(d) = random.pick(&active) else { return };
    let mut d = Deployment::clone(d);
    match random.roll(5) {
        0..3 => {
            for s in d.task_groups.values_mut().flatten() {
                s.promoted = true;
            }
            let placed: Vec<Arc<Allocation>> = state
                .allocs()
                .filter(|a| a.alloc.deployment_id == d.id && a.alloc.is_canary())
                .map(|a| a.alloc.clone())
                .collect();
            for a in placed {
                let mut a = Allocation::clone(&a);
                a.deployment_status.get_or_insert_default().canary = false;
                a.modify_index = index;
                state.upsert_allocs([Arc::new(a)]);
            }
        }
        3 => d.status = random.of(&[DeploymentStatus::Paused, DeploymentStatus::Running]),
        _ => d.status = DeploymentStatus::Failed,
    }
    d.modify_index = index;
    state.upsert_deployment(Arc::new(d));
}

/// An allocation nobody placed: a copy of another one, anywhere, in any status, whether there is room or not.
fn forge_alloc(random: &mut Random, state: &mut State, now: i64, index: u64) {
    let all = some_allocs(random, state, 2);
    for mut a in all {
        a.id = random.uuid();
        if let Some(node) = some_node(random, state)
            && random.one_in(2)
        {
            (a.node_id, a.node_name) = (node.id, node.name);
        }
        a.desired_status =
            random.of(&[DesiredStatus::Run, DesiredStatus::Run, DesiredStatus::Stop, DesiredStatus::Evict]);
        a.client_status = random.of(&[
            ClientStatus::Pending,
            ClientStatus::Running,
            ClientStatus::Complete,
            ClientStatus::Failed,
            ClientStatus::Lost,
        ]);
        if a.client_terminal() {
            let status = a.client_status.clone();
            end(random, &mut a, status, now);
        }
        (a.create_index, a.modify_index, a.modify_time) = (index, index, now);
        state.upsert_allocs([Arc::new(a)]);
    }
}
