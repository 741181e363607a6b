//! The node reconciler: decides what to do on each node so that a system or sysbatch job runs on every eligible node
//! (`docs/spec/reconciliation.md §9.2`).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::deployment::DeploymentTracker;
use crate::candidates::ReadyNodes;
use crate::disconnect;
use crate::tainted::TaintedNodes;
use encamp_model::*;
use encamp_state::{AllocEntry, NodeEntry, State};

/// The input of the reconciler.
pub(crate) struct Inputs<'a> {
    /// The state.
    pub state: &'a State,
    /// The job, unless it is gone or stopped.
    pub job: Option<&'a Job>,
    /// The names of the job's allocations on each node, ascending, each with its group; none of a stopped job.
    pub required: &'a [(String, &'a TaskGroup)],
    /// All allocations of the job by ID.
    pub allocs: &'a [Arc<AllocEntry>],
    /// Tainted nodes of those allocations.
    pub tainted: &'a TaintedNodes,
    /// The nodes the job may use.
    pub ready: &'a ReadyNodes,
    /// Unix nanoseconds.
    pub now: i64,
}

/// One instance of a group on one node.
#[derive(Debug, Clone)]
pub(crate) struct Entry<'a> {
    /// Name of the allocation.
    pub name: &'a str,
    /// Its group in the current job.
    pub group: &'a TaskGroup,
    /// The node.
    pub node_id: &'a str,
    /// The node's entry, if the job may use it.
    pub node: Option<&'a Arc<NodeEntry>>,
    /// The allocation that is kept, updated or replaced; for a placement the finished one before it.
    pub alloc: Option<Arc<Allocation>>,
    /// A destructive update that may be a canary.
    pub canary: bool,
}

/// The result of the reconciler, each list in the order of nodes.
#[derive(Debug, Default)]
pub(crate) struct Reconciled<'a> {
    /// Missing allocations.
    pub place: Vec<Entry<'a>>,
    /// Allocations of another job version.
    pub update: Vec<Entry<'a>>,
    /// Allocations that came back, with their new status entry.
    pub reconnecting: Vec<Entry<'a>>,
    /// Allocations to leave alone.
    pub ignore: Vec<Entry<'a>>,
    /// Allocations that are not wanted any more.
    pub stop: Vec<&'a Arc<Allocation>>,
    /// Allocations that have to leave their node.
    pub migrate: Vec<&'a Arc<Allocation>>,
    /// Allocations whose node is down or gone.
    pub lost: Vec<&'a Arc<Allocation>>,
    /// Allocations whose node lost contact.
    pub disconnecting: Vec<&'a Arc<Allocation>>,
}

/// The allocations of the job on one node.
#[derive(Default)]
struct OnNode<'a> {
    live: Vec<&'a Arc<Allocation>>,
    /// By name, the one that was created last.
    terminal: BTreeMap<&'a str, &'a Arc<Allocation>>,
}

/// The names a job's allocations have on every node, ascending, with their groups.
pub(crate) fn required_names(job: &Job) -> Vec<(String, &TaskGroup)> {
    let mut out: Vec<(String, &TaskGroup)> = Vec::new();
    for g in &job.task_groups {
        out.extend((0..g.count).map(|i| (format!("{}.{}[{i}]", job.name, g.name), g)));
    }
    out.sort_by(|a, b| a.0.cmp(&b.0));
    out
}

/// Compares what runs on each node with what should run there. Deployments are triaged and created on the way.
pub(crate) fn reconcile<'a>(i: &Inputs<'a>, deployments: &mut DeploymentTracker) -> Reconciled<'a> {
    let mut by_node: HashMap<&str, OnNode> = HashMap::new();
    for a in i.allocs.iter().map(|e| &e.alloc) {
        let on_node = by_node.entry(&a.node_id).or_default();
        if !a.terminal() {
            on_node.live.push(a);
            continue;
        }
        let newest = on_node.terminal.entry(&a.name).or_insert(a);
        if a.create_index > newest.create_index {
            *newest = a;
        }
    }
    let mut out = Reconciled::default();
    let nothing = OnNode::default();
    for (node_id, node) in visited(i, &by_node) {
        let on_node = by_node.get(node_id).unwrap_or(&nothing);
        deployments.triage();
        let updates_before = out.update.len();
        for a in &on_node.live {
            i.classify(a, node_id, node, deployments, &mut out);
        }
        for (name, group) in i.required {
            if !on_node.live.iter().any(|a| a.name == *name) {
                i.add_missing(name, group, node_id, node, on_node, &mut out);
            }
        }
        let updating = out.update.len() > updates_before;
        for (_, group) in i.required {
            deployments.ensure(group, updating, &on_node.live, || on_node.terminal.values().copied());
        }
    }
    deployments.finish(i.state, i.ready);
    out
}

/// A node to look at: its ID, and its entry if the job may use it.
type Visited<'a> = (&'a str, Option<&'a Arc<NodeEntry>>);

/// The nodes with live allocations and the ready ones, ascending.
fn visited<'a>(i: &Inputs<'a>, by_node: &HashMap<&'a str, OnNode<'a>>) -> Vec<Visited<'a>> {
    let ready = i.ready.slots.iter().filter_map(|slot| i.state.node_at(*slot));
    let mut out: Vec<Visited> = ready.map(|n| (n.node.id.as_str(), Some(n))).collect();
    let others: Vec<Visited> = by_node
        .iter()
        .filter(|(id, n)| !n.live.is_empty() && out.binary_search_by(|(r, _)| r.cmp(id)).is_err())
        .map(|(id, _)| (*id, None))
        .collect();
    if !others.is_empty() {
        out.extend(others);
        out.sort_unstable_by_key(|(id, _)| *id);
    }
    out
}

/// What becomes of an allocation on a tainted node.
enum OnTainted {
    Disconnecting,
    Lost,
    Stays,
}

/// `status`: that of the node, `None` if it is gone.
fn on_tainted_node(alloc: &Allocation, status: Option<&NodeStatus>) -> OnTainted {
    let sysbatch = alloc.job.as_ref().is_some_and(|j| j.r#type == JobType::Sysbatch);
    if sysbatch && alloc.ran_successfully() {
        return OnTainted::Stays;
    }
    match status {
        Some(NodeStatus::Disconnected) if alloc.client_status == ClientStatus::Running => OnTainted::Disconnecting,
        None | Some(NodeStatus::Down) => OnTainted::Lost,
        Some(_) => OnTainted::Stays,
    }
}

impl<'a> Inputs<'a> {
    /// Decides about one live allocation; the first rule that applies wins.
    fn classify(
        &self,
        alloc: &'a Arc<Allocation>,
        node_id: &'a str,
        ready_node: Option<&'a Arc<NodeEntry>>,
        deployments: &mut DeploymentTracker,
        out: &mut Reconciled<'a>,
    ) {
        let found = self.required.binary_search_by(|(n, _)| n.as_str().cmp(&alloc.name)).ok();
        let Some((name, group)) = found.and_then(|f| self.required.get(f)) else {
            out.stop.push(alloc);
            return;
        };
        let entry = |alloc: Arc<Allocation>, canary| Entry {
            name,
            group,
            node_id,
            node: ready_node,
            alloc: Some(alloc),
            canary,
        };
        let status = &alloc.client_status;
        let reconnects =
            matches!(status, ClientStatus::Unknown | ClientStatus::Running) && disconnect::needs_reconnect(alloc);
        if alloc.desired_transition.should_migrate() {
            out.migrate.push(alloc);
        } else if reconnects && disconnect::expired(alloc, self.now) {
            out.lost.push(alloc);
        } else if *status == ClientStatus::Unknown && alloc.desired_status == DesiredStatus::Run {
            out.ignore.push(entry(alloc.clone(), false));
        } else if let Some(node) = self.tainted.get(&*alloc.node_id) {
            match on_tainted_node(alloc, node.as_ref().map(|n| &n.node.status)) {
                OnTainted::Disconnecting => out.disconnecting.push(alloc),
                OnTainted::Lost => out.lost.push(alloc),
                OnTainted::Stays => {
                    deployments.same_version_seen();
                    out.ignore.push(entry(alloc.clone(), false));
                }
            }
        } else if reconnects {
            let back = disconnect::with_status_entry(alloc, status.clone(), self.now);
            out.reconnecting.push(entry(Arc::new(back), false));
        } else if self.ready.is_not_ready(self.state, node_id) {
            if self.other_version(alloc) {
                out.stop.push(alloc);
            } else {
                deployments.same_version_seen();
                out.ignore.push(entry(alloc.clone(), false));
            }
        } else if ready_node.is_none() {
            // The job's datacenters or pool do not reach the node any more.
            out.stop.push(alloc);
        } else if self.other_version(alloc) {
            out.update.push(entry(alloc.clone(), deployments.wants_canaries(group)));
        } else {
            deployments.same_version_seen();
            out.ignore.push(entry(alloc.clone(), false));
        }
    }

    /// Decides about a required name that no live allocation has.
    fn add_missing(
        &self,
        name: &'a str,
        group: &'a TaskGroup,
        node_id: &'a str,
        node: Option<&'a Arc<NodeEntry>>,
        on_node: &OnNode<'a>,
        out: &mut Reconciled<'a>,
    ) {
        let finished = on_node.terminal.get(name).copied();
        let entry = Entry { name, group, node_id, node, alloc: finished.cloned(), canary: false };
        match finished {
            Some(a) if self.job.is_some_and(|j| j.r#type == JobType::Sysbatch) => {
                if self.other_version(a) {
                    out.update.push(entry);
                } else {
                    out.ignore.push(entry);
                }
            }
            _ if node.is_some() => out.place.push(entry),
            _ => {}
        }
    }

    /// The allocation runs another specification than the current one.
    fn other_version(&self, alloc: &Allocation) -> bool {
        match (&alloc.job, self.job) {
            (Some(old), Some(new)) => old.job_modify_index != new.job_modify_index,
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::ready_nodes;
    use crate::tainted::tainted_nodes;
    use encamp_state::State;

    fn job(r#type: JobType, modify_index: u64) -> Job {
        Job {
            id: "j".into(),
            name: "job".into(),
            r#type,
            datacenters: vec!["dc1".into()],
            node_pool: "default".into(),
            job_modify_index: modify_index,
            task_groups: vec![TaskGroup { name: "g".into(), count: 1, ..Default::default() }],
            ..Default::default()
        }
    }

    fn node(id: &str, status: NodeStatus, datacenter: &str) -> Arc<Node> {
        Arc::new(Node {
            id: id.into(),
            status,
            scheduling_eligibility: NodeEligibility::Eligible,
            datacenter: datacenter.into(),
            node_pool: "default".into(),
            ..Default::default()
        })
    }

    fn ready(id: &str) -> Arc<Node> {
        node(id, NodeStatus::Ready, "dc1")
    }

    fn alloc(node: &str, client_status: ClientStatus, job: &Job) -> Allocation {
        Allocation {
            id: format!("a-{node}").into(),
            job_id: "j".into(),
            name: "job.g[0]".into(),
            task_group: "g".into(),
            node_id: node.into(),
            desired_status: DesiredStatus::Run,
            client_status,
            job: Some(Arc::new(job.clone())),
            ..Default::default()
        }
    }

    /// Node IDs by what happens there.
    fn run(job: &Job, nodes: &[Arc<Node>], allocs: Vec<Allocation>) -> BTreeMap<&'static str, Vec<String>> {
        let mut state = State::new();
        nodes.iter().for_each(|n| state.upsert_node(n.clone()));
        state.upsert_allocs(allocs.into_iter().map(Arc::new));
        let allocs = state.allocs_of_job("", "j");
        let snapshot = state.snapshot();
        let ready = ready_nodes(&snapshot, &job.datacenters, &job.node_pool);
        let tainted = tainted_nodes(&snapshot, ("", "j"), allocs.iter().map(|a| &a.alloc));
        let required = required_names(job);
        let mut new_id = String::new;
        let mut tracker = DeploymentTracker::new(Some(job), None, false, 0, &mut new_id);
        let inputs = Inputs {
            state: &snapshot,
            job: Some(job),
            required: &required,
            allocs: &allocs,
            tainted: &tainted,
            ready: &ready,
            now: 100,
        };
        let r = reconcile(&inputs, &mut tracker);
        let entries =
            [("place", &r.place), ("update", &r.update), ("reconnecting", &r.reconnecting), ("ignore", &r.ignore)];
        let stops =
            [("stop", &r.stop), ("migrate", &r.migrate), ("lost", &r.lost), ("disconnecting", &r.disconnecting)];
        let mut out = BTreeMap::new();
        for (k, list) in entries {
            out.insert(k, list.iter().map(|e| e.node_id.to_string()).collect());
        }
        for (k, list) in stops {
            out.insert(k, list.iter().map(|a| a.node_id.to_string()).collect());
        }
        out.retain(|_, v: &mut Vec<String>| !v.is_empty());
        out
    }

    #[test]
    fn each_node_gets_what_it_needs() {
        let (old, new) = (job(JobType::System, 1), job(JobType::System, 2));
        let nodes = [
            ready("n0"),
            ready("n1"),
            node("n2", NodeStatus::Down, "dc1"),
            node("n3", NodeStatus::Disconnected, "dc1"),
            Arc::new(Node { scheduling_eligibility: NodeEligibility::Ineligible, ..Node::clone(&ready("n4")) }),
            node("n5", NodeStatus::Ready, "dc2"),
            ready("n6"),
        ];
        let running = |node: &str, job: &Job| alloc(node, ClientStatus::Running, job);
        let mut allocs: Vec<Allocation> = ["n1", "n2", "n3", "n4", "n5"].map(|n| running(n, &new)).into();
        allocs.push(running("n6", &old));
        allocs.push(running("n9", &new));
        let got = run(&new, &nodes, allocs);
        let want = [
            ("place", vec!["n0"]),
            ("ignore", vec!["n1", "n4"]),
            ("lost", vec!["n2", "n9"]),
            ("disconnecting", vec!["n3"]),
            ("stop", vec!["n5"]),
            ("update", vec!["n6"]),
        ];
        let want = want.map(|(k, v)| (k, v.into_iter().map(String::from).collect::<Vec<_>>())).into();
        assert_eq!(got, want);
    }

    #[test]
    fn finished_allocations_count_for_sysbatch_only() {
        let nodes = [ready("n0")];
        for (job_type, modify_index, want) in [
            (JobType::Sysbatch, 1, "ignore"),
            (JobType::Sysbatch, 2, "update"),
            (JobType::System, 1, "place"),
            (JobType::System, 2, "place"),
        ] {
            let finished = alloc("n0", ClientStatus::Complete, &job(job_type.clone(), 1));
            let got = run(&job(job_type.clone(), modify_index), &nodes, vec![finished]);
            assert_eq!(got, [(want, vec!["n0".to_string()])].into(), "{job_type} {modify_index}");
        }
    }

    #[test]
    fn names_are_ordered_as_text() {
        let mut j = job(JobType::System, 1);
        j.task_groups[0].count = 11;
        let names = required_names(&j);
        assert_eq!(names[1].0, "job.g[10]");
        assert_eq!(names[2].0, "job.g[1]");
    }
}
