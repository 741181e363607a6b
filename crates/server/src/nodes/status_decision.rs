//! The status of a node that sends or misses heartbeats (`docs/spec/server.md §9`).

use std::collections::BTreeMap;

use crate::fsm::node_evals::cluster_event;
use encamp_model::{Allocation, DesiredStatus, Node, NodeEvent, NodeStatus};
use encamp_scheduler::disconnect::{expired, lost_after};

/// Event of a node that returned without registering again.
pub(crate) const REREGISTERED_BY_HEARTBEAT: &str = "Node reregistered by heartbeat";
/// Event of a node that missed its heartbeat.
pub const HEARTBEAT_MISSED: &str = "Node heartbeat missed";
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use encamp_model::{AllocState, ClientStatus, DisconnectStrategy, Job, SECOND, TaskGroup, Time};

    use ClientStatus::{Running, Unknown};
    use DesiredStatus::{Run, Stop};
    use NodeStatus::{Disconnected, Down, Initializing, Ready};

    fn node(status: NodeStatus) -> Node {
        Node { id: "n".into(), datacenter: "dc1".into(), node_pool: "default".into(), status, ..Node::default() }
    }

    #[test]
    fn missed_heartbeats() {
        let with = |lost_after, client, desired| {
            let disconnect = Some(DisconnectStrategy { lost_after, ..DisconnectStrategy::default() });
            let group = TaskGroup { name: "g".into(), disconnect, ..TaskGroup::default() };
            let job = Job { task_groups: vec![group], ..Job::default() };
            Allocation {
                task_group: "g".into(),
                alloc_states: [AllocState { field: 0, value: Unknown, time: Time::from_unix_nanos(100 * SECOND) }]
                    .into(),
                job: Some(Arc::new(job)),
                desired_status: desired,
                client_status: client,
                ..Allocation::default()
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
}
