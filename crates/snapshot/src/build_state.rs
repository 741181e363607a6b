//! The state of a snapshot file.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::thread;

use super::file::{ClusterSnapshot, ContentError, SnapshotFile, Volume};
use encamp_model::*;
use encamp_state::{IdHash, Rows, State};

/// So many allocations are worth a thread.
const WORTH_A_THREAD: usize = 8192;
/// More threads than that gain nothing.
const MOST_THREADS: usize = 8;

/// Builds the state: indexes, per-node facts, allocations joined with their job versions.
///
/// # Errors
/// IDs are missing or given twice, or an allocation refers to a job that is not there.
pub fn into_state(mut file: SnapshotFile) -> Result<ClusterSnapshot, ContentError> {
    unique("Nodes", &file.nodes, |n| (&n.id).into())?;
    // What is wrong with allocations comes first.
    check_others(&file).map_err(|other| check_allocations(&file.allocations).err().unwrap_or(other))?;
    let (taken_at, source) = (file.taken_at, std::mem::take(&mut file.source));
    let own = std::mem::take(&mut file.allocation_jobs);
    let mut allocations = std::mem::take(&mut file.allocations);
    let mut rows = rows(file);
    let orphans = join_jobs(&rows.jobs, own, &mut allocations);
    let orphans = orphans.map_err(|other| check_allocations(&allocations).err().unwrap_or(other))?;
    rows.allocs = allocations.clone();
    let state = State::load(rows);
    // The tables are made in the order of IDs anyway; only if some are missing it is worth to find out which.
    if state.alloc_count() != allocations.len() || state.alloc("").is_some() {
        check_allocations(&allocations)?;
    }
    Ok(ClusterSnapshot { state, taken_at, archived: false, source, notes: notes(orphans) })
}

/// Whether everything but allocations has IDs.
pub(super) fn checked(file: &SnapshotFile) -> Result<(), ContentError> {
    unique("Nodes", &file.nodes, |n| (&n.id).into())?;
    check_others(file)
}

/// The rows of all tables but that of allocations.
pub(super) fn rows(file: SnapshotFile) -> Rows {
    let mut rows = Rows {
        index: file.index,
        scheduler_config: file.scheduler_configuration.map(Arc::new),
        server_settings: file.server_settings.map(Arc::new),
        node_pools: file.node_pools.into_iter().map(Arc::new).collect(),
        namespaces: file.namespaces.into_iter().map(Arc::new).collect(),
        nodes: file.nodes.into_iter().map(in_a_pool).collect(),
        jobs: file.jobs.into_iter().map(Arc::new).collect(),
        deployments: file.deployments.into_iter().map(Arc::new).collect(),
        host_volume_claims: file.host_volume_claims.into_iter().map(Arc::new).collect(),
        ..Rows::default()
    };
    for v in file.volumes {
        match v {
            Volume::Csi(v) => rows.csi_volumes.push(Arc::from(v)),
            Volume::Host(v) => rows.host_volumes.push(Arc::from(v)),
        }
    }
    rows
}

/// What an operator has to know about allocations that have no job although they may run, of that number.
pub(super) fn notes(orphans: usize) -> Vec<String> {
    if orphans == 0 {
        return Vec::new();
    }
    vec![format!(
        "{orphans} allocations name job versions the snapshot does not hold; they keep their resources and are never \
         preempted"
    )]
}

fn in_a_pool(mut node: Node) -> Arc<Node> {
    if node.node_pool.is_empty() {
        node.node_pool = "default".into();
    }
    Arc::new(node)
}

/// The stored versions of jobs, by namespace, ID and version.
pub(super) type Versions<'a> = HashMap<(&'a str, &'a str, u64), &'a Arc<Job>, IdHash>;

/// The stored versions.
pub(super) fn versions(jobs: &[Arc<Job>]) -> Versions<'_> {
    jobs.iter().map(|j| ((j.namespace.as_str(), j.id.as_str(), j.version), j)).collect()
}

/// The jobs that allocations name by position; those that equal a stored version are that.
pub(super) fn shared(versions: &Versions<'_>, own: Vec<Job>) -> Vec<Arc<Job>> {
    own.into_iter().map(|j| share_job(versions, j)).collect()
}

/// Gives each allocation its job, and counts those that have none although they may run.
fn join_jobs(jobs: &[Arc<Job>], own: Vec<Job>, allocations: &mut [Arc<Allocation>]) -> Result<usize, ContentError> {
    let versions = versions(jobs);
    let own = shared(&versions, own);
    let join = |first: usize, part: &mut [Arc<Allocation>]| {
        let mut orphans = 0;
        for (i, a) in part.iter_mut().enumerate() {
            // Nobody else holds it yet, so this changes it where it is.
            let joined = join_job(&versions, &own, Arc::make_mut(a));
            joined.map_err(|job| ContentError::MissingJob { index: first + i, job })?;
            orphans += usize::from(a.job.is_none() && !a.terminal());
        }
        Ok(orphans)
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let threads = (allocations.len() / WORTH_A_THREAD).min(cores).min(MOST_THREADS);
    if threads < 2 {
        return join(0, allocations);
    }
    let length = allocations.len().div_ceil(threads);
    thread::scope(|scope| {
        let parts = allocations.chunks_mut(length).enumerate();
        let threads: Vec<_> = parts.map(|(n, part)| scope.spawn(move || join(n * length, part))).collect();
        let joined = threads.into_iter().map(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        joined.sum()
    })
}

/// The stored job version, if it equals this job.
fn share_job(versions: &Versions<'_>, job: Job) -> Arc<Job> {
    match versions.get(&(&job.namespace, &job.id, job.version)) {
        Some(stored) if ***stored == job => (*stored).clone(),
        _ => Arc::new(job),
    }
}

/// How an allocation names its job.
pub(super) struct Named {
    pub(super) namespace: Text,
    pub(super) job_id: Text,
    /// The version where the job itself is left out.
    pub(super) version: Option<u64>,
    /// The position in the list of jobs that the file holds beside its allocations.
    pub(super) own: Option<u32>,
    /// The job itself.
    pub(super) job: Option<Arc<Job>>,
}

/// The job of an allocation, shared instead of a copy for each: the one it refers to, else the stored version. An absent
/// version is version 0. The error is the position of a job that is not there.
pub(super) fn job_of(versions: &Versions<'_>, own: &[Arc<Job>], named: Named) -> Result<Option<Arc<Job>>, u32> {
    if let Some(position) = named.own {
        let job = usize::try_from(position).ok().and_then(|i| own.get(i));
        return Ok(Some(job.ok_or(position)?.clone()));
    }
    let version = named.job.as_ref().map(|j| j.version).or(named.version).unwrap_or(0);
    Ok(match versions.get(&(&named.namespace, &named.job_id, version)) {
        Some(stored) if named.job.as_ref().is_none_or(|j| j.create_index == stored.create_index) => {
            Some((*stored).clone())
        }
        _ => named.job,
    })
}

/// Gives an allocation its job: [`job_of`].
pub(super) fn join_job(versions: &Versions<'_>, own: &[Arc<Job>], a: &mut Allocation) -> Result<(), u32> {
    let named = Named {
        namespace: a.namespace.clone(),
        job_id: a.job_id.clone(),
        version: a.stored_job_version,
        own: a.job_ref.take(),
        job: a.job.take(),
    };
    a.job = job_of(versions, own, named)?;
    Ok(())
}

fn check_allocations(allocations: &[Arc<Allocation>]) -> Result<(), ContentError> {
    unique("Allocations", allocations, |a| (&*a.id).into())
}

fn check_others(file: &SnapshotFile) -> Result<(), ContentError> {
    unique("Deployments", &file.deployments, |d| (&d.id).into())?;
    unique("Jobs", &file.jobs, |j| if j.id.is_empty() { "".into() } else { job_key(j).into() })
}

fn job_key(j: &Job) -> String {
    format!("{}@{} version {}", j.id, j.namespace, j.version)
}

/// Every object needs an ID, and no two the same.
fn unique<'a, T>(list: &'static str, items: &'a [T], id: impl Fn(&'a T) -> Cow<'a, str>) -> Result<(), ContentError> {
    let mut seen: HashSet<Cow<str>, IdHash> = HashSet::with_capacity_and_hasher(items.len(), IdHash::default());
    for (index, item) in items.iter().enumerate() {
        let id = id(item);
        if id.is_empty() {
            return Err(ContentError::MissingId { list, index });
        }
        if let Some(twice) = seen.replace(id) {
            return Err(ContentError::Duplicate { list, index, id: twice.into_owned() });
        }
    }
    Ok(())
}
