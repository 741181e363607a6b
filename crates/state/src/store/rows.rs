//! Rows of the store: reading, adding, removing. Secondary indexes are kept in step; the caller sets the table indexes.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use imbl::OrdSet;

use super::{DeploymentWrites, StateStore, seconds, thirds};
use crate::{AllocEntry, Id};
use encamp_model::capability::CapabilityLevel;
use encamp_model::*;

fn key(namespace: &str, id: &str) -> (String, String) {
    (namespace.to_string(), id.to_string())
}

fn key3(a: &str, b: &str, c: &str) -> (String, String, String) {
    (a.to_string(), b.to_string(), c.to_string())
}

// ---- evaluations
impl StateStore {
    /// The evaluation of that ID.
    pub fn eval(&self, id: &str) -> Option<&Arc<Evaluation>> {
        self.evals.get(&Id::new(id))
    }

    /// How many evaluations are stored.
    pub fn eval_count(&self) -> usize {
        self.evals.len()
    }

    /// All evaluations by ID, from `first` on.
    pub fn evals_from(&self, first: &str) -> impl Iterator<Item = &Arc<Evaluation>> {
        self.evals.range(Id::new(first)..).map(|(_, e)| e)
    }

    /// All evaluations by CreateIndex and ID; reversible.
    pub fn evals_by_create(&self) -> impl DoubleEndedIterator<Item = &Arc<Evaluation>> {
        self.evals_by_create.iter().filter_map(|(_, id)| self.evals.get(id))
    }

    /// The evaluations of a job by ID.
    pub fn evals_of_job<'a>(
        &'a self,
        namespace: &'a str,
        job_id: &'a str,
    ) -> impl Iterator<Item = &'a Arc<Evaluation>> {
        self.of_job(&self.evals_by_job, namespace, job_id)
    }

    /// The blocked evaluations of a job by ID.
    pub fn blocked_evals_of_job<'a>(
        &'a self,
        namespace: &'a str,
        job_id: &'a str,
    ) -> impl Iterator<Item = &'a Arc<Evaluation>> {
        self.of_job(&self.blocked_by_job, namespace, job_id)
    }

    fn of_job<'a>(
        &'a self,
        index: &'a OrdSet<(u64, Id)>,
        namespace: &'a str,
        job_id: &'a str,
    ) -> impl Iterator<Item = &'a Arc<Evaluation>> {
        let hash = job_hash(namespace, job_id);
        let of_job = index.range((hash, Id::default())..).take_while(move |(job, _)| *job == hash);
        let of_job = of_job.filter_map(|(_, id)| self.evals.get(id));
        of_job.filter(move |e| e.job_id == *job_id && e.namespace == *namespace)
    }

    /// Adds or replaces an evaluation.
    pub fn put_eval(&mut self, eval: Arc<Evaluation>) {
        let id = Id::new(&eval.id);
        match self.evals.insert(id.clone(), eval.clone()) {
            Some(old) if same_place(&old, &eval) => return,
            Some(old) => self.forget_place(&id, &old),
            None => {}
        }
        let job = job_hash(&eval.namespace, &eval.job_id);
        self.evals_by_create.insert((eval.create_index, id.clone()));
        if eval.status == EvalStatus::Blocked {
            self.blocked_by_job.insert((job, id.clone()));
        }
        self.evals_by_job.insert((job, id));
    }

    /// Removes an evaluation.
    pub fn remove_eval(&mut self, id: &str) -> Option<Arc<Evaluation>> {
        let id = Id::new(id);
        let old = self.evals.remove(&id)?;
        self.forget_place(&id, &old);
        Some(old)
    }

    fn forget_place(&mut self, id: &Id, eval: &Evaluation) {
        let job = (job_hash(&eval.namespace, &eval.job_id), id.clone());
        self.evals_by_create.remove(&(eval.create_index, id.clone()));
        self.evals_by_job.remove(&job);
        self.blocked_by_job.remove(&job);
    }
}

/// The same number for all evaluations of a job; hardly ever that of another job.
fn job_hash(namespace: &str, job_id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (namespace, job_id).hash(&mut hasher);
    hasher.finish()
}

/// Whether two records of an evaluation are found in the same way.
fn same_place(a: &Evaluation, b: &Evaluation) -> bool {
    a.create_index == b.create_index
        && a.job_id == b.job_id
        && a.namespace == b.namespace
        && (a.status == EvalStatus::Blocked) == (b.status == EvalStatus::Blocked)
}

// ---- allocations and deployments
impl StateStore {
    /// All allocations by ID, from `first` on.
    pub fn allocs_from(&self, first: &str) -> impl Iterator<Item = &Arc<AllocEntry>> {
        self.state.allocs_from(first)
    }

    /// All allocations by CreateIndex and ID; reversible.
    pub fn allocs_by_create(&self) -> impl DoubleEndedIterator<Item = &Arc<AllocEntry>> {
        self.allocs_by_create.iter().filter_map(|(_, id)| self.state.alloc_at(id))
    }

    /// How many allocations are stored.
    pub fn alloc_count(&self) -> usize {
        self.state.alloc_count()
    }

    /// The allocations made or last changed for an evaluation, by ID.
    pub fn allocs_of_eval<'a>(&'a self, eval_id: &'a str) -> impl Iterator<Item = &'a Arc<AllocEntry>> {
        seconds(&self.allocs_by_eval, eval_id).filter_map(|id| self.state.alloc_at(id))
    }

    /// The allocations of a deployment, by ID.
    pub fn allocs_of_deployment<'a>(&'a self, id: &'a str) -> impl Iterator<Item = &'a Arc<AllocEntry>> {
        seconds(&self.allocs_by_deployment, id).filter_map(|id| self.state.alloc_at(id))
    }

    /// The newest writes to allocations of a deployment.
    pub fn deployment_writes(&self, id: &str) -> DeploymentWrites {
        self.deployment_writes.get(&Id::new(id)).copied().unwrap_or_default()
    }

    pub(super) fn note_deployment_writes(&mut self, allocs: &[Arc<Allocation>]) {
        let mut newest: HashMap<&str, DeploymentWrites> = HashMap::new();
        for a in allocs.iter().filter(|a| !a.deployment_id.is_empty()) {
            let w = newest.entry(&a.deployment_id).or_default();
            w.any = w.any.max(a.modify_index);
            let healthy = a.deployment_status.as_ref().filter(|s| s.healthy == Some(true));
            w.healthy = w.healthy.max(healthy.map_or(0, |s| s.modify_index));
        }
        for (id, w) in newest {
            let old = self.deployment_writes(id);
            let new = DeploymentWrites { any: old.any.max(w.any), healthy: old.healthy.max(w.healthy) };
            if new != old {
                self.deployment_writes.insert(Id::new(id), new);
            }
        }
    }

    /// Adds or replaces allocations.
    pub fn put_allocs(&mut self, allocs: Vec<Arc<Allocation>>) {
        self.note_deployment_writes(&allocs);
        let StateStore { state, allocs_by_create, allocs_by_eval, allocs_by_deployment, .. } = self;
        Arc::make_mut(state).upsert_each(allocs, |id, old, new| {
            if old.is_none() {
                allocs_by_create.insert((new.create_index, id.clone()));
            }
            let change = |of: fn(&Allocation) -> &str, set: &mut OrdSet<(Id, Id)>| {
                let (before, now) = (old.map_or("", of), of(new));
                if before == now {
                    return;
                }
                if !before.is_empty() {
                    set.remove(&(Id::new(before), id.clone()));
                }
                if !now.is_empty() {
                    set.insert((Id::new(now), id.clone()));
                }
            };
            change(|a| &a.eval_id, allocs_by_eval);
            change(|a| &a.deployment_id, allocs_by_deployment);
        });
    }

    /// Removes allocations; gives those that were stored.
    pub fn remove_allocs<'a>(&mut self, ids: impl IntoIterator<Item = &'a str>) -> Vec<Arc<Allocation>> {
        let removed = self.state_mut().remove_allocs(ids);
        for a in &removed {
            let id = Id::new(&a.id);
            self.allocs_by_create.remove(&(a.create_index, id.clone()));
            self.allocs_by_eval.remove(&(Id::new(&a.eval_id), id.clone()));
            self.allocs_by_deployment.remove(&(Id::new(&a.deployment_id), id));
        }
        removed
    }

    /// All deployments by CreateIndex and ID; reversible.
    pub fn deployments_by_create(&self) -> impl DoubleEndedIterator<Item = &Arc<Deployment>> {
        self.deployments_by_create.iter().filter_map(|(_, id)| self.state.deployment(id))
    }

    /// Adds or replaces a deployment.
    pub fn put_deployment(&mut self, d: Arc<Deployment>) {
        self.deployments_by_create.insert((d.create_index, d.id.clone()));
        self.state_mut().upsert_deployment(d);
    }

    /// Removes a deployment.
    pub fn remove_deployment(&mut self, id: &str) -> Option<Arc<Deployment>> {
        self.deployment_writes.remove(&Id::new(id));
        let old = self.state_mut().remove_deployment(id)?;
        self.deployments_by_create.remove(&(old.create_index, old.id.clone()));
        Some(old)
    }
}

// ---- nodes, pools, namespaces, configuration
impl StateStore {
    /// Adds or replaces a node.
    pub fn put_node(&mut self, node: Arc<Node>) {
        self.state_mut().upsert_node(node);
    }

    /// Replaces a node of which nothing changed that placements depend on (`State::replace_node_record`).
    pub fn replace_node_record(&mut self, node: Arc<Node>) {
        self.state_mut().replace_node_record(node);
    }

    /// Removes a node.
    pub fn remove_node(&mut self, id: &str) -> Option<Arc<Node>> {
        self.state_mut().remove_node(id)
    }

    /// Adds or replaces a pool.
    pub fn put_node_pool(&mut self, pool: Arc<NodePool>) {
        self.state_mut().upsert_node_pool(pool);
    }

    /// Removes a pool.
    pub fn remove_node_pool(&mut self, name: &str) -> Option<Arc<NodePool>> {
        self.state_mut().remove_node_pool(name)
    }

    /// Adds or replaces a namespace.
    pub fn put_namespace(&mut self, ns: Arc<Namespace>) {
        self.state_mut().upsert_namespace(ns);
    }

    /// Removes a namespace.
    pub fn remove_namespace(&mut self, name: &str) -> Option<Arc<Namespace>> {
        self.state_mut().remove_namespace(name)
    }

    /// Stores the scheduler configuration.
    pub fn set_scheduler_config(&mut self, config: Arc<SchedulerConfiguration>) {
        self.state_mut().set_scheduler_config(config);
    }

    /// The autopilot configuration, if one was written.
    pub fn autopilot(&self) -> Option<&Arc<AutopilotConfiguration>> {
        self.autopilot.as_ref()
    }

    /// Stores the autopilot configuration.
    pub fn set_autopilot(&mut self, config: Arc<AutopilotConfiguration>) {
        self.autopilot = Some(config);
    }

    /// The identity of the cluster, once it was written.
    pub fn cluster_metadata(&self) -> Option<&Arc<ClusterMetadata>> {
        self.cluster_metadata.as_ref()
    }

    /// The capability level of the cluster.
    pub fn capability_level(&self) -> CapabilityLevel {
        self.capability_level.unwrap_or(CapabilityLevel::FIRST)
    }

    /// Raises the capability level of the cluster; a lower one than before changes nothing.
    pub fn raise_capability_level(&mut self, level: CapabilityLevel) {
        self.capability_level = self.capability_level.max(Some(level));
    }

    /// Stores the identity of the cluster.
    pub fn set_cluster_metadata(&mut self, meta: Arc<ClusterMetadata>) {
        self.cluster_metadata = Some(meta);
    }
}

// ---- the keyring
impl StateStore {
    /// A root key.
    pub fn root_key(&self, id: &str) -> Option<&Arc<WrappedRootKey>> {
        self.root_keys.get(id)
    }

    /// All root keys by ID.
    pub fn root_keys(&self) -> impl Iterator<Item = &Arc<WrappedRootKey>> {
        self.root_keys.values()
    }

    /// The root key that encrypts and signs.
    pub fn active_root_key(&self) -> Option<&Arc<WrappedRootKey>> {
        self.root_keys().find(|k| k.meta.state == RootKeyState::Active)
    }

    /// Adds or replaces a root key.
    pub fn put_root_key(&mut self, key: Arc<WrappedRootKey>) {
        self.root_keys.insert(key.meta.key_id.clone(), key);
    }

    /// Removes a root key.
    pub fn remove_root_key(&mut self, id: &str) -> Option<Arc<WrappedRootKey>> {
        self.root_keys.remove(id)
    }
}

// ---- jobs and what hangs off them
impl StateStore {
    /// Stores a version of a job.
    pub fn put_job(&mut self, job: Arc<Job>) {
        if !job.parent_id.is_empty() {
            self.children.insert(key3(&job.namespace, &job.parent_id, &job.id));
        }
        self.state_mut().upsert_job(job);
    }

    /// Removes a job with all its versions.
    pub fn remove_job(&mut self, namespace: &str, id: &str) -> Option<Arc<Job>> {
        let old = self.state_mut().remove_job(namespace, id)?.current.clone();
        self.children.remove(&key3(namespace, &old.parent_id, id));
        Some(old)
    }

    /// Removes a version of a job that is not the current one.
    pub fn remove_job_version(&mut self, namespace: &str, id: &str, version: u64) -> Option<Arc<Job>> {
        self.state_mut().remove_job_version(namespace, id, version)
    }

    /// The jobs launched or dispatched from a job, by ID.
    pub fn children<'a>(&'a self, namespace: &'a str, parent: &'a str) -> impl Iterator<Item = &'a Arc<Job>> {
        thirds(&self.children, namespace, parent).filter_map(move |id| self.state.job(namespace, id))
    }

    /// The counts of a job.
    pub fn summary(&self, namespace: &str, job_id: &str) -> Option<&Arc<JobSummary>> {
        self.summaries.get(&key(namespace, job_id))
    }

    /// The counts of all jobs, by namespace and job ID.
    pub fn summaries(&self) -> impl Iterator<Item = &Arc<JobSummary>> {
        self.summaries.values()
    }

    /// Stores the counts of a job.
    pub fn put_summary(&mut self, s: Arc<JobSummary>) {
        self.summaries.insert(key(&s.namespace, &s.job_id), s);
    }

    /// Removes the counts of a job.
    pub fn remove_summary(&mut self, namespace: &str, job_id: &str) -> Option<Arc<JobSummary>> {
        self.summaries.remove(&key(namespace, job_id))
    }

    /// The source of a job version.
    pub fn submission(&self, namespace: &str, job_id: &str, version: u64) -> Option<&Arc<JobSubmission>> {
        self.submissions.get(&(namespace.to_string(), job_id.to_string(), version))
    }

    /// The sources of a job, by version.
    pub fn submissions<'a>(
        &'a self,
        namespace: &'a str,
        job_id: &'a str,
    ) -> impl Iterator<Item = &'a Arc<JobSubmission>> {
        let start = (namespace.to_string(), job_id.to_string(), 0);
        let range = self.submissions.range(start..);
        range.take_while(move |((ns, id, _), _)| ns == namespace && id == job_id).map(|(_, s)| s)
    }

    /// The sources of all jobs.
    pub fn all_submissions(&self) -> impl Iterator<Item = &Arc<JobSubmission>> {
        self.submissions.values()
    }

    /// Stores the source of a job version.
    pub fn put_submission(&mut self, s: Arc<JobSubmission>) {
        self.submissions.insert((s.namespace.clone(), s.job_id.clone(), s.version), s);
    }

    /// Removes the source of a job version.
    pub fn remove_submission(&mut self, namespace: &str, job_id: &str, version: u64) -> Option<Arc<JobSubmission>> {
        self.submissions.remove(&(namespace.to_string(), job_id.to_string(), version))
    }

    /// The last launch of a periodic job.
    pub fn launch(&self, namespace: &str, job_id: &str) -> Option<&Arc<PeriodicLaunch>> {
        self.launches.get(&key(namespace, job_id))
    }

    /// All last launches.
    pub fn launches(&self) -> impl Iterator<Item = &Arc<PeriodicLaunch>> {
        self.launches.values()
    }

    /// Stores the last launch of a periodic job.
    pub fn put_launch(&mut self, l: Arc<PeriodicLaunch>) {
        self.launches.insert(key(&l.namespace, &l.id), l);
    }

    /// Forgets the last launch of a periodic job.
    pub fn remove_launch(&mut self, namespace: &str, job_id: &str) -> Option<Arc<PeriodicLaunch>> {
        self.launches.remove(&key(namespace, job_id))
    }

    /// The scaling policy of that ID.
    pub fn scaling_policy(&self, id: &str) -> Option<&Arc<ScalingPolicy>> {
        self.scaling_policies.get(id)
    }

    /// All scaling policies by ID.
    pub fn scaling_policies(&self) -> impl Iterator<Item = &Arc<ScalingPolicy>> {
        self.scaling_policies.values()
    }

    /// The scaling policies of a job, by ID.
    pub fn scaling_policies_of_job<'a>(
        &'a self,
        namespace: &'a str,
        job_id: &'a str,
    ) -> impl Iterator<Item = &'a Arc<ScalingPolicy>> {
        thirds(&self.scaling_policies_by_job, namespace, job_id).filter_map(|id| self.scaling_policies.get(id))
    }

    /// Adds or replaces a scaling policy.
    pub fn put_scaling_policy(&mut self, p: Arc<ScalingPolicy>) {
        self.remove_scaling_policy(&p.id);
        self.scaling_policies_by_job.insert(policy_key(&p));
        self.scaling_policies.insert(p.id.clone(), p);
    }

    /// Removes a scaling policy.
    pub fn remove_scaling_policy(&mut self, id: &str) -> Option<Arc<ScalingPolicy>> {
        let old = self.scaling_policies.remove(id)?;
        self.scaling_policies_by_job.remove(&policy_key(&old));
        Some(old)
    }

    /// The scaling events of a job.
    pub fn scaling_events(&self, namespace: &str, job_id: &str) -> Option<&Arc<JobScalingEvents>> {
        self.scaling_events.get(&key(namespace, job_id))
    }

    /// The scaling events of all jobs.
    pub fn all_scaling_events(&self) -> impl Iterator<Item = &Arc<JobScalingEvents>> {
        self.scaling_events.values()
    }

    /// Stores the scaling events of a job.
    pub fn put_scaling_events(&mut self, e: Arc<JobScalingEvents>) {
        self.scaling_events.insert(key(&e.namespace, &e.job_id), e);
    }

    /// Forgets the scaling events of a job.
    pub fn remove_scaling_events(&mut self, namespace: &str, job_id: &str) -> Option<Arc<JobScalingEvents>> {
        self.scaling_events.remove(&key(namespace, job_id))
    }
}

fn policy_key(p: &ScalingPolicy) -> (String, String, String) {
    let part = |name: &str| p.target.get(name).cloned().unwrap_or_default();
    (part("Namespace"), part("Job"), p.id.clone())
}

// ---- services and volumes
impl StateStore {
    /// A registered service.
    pub fn service(&self, namespace: &str, id: &str) -> Option<&Arc<ServiceRegistration>> {
        self.services.get(&key(namespace, id))
    }

    /// All registered services by namespace and ID.
    pub fn services(&self) -> impl Iterator<Item = &Arc<ServiceRegistration>> {
        self.services.values()
    }

    /// The registrations of a service, by ID.
    pub fn services_named<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
    ) -> impl Iterator<Item = &'a Arc<ServiceRegistration>> {
        thirds(&self.services_by_name, namespace, name).filter_map(move |id| self.service(namespace, id))
    }

    /// The registrations of an allocation.
    pub fn services_of_alloc<'a>(&'a self, alloc_id: &'a str) -> impl Iterator<Item = &'a Arc<ServiceRegistration>> {
        let start = (alloc_id.to_string(), String::new(), String::new());
        let range = self.services_by_alloc.range(start..).take_while(move |(a, _, _)| a == alloc_id);
        range.filter_map(|(_, ns, id)| self.service(ns, id))
    }

    /// Adds or replaces a registration.
    pub fn put_service(&mut self, s: Arc<ServiceRegistration>) {
        self.remove_service(&s.namespace, &s.id);
        self.services_by_name.insert(key3(&s.namespace, &s.service_name, &s.id));
        self.services_by_alloc.insert(key3(&s.alloc_id, &s.namespace, &s.id));
        self.services.insert(key(&s.namespace, &s.id), s);
    }

    /// Removes a registration.
    pub fn remove_service(&mut self, namespace: &str, id: &str) -> Option<Arc<ServiceRegistration>> {
        let old = self.services.remove(&key(namespace, id))?;
        self.services_by_name.remove(&key3(namespace, &old.service_name, id));
        self.services_by_alloc.remove(&key3(&old.alloc_id, namespace, id));
        Some(old)
    }

    /// The CSI plugin of that ID.
    pub fn csi_plugin(&self, id: &str) -> Option<&Arc<CsiPlugin>> {
        self.csi_plugins.get(id)
    }

    /// All CSI plugins by ID.
    pub fn csi_plugins(&self) -> impl Iterator<Item = &Arc<CsiPlugin>> {
        self.csi_plugins.values()
    }

    /// Adds or replaces a CSI plugin.
    pub fn put_csi_plugin(&mut self, p: Arc<CsiPlugin>) {
        self.csi_plugins.insert(p.id.clone(), p);
    }

    /// Removes a CSI plugin.
    pub fn remove_csi_plugin(&mut self, id: &str) -> Option<Arc<CsiPlugin>> {
        self.csi_plugins.remove(id)
    }

    /// Removes a CSI volume.
    pub fn remove_csi_volume(&mut self, namespace: &str, id: &str) -> Option<Arc<CsiVolume>> {
        self.state_mut().remove_csi_volume(namespace, id)
    }

    /// Adds or replaces a CSI volume.
    pub fn put_csi_volume(&mut self, v: Arc<CsiVolume>) {
        self.state_mut().upsert_csi_volume(v);
    }

    /// Adds or replaces a dynamic host volume.
    pub fn put_host_volume(&mut self, v: Arc<HostVolume>) {
        self.state_mut().upsert_host_volume(v);
    }

    /// Removes a dynamic host volume.
    pub fn remove_host_volume(&mut self, id: &str) -> Option<Arc<HostVolume>> {
        self.state_mut().remove_host_volume(id)
    }

    /// Adds or replaces a claim on a host volume.
    pub fn put_host_volume_claim(&mut self, c: Arc<TaskGroupHostVolumeClaim>) {
        self.state_mut().upsert_host_volume_claim(c);
    }

    /// Removes a claim on a host volume.
    pub fn remove_host_volume_claim(&mut self, id: &str) -> Option<Arc<TaskGroupHostVolumeClaim>> {
        self.state_mut().remove_host_volume_claim(id)
    }
}
