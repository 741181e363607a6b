//! A cluster in memory for the tests of job scaling: deployments take time and may fail, calls fail and hang as
//! configured, and the process can be stopped before or after each write and each change of a count.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use encamp_model::*;
use encamp_state::{Snapshot, State};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify as Signal;
use tokio::time::Instant;

use super::params::tests::meta;
use crate::cluster::{Answer, Cluster, ClusterError, Items, Stored, Usage};
use crate::notify::{Notification, Notify};
use crate::protection::Servers;
use crate::record::{ITEM, Record};

/// When tests begin, Unix nanoseconds.
pub(crate) const START: i64 = 1_800_000_000 * SECOND;
/// How long a deployment takes.
const DEPLOYMENT: Duration = Duration::from_secs(25);

/// How calls end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// The call fails without an effect.
    Fails,
    /// It fails and has its effect all the same.
    FailsAfterEffect,
    /// It never ends.
    Hangs,
}

/// How deployments end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rollouts {
    Succeed,
    Fail,
    NeverEnd,
    /// There are none: the job has no update block.
    None,
}

/// Where the process stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    Before(usize),
    After(usize),
}

pub(crate) struct Inner {
    pub(crate) state: State,
    pub(crate) variables: BTreeMap<String, Stored>,
    pub(crate) notifications: Vec<Notification>,
    /// Every change of a count that took hold: job, from, to.
    pub(crate) scaled: Vec<(String, i64, i64)>,
    /// The usage of each allocation, in percent of its 1000 MHz and 1000 MB; missing: its node does not answer.
    pub(crate) usage: BTreeMap<String, f64>,
    /// The usage of allocations that are not listed.
    pub(crate) load: Option<f64>,
    pub(crate) scale: Fault,
    pub(crate) rollouts: Rollouts,
    pub(crate) leads: bool,
    /// Writes and changes of counts so far.
    pub(crate) points: usize,
    pub(crate) stop: Option<Stop>,
    index: u64,
    rolling: Vec<(Arc<Job>, String, Instant)>,
    allocations: usize,
}

pub(crate) struct Fake {
    inner: Mutex<Inner>,
    /// The process stops here.
    pub(crate) stopped: Signal,
    began: Instant,
}

impl Fake {
    pub(crate) fn new() -> Arc<Fake> {
        let inner = Inner {
            state: State::new(),
            variables: BTreeMap::new(),
            notifications: Vec::new(),
            scaled: Vec::new(),
            usage: BTreeMap::new(),
            load: Some(50.0),
            scale: Fault::None,
            rollouts: Rollouts::Succeed,
            leads: true,
            points: 0,
            stop: None,
            index: 100,
            rolling: Vec::new(),
            allocations: 0,
        };
        Arc::new(Fake { inner: Mutex::new(inner), stopped: Signal::new(), began: Instant::now() })
    }

    /// One with job `web` of group `g`, with so many allocations.
    pub(crate) fn with_job(count: i64, more: &[(&str, &str)]) -> Arc<Fake> {
        let fake = Fake::new();
        fake.register("default", "web", count, more);
        fake
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }

    pub(crate) fn now(&self) -> i64 {
        START + i64::try_from(self.began.elapsed().as_nanos()).expect("a short test")
    }

    pub(crate) fn register(&self, namespace: &str, id: &str, count: i64, more: &[(&str, &str)]) {
        let group = TaskGroup { name: "g".into(), count, meta: meta(more), ..TaskGroup::default() };
        let job = Job {
            namespace: namespace.into(),
            id: id.into(),
            r#type: JobType::Service,
            status: JobStatus::Running,
            create_index: 10,
            task_groups: vec![group],
            ..Job::default()
        };
        let mut inner = self.lock();
        let job = Arc::new(job);
        inner.state.upsert_job(job.clone());
        inner.settle(&job);
    }

    pub(crate) fn job(&self) -> Arc<Job> {
        self.lock().state.job("default", "web").cloned().expect("it is there")
    }

    /// Registers a changed version of the job.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Job)) {
        let mut job = Job::clone(&self.job());
        job.version += 1;
        change(&mut job);
        self.lock().state.upsert_job(Arc::new(job));
    }

    pub(crate) fn count(&self) -> i64 {
        self.job().task_groups[0].count
    }

    pub(crate) fn record(&self) -> Record {
        self.record_at("encamp/autoscale/state/jobs/web/g").0
    }

    pub(crate) fn record_at(&self, path: &str) -> (Record, u64) {
        match self.lock().variables.get(path) {
            None => (Record::default(), 0),
            Some(v) => (Record::read(path, v.items.get(ITEM).map(String::as_str)).expect("valid"), v.modify_index),
        }
    }

    /// Counts a point, and never comes back if the process stops there.
    async fn point(&self, after: Option<usize>) -> usize {
        let (point, stops) = {
            let mut inner = self.lock();
            let point = after.unwrap_or(inner.points);
            inner.points += usize::from(after.is_none());
            let here = if after.is_none() { Stop::Before(point) } else { Stop::After(point) };
            (point, inner.stop == Some(here))
        };
        if stops {
            self.lock().stop = None;
            self.stopped.notify_one();
            std::future::pending::<()>().await;
        }
        point
    }
}

impl Inner {
    /// Gives the job as many running allocations as it wants.
    fn settle(&mut self, job: &Arc<Job>) {
        let wanted = usize::try_from(job.task_groups[0].count).expect("a count");
        let of_job = self.state.allocs_of_job(&job.namespace, &job.id);
        let live: Vec<_> = of_job.into_iter().filter(|e| !e.phase.terminal()).collect();
        for surplus in live.iter().skip(wanted) {
            let (desired_status, client_status) = (DesiredStatus::Stop, ClientStatus::Complete);
            let alloc = Allocation { desired_status, client_status, ..Allocation::clone(&surplus.alloc) };
            self.state.upsert_allocs([Arc::new(alloc)]);
        }
        for _ in live.len()..wanted {
            self.allocations += 1;
            let task = AllocatedTaskResources {
                cpu: AllocatedCpuResources { cpu_shares: 1000, ..Default::default() },
                memory: AllocatedMemoryResources { memory_mb: 1000, ..Default::default() },
                ..Default::default()
            };
            let resources =
                AllocatedResources { tasks: [("t".to_string(), task)].into_iter().collect(), ..Default::default() };
            self.state.upsert_allocs([Arc::new(Allocation {
                id: format!("a{}", self.allocations).into(),
                namespace: Text::from(&job.namespace),
                job_id: Text::from(&job.id),
                job: Some(job.clone()),
                task_group: "g".into(),
                desired_status: DesiredStatus::Run,
                client_status: ClientStatus::Running,
                allocated_resources: Some(Arc::new(resources)),
                ..Allocation::default()
            })]);
        }
    }

    fn set_count(&mut self, job: (&str, &str), count: i64) {
        let mut changed = Job::clone(self.state.job(job.0, job.1).expect("it is there"));
        self.scaled.push((changed.id.clone(), changed.task_groups[0].count, count));
        changed.task_groups[0].count = count;
        changed.version += 1;
        let changed = Arc::new(changed);
        self.state.upsert_job(changed.clone());
        if self.rollouts == Rollouts::None {
            return self.settle(&changed);
        }
        let id = format!("d-{}-{}", changed.id, changed.version);
        self.deployment(&changed, &id, DeploymentStatus::Running);
        self.rolling.push((changed, id, Instant::now() + DEPLOYMENT));
    }

    pub(crate) fn deployment(&mut self, job: &Arc<Job>, id: &str, status: DeploymentStatus) {
        self.index += 1;
        self.state.upsert_deployment(Arc::new(Deployment {
            id: id.into(),
            namespace: job.namespace.clone(),
            job_id: job.id.clone(),
            job_version: job.version,
            job_create_index: job.create_index,
            create_index: self.index,
            status,
            ..Deployment::default()
        }));
    }

    /// Deployments whose time has come end.
    fn advance(&mut self) {
        let status = match self.rollouts {
            Rollouts::Succeed | Rollouts::None => DeploymentStatus::Successful,
            Rollouts::Fail => DeploymentStatus::Failed,
            Rollouts::NeverEnd => return,
        };
        let now = Instant::now();
        let (ended, rolling) = std::mem::take(&mut self.rolling).into_iter().partition(|(_, _, end)| *end <= now);
        self.rolling = rolling;
        for (job, id, _) in ended {
            self.deployment(&job, &id, status.clone());
            if status == DeploymentStatus::Successful {
                self.settle(&job);
            }
        }
    }
}

fn failed() -> ClusterError {
    ClusterError::Failed("no luck".into())
}

impl Cluster for Fake {
    fn name(&self) -> String {
        "global".into()
    }

    fn leads(&self) -> bool {
        self.lock().leads
    }

    fn state(&self) -> Answer<'_, Snapshot> {
        let mut inner = self.lock();
        inner.advance();
        let snapshot = inner.state.snapshot();
        Box::pin(async { Ok(snapshot) })
    }

    fn servers(&self) -> Answer<'_, Servers> {
        Box::pin(async { Ok(Servers::default()) })
    }

    fn variable<'a>(&'a self, path: &'a str) -> Answer<'a, Option<Stored>> {
        Box::pin(async { Ok(self.lock().variables.get(path).cloned()) })
    }

    fn write<'a>(&'a self, path: &'a str, items: Items, check: u64) -> Answer<'a, u64> {
        Box::pin(async move {
            let point = self.point(None).await;
            let modify_index = {
                let mut inner = self.lock();
                inner.index += 1;
                let modify_index = inner.index;
                if inner.variables.get(path).map_or(0, |v| v.modify_index) != check {
                    return Err(ClusterError::Conflict(path.into()));
                }
                inner.variables.insert(path.into(), Stored { items, modify_index });
                modify_index
            };
            self.point(Some(point)).await;
            Ok(modify_index)
        })
    }

    fn drain<'a>(&'a self, _: &'a str, _: Duration) -> Answer<'a, ()> {
        Box::pin(async { Err(failed()) })
    }

    fn cancel_drain<'a>(&'a self, _: &'a str) -> Answer<'a, ()> {
        Box::pin(async { Err(failed()) })
    }

    fn purge<'a>(&'a self, _: &'a str) -> Answer<'a, ()> {
        Box::pin(async { Err(failed()) })
    }

    fn scale<'a>(&'a self, job: (&'a str, &'a str), group: &'a str, count: i64, message: &'a str) -> Answer<'a, ()> {
        Box::pin(async move {
            assert_eq!(group, "g");
            assert!(message.starts_with("encamp autoscaler: "), "{message}");
            let point = self.point(None).await;
            let fault = self.lock().scale;
            match fault {
                Fault::Fails => return Err(failed()),
                Fault::Hangs => std::future::pending().await,
                Fault::None | Fault::FailsAfterEffect => {}
            }
            let blocked = {
                let inner = self.lock();
                let current = inner.state.job(job.0, job.1).expect("it is there");
                super::decision::deploying(&inner.state, current)
            };
            if blocked {
                return Err(ClusterError::Failed("job scaling blocked due to active deployment".into()));
            }
            self.lock().set_count(job, count);
            self.point(Some(point)).await;
            if fault == Fault::FailsAfterEffect { Err(failed()) } else { Ok(()) }
        })
    }

    fn usage<'a>(&'a self, alloc: &'a str) -> Answer<'a, Usage> {
        let inner = self.lock();
        let percent = inner.usage.get(alloc).copied().or(inner.load);
        Box::pin(async move {
            match percent {
                Some(percent) => Ok(Usage { cpu: percent * 10.0, memory: percent * 10.0 }),
                None => std::future::pending().await,
            }
        })
    }
}

impl Notify for Fake {
    fn send(&self, notification: Notification) {
        self.lock().notifications.push(notification);
    }
}
