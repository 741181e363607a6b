//! The jobs to evaluate after a node change (`docs/spec/server.md §9`).

use std::collections::HashSet;
use std::sync::Arc;

use encamp_model::{Allocation, EvalTrigger, Evaluation, Job, JobType, Node, NodeEvent, NodeStatus, Text};
use encamp_scheduler::candidates::covers;
use encamp_state::State;

/// Subsystem of events about cluster membership.
pub const CLUSTER: &str = "Cluster";
/// Event of a node whose identity was revoked, and the description of its status.
pub(crate) const IDENTITY_REVOKED: &str = "Node identity revoked";

/// Returns an event of subsystem `Cluster` with this message.
pub fn cluster_event(message: &str, now: i64) -> NodeEvent {
    NodeEvent::new(CLUSTER, message, now)
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
        concerns(a, job).then_some((&*a.namespace, &*a.job_id, job))
    });
    let of_system = system.iter().map(|job| (&*job.namespace, &*job.id, *job));
    let jobs = of_allocs.chain(of_system).filter(|(namespace, id, _)| seen.insert((*namespace, *id)));
    let evals = jobs.map(|(_, _, job)| Evaluation {
        node_id: Text::from(&node.id),
        node_modify_index: index,
        ..Evaluation::pending(job, EvalTrigger::NodeUpdate, now, new_id())
    });
    Some(evals.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_model::{ClientStatus, DesiredStatus, EvalStatus, NodeDeviceResource, NodeResources, Text};

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
            namespace: Text::from(&job.namespace),
            job_id: Text::from(&job.id),
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
