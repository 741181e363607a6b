//! The consequences of node changes: the resulting status, and the jobs to evaluate (`docs/spec/server.md §9`).

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use encamp_model::{
    Allocation, ClientStatus, DesiredStatus, EvalTrigger, Evaluation, Job, JobType, Node, NodeEvent, NodeStatus,
};
use encamp_scheduler::candidates::covers;
use encamp_scheduler::disconnect::{expired, lost_after};
use encamp_scheduler::reschedule;
use encamp_state::State;

/// Subsystem of events about cluster membership.
pub const CLUSTER: &str = "Cluster";
/// Event of a node that returned without registering again.
pub(crate) const REREGISTERED_BY_HEARTBEAT: &str = "Node reregistered by heartbeat";
/// Event of a node that missed its heartbeat.
pub const HEARTBEAT_MISSED: &str = "Node heartbeat missed";
/// Event of a node whose identity was revoked, and the description of its status.
pub(crate) const IDENTITY_REVOKED: &str = "Node identity revoked";
/// Event of a node whose node pool does not exist yet.
pub(crate) const WAITING_FOR_POOL: &str = "Node registered but waiting for node pool to be created";

/// The status of a node that missed its heartbeat (`docs/spec/server.md §9.2`).
pub fn missed_heartbeat_status<'a>(
    node: &Node,
    allocs: impl IntoIterator<Item = &'a Allocation>,
    now: i64,
) -> NodeStatus {
    let may_come_back =
        |a: &Allocation| a.desired_status == DesiredStatus::Run && lost_after(a) > 0 && !expired(a, now);
    let up = !matches!(node.status, NodeStatus::Down | NodeStatus::Initializing);
    if up && allocs.into_iter().any(may_come_back) { NodeStatus::Disconnected } else { NodeStatus::Down }
}

/// The result of a request for a node status.
#[derive(Debug, Clone, PartialEq)]
pub struct StatusDecision {
    /// The status to set.
    pub status: NodeStatus,
    /// The event to add.
    pub event: Option<NodeEvent>,
}

impl StatusDecision {
    /// Whether a log entry has to be written, apart from a new identity of the node (`docs/spec/server.md §9.3` step
    /// 3).
    pub fn changes(&self, node: &Node) -> bool {
        self.status != node.status || self.event.is_some()
    }
}

/// Returns an event of subsystem `Cluster` with this message.
pub fn cluster_event(message: &str, now: i64) -> NodeEvent {
    NodeEvent::new(CLUSTER, message, now)
}

/// Decides on a request for a node status (`docs/spec/server.md §9.3` steps 1 to 3). `event` is part of the request;
/// `live_allocs` says whether the node has non-terminal allocations.
pub fn decide_status(
    node: &Node,
    asked: NodeStatus,
    event: Option<NodeEvent>,
    live_allocs: bool,
    pool_exists: bool,
    now: i64,
) -> StatusDecision {
    let (mut status, mut event) = (asked, event);
    match (&node.status, &status) {
        (NodeStatus::Initializing, NodeStatus::Ready) => {
            let unreported = live_allocs && node.last_alloc_update_index <= node.last_missed_heartbeat_index;
            let waits_for_pool = !pool_exists && node.node_pool != "default";
            if unreported || waits_for_pool {
                status = NodeStatus::Initializing;
            }
            let waits_for_pool_event =
                |e: &NodeEvent| e.message == WAITING_FOR_POOL && e.details.get("node_pool") == Some(&node.node_pool);
            if waits_for_pool && event.is_none() && !node.events.iter().any(waits_for_pool_event) {
                let details = BTreeMap::from([("node_pool".to_string(), node.node_pool.clone())]);
                event = Some(NodeEvent { details, ..cluster_event(WAITING_FOR_POOL, now) });
            }
        }
        (NodeStatus::Disconnected, NodeStatus::Ready) => status = NodeStatus::Initializing,
        _ => {}
    }
    if event.is_none() && node.status == NodeStatus::Down && status != NodeStatus::Down {
        event = Some(cluster_event(REREGISTERED_BY_HEARTBEAT, now));
    }
    StatusDecision { status, event }
}

/// Whether a status transition creates evaluations (`docs/spec/server.md §9.3` step 4).
pub(crate) fn transition_makes_evals(before: &NodeStatus, after: &NodeStatus) -> bool {
    use NodeStatus::{Disconnected, Down, Initializing, Ready};
    match (before, after) {
        (_, Down) | (Initializing | Down, Ready) => true,
        (Disconnected, other) | (other, Disconnected) => *other != Disconnected,
        _ => false,
    }
}

/// Whether a registration creates evaluations (`docs/spec/server.md §9.5`). `before` is `None` for a new node.
pub(crate) fn registration_makes_evals(before: Option<&Node>, after: &Node) -> bool {
    let Some(old) = before else { return transition_makes_evals(&NodeStatus::Initializing, &after.status) };
    let devices = |n: &Node| n.node_resources.as_ref().map(|r| r.devices.clone()).unwrap_or_default();
    transition_makes_evals(&old.status, &after.status)
        || old.id != after.id
        || old.datacenter != after.datacenter
        || old.name != after.name
        || old.node_class != after.node_class
        || old.attributes != after.attributes
        || old.meta != after.meta
        || old.drivers != after.drivers
        || old.host_volumes != after.host_volumes
        || devices(old) != devices(after)
}

/// Whether a node change affects the job of an allocation on the node. System jobs are always evaluated.
fn concerns(alloc: &Allocation, job: &Job) -> bool {
    match job.r#type {
        JobType::Service => !(alloc.server_terminal() && alloc.client_terminal()),
        JobType::Batch => !alloc.client_terminal(),
        _ => false,
    }
}

/// The system jobs that node changes may affect.
pub fn system_jobs(state: &State) -> Vec<&Arc<Job>> {
    state.jobs().map(|entry| &entry.current).filter(|job| job.r#type == JobType::System && !job.stop).collect()
}

/// The evaluations of a node change, to be written in one log entry even if there are none; `None` means no entry
/// (`docs/spec/server.md §9.6`). `system_jobs`: the system jobs of the same state, see [`system_jobs`]. `index` is that
/// of the change. The node need not be stored any more.
pub fn node_evals(
    state: &State,
    system_jobs: &[&Arc<Job>],
    node: &Node,
    index: u64,
    now: i64,
    new_id: &mut dyn FnMut() -> String,
) -> Option<Vec<Evaluation>> {
    let allocs = state.allocs_of_node(&node.id);
    let system: Vec<&Arc<Job>> = system_jobs.iter().copied().filter(|job| covers(job, node)).collect();
    if allocs.is_empty() && system.is_empty() {
        return None;
    }
    let mut seen = HashSet::new();
    let of_allocs = allocs.iter().filter_map(|entry| {
        let a = &entry.alloc;
        let job = a.job.as_ref().or_else(|| state.job(&a.namespace, &a.job_id))?;
        concerns(a, job).then_some((&a.namespace, &a.job_id, job))
    });
    let of_system = system.iter().map(|job| (&job.namespace, &job.id, *job));
    let jobs = of_allocs.chain(of_system).filter(|(namespace, id, _)| seen.insert((*namespace, *id)));
    let evals = jobs.map(|(_, _, job)| Evaluation {
        node_id: node.id.clone(),
        node_modify_index: index,
        ..Evaluation::pending(job, EvalTrigger::NodeUpdate, now, new_id())
    });
    Some(evals.collect())
}

/// The evaluations that follow from the allocation updates of nodes: one per job (`docs/spec/server.md §11`).
pub fn report_evals(
    state: &State,
    updates: &[Arc<Allocation>],
    now: i64,
    new_id: &mut dyn FnMut() -> String,
) -> Vec<Evaluation> {
    let mut seen = HashSet::new();
    let mut out = Vec::new();
    for update in updates {
        let Some(stored) = state.alloc(&update.id).map(|e| &e.alloc) else { continue };
        let unknown = stored.client_status == ClientStatus::Unknown;
        if !update.client_terminal() && !unknown {
            continue;
        }
        let job = state.job(&stored.namespace, &stored.job_id);
        let (mut trigger, of) = match job {
            None => {
                if stored.desired_status != DesiredStatus::Stop {
                    continue;
                }
                let Some(own) = &stored.job else { continue };
                (Some(EvalTrigger::JobDeregister), own)
            }
            Some(job) => {
                let failed = update.client_status == ClientStatus::Failed && stored.followup_eval_id.is_empty();
                let replaced = failed
                    && job.lookup_group(&stored.task_group).is_some()
                    && reschedule::eligible_on_server(stored, now);
                (replaced.then_some(EvalTrigger::AllocFailure), job)
            }
        };
        if unknown && job.is_some() {
            trigger = Some(EvalTrigger::Reconnect);
        }
        let Some(trigger) = trigger else { continue };
        if seen.insert((stored.namespace.clone(), stored.job_id.clone())) {
            out.push(Evaluation::pending(of, trigger, now, new_id()));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_model::{
        AllocState, DisconnectStrategy, EvalStatus, NodeDeviceResource, NodeResources, SECOND, TaskGroup, Time,
    };

    use ClientStatus::{Complete, Failed, Lost, Running, Unknown};
    use DesiredStatus::{Run, Stop};
    use JobType::{Batch, Service, Sysbatch, System};
    use NodeStatus::{Disconnected, Down, Initializing, Ready};

    fn node(status: NodeStatus) -> Node {
        Node { id: "n".into(), datacenter: "dc1".into(), node_pool: "default".into(), status, ..Node::default() }
    }

    fn job(id: &str, r#type: JobType, datacenter: &str, pool: &str) -> Job {
        Job {
            id: id.into(),
            namespace: "default".into(),
            r#type,
            priority: 70,
            datacenters: vec![datacenter.into()],
            node_pool: pool.into(),
            ..Job::default()
        }
    }

    fn alloc(id: &str, job: &Job, desired_status: DesiredStatus, client_status: ClientStatus) -> Arc<Allocation> {
        Arc::new(Allocation {
            id: id.into(),
            namespace: job.namespace.clone(),
            job_id: job.id.clone(),
            node_id: "n".into(),
            job: Some(Arc::new(job.clone())),
            desired_status,
            client_status,
            ..Allocation::default()
        })
    }

    fn run(state: &State) -> Option<Vec<Evaluation>> {
        let mut n = 0;
        let mut new_id = || {
            n += 1;
            format!("e{n}")
        };
        node_evals(state, &system_jobs(state), &node(Down), 42, 7, &mut new_id)
    }

    #[test]
    fn e12_a_node_flaps() {
        let mut s = State::new();
        let service = |id| job(id, Service, "dc1", "default");
        let (s1, s2) = (service("s1"), service("s2"));
        let b1 = job("b1", Batch, "dc1", "default");
        let (y1, y2, y3) =
            (job("y1", System, "dc*", "all"), job("y2", System, "dc2", "default"), job("y3", System, "dc1", "other"));
        let y4 = Job { stop: true, ..job("y4", System, "dc1", "default") };
        for j in [&s1, &s2, &b1, &y1, &y2, &y3, &y4] {
            s.upsert_job(Arc::new(j.clone()));
        }
        s.upsert_node(Arc::new(node(Down)));
        s.upsert_allocs([
            alloc("a1", &s1, Run, Running),
            alloc("a2", &s1, Run, Running),
            alloc("a3", &s2, Stop, Complete),
            alloc("a4", &b1, Run, Complete),
            alloc("a5", &y1, Run, Running),
            alloc("a6", &y2, Run, Running),
            alloc("a7", &job("sb", Sysbatch, "dc1", "all"), Run, Running),
        ]);
        let evals = run(&s).unwrap();
        assert_eq!(evals.iter().map(|e| e.job_id.as_str()).collect::<Vec<_>>(), ["s1", "y1"]);
        let want = Evaluation {
            id: "e1".into(),
            namespace: "default".into(),
            priority: 70,
            r#type: JobType::Service,
            triggered_by: EvalTrigger::NodeUpdate,
            job_id: "s1".into(),
            node_id: "n".into(),
            node_modify_index: 42,
            status: EvalStatus::Pending,
            create_time: 7,
            modify_time: 7,
            ..Evaluation::default()
        };
        assert_eq!(evals[0], want);
        // A deregistration has the same effect.
        s.remove_node("n");
        assert_eq!(run(&s).unwrap(), evals);
    }

    #[test]
    fn which_allocations_count() {
        for (kind, desired, client, counts) in [
            (Service, Run, Running, true),
            (Service, Stop, Running, true),
            (Service, Run, Failed, true),
            (Service, Stop, Complete, false),
            (Batch, Run, Running, true),
            (Batch, Stop, Running, true),
            (Batch, Run, Unknown, true),
            (Batch, Run, Failed, false),
            (Batch, Run, Lost, false),
            (Sysbatch, Run, Running, false),
            (System, Run, Running, false),
        ] {
            let mut s = State::new();
            s.upsert_node(Arc::new(node(Ready)));
            let what = format!("{kind} {desired} {client}");
            s.upsert_allocs([alloc("a", &job("j", kind, "dc1", "default"), desired, client)]);
            // An empty list is written, too.
            assert_eq!(run(&s).unwrap().len(), usize::from(counts), "{what}");
        }
        let mut s = State::new();
        s.upsert_node(Arc::new(node(Ready)));
        s.upsert_job(Arc::new(job("y", System, "dc2", "default")));
        assert_eq!(run(&s), None);
    }

    #[test]
    fn missed_heartbeats() {
        let with = |lost_after, client, desired| {
            let disconnect = Some(DisconnectStrategy { lost_after, ..DisconnectStrategy::default() });
            let group = TaskGroup { name: "g".into(), disconnect, ..TaskGroup::default() };
            let job = Job { task_groups: vec![group], ..Job::default() };
            Allocation {
                task_group: "g".into(),
                alloc_states: vec![AllocState { field: 0, value: Unknown, time: Time::from_unix_nanos(100 * SECOND) }],
                ..Allocation::clone(&alloc("a", &job, desired, client))
            }
        };
        let minute = 60 * SECOND;
        for (why, status, a, now, want) in [
            ("it may reconnect", Ready, with(minute, Running, Run), 0, Disconnected),
            ("before the deadline", Disconnected, with(minute, Unknown, Run), 159 * SECOND, Disconnected),
            ("after the deadline", Disconnected, with(minute, Unknown, Run), 160 * SECOND, Down),
            ("no disconnect block", Ready, with(0, Running, Run), 0, Down),
            ("to be stopped anyway", Ready, with(minute, Running, Stop), 0, Down),
            ("never came up", Initializing, with(minute, Running, Run), 0, Down),
            ("down already", Down, with(minute, Running, Run), 0, Down),
        ] {
            assert_eq!(missed_heartbeat_status(&node(status), [&a], now), want, "{why}");
        }
        assert_eq!(missed_heartbeat_status(&node(Ready), [], 0), Down);
    }

    #[test]
    fn requested_statuses() {
        let ask = |n: &Node, status, live, pool| {
            let d = decide_status(n, status, None, live, pool, 5);
            let event = d.event.as_ref().map_or("", |e| e.message.as_str()).to_string();
            (d.status.clone(), event, d.changes(n))
        };
        let got = |status, event: &str, changes| (status, event.to_string(), changes);
        assert_eq!(ask(&node(Initializing), Ready, false, true), got(Ready, "", true));
        assert_eq!(ask(&node(Ready), Ready, true, true), got(Ready, "", false));
        assert_eq!(ask(&node(Disconnected), Ready, false, true), got(Initializing, "", true));
        assert_eq!(ask(&node(Disconnected), Down, false, true), got(Down, "", true));
        assert_eq!(ask(&node(Down), Ready, false, true), got(Ready, REREGISTERED_BY_HEARTBEAT, true));
        assert_eq!(ask(&node(Down), Down, false, true), got(Down, "", false));
        let mut n = Node { last_missed_heartbeat_index: 10, last_alloc_update_index: 10, ..node(Initializing) };
        assert_eq!(ask(&n, Ready, true, true), got(Initializing, "", false), "it must report its allocations first");
        assert_eq!(ask(&n, Ready, false, true), got(Ready, "", true));
        n.last_alloc_update_index = 11;
        assert_eq!(ask(&n, Ready, true, true), got(Ready, "", true));
        assert_eq!(ask(&n, Ready, true, false), got(Ready, "", true), "the default pool need not be stored");
        n.node_pool = "gpu".into();
        assert_eq!(ask(&n, Ready, true, false), got(Initializing, WAITING_FOR_POOL, true));
        let event = decide_status(&n, Ready, None, true, false, 5).event.unwrap();
        assert_eq!((event.details["node_pool"].as_str(), event.subsystem.as_str()), ("gpu", "Cluster"));
        n.events.push(event);
        assert_eq!(ask(&n, Ready, true, false), got(Initializing, "", false), "the event is added only once");
        let missed = cluster_event(HEARTBEAT_MISSED, 5);
        let d = decide_status(&node(Ready), Down, Some(missed.clone()), false, true, 5);
        assert_eq!(d, StatusDecision { status: Down, event: Some(missed) });
    }

    #[test]
    fn transitions() {
        let all = [Initializing, Ready, Down, Disconnected];
        let pairs = all.iter().flat_map(|a| all.iter().map(move |b| (a.clone(), b.clone())));
        let made: Vec<_> = pairs.filter(|(a, b)| transition_makes_evals(a, b)).collect();
        let want = [
            (Initializing, Ready),
            (Initializing, Down),
            (Initializing, Disconnected),
            (Ready, Down),
            (Ready, Disconnected),
            (Down, Ready),
            (Down, Down),
            (Down, Disconnected),
            (Disconnected, Initializing),
            (Disconnected, Ready),
            (Disconnected, Down),
        ];
        assert_eq!(made, want);
    }

    #[test]
    fn registrations() {
        let ready = node(Ready);
        assert!(registration_makes_evals(None, &ready));
        assert!(!registration_makes_evals(None, &node(Initializing)));
        assert!(!registration_makes_evals(Some(&ready), &ready));
        assert!(registration_makes_evals(Some(&node(Down)), &ready));
        let text = |s: &str| s.to_string();
        let changed: [Node; 9] = [
            Node { id: text("m"), ..ready.clone() },
            Node { datacenter: text("dc2"), ..ready.clone() },
            Node { name: text("x"), ..ready.clone() },
            Node { node_class: text("x"), ..ready.clone() },
            Node { attributes: [(text("k"), text("v"))].into(), ..ready.clone() },
            Node { meta: [(text("k"), text("v"))].into(), ..ready.clone() },
            Node { drivers: [(text("exec"), Default::default())].into(), ..ready.clone() },
            Node { host_volumes: [(text("v"), Default::default())].into(), ..ready.clone() },
            Node {
                node_resources: Some(
                    NodeResources { devices: vec![NodeDeviceResource::default()], ..NodeResources::default() }.into(),
                ),
                ..ready.clone()
            },
        ];
        for n in &changed {
            assert!(registration_makes_evals(Some(&ready), n));
        }
        let mut larger = ready.clone();
        larger.node_resources = Some(NodeResources::default().into());
        assert!(!registration_makes_evals(Some(&ready), &larger), "blocked evaluations cover sizes");
    }
}
