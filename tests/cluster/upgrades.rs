//! Rolling upgrades from the previous build, with real processes under load (`docs/guide/upgrade.md`): no write fails, no
//! acknowledged write is lost, no task is restarted; back to the previous build until the level is raised, not after.
//!
//! `ENCAMP_PREVIOUS_PROGRAM=path`: the previous build. Without it, the test builds the commit `PREVIOUS` once, in
//! `target/previous`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::Ordering;

use encamp_test_support::tier;
use serde_json::{Value as Json, json};

use crate::agent::{PATIENCE, call, wait_for};
use crate::member::{Member, Role, leader};
use crate::program::{repository, succeeds};
use crate::rolling_restart::whole;
use crate::upgrade_support::{Load, reaches, refused, server, upgrade};

/// The commit whose build has the capability level before that of the tested one.
const PREVIOUS: &str = "38eaceaadeaa";
/// How many nodes there are, each with one task.
const NODES: usize = 5;

/// The configuration with which a leader looks after the worker pool of the nodes; the provider's group stays empty.
fn autoscaling(worker: &Path) -> String {
    let group = format!("min = 0\n      max = 9\n      desired = 0\n      config = {worker:?}");
    let provider = format!("provider \"local\" {{\n    group \"held\" {{\n      {group}\n    }}\n  }}");
    format!("autoscaling {{\n  enabled = true\n  cluster_interval = \"1s\"\n  {provider}\n}}\n")
}

/// The configuration that makes a node one of a pool that keeps its size.
fn pool_of_node() -> String {
    let meta = [
        ("enabled", "true".to_string()),
        ("worker_pool", "held".into()),
        ("provider", "local".into()),
        ("region", "global".into()),
        ("min", NODES.to_string()),
        ("max", NODES.to_string()),
        ("node_fault_tolerance", "0".into()),
        ("scaling_threshold", "2".into()),
        ("cooldown", "5".into()),
        ("notification_uid", "HELD".into()),
    ];
    let lines: String = meta.iter().map(|(name, value)| format!("    replicator_{name} = {value:?}\n")).collect();
    format!("client {{\n  meta {{\n{lines}  }}\n}}\n")
}

/// The program of the previous build.
fn previous() -> String {
    if let Ok(path) = std::env::var("ENCAMP_PREVIOUS_PROGRAM") {
        assert!(Path::new(&path).is_file(), "ENCAMP_PREVIOUS_PROGRAM: {path} is no file");
        return path;
    }
    let place = repository().join("target/previous");
    let (tree, built) = (place.join(PREVIOUS), place.join("target/debug/encamp"));
    if !tree.is_dir() {
        let mut git = Command::new("git");
        git.arg("-C").arg(repository()).args(["worktree", "add", "--detach"]).arg(&tree).arg(PREVIOUS);
        succeeds(&mut git).expect("a worktree of the previous build");
    }
    let mut cargo = Command::new("cargo");
    cargo.current_dir(&tree).args(["build", "--locked"]).env("CARGO_TARGET_DIR", place.join("target"));
    succeeds(&mut cargo).expect("the previous build");
    built.to_string_lossy().into_owned()
}

/// When nodes are upgraded.
#[derive(Debug, Clone, Copy)]
enum Nodes {
    First,
    Between,
    Last,
}

/// The orders that the guide allows: servers one after the other in any order, and nodes before, between or after them.
fn orders() -> impl Iterator<Item = ([usize; 3], Nodes)> {
    let servers = [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 2, 1], [1, 0, 2], [2, 1, 0]];
    let nodes = [Nodes::Last, Nodes::First, Nodes::Between];
    (0..).map(move |n: usize| (servers[n % 6], nodes[(n + n / 6) % 3]))
}

struct Cluster {
    servers: Vec<Member>,
    nodes: Vec<Member>,
    previous: String,
}

impl Cluster {
    fn of_previous(previous: &str) -> Cluster {
        let mut cluster = Cluster { servers: Vec::new(), nodes: Vec::new(), previous: previous.into() };
        for n in 0..3 {
            let mut new = server(&format!("upgrade-{n}"), &cluster.servers);
            new.program = Some(previous.into());
            let worker = new.folder().file("worker.hcl", pool_of_node());
            new.more.push_str(&autoscaling(&worker));
            new.start();
            cluster.servers.push(new);
        }
        whole(&cluster.servers);
        for n in 0..NODES {
            let servers = cluster.servers.iter().map(Member::rpc).collect();
            let mut node = Member::new(&format!("upgrade-node-{n}"), Role::Node { servers });
            node.program = Some(previous.into());
            node.more = pool_of_node();
            node.start();
            cluster.nodes.push(node);
        }
        cluster
    }

    fn put(&self, path: &str, body: &Json) {
        wait_for("the write is acknowledged", || match self.servers[0].agent().send("PUT", path, body) {
            reply if reply.status == 200 => Ok(()),
            reply => Err(format!("{path}: {} {}", reply.status, reply.body)),
        });
    }

    /// Starts a task with a template on every node, and waits until all run; gives them.
    fn run_tasks(&self) -> BTreeMap<String, String> {
        self.put("/v1/var/nomad/jobs/held", &json!({"Path": "nomad/jobs/held", "Items": {"k": "v"}}));
        let script = "echo $$ >> local/starts; while :; do sleep 1; done";
        let template = "{{ with nomadVar \"nomad/jobs/held\" }}{{ .k }}{{ end }}";
        let task = json!({"Name": "t", "Driver": "raw_exec", "Config": {"command": "/bin/sh", "args": ["-c", script]},
            "Templates": [{"EmbeddedTmpl": template, "DestPath": "local/rendered", "ChangeMode": "noop"}],
            "Resources": {"CPU": 50, "MemoryMB": 20}});
        let job = json!({"Job": {"ID": "held", "Name": "held", "Type": "service", "Datacenters": ["dc1"],
            "Constraints": [{"Operand": "distinct_hosts", "RTarget": "true"}],
            "TaskGroups": [{"Name": "g", "Count": NODES, "Tasks": [task]}]}});
        self.put("/v1/jobs", &job);
        let mut tasks = BTreeMap::new();
        wait_for("every node runs a task", || {
            tasks = self.tasks()?;
            if tasks.len() == NODES { Ok(()) } else { Err(format!("{tasks:?}")) }
        });
        tasks
    }

    /// Allocation, and what tells one process of its task from another: IDs, time of the start, number of restarts.
    fn tasks(&self) -> Result<BTreeMap<String, String>, String> {
        let allocs = self.servers[0].read("/v1/job/held/allocations")?;
        let running = allocs.as_array().into_iter().flatten().filter(|a| a["ClientStatus"] == "running");
        running
            .map(|a| {
                let (id, task) = (a["ID"].as_str().unwrap_or_default(), &a["TaskStates"]["t"]);
                let file = |name: &str| {
                    let path = format!("/v1/client/fs/cat/{id}?path=t/local/{name}");
                    let reply = call(self.servers[0].port(), "GET", &path, "", PATIENCE).map_err(|e| e.to_string())?;
                    if reply.status == 200 { Ok(reply.body) } else { Err(format!("{} {}", reply.status, reply.body)) }
                };
                let (starts, rendered) = (file("starts")?, file("rendered")?);
                if rendered != "v" {
                    return Err(format!("the template holds {rendered:?}"));
                }
                Ok((id.into(), format!("{} {} {}", starts.trim(), task["StartedAt"], task["Restarts"])))
            })
            .collect()
    }

    fn restart_server(&mut self, n: usize, program: Option<&str>) {
        self.servers[n].kill();
        self.servers[n].program = program.map(String::from);
        self.servers[n].start();
        whole(&self.servers);
    }

    fn upgrade_nodes(&mut self, which: std::ops::Range<usize>) {
        for node in &mut self.nodes[which] {
            node.kill();
            upgrade(node);
            node.start();
        }
    }

    /// Waits until the leader has evaluated the worker pool with all its nodes.
    fn pool_is_looked_after(&self) {
        wait_for("the worker pool is looked after", || {
            let pool = self.servers[leader(&self.servers)].read("/v1/autoscale/pool/held")?;
            if pool["Nodes"] == NODES && !pool["LastDecision"].is_null() { Ok(()) } else { Err(pool.to_string()) }
        });
    }

    /// Waits until all tasks can be seen again, and checks that none of them was started again.
    fn same_tasks(&self, before: &BTreeMap<String, String>) {
        let mut now = BTreeMap::new();
        wait_for("every node shows its task", || {
            now = self.tasks()?;
            if now.len() == NODES { Ok(()) } else { Err(format!("{now:?}")) }
        });
        assert_eq!(now, *before, "no task was started again");
    }
}

fn round(previous: &str, order: [usize; 3], nodes: Nodes) -> (usize, usize) {
    let mut cluster = Cluster::of_previous(previous);
    let before = cluster.run_tasks();
    let load = Load::new(&cluster.servers);
    load.during(|| {
        load.progress();
        cluster.pool_is_looked_after();
        if let Nodes::First = nodes {
            cluster.upgrade_nodes(0..NODES);
        }
        for (step, n) in order.into_iter().enumerate() {
            cluster.restart_server(n, None);
            load.progress();
            if step == 1 {
                // One server is left of the previous build: there is a way back.
                let previous = cluster.previous.clone();
                cluster.restart_server(n, Some(&previous));
                load.progress();
                cluster.same_tasks(&before);
                cluster.restart_server(n, None);
            }
            if let Nodes::Between = nodes {
                cluster.upgrade_nodes(step * 2..(step * 2 + 2).min(NODES));
            }
            load.progress();
        }
        reaches(&cluster.servers, "2");
        cluster.pool_is_looked_after();
        if let Nodes::Last = nodes {
            cluster.upgrade_nodes(0..NODES);
        }
        load.progress();
        let first = &mut cluster.servers[order[0]];
        first.kill();
        first.program = Some(cluster.previous.clone());
        let said = refused(first);
        assert!(said.contains("has format 3, which another version of encamp wrote"), "{said}");
        cluster.restart_server(order[0], None);
        load.progress();
        cluster.same_tasks(&before);
    });
    let (reads, renewals) = (load.reads.load(Ordering::Relaxed), load.renewals.load(Ordering::Relaxed));
    assert!(reads > 0 && renewals > 0, "{reads} {renewals}");
    (load.writes.load(Ordering::Relaxed), load.is_on(&cluster.servers))
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn upgrades_from_the_previous_build() {
    let previous = previous();
    let rounds = tier::rounds("ENCAMP_UPGRADE_ROUNDS", 1, 3);
    for (n, (order, nodes)) in orders().take(rounds).enumerate() {
        let (writes, variables) = round(&previous, order, nodes);
        println!(
            "round {n}: servers {order:?}, nodes {nodes:?}: {writes} writes acknowledged, {variables} variables as acknowledged"
        );
    }
}
