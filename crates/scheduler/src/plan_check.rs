//! Decides which parts of a plan a state accepts, node by node (`docs/spec/server.md §7.4`). Servers check each plan
//! against their latest state before it is committed; dry runs check theirs against the state they were made from,
//! which reveals plans that no server would accept.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::disconnect;
use super::fit::fits_whole;
use encamp_model::*;
use encamp_state::{AllocEntry, NodeEntry, NodeUsage, State};

/// Why a node does not accept its part of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
enum Refusal {
    #[error("node does not exist")]
    NoNode,
    #[error("node is disconnected and contains invalid updates")]
    Disconnected,
    #[error("node is down and contains invalid updates")]
    Down,
    #[error("node is not ready for placements")]
    NotReady,
    #[error("node is not eligible")]
    Ineligible,
    /// A resource does not suffice: the dimension.
    #[error("{0}")]
    Exhausted(&'static str),
    #[error("device oversubscribed")]
    Devices,
    #[error("conflicting claims for host volume with single-writer")]
    Writers,
}

/// Allocations by node.
pub type ByNode = BTreeMap<String, Vec<Arc<Allocation>>>;

/// The parts of a plan that may be committed.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Checked {
    /// Stops of nodes that accept theirs.
    pub node_update: ByNode,
    /// Placements of nodes that accept theirs.
    pub node_allocation: ByNode,
    /// Evictions of nodes that accept theirs, without victims that are gone or done already.
    pub node_preemptions: ByNode,
    /// The plan's deployment, without canaries that are not placed.
    pub deployment: Option<Deployment>,
    /// Status changes of deployments.
    pub deployment_updates: Vec<DeploymentStatusUpdate>,
    /// Nodes that refuse, and why.
    pub rejected: Vec<(String, String)>,
}

impl Checked {
    /// Whether there is nothing to commit.
    pub fn is_no_op(&self) -> bool {
        self.node_update.is_empty()
            && self.node_allocation.is_empty()
            && self.deployment.is_none()
            && self.deployment_updates.is_empty()
    }

    /// The plan without what was rejected.
    pub fn accepted(self, plan: &Plan) -> Plan {
        Plan {
            eval_id: plan.eval_id.clone(),
            priority: plan.priority,
            all_at_once: plan.all_at_once,
            job: plan.job.clone(),
            node_update: self.node_update,
            node_allocation: self.node_allocation,
            node_preemptions: self.node_preemptions,
            deployment: self.deployment,
            deployment_updates: self.deployment_updates,
            annotations: plan.annotations.clone(),
        }
    }
}

/// The rejected placements on the nodes of [`Checked::rejected`]. `placements`: those of the plan that was checked.
/// Allocations that already run on the node and would only have been updated in place count only where the node gets
/// nothing else.
pub fn rejections(state: &State, placements: &ByNode, rejected: &[(String, String)]) -> Vec<PlanRejection> {
    let one = |(id, reason): &(String, String)| {
        let mut task_groups: BTreeMap<String, u64> = BTreeMap::new();
        let all = placements.get(id).map_or(&[][..], Vec::as_slice);
        let runs = |a: &Allocation| state.alloc(&a.id).is_some_and(|e| e.alloc.node_id == *id && !e.phase.terminal());
        let only_updates = all.iter().all(|a| runs(a));
        for a in all.iter().filter(|a| only_updates || !runs(a)) {
            *task_groups.entry(a.task_group.to_string()).or_default() += 1;
        }
        PlanRejection {
            node_id: id.clone(),
            node_name: state.node(id).map(|e| e.node.name.clone()).unwrap_or_default(),
            reason: reason.clone(),
            task_groups,
        }
    };
    rejected.iter().map(one).collect()
}

/// Checks a plan against a state.
pub fn check(state: &State, plan: &Plan) -> Checked {
    let nodes: BTreeSet<&String> = plan.node_update.keys().chain(plan.node_allocation.keys()).collect();
    let mut out = Checked {
        deployment: plan.deployment.clone(),
        deployment_updates: plan.deployment_updates.clone(),
        ..Default::default()
    };
    for node in nodes {
        if let Err(reason) = check_node(state, plan, node) {
            out.rejected.push((node.clone(), reason.to_string()));
            continue;
        }
        take(&mut out.node_update, &plan.node_update, node, |_| true);
        take(&mut out.node_allocation, &plan.node_allocation, node, |_| true);
        let alive = |a: &Allocation| state.alloc(&a.id).is_some_and(|e| !e.phase.terminal());
        take(&mut out.node_preemptions, &plan.node_preemptions, node, alive);
    }
    if out.rejected.is_empty() {
        return out;
    }
    if plan.all_at_once {
        return Checked { rejected: out.rejected, ..Default::default() };
    }
    if let Some(d) = &mut out.deployment {
        let placed: HashSet<&str> = out.node_allocation.values().flatten().map(|a| a.id.as_str()).collect();
        let planned: HashSet<&str> = plan.node_allocation.values().flatten().map(|a| a.id.as_str()).collect();
        for group in d.task_groups.values_mut().flatten() {
            group.placed_canaries.retain(|id| placed.contains(id.as_str()) || !planned.contains(id.as_str()));
        }
    }
    out
}

fn take(into: &mut ByNode, from: &ByNode, node: &str, keep: impl Fn(&Allocation) -> bool) {
    let kept: Vec<_> = from.get(node).into_iter().flatten().filter(|a| keep(a)).cloned().collect();
    if !kept.is_empty() {
        into.insert(node.to_string(), kept);
    }
}

fn check_node(state: &State, plan: &Plan, id: &str) -> Result<(), Refusal> {
    let placements = plan.node_allocation.get(id).map_or(&[][..], Vec::as_slice);
    if placements.is_empty() {
        return Ok(());
    }
    let entry = state.node(id).ok_or(Refusal::NoNode)?;
    let all = |ok: &dyn Fn(&Allocation) -> bool| placements.iter().all(|a| ok(a));
    let has = |a: &Allocation, status: ClientStatus| a.client_status == status;
    match &entry.node.status {
        NodeStatus::Disconnected => {
            let fits = all(&|a| has(a, ClientStatus::Unknown));
            return refuse_unless(fits, Refusal::Disconnected);
        }
        NodeStatus::Down => {
            let stays = |a: &Allocation| has(a, ClientStatus::Unknown) && !disconnect::replace(&with_job(a, plan));
            let fits = all(&|a| has(a, ClientStatus::Lost) || stays(a));
            return refuse_unless(fits, Refusal::Down);
        }
        NodeStatus::Ready => {}
        NodeStatus::Initializing | NodeStatus::Unset | NodeStatus::Other(_) => return Err(Refusal::NotReady),
    }
    let there = |a: &Arc<Allocation>| state.alloc(&a.id).is_some_and(|e| e.alloc.node_id == id && !e.phase.terminal());
    if placements.iter().all(there) {
        return Ok(());
    }
    if entry.node.scheduling_eligibility == NodeEligibility::Ineligible || entry.node.drain_strategy.is_some() {
        return Err(Refusal::Ineligible);
    }
    let new: Vec<AllocEntry> = placements.iter().map(|a| AllocEntry::new(a.clone())).collect();
    if fits_beside_all(entry, &new) { Ok(()) } else { fits(entry, plan, id, &new) }
}

/// Whether the placements fit even if nothing goes for them. Then they fit, whatever else the plan does: that much is
/// known without looking at what runs on the node.
fn fits_beside_all(entry: &NodeEntry, new: &[AllocEntry]) -> bool {
    let mut usage = entry.usage.clone();
    usage.extend(&entry.info, new);
    fits_whole(&entry.info, &usage).is_ok() && !usage.device_overlap && entry.node.host_volumes.is_empty()
}

fn refuse_unless(fits: bool, reason: Refusal) -> Result<(), Refusal> {
    if fits { Ok(()) } else { Err(reason) }
}

/// Placements travel without their job.
fn with_job(a: &Allocation, plan: &Plan) -> Allocation {
    Allocation { job: a.job.clone().or_else(|| plan.job.clone()), ..a.clone() }
}

fn fits(entry: &NodeEntry, plan: &Plan, id: &str, new: &[AllocEntry]) -> Result<(), Refusal> {
    let existing = entry.allocs.iter().filter(|a| !a.phase.terminal());
    let mut allocs: HashMap<&str, &AllocEntry> = existing.map(|a| (a.alloc.id.as_str(), &**a)).collect();
    for gone in [&plan.node_update, &plan.node_preemptions] {
        for a in gone.get(id).into_iter().flatten() {
            allocs.remove(a.id.as_str());
        }
    }
    allocs.extend(new.iter().map(|a| (a.alloc.id.as_str(), a)));
    let usage = NodeUsage::of(&entry.info, allocs.values().copied());
    fits_whole(&entry.info, &usage).map_err(Refusal::Exhausted)?;
    if usage.device_overlap {
        return Err(Refusal::Devices);
    }
    let mut writers: HashSet<String> = HashSet::new();
    for a in allocs.values() {
        let group = a.alloc.group().or_else(|| plan.job.as_ref()?.lookup_group(&a.alloc.task_group));
        for v in group.into_iter().flat_map(|g| g.volumes.iter().flat_map(|v| v.values())) {
            let single = v.r#type == "host" && v.access_mode == VolumeAccessMode::SingleNodeSingleWriter;
            if single && !writers.insert(v.source.clone()) {
                return Err(Refusal::Writers);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(id: &str, status: NodeStatus, scheduling_eligibility: NodeEligibility) -> Arc<Node> {
        let resources = NodeResources {
            processors: NodeProcessorResources {
                topology: Some(Topology { override_total_compute: 1000, ..Default::default() }),
            },
            memory: NodeMemoryResources { memory_mb: 1000 },
            disk: NodeDiskResources { disk_mb: 1000 },
            ..Default::default()
        };
        Arc::new(Node {
            id: id.into(),
            status,
            scheduling_eligibility,
            node_resources: Some(resources.into()),
            ..Default::default()
        })
    }

    fn alloc(id: &str, node: &str, cpu: i64) -> Arc<Allocation> {
        let task = AllocatedTaskResources {
            cpu: AllocatedCpuResources { cpu_shares: cpu, ..Default::default() },
            ..Default::default()
        };
        let resources =
            AllocatedResources { tasks: [("t".to_string(), task)].into_iter().collect(), ..Default::default() };
        Arc::new(Allocation {
            id: id.into(),
            namespace: "default".into(),
            job_id: "web".into(),
            node_id: node.into(),
            desired_status: DesiredStatus::Run,
            client_status: ClientStatus::Pending,
            allocated_resources: Some(Arc::new(resources)),
            ..Default::default()
        })
    }

    fn state() -> State {
        let mut s = State::new();
        s.upsert_node(node("n1", NodeStatus::Ready, NodeEligibility::Eligible));
        s.upsert_node(node("n2", NodeStatus::Ready, NodeEligibility::Ineligible));
        s.upsert_node(node("n3", NodeStatus::Down, NodeEligibility::Eligible));
        s.upsert_allocs([alloc("old", "n1", 600)]);
        s
    }

    fn plan(placements: &[(&str, &str, i64)]) -> Plan {
        let mut p = Plan::default();
        for (id, node, cpu) in placements {
            p.node_allocation.entry(node.to_string()).or_default().push(alloc(id, node, *cpu));
        }
        p
    }

    fn verdict(p: &Plan) -> Vec<(String, String)> {
        check(&state(), p).rejected
    }

    fn no(node: &str, reason: &str) -> Vec<(String, String)> {
        vec![(node.into(), reason.into())]
    }

    #[test]
    fn each_node_is_judged_by_the_first_rule_that_applies() {
        assert_eq!(verdict(&plan(&[("a", "n1", 400)])), []);
        assert_eq!(verdict(&plan(&[("a", "n1", 401)])), no("n1", "cpu"));
        assert_eq!(verdict(&plan(&[("a", "n2", 1)])), no("n2", "node is not eligible"));
        assert_eq!(verdict(&plan(&[("a", "n3", 1)])), no("n3", "node is down and contains invalid updates"));
        assert_eq!(verdict(&plan(&[("a", "n4", 1)])), no("n4", "node does not exist"));
        assert_eq!(verdict(&plan(&[("old", "n1", 5000)])), [], "in-place updates are not weighed");
        let mut p = plan(&[("a", "n1", 1000)]);
        p.node_update.insert("n1".into(), vec![alloc("old", "n1", 0)]);
        assert_eq!(verdict(&p), []);
        p.node_update.clear();
        p.node_preemptions.insert("n1".into(), vec![alloc("old", "n1", 0), alloc("gone", "n1", 0)]);
        let checked = check(&state(), &p);
        assert_eq!((checked.rejected.len(), checked.node_preemptions["n1"].len()), (0, 1));
        let stop_only =
            Plan { node_update: [("n4".to_string(), vec![alloc("x", "n4", 0)])].into(), ..Default::default() };
        assert_eq!(verdict(&stop_only), []);
    }

    #[test]
    fn rejected_nodes_lose_everything_and_all_at_once_means_all() {
        let mut p = plan(&[("a", "n1", 100), ("b", "n2", 100)]);
        p.node_update.insert("n2".into(), vec![alloc("x", "n2", 0)]);
        let canaries =
            DeploymentState { placed_canaries: vec!["a".into(), "b".into(), "older".into()], ..Default::default() };
        p.deployment =
            Some(Deployment { task_groups: [("g".to_string(), Some(canaries))].into(), ..Default::default() });
        let checked = check(&state(), &p);
        assert_eq!(checked.rejected, no("n2", "node is not eligible"));
        assert_eq!((checked.node_allocation.len(), checked.node_update.len()), (1, 0));
        let group = checked.deployment.unwrap().task_groups["g"].clone().unwrap();
        assert_eq!(group.placed_canaries, ["a", "older"]);
        p.all_at_once = true;
        let checked = check(&state(), &p);
        assert!(checked.is_no_op() && checked.rejected.len() == 1);
    }
}
