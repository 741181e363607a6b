//! Commands about worker pools: plans and simulations of the example in `fixtures/worker-pools`, status and failsafe
//! mode against answers of clusters with and without an autoscaler, and example files.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::canned::Canned;
use crate::cluster::Cluster;
use crate::program::{Folder, Ran, run_in, run_with};
use crate::server::{Request, Response, Server};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/worker-pools")
}

fn snapshot() -> Value {
    serde_json::from_str(&std::fs::read_to_string(fixtures().join("cluster.json")).unwrap()).unwrap()
}

/// Lines of a terminal of 80 columns.
fn fits(text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
    }
}

fn parsed(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {}{}", ran.stdout, ran.stderr))
}

/// The example of which only one node may run what runs on `worker-5`.
pub fn pinned() -> String {
    let mut cluster = snapshot();
    for job in cluster["Jobs"].as_array_mut().unwrap().iter_mut().filter(|j| j["ID"] == "api") {
        job["Constraints"] = json!([{"LTarget": "${node.unique.name}", "RTarget": "worker-5", "Operand": "="}]);
    }
    cluster.to_string()
}

/// The example in which the nodes that run `api` are never removed.
pub fn protected() -> String {
    let mut cluster = snapshot();
    for job in cluster["Jobs"].as_array_mut().unwrap().iter_mut().filter(|j| j["ID"] == "api") {
        job["Meta"] = json!({"encamp_protect": "true"});
    }
    cluster.to_string()
}

#[test]
fn a_plan_shows_every_step() {
    let ran = run_in(&fixtures(), &["autoscale", "plan", "-snapshot", "cluster.json"]);
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    for line in [
        "  \"web-workers\": 6 nodes, 3 to 20 allowed",
        "  Resource  Unit  Total   Used   Share   Reserve  Average Node  Allowed",
        "  cpu *     MHz   24000   11800  49.2 %  1200     4000          18800",
        "  memory    MB    49152   14744  30.0 %  1540     8192          39420",
        "  metric: cpu, the resource with the highest share (49.2 %)",
        "  allowed: (24000 total - 1200 reserve) - 4000 average node * 1 fault tolerance",
        "  direction: in, 11800 MHz used < 18800 MHz allowed",
        "  passed: simulated removal",
        "  failed: consecutive requests",
        "  candidate: worker-5 (00000005)",
        "  drain: 2 allocations would be moved, 0 would be stopped",
        "Nothing would happen yet: this would be 1 of 3 consecutive requests to shrink",
    ] {
        assert!(ran.stdout.lines().any(|l| l == line), "{line:?} is not in\n{}", ran.stdout);
    }
    fits(&ran.stdout);
    assert!(ran.stderr.contains("A snapshot contains no Variables"), "{}", ran.stderr);
    assert!(ran.stderr.contains("The nodes that run servers of the cluster are not known"), "{}", ran.stderr);
    assert!(ran.stderr.contains("The limits of the provider were not checked"), "{}", ran.stderr);
}

#[test]
fn the_exit_code_of_a_plan_says_whether_something_would_happen() {
    let folder = Folder::new("autoscale-plan");
    let mut cluster = snapshot();
    for node in cluster["Nodes"].as_array_mut().unwrap().iter_mut().filter(|n| n["Meta"].is_object()) {
        node["Meta"]["replicator_scaling_threshold"] = "1".into();
    }
    folder.file("eager.json", cluster.to_string());
    let ran = run_in(folder.path(), &["autoscale", "plan", "-snapshot=eager.json", "web-workers"]);
    let last = ran.stdout.lines().last();
    assert_eq!((last, ran.exit), (Some("The pool would shrink by 1 node: worker-5 (00000005)"), 1), "{}", ran.stderr);

    for node in cluster["Nodes"].as_array_mut().unwrap().iter_mut().filter(|n| n["Meta"].is_object()) {
        node["Meta"]["replicator_node_fault_tolerance"] = "4".into();
    }
    folder.file("careful.json", cluster.to_string());
    let ran = run_in(folder.path(), &["autoscale", "plan", "-snapshot=careful.json"]);
    assert_eq!((ran.stdout.lines().last(), ran.exit), (Some("The pool would grow by 2 nodes"), 1), "{}", ran.stderr);

    folder.file("pinned.json", pinned());
    let ran = run_in(folder.path(), &["autoscale", "plan", "-snapshot=pinned.json"]);
    let text = "  unplaced: 1 allocation of group \"server\" of job \"api\" in namespace \"default\"";
    assert!(ran.stdout.lines().any(|l| l == text) && ran.exit == 0, "{}{}", ran.stdout, ran.stderr);

    let ran = run_in(folder.path(), &["autoscale", "plan", "-snapshot=pinned.json", "nosuch"]);
    let want = "There is no worker pool \"nosuch\"; there are web-workers\n";
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str(), ran.exit), ("", want, 255));
    let ran = run_in(folder.path(), &["autoscale", "plan", "a", "b"]);
    assert!(ran.stderr.starts_with("This command takes no arguments or one: <pool>\n") && ran.exit == 255);
}

#[test]
fn wrong_configurations_are_told() {
    let folder = Folder::new("autoscale-problems");
    let mut cluster = snapshot();
    cluster["Nodes"][0]["Meta"]["replicator_max"] = "many".into();
    cluster["Nodes"][1]["Meta"]["replicator_min"] = "2".into();
    cluster["Nodes"][6]["Meta"] = json!({"replicator_enabled": "true"});
    folder.file("c.json", cluster.to_string());
    let ran = run_in(folder.path(), &["autoscale", "plan", "-snapshot=c.json"]);
    let text = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "5 nodes, 3 to 20 allowed",
        "node worker-1 (00000001): replicator_max is \"many\", which is not a whole number",
        "replicator_min: \"3\" on node worker-6 (00000006), which counts, but \"2\" on node worker-2 (00000002)",
        "node control-1 (00000007): replicator_max is missing",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{}", ran.stdout);
    }
    fits(&ran.stdout);
}

/// A cluster that knows nothing of worker pools, with Variables.
struct Foreign {
    server: Server,
    variables: Arc<Mutex<Vec<(String, Value)>>>,
}

/// `conflicts`: how often somebody else writes a Variable between its being read and written.
fn foreign(variables: &[(&str, Value)], conflicts: usize) -> Foreign {
    foreign_with(snapshot(), variables, conflicts, Some(json!({"Members": []})))
}

/// `members`: what the cluster answers about its servers; none: nothing.
fn foreign_with(all: Value, variables: &[(&str, Value)], conflicts: usize, members: Option<Value>) -> Foreign {
    let text = |v: &Value, name: &str| v[name].as_str().unwrap().to_string();
    let mut cluster = Cluster { index: 60, page: 1000, ..Cluster::default() };
    for n in all["Nodes"].as_array().unwrap() {
        let mut n = n.clone();
        n["Drain"] = false.into();
        n["HTTPAddr"] = format!("{}.example:4646", text(&n, "Name")).into();
        cluster.nodes.insert(text(&n, "ID"), n);
    }
    for j in all["Jobs"].as_array().unwrap() {
        let mut j = j.clone();
        (j["Stop"], j["Version"]) = (false.into(), 0.into());
        cluster.jobs.insert((text(&j, "Namespace"), text(&j, "ID")), vec![j]);
    }
    for a in all["Allocations"].as_array().unwrap() {
        let mut a = a.clone();
        a["Job"] = cluster.jobs[&(text(&a, "Namespace"), text(&a, "JobID"))][0].clone();
        cluster.allocations.insert(text(&a, "ID"), a);
    }
    cluster.lists.insert("/v1/deployments", json!([]));
    cluster.lists.insert("/v1/namespaces", all["Namespaces"].clone());
    cluster.lists.insert("/v1/node/pools", all["NodePools"].clone());
    if let Some(members) = members {
        cluster.lists.insert("/v1/agent/members", members);
    }
    let config = json!({"SchedulerConfig": all["SchedulerConfiguration"]});
    cluster.lists.insert("/v1/operator/scheduler/configuration", config);
    let stored: Vec<(String, Value)> = variables.iter().map(|(p, v)| (p.to_string(), v.clone())).collect();
    let variables = Arc::new(Mutex::new(stored));
    let served = variables.clone();
    let left = Mutex::new(conflicts);
    let server = Server::start(move |r: &Request| {
        let Some(path) = r.path.strip_prefix("/v1/var/") else { return cluster.answer(r) };
        let mut stored = served.lock().unwrap();
        let at = stored.iter().position(|(p, _)| p == path);
        let now = at.map_or(Value::Null, |i| stored[i].1.clone());
        if r.method == "GET" {
            return if at.is_some() { Response::json(&now) } else { Response::text(404, "variable not found") };
        }
        let mut left = left.lock().unwrap();
        let index = now["ModifyIndex"].as_u64().unwrap_or(0);
        if *left > 0 || r.param("cas") != Some(index.to_string().as_str()) {
            *left = left.saturating_sub(1);
            return Response { status: 409, ..Response::json(&json!({"Path": path, "ModifyIndex": index})) };
        }
        let mut new: Value = serde_json::from_slice(&r.body).unwrap();
        new["ModifyIndex"] = (index + 7).into();
        match at {
            Some(i) => stored[i].1 = new.clone(),
            None => stored.push((path.to_string(), new.clone())),
        }
        Response::json(&new)
    });
    Foreign { server, variables }
}

const STATE: &str = "encamp/autoscale/state/nodes/web-workers";

fn stored_state(more: Value) -> Value {
    let mut state = json!({"resource_name": "web-workers", "resource_type": "worker_pool", "scalein_requests": 1});
    for (name, value) in more.as_object().unwrap() {
        state[name] = value.clone();
    }
    json!({"Namespace": "default", "Path": STATE, "ModifyIndex": 40, "Items": {"state": state.to_string()}})
}

impl Foreign {
    fn run(&self, args: &[&str]) -> Ran {
        self.run_with(args, &[])
    }

    fn run_with(&self, args: &[&str], more: &[(&str, &str)]) -> Ran {
        let folder = Folder::new("autoscale-foreign");
        let cache = folder.path().join("cache").display().to_string();
        let env = [("NOMAD_ADDR", self.server.address.as_str()), ("ENCAMP_CACHE_DIR", cache.as_str())];
        run_with(folder.path(), args, &[&env, more].concat(), None)
    }

    /// The state object of the pool as it is stored.
    fn state(&self) -> Value {
        self.state_at(STATE)
    }

    fn state_at(&self, path: &str) -> Value {
        let variables = self.variables.lock().unwrap();
        let (_, variable) = variables.iter().find(|(p, _)| p == path).expect("a state object");
        serde_json::from_str(variable["Items"]["state"].as_str().unwrap()).unwrap()
    }
}

#[test]
fn a_plan_of_a_running_cluster_uses_its_variables_and_a_provider() {
    let cluster = foreign(&[(STATE, stored_state(json!({})))], 0);
    let ran = cluster.run(&["autoscale", "plan", "-json"]);
    let plan = parsed(&ran);
    assert_eq!(plan["Pools"][0]["Outcome"], "requested", "{plan:#}");
    assert_eq!(plan["Pools"][0]["ProviderLimitsRead"], false);
    let sentence = plan["Pools"][0]["Sentence"].as_str().unwrap();
    assert!(sentence.ends_with("2 of 3 consecutive requests to shrink"), "{sentence}");

    // A program that answers like the provider "command": the group is larger than the pool.
    let folder = Folder::new("autoscale-provider");
    let reply = r#"{"Version": 1, "Desired": 8, "Min": 1, "Max": 20, "Instances": []}"#;
    let program = folder.file("provider.sh", format!("cat > /dev/null\necho '{reply}'\n"));
    let command = format!("-provider-command=sh {}", program.display());
    let ran = cluster.run_with(&["autoscale", "plan", "-json", &command], &[("PATH", "/usr/bin:/bin")]);
    let plan = parsed(&ran);
    let pool = &plan["Pools"][0];
    assert_eq!((&pool["ProviderLimitsRead"], &pool["Outcome"]), (&json!(true), &json!("denied")), "{plan:#}");
    let last = pool["Checks"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["Check"], &last["Passed"]), (&json!("provider_limits"), &json!(false)));

    let broken = json!({"Path": STATE, "ModifyIndex": 1, "Items": {"state": "{"}});
    let ran = foreign(&[(STATE, broken)], 0).run(&["autoscale", "plan"]);
    assert!(ran.stderr.contains(&format!("the state object at {STATE} cannot be read")), "{}", ran.stderr);
    assert_eq!(ran.exit, 255);
}

#[test]
fn nodes_of_servers_are_told_and_never_chosen() {
    let member = |name: &str, status: &str| {
        let tags = json!({"region": "global", "rpc_addr": format!("{name}.example")});
        json!({"Name": format!("{name}.global"), "Addr": "10.0.0.5", "Port": 4648, "Tags": tags, "Status": status})
    };
    // worker-5 would be the first to leave; worker-6 has left the servers.
    let members = json!({"Members": [member("worker-5", "failed"), member("worker-6", "left"), member("x", "alive")]});
    let state = [(STATE, stored_state(json!({})))];
    let cluster = foreign_with(snapshot(), &state, 0, Some(members));
    let plan = parsed(&cluster.run(&["autoscale", "plan", "-json"]));
    let pool = &plan["Pools"][0];
    let want = json!([{"ID": "00000005-0000-4000-8000-000000000005", "Name": "worker-5", "Reason": "server"}]);
    assert_eq!(pool["Protected"], want, "{plan:#}");
    let candidates = pool["Candidates"].as_array().unwrap();
    assert!(candidates.len() == 5 && candidates.iter().all(|c| c["Name"] != "worker-5"), "{candidates:?}");
    for args in [&["autoscale", "plan"][..], &["autoscale", "status", "web-workers"]] {
        let ran = cluster.run(args);
        let text = "\nProtected Nodes\n  worker-5 (00000005): it runs a server of the cluster\n";
        assert!(ran.stdout.contains(text), "{args:?}: {}{}", ran.stdout, ran.stderr);
        fits(&ran.stdout);
    }
    let status = parsed(&cluster.run(&["autoscale", "status", "-json"]));
    assert_eq!(status[0]["Protected"], want, "{status:#}");

    for members in [None, Some(json!({}))] {
        let ran = foreign_with(snapshot(), &state, 0, members).run(&["autoscale", "plan"]);
        let text = "The nodes that run servers of the cluster are not known";
        assert!(ran.stderr.contains(text) && ran.exit == 0, "{}", ran.stderr);
    }
}

fn pool(more: Value) -> Value {
    let mut pool = json!({
        "Pool": "web-workers", "Nodes": 6, "Min": 3, "Max": 20, "Metric": "cpu", "Utilization": 11800,
        "MaxAllowed": 18800, "Direction": "in", "ScaleInRequests": 2, "ScaleOutRequests": 0,
        "CooldownLeft": 61_000_000_000_i64, "Failsafe": false, "FailsafeAdmin": "", "Failures": 1, "Operation": "",
        "LastDecision": {"Time": "2020-01-01T00:00:00Z", "Action": "denied", "Reason": "the cooldown takes 61 s more"},
        "Problems": ["node worker-9 (00000009): replicator_max is missing"],
    });
    for (name, value) in more.as_object().unwrap() {
        pool[name] = value.clone();
    }
    pool
}

#[test]
fn status_shows_what_the_leader_tells() {
    let other = pool(json!({"Pool": "batch", "Failsafe": true, "Metric": "", "Direction": "", "ScaleInRequests": 0,
        "CooldownLeft": 0, "Problems": [], "Operation": "removal of node worker-3"}));
    let server = Canned::new(&[("GET /v1/autoscale/pools", json!([other, pool(json!({}))]))]);
    let ran = server.run(&["autoscale", "status"]);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(
        lines[..3],
        [
            "Pool         Nodes     Metric  Used   Allowed  Direction  Cooldown  Failsafe",
            "batch        6 (3-20)  -       11800  18800    -          0s        true",
            "web-workers  6 (3-20)  cpu     11800  18800    in (2)     1m1s      false",
        ],
        "{}{}",
        ran.stdout,
        ran.stderr
    );
    fits(&ran.stdout);
    assert!(ran.stdout.contains("\nLast Decisions\nbatch: denied, "), "{}", ran.stdout);
    assert!(ran.stdout.contains("\n  removal of node worker-3\n"), "{}", ran.stdout);
    assert!(ran.stdout.ends_with("\nProblems\n  web-workers: node worker-9 (00000009): replicator_max is missing\n"));
    assert_eq!(ran.exit, 0);

    let ran = server.run(&["autoscale", "status", "web-workers"]);
    for line in ["Used               = 11800 MHz", "Failures           = 1", "Operation          = none"] {
        assert!(ran.stdout.lines().any(|l| l == line), "{line}: {}", ran.stdout);
    }
    assert!(ran.stdout.contains("\n  the cooldown takes 61 s more\n"), "{}", ran.stdout);
    fits(&ran.stdout);
    let own = pool(json!({"ScaleOutCooldownLeft": 0, "ScaleInCooldownLeft": 61_000_000_000_i64}));
    let ran = Canned::new(&[("GET /v1/autoscale/pools", json!([own]))]).run(&["autoscale", "status", "web-workers"]);
    assert!(ran.stdout.lines().any(|l| l == "Cooldown Left      = out 0s, in 1m1s"), "{}", ran.stdout);
    let ran = server.run(&["autoscale", "status", "-json", "web-workers"]);
    assert_eq!(parsed(&ran)["LastDecision"]["Action"], "denied");
    let ran = server.run(&["autoscale", "status", "-t", "{{range .}}{{.Pool}} {{end}}"]);
    assert_eq!((ran.stdout.as_str(), ran.exit), ("batch web-workers \n", 0), "{}", ran.stderr);
    let ran = server.run(&["autoscale", "status", "nosuch"]);
    let want = "There is no worker pool \"nosuch\"; there are batch, web-workers\n";
    assert_eq!((ran.stderr.as_str(), ran.exit), (want, 1));
    let ran = Canned::new(&[("GET /v1/autoscale/pools", json!([]))]).run(&["autoscale", "status"]);
    assert_eq!((ran.stdout.as_str(), ran.exit), ("No worker pools\n", 0));
    let denied = Canned::of(vec![("GET /v1/autoscale/pools", Response::text(403, "Permission denied"))]);
    let ran = denied.run(&["autoscale", "status"]);
    assert!(ran.stderr.starts_with("Error querying worker pools: ") && ran.exit == 1, "{}", ran.stderr);
}

#[test]
fn status_of_a_cluster_that_cannot_tell_is_evaluated_here() {
    let state = stored_state(json!({"failsafe_admin": "2026-01-02T03:04:05Z ops", "failure_count": 2}));
    let cluster = foreign(&[(STATE, state)], 0);
    let ran = cluster.run(&["autoscale", "status"]);
    assert!(ran.stderr.starts_with("The cluster does not report worker pools"), "{}", ran.stderr);
    let row = "web-workers  6 (3-20)  cpu     11800  18800    in (1)     0s        false";
    assert_eq!(ran.stdout.lines().nth(1), Some(row), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("\nweb-workers: requested, "), "{}", ran.stdout);
    let ran = cluster.run(&["autoscale", "status", "web-workers"]);
    assert!(ran.stdout.contains("Failsafe           = false, since 2026-01-02T03:04:05Z ops\n"), "{}", ran.stdout);
    let ran = cluster.run(&["autoscale", "status", "-json"]);
    assert_eq!(parsed(&ran)[0]["Failures"], 2);
}

#[test]
fn failsafe_mode_goes_through_the_leader() {
    let put = "PUT /v1/autoscale/pool/web-workers/failsafe";
    let served = |failsafe: bool| {
        Canned::new(&[
            ("GET /v1/autoscale/pools", json!([pool(json!({"Failsafe": failsafe}))])),
            (put, pool(json!({"Failsafe": !failsafe}))),
        ])
    };
    let server = served(false);
    let ran = server.run(&["autoscale", "failsafe", "-enable", "-yes", "web-workers"]);
    let want = "Failsafe mode of worker pool \"web-workers\" enabled: it is neither evaluated nor scaled\n";
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str(), ran.exit), (want, "", 0));
    let asked = |server: &Canned, enable: bool| {
        let bodies = server.bodies(put);
        let [body] = bodies.as_slice() else { panic!("{bodies:?}") };
        let operator = body["Operator"].as_str().unwrap();
        assert!(body["Enable"] == enable && operator.contains('@'), "{body}");
    };
    asked(&server, true);

    for (args, input) in [
        (&["-disable", "-force", "-pool=web-workers"][..], ""),
        (&["-disable", "-state-path=encamp/autoscale/state/nodes/web-workers"], "y\n"),
    ] {
        let server = served(true);
        let ran = server.typed(&[&["autoscale", "failsafe"], args].concat(), input);
        assert!(ran.stdout.ends_with("disabled: it is evaluated again\n") && ran.exit == 0, "{ran:?}");
        asked(&server, false);
    }

    let server = served(true);
    let ran = server.run(&["autoscale", "failsafe", "-enable", "web-workers"]);
    let want = "Failsafe mode of worker pool \"web-workers\" is already enabled\n";
    assert_eq!((ran.stdout.as_str(), ran.exit), (want, 0));
    let question = "Are you sure you want to disable failsafe mode of worker pool \"web-workers\"? [y/N] ";
    let ran = server.typed(&["autoscale", "failsafe", "-disable", "web-workers"], "n\n");
    assert_eq!(ran.stdout, format!("{question}Cancelling: failsafe mode is unchanged\n"));
    assert_eq!((ran.exit, server.bodies(put)), (0, vec![]));
    let ran = server.run(&["autoscale", "failsafe", "-disable", "nosuch"]);
    assert_eq!((ran.stderr.as_str(), ran.exit), ("There is no worker pool \"nosuch\"; there are web-workers\n", 1));
    let ran = server.run(&["autoscale", "failsafe", "-disable", "-state-path", "a/b"]);
    assert_eq!((ran.stderr.as_str(), ran.exit), ("No worker pool has its state at \"a/b\"\n", 1));
}

/// A group as the leader tells it.
fn group(more: Value) -> Value {
    let mut group = json!({
        "Namespace": "default", "JobID": "web", "Group": "front", "Count": 3, "Min": 1, "Max": 10, "CPU": 45.04,
        "Memory": null, "Running": 3, "Measured": 2, "CooldownLeft": 61_000_000_000_i64, "Failsafe": false,
        "FailsafeAdmin": "", "Failures": 1, "Operation": "", "Problems": [],
        "LastDecision": {"Time": "2020-01-01T00:00:00Z", "Action": "none", "Reason": "within its bounds"},
    });
    for (name, value) in more.as_object().unwrap() {
        group[name] = value.clone();
    }
    group
}

const GROUPS: &str = "GET /v1/autoscale/groups";

#[test]
fn status_shows_job_groups_that_the_leader_tells() {
    let bad = group(json!({"JobID": "api", "Group": "server", "CPU": null, "Failsafe": true, "CooldownLeft": 0,
        "Problems": ["replicator_max is \"many\", which is not a whole number"]}));
    let server = Canned::new(&[(GROUPS, json!([bad, group(json!({}))]))]);
    let ran = server.run(&["autoscale", "status", "-groups"]);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(
        lines[..3],
        [
            "Group       Count     CPU     Memory  Running  Cooldown  Failsafe",
            "api/server  3 (1-10)  -       -       3        0s        true",
            "web/front   3 (1-10)  45.0 %  -       3        1m1s      false",
        ],
        "{}{}",
        ran.stdout,
        ran.stderr
    );
    fits(&ran.stdout);
    assert!(ran.stdout.contains("\nLast Decisions\napi/server: none, "), "{}", ran.stdout);
    assert!(ran.stdout.contains("\nProblems\n  api/server: replicator_max is"), "{}", ran.stdout);

    let ran = server.run(&["autoscale", "status", "-groups", "web/front"]);
    for line in ["Job           = web", "Running       = 3 allocations, use known of 2", "Failures      = 1"] {
        assert!(ran.stdout.lines().any(|l| l == line), "{line}: {}", ran.stdout);
    }
    assert!(ran.stdout.ends_with("\n  within its bounds\n"), "{}", ran.stdout);
    fits(&ran.stdout);
    let ran = server.run(&["autoscale", "status", "-groups", "-json", "web/front"]);
    assert_eq!((&parsed(&ran)["Group"], &parsed(&ran)["Failures"]), (&json!("front"), &json!(1)));
    let ran = server.run(&["autoscale", "status", "-groups", "-t", "{{range .}}{{.JobID}} {{end}}"]);
    assert_eq!((ran.stdout.as_str(), ran.exit), ("api web \n", 0), "{}", ran.stderr);
    let ran = server.run(&["autoscale", "status", "-groups", "nosuch/group"]);
    let want = "There is no job group \"nosuch/group\"; there are api/server, web/front\n";
    assert_eq!((ran.stderr.as_str(), ran.exit), (want, 1));
    let ran = Canned::new(&[(GROUPS, json!([]))]).run(&["autoscale", "status", "-groups"]);
    assert_eq!((ran.stdout.as_str(), ran.exit), ("No job groups\n", 0));
}

#[test]
fn failsafe_mode_of_a_job_group_goes_through_the_leader() {
    let put = "PUT /v1/autoscale/group/web/front/failsafe";
    let served = |failsafe: bool| {
        Canned::new(&[
            (GROUPS, json!([group(json!({"Failsafe": failsafe}))])),
            (put, group(json!({"Failsafe": !failsafe}))),
        ])
    };
    let server = served(false);
    let ran = server.run(&["autoscale", "failsafe", "-enable", "-yes", "-group=web/front"]);
    let want = "Failsafe mode of job group \"web/front\" enabled: it is neither evaluated nor scaled\n";
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str(), ran.exit), (want, "", 0));
    let bodies = server.bodies(put);
    let [body] = bodies.as_slice() else { panic!("{bodies:?}") };
    assert!(body["Enable"] == true && body["Operator"].as_str().unwrap().contains('@'), "{body}");

    let ran = server.run(&["autoscale", "failsafe", "-disable", "-group=web/front"]);
    let want = "Failsafe mode of job group \"web/front\" is already disabled\n";
    assert_eq!((ran.stdout.as_str(), ran.exit), (want, 0));
    let server = served(true);
    let ran = server.typed(&["autoscale", "failsafe", "-disable", "-group=web/front"], "n\n");
    let question = "Are you sure you want to disable failsafe mode of job group \"web/front\"? [y/N] ";
    assert_eq!(ran.stdout, format!("{question}Cancelling: failsafe mode is unchanged\n"));
    assert_eq!((ran.exit, server.bodies(put)), (0, vec![]));
    let ran = server.run(&["autoscale", "failsafe", "-disable", "-group=web/back"]);
    let want = "There is no job group \"web/back\"; there are web/front\n";
    assert_eq!((ran.stderr.as_str(), ran.exit), (want, 1));
}

#[test]
fn job_groups_of_a_cluster_that_cannot_tell_are_read_from_variables() {
    const GROUP: &str = "encamp/autoscale/state/jobs/api/server";
    let mut cluster = snapshot();
    let meta = json!({
        "replicator_enabled": "true", "replicator_min": "1", "replicator_max": "9", "replicator_notification_uid": "u",
        "replicator_scalein_cpu": "20", "replicator_scalein_mem": "20", "replicator_scaleout_cpu": "80",
        "replicator_scaleout_mem": "80",
    });
    for job in cluster["Jobs"].as_array_mut().unwrap().iter_mut().filter(|j| j["ID"] == "api") {
        job["Status"] = "running".into();
        job["TaskGroups"][0]["Meta"] = meta.clone();
    }
    let state = json!({"resource_name": "api/server", "resource_type": "job_group", "failsafe_mode": true,
        "failsafe_admin": "2026-01-02T03:04:05Z autoscaler: 1 failures", "failure_count": 1});
    let state =
        json!({"Namespace": "default", "Path": GROUP, "ModifyIndex": 40, "Items": {"state": state.to_string()}});
    // Somebody else writes once meanwhile.
    let cluster = foreign_with(cluster, &[(GROUP, state)], 1, Some(json!({"Members": []})));
    let ran = cluster.run(&["autoscale", "status", "-groups"]);
    assert!(ran.stderr.starts_with("The cluster does not report job groups"), "{}", ran.stderr);
    let row = ran.stdout.lines().nth(1).unwrap_or_default();
    assert!(row.starts_with("api/server  ") && row.ends_with(" true"), "{}{}", ran.stdout, ran.stderr);
    let ran = cluster.run(&["autoscale", "status", "-groups", "api/server"]);
    let line = "Failsafe      = true, since 2026-01-02T03:04:05Z autoscaler: 1 failures\n";
    assert!(ran.stdout.contains(line), "{}", ran.stdout);

    let disable = ["autoscale", "failsafe", "-disable", "-yes", "-group=api/server"];
    let ran = cluster.run_with(&disable, &[("USER", "ann")]);
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    let written = cluster.state_at(GROUP);
    assert_eq!((&written["failsafe_mode"], &written["failure_count"]), (&json!(false), &json!(0)), "{written}");
    assert_eq!((&written["resource_name"], &written["resource_type"]), (&json!("api/server"), &json!("job_group")));
    let admin = written["failsafe_admin"].as_str().unwrap();
    assert!(admin.split(' ').nth(1).is_some_and(|who| who.starts_with("ann@")), "{admin}");
    let ran = cluster.run(&["autoscale", "failsafe", "-enable", "-yes", "-group=api/nosuch"]);
    assert!(ran.stderr.starts_with("There is no job group \"api/nosuch\"") && ran.exit == 1, "{}", ran.stderr);
}

/// What is said where a pool is named twice, or besides a group.
const ONCE: &str = "Name the pool once: as an argument, with -pool or with -state-path; or a group with -group";

#[test]
fn failsafe_needs_one_mode_and_one_pool() {
    let server = Canned::new(&[]);
    for (args, want) in [
        (&["web"][..], "Exactly one of -enable and -disable is required"),
        (&["-enable", "-disable", "web"], "Exactly one of -enable and -disable is required"),
        (&["-enable"], "This command takes one argument: <pool>"),
        (&["-enable", "a", "b"], "This command takes one argument: <pool>"),
        (&["-enable", "-pool=a", "a"], ONCE),
        (&["-enable", "-group=a/b", "a"], ONCE),
    ] {
        let ran = server.run(&[&["autoscale", "failsafe"], args].concat());
        assert_eq!((ran.stderr.lines().next(), ran.exit), (Some(want), 1), "{args:?}");
    }
}

#[test]
fn failsafe_mode_of_a_cluster_that_cannot_tell_is_written_to_its_variable() {
    let disable = ["autoscale", "failsafe", "-disable", "-yes", "web-workers"];
    let state = stored_state(json!({"failsafe_mode": true, "failure_count": 3, "scalein_requests": 2}));
    // Somebody else writes twice meanwhile.
    let cluster = foreign(&[(STATE, state.clone())], 2);
    let ran = cluster.run_with(&disable, &[("USER", "ann")]);
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    let written = cluster.state();
    assert_eq!((&written["failsafe_mode"], &written["failure_count"]), (&json!(false), &json!(0)), "{written}");
    assert_eq!(written["scalein_requests"], 2);
    let admin = written["failsafe_admin"].as_str().unwrap();
    assert!(admin.split(' ').nth(1).is_some_and(|who| who.starts_with("ann@")), "{admin}");
    assert!(written["last_updated"].is_string());

    let cluster = foreign(&[(STATE, state)], 100);
    let ran = cluster.run(&disable);
    assert!(ran.stderr.contains("other processes keep writing the Variable") && ran.exit == 1, "{}", ran.stderr);
    assert_eq!(cluster.state()["failsafe_mode"], true);

    let cluster = foreign(&[], 0);
    let ran = cluster.run(&disable);
    assert!(ran.stdout.ends_with("is already disabled\n") && ran.exit == 0, "{}", ran.stdout);
    let ran = cluster.run(&["autoscale", "failsafe", "-enable", "-yes", "web-workers"]);
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    assert_eq!(cluster.state()["failsafe_mode"], true, "a new object is made");
    let ran = cluster.run(&["autoscale", "failsafe", "-enable", "-yes", "nosuch"]);
    assert_eq!((ran.stderr.as_str(), ran.exit), ("There is no worker pool \"nosuch\"; there are web-workers\n", 1));
}

#[test]
fn init_writes_examples_that_hold() {
    let folder = Folder::new("autoscale-init");
    for (flag, file, what) in [
        ("-cluster-scaling", "cluster_scaling.hcl", "cluster scaling"),
        ("-job-scaling", "job_scaling.hcl", "job scaling"),
    ] {
        let ran = run_in(folder.path(), &["init", flag]);
        let want = format!("Example {what} configuration written to {file}\n");
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str(), ran.exit), (want.as_str(), "", 0));
        let text = std::fs::read_to_string(folder.path().join(file)).unwrap();
        let ran = run_in(folder.path(), &["init", flag]);
        assert_eq!((ran.stderr.as_str(), ran.exit), (format!("File '{file}' already exists\n").as_str(), 1));
        assert_eq!(std::fs::read_to_string(folder.path().join(file)).unwrap(), text);
    }
    let ran = run_in(folder.path(), &["config", "validate", "cluster_scaling.hcl"]);
    assert_eq!(ran.exit, 0, "{}{}", ran.stdout, ran.stderr);
    let ran = run_in(folder.path(), &["job", "validate", "job_scaling.hcl"]);
    assert_eq!(ran.exit, 0, "{}{}", ran.stdout, ran.stderr);
    for args in [&["-cluster-scaling", "-job-scaling"][..], &["-short", "-job-scaling"], &["-job-scaling", "x"]] {
        assert_eq!(run_in(folder.path(), &[&["init"], args].concat()).exit, 1, "{args:?}");
    }
}

fn simulate(folder: &Path, args: &[&str]) -> Ran {
    let cluster = fixtures().join("cluster.json").display().to_string();
    run_in(folder, &[&["autoscale", "simulate", "-snapshot", cluster.as_str()], args].concat())
}

/// Some hours of the example.
fn hours(folder: &Folder) -> String {
    let day = std::fs::read_to_string(fixtures().join("day.csv")).unwrap();
    let within = |line: &&str| line.split(',').next().is_some_and(|t| t.parse::<i64>().map_or(true, |t| t <= 36_000));
    let rows: Vec<&str> = day.lines().filter(within).collect();
    folder.file("hours.csv", rows.join("\n")).display().to_string()
}

#[test]
fn a_simulation_is_told_drawn_and_repeatable() {
    let folder = Folder::new("autoscale-simulate");
    let trace = hours(&folder);
    let ran = simulate(folder.path(), &["-trace", &trace, "-svg", "day.svg"]);
    assert_eq!((ran.stderr.as_str(), ran.exit), ("", 0));
    fits(&ran.stdout);
    for title in ["Nodes", "Demand", "Summary", "Operations", "Refusals"] {
        assert!(ran.stdout.contains(&format!("\n\n{title}\n")), "{title}: {}", ran.stdout);
    }
    let svg = std::fs::read_to_string(folder.path().join("day.svg")).unwrap();
    assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n") && svg.contains("prefers-color-scheme:dark"));

    let of = |args: &[&str]| parsed(&simulate(folder.path(), &[&["-json", "-trace", &trace], args].concat()));
    let report = of(&[]);
    assert_eq!(report, of(&[]));
    assert_eq!((&report["Pool"], &report["Failures"]), (&json!("web-workers"), &json!([])));
    assert_eq!(report["Cycles"]["Total"], 1 + report["Seconds"].as_i64().unwrap() / 10);
    assert!(report["Nodes"]["Most"].as_i64() > Some(6), "{}", report["Nodes"]);
    assert!(report["Nodes"]["Least"].as_i64() < Some(6), "{}", report["Nodes"]);
    assert_ne!(report["Operations"], of(&["-seed=2"])["Operations"]);

    let assumed =
        of(&["-max=8", "-fault-tolerance=0", "-cooldown=60s", "-scaling-threshold=1", "-scale-factor=1", "-min=5"]);
    let want = json!({"Min": 5, "Max": 8, "Cooldown": 60, "FaultTolerance": 0, "ScalingThreshold": 1, "ScaleFactor": 1,
        "RetryThreshold": 3});
    assert_eq!(assumed["Parameters"], want);
    assert!(assumed["Nodes"]["Most"].as_i64() <= Some(8) && assumed["Nodes"]["Least"].as_i64() >= Some(5));
    let own = of(&["-scaleout-cooldown=0s", "-scalein-cooldown=20m"]);
    assert_eq!(
        (&own["Parameters"]["ScaleOutCooldown"], &own["Parameters"]["ScaleInCooldown"]),
        (&json!(0), &json!(1200))
    );
    let text = simulate(folder.path(), &["-trace", &trace, "-scaleout-cooldown=0s", "-scalein-cooldown=20m"]).stdout;
    assert!(text.lines().any(|l| l == "Cooldown          = out 0s, in 20m0s"), "{text}");
    let text = simulate(folder.path(), &["-trace", &trace, "-scalein-cooldown=20m"]).stdout;
    assert!(text.lines().any(|l| l == "Cooldown          = out 5m0s after any operation, in 20m0s"), "{text}");
    let failing = of(&["-boot-failures=100"]);
    assert!(failing["Failures"].as_array().map(Vec::len) >= Some(3) && failing["Failsafe"].is_i64(), "{failing}");
}

#[test]
fn a_trace_that_does_not_hold_is_told_by_line() {
    let folder = Folder::new("autoscale-trace");
    let header = "time_seconds,namespace,job,group,count";
    for (text, want) in [
        ("".to_string(), "line 1: the file is empty"),
        (format!("{header}\n0,,web,front,x\n"), "line 2: count is \"x\", but must be a whole number from 0 to 10000"),
        (format!("{header}\n0,,web,front,9\n0,,wbe,front,9\n"), "line 3: the snapshot has no job \"wbe\""),
        (
            format!("{header}\n0,,web,front,9\n\n9,,web,front,7\n"),
            "line 4: the scaling block of the group allows 8 to 120",
        ),
        (format!("{header}\n0,,exporter,node,1\n"), "line 2: job \"exporter\" is of type \"system\""),
    ] {
        folder.file("t.csv", &text);
        let ran = simulate(folder.path(), &["-trace=t.csv"]);
        let want = format!("Error in trace \"t.csv\": {want}");
        assert!(ran.stderr.starts_with(&want) && ran.exit == 1, "{}", ran.stderr);
        assert_eq!(ran.stdout, "");
    }
    let ran = simulate(folder.path(), &["-trace=none.csv"]);
    assert!(ran.stderr.starts_with("Error reading trace: ") && ran.exit == 1, "{}", ran.stderr);
    for (args, want) in [
        (&["-trace=t.csv", "-boot-failures=101"][..], "-boot-failures must be from 0 to 100, not 101"),
        (&["-trace=t.csv", "-interval=10ms"], "-interval must be at least one second"),
        (&[], "-trace is required"),
    ] {
        let ran = simulate(folder.path(), args);
        assert_eq!((ran.stderr.lines().next(), ran.exit), (Some(want), 1), "{args:?}");
    }
    let ran = run_in(folder.path(), &["autoscale", "simulate"]);
    assert_eq!((ran.stderr.lines().next(), ran.exit), (Some("-snapshot is required"), 1));
}
