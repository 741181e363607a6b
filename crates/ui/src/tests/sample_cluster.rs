//! The answers for the pages of a cluster: one of each object, all of which have the same name.

use serde_json::{Value, json};

use super::cluster::Canned;
use super::sample::{ALLOC, NODE, allocation, fill, namespace};
use crate::visit::{encoded, path, with_query};

fn node(name: &str) -> Value {
    json!({
        "ID": NODE, "Name": name, "Datacenter": name, "NodePool": name, "NodeClass": name, "Status": "ready",
        "SchedulingEligibility": "eligible", "StatusDescription": name, "HTTPAddr": name, "Version": name, "Address": name,
        "Attributes": { "nomad.version": name, name: name }, "Meta": { name: name },
        "NodeResources": { "Cpu": { "CpuShares": 4000 }, "Memory": { "MemoryMB": 8192 }, "Disk": { "DiskMB": 10000 },
            "Devices": [{ "Vendor": name, "Type": name, "Name": name, "Instances": [{ "ID": name, "Healthy": false }] }] },
        "Drivers": { name: { "Detected": true, "HealthDescription": name } },
        "HostVolumes": { name: { "Path": name, "ID": name } },
        "CSINodePlugins": { name: { "Healthy": true } }, "CSIControllerPlugins": { name: { "Healthy": true } },
        "Events": [{ "Message": name, "Subsystem": name, "Details": { name: name }, "Timestamp": "2026-11-30T00:00:00Z" }],
        "DrainStrategy": { "Deadline": 1, "StartedAt": "2026-11-30T00:00:00Z", "ForceDeadline": "2026-11-30T00:00:00Z" },
        "LastDrain": { "Meta": { "message": name } },
    })
}

fn volume(name: &str) -> Value {
    json!({
        "ID": name, "Name": name, "Namespace": namespace(name), "PluginID": name, "Provider": name, "NodeID": NODE,
        "NodePool": name, "State": name, "AccessMode": name, "AttachmentMode": name, "ExternalID": name, "HostPath": name,
        "Parameters": { name: name }, "Context": { name: name }, "Constraints": [{ "LTarget": name, "RTarget": name, "Operand": "=" }],
        "RequestedCapabilities": [{ "AccessMode": name, "AttachmentMode": name }], "Allocations": [allocation(name)],
        "Controllers": { NODE: { "AllocID": ALLOC, "Healthy": false, "HealthDescription": name } }, "Nodes": null,
    })
}

/// All answers, those for the pages of workloads among them.
pub(super) fn fill_all(cluster: Canned, name: &str) -> Canned {
    let named = |before: &str| path(before, name, "");
    let policy = json!({ "Name": name, "Description": name, "Rules": name, "JobACL": { "Namespace": namespace(name), "JobID": name, "Group": name, "Task": name },
        "RulesJSON": { "Namespaces": [{ "Name": name, "Policy": name, "Capabilities": [name], "Variables": { "Paths": [{ "PathSpec": name, "Capabilities": [name] }] } }] } });
    let role = json!({ "ID": name, "Name": name, "Description": name, "Policies": [{ "Name": name }] });
    let token = json!({ "AccessorID": name, "SecretID": name, "Name": name, "Type": "management", "Policies": [name], "Roles": [{ "ID": name, "Name": name }] });
    let method = json!({ "Name": name, "Type": "OIDC", "TokenNameFormat": name });
    let rule = json!({ "ID": name, "Description": name, "AuthMethod": name, "Selector": name, "BindType": "role", "BindName": name });
    let variable = json!({ "Namespace": namespace(name), "Path": name, "ModifyIndex": 1, "Items": { name: name }, "Lock": { "ID": name } });
    let namespace_object = json!({ "Name": name, "Description": name, "Quota": name, "Meta": { name: name },
        "Capabilities": { "EnabledTaskDrivers": [name] }, "NodePoolConfiguration": { "Default": name, "Allowed": [name] } });
    let pool = json!({ "Name": name, "Description": name, "Meta": { name: name }, "SchedulerConfiguration": { "SchedulerAlgorithm": name } });
    let service = json!({ "ID": name, "ServiceName": name, "Namespace": namespace(name), "JobID": name, "AllocID": ALLOC, "NodeID": NODE, "Address": name, "Port": 1, "Tags": [name], "Datacenter": name });
    let claim = json!({ "ID": name, "Namespace": namespace(name), "JobID": name, "TaskGroupName": name, "AllocID": ALLOC, "VolumeID": name, "VolumeName": name });
    fill(cluster, name)
        .instead("/v1/nodes", json!([node(name)]))
        .instead("/v1/namespaces", json!([namespace_object]))
        .get(&path("/v1/node/", NODE, ""), node(name))
        .get(&path("/v1/node/", NODE, "/allocations"), json!([allocation(name)]))
        .get(
            "/v1/agent/members",
            json!({ "Members": [{ "Name": name, "Addr": name, "Status": name, "Tags": { "dc": name, name: name } }] }),
        )
        .get(
            "/v1/metrics",
            json!({ "Timestamp": name, "Gauges": [{ "Name": "nomad.nomad.plan.queue_depth", "Value": 1 }] }),
        )
        .get(
            "/v1/services",
            json!([{ "Namespace": namespace(name), "Services": [{ "ServiceName": name, "Tags": [name] }] }]),
        )
        .get(&named("/v1/service/"), json!([service]))
        .get("/v1/vars", json!([variable]))
        .get(&named("/v1/var/"), variable)
        .get("/v1/volumes", json!([volume(name)]))
        .get(&named("/v1/volume/host/"), volume(name))
        .get(&named("/v1/volume/csi/"), volume(name))
        .get("/v1/volumes/claims", json!([claim]))
        .get("/v1/plugins", json!([volume(name)]))
        .get(&named("/v1/plugin/csi/"), volume(name))
        .get(&named("/v1/namespace/"), namespace_object)
        .get("/v1/node/pools", json!([pool]))
        .get(&named("/v1/node/pool/"), pool)
        .get(&path("/v1/node/pool/", name, "/nodes"), json!([node(name)]))
        .get("/v1/acl/policies", json!([policy]))
        .get(&named("/v1/acl/policy/"), policy)
        .get("/v1/acl/roles", json!([role]))
        .get(&named("/v1/acl/role/"), role)
        .get("/v1/acl/tokens", json!([token]))
        .get("/v1/acl/token/self", token.clone())
        .get(&named("/v1/acl/token/"), token)
        .get("/v1/acl/auth-methods", json!([method]))
        .get(&named("/v1/acl/auth-method/"), method)
        .get("/v1/acl/binding-rules", json!([rule]))
        .get(&named("/v1/acl/binding-rule/"), rule)
}

/// The addresses of the pages.
pub(super) fn addresses(name: &str) -> Vec<String> {
    let fixed = [
        "/ui/topology",
        "/ui/topology?colour=job",
        "/ui/topology?colour=version&group=class",
        "/ui/clients",
        "/ui/servers",
        "/ui/services",
        "/ui/variables",
        "/ui/variables/new",
        "/ui/storage",
        "/ui/storage/volumes/csi",
        "/ui/storage/claims",
        "/ui/storage/plugins",
        "/ui/namespaces",
        "/ui/access",
        "/ui/access-control/roles",
        "/ui/access-control/tokens",
        "/ui/access-control/auth-methods",
        "/ui/access-control/binding-rules",
        "/ui/settings/tokens",
    ];
    let plain = [
        "/ui/servers/",
        "/ui/storage/plugins/",
        "/ui/namespaces/",
        "/ui/pools/",
        "/ui/access-control/policies/",
        "/ui/access-control/roles/",
        "/ui/access-control/tokens/",
        "/ui/access-control/auth-methods/",
        "/ui/access-control/binding-rules/",
    ];
    let in_namespace = ["/ui/services/", "/ui/variables/var/", "/ui/storage/volumes/host/", "/ui/storage/volumes/csi/"];
    let mut all: Vec<String> = fixed.map(str::to_string).to_vec();
    all.extend(plain.map(|before| path(before, name, "")));
    all.extend(in_namespace.map(|before| format!("{before}{}@{}", encoded(name), encoded(&namespace(name)))));
    all.push(format!("/ui/variables/var/{}@{}/edit", encoded(name), encoded(&namespace(name))));
    all.push(format!("/ui/clients/{NODE}"));
    let lists = ["/ui/clients", "/ui/topology", "/ui/services", "/ui/storage", "/ui/variables"];
    for searched in [["q", "only", "job"], ["prefix", "name", "group"]] {
        let query = searched.map(|parameter| (parameter, name));
        all.extend(lists.map(|path| with_query(path, &query)));
    }
    all
}
