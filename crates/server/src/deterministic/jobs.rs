//! Operators: they register, change, scale, stop and evaluate jobs, often the same one several times in a row.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::cluster::Cluster;
use super::network::{Lost, Place};
use super::users::{self, Stop};
use crate::endpoints::{job_changes, scale};
use crate::tests::job;
use crate::{Error, Server};
use encamp_host::ids;
use encamp_model::random::Random;
use encamp_model::requests::{EvalOptions, ScalingRequest};
use encamp_model::*;
use encamp_ops::{JobRegister, Operation};

const PATIENCE: Duration = Duration::from_secs(4);
/// The maximum number of jobs.
const JOBS: u64 = 5;

/// The jobs that have a deployment for every version.
const ROLLED_OUT: [u64; 2] = [1, 4];

/// A generated version of a job. The type depends on the ID.
fn version(number: u64, random: &mut Random) -> Job {
    let mut job = job(&format!("job-{number}"), random.below(6) as i64);
    job.r#type = match number % 5 {
        2 => JobType::Batch,
        3 => JobType::System,
        _ => JobType::Service,
    };
    job.priority = [50, 50, 30, 80, 70][number as usize % 5];
    if job.r#type == JobType::System {
        job.task_groups[0].count = 1;
    }
    if ROLLED_OUT.contains(&number) {
        job.task_groups[0].update = Some(UpdateStrategy {
            max_parallel: 1 + random.below(3) as i64,
            health_check: "task_states".into(),
            progress_deadline: 20 * SECOND,
            auto_revert: random.below(3) == 0,
            ..Default::default()
        });
    }
    // Without a reschedule policy, failed allocations are not replaced.
    job.task_groups[0].reschedule_policy = Some(ReschedulePolicy {
        delay: (1 + random.below(15) as i64) * SECOND,
        delay_function: "constant".into(),
        unlimited: true,
        ..Default::default()
    });
    let resources = Resources {
        cpu: 100 + 50 * random.below(6) as i64,
        memory_mb: 10 + 40 * random.below(6) as i64,
        ..Default::default()
    };
    job.task_groups[0].tasks[0].resources = Some(resources);
    job.meta.insert("v".into(), random.number().to_string());
    job
}

/// An operator's request.
#[derive(Debug)]
enum Wish {
    Register(Box<Job>),
    Scale(i64),
    Stop { purge: bool },
    Evaluate,
}

async fn carry_out(server: Server, id: String, wish: Wish) -> Result<u64, Error> {
    match wish {
        Wish::Register(job) => {
            let now = ids::now();
            let eval = Some(Evaluation::pending(&job, EvalTrigger::JobRegister, now, ids::uuid()));
            let r = JobRegister { job: Arc::new(*job), eval, submission: None, enforce_index: None, now };
            Ok(server.commit(Operation::JobRegister(Box::new(r))).await?.0)
        }
        Wish::Scale(count) => {
            let target = [("Group".to_string(), "g".to_string())].into();
            let request = ScalingRequest { count: Some(count), target, ..Default::default() };
            Ok(scale::scale(&server, "default", &id, request, false).await?.index)
        }
        Wish::Stop { purge } => {
            let stop = job_changes::Stop { purge, no_shutdown_delay: false, eval_priority: 0 };
            Ok(job_changes::deregister(&server, "default", &id, stop).await?.index)
        }
        Wish::Evaluate => Ok(job_changes::evaluate(&server, "default", &id, EvalOptions::default()).await?.index),
    }
}

/// An operator, until asked to stop.
pub(crate) async fn operator(cluster: Arc<Cluster>, place: Place, slowness: u32, stop: Stop) {
    let mut random = cluster.chance("jobs");
    while !stop.now() {
        tokio::time::sleep(Duration::from_millis(50 + random.below(2500)) * slowness).await;
        let number = random.below(JOBS);
        // Several requests in a row: all evaluations except the newest are cancelled.
        for _ in 0..1 + random.below(4) {
            let Some(to) = users::find_leader(&cluster, &mut random) else { continue };
            let wish = match random.below(10) {
                0 => Wish::Stop { purge: random.below(3) == 0 },
                1..3 => Wish::Scale(random.below(6) as i64),
                3..5 => Wish::Evaluate,
                _ => Wish::Register(Box::new(version(number, &mut random))),
            };
            let id = format!("job-{number}");
            let what = match &wish {
                Wish::Register(j) => format!("registers {}", j.task_groups[0].count),
                other => format!("{other:?}"),
            };
            let work = move |s: Server| -> BoxFuture<'static, Result<u64, Error>> { Box::pin(carry_out(s, id, wish)) };
            let done = cluster.network.call((place, to), PATIENCE, work).await;
            cluster.sim.note(format_args!("operator {place} job-{number} {what}: {done:?}"));
            if let Ok(Ok(index)) = done
                && index > 0
            {
                cluster.sim.watch.acknowledged(&cluster.sim, index);
            }
            if matches!(done, Err(Lost::Refused | Lost::Unknown)) {
                break;
            }
        }
    }
}
