//! The environment of tasks and how they end: limits, checks, payloads, networks, events.

use std::path::Path;
use std::process::Command;

use super::*;
use encamp_model::{ClientStatus, JobType};

/// The display message of an event.
fn shown(events: &[Json], kind: &str) -> Vec<String> {
    let of_kind = events.iter().filter(|e| e["Type"] == kind);
    of_kind.map(|e| e["DisplayMessage"].as_str().unwrap_or_default().to_string()).collect()
}

/// Whether an agent in this test can create cgroups: otherwise it logs that it cannot.
fn has_cgroups(agent: &mut Agent) -> bool {
    const NONE: &str = "limits of memory and CPU are not enforced";
    let warnings = agent.log().matches(NONE).count();
    assert!(warnings <= 1, "logged more than once:\n{}", agent.log());
    warnings == 0
}

#[test]
fn a_task_that_uses_more_memory_than_it_has_is_killed() {
    let folder = Folder::new("node-memory");
    let mut agent = start(&folder, "");
    if !has_cgroups(&mut agent) {
        println!("this machine lets nobody make cgroups: the agent says so, and goes on");
        run(&agent, &job("without", JobType::Batch, &[task("main", "true")]), ClientStatus::Complete);
        return;
    }
    // The last program of the pipe buffers everything until a line ends.
    let alloc = run(
        &agent,
        &job("greedy", JobType::Batch, &[task("main", "head -c 300m /dev/zero | tail")]),
        ClientStatus::Failed,
    );
    let events = events(&agent, &alloc, "main", "Terminated");
    let end = events.iter().find(|e| e["Type"] == "Terminated").expect("an end");
    assert_eq!(end["Details"]["oom_killed"], "true", "{end}");
    assert_eq!((&end["Details"]["exit_code"], &end["ExitCode"]), (&json!("137"), &json!(137)), "{end}");
    // A task below its limit runs in its own cgroup, which is removed with it.
    let script = "cp /proc/self/cgroup local/cgroup.new; mv local/cgroup.new local/cgroup; exec sleep 600";
    let alloc = run(&agent, &job("modest", JobType::Service, &[task("main", script)]), ClientStatus::Running);
    let groups = content(&dir(&folder, &alloc).join("main/local/cgroup"));
    let scope = format!("{}.main", id(&alloc));
    assert!(groups.contains(&scope) && groups.contains("nomad.slice"), "{groups}");
    let output = Command::new("find").args(["/sys/fs/cgroup", "-type", "d", "-name", &format!("{scope}*")]).output();
    let found = String::from_utf8_lossy(&output.expect("find").stdout).into_owned();
    assert!(!found.is_empty());
    agent.send("DELETE", "/v1/job/modest", &Json::Null);
    super::alloc(&agent, "modest", ClientStatus::Complete);
    wait_for("the groups are removed", || {
        let left: Vec<&str> = found.lines().filter(|dir| Path::new(dir).exists()).collect();
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
    });
}

#[test]
fn failing_checks_restart_their_task() {
    let folder = Folder::new("node-checks");
    let agent = start(&folder, "");
    let mut main = task("main", "exec sleep 600");
    main["RestartPolicy"] = json!({"Attempts": 1, "Mode": "fail", "Interval": 600_000_000_000_i64, "Delay": 1_000_000});
    let mut job = job("checked", JobType::Service, &[main]);
    let group = &mut job["TaskGroups"][0];
    group["RestartPolicy"] = Json::Null;
    group["Networks"] = json!([{"Mode": "host", "DynamicPorts": [{"Label": "http"}]}]);
    group["Services"] = json!([{
        "Name": "checked", "Provider": "nomad", "PortLabel": "http",
        "Checks": [{
            "Name": "up", "Type": "tcp", "TaskName": "main", "Interval": 1_000_000_000, "Timeout": 1_000_000_000,
            "CheckRestart": {"Limit": 2, "Grace": 1_000_000},
        }],
    }]);
    let alloc = run(&agent, &job, ClientStatus::Failed);
    let events = events(&agent, &alloc, "main", "Not Restarting");
    let reason = "healthcheck: check \"up\" unhealthy".to_string();
    assert_eq!(shown(&events, "Restart Signaled"), [reason.clone(), reason], "{events:?}");
    assert_eq!(shown(&events, "Started").len(), 2, "{events:?}");
    assert!(shown(&events, "Restarting")[0].starts_with("Task restarting in "), "{events:?}");
    assert_eq!(
        shown(&events, "Not Restarting"),
        ["Exceeded allowed attempts 1 in interval 10m0s and mode is \"fail\""],
        "{events:?}"
    );
}

#[test]
fn a_dispatch_without_payload_writes_an_empty_file() {
    let folder = Folder::new("node-dispatch");
    let agent = start(&folder, "");
    let mut main = task("main", "wc -c < local/in/input.txt");
    main["DispatchPayload"] = json!({"File": "in/input.txt"});
    let mut parent = job("parent", JobType::Batch, &[main]);
    parent["ParameterizedJob"] = json!({"Payload": "optional"});
    let reply = agent.send("PUT", "/v1/jobs", &json!({ "Job": parent }));
    assert_eq!(reply.status, 200, "{}", reply.body);
    for (payload, size) in [(Json::Null, "0"), (json!("aGVsbG8="), "5")] {
        let reply = agent.send("PUT", "/v1/job/parent/dispatch", &json!({"JobID": "parent", "Payload": payload}));
        assert_eq!(reply.status, 200, "{}", reply.body);
        let child = reply.json()["DispatchedJobID"].as_str().expect("a child").to_string();
        let alloc = alloc(&agent, &child, ClientStatus::Complete);
        let out = std::fs::read_to_string(dir(&folder, &alloc).join("alloc/logs/main.stdout.0")).expect("output");
        assert_eq!(out.trim(), size);
    }
}

#[test]
fn a_completed_batch_allocation_is_not_restarted() {
    let folder = Folder::new("node-restart");
    let agent = start(&folder, "");
    let alloc = run(&agent, &job("done", JobType::Batch, &[task("main", "true")]), ClientStatus::Complete);
    let path = format!("/v1/client/allocation/{}/restart", id(&alloc));
    for body in [json!({}), json!({"AllTasks": true}), json!({"TaskName": "main"})] {
        let reply = agent.send("PUT", &path, &body);
        assert_eq!((reply.status, reply.body.as_str()), (500, "restart of an alloc that should not run"), "{body}");
    }
    let reply = agent.send("PUT", &path, &json!({"TaskName": "zz"}));
    assert_eq!((reply.status, reply.body.as_str()), (500, "Could not find task runner for task: zz"));
}

#[test]
fn a_task_that_runs_too_long_is_killed() {
    let folder = Folder::new("node-limit");
    let agent = start(&folder, "");
    let mut job = job("long", JobType::Batch, &[task("main", "exec sleep 600")]);
    job["TaskGroups"][0]["MaxRunDuration"] = json!(1_000_000_000);
    let alloc = run(&agent, &job, ClientStatus::Complete);
    assert_eq!(alloc["ClientDescription"], "allocation exceeded max_run_duration");
    let events = events(&agent, &alloc, "main", "Killed");
    let killing = events.iter().find(|e| e["Type"] == "Killing").expect("a reason");
    assert_eq!(killing["DisplayMessage"], "exceeded max_run_duration", "{killing}");
    assert_eq!(killing["Details"]["kill_reason"], "exceeded max_run_duration", "{killing}");
}

#[test]
fn sidecars_end_when_the_main_tasks_are_dead() {
    let folder = Folder::new("node-sidecar");
    let agent = start(&folder, "");
    let mut before = task("before", "exec sleep 600");
    before["Lifecycle"] = json!({"Hook": "prestart", "Sidecar": true});
    let mut after = task("after", "exec sleep 600");
    after["Lifecycle"] = json!({"Hook": "poststart", "Sidecar": true});
    let alloc = run(
        &agent,
        &job("sidecars", JobType::Batch, &[task("main", "sleep 1"), before, after]),
        ClientStatus::Complete,
    );
    for name in ["before", "after"] {
        let events = events(&agent, &alloc, name, "Main Tasks Dead");
        assert_eq!(shown(&events, "Main Tasks Dead"), ["Main tasks in the group died"], "{name}");
    }
}

#[test]
fn a_failed_allocation_of_a_deployment_says_why_it_is_unhealthy() {
    let folder = Folder::new("node-health");
    let agent = start(&folder, "");
    let mut job = job("sick", JobType::Service, &[task("main", "sleep 0.5; exit 1")]);
    job["TaskGroups"][0]["Update"] = json!({
        "MaxParallel": 1, "HealthCheck": "task_states", "MinHealthyTime": 10_000_000_000_i64,
        "HealthyDeadline": 60_000_000_000_i64, "ProgressDeadline": 120_000_000_000_i64,
    });
    let alloc = run(&agent, &job, ClientStatus::Failed);
    let events = events(&agent, &alloc, "main", "Alloc Unhealthy");
    assert_eq!(shown(&events, "Alloc Unhealthy"), ["Unhealthy because of failed task"]);
}

#[test]
fn an_allocation_with_network_mode_none_sees_its_loopback_alone() {
    let folder = Folder::new("node-network");
    let agent = start(&folder, "");
    let script =
        "cat /proc/net/dev > local/dev; cat /proc/net/fib_trie > local/routes; touch local/done; exec sleep 600";
    let mut job = job("alone", JobType::Service, &[task("main", script)]);
    job["TaskGroups"][0]["Networks"] = json!([{"Mode": "none"}]);
    let reply = agent.send("PUT", "/v1/jobs", &json!({ "Job": job }));
    assert_eq!(reply.status, 200, "{}", reply.body);
    if !rustix_is_root() {
        let alloc = alloc(&agent, "alone", ClientStatus::Failed);
        let events = events(&agent, &alloc, "main", "Setup Failure");
        assert!(shown(&events, "Setup Failure")[0].contains("failed to configure network"), "{events:?}");
        return;
    }
    let alloc = alloc(&agent, "alone", ClientStatus::Running);
    let local = dir(&folder, &alloc).join("main/local");
    content(&local.join("done"));
    let text = content(&local.join("dev"));
    let devices: Vec<&str> = text.lines().filter_map(|l| l.split_once(':')).map(|(name, _)| name.trim()).collect();
    assert!(devices.contains(&"lo"), "{text}");
    // Some kernels have tunnels in every namespace; none of the host's links exists there.
    let host = std::fs::read_to_string("/proc/net/dev").expect("readable");
    let links = host.lines().filter_map(|l| l.split_once(':')).map(|(name, _)| name.trim());
    let real = links.filter(|n| Path::new("/sys/class/net").join(n).join("device").exists());
    assert!(real.into_iter().all(|name| !devices.contains(&name)), "{text}");
    assert!(content(&local.join("routes")).contains("127.0.0.1"), "the loopback works");
    let namespace = Path::new("/var/run/netns").join(id(&alloc));
    assert!(namespace.exists());
    agent.send("DELETE", "/v1/job/alone", &Json::Null);
    super::alloc(&agent, "alone", ClientStatus::Complete);
    let gone = || if namespace.exists() { Err("still there".to_string()) } else { Ok(()) };
    wait_for("the namespace is removed", gone);
}

fn rustix_is_root() -> bool {
    let output = Command::new("id").arg("-u").output().expect("id");
    String::from_utf8_lossy(&output.stdout).trim() == "0"
}

#[test]
fn secrets_of_the_agents_environment_do_not_reach_tasks() {
    let folder = Folder::new("node-secrets");
    let secrets = [
        "CONSUL_TOKEN",
        "CONSUL_HTTP_TOKEN",
        "CONSUL_HTTP_TOKEN_FILE",
        "NOMAD_TOKEN",
        "VAULT_TOKEN",
        "NOMAD_LICENSE",
        "CONSUL_LICENSE_PATH",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_METADATA_URL",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "GOOGLE_OAUTH_ACCESS_TOKEN",
    ];
    let exported: String =
        secrets.iter().chain(&["HARMLESS"]).map(|name| format!("export {name}=value-of-{name}; ")).collect();
    let job = job("curious", JobType::Batch, &[task("main", "env; echo ${NOMAD_TOKEN} ${VAULT_TOKEN}")]);
    let output = |options: &str| {
        let text = format!("ports {{\n  http = 0\n  rpc  = 0\n  serf = 0\n}}\n{}", config(&folder, options));
        folder.file("agent.hcl", text);
        let mut command = Command::new("/bin/sh");
        let script = format!("{exported} exec {} agent -config agent.hcl", crate::program::path());
        let mut agent = Agent::launch(&folder, command.args(["-c", &script]));
        agent.serves();
        ready(&agent);
        let alloc = run(&agent, &job, ClientStatus::Complete);
        let out = std::fs::read_to_string(dir(&folder, &alloc).join("alloc/logs/main.stdout.0")).expect("output");
        agent.send("DELETE", "/v1/job/curious?purge=true", &Json::Null);
        stop(agent);
        out
    };
    let out = output("");
    assert!(out.contains("HARMLESS=value-of-HARMLESS"), "{out}");
    for name in secrets {
        assert!(!out.contains(&format!("value-of-{name}")), "{name}: {out}");
    }
    // A custom list replaces the default one.
    let out = output(" options = {\n  \"env.denylist\" = \"HARM*,VAULT_TOKEN\"\n }\n");
    assert!(!out.contains("HARMLESS") && !out.contains("VAULT_TOKEN="), "{out}");
    assert!(out.contains("AWS_SESSION_TOKEN=value-of-AWS_SESSION_TOKEN"), "{out}");
}

#[test]
fn the_host_is_described_in_full() {
    let folder = Folder::new("node-host");
    let agent = start(&folder, "");
    let node = agent.list("/v1/nodes")[0]["ID"].as_str().expect("an ID").to_string();
    let attributes = agent.get(&format!("/v1/node/{node}"))["Attributes"].clone();
    if attributes["os.name"] == "debian" {
        let wanted = std::fs::read_to_string("/etc/debian_version").expect("readable");
        assert_eq!(attributes["os.version"], wanted.trim());
    }
    assert!(attributes["os.version"].as_str().is_some_and(|v| !v.is_empty()), "{attributes}");
    // A kernel without Landlock does not have this attribute.
    let landlock = &attributes["kernel.landlock"];
    let version = landlock.as_str().and_then(|v| v.strip_prefix('v')?.parse::<u32>().ok());
    assert!(landlock.is_null() || version.is_some_and(|v| v > 0), "{landlock}");
}
