//! `encamp rebalance run` on real agents: plans are carried out as promised, also after a kill at any moment, and
//! whatever disturbs a run, it ends as promised or with a reason, and leaves no node ineligible
//! (`docs/spec/cli.md §23`).

use std::collections::{BTreeMap, BTreeSet};
use std::fs::TryLockError;
use std::time::Duration;

use crate::agent::{Agent, call, wait_for};
use crate::member::{Member, Role};
use crate::program::{self, Folder, Ran, repository, run_for};
use encamp_test_support::pty::interruptible;
use encamp_test_support::schema::Schema;
use encamp_test_support::server::{Request, Response, Server};
use rustix::process::Signal;
use serde_json::{Value as Json, json};

/// Maximum duration of a command.
const PATIENCE: Duration = Duration::from_secs(120);
/// The nodes of a cluster.
const NODES: usize = 4;

/// A server and its nodes, and a folder for commands and their files.
struct Cluster {
    server: Member,
    nodes: Vec<Member>,
    folder: Folder,
}

/// An allocation that is to run: its name, and the name of its node.
type Placed = (String, String);

impl Cluster {
    fn start(name: &str) -> Cluster {
        let role = "server {\n  enabled = true\n  bootstrap_expect = 1\n  min_heartbeat_ttl = \"1s\"\n  \
                    heartbeat_grace = \"2s\"\n}\n";
        let mut server = Member::new(&format!("{name}-server"), Role::Other(role.into()));
        server.start();
        let role = format!(
            "client {{\n  enabled = true\n  servers = [{:?}]\n  cpu_total_compute = 4000\n  memory_total_mb = 4000\n  \
             disk_total_mb = 100000\n}}\nplugin \"mock_driver\" {{\n}}\nplugin \"raw_exec\" {{\n  config {{\n    \
             enabled = true\n  }}\n}}\n",
            server.rpc()
        );
        let mut nodes: Vec<Member> =
            (0..NODES).map(|n| Member::new(&format!("{name}-node-{n}"), Role::Other(role.clone()))).collect();
        nodes.iter_mut().for_each(Member::launch);
        nodes.iter_mut().for_each(Member::serves);
        let cluster = Cluster { server, nodes, folder: Folder::new(name) };
        wait_for("all nodes are ready", || {
            let nodes = cluster.server.read("/v1/nodes")?;
            let ready = nodes.as_array().into_iter().flatten().filter(|n| n["Status"] == "ready").count();
            if ready == NODES { Ok(()) } else { Err(nodes.to_string()) }
        });
        cluster
    }

    fn put(&self, path: &str, body: &Json) {
        let reply = self.server.agent().send("PUT", path, body);
        assert_eq!(reply.status, 200, "{path}: {reply:?}");
    }

    /// Registers a job and waits until so many of its allocations are healthy.
    fn runs(&self, job: &Json) {
        self.put("/v1/jobs", &json!({"Job": job}));
        let (id, count) = (job["ID"].as_str().expect("an ID"), job["TaskGroups"][0]["Count"].as_u64());
        self.healthy(id, count.expect("a count"));
    }

    /// Removes a job and waits until none of its allocations is to run.
    fn purge(&self, job: &str) {
        let reply = self.server.agent().send("DELETE", &format!("/v1/job/{job}?purge=true"), &json!({}));
        assert_eq!(reply.status, 200, "{reply:?}");
        wait_for("the job is gone", || {
            let left: Vec<Placed> =
                self.placed().into_iter().filter(|(name, _)| name.starts_with(&format!("{job}."))).collect();
            if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
        });
    }

    /// Waits until so many allocations of a job are healthy, and no other ones are to run.
    fn healthy(&self, job: &str, count: u64) {
        wait_for("the job is healthy", || {
            let allocs = self.server.read(&format!("/v1/job/{job}/allocations"))?;
            let wanted: Vec<&Json> = allocs.as_array().into_iter().flatten().filter(|a| to_run(a)).collect();
            let well = |a: &&&Json| a["DeploymentStatus"]["Healthy"] == true;
            let all = wanted.len() as u64 == count && wanted.iter().filter(well).count() as u64 == count;
            if all { Ok(()) } else { Err(allocs.to_string()) }
        });
    }

    /// The allocations that are to run.
    fn placed(&self) -> Vec<Placed> {
        let all = self.server.read("/v1/allocations").expect("allocations");
        let text = |a: &Json, key: &str| a[key].as_str().unwrap_or_default().to_string();
        let run = all.as_array().into_iter().flatten().filter(|a| to_run(a));
        run.map(|a| (text(a, "Name"), text(a, "NodeName"))).collect()
    }

    /// The name of a node with allocations of a job.
    fn node_of(&self, job: &str) -> String {
        let named = |(name, _): &&Placed| name.starts_with(&format!("{job}."));
        self.placed().iter().find(named).map(|(_, node)| node.clone()).expect("an allocation of the job")
    }

    fn is_empty(&self, node: &str) -> bool {
        self.placed().iter().all(|(_, on)| on != node)
    }

    /// The nodes that take no allocations.
    fn ineligible(&self) -> Vec<String> {
        let nodes = self.server.read("/v1/nodes").expect("nodes");
        let closed = nodes.as_array().into_iter().flatten().filter(|n| n["SchedulingEligibility"] != "eligible");
        closed.map(|n| n["Name"].as_str().unwrap_or_default().to_string()).collect()
    }

    fn nothing_is_ineligible(&self) {
        assert_eq!(self.ineligible(), Vec::<String>::new());
    }

    fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.server.port())
    }

    fn encamp(&self, args: &[&str]) -> Ran {
        run_for(PATIENCE, self.folder.path(), args, &[("NOMAD_ADDR", &self.address())], "")
    }

    /// Writes a plan that empties a node.
    fn plan(&self, node: &str) {
        let ran = self.encamp(&["rebalance", "-free-nodes", node, "-out", "plan.json"]);
        assert_eq!((ran.exit, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
        assert!(ran.stdout.contains(" free") && !ran.stdout.starts_with("Nothing"), "{}", ran.stdout);
    }

    /// Starts a run and does not wait.
    fn begin(&self) -> Agent {
        let mut command = interruptible(&program::path());
        command.args(["rebalance", "run", "-address", &self.address(), "plan.json"]);
        Agent::launch(&self.folder, &mut command)
    }

    /// The plan file, which is always complete and as documented.
    fn file(&self) -> Json {
        let text = std::fs::read(self.folder.path().join("plan.json")).expect("the plan");
        let file = serde_json::from_slice(&text).expect("JSON");
        assert_eq!(Schema::load("rebalance-file.schema.json").problems(&file), Vec::<String>::new());
        file
    }
}

fn to_run(alloc: &Json) -> bool {
    alloc["DesiredStatus"] == "run" && alloc["ClientStatus"] != "failed" && alloc["ClientStatus"] != "lost"
}

/// A service whose replacements are healthy after some seconds.
fn service(id: &str, count: u64, seconds: u64) -> Json {
    json!({"ID": id, "Name": id, "Type": "service", "Datacenters": ["*"], "TaskGroups": [{
        "Name": "g", "Count": count, "EphemeralDisk": {"SizeMB": 150}, "Update": {"MaxParallel": 0},
        "Migrate": {"MaxParallel": 1, "HealthCheck": "task_states", "MinHealthyTime": seconds * 1_000_000_000,
            "HealthyDeadline": 60_000_000_000_u64},
        "Tasks": [{"Name": "t", "Driver": "mock_driver", "Config": {"run_for": "1h"},
            "Resources": {"CPU": 400, "MemoryMB": 100}}],
    }]})
}

/// The same with a task that fails once a file exists.
fn fragile(id: &str, file: &str) -> Json {
    let mut job = service(id, 1, 0);
    let group = &mut job["TaskGroups"][0];
    group["RestartPolicy"] = json!({"Attempts": 0, "Mode": "fail", "Interval": 60_000_000_000_u64});
    group["Tasks"][0]["Driver"] = "raw_exec".into();
    let script = format!("test -e {file} && exit 1; exec sleep 3600");
    group["Tasks"][0]["Config"] = json!({"command": "/bin/sh", "args": ["-c", script]});
    job
}

/// A service whose replacements do not start before a file exists.
fn gated(id: &str, file: &str) -> Json {
    let mut job = service(id, 3, 0);
    let group = &mut job["TaskGroups"][0];
    group["Migrate"]["HealthyDeadline"] = json!(600_000_000_000_u64);
    let script = format!("until test -e {file}; do sleep 0.1; done");
    let gate = json!({"Name": "gate", "Driver": "raw_exec", "Config": {"command": "/bin/sh", "args": ["-c", script]},
        "Lifecycle": {"Hook": "prestart", "Sidecar": false}, "Resources": {"CPU": 20, "MemoryMB": 10}});
    group["Tasks"].as_array_mut().expect("tasks").push(gate);
    job
}

/// The requests that the specification lists for a run.
fn documented() -> BTreeSet<String> {
    let text = std::fs::read_to_string(repository().join("docs/spec/cli.md")).expect("the specification");
    let section = text.split(" Requests of a run\n").nth(1).expect("the section about requests");
    let section = section.split("\n### ").next().unwrap_or_default();
    section.lines().filter_map(|l| l.strip_prefix("- `")?.split('`').next()).map(String::from).collect()
}

/// A request without its IDs.
fn pattern(request: &Request) -> String {
    let mut parts: Vec<&str> = request.path.split('/').collect();
    if matches!(parts.get(2), Some(&"node" | &"allocation" | &"job")) && parts.get(3).is_some_and(|p| *p != "pools") {
        parts[3] = "ID";
    }
    format!("{} {}", request.method, parts.join("/"))
}

/// Passes all requests on to a server, and notes them.
fn recorder(port: u16) -> Server {
    Server::start(move |request| {
        let query: Vec<String> = request.query.iter().map(|(k, v)| format!("{k}={}", v.replace('*', "%2A"))).collect();
        let path = format!("{}?{}", request.path, query.join("&"));
        let body = String::from_utf8_lossy(&request.body);
        let reply = call(port, &request.method, &path, &body, PATIENCE).expect("an answer");
        Response::text(reply.status, &reply.body)
            .with("Content-Type", "application/json")
            .with("X-Nomad-Index", reply.index)
            .with("X-Nomad-KnownLeader", true)
            .with("X-Nomad-LastContact", 0)
    })
}

#[test]
fn a_plan_is_carried_out_with_requests_of_the_public_api() {
    let cluster = Cluster::start("rebalance");
    ["web", "api"].iter().for_each(|id| cluster.runs(&service(id, 3, 1)));
    let before: BTreeMap<String, String> = cluster.placed().into_iter().collect();
    let node = cluster.node_of("web");
    cluster.plan(&node);
    let planned = cluster.file();
    let moves = planned["Plan"]["Moves"].as_u64().expect("moves");
    assert_eq!(before.values().filter(|on| **on == node).count() as u64, moves);

    // A dry run changes nothing.
    let dry = cluster.encamp(&["rebalance", "run", "-dry-run", "plan.json"]);
    assert_eq!((dry.exit, dry.stderr.as_str()), (0, ""), "{}", dry.stdout);
    assert!(dry.stdout.contains(&format!("mark node {node} ineligible")), "{}", dry.stdout);
    assert!(dry.stdout.ends_with("The cluster is as the plan assumes.\n"), "{}", dry.stdout);
    assert_eq!(cluster.placed().into_iter().collect::<BTreeMap<_, _>>(), before);
    assert_eq!(cluster.file(), planned);

    let recorder = recorder(cluster.server.port());
    let ran = cluster.encamp(&["rebalance", "run", "-address", &recorder.address, "plan.json"]);
    assert_eq!((ran.exit, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
    assert!(
        ran.stdout.contains(&format!("The rebalance is finished: {moves} moves; 1 node is empty")),
        "{}",
        ran.stdout
    );
    assert!(cluster.is_empty(&node), "{:?}", cluster.placed());
    cluster.nothing_is_ineligible();
    ["web", "api"].iter().for_each(|id| cluster.healthy(id, 3));
    let after: BTreeMap<String, String> = cluster.placed().into_iter().collect();
    let moved = before.iter().filter(|(name, on)| after.get(*name) != Some(on)).count() as u64;
    assert_eq!(moved, moves, "allocations that the plan does not name stayed");
    let used: BTreeSet<String> = recorder.take().iter().map(pattern).collect();
    let documented = documented();
    let unknown: Vec<&String> = used.difference(&documented).collect();
    assert!(unknown.is_empty(), "not in docs/spec/cli.md: {unknown:?}");
    for change in ["PUT /v1/node/ID/eligibility", "PUT /v1/allocation/ID/stop"] {
        assert!(used.contains(change) && documented.contains(change), "{change}: {used:?}");
    }
    assert_eq!(used.iter().filter(|line| !line.starts_with("GET ")).count(), 2, "{used:?}");

    let run = &cluster.file()["Run"];
    assert_eq!((&run["Status"], &run["Progress"]["Moved"]), (&json!("finished"), &json!(moves)));
    assert_eq!(run["Progress"]["Marked"], json!([]));
    let again = cluster.encamp(&["rebalance", "run", "plan.json"]);
    assert_eq!((again.exit, again.stdout.as_str()), (0, "The plan has been carried out: nothing is left to do.\n"));
}

#[test]
fn interrupted_runs_leave_no_node_ineligible_and_resume() {
    let cluster = Cluster::start("interrupted");
    let gate = cluster.folder.path().join("gate");
    std::fs::write(&gate, "").expect("a file");
    ["web", "api"].iter().for_each(|id| cluster.runs(&gated(id, &gate.display().to_string())));
    // An operator marked a node: nobody else takes that back.
    let node = cluster.node_of("web");
    let other = cluster.placed().into_iter().map(|(_, on)| on).find(|on| *on != node).expect("another node");
    let ids: BTreeMap<String, String> = cluster
        .server
        .read("/v1/nodes")
        .expect("nodes")
        .as_array()
        .into_iter()
        .flatten()
        .map(|n| (n["Name"].as_str().unwrap_or_default().into(), n["ID"].as_str().unwrap_or_default().into()))
        .collect();
    let eligibility = |eligibility: &str| json!({"NodeID": ids[&other], "Eligibility": eligibility});
    let path = format!("/v1/node/{}/eligibility", ids[&other]);
    cluster.put(&path, &eligibility("ineligible"));
    cluster.plan(&node);

    // Ctrl-C while replacements start: none is healthy until the gate opens.
    std::fs::remove_file(&gate).expect("the file");
    let mut run = cluster.begin();
    run.until("is stopped");
    assert!(cluster.ineligible().contains(&node), "{:?}", cluster.ineligible());
    let lock = cluster.folder.path().join("plan.json.lock");
    let held = std::fs::File::open(&lock).expect("the lock").try_lock();
    assert!(matches!(held, Err(TryLockError::WouldBlock)), "{held:?}");
    run.signal(Signal::INT);
    assert_eq!(run.exit(), 130);
    assert!(run.log().contains("Interrupted. No node is left ineligible."), "{}", run.log());
    assert_eq!(cluster.ineligible(), std::slice::from_ref(&other));
    assert_eq!(cluster.file()["Run"]["Status"], "interrupted");

    // Only one process at a time.
    let taken = std::fs::File::create(&lock).expect("the lock");
    taken.try_lock().expect("nobody has the lock");
    let second = cluster.encamp(&["rebalance", "run", "plan.json"]);
    assert_eq!(second.exit, 255, "{second:?}");
    assert!(second.stderr.contains("another process carries this plan out"), "{}", second.stderr);
    drop(taken);

    // kill -9 of the run that resumes. What it marked is in the file.
    let mut run = cluster.begin();
    run.until("is marked ineligible");
    run.kill();
    let marked = cluster.file()["Run"]["Progress"]["Marked"].clone();
    assert_eq!(marked[0]["Name"], json!(node), "{marked}");
    assert!(cluster.ineligible().contains(&node), "{:?}", cluster.ineligible());
    let shown = cluster.encamp(&["rebalance", "show", "plan.json"]);
    assert!(shown.stdout.contains(&format!("Marked ineligible = {node}")), "{}", shown.stdout);
    // Only takes the mark back.
    let placed = cluster.placed();
    let aborted = cluster.encamp(&["rebalance", "run", "-abort", "plan.json"]);
    assert_eq!((aborted.exit, aborted.stderr.as_str()), (0, ""), "{}", aborted.stdout);
    assert_eq!(cluster.ineligible(), std::slice::from_ref(&other));
    assert_eq!(cluster.placed(), placed);

    // kill -9 once more, and the run is carried through.
    let mut run = cluster.begin();
    run.until("is marked ineligible");
    run.kill();
    std::fs::write(&gate, "").expect("a file");
    let ran = cluster.encamp(&["rebalance", "run", "plan.json"]);
    assert_eq!((ran.exit, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
    assert!(cluster.is_empty(&node), "{:?}", cluster.placed());
    assert_eq!(cluster.ineligible(), std::slice::from_ref(&other));
    cluster.put(&path, &eligibility("eligible"));
    ["web", "api"].iter().for_each(|id| cluster.healthy(id, 3));
}

#[test]
fn disturbed_runs_end_as_promised_or_with_a_reason() {
    let mut cluster = Cluster::start("disturbed");
    ["web", "api"].iter().for_each(|id| cluster.runs(&service(id, 3, 0)));

    // The job changes, so that other allocations run: the plan is made again, or ends.
    let node = cluster.node_of("web");
    cluster.plan(&node);
    let mut changed = service("web", 3, 0);
    changed["TaskGroups"][0]["Tasks"][0]["Env"] = json!({"VERSION": "2"});
    changed["TaskGroups"][0]["Tasks"][0]["Resources"]["CPU"] = 500.into();
    let ids = |cluster: &Cluster| -> Vec<String> {
        let all = cluster.server.read("/v1/job/web/allocations").expect("allocations");
        let run = all.as_array().into_iter().flatten().filter(|a| to_run(a));
        run.map(|a| a["ID"].as_str().unwrap_or_default().to_string()).collect()
    };
    let old = ids(&cluster);
    cluster.put("/v1/jobs", &json!({"Job": changed}));
    wait_for("all allocations are replaced", || {
        let now = ids(&cluster);
        if now.len() == 3 && now.iter().all(|id| !old.contains(id)) { Ok(()) } else { Err(format!("{now:?}")) }
    });
    cluster.healthy("web", 3);
    let ran = cluster.encamp(&["rebalance", "run", "-on-drift", "stop", "plan.json"]);
    let kept = ran.exit == 0 && cluster.is_empty(&node);
    let stopped = ran.exit == 1 && ran.stderr.contains("The run ended at step 1 of ");
    assert!(kept || stopped, "{ran:?}");
    cluster.nothing_is_ineligible();
    let ran = cluster.encamp(&["rebalance", "run", "plan.json"]);
    assert_eq!((ran.exit, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
    assert!(cluster.is_empty(&node), "{:?}", cluster.placed());
    cluster.nothing_is_ineligible();

    // A new job that can run on no other node: the goal is out of reach.
    let node = cluster.node_of("api");
    cluster.plan(&node);
    let mut pinned = service("pinned", 1, 0);
    pinned["Constraints"] = json!([{"LTarget": "${node.unique.name}", "RTarget": node, "Operand": "="}]);
    cluster.runs(&pinned);
    let ran = cluster.encamp(&["rebalance", "run", "plan.json"]);
    assert_eq!(ran.exit, 1, "{ran:?}");
    assert!(ran.stderr.contains(&format!("node {node} now runs pinned.g[0]")), "{}", ran.stderr);
    cluster.nothing_is_ineligible();
    assert_eq!(cluster.file()["Run"]["Status"], "stopped");

    cluster.purge("pinned");

    // A replacement fails.
    let file = cluster.folder.path().join("fail").display().to_string();
    cluster.runs(&fragile("fragile", &file));
    let node = cluster.node_of("fragile");
    cluster.plan(&node);
    std::fs::write(&file, "").expect("a file");
    let ran = cluster.encamp(&["rebalance", "run", "-step-timeout", "5s", "plan.json"]);
    assert_eq!(ran.exit, 1, "{ran:?}");
    assert!(ran.stderr.contains("not healthy after 5s: fragile.g[0]"), "{}", ran.stderr);
    cluster.nothing_is_ineligible();
    cluster.purge("fragile");

    // The node that is to become empty is lost.
    let node = cluster.node_of("web");
    cluster.plan(&node);
    let lost = cluster.nodes.iter_mut().find(|n| n.configuration().contains(&format!("name = {node:?}")));
    lost.expect("the node").kill();
    wait_for("the node is down", || {
        let nodes = cluster.server.read("/v1/nodes")?;
        let down = nodes.as_array().into_iter().flatten().any(|n| n["Name"] == node.as_str() && n["Status"] == "down");
        if down { Ok(()) } else { Err(nodes.to_string()) }
    });
    let ran = cluster.encamp(&["rebalance", "run", "plan.json"]);
    assert_eq!(ran.exit, 1, "{ran:?}");
    assert!(ran.stdout.contains(&format!("node {node} is down")), "{}", ran.stdout);
    cluster.nothing_is_ineligible();
}
