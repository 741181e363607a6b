//! The effect of a drain on allocations (`docs/spec/server.md §12.3`, `§12.4`).

use std::sync::Arc;

use encamp_model::*;
use encamp_state::StateStore;

/// The job of an allocation: the version it was placed with, else the stored one.
pub fn job_of<'a>(store: &'a StateStore, alloc: &'a Allocation) -> Option<&'a Arc<Job>> {
    alloc.job.as_ref().or_else(|| store.state().job(&alloc.namespace, &alloc.job_id))
}

fn is_plugin(job: &Job) -> bool {
    job.task_groups.iter().flat_map(|g| &g.tasks).any(|t| t.csi_plugin_config.is_some())
}

/// Whether a drain waits for an allocation to end: not for those of system jobs and of jobs that run storage plugins,
/// which other allocations may need until the end.
fn awaited(store: &StateStore, alloc: &Allocation) -> bool {
    job_of(store, alloc).is_none_or(|j| j.r#type != JobType::System && !is_plugin(j))
}

/// The jobs that have to leave a node, sorted.
pub(crate) fn jobs_on(store: &StateStore, node_id: &str) -> Vec<JobKey> {
    let on_node = store.state().allocs_of_node(node_id);
    let leaving = on_node.iter().map(|e| &e.alloc).filter(|a| !a.terminal() && awaited(store, a));
    let mut jobs: Vec<JobKey> = leaving.map(|a| a.job_key()).collect();
    jobs.sort_unstable();
    jobs.dedup();
    jobs
}

/// Whether all allocations that a drain waits for have left the node.
pub(crate) fn is_done(store: &StateStore, node_id: &str) -> bool {
    store.state().allocs_of_node(node_id).iter().all(|e| e.phase.client_terminal() || !awaited(store, &e.alloc))
}

/// The allocations remaining on a node when its drain ends, which are then stopped.
pub fn remaining(store: &StateStore, node_id: &str, strategy: &DrainStrategy) -> Vec<Arc<Allocation>> {
    let stays =
        |a: &Allocation| strategy.ignore_system_jobs && job_of(store, a).is_some_and(|j| j.r#type == JobType::System);
    let on_node = store.state().allocs_of_node(node_id);
    on_node.iter().map(|e| &e.alloc).filter(|a| !a.terminal() && !stays(a)).cloned().collect()
}

/// The allocations of a job that may be migrated from their draining nodes now (`docs/spec/server.md §12.3`).
/// `draining` returns whether a node is draining, `chosen` whether an allocation was already chosen but not yet
/// written.
pub fn movable(
    store: &StateStore,
    key: &JobKey,
    draining: &dyn Fn(&str) -> bool,
    chosen: &dyn Fn(&str) -> bool,
) -> Vec<Arc<Allocation>> {
    let Some(job) = store.state().job(&key.namespace, &key.id).filter(|j| j.r#type == JobType::Service) else {
        return vec![];
    };
    let allocs = store.state().allocs_of_job(&key.namespace, &key.id);
    let mut out = Vec::new();
    for group in &job.task_groups {
        let Some(migrate) = &group.migrate else { continue };
        let mut healthy: i64 = 0;
        let mut leaving = Vec::new();
        for a in allocs.iter().map(|e| &e.alloc).filter(|a| a.task_group == group.name) {
            let marked = a.desired_transition.should_migrate() || chosen(&a.id);
            if !a.terminal() && a.health().is_some() && !marked {
                healthy += 1;
            }
            if draining(&a.node_id) && !a.client_terminal() && !marked {
                leaving.push(a);
            }
        }
        let spare = healthy - group.count.saturating_sub(migrate.max_parallel);
        out.extend(leaving.into_iter().take(usize::try_from(spare).unwrap_or(0)).cloned());
    }
    out
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) const DRAINING: &str = "n1";

    pub(crate) fn job(id: &str, r#type: JobType, count: i64, max_parallel: i64) -> Arc<Job> {
        let migrate = (r#type == JobType::Service).then(|| MigrateStrategy { max_parallel, ..Default::default() });
        let group = TaskGroup { name: "g".into(), count, migrate, ..Default::default() };
        Arc::new(Job {
            id: id.into(),
            namespace: "default".into(),
            r#type,
            priority: 50,
            task_groups: vec![group],
            ..Default::default()
        })
    }

    pub(crate) fn alloc(id: &str, job: &Arc<Job>, node: &str) -> Allocation {
        Allocation {
            id: id.into(),
            namespace: Text::from(&job.namespace),
            job_id: Text::from(&job.id),
            job: Some(job.clone()),
            task_group: "g".into(),
            node_id: node.into(),
            desired_status: DesiredStatus::Run,
            client_status: ClientStatus::Running,
            ..Default::default()
        }
    }

    pub(crate) fn healthy(a: Allocation) -> Allocation {
        Allocation {
            deployment_status: Some(Box::new(AllocDeploymentStatus { healthy: Some(true), ..Default::default() })),
            ..a
        }
    }

    pub(crate) fn marked(mut a: Allocation) -> Allocation {
        a.desired_transition.migrate = Some(true);
        a
    }

    pub(crate) fn store(jobs: &[&Arc<Job>], allocs: Vec<Allocation>) -> StateStore {
        let mut s = StateStore::new();
        for id in [DRAINING, "n2"] {
            s.put_node(Arc::new(Node { id: id.into(), status: NodeStatus::Ready, ..Default::default() }));
        }
        jobs.iter().for_each(|j| s.put_job((*j).clone()));
        s.put_allocs(allocs.into_iter().map(Arc::new).collect());
        s
    }

    fn moved(job: &Arc<Job>, allocs: Vec<Allocation>) -> usize {
        let s = store(&[job], allocs);
        let key = job.key();
        movable(&s, &key, &|n| n == DRAINING, &|id| id.starts_with("chosen")).len()
    }

    /// `n` running allocations on a node, not yet healthy; the tests vary them.
    fn many(job: &Arc<Job>, kind: &str, n: usize, node: &str) -> Vec<Allocation> {
        (0..n).map(|i| alloc(&format!("{kind}{i}"), job, node)).collect()
    }

    #[test]
    fn the_table_of_the_specification() {
        let on = DRAINING;
        for (what, max_parallel, fine, already, unready, want) in [
            ("10 healthy, 1 at a time", 1, 10, 0, 0, 1),
            ("10 healthy, 2 at a time", 2, 10, 0, 0, 2),
            ("10 healthy, 10 at a time", 10, 10, 0, 0, 10),
            ("one is being migrated", 1, 9, 1, 0, 0),
            ("four of five are being migrated", 5, 6, 4, 0, 1),
            ("two replacements without health", 3, 8, 0, 2, 1),
            ("three without health", 5, 7, 0, 3, 2),
        ] {
            let j = job("j", JobType::Service, 10, max_parallel);
            let mut allocs: Vec<_> = many(&j, "fine", fine, on).into_iter().map(healthy).collect();
            allocs.extend(many(&j, "already", already, on).into_iter().map(healthy).map(marked));
            allocs.extend(many(&j, "unready", unready, "n2"));
            assert_eq!(moved(&j, allocs.clone()), want, "{what}");
            // An allocation that is chosen but not yet marked in the store counts as marked.
            for a in &mut allocs {
                if a.desired_transition.should_migrate() {
                    a.desired_transition = DesiredTransition::default();
                    a.id = format!("chosen-{}", a.id).into();
                }
            }
            assert_eq!(moved(&j, allocs), want, "{what}");
        }
    }

    #[test]
    fn which_allocations_count_and_which_are_migrated() {
        let j = job("j", JobType::Service, 2, 1);
        let fine = |id: &str, node: &str| healthy(alloc(id, &j, node));
        assert_eq!(moved(&j, vec![fine("a", DRAINING), fine("b", "n2")]), 1, "healthy wherever it runs");
        let mut unhealthy = fine("b", "n2");
        unhealthy.deployment_status.as_mut().unwrap().healthy = Some(false);
        assert_eq!(moved(&j, vec![fine("a", DRAINING), unhealthy]), 1, "any verdict counts");
        let ended = Allocation { client_status: ClientStatus::Complete, ..fine("b", "n2") };
        assert_eq!(moved(&j, vec![fine("a", DRAINING), ended]), 0);
        assert_eq!(moved(&j, vec![fine("a", "n2"), fine("b", "n2")]), 0, "no allocation is on a draining node");
        // Each group is counted separately.
        let other = Allocation { task_group: "other".into(), ..fine("b", "n2") };
        assert_eq!(moved(&j, vec![fine("a", DRAINING), other]), 0);
        for kind in [JobType::Batch, JobType::Sysbatch, JobType::System] {
            let j = job("j", kind, 1, 1);
            assert_eq!(moved(&j, vec![healthy(alloc("a", &j, DRAINING))]), 0, "{}", j.r#type);
        }
        let mut j = Job::clone(&job("j", JobType::Service, 1, 1));
        j.task_groups[0].migrate = None;
        let j = Arc::new(j);
        assert_eq!(moved(&j, vec![healthy(alloc("a", &j, DRAINING))]), 0, "no migrate block");
    }

    #[test]
    fn allocations_that_a_drain_waits_for() {
        let service = job("s", JobType::Service, 1, 1);
        let system = job("y", JobType::System, 1, 0);
        let sysbatch = job("sb", JobType::Sysbatch, 1, 0);
        let mut p = Job::clone(&job("p", JobType::Service, 1, 1));
        let task = Task { csi_plugin_config: Some(TaskCsiPluginConfig::default()), ..Default::default() };
        p.task_groups[0].tasks = vec![task];
        let plugin = Arc::new(p);
        let on = |j: &Arc<Job>| alloc(&j.id, j, DRAINING);
        let stopping = Allocation { desired_status: DesiredStatus::Stop, ..on(&service) };
        let ended = Allocation { client_status: ClientStatus::Failed, ..on(&service) };
        for (allocs, done, jobs) in [
            (vec![], true, vec![]),
            (vec![on(&service)], false, vec!["s"]),
            (vec![stopping], false, vec![]),
            (vec![ended], true, vec![]),
            (vec![on(&system), on(&plugin)], true, vec![]),
            (vec![on(&sysbatch), on(&plugin)], false, vec!["sb"]),
        ] {
            let s = store(&[&service, &system, &sysbatch, &plugin], allocs.clone());
            let found = jobs_on(&s, DRAINING);
            assert_eq!(is_done(&s, DRAINING), done, "{allocs:?}");
            assert_eq!(found.iter().map(|job| job.id.as_str()).collect::<Vec<_>>(), jobs);
        }
        let s = store(&[], vec![on(&service), on(&system), on(&plugin)]);
        let left = |ignore_system_jobs| {
            let strategy = DrainStrategy { ignore_system_jobs, ..Default::default() };
            remaining(&s, DRAINING, &strategy).iter().map(|a| a.id.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(left(false), ["p", "s", "y"]);
        assert_eq!(left(true), ["p", "s"]);
    }
}
