//! The progress of a system job's deployment, and which of its canaries stay (`docs/spec/reconciliation.md §9.4`).

use std::collections::{BTreeMap, HashSet};

use super::count;
use super::deployment::{status_update, update_strategy};
use super::reconcile::Entry;
use crate::candidates::ReadyNodes;
use crate::common::promotion_text;
use crate::working_plan::WorkingPlan;
use encamp_model::*;
use encamp_state::State;

/// Counts of one group.
#[derive(Debug, Default)]
pub(crate) struct GroupCounts {
    /// Nodes that can run the group.
    pub candidates: i64,
    /// Destructive updates on such nodes, made or not.
    pub destructive: i64,
    /// Canaries that are left alone.
    pub kept_canaries: Vec<String>,
    /// New canaries.
    planned: Vec<PlannedCanary>,
}

#[derive(Debug)]
struct PlannedCanary {
    id: String,
    node_id: String,
    previous: String,
}

/// The deployment of an attempt with the counts it is judged by.
pub(crate) struct Rollout<'a> {
    job: Option<&'a Job>,
    deployment: Option<Deployment>,
    updates: Vec<DeploymentStatusUpdate>,
    groups: BTreeMap<&'a str, GroupCounts>,
    /// Canaries that are to be replaced.
    replaced: HashSet<String>,
    /// How many of them are.
    replacements: i64,
}

impl<'a> Rollout<'a> {
    /// Starts with the deployment that is held and the status changes found so far.
    pub(crate) fn new(
        job: Option<&'a Job>,
        deployment: Option<Deployment>,
        updates: Vec<DeploymentStatusUpdate>,
    ) -> Rollout<'a> {
        Rollout { job, deployment, updates, groups: BTreeMap::new(), replaced: HashSet::new(), replacements: 0 }
    }

    /// ID of the deployment, empty without one.
    pub(crate) fn deployment_id(&self) -> &str {
        self.deployment.as_ref().map_or("", |d| &d.id)
    }

    /// ID of the deployment if it still goes on, else empty.
    pub(crate) fn active_deployment_id(&self) -> &str {
        self.deployment.as_ref().filter(|d| d.active()).map_or("", |d| &d.id)
    }

    /// The counts of a group.
    pub(crate) fn group(&mut self, name: &'a str) -> &mut GroupCounts {
        self.groups.entry(name).or_default()
    }

    /// Whether the allocation belongs to the deployment and has no verdict on its health yet.
    pub(crate) fn awaits_health(&self, alloc: &Allocation) -> bool {
        self.deployment.as_ref().is_some_and(|d| d.id == alloc.deployment_id) && alloc.health().is_none()
    }

    /// Remembers which canaries the placements replace.
    pub(crate) fn note_replaced_canaries(&mut self, list: &[Entry]) {
        let canaries = list.iter().filter_map(|e| e.alloc.as_ref()).filter(|a| a.is_canary());
        self.replaced.extend(canaries.map(|a| a.id.to_string()));
    }

    /// Counts a planned allocation.
    pub(crate) fn placed(&mut self, entry: &Entry<'a>, alloc: &Allocation) {
        if self.replaced.contains(&*alloc.previous_allocation) {
            self.replacements += 1;
        }
        if alloc.is_canary() {
            let planned = PlannedCanary {
                id: alloc.id.to_string(),
                node_id: alloc.node_id.to_string(),
                previous: alloc.previous_allocation.to_string(),
            };
            self.group(&entry.group.name).planned.push(planned);
        }
    }

    /// Corrects the plan and its counts for the deployment: totals, canaries that are too many, completion.
    pub(crate) fn finish(
        &mut self,
        plan: &mut WorkingPlan,
        cluster: &State,
        ready: &ReadyNodes,
        desired: &mut BTreeMap<String, DesiredUpdates>,
    ) {
        for (name, g) in &self.groups {
            if let Ok(n) = u64::try_from(g.candidates) {
                count(desired, name).place = n;
            }
        }
        let Some(mut d) = self.deployment.take() else { return };
        let mut complete = true;
        let job = self.job;
        for group in job.iter().flat_map(|j| &j.task_groups) {
            complete &= self.finish_group(group, &mut d, plan, cluster, ready, desired);
        }
        if d.requires_promotion() {
            d.status_description = promotion_text(&d).into();
        } else if complete {
            self.updates.push(status_update(&d, DeploymentStatus::Successful, "Deployment completed successfully"));
        }
        if d.task_groups.values().any(Option::is_some) {
            plan.plan.deployment = Some(d.clone());
            plan.plan.deployment_updates = std::mem::take(&mut self.updates);
            self.deployment = Some(d);
        }
    }

    /// Whether the group is through.
    fn finish_group(
        &mut self,
        group: &'a TaskGroup,
        d: &mut Deployment,
        plan: &mut WorkingPlan,
        cluster: &State,
        ready: &ReadyNodes,
        desired: &mut BTreeMap<String, DesiredUpdates>,
    ) -> bool {
        let counts = self.groups.get(group.name.as_str());
        let candidates = counts.map_or(0, |c| c.candidates);
        if candidates < 1 {
            if d.status == DeploymentStatus::Successful {
                d.task_groups.insert(group.name.clone(), None);
            }
            return true;
        }
        let (Some(counts), Some(Some(state))) = (counts, d.task_groups.get_mut(&group.name)) else { return true };
        state.desired_total = candidates;
        let strategy = update_strategy(group).filter(|u| u.canary > 0);
        let updated = self.job.is_some_and(|j| j.version != 0);
        let canarying = strategy.filter(|_| !state.promoted && updated && counts.destructive > 0);
        let Some(strategy) = canarying else { return state.healthy_allocs >= state.desired_total };

        let outdated = counts.destructive as f64 + counts.kept_canaries.len() as f64;
        let required = ((strategy.canary as f64 * outdated / 100.0).ceil() as i64).min(strategy.max_parallel);
        state.desired_canaries = required;
        if required > 0 {
            let (kept, dropped) = self.trim(counts, required, cluster, ready);
            count(desired, &group.name).canary = kept.len() as u64;
            state.placed_canaries = kept;
            if !dropped.is_empty() {
                let ids: HashSet<&str> = dropped.iter().map(|c| c.id.as_str()).collect();
                let previous: HashSet<&str> = dropped.iter().map(|c| c.previous.as_str()).collect();
                plan.retain(|a| !ids.contains(a.id.as_str()), |a| !previous.contains(a.id.as_str()));
            }
        }
        false
    }

    /// The canaries that stay and the planned ones that are too many.
    fn trim<'b>(
        &self,
        counts: &'b GroupCounts,
        required: i64,
        cluster: &State,
        ready: &ReadyNodes,
    ) -> (Vec<String>, Vec<&'b PlannedCanary>) {
        let mut room = required - self.replacements;
        let mut kept = counts.kept_canaries.clone();
        room -= i64::try_from(kept.len()).unwrap_or(i64::MAX);
        let mut dropped = Vec::new();
        let mut planned: Vec<&PlannedCanary> = counts.planned.iter().collect();
        planned.sort_by(|a, b| a.node_id.cmp(&b.node_id));
        for c in planned {
            let fits = room > 0 || self.replaced.contains(&c.previous);
            if fits && !ready.is_not_ready(cluster, &c.node_id) {
                kept.push(c.id.clone());
                room -= 1;
            } else {
                dropped.push(c);
            }
        }
        (kept, dropped)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// Finishes a rollout of groups `a`, which has a candidate, and `b`, which has none and no part in the deployment.
    fn finish(status: DeploymentStatus) -> Option<Deployment> {
        let group = |name: &str| TaskGroup { name: name.into(), count: 1, ..Default::default() };
        let job = Job { task_groups: vec![group("a"), group("b")], ..Default::default() };
        let state = DeploymentState { healthy_allocs: 1, ..Default::default() };
        let task_groups = [("a".to_string(), Some(state))].into();
        let d = Deployment { id: "d".into(), status, task_groups, ..Default::default() };
        let mut rollout = Rollout::new(Some(&job), Some(d), Vec::new());
        rollout.group("a").candidates = 1;
        let cluster = State::new();
        let mut plan = WorkingPlan::new(&Evaluation::default(), None, cluster.snapshot(), 0);
        rollout.finish(&mut plan, &cluster, &ReadyNodes::default(), &mut BTreeMap::new());
        plan.plan.deployment
    }

    #[test]
    fn groups_without_nodes_are_void_in_finished_deployments() {
        let voids = |status| finish(status).and_then(|d| d.task_groups.get("b").cloned());
        assert_eq!(voids(DeploymentStatus::Successful), Some(None));
        assert_eq!(voids(DeploymentStatus::Running), None);
    }

    /// A placed allocation on a node, with the entry it was placed for.
    fn place<'a>(rollout: &mut Rollout<'a>, group: &'a TaskGroup, node_id: &'a str, previous: &str, canary: bool) {
        let alloc = Allocation {
            id: format!("new-{node_id}").into(),
            node_id: node_id.into(),
            previous_allocation: previous.into(),
            deployment_status: Some(Box::new(AllocDeploymentStatus { canary, ..Default::default() })),
            ..Default::default()
        };
        rollout.placed(&Entry { name: "j.g[0]", group, node_id, node: None, alloc: None, canary }, &alloc);
    }

    #[test]
    fn replacements_of_failed_canaries_use_up_slots() {
        let update = Some(UpdateStrategy { max_parallel: 3, canary: 50, ..Default::default() });
        let group = TaskGroup { name: "g".into(), count: 1, update, ..Default::default() };
        let job = Job { version: 1, task_groups: vec![group.clone()], ..Default::default() };
        let task_groups = [("g".to_string(), Some(DeploymentState::default()))].into();
        let d = Deployment { id: "d".into(), status: DeploymentStatus::Running, task_groups, ..Default::default() };
        for (failed_canary, kept) in [(false, vec!["old", "new-n1", "new-n2"]), (true, vec!["old", "new-n1"])] {
            let mut rollout = Rollout::new(Some(&job), Some(d.clone()), Vec::new());
            let counts = rollout.group("g");
            (counts.candidates, counts.destructive, counts.kept_canaries) = (7, 5, vec!["old".into()]);
            let mark = Some(Box::new(AllocDeploymentStatus { canary: failed_canary, ..Default::default() }));
            let failed = Arc::new(Allocation { id: "a0".into(), deployment_status: mark, ..Default::default() });
            let entry =
                Entry { name: "j.g[0]", group: &group, node_id: "n0", node: None, alloc: Some(failed), canary: false };
            rollout.note_replaced_canaries(&[entry]);
            place(&mut rollout, &group, "n0", "a0", false);
            for (node, previous) in [("n3", "a3"), ("n1", "a1"), ("n2", "a2")] {
                place(&mut rollout, &group, node, previous, true);
            }
            let cluster = State::new();
            let mut plan = WorkingPlan::new(&Evaluation::default(), None, cluster.snapshot(), 0);
            let mut desired = BTreeMap::new();
            rollout.finish(&mut plan, &cluster, &ReadyNodes::default(), &mut desired);
            let state = plan.plan.deployment.and_then(|d| d.task_groups["g"].clone()).unwrap();
            assert_eq!(
                (state.desired_canaries, state.placed_canaries),
                (3, kept.iter().map(|k| k.to_string()).collect())
            );
            assert_eq!(desired["g"].canary, kept.len() as u64);
        }
    }
}
