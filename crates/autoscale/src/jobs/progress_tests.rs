use std::sync::Arc;

use encamp_model::{
    Allocation, ClientStatus, DeploymentStatus, DesiredStatus, Job, JobStatus, JobType, SECOND, TaskGroup, Time,
};

use super::*;

const STARTED: i64 = 1_800_000_000 * SECOND;
const JOB: (&str, &str) = ("default", "web");

fn scaling() -> GroupScaling {
    let started = Time::from_unix_nanos(STARTED);
    GroupScaling { from: 2, to: 3, started, job_create_index: 10, job_version: 4 }
}

fn job(version: u64, count: i64) -> Job {
    Job {
        namespace: "default".into(),
        id: "web".into(),
        r#type: JobType::Service,
        status: JobStatus::Running,
        version,
        create_index: 10,
        task_groups: vec![TaskGroup { name: "g".into(), count, ..TaskGroup::default() }],
        ..Job::default()
    }
}

fn state(job: Job, running: usize, pending: usize, deployment: Option<(u64, DeploymentStatus)>) -> State {
    let mut state = State::new();
    let job = Arc::new(job);
    state.upsert_job(job.clone());
    let running = std::iter::repeat_n(ClientStatus::Running, running);
    let statuses = running.chain(std::iter::repeat_n(ClientStatus::Pending, pending));
    state.upsert_allocs(statuses.enumerate().map(|(i, client_status)| {
        Arc::new(Allocation {
            id: format!("a{i}").into(),
            namespace: "default".into(),
            job_id: "web".into(),
            job: Some(job.clone()),
            task_group: "g".into(),
            desired_status: DesiredStatus::Run,
            client_status,
            ..Allocation::default()
        })
    }));
    if let Some((job_version, status)) = deployment {
        state.upsert_deployment(Arc::new(Deployment {
            id: "d".into(),
            namespace: "default".into(),
            job_id: "web".into(),
            job_create_index: 10,
            job_version,
            status,
            ..Deployment::default()
        }));
    }
    state
}

#[test]
fn what_the_state_says() {
    use Progress::*;
    let other = Job { create_index: 11, ..job(5, 3) };
    let stopped = Job { stop: true, ..job(5, 3) };
    let no_group = Job { task_groups: Vec::new(), ..job(5, 3) };
    // In time, and after the limit.
    let cases: Vec<(&str, State, Progress, Progress)> = vec![
        ("nothing happened", state(job(4, 2), 2, 0, Some((4, DeploymentStatus::Successful))), NotSet, Abandoned),
        ("not counted by versions", state(job(4, 3), 2, 0, None), Superseded, Superseded),
        ("deploying", state(job(5, 3), 2, 1, Some((5, DeploymentStatus::Running))), Waiting, Late),
        ("paused", state(job(5, 3), 3, 0, Some((5, DeploymentStatus::Paused))), Waiting, Late),
        ("deployed", state(job(5, 3), 2, 1, Some((5, DeploymentStatus::Successful))), Succeeded, Succeeded),
        ("failed", state(job(5, 3), 3, 0, Some((5, DeploymentStatus::Failed))), Failed, Failed),
        ("failed and reverted", state(job(6, 2), 2, 0, Some((5, DeploymentStatus::Failed))), Failed, Failed),
        ("cancelled", state(job(6, 3), 3, 0, Some((5, DeploymentStatus::Cancelled))), Superseded, Superseded),
        ("an older deployment", state(job(5, 3), 2, 0, Some((4, DeploymentStatus::Failed))), Waiting, Late),
        ("no deployment, starting", state(job(5, 3), 2, 1, None), Waiting, Late),
        ("no deployment, all run", state(job(5, 3), 3, 0, None), Succeeded, Succeeded),
        ("no deployment, one more", state(job(5, 3), 3, 1, None), Waiting, Late),
        ("somebody else's count", state(job(5, 7), 3, 0, None), Superseded, Superseded),
        ("registered again", state(other, 3, 0, None), Superseded, Superseded),
        ("stopped", state(stopped, 3, 0, None), Superseded, Superseded),
        ("without the group", state(no_group, 3, 0, None), Superseded, Superseded),
        ("purged", State::new(), Superseded, Superseded),
    ];
    let limit = 900 * SECOND;
    for (name, state, early, late) in &cases {
        assert_eq!(progress(state, JOB, "g", &scaling(), STARTED + limit - 1), *early, "{name}");
        assert_eq!(progress(state, JOB, "g", &scaling(), STARTED + limit), *late, "{name}");
    }
}
