//! Every map and block of a job in every state: absent, empty, with values; in both directions.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::diff_jobs;
use encamp_model::{DiffType, FieldDiff, Job, ObjectDiff};

/// A job that has a parent for each of the maps and blocks.
fn base() -> Value {
    let service = json!({
        "Name": "s", "PortLabel": "p", "Checks": [{"Name": "c"}],
        "Connect": {
            "SidecarService": {"Proxy": {"Upstreams": [{"DestinationName": "u"}]}}, "SidecarTask": {"Name": "side"},
            "Gateway": {"Proxy": {}, "Ingress": {"Listeners": [{"Port": 1, "Services": [{"Name": "i"}]}]}},
        },
    });
    let task = json!({
        "Name": "t", "Driver": "raw_exec", "Artifacts": [{"GetterSource": "s", "RelativeDest": "d"}],
        "Templates": [{"DestPath": "d"}], "Secrets": [{"Name": "s", "Provider": "nomad", "Path": "p"}],
        "Resources": {"CPU": 1},
    });
    let group = json!({
        "Name": "g", "Count": 1, "Tasks": [task], "Services": [service], "Scaling": {"Max": 3},
        "Volumes": {"v": {"Name": "v", "Type": "host"}},
    });
    json!({"ID": "j", "Name": "j", "Type": "service", "TaskGroups": [group]})
}

const GROUP: &str = "/TaskGroups/0";
const TASK: &str = "/TaskGroups/0/Tasks/0";
const SERVICE: &str = "/TaskGroups/0/Services/0";
const CONNECT: &str = "/TaskGroups/0/Services/0/Connect";

/// The job with a value at a place.
fn with(parent: &str, member: &str, value: &Value) -> Job {
    let mut job = base();
    let object = job.pointer_mut(parent).and_then(Value::as_object_mut);
    object.unwrap_or_else(|| panic!("{parent} is no object")).insert(member.into(), value.clone());
    serde_json::from_value(job).unwrap_or_else(|e| panic!("{parent}/{member} {value}: {e}"))
}

/// Types of all objects and fields that changed, by their place; those of groups and tasks, too.
type Shown = BTreeMap<String, Vec<DiffType>>;

fn note(shown: &mut Shown, at: &str, kind: &DiffType) {
    if *kind != DiffType::None {
        shown.entry(at.to_string()).or_default().push(kind.clone());
    }
}

fn note_all(shown: &mut Shown, at: &str, fields: &[FieldDiff], objects: &[ObjectDiff]) {
    fields.iter().for_each(|f| note(shown, &format!("{at}.{}", f.name), &f.r#type));
    for o in objects {
        let at = format!("{at}/{}", o.name);
        note(shown, &at, &o.r#type);
        note_all(shown, &at, &o.fields, &o.objects);
    }
}

fn shown(old: &Job, new: &Job, contextual: bool) -> Shown {
    let diff = diff_jobs(Some(old), Some(new), contextual).expect("the same job");
    let mut out = Shown::new();
    note_all(&mut out, "job", &diff.fields, &diff.objects);
    for g in &diff.task_groups {
        note(&mut out, "group", &g.r#type);
        note_all(&mut out, "group", &g.fields, &g.objects);
        for t in &g.tasks {
            note(&mut out, "task", &t.r#type);
            note_all(&mut out, "task", &t.fields, &t.objects);
        }
    }
    out.values_mut().for_each(|kinds| kinds.sort());
    out
}

/// What is added is deleted in the other direction.
fn mirrored(shown: Shown) -> Shown {
    let turn = |kind: DiffType| match kind {
        DiffType::Added => DiffType::Deleted,
        DiffType::Deleted => DiffType::Added,
        _ => kind,
    };
    let entries = shown.into_iter().map(|(at, kinds)| {
        let mut kinds: Vec<DiffType> = kinds.into_iter().map(turn).collect();
        kinds.sort();
        (at, kinds)
    });
    entries.collect()
}

/// How a map is shown.
enum As {
    /// An object at that place, with a field for each entry; what follows the key in the names of the fields.
    Object(&'static str, &'static str),
    /// Fields `Name[key]` at that place.
    Fields(&'static str),
}

#[test]
fn maps_without_entries_are_absent() {
    let text = |text: &str| json!(text);
    let list = |text: &str| json!([text]);
    let bind = |text: &str| json!({"Address": text, "Port": 1});
    type Make = fn(&str) -> Value;
    let maps: [(&str, &str, Make, As); 25] = [
        ("", "Meta", text, As::Fields("job.Meta")),
        (GROUP, "Meta", text, As::Fields("group.Meta")),
        ("/TaskGroups/0/Scaling", "Policy", text, As::Object("group/Scaling/Policy", "")),
        ("/TaskGroups/0/Scaling", "Policy", list, As::Object("group/Scaling/Policy", "[0]")),
        (TASK, "Meta", text, As::Fields("task.Meta")),
        (TASK, "Env", text, As::Fields("task.Env")),
        (TASK, "Config", text, As::Object("task/Config", "")),
        (TASK, "Config", list, As::Object("task/Config", "[0]")),
        ("/TaskGroups/0/Tasks/0/Artifacts/0", "GetterOptions", text, As::Fields("task/Artifact.GetterOptions")),
        ("/TaskGroups/0/Tasks/0/Artifacts/0", "GetterHeaders", text, As::Fields("task/Artifact.GetterHeaders")),
        ("/TaskGroups/0/Tasks/0/Secrets/0", "Config", text, As::Fields("task/Secret.Config")),
        ("/TaskGroups/0/Tasks/0/Secrets/0", "Env", text, As::Fields("task/Secret.Env")),
        (SERVICE, "Meta", text, As::Fields("group/Service.Meta")),
        (SERVICE, "CanaryMeta", text, As::Fields("group/Service.CanaryMeta")),
        (SERVICE, "TaggedAddresses", text, As::Fields("group/Service.TaggedAddresses")),
        ("/TaskGroups/0/Services/0/Checks/0", "Header", list, As::Object("group/Service/Check/Header", "[0]")),
        (
            "/TaskGroups/0/Services/0/Connect/SidecarService",
            "Meta",
            text,
            As::Fields("group/Service/ConsulConnect/SidecarService.Meta"),
        ),
        (
            "/TaskGroups/0/Services/0/Connect/SidecarService/Proxy",
            "Config",
            text,
            As::Object("group/Service/ConsulConnect/SidecarService/ConsulProxy/Config", ""),
        ),
        (
            "/TaskGroups/0/Services/0/Connect/SidecarTask",
            "Config",
            text,
            As::Object("group/Service/ConsulConnect/SidecarTask/Config", ""),
        ),
        (
            "/TaskGroups/0/Services/0/Connect/SidecarTask",
            "Meta",
            text,
            As::Fields("group/Service/ConsulConnect/SidecarTask.Meta"),
        ),
        (
            "/TaskGroups/0/Services/0/Connect/SidecarTask",
            "Env",
            text,
            As::Fields("group/Service/ConsulConnect/SidecarTask.Env"),
        ),
        (
            "/TaskGroups/0/Services/0/Connect/Gateway/Proxy",
            "Config",
            text,
            As::Object("group/Service/ConsulConnect/Gateway/Proxy/Config", ""),
        ),
        (
            "/TaskGroups/0/Services/0/Connect/Gateway/Proxy",
            "EnvoyGatewayBindAddresses",
            bind,
            As::Object("group/Service/ConsulConnect/Gateway/Proxy/EnvoyGatewayBindAddresses", ""),
        ),
        (
            "/TaskGroups/0/Services/0/Connect/Gateway/Ingress/Listeners/0/Services/0",
            "RequestHeaders",
            |text| json!({ text: "v" }),
            As::Fields("group/Service/ConsulConnect/Gateway/Ingress/Listener/ConsulIngressService/RequestHeaders.Add"),
        ),
        (
            "/TaskGroups/0/Services/0/Connect/Gateway/Ingress/Listeners/0/Services/0",
            "ResponseHeaders",
            |text| json!({ text: "v" }),
            As::Fields("group/Service/ConsulConnect/Gateway/Ingress/Listener/ConsulIngressService/ResponseHeaders.Set"),
        ),
    ];
    let mut cases = 0;
    for (parent, member, make, shown_as) in maps {
        // The members of these are maps themselves.
        let nested = match member {
            "RequestHeaders" => Some("Add"),
            "ResponseHeaders" => Some("Set"),
            _ => None,
        };
        let (one, other) = if nested.is_some() { (text("1"), text("2")) } else { (make("1"), make("2")) };
        let states = [
            json!(null),
            json!({}),
            json!({"k": one}),
            json!({"k": other}),
            json!({"k": one, "l": one}),
            json!({"l": other}),
        ];
        let wrapped = |state: &Value| match nested {
            Some(name) => json!({ name: state, "Remove": ["r"] }),
            None => state.clone(),
        };
        let entry = |state: &'_ Value, key: &str| state.get(key).cloned();
        for old in &states {
            for new in &states {
                let (a, b) = (with(parent, member, &wrapped(old)), with(parent, member, &wrapped(new)));
                let size = |v: &Value| v.as_object().map_or(0, serde_json::Map::len);
                let kind = match (size(old), size(new)) {
                    _ if old == new => None,
                    (0, 0) => None,
                    (0, _) => Some(DiffType::Added),
                    (_, 0) => Some(DiffType::Deleted),
                    _ => Some(DiffType::Edited),
                };
                for contextual in [false, true] {
                    let got = shown(&a, &b, contextual);
                    let at = |place: &str| got.get(place).and_then(|kinds| kinds.first()).cloned();
                    let what = format!("{parent}/{member}: {old} => {new}: {got:?}");
                    if let As::Object(place, _) = &shown_as {
                        assert_eq!(at(place), kind, "{what}");
                    }
                    for key in ["k", "l"] {
                        let field = match &shown_as {
                            As::Object(place, behind) => format!("{place}.{key}{behind}"),
                            As::Fields(place) => format!("{place}[{key}]"),
                        };
                        let want = match (entry(old, key), entry(new, key)) {
                            (None, Some(_)) => Some(DiffType::Added),
                            (Some(_), None) => Some(DiffType::Deleted),
                            (o, n) => (o != n).then_some(DiffType::Edited),
                        };
                        assert_eq!(at(&field), want, "{field}: {what}");
                    }
                    assert_eq!(mirrored(shown(&b, &a, contextual)), got, "{what}");
                    cases += 1;
                }
            }
        }
    }
    assert_eq!(cases, 25 * 36 * 2);
}

#[test]
fn blocks_that_are_added_are_deleted_in_the_other_direction() {
    let blocks: &[(&str, &str, Value)] = &[
        ("", "Periodic", json!({"Enabled": true, "Spec": "* * * * *"})),
        ("", "ParameterizedJob", json!({"Payload": "required", "MetaRequired": ["m"]})),
        ("", "UI", json!({"Description": "d", "Links": [{"Label": "l", "Url": "u"}]})),
        ("", "Multiregion", json!({"Strategy": {"MaxParallel": 1}, "Regions": [{"Name": "r"}]})),
        (GROUP, "RestartPolicy", json!({"Attempts": 3, "Mode": "fail"})),
        (GROUP, "ReschedulePolicy", json!({"Attempts": 3, "Unlimited": true})),
        (GROUP, "Migrate", json!({"MaxParallel": 2})),
        (GROUP, "EphemeralDisk", json!({"SizeMB": 2, "Sticky": true})),
        (GROUP, "Update", json!({"MaxParallel": 2, "Canary": 1})),
        (GROUP, "Disconnect", json!({"LostAfter": 5, "Replace": false})),
        (GROUP, "Scaling", json!({"Min": 1, "Max": 2, "Enabled": true, "Policy": {"k": "v"}})),
        (GROUP, "Consul", json!({"Namespace": "n"})),
        (GROUP, "Meta", json!({"k": "v"})),
        (GROUP, "Volumes", json!({"w": {"Name": "w", "Type": "csi", "MountOptions": {"FSType": "ext4"}}})),
        ("/TaskGroups/0/Volumes/v", "MountOptions", json!({"FSType": "ext4", "MountFlags": ["ro"]})),
        (TASK, "Resources", json!({"CPU": 9, "MemoryMB": 3, "NUMA": {"Affinity": "require"}})),
        ("/TaskGroups/0/Tasks/0/Resources", "NUMA", json!({"Affinity": "require"})),
        (TASK, "LogConfig", json!({"MaxFiles": 3, "MaxFileSizeMB": 1})),
        (TASK, "DispatchPayload", json!({"File": "f"})),
        (TASK, "Vault", json!({"Role": "r", "Env": true})),
        (TASK, "Consul", json!({"Namespace": "n"})),
        (TASK, "Identity", json!({"Name": "default", "Audience": ["a"], "Env": true})),
        (TASK, "Schedule", json!({"Cron": {"Start": "0 1 * * *"}})),
        (TASK, "RestartPolicy", json!({"Attempts": 3})),
        (TASK, "Lifecycle", json!({"Hook": "prestart"})),
        (TASK, "CSIPluginConfig", json!({"ID": "p", "Type": "node"})),
        ("/TaskGroups/0/Tasks/0/Templates/0", "Wait", json!({"Min": 1, "Max": 2})),
        ("/TaskGroups/0/Tasks/0/Templates/0", "ChangeScript", json!({"Command": "c", "Args": ["a"]})),
        (SERVICE, "Weights", json!({"Passing": 2, "Warning": 1})),
        (SERVICE, "Identity", json!({"Name": "i", "Audience": ["a"]})),
        (SERVICE, "Connect", json!({"Native": true})),
        ("/TaskGroups/0/Services/0/Checks/0", "CheckRestart", json!({"Limit": 2, "Grace": 3})),
        (CONNECT, "SidecarService", json!({"Port": "p", "Proxy": {"LocalServicePort": 3}})),
        (CONNECT, "SidecarTask", json!({"Name": "n", "Config": {"image": "i"}})),
        (CONNECT, "Gateway", json!({"Proxy": {"EnvoyDNSDiscoveryType": "STATIC"}, "Mesh": {}})),
        ("/TaskGroups/0/Services/0/Connect/SidecarService", "Proxy", json!({"LocalServicePort": 3})),
        (
            "/TaskGroups/0/Services/0/Connect/SidecarService/Proxy",
            "Expose",
            json!({"Paths": [{"Path": "/p", "ListenerPort": "l"}]}),
        ),
        (
            "/TaskGroups/0/Services/0/Connect/SidecarService/Proxy",
            "TransparentProxy",
            json!({"UID": "1", "NoDNS": true, "ExcludeUIDs": ["2"]}),
        ),
        ("/TaskGroups/0/Services/0/Connect/SidecarService/Proxy/Upstreams/0", "MeshGateway", json!({"Mode": "local"})),
        ("/TaskGroups/0/Services/0/Connect/Gateway", "Terminating", json!({"Services": [{"Name": "s"}]})),
        ("/TaskGroups/0/Services/0/Connect/Gateway", "Mesh", json!({})),
        ("/TaskGroups/0/Services/0/Connect/Gateway", "Ingress", json!({"TLS": {"Enabled": true}})),
        (
            "/TaskGroups/0/Services/0/Connect/Gateway/Ingress",
            "TLS",
            json!({"Enabled": true, "CipherSuites": ["c"], "SDS": {"ClusterName": "c"}}),
        ),
        ("/TaskGroups/0", "Networks", json!([{"Mode": "bridge", "DNS": {"Servers": ["1.1.1.1"]}}])),
    ];
    let mut cases = 0;
    for (parent, member, value) in blocks {
        let empty = if value.is_array() { json!([]) } else { json!({}) };
        let states = [json!(null), empty, value.clone()];
        for old in &states {
            for new in &states {
                let (a, b) = (with(parent, member, old), with(parent, member, new));
                for contextual in [false, true] {
                    let got = shown(&a, &b, contextual);
                    let what = format!("{parent}/{member}: {old} => {new}");
                    if old == new {
                        assert_eq!(got, Shown::new(), "{what}");
                    }
                    assert_eq!(mirrored(shown(&b, &a, contextual)), got, "{what}");
                    cases += 1;
                }
            }
        }
        // A block that appears adds, or edits what already had a default; it deletes nothing.
        let got = shown(&with(parent, member, &json!(null)), &with(parent, member, value), false);
        assert!(got.values().flatten().all(|kind| *kind != DiffType::Deleted), "{parent}/{member}: {got:?}");
    }
    assert_eq!(cases, blocks.len() * 9 * 2);
}
