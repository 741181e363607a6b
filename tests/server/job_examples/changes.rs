//! What operators do later with jobs of docs/examples/jobs: new versions, promotion, actions, scaling, changes of the
//! variables that templates read, stopped allocations; and the order in which the tasks of an allocation run.

use crate::agent::{Agent, wait_for};
use crate::program::{Folder, Ran, run_for};
use encamp_test_support::notes;
use serde_json::{Value as Json, json};

use super::{COMMAND, config, output, prepare, ready, run, state, submit, text};

/// A node for one test.
struct Node {
    agent: Agent,
    folder: Folder,
}

impl Node {
    fn new(name: &str) -> Node {
        let folder = Folder::new(name);
        let agent = Agent::start(&folder, &config(&folder, "", None), &[]);
        ready(&agent, false);
        prepare(&agent);
        Node { agent, folder }
    }

    fn encamp(&self, args: &[&str]) -> Ran {
        let address = self.agent.address();
        let ran = run_for(COMMAND, self.folder.path(), args, &[("NOMAD_ADDR", &address)], "");
        assert_eq!(ran.exit, 0, "{args:?}\n{}{}", ran.stdout, ran.stderr);
        ran
    }

    /// Registers jobs, and waits until each of them does what it shall do.
    fn run(&self, names: &[&str]) {
        for name in names {
            run(&self.folder, &self.agent, name);
        }
        for name in names {
            wait_for(&format!("{name} runs"), || state(&self.agent, name).map(|_| ()));
        }
    }

    /// Registers a job with a change of its text.
    fn change(&self, name: &str, from: &str, to: &str) {
        let file = text(name);
        assert!(file.contains(from), "{name} has {from:?}");
        self.folder.file(&format!("{name}.nomad.hcl"), file.replace(from, to));
        submit(&self.folder, &self.agent, name);
    }

    /// Waits for the state of the deployment of a version, which is the latest one.
    fn deployed(&self, name: &str, version: i64, wanted: impl Fn(&Json) -> bool) {
        wait_for(&format!("the deployment of version {version} of {name}"), || {
            let found = self.agent.get(&format!("/v1/job/{name}/deployment"));
            if found["JobVersion"] == version && wanted(&found) { Ok(()) } else { Err(found.to_string()) }
        });
    }

    /// Waits until so many allocations run, all of this version.
    fn only(&self, name: &str, version: i64, count: usize) {
        wait_for(&format!("{count} allocations of version {version} of {name}"), || {
            let running: Vec<Json> = self.running(name);
            let good = running.len() == count && running.iter().all(|a| a["JobVersion"] == version);
            if good { Ok(()) } else { Err(json!(running).to_string()) }
        });
    }

    fn running(&self, name: &str) -> Vec<Json> {
        let allocs = self.agent.list(&format!("/v1/job/{name}/allocations"));
        allocs.into_iter().filter(|a| a["ClientStatus"] == "running").collect()
    }

    /// When a task of a job's only allocation had its first event of this type, in nanoseconds.
    fn time(&self, name: &str, task: &str, event: &str) -> i64 {
        let allocs = self.agent.list(&format!("/v1/job/{name}/allocations"));
        let events = &allocs[0]["TaskStates"][task]["Events"];
        let found = events.as_array().into_iter().flatten().find(|e| e["Type"] == event);
        found.and_then(|e| e["Time"].as_i64()).unwrap_or_else(|| panic!("{name}: {task} has no {event}: {events}"))
    }

    fn driver(&self, name: &str) -> bool {
        let nodes = self.agent.list("/v1/nodes");
        nodes[0]["Drivers"][name]["Healthy"] == true
    }
}

fn successful(deployment: &Json) -> bool {
    deployment["Status"] == "successful"
}

/// Whether all canaries are healthy and wait for promotion.
fn promotable(deployment: &Json) -> bool {
    let group = &deployment["TaskGroups"]["web"];
    let healthy = group["HealthyAllocs"].as_i64() >= group["DesiredCanaries"].as_i64();
    deployment["Status"] == "running" && group["Promoted"] == false && healthy
}

#[test]
fn canaries_replace_a_version_when_they_are_promoted() {
    if notes::lacks("job files: canaries", "python3") {
        return;
    }
    let node = Node::new("job-examples-canaries");
    let names = ["web-canary", "web-blue-green", "web-auto-promote"];
    node.run(&names);
    for name in names {
        node.change(name, "cpu    = 100", "cpu    = 110");
    }
    for (name, running) in [("web-canary", 3), ("web-blue-green", 4)] {
        node.deployed(name, 1, promotable);
        assert_eq!(node.running(name).len(), running, "{name}: the old version still runs");
        node.encamp(&["job", "promote", "-detach", name]);
    }
    for name in names {
        node.deployed(name, 1, successful);
        node.only(name, 1, 2);
    }
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn a_version_that_does_not_start_is_undone() {
    let node = Node::new("job-examples-undone");
    node.run(&["web-rolling"]);
    // The deployment fails when no copy has become healthy within the progress deadline.
    let soon = "healthy_deadline = \"10s\"\n    progress_deadline = \"15s\"";
    let broken =
        text("web-rolling").replace("healthy_deadline = \"2m\"", soon).replace("http.server", "no_such_module");
    assert!(broken.contains(soon), "the deadline of web-rolling");
    node.folder.file("web-rolling.nomad.hcl", broken);
    submit(&node.folder, &node.agent, "web-rolling");
    node.deployed("web-rolling", 2, successful);
    let reverted = node.agent.get("/v1/job/web-rolling");
    assert!(reverted.to_string().contains("http.server"), "{reverted}");
    assert_eq!(node.running("web-rolling").len(), 3);
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn tasks_of_an_allocation_run_in_their_order() {
    let node = Node::new("job-examples-order");
    node.run(&["web-init-task", "web-proxy-sidecar", "batch-clean-up", "batch-pipeline"]);
    let order = [
        ("web-init-task", ("migrate", "Terminated"), ("server", "Started")),
        ("web-proxy-sidecar", ("proxy", "Started"), ("server", "Started")),
        ("batch-clean-up", ("main", "Terminated"), ("clean-up", "Started")),
    ];
    for (name, (first, end), (second, start)) in order {
        let (before, after) = (node.time(name, first, end), node.time(name, second, start));
        assert!(before <= after, "{name}: {first} {before}, {second} {after}");
    }
    node.encamp(&["job", "stop", "-detach", "web-proxy-sidecar"]);
    wait_for("the job has ended", || {
        let running = node.running("web-proxy-sidecar");
        if running.is_empty() { Ok(()) } else { Err(json!(running).to_string()) }
    });
    let ends = ["server", "proxy"].map(|task| node.time("web-proxy-sidecar", task, "Killed"));
    assert!(ends[0] <= ends[1], "the proxy ends last: {ends:?}");
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn operators_run_actions_and_scale() {
    let node = Node::new("job-examples-operators");
    node.run(&["web-actions", "web-scaling"]);
    let action = ["job", "action", "-job", "web-actions", "-group", "web", "-task", "server", "list-files"];
    let listed = node.encamp(&action);
    assert!(listed.stdout.contains("total"), "{}", listed.stdout);
    node.encamp(&["job", "scale", "-detach", "web-scaling", "web", "4"]);
    wait_for("four copies", || {
        let running = node.running("web-scaling").len();
        if running == 4 { Ok(()) } else { Err(format!("{running}")) }
    });
    let beyond = ["job", "scale", "-detach", "web-scaling", "web", "6"];
    let refused = run_for(COMMAND, node.folder.path(), &beyond, &[("NOMAD_ADDR", &node.agent.address())], "");
    assert_eq!(refused.exit, 1, "more than the maximum: {}", refused.stdout);
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn a_changed_variable_reaches_the_tasks() {
    let node = Node::new("job-examples-variables");
    let names = ["web-config-reload", "web-secrets"];
    node.run(&names);
    for name in names {
        let variable = json!({"Path": format!("nomad/jobs/{name}"), "Items": {"password": "new", "greeting": "bye"}});
        assert_eq!(node.agent.send("PUT", &format!("/v1/var/nomad/jobs/{name}"), &variable).status, 200);
    }
    wait_for("the task read its configuration again", || {
        let printed = output(&node.folder, &node.running("web-config-reload"), "server");
        if printed.contains("greeting = \"bye\"") { Ok(()) } else { Err(printed) }
    });
    assert_eq!(node.running("web-config-reload")[0]["TaskStates"]["server"]["Restarts"], 0);
    wait_for("both copies were restarted", || {
        let running = node.running("web-secrets");
        let restarted = running.iter().filter(|a| a["TaskStates"]["server"]["Restarts"] == 1).count();
        if restarted == 2 { Ok(()) } else { Err(json!(running).to_string()) }
    });
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn a_claimed_volume_keeps_its_content() {
    let node = Node::new("job-examples-claim");
    if !node.driver("exec") {
        notes::skipped("job file database-volume-claim", "the driver exec is not healthy here");
        return;
    }
    node.run(&["database-volume-claim"]);
    let first = node.running("database-volume-claim");
    node.encamp(&["alloc", "stop", "-detach", first[0]["ID"].as_str().expect("an ID")]);
    wait_for("the next allocation has the same volume", || {
        let printed = output(&node.folder, &node.running("database-volume-claim"), "server");
        if printed.contains("starts with this volume: 2") { Ok(()) } else { Err(printed) }
    });
    assert_eq!(node.agent.list("/v1/volumes/claims?job_id=database-volume-claim").len(), 1);
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn a_java_service_answers() {
    let node = Node::new("job-examples-java");
    let compiler = std::process::Command::new("javac").arg("-version").output().is_ok_and(|o| o.status.success());
    if !(node.driver("java") && compiler) {
        notes::skipped("job file service-java", "no JDK, or the driver java is not healthy here");
        return;
    }
    node.run(&["service-java"]);
    let printed = output(&node.folder, &node.running("service-java"), "server");
    assert!(printed.contains("listening"), "{printed}");
}
