//! The service jobs of scenarios: they are replaced when their nodes fail and updated by rolling deployments.

use serde_json::{Value, json};

use super::LoadError;
use super::outcome::Step;
use super::probe;
use super::stage::{PATIENCE, Stage};
use encamp_model::JobType;

/// Allocations for each node, on average.
const SHARE: usize = 2;

/// Jobs of a scenario, with as many allocations altogether.
#[derive(Debug, Clone)]
pub struct Services {
    counts: Vec<usize>,
}

impl Services {
    /// So many jobs; none without an allocation.
    pub fn new(jobs: usize, allocs: usize) -> Services {
        let jobs = jobs.clamp(1, allocs.max(1));
        Services { counts: (0..jobs).map(|n| allocs / jobs + usize::from(n < allocs % jobs)).collect() }
    }

    /// The number of allocations of each job.
    pub fn counts(&self) -> &[usize] {
        &self.counts
    }

    /// Places jobs with two allocations for each node, on average; gives them, and what it took.
    ///
    /// # Errors
    /// The servers refuse a job or don't answer, or it takes an hour.
    pub async fn place(stage: &Stage<'_>, jobs: usize, nodes: usize) -> Result<(Services, Step), LoadError> {
        let services = Services::new(jobs, nodes * SHARE);
        let mark = stage.mark().await?;
        services.register_all(stage).await?;
        services.whole(stage).await?;
        Ok((services, stage.settle("place", &mark).await?))
    }

    /// How many jobs there are.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Their allocations altogether.
    pub fn allocs(&self) -> u64 {
        self.counts.iter().map(|n| *n as u64).sum()
    }

    /// Registers a job; another `version` of one that runs begins a deployment.
    ///
    /// # Errors
    /// The servers refuse it.
    pub async fn register(&self, stage: &Stage<'_>, number: usize, version: usize) -> Result<(), LoadError> {
        let Some(count) = self.counts.get(number) else { return Ok(()) };
        stage.register(&job(number, *count, version)).await
    }

    /// Registers all.
    ///
    /// # Errors
    /// The servers refuse one.
    pub(crate) async fn register_all(&self, stage: &Stage<'_>) -> Result<(), LoadError> {
        for number in 0..self.len() {
            self.register(stage, number, 0).await?;
        }
        Ok(())
    }

    /// Waits until the servers know of exactly as many running allocations as there shall be, and no deployment is
    /// under way.
    ///
    /// # Errors
    /// The server does not answer, or it takes an hour.
    pub async fn whole(&self, stage: &Stage<'_>) -> Result<(), LoadError> {
        let all = self.allocs();
        let look = || async {
            let mut running = 0;
            for number in 0..self.len() {
                let read = stage.client().job_summary(None, &id(number)).await;
                let (summary, _) = read.map_err(|e| LoadError::of("reading the summary of a job", e))?;
                running += summary.summary.values().map(|g| g.running).sum::<i64>();
            }
            Ok((running.unsigned_abs(), stage.deployments().await?))
        };
        let enough = |(running, active): &(u64, usize)| {
            stage.tell(format!("{running} of {all} allocations run, {active} deployments are in progress"));
            (*running, *active) == (all, 0)
        };
        probe::until("all jobs to run their full count", PATIENCE, look, enough).await.map(drop)
    }
}

fn id(number: usize) -> String {
    format!("service-{number}")
}

fn job(number: usize, count: usize, version: usize) -> Value {
    let resources = json!({"CPU": 50, "MemoryMB": 32});
    let logs = json!({"MaxFiles": 1, "MaxFileSizeMB": 1});
    let task = json!({
        "Name": "main", "Driver": "raw_exec", "Config": {"command": "/bin/true"}, "Resources": resources,
        "LogConfig": logs, "Env": {"VERSION": version.to_string()},
    });
    let update = json!({
        "MaxParallel": count.div_ceil(5), "HealthCheck": "task_states", "MinHealthyTime": 10_000_000,
        "HealthyDeadline": 300_000_000_000_i64, "ProgressDeadline": 600_000_000_000_i64,
    });
    let group =
        json!({"Name": "all", "Count": count, "Tasks": [task], "EphemeralDisk": {"SizeMB": 10}, "Update": update});
    let id = id(number);
    json!({"Job": {"ID": id, "Name": id, "Type": JobType::Service, "Datacenters": ["*"], "TaskGroups": [group]}})
}
