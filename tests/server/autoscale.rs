//! Worker pools that size themselves (`docs/spec/cluster-scaling.md`): on the server that leads, and by processes of
//! their own. The scaling group is kept in files by a small program, the provider `command`.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::agent::{Agent, PATIENCE, call, wait_for};
use crate::member::{Member, Role, node_ready};
use crate::program::{self, Folder};

/// How long another process may take to get the lock of one that was killed: twice its TTL, its delay, and some.
const TAKE_OVER: Duration = Duration::from_secs(120);

/// Keeps the group: its desired size and its instances, each in a file. New instances are numbered.
const PROVIDER: &str = r#"#!/bin/sh
dir=$1
request=$(cat)
instances=$(cat "$dir/instances")
desired=$(cat "$dir/desired")
save() {
  echo $instances >"$dir/instances.$$" && mv "$dir/instances.$$" "$dir/instances"
  echo $desired >"$dir/desired.$$" && mv "$dir/desired.$$" "$dir/desired"
  echo '{}'
}
case $request in
*'"Verb":"group"'*)
  list=
  for i in $instances; do list="$list,{\"ID\":\"$i\",\"State\":\"active\"}"; done
  echo "{\"Desired\":$desired,\"Min\":1,\"Max\":5,\"Instances\":[${list#,}]}"
  ;;
*'"Verb":"set_desired"'*)
  desired=$(echo "$request" | sed 's/.*"Desired":\([0-9]*\).*/\1/')
  n=$(echo $instances | wc -w)
  while [ "$n" -lt "$desired" ]; do n=$((n + 1)) instances="$instances i-$n"; done
  save
  ;;
*)
  echo "unexpected: $request" >&2
  exit 1
  ;;
esac
"#;

/// A scaling group with one instance, in a folder of its own.
struct Group(Folder);

impl Group {
    fn new(name: &str) -> Group {
        let folder = Folder::new(name);
        folder.file("desired", "1");
        folder.file("instances", "i-1");
        let program = folder.file("provider", PROVIDER);
        std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).expect("a program");
        Group(folder)
    }

    /// The block `autoscaling` that uses it.
    fn block(&self) -> String {
        let (program, folder) = (self.0.path().join("provider"), self.0.path());
        format!(
            "autoscaling {{\n  enabled = true\n  cluster_interval = \"300ms\"\n\
               provider \"command\" {{\n    command = [{program:?}, {folder:?}]\n  }}\n}}\n"
        )
    }

    fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.0.path().join(file)).unwrap_or_default().trim().to_string()
    }

    /// Waits until the group is that large.
    fn grows_to(&self, size: usize, patience: Duration) {
        let deadline = Instant::now() + patience;
        while self.read("desired") != size.to_string() || self.read("instances").split(' ').count() != size {
            let now = (self.read("desired"), self.read("instances"));
            assert!(Instant::now() < deadline, "the group does not grow to {size}: {now:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// A node of the pool `web` that runs on an instance.
fn node(instance: &str, server: &Member) -> Member {
    let mut node = Member::new(instance, Role::Node { servers: vec![server.rpc()] });
    let meta = [
        ("replicator_enabled", "true"),
        ("replicator_max", "3"),
        ("replicator_min", "1"),
        ("replicator_notification_uid", "u"),
        ("replicator_region", "here"),
        ("replicator_worker_pool", "web"),
        ("replicator_provider", "command"),
        ("replicator_cooldown", "0"),
        ("replicator_node_fault_tolerance", "0"),
        ("replicator_scaling_threshold", "1"),
        ("unique.platform.aws.instance-id", instance),
    ];
    let meta: String = meta.iter().map(|(key, value)| format!("    {key:?} = {value:?}\n")).collect();
    node.more = format!("client {{\n  meta {{\n{meta}  }}\n}}\n");
    node.start();
    node
}

fn server(name: &str, more: &str) -> Member {
    let mut server = Member::new(name, Role::Server { expect: 1, join: Vec::new() });
    server.more = more.to_string();
    server.start();
    server
}

/// Registers a job that takes all of a node, and waits until it runs.
fn fill(server: &Member, job: &str) {
    let task = json!({
        "Name": "t", "Driver": "raw_exec", "Config": {"command": "/bin/sleep", "args": ["600"]},
        "Resources": {"CPU": 10_000, "MemoryMB": 64},
    });
    let group = json!({"Name": "g", "Count": 1, "Tasks": [task]});
    let job_file = json!({"Job": {
        "ID": job, "Name": job, "Type": "service", "Datacenters": ["dc1"], "TaskGroups": [group],
    }});
    let reply = server.agent().send("PUT", "/v1/jobs", &job_file);
    assert_eq!(reply.status, 200, "{}", reply.body);
    crate::member::running(server, job);
}

/// Waits until the pool is as it is wanted; gives it.
fn pool(server: &Member, wanted: impl Fn(&Json) -> bool) -> Json {
    let mut pool = Json::Null;
    wait_for("the pool", || {
        pool = server.read("/v1/autoscale/pool/web")?;
        if wanted(&pool) { Ok(()) } else { Err(pool.to_string()) }
    });
    pool
}

#[test]
fn the_leader_scales_worker_pools() {
    let group = Group::new("autoscale-group");
    let mut server = server("autoscale-server", &group.block());
    let first = node("i-1", &server);
    node_ready(&server);

    // An idle pool of one node: it has nothing to give away.
    let idle = pool(&server, |p| p["LastDecision"]["Action"] == "denied");
    let figures = ["Pool", "Nodes", "Min", "Max", "Metric", "Utilization", "MaxAllowed", "Direction", "Failsafe"];
    let told: Vec<Json> = figures.iter().map(|k| idle[*k].clone()).collect();
    assert_eq!(Json::from(told), json!(["web", 1, 1, 3, "", 0, 10_000, "in", false]));
    assert_eq!(server.read("/v1/autoscale/pools").map(|list| list[0]["Pool"].clone()), Ok(json!("web")));
    let ask = |server: &Member, method: &str, path: &str, body: &str| {
        let reply = call(server.port(), method, path, body, PATIENCE).expect("an answer");
        (reply.status, reply.body)
    };
    let unknown = (404, "worker pool not found".to_string());
    assert_eq!(ask(&server, "GET", "/v1/autoscale/pool/db", ""), unknown);
    assert_eq!(ask(&server, "PUT", "/v1/autoscale/pool/db/failsafe", "{\"Enable\":true}"), unknown);
    // The interface of a node passes the request on to the server.
    assert_eq!(first.read("/v1/autoscale/pool/web").map(|p| p["Nodes"].clone()), Ok(json!(1)));

    // In failsafe mode nothing is done, also after a restart.
    let (status, body) = ask(&server, "PUT", "/v1/autoscale/pool/web/failsafe", "{\"Enable\":true}");
    assert!(status == 200 && body.contains("\"Failsafe\":true"), "{status} {body}");
    fill(&server, "one");
    pool(&server, |p| p["LastDecision"]["Action"] == "failsafe");
    assert_eq!(server.end("TERM"), 1);
    server.start();
    pool(&server, |p| p["Failsafe"] == true && p["LastDecision"]["Action"] == "failsafe" && p["Nodes"] == 1);
    assert_eq!(group.read("desired"), "1");

    // Without it, the full pool gets a node.
    let (status, body) = ask(&server, "PUT", "/v1/autoscale/pool/web/failsafe", "{\"Enable\":false}");
    assert!(status == 200 && body.contains("\"Failsafe\":false"), "{status} {body}");
    group.grows_to(2, PATIENCE);
    let second = node("i-2", &server);
    let grown = pool(&server, |p| p["Nodes"] == 2 && p["Operation"] == "" && p["LastDecision"]["Action"] == "denied");
    let told: Vec<Json> =
        ["Metric", "Utilization", "MaxAllowed", "Direction"].iter().map(|k| grown[*k].clone()).collect();
    assert_eq!(Json::from(told), json!(["cpu", 10_000, 20_000, "in"]));
    assert_eq!(group.read("desired"), "2");
    drop((first, second));
}

#[test]
fn without_the_block_the_paths_do_not_exist() {
    let server = server("autoscale-none", "");
    for path in ["/v1/autoscale/pools", "/v1/autoscale/pool/web", "/v1/autoscale/pool/web/failsafe"] {
        let reply = call(server.port(), "GET", path, "", PATIENCE).expect("an answer");
        assert_eq!((reply.status, reply.body.as_str()), (404, ""), "{path}");
    }
}

/// A process that scales the pools of a server from outside.
fn outside(folder: &Folder, config: &PathBuf, server: &Member) -> Agent {
    let address = format!("-address=http://127.0.0.1:{}", server.port());
    let mut command = Command::new(program::path());
    command.args(["autoscale", "agent", "-cluster-interval=400ms", &address, "-config"]).arg(config);
    Agent::launch(folder, &mut command)
}

fn variable(server: &Member, path: &str) -> Json {
    server.read(&format!("/v1/var/{path}")).unwrap_or_default()
}

#[test]
fn one_of_several_processes_scales_from_outside_and_another_takes_over() {
    const LEADER: &str = "encamp/autoscale/leader";
    let group = Group::new("autoscale-outside-group");
    let folder = Folder::new("autoscale-outside");
    let config = folder.file("autoscale.hcl", group.block());
    let server = server("autoscale-outside-server", "");
    let _first = node("i-1", &server);
    node_ready(&server);

    let mut acting = outside(&folder, &config, &server);
    acting.until("this instance has the lock");
    let mut waiting = outside(&folder, &config, &server);
    waiting.until("another instance scales this cluster");
    fill(&server, "one");
    group.grows_to(2, PATIENCE);
    let _second = node("i-2", &server);
    let mut record = Json::Null;
    wait_for("the operation ends", || {
        let stored = variable(&server, "encamp/autoscale/state/nodes/web");
        let text = stored["Items"]["state"].as_str().unwrap_or_default();
        record = serde_json::from_str(text).map_err(|e| format!("{e}: {text}"))?;
        let done = record["operation"].is_null() && !record["last_scaling_event"].is_null();
        if done { Ok(()) } else { Err(record.to_string()) }
    });
    assert_eq!((&record["resource_name"], &record["failure_count"]), (&json!("web"), &json!(0)));
    let holder = |server: &Member| variable(server, LEADER)["Items"]["holder"].as_str().unwrap_or_default().to_string();
    assert!(holder(&server).contains(&format!("pid {}", acting.pid())), "{}", holder(&server));
    assert!(!waiting.log().contains("this instance has the lock"), "{}", waiting.seen);

    acting.kill();
    fill(&server, "two");
    group.grows_to(3, TAKE_OVER);
    assert!(holder(&server).contains(&format!("pid {}", waiting.pid())), "{}", holder(&server));

    waiting.signal("TERM");
    assert_eq!(waiting.exit(), 0, "{}", waiting.seen);
    let left = variable(&server, LEADER);
    assert!(left["Path"] == LEADER && left["Lock"].is_null(), "{left}");
}
