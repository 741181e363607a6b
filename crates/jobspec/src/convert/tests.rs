use serde_json::{Value, json};

use super::*;

fn convert(job: Value) -> encamp_model::Job {
    let job = serde_json::from_value(job).unwrap();
    to_server(&job, &ConvertOptions { region: "north".into(), ..ConvertOptions::default() }).unwrap()
}

#[test]
fn region_and_namespace_follow_request_then_job_then_agent() {
    let with = |job: Value, request_region: Option<&str>, namespace: Option<&str>| {
        let options = ConvertOptions {
            region: "north".into(),
            request_region: request_region.map(String::from),
            namespace: namespace.map(String::from),
        };
        let job = to_server(&serde_json::from_value(job).unwrap(), &options).unwrap();
        (job.region, job.namespace)
    };
    let pair = |a: &str, b: &str| (a.to_string(), b.to_string());
    assert_eq!(with(json!({}), None, None), pair("north", "default"));
    assert_eq!(with(json!({"Region": "global", "Namespace": "a"}), None, None), pair("north", "a"));
    assert_eq!(with(json!({"Region": "eu", "Namespace": "a"}), None, Some("b")), pair("eu", "b"));
    assert_eq!(with(json!({"Region": "eu"}), Some("us"), None), pair("us", "default"));
    assert_eq!(with(json!({"Region": "eu", "Multiregion": {}}), None, None), pair("global", "default"));
}

#[test]
fn only_a_rolling_job_update_keeps_its_pace() {
    let update = |max_parallel: i64| {
        let update = json!({"MaxParallel": max_parallel, "Stagger": 9, "HealthCheck": "checks", "Canary": 1});
        convert(json!({"Update": update})).update
    };
    assert_eq!(update(2), encamp_model::UpdateStrategy { max_parallel: 2, stagger: 9, ..Default::default() });
    assert_eq!(update(0), encamp_model::UpdateStrategy::default());
}

#[test]
fn what_clients_cannot_set_is_dropped() {
    let job =
        convert(json!({"Dispatched": true, "ParentID": "p", "Status": "running", "Version": 7, "ConsulNamespace": "c",
        "TaskGroups": [{"StopAfterClientDisconnect": 5, "PreventRescheduleOnLost": true,
            "Volumes": {"a": {"Type": "host"}, "b": {"Type": "nfs"}}, "Networks": [{"Device": "eth0"}],
            "Tasks": [{"Schedule": {}, "Resources": {"DiskMB": 5}, "VolumeMounts": [{"Destination": "/x"}],
                "Services": [{"Checks": [{"TaskName": "other"}]}]}],
            "Services": [{"Checks": [{"TaskName": "kept"}]}]}]}));
    assert_eq!((job.dispatched, job.parent_id.as_str(), job.version), (false, "", 0));
    assert!(job.status.is_unset());
    assert_eq!(job.consul_namespace, "");
    let group = &job.task_groups[0];
    assert_eq!(group.stop_after_client_disconnect, None);
    assert!(!group.prevent_reschedule_on_lost);
    assert_eq!(group.volumes.as_ref().unwrap().keys().collect::<Vec<_>>(), ["a"]);
    assert_eq!(group.networks[0].device, "");
    assert_eq!(group.services[0].checks[0].task_name, "kept");
    let task = &group.tasks[0];
    assert_eq!(task.schedule, None);
    assert_eq!(task.resources.as_ref().unwrap().disk_mb, 0);
    assert!(task.volume_mounts.is_empty());
    assert_eq!(task.services[0].checks[0].task_name, "");
}

#[test]
fn a_mount_without_destination_is_refused() {
    let job = json!({"TaskGroups": [{"Tasks": [{"Name": "t", "VolumeMounts": [{"Volume": "v"}]}]}]});
    let error = to_server(&serde_json::from_value(job).unwrap(), &ConvertOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "Task \"t\": volume_mount of volume \"v\" has no destination");
}

#[test]
fn scaling_policies_know_their_target() {
    let job =
        convert(json!({"ID": "j", "VaultNamespace": "vn", "TaskGroups": [{"Name": "g", "Count": 3, "Scaling": {},
        "Tasks": [{"Name": "t", "ScalingPolicies": [{"Max": 9}], "Vault": {}}, {"Vault": {"Namespace": "own"}}]}]}));
    let group = &job.task_groups[0];
    let scaling = group.scaling.as_ref().unwrap();
    assert_eq!((scaling.min, scaling.max, scaling.enabled), (3, -1, true));
    assert_eq!(scaling.target.get("Task"), None);
    let policy = &group.tasks[0].scaling_policies[0];
    assert_eq!((policy.min, policy.max), (0, 9));
    assert_eq!(policy.target["Task"], "t");
    assert_eq!(group.tasks[0].vault.as_ref().unwrap().namespace, "vn");
    assert_eq!(group.tasks[1].vault.as_ref().unwrap().namespace, "own");
}

#[test]
fn deprecated_expose_names_count_and_config_numbers_are_floats() {
    let path = |p: &str| json!([{"Path": p}]);
    let proxy = json!({"ExposeConfig": {"Path": path("/old")}, "Config": {"a": [1, {"b": 2}]}});
    let connect = json!({"SidecarService": {"Proxy": proxy}, "Gateway": {"Proxy": {}}});
    let job = convert(json!({"TaskGroups": [{"Services": [{"Connect": connect}]}]}));
    let connect = job.task_groups[0].services[0].connect.as_ref().unwrap();
    let proxy = connect.sidecar_service.as_ref().unwrap().proxy.as_ref().unwrap();
    assert_eq!(proxy.expose.as_ref().unwrap().paths[0].path, "/old");
    assert_eq!(proxy.config["a"], json!([1.0, {"b": 2.0}]));
    let addresses = &connect.gateway.as_ref().unwrap().proxy.as_ref().unwrap().envoy_gateway_bind_addresses;
    assert_eq!(addresses.as_ref().map(BTreeMap::len), Some(0));
}
