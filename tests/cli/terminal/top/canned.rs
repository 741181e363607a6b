//! A cluster of fixed answers: the same job in two namespaces, one of which cannot be placed.

use serde_json::{Value, json};

use crate::server::{Request, Response, Server};

/// Starts the cluster.
pub(super) fn cluster() -> Server {
    Server::start(answer)
}

fn answer(request: &Request) -> Response {
    let namespace = request.param("namespace").unwrap_or("default");
    let body = match request.path.as_str() {
        "/v1/jobs" => within(namespace, jobs()),
        "/v1/namespaces" => json!([{"Name": "default"}, {"Name": "prod"}]),
        "/v1/allocations" | "/v1/job/web/allocations" => within(namespace, allocations()),
        "/v1/nodes" => nodes(),
        "/v1/deployments" => within(namespace, deployments()),
        "/v1/evaluations" => within(namespace, evaluations()),
        "/v1/agent/members" => json!({"Members": [{
            "Name": "server-1.global", "Addr": "10.0.0.1", "Port": 4648, "Status": "alive",
            "Tags": {"build": "2.0.5", "region": "global"}
        }]}),
        "/v1/metrics" => metrics(),
        "/v1/job/web" => json!({"ID": "web", "Namespace": namespace, "TaskGroups": [
            {"Name": "front", "Count": 3}, {"Name": "cache", "Count": 1}
        ]}),
        "/v1/event/stream" => return Response::stream(&events()),
        path if path.starts_with("/v1/allocation/") => {
            json!({"TaskStates": {"server": {"State": "running"}, "init": {"State": "dead"}, "agent": {"State": "running"}}})
        }
        path if path.starts_with("/v1/client/fs/logs/") => {
            let task = request.param("task").unwrap_or_default();
            let output = request.param("type").unwrap_or_default();
            let lines: String = (1..=3).map(|n| format!("{output}: line {n} of {task}\n")).collect();
            return Response::stream(&lines);
        }
        path => return Response::text(404, &format!("no answer to {path}")),
    };
    Response::json(&body)
}

/// The objects of a namespace; `*` for all.
fn within(namespace: &str, all: Value) -> Value {
    let all = all.as_array().cloned().unwrap_or_default();
    all.into_iter().filter(|o| namespace == "*" || o["Namespace"] == namespace).collect()
}

fn jobs() -> Value {
    let job = |namespace: &str, id: &str, running: u64, queued: u64| {
        json!({
            "ID": id, "Namespace": namespace, "Type": "service", "Status": "running",
            "JobSummary": {"Summary": {"front": {"Running": running, "Queued": queued}}}
        })
    };
    json!([job("default", "web", 3, 0), job("default", "api", 2, 0), job("prod", "web", 1, 2)])
}

fn allocations() -> Value {
    let allocation = |id: &str, namespace: &str, job: &str, node: &str, status: &str| {
        json!({
            "ID": format!("{id}-0000-4000-8000-000000000000"), "Namespace": namespace, "JobID": job,
            "Name": format!("{job}.front[0]"), "TaskGroup": "front", "NodeID": format!("{node}-0000"),
            "NodeName": format!("node-{node}"), "ClientStatus": status, "DesiredStatus": "run",
            "AllocatedResources": {"Tasks": {"t": {"Cpu": {"CpuShares": 1500}, "Memory": {"MemoryMB": 3000}}}}
        })
    };
    json!([
        allocation("a1", "default", "web", "n1", "running"),
        allocation("a2", "default", "api", "n1", "running"),
        allocation("a3", "prod", "web", "n2", "running"),
        allocation("a4", "prod", "web", "n2", "failed")
    ])
}

fn nodes() -> Value {
    let node = |id: &str, dc: &str, status: &str, drain: bool| {
        let eligibility = if drain { "ineligible" } else { "eligible" };
        json!({
            "ID": format!("{id}-0000"), "Name": format!("node-{id}"), "Datacenter": dc, "NodePool": "default",
            "Status": status, "SchedulingEligibility": eligibility, "Drain": drain,
            "NodeResources": {"Cpu": {"CpuShares": 4000}, "Memory": {"MemoryMB": 8000}}
        })
    };
    json!([node("n1", "dc1", "ready", false), node("n2", "dc1", "ready", true), node("n3", "dc2", "down", false)])
}

fn deployments() -> Value {
    json!([{
        "ID": "d1d1d1d1-0000", "Namespace": "prod", "JobID": "web", "JobVersion": 4, "Status": "running",
        "StatusDescription": "Deployment is running but requires manual promotion",
        "TaskGroups": {"front": {"DesiredCanaries": 1, "Promoted": false}}
    }])
}

fn evaluations() -> Value {
    let evaluation = |id: &str, namespace: &str, status: &str| {
        json!({
            "ID": format!("{id}-0000-0000"), "Namespace": namespace, "JobID": "web", "Type": "service",
            "TriggeredBy": "job-register", "Status": status
        })
    };
    json!([evaluation("e1e1e1e1", "default", "complete"), evaluation("e2e2e2e2", "prod", "blocked")])
}

fn metrics() -> Value {
    let gauge = |name: &str, value: f64| json!({"Name": format!("nomad.nomad.{name}"), "Value": value});
    json!({
        "Gauges": [
            gauge("broker.total_ready", 2.0), gauge("broker.total_unacked", 1.0), gauge("broker.total_pending", 0.0),
            gauge("broker.total_waiting", 0.0), gauge("broker.service.ready", 2.0),
            gauge("blocked_evals.total_blocked", 1.0), gauge("plan.queue_depth", 0.0), gauge("heartbeat.active", 3.0)
        ],
        "Samples": [{"Name": "nomad.nomad.plan.apply", "Mean": 0.75, "Count": 4}]
    })
}

fn events() -> String {
    let event = |topic: &str, kind: &str, key: &str, namespace: &str, about: Value| json!({"Topic": topic, "Type": kind, "Key": key, "Namespace": namespace, "Payload": {topic: about}});
    let lines = [
        json!({"Index": 41, "Events": [
            event("Job", "JobRegistered", "web", "prod", json!({"ID": "web", "Status": "pending"})),
            event("Evaluation", "JobRegistered", "e2e2e2e2-0000-0000", "prod", json!({"JobID": "web", "Status": "blocked"}))
        ]}),
        json!({"Index": 42, "Events": [
            event("Node", "NodeDrain", "n2-0000", "default", json!({"Name": "node-n2", "Status": "ready"}))
        ]}),
        json!({"Index": 43, "Events": [event(
            "Allocation", "AllocationUpdated", "a4-0000-4000-8000-000000000000", "prod",
            json!({"Name": "web.front[0]", "ClientStatus": "failed"})
        )]}),
    ];
    lines.iter().map(|line| format!("{line}\n")).collect()
}
