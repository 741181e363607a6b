//! Generated clusters and jobs that do not fit them, each for a reason of its own.

use std::fmt::Write as _;
use std::sync::Arc;

use encamp_jobspec::convert::ConvertOptions;
use encamp_jobspec::parse::{ParseError, ParseOptions, parse};
use encamp_model::random::Random;
use encamp_model::*;
use encamp_state::State;
use encamp_test_support::dice::Dice;
use serde_json::{Value, json};

use crate::apply::apply;
use crate::plan_job;

pub(super) const NOW: i64 = 1_800_000_000 * SECOND;

/// The reasons for which jobs do not fit.
const KINDS: [&str; 20] = [
    "cpu",
    "memory",
    "disk",
    "device",
    "count",
    "constraint",
    "at-least",
    "distinct_hosts",
    "distinct_property",
    "datacenter",
    "pool",
    "port",
    "both",
    "groups",
    "canary",
    "priority",
    "tasks",
    "ports",
    "reserve",
    "moves",
];

/// A job that probably does not fit, and its cluster.
pub(super) struct Misfit {
    pub kind: &'static str,
    pub state: State,
    pub text: String,
    pub job: api::Job,
}

pub(super) fn parsed(text: &str) -> Result<api::Job, ParseError> {
    parse(text.as_bytes(), &ParseOptions::default())
}

/// As the command converts jobs.
pub(super) fn options() -> ConvertOptions {
    ConvertOptions { region: "global".into(), ..ConvertOptions::default() }
}

fn node(n: usize, kind: &str, dice: &mut Random) -> Arc<Node> {
    let (dc, pool) = (dice.text(&["dc1", "dc1", "dc1", "dc2"]), dice.text(&["default", "default", "default", "big"]));
    let (size, address) = (dice.between(1, 4), format!("10.0.0.{n}"));
    let gpus: Vec<Value> = (0..dice.roll(4)).map(|i| json!({"ID": format!("gpu-{n}-{i}"), "Healthy": true})).collect();
    let devices = if gpus.is_empty() {
        json!([])
    } else {
        json!([{"Vendor": "nvidia", "Type": "gpu", "Name": "t4", "Instances": gpus}])
    };
    let last_port = if kind == "ports" { 20_000 + dice.roll(5) } else { 20_100 };
    let value = json!({
        "ID": format!("{n:08}-0000-4000-8000-000000000000"), "Name": format!("n{n}"), "Datacenter": dc, "NodePool": pool,
        "NodeClass": format!("size-{size}"), "Status": if dice.one_in(12) { "down" } else { "ready" },
        "SchedulingEligibility": "eligible", "ModifyIndex": 5, "CreateIndex": 5,
        "Meta": {"rack": dice.text(&["a", "a", "b", "c"])},
        "Attributes": {
            "kernel.name": "linux", "cpu.numcores": (size * 2).to_string(),
            "os": dice.text(&["debian", "debian", "alpine"]),
        },
        "Drivers": {"exec": {"Detected": true, "Healthy": true}},
        "NodeResources": {
            "Cpu": {"CpuShares": size * 250, "TotalCpuCores": 1}, "Memory": {"MemoryMB": size * 200},
            "Disk": {"DiskMB": size * 300},
            "Networks": [{"Mode": "host", "Device": "eth0", "CIDR": "10.0.0.1/32", "IP": address}],
            "NodeNetworks": [{"Mode": "host", "Device": "eth0",
                "Addresses": [{"Alias": "default", "Address": address, "Family": "ipv4"}]}],
            "MinDynamicPort": 20000, "MaxDynamicPort": last_port, "Devices": devices,
        },
    });
    let mut node: Node = serde_json::from_value(value).expect("a node");
    node.computed_class = node.compute_class();
    Arc::new(node)
}

/// A cluster on which some jobs run.
fn cluster(dice: &mut Random, kind: &str, preemption: bool) -> State {
    let mut state = State::new();
    for name in ["all", "default", "big"] {
        state.upsert_node_pool(Arc::new(NodePool { name: name.into(), ..NodePool::default() }));
    }
    for n in 0..2 + dice.roll(6) {
        state.upsert_node(node(n, kind, dice));
    }
    let oversubscription = kind == "reserve";
    let config = json!({"SchedulerAlgorithm": dice.text(&["binpack", "spread"]),
        "MemoryOversubscriptionEnabled": oversubscription, "PreemptionConfig": {
        "ServiceSchedulerEnabled": preemption, "BatchSchedulerEnabled": preemption, "SystemSchedulerEnabled": true}});
    state.set_scheduler_config(Arc::new(serde_json::from_value(config).expect("a configuration")));
    state.index = 20;
    for n in 0..dice.roll(5) {
        let batch = dice.one_in(3);
        let more = if batch { "max_run_duration = \"2h\"" } else { "" };
        let port = if dice.one_in(3) { "network {\n port \"p\" {\n static = 8080\n }\n }" } else { "" };
        let text = format!(
            "job \"other-{n}\" {{\n type = {:?}\n priority = {}\n node_pool = \"all\"\n group \"g\" {{\n count = {}\n {more}\n \
             {port}\n ephemeral_disk {{\n size = 110\n }}\n task \"t\" {{\n driver = \"exec\"\n resources {{\n cpu = {}\n \
             memory = {}\n }}\n }}\n }}\n}}\n",
            if batch { "batch" } else { "service" },
            dice.of(&[20, 30, 50]),
            dice.between(1, 4),
            dice.between(20, 200),
            dice.between(20, 150),
        );
        state = registered(&state, &parsed(&text).expect("a job"));
    }
    running(&mut state);
    state
}

/// Everything runs and is healthy, and no deployment is under way.
fn running(state: &mut State) {
    let live: Vec<Arc<Allocation>> = state.allocs().filter(|e| !e.alloc.terminal()).map(|e| e.alloc.clone()).collect();
    state.upsert_allocs(live.iter().map(|a| {
        let health = AllocDeploymentStatus { healthy: Some(true), ..Default::default() };
        let status = ClientStatus::Running;
        Arc::new(Allocation {
            client_status: status,
            deployment_status: Some(Box::new(health)),
            ..Allocation::clone(a)
        })
    }));
    let jobs: Vec<Arc<Job>> = state.jobs().map(|e| e.current.clone()).collect();
    for job in jobs {
        if let Some(d) = state.latest_deployment(&job.namespace, &job.id) {
            state.upsert_deployment(Arc::new(Deployment {
                status: DeploymentStatus::Successful,
                ..Deployment::clone(&d)
            }));
        }
    }
}

/// The state after a job was registered and runs.
fn registered(state: &State, job: &api::Job) -> State {
    let server = crate::server_context(state);
    let plan = plan_job(state, job, &options(), &server, NOW).expect("a valid job").run;
    apply(&plan.state, &plan.accepted(), NOW)
}

/// What a job file says; numbers grow as the job is broken.
struct Wish {
    datacenters: &'static str,
    pool: &'static str,
    priority: i64,
    groups: Vec<GroupWish>,
}

#[derive(Clone)]
struct GroupWish {
    name: &'static str,
    count: i64,
    constraints: Vec<&'static str>,
    port: bool,
    /// Dynamic ports; a variable of the task names the first one.
    ports: i64,
    canary: i64,
    disk: i64,
    tasks: Vec<(i64, i64)>,
    gpus: i64,
}

impl GroupWish {
    fn text(&self, dice: &mut Random) -> String {
        let mut out = format!("  group {:?} {{\n    count = {} # copies\n", self.name, self.count);
        for c in &self.constraints {
            let _ = write!(out, "\n    constraint {{\n{c}\n    }}\n");
        }
        if self.canary > 0 {
            let _ =
                write!(out, "\n    update {{\n      canary       = {}\n      max_parallel = 1\n    }}\n", self.canary);
        }
        if self.port {
            let port = dice.text(&[
                "port \"http\" { static = 8080 }",
                "port \"http\" {\n        static = 8080\n        to     = 80\n      }",
            ]);
            let _ = write!(out, "\n    network {{\n      {port}\n    }}\n");
        }
        if self.ports > 0 {
            let ports: String = (0..self.ports).map(|n| format!("      port \"p{n}\" {{}}\n")).collect();
            let _ = write!(out, "\n    network {{\n{ports}    }}\n");
        }
        if self.disk != 300 {
            let _ = write!(out, "\n    ephemeral_disk {{\n      size = {}\n    }}\n", self.disk);
        }
        for (n, (cpu, memory)) in self.tasks.iter().enumerate() {
            let device = if self.gpus > 0 && n == 0 {
                format!("\n        device \"nvidia/gpu\" {{\n          count = {}\n        }}\n", self.gpus)
            } else {
                String::new()
            };
            let named = self.ports > 0 && n == 0;
            let env = if named { "\n      env {\n        PORT = \"${NOMAD_PORT_p0}\"\n      }\n" } else { "" };
            let _ = write!(
                out,
                "\n    task \"t{n}\" {{\n      driver = \"exec\"\n{env}\n      resources {{\n        cpu    = {cpu}\n        memory = \
                 {memory} # MB\n{device}      }}\n    }}\n"
            );
        }
        out + "  }\n"
    }
}

impl Wish {
    fn text(&self, dice: &mut Random) -> String {
        let groups: String = self.groups.iter().map(|g| format!("\n{}", g.text(dice))).collect();
        let pool = if self.pool == "default" { String::new() } else { format!("  node_pool   = {:?}\n", self.pool) };
        let priority = if self.priority == 50 { String::new() } else { format!("  priority    = {}\n", self.priority) };
        format!("# Generated.\njob \"misfit\" {{\n  datacenters = {}\n{pool}{priority}{groups}}}\n", self.datacenters)
    }
}

/// A job that asks for little, and then for too much of one thing.
pub(super) fn misfit(seed: u64) -> Misfit {
    let mut dice = Random::new(seed, "misfits");
    let kind = dice.of(&KINDS);
    let preemption = kind == "priority" || dice.one_in(6);
    let state = cluster(&mut dice, kind, preemption);
    let group = GroupWish {
        name: "g",
        count: dice.between(1, 4),
        constraints: Vec::new(),
        port: false,
        ports: 0,
        canary: 0,
        disk: 110,
        tasks: vec![(dice.between(10, 60), dice.between(10, 60))],
        gpus: 0,
    };
    let datacenters = dice.of(&["[\"dc1\"]", "[\"dc1\", \"dc2\"]", "[\"*\"]", "[\n    \"dc1\",\n  ]"]);
    let mut wish = Wish { datacenters, pool: "default", priority: 50, groups: vec![group] };
    let before = (kind == "canary").then(|| {
        wish.groups[0].port = true;
        parsed(&wish.text(&mut dice.clone())).expect("a job")
    });
    broken(kind, &mut wish, &mut dice);
    let text = wish.text(&mut dice);
    let state = before.map_or(state.clone(), |job| registered(&state, &job));
    let job = parsed(&text).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{text}"));
    Misfit { kind, state, text, job }
}

fn broken(kind: &str, wish: &mut Wish, dice: &mut Random) {
    let g = &mut wish.groups[0];
    match kind {
        "cpu" => g.tasks[0].0 = dice.between(100, 1500),
        "memory" => g.tasks[0].1 = dice.between(100, 1200),
        "disk" => g.disk = dice.between(250, 1500),
        "device" => g.gpus = dice.between(1, 4),
        "count" => g.count = dice.between(5, 60),
        "constraint" => {
            let list = [
                "      attribute = \"${meta.rack}\"\n      value     = \"c\"",
                "      attribute = \"${attr.os}\"\n      value     = \"plan9\"",
            ];
            g.constraints.push(dice.of(&list));
        }
        "at-least" => {
            let list = [
                "      attribute = \"${attr.cpu.numcores}\"\n      operator  = \">=\"\n      value     = \"9\" # cores",
                "      attribute = \"${attr.cpu.numcores}\"\n      operator  = \">=\"\n      value     = 6",
            ];
            g.constraints.push(dice.of(&list));
            g.count = dice.between(1, 6);
        }
        "distinct_hosts" => {
            g.constraints.push("      distinct_hosts = true");
            g.count = dice.between(2, 9);
        }
        "distinct_property" => {
            let list = [
                "      distinct_property = \"${meta.rack}\"",
                "      distinct_property = \"${meta.rack}\"\n      value             = \"2\"",
            ];
            g.constraints.push(dice.of(&list));
            g.count = dice.between(3, 8);
        }
        "datacenter" => {
            wish.datacenters = dice.of(&["[\"dc3\"]", "[\"dc2\"]", "[\n    \"dc2\",\n    \"dc3\", # to come\n  ]"])
        }
        "pool" => (wish.pool, g.tasks[0].1) = ("big", dice.between(60, 400)),
        "port" => (g.port, g.count) = (true, dice.between(2, 8)),
        "both" => g.tasks[0] = (dice.between(400, 1500), dice.between(300, 1200)),
        "groups" => {
            g.tasks[0].1 = dice.between(200, 1200);
            let mut other = g.clone();
            (other.name, other.tasks[0]) = ("h", (dice.between(200, 1500), 20));
            wish.groups.push(other);
        }
        "canary" => {
            g.canary = dice.between(1, 5);
            g.tasks[0].0 += 5;
        }
        "ports" => (g.ports, g.count) = (dice.between(2, 6), dice.between(1, 8)),
        "reserve" => g.tasks[0].1 = dice.between(100, 1200),
        "moves" => (g.count, g.tasks[0].1) = (1, dice.between(100, 700)),
        "priority" => (wish.priority, g.tasks[0].1) = (dice.of(&[25, 35, 45]), dice.between(60, 500)),
        _ => {
            g.tasks =
                vec![(dice.between(50, 500), dice.between(50, 500)), (dice.between(50, 500), dice.between(50, 500))]
        }
    }
}
