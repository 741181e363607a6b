//! A cluster with one of each object, all of which have the same name.

use serde_json::{Value, json};

use super::cluster::Canned;
use crate::visit::path;

/// The ID of an allocation.
pub(super) const ALLOC: &str = "11111111-aaaa-4aaa-8aaa-111111111111";
/// The ID of the allocation that preempted it.
pub(super) const OTHER: &str = "22222222-aaaa-4aaa-8aaa-222222222222";
/// The ID of an evaluation.
pub(super) const EVAL: &str = "33333333-aaaa-4aaa-8aaa-333333333333";
/// The ID of a deployment.
pub(super) const DEPLOYMENT: &str = "44444444-aaaa-4aaa-8aaa-444444444444";
/// The ID of a client.
pub(super) const NODE: &str = "55555555-aaaa-4aaa-8aaa-555555555555";

/// The namespace of the objects: servers allow no `@` in names of namespaces.
pub(super) fn namespace(name: &str) -> String {
    name.replace('@', "-")
}

pub(super) fn job(name: &str) -> Value {
    json!({
        "ID": name, "Name": name, "Namespace": namespace(name), "Type": "service", "Priority": 50, "Datacenters": [name],
        "NodePool": name, "Status": "running", "StatusDescription": name, "Version": 3, "Stop": false,
        "Meta": { "description": name, name: name }, "SubmitTime": 1_700_000_000_000_000_000_i64,
        "VersionTag": { "Name": name, "Description": name }, "Periodic": null, "ParameterizedJob": null,
        "TaskGroups": [{ "Name": name, "Count": 2, "Tasks": [{ "Name": name, "Driver": name }] }],
        "JobSummary": { "Summary": { name: { "Running": 1, "Failed": 1, "Queued": 1 } } },
    })
}

pub(super) fn allocation(name: &str) -> Value {
    let states = json!({ name: { "State": "running", "Failed": false, "Restarts": 1, "StartedAt": null, "Events": [
        { "Type": name, "Time": 1, "DisplayMessage": name },
    ] } });
    let cpu = json!({ "Cpu": { "CpuShares": 100 }, "Memory": { "MemoryMB": 64 }, "Devices": [
        { "Vendor": name, "Type": name, "Name": name, "DeviceIDs": [name] },
    ] });
    json!({
        "ID": ALLOC, "Name": name, "Namespace": namespace(name), "JobID": name, "Job": job(name), "TaskGroup": name,
        "NodeID": NODE, "NodeName": name, "EvalID": EVAL, "DeploymentID": DEPLOYMENT, "ClientStatus": "running",
        "ClientDescription": name, "DesiredStatus": "run", "DesiredDescription": name, "TaskStates": states,
        "PreemptedByAllocation": OTHER, "PreemptedAllocations": [OTHER], "CreateTime": 1, "ModifyTime": 2,
        "DeploymentStatus": { "Healthy": false, "Canary": true }, "Metrics": metric(name),
        "AllocatedResources": {
            "Tasks": { name: cpu },
            "Shared": { "DiskMB": 300, "Ports": [{ "Label": name, "Value": 8080, "To": 80, "HostIP": name }] },
        },
    })
}

fn metric(name: &str) -> Value {
    json!({
        "NodesEvaluated": 3, "NodesFiltered": 1, "NodesExhausted": 2, "NodesInPool": 3, "CoalescedFailures": 1,
        "ConstraintFiltered": { name: 1 }, "DimensionExhausted": { "memory": 2 }, "QuotaExhausted": [name],
        "ClassFiltered": null, "ScoreMetaData": [{ "NodeID": NODE, "Scores": { name: 0.5 }, "NormScore": 0.5 }],
    })
}

pub(super) fn evaluation(name: &str) -> Value {
    json!({
        "ID": EVAL, "Namespace": namespace(name), "JobID": name, "Type": "service", "Priority": 50, "TriggeredBy": name,
        "Status": "blocked", "StatusDescription": name, "FailedTGAllocs": { name: metric(name) },
        "QueuedAllocations": { name: 2 }, "MissingNonNodeResources": [name], "CreateTime": 1, "ModifyTime": 2,
        "RelatedEvals": [{ "ID": OTHER, "JobID": name, "Status": name, "TriggeredBy": name }],
        "PlanRejections": [{ "NodeID": NODE, "NodeName": name, "Reason": name, "TaskGroups": { name: 1 } }],
    })
}

pub(super) fn deployment(name: &str) -> Value {
    json!({
        "ID": DEPLOYMENT, "Namespace": namespace(name), "JobID": name, "JobVersion": 3, "Status": "running",
        "StatusDescription": name, "CreateTime": 1, "ModifyTime": 2,
        "TaskGroups": { name: { "DesiredCanaries": 1, "PlacedCanaries": [ALLOC], "DesiredTotal": 2, "HealthyAllocs": 1 } },
    })
}

fn diff(name: &str) -> Value {
    let field = json!({ "Type": "Edited", "Name": name, "Old": name, "New": name });
    let object = json!({ "Type": "Added", "Name": name, "Fields": [field], "Objects": [] });
    let task = json!({ "Type": "Edited", "Name": name, "Fields": [field], "Objects": [object] });
    json!({ "Type": "Edited", "ID": name, "Fields": [field], "Objects": [object], "TaskGroups": [
        { "Type": "Edited", "Name": name, "Fields": [field], "Objects": null, "Tasks": [task] },
    ] })
}

/// All answers for the pages of workloads.
pub(super) fn fill(cluster: Canned, name: &str) -> Canned {
    let of_job = |part: &str| path("/v1/job/", name, part);
    let file = json!({ "Name": name, "IsDir": true, "Size": 1, "FileMode": name, "ModTime": null });
    let node = json!({ "ID": NODE, "Name": name, "Datacenter": name, "Status": "down", "StatusDescription": name });
    cluster
        .get("/v1/jobs", json!([job(name)]))
        .get("/v1/allocations", json!([allocation(name)]))
        .get("/v1/evaluations", json!([evaluation(name)]))
        .get("/v1/deployments", json!([deployment(name)]))
        .get("/v1/nodes", json!([node]))
        .get("/v1/namespaces", json!([{ "Name": name }, { "Name": "default" }]))
        .get("/v1/operator/autopilot/health", json!({ "Healthy": true, "Servers": [{ "Name": name, "Leader": true }] }))
        .get(&of_job(""), job(name))
        .get(&of_job("/summary"), json!({ "Summary": { name: { "Running": 1 } } }))
        .get(&of_job("/evaluations"), json!([evaluation(name)]))
        .get(&of_job("/allocations"), json!([allocation(name)]))
        .get(&of_job("/deployments"), json!([deployment(name)]))
        .get(&of_job("/deployment"), deployment(name))
        .get(&of_job("/versions"), json!({ "Versions": [job(name), job(name)], "Diffs": [diff(name)] }))
        .get(&of_job("/submission"), json!({ "Source": name, "Variables": name, "VariableFlags": { name: name } }))
        .get(
            &of_job("/scale"),
            json!({ "TaskGroups": { name: { "Events": [{ "Time": 1, "Count": 2, "Message": name }] } } }),
        )
        .get(
            &of_job("/actions"),
            json!([{ "Name": name, "Command": name, "Args": [name], "TaskName": name, "TaskGroupName": name }]),
        )
        .get(&path("/v1/allocation/", ALLOC, ""), allocation(name))
        .get(&path("/v1/evaluation/", EVAL, ""), evaluation(name))
        .get(&path("/v1/evaluation/", EVAL, "/allocations"), json!([allocation(name)]))
        .get(&path("/v1/deployment/", DEPLOYMENT, ""), deployment(name))
        .get(&path("/v1/deployment/allocations/", DEPLOYMENT, ""), json!([allocation(name)]))
        .get(&path("/v1/client/fs/stat/", ALLOC, ""), file.clone())
        .get(&path("/v1/client/fs/ls/", ALLOC, ""), json!([file]))
        .get(&path("/v1/client/fs/logs/", ALLOC, ""), json!(name))
        .answer(
            "POST",
            "/v1/search",
            axum::http::StatusCode::OK,
            json!({ "Matches": { "nodes": [NODE], "evals": null } }),
        )
        .answer(
            "POST",
            "/v1/search/fuzzy",
            axum::http::StatusCode::OK,
            json!({ "Matches": {
            "jobs": [{ "ID": name, "Scope": [namespace(name), name] }],
            "tasks": [{ "ID": name, "Scope": [namespace(name), name, name] }],
            "vars": [{ "ID": name, "Scope": [namespace(name), name] }],
            "plugins": [{ "ID": name, "Scope": null }],
        } }),
        )
}
