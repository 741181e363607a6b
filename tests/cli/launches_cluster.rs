//! The cluster of fixtures/launches: services, periodic jobs, and runs of these. encamp itself plans it from the jobs of
//! fixtures/launches/registered. This test fails when fixtures/launches/cluster.json is stale; `ENCAMP_UPDATE=1` rewrites
//! it.

use std::path::Path;
use std::sync::Arc;

use encamp_jobspec::convert::ConvertOptions;
use encamp_jobspec::parse::{ParseOptions, parse};
use encamp_model::*;
use encamp_plan::launches::child;
use encamp_plan::{dry_run, plan_job, server_context};
use encamp_state::State;

use crate::fixtures::{NOW, is_current, node, print, register, snapshot_of};

const MINUTE: i64 = 60 * SECOND;

/// Registers a periodic job, and returns it.
fn register_periodic(state: &mut State, path: &Path, index: u64) -> Arc<Job> {
    let body = std::fs::read(path).unwrap();
    let options = ParseOptions { path: "job.hcl".into(), strict: true, ..Default::default() };
    let job = parse(&body, &options).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let convert = ConvertOptions { region: "global".into(), ..Default::default() };
    let planned = plan_job(state, &job, &convert, &server_context(state), NOW).unwrap();
    let mut job = planned.run.job.as_ref().clone();
    (job.create_index, job.job_modify_index, job.modify_index) = (index, index, index);
    job.status = JobStatus::Running;
    let job = Arc::new(job);
    state.upsert_job(job.clone());
    job
}

/// A run of a periodic job that was launched so many minutes ago and took so many minutes, or goes on.
fn run(state: &mut State, parent: &Job, ago: i64, took: Option<i64>) {
    let at = NOW - ago * MINUTE;
    let index = state.index + 1;
    let mut job = child(parent, at, at);
    (job.create_index, job.job_modify_index, job.modify_index) = (index, index, index);
    job.status = if took.is_some() { JobStatus::Dead } else { JobStatus::Running };
    let planned = dry_run(state, &job, at).unwrap();
    let job = Arc::new(job);
    state.upsert_job(job.clone());
    let mut allocs = Vec::new();
    for (i, a) in planned.plan.node_allocation.values().flatten().enumerate() {
        let mut a = a.as_ref().clone();
        a.id = format!("b{:03x}{:04x}-0000-4000-8000-{:012x}", index, i + 1, i + 1).into();
        a.eval_id = format!("e{index:07x}-0000-4000-8000-000000000001").into();
        a.client_status = if took.is_some() { ClientStatus::Complete } else { ClientStatus::Running };
        a.job = Some(job.clone());
        a.metrics = None;
        (a.create_index, a.alloc_modify_index, a.modify_index) = (index, index, index + 1);
        (a.create_time, a.modify_time) = (at, at + took.unwrap_or(1) * MINUTE);
        for task in job.lookup_group(&a.task_group).unwrap().tasks.iter() {
            let mut task_state = TaskState { started_at: Time::from_unix_nanos(at), ..Default::default() };
            task_state.state = if took.is_some() { TaskStatus::Dead } else { TaskStatus::Running };
            task_state.finished_at = took.map_or(Time::ZERO, |took| Time::from_unix_nanos(at + took * MINUTE));
            a.task_states.insert(task.name.clone(), task_state);
        }
        allocs.push(Arc::new(a));
    }
    assert!(!allocs.is_empty(), "{} places nothing", job.id);
    state.upsert_allocs(allocs);
    state.index = index + 1;
}

/// The state of the cluster.
fn cluster(folder: &Path) -> State {
    let mut state = State::new();
    state.set_scheduler_config(Arc::new(SchedulerConfiguration {
        scheduler_algorithm: SchedulerAlgorithm::Binpack,
        create_index: 5,
        modify_index: 5,
        ..Default::default()
    }));
    for (name, description) in [("all", "Node pool with all nodes in the cluster."), ("default", "Default node pool.")]
    {
        let pool = NodePool { name: name.into(), description: description.into(), ..Default::default() };
        state.upsert_node_pool(Arc::new(pool));
    }
    let namespace =
        Namespace { name: "default".into(), description: "Default shared namespace".into(), ..Default::default() };
    state.upsert_namespace(Arc::new(namespace));
    (1..=3).for_each(|n| state.upsert_node(Arc::new(node(n, "dc1", "default", "general", 4, 8_192))));
    register(&mut state, &folder.join("registered/shop.hcl"), 40);
    let file = |name: &str| folder.join(format!("registered/{name}.hcl"));
    let index = register_periodic(&mut state, &file("index"), 50);
    let backup = register_periodic(&mut state, &file("backup"), 51);
    register_periodic(&mut state, &file("invoices"), 52);
    register_periodic(&mut state, &file("cleanup"), 53);
    state.index = 60;
    for (ago, took) in [(10 * 60 + 30, 95), (34 * 60 + 30, 80)] {
        run(&mut state, &backup, ago, Some(took));
    }
    for (ago, took) in [(240, 38), (180, 41), (120, 39)] {
        run(&mut state, &index, ago, Some(took));
    }
    run(&mut state, &index, 1, None);
    state
}

#[test]
fn cluster_of_launches_is_current() {
    is_current("launches", "launches", |folder| print(&snapshot_of(&cluster(folder), "the cluster of launches")));
}
