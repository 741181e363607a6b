use serde_json::{Value, json};

use super::*;

fn canonical(job: Value) -> Value {
    let mut job: Job = serde_json::from_value(job).unwrap();
    canonicalize(&mut job);
    let once = job.clone();
    canonicalize(&mut job);
    assert_eq!(job, once, "canonicalising twice changes nothing");
    serde_json::to_value(job).unwrap()
}

fn group_of(job: Value) -> Value {
    canonical(job)["TaskGroups"][0].take()
}

#[test]
fn update_blocks_merge_job_then_group_then_default() {
    let job = json!({"Update": {"MaxParallel": 2, "Stagger": 20, "AutoRevert": true},
        "TaskGroups": [{"Update": {"MaxParallel": 1, "AutoRevert": false}}]});
    let update = &group_of(job)["Update"];
    assert_eq!((&update["MaxParallel"], &update["Stagger"]), (&json!(1), &json!(20)));
    assert_eq!((&update["AutoRevert"], &update["HealthCheck"]), (&json!(false), &json!("checks")));
}

#[test]
fn a_job_update_with_only_zeros_does_not_reach_groups() {
    let zero = json!({"Stagger": 0, "MaxParallel": 0, "HealthCheck": "", "MinHealthyTime": 0, "HealthyDeadline": 0,
        "ProgressDeadline": 0, "Canary": 0, "AutoRevert": false, "AutoPromote": false});
    assert_eq!(group_of(json!({"Update": zero, "TaskGroups": [{}]}))["Update"], Value::Null);
    let below = group_of(json!({"Update": zero, "TaskGroups": [{"Update": {"Canary": 1}}]}));
    assert_eq!((&below["Update"]["Canary"], &below["Update"]["Stagger"]), (&json!(1), &json!(0)));
    let one = group_of(json!({"Update": {"MaxParallel": 0}, "TaskGroups": [{}]}));
    assert_eq!(one["Update"]["MaxParallel"], json!(0));
    assert_eq!(one["Update"]["Stagger"], json!(30_000_000_000_i64));
}

#[test]
fn policies_follow_the_job_type() {
    for (r#type, update, reschedule, migrate, attempts) in [
        (JobType::Service, true, json!("exponential"), true, 2),
        (JobType::Batch, false, json!("constant"), false, 3),
        (JobType::System, true, Value::Null, false, 2),
        (JobType::Sysbatch, false, Value::Null, false, 3),
    ] {
        let group = group_of(json!({"Type": r#type, "TaskGroups": [{}]}));
        assert_eq!(group["Update"].is_object(), update, "{type}");
        assert_eq!(group["ReschedulePolicy"]["DelayFunction"], reschedule, "{type}");
        assert_eq!(group["Migrate"].is_object(), migrate, "{type}");
        assert_eq!(group["RestartPolicy"]["Attempts"], json!(attempts), "{type}");
    }
    let system = group_of(json!({"Type": JobType::System, "Reschedule": {"Attempts": 4}, "TaskGroups": [{}]}));
    assert_eq!(system["ReschedulePolicy"]["Attempts"], json!(4));
    assert_eq!(system["ReschedulePolicy"]["DelayFunction"], json!(""));
}

#[test]
fn scaling_sets_the_count_and_the_other_way_round() {
    assert_eq!(group_of(json!({"TaskGroups": [{"Scaling": {"Min": 3}}]}))["Count"], json!(3));
    let group = group_of(json!({"TaskGroups": [{"Count": 4, "Scaling": {}}]}));
    assert_eq!(group["Scaling"]["Min"], json!(4));
    assert_eq!(group["Scaling"]["Type"], json!("horizontal"));
}

#[test]
fn cores_replace_the_default_cpu() {
    let resources = |r: Value| {
        let group = group_of(json!({"TaskGroups": [{"Tasks": [{"Resources": r}]}]}));
        (group["Tasks"][0]["Resources"]["CPU"].clone(), group["Tasks"][0]["Resources"]["Cores"].clone())
    };
    assert_eq!(resources(json!(null)), (json!(100), json!(0)));
    assert_eq!(resources(json!({"Cores": 2})), (json!(0), json!(2)));
    assert_eq!(resources(json!({"CPU": 7})), (json!(7), json!(0)));
}

#[test]
fn artifacts_of_mode_file_are_named_after_their_source() {
    for (source, want) in
        [("https://x.example/a/b.bin?c=1", "local/b.bin?c=1"), ("git::https://x.example/repo/", "local/repo")]
    {
        let job = json!({"TaskGroups": [{"Tasks": [{"Artifacts": [{"GetterSource": source, "GetterMode": "file"}]}]}]});
        assert_eq!(group_of(job)["Tasks"][0]["Artifacts"][0]["RelativeDest"], json!(want));
    }
}

#[test]
fn check_restarts_merge_and_thresholds_are_not_negative() {
    let service = json!({"CheckRestart": {"Limit": 3, "Grace": 9}, "Checks": [
        {"CheckRestart": {"IgnoreWarnings": true}, "FailuresBeforeCritical": -2}, {}]});
    let group = group_of(json!({"TaskGroups": [{"Services": [service]}]}));
    let service = &group["Services"][0];
    let restart = &service["Checks"][0]["CheckRestart"];
    assert_eq!(restart, &json!({"Limit": 3, "Grace": 9, "IgnoreWarnings": true}));
    assert_eq!(service["Checks"][0]["FailuresBeforeCritical"], json!(0));
    assert_eq!(service["Checks"][1]["CheckRestart"]["Limit"], json!(3));
    assert_eq!(service["CheckRestart"]["IgnoreWarnings"], json!(false), "the service keeps its own");
}

#[test]
fn an_empty_sidecar_task_gets_task_defaults() {
    let service = json!({"Connect": {"SidecarService": {"Tags": [], "Proxy": {"Upstreams": []}}, "SidecarTask": {}}});
    let group = group_of(json!({"TaskGroups": [{"Services": [service]}]}));
    let connect = &group["Services"][0]["Connect"];
    assert_eq!(connect["SidecarTask"]["Resources"]["CPU"], json!(100));
    assert_eq!(connect["SidecarTask"]["ShutdownDelay"], json!(0));
    assert_eq!(connect["SidecarTask"]["LogConfig"]["MaxFiles"], json!(10));
    assert_eq!(connect["SidecarService"]["Tags"], Value::Null);
    assert_eq!(connect["SidecarService"]["Proxy"]["Upstreams"], Value::Null);
}
