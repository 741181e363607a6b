//! Deployments of system jobs (`docs/spec/reconciliation.md §9.2, 9.4`).

use std::sync::Arc;

use crate::candidates::ReadyNodes;
use encamp_model::version::Version;
use encamp_model::*;
use encamp_state::State;
use encamp_state::index::client_version;

/// The oldest release whose clients take part in deployments of system jobs.
const MIN_CLIENT_VERSION: &str = "1.11.0";

/// The job's deployments while its nodes are gone through.
pub(crate) struct DeploymentTracker<'a> {
    /// Absent when the job is gone.
    job: Option<&'a Job>,
    stopped: bool,
    now: i64,
    new_id: &'a mut dyn FnMut() -> String,
    /// The deployment of the current job version, or one that is mistaken for it.
    pub current: Option<Deployment>,
    old: Option<Deployment>,
    /// Status changes to plan.
    pub updates: Vec<DeploymentStatusUpdate>,
    had_none: bool,
    same_version: bool,
    enabled: bool,
}

/// The update strategy of a group, unless it does nothing.
pub(crate) fn update_strategy(group: &TaskGroup) -> Option<&UpdateStrategy> {
    group.update.as_ref().filter(|u| !u.is_empty())
}

/// A status change of a deployment.
pub(crate) fn status_update(d: &Deployment, status: DeploymentStatus, description: &str) -> DeploymentStatusUpdate {
    DeploymentStatusUpdate { deployment_id: d.id.clone(), status, status_description: description.into() }
}

impl<'a> DeploymentTracker<'a> {
    /// Starts with the latest deployment of the job. Sysbatch jobs have none and get none: `enabled` is false.
    pub(crate) fn new(
        job: Option<&'a Job>,
        latest: Option<&Arc<Deployment>>,
        enabled: bool,
        now: i64,
        new_id: &'a mut dyn FnMut() -> String,
    ) -> DeploymentTracker<'a> {
        let current = latest.filter(|_| enabled).map(|d| Deployment::clone(d));
        DeploymentTracker {
            job,
            stopped: job.is_none_or(|j| j.stop),
            now,
            new_id,
            had_none: current.is_none(),
            current,
            old: None,
            updates: Vec::new(),
            same_version: false,
            enabled,
        }
    }

    /// Tells old deployments from the current one. Done for every node, so a stopped job cancels its deployment once
    /// per node. A failed or cancelled deployment of an older version stays current.
    pub(crate) fn triage(&mut self) {
        let Some(d) = &self.current else { return };
        if self.stopped {
            if d.active() {
                self.updates.push(status_update(d, DeploymentStatus::Cancelled, "Cancelled because job is stopped"));
            }
            return;
        }
        let Some(job) = self.job else { return };
        if d.active() && (d.job_version != job.version || d.job_create_index != job.create_index) {
            self.updates.push(status_update(d, DeploymentStatus::Cancelled, "Cancelled due to newer version of job"));
            self.old = self.current.take();
        } else if d.status == DeploymentStatus::Successful {
            self.old = self.current.take();
        }
    }

    /// An allocation that is left alone makes a job that never had a deployment do without one.
    pub(crate) fn same_version_seen(&mut self) {
        self.same_version = true;
    }

    /// Whether destructive updates of the group may be canaries.
    pub(crate) fn wants_canaries(&self, group: &TaskGroup) -> bool {
        if update_strategy(group).is_none_or(|u| u.canary <= 0) {
            return false;
        }
        match &self.current {
            None => true,
            Some(d) => d.task_groups.get(&group.name).is_some_and(|s| s.as_ref().is_some_and(|s| !s.promoted)),
        }
    }

    /// Makes sure that a deployment covers the group, if one is due because of what is on this node.
    pub(crate) fn ensure<'b, T: Iterator<Item = &'b Arc<Allocation>>>(
        &mut self,
        group: &TaskGroup,
        updating: bool,
        live: &[&Arc<Allocation>],
        terminal: impl FnOnce() -> T,
    ) {
        let (Some(job), Some(strategy), true) = (self.job, update_strategy(group), self.enabled) else { return };
        if let Some(d) = &self.current
            && (d.task_groups.contains_key(&group.name)
                || matches!(d.status, DeploymentStatus::Paused | DeploymentStatus::Failed))
        {
            return;
        }
        if self.old.as_ref().is_some_and(|d| d.job_version == job.version) {
            return;
        }
        let this_version = |a: &Arc<Allocation>| {
            a.job_id == job.id
                && a.job.as_ref().is_some_and(|j| j.version == job.version && j.create_index == job.create_index)
        };
        let live_had = live.iter().any(|a| this_version(a));
        self.same_version |= live_had;
        if (live_had || terminal().any(this_version)) && !updating {
            return;
        }
        let state = DeploymentState {
            auto_revert: strategy.auto_revert,
            auto_promote: strategy.auto_promote,
            progress_deadline: strategy.progress_deadline,
            ..Default::default()
        };
        let (new_id, updates, now) = (&mut self.new_id, &mut self.updates, self.now);
        let current = self.current.get_or_insert_with(|| {
            let d = new_deployment(job, job.priority, new_id(), now);
            updates.push(status_update(&d, DeploymentStatus::Running, "Deployment is running"));
            d
        });
        current.task_groups.insert(group.name.clone(), Some(state));
    }

    /// Takes a first deployment back that must not be: something of the job's version runs already, or a client is
    /// too old to report health.
    pub(crate) fn finish(&mut self, state: &State, ready: &ReadyNodes) {
        if self.current.is_some() && self.had_none && (self.same_version || has_old_client(state, ready)) {
            self.current = None;
            self.updates.clear();
        }
    }
}

/// A running deployment of the job without groups.
fn new_deployment(job: &Job, priority: i64, id: String, now: i64) -> Deployment {
    Deployment {
        id,
        namespace: job.namespace.clone(),
        job_id: job.id.clone(),
        job_version: job.version,
        job_modify_index: job.modify_index,
        job_spec_modify_index: job.job_modify_index,
        job_create_index: job.create_index,
        status: DeploymentStatus::Running,
        status_description: "Deployment is running".into(),
        eval_priority: priority,
        create_time: now,
        modify_time: now,
        ..Default::default()
    }
}

/// Whether a ready node runs a client that is too old for deployments of system jobs.
fn has_old_client(state: &State, ready: &ReadyNodes) -> bool {
    let Some(min) = Version::parse(MIN_CLIENT_VERSION) else { return false };
    let old = |v: &str| Version::parse(v).is_some_and(|v| v < min);
    // Nodes run few releases: look at the nodes only if any of them is old.
    let versions: Vec<&str> =
        state.node_index().client_versions().iter().map(String::as_str).filter(|v| old(v)).collect();
    if versions.is_empty() {
        return false;
    }
    let mut nodes = ready.slots.iter().filter_map(|slot| state.node_at(*slot));
    nodes.any(|n| versions.contains(&client_version(&n.node)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::ready_nodes;

    fn job(version: u64) -> Job {
        let update = Some(UpdateStrategy { max_parallel: 1, canary: 50, ..Default::default() });
        let group = TaskGroup { name: "g".into(), count: 1, update, ..Default::default() };
        Job { id: "j".into(), version, priority: 70, task_groups: vec![group], ..Default::default() }
    }

    fn stored(version: u64, status: DeploymentStatus) -> Arc<Deployment> {
        let state = Some(DeploymentState::default());
        let task_groups = [("g".to_string(), state)].into();
        Arc::new(Deployment { id: "d".into(), job_version: version, status, task_groups, ..Default::default() })
    }

    /// Runs the tracker over two empty nodes; returns current deployment and status changes.
    fn track(
        job: &Job,
        latest: Option<Arc<Deployment>>,
        state: &State,
        seen: bool,
    ) -> (Option<Deployment>, Vec<DeploymentStatusUpdate>) {
        let mut new_id = || "new".to_string();
        let mut t = DeploymentTracker::new(Some(job), latest.as_ref(), true, 0, &mut new_id);
        for _ in 0..2 {
            t.triage();
            if seen {
                t.same_version_seen();
            }
            for g in &job.task_groups {
                t.ensure(g, false, &[], std::iter::empty);
            }
        }
        t.finish(state, &ready_nodes(state, &["dc1".into()], ""));
        (t.current, t.updates)
    }

    #[test]
    fn a_new_version_cancels_the_old_deployment_and_gets_its_own() {
        let (current, updates) = track(&job(1), Some(stored(0, DeploymentStatus::Running)), &State::new(), true);
        assert_eq!(current.map(|d| (d.id, d.eval_priority, d.task_groups.len())), Some(("new".into(), 70, 1)));
        let got: Vec<_> = updates.iter().map(|u| (u.deployment_id.as_str(), u.status.clone())).collect();
        assert_eq!(got, [("d", DeploymentStatus::Cancelled), ("new", DeploymentStatus::Running)]);
    }

    #[test]
    fn a_failed_deployment_of_an_older_version_stays_current() {
        let (current, updates) = track(&job(1), Some(stored(0, DeploymentStatus::Failed)), &State::new(), false);
        assert_eq!(current.map(|d| d.id), Some("d".into()));
        assert!(updates.is_empty());
    }

    #[test]
    fn a_stopped_job_cancels_once_per_node() {
        let stopped = Job { stop: true, task_groups: Vec::new(), ..job(0) };
        let (_, updates) = track(&stopped, Some(stored(0, DeploymentStatus::Running)), &State::new(), false);
        assert_eq!(updates.len(), 2);
    }

    #[test]
    fn a_first_deployment_is_taken_back() {
        let ready = |version: &str| {
            let mut state = State::new();
            for v in ["2.0.5", version] {
                state.upsert_node(Arc::new(Node {
                    id: v.into(),
                    datacenter: "dc1".into(),
                    status: NodeStatus::Ready,
                    scheduling_eligibility: NodeEligibility::Eligible,
                    attributes: [("nomad.version".to_string(), v.to_string())].into(),
                    ..Default::default()
                }));
            }
            state
        };
        let made = |state: &State, seen| track(&job(0), None, state, seen).0.is_some();
        assert!(made(&ready("1.11.0"), false));
        assert!(!made(&ready("1.11.0"), true), "an allocation of this version runs already");
        assert!(!made(&ready("1.10.9"), false), "an old client");
        assert!(track(&job(1), Some(stored(0, DeploymentStatus::Successful)), &ready("1.10.9"), true).0.is_some());
    }

    #[test]
    fn canaries_are_wanted_until_promotion() {
        let wants = |latest: Option<Arc<Deployment>>| {
            let mut new_id = String::new;
            let job = job(1);
            DeploymentTracker::new(Some(&job), latest.as_ref(), true, 0, &mut new_id)
                .wants_canaries(&job.task_groups[0])
        };
        assert!(wants(None));
        assert!(wants(Some(stored(1, DeploymentStatus::Running))));
        let mut promoted = Deployment::clone(&stored(1, DeploymentStatus::Running));
        promoted.task_groups.values_mut().flatten().for_each(|s| s.promoted = true);
        assert!(!wants(Some(Arc::new(promoted))));
    }
}
