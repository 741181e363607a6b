//! The demo cluster is made by encamp itself: the jobs of fixtures/demo/registered are planned one after the other and
//! their allocations set running. This test fails when fixtures/demo/cluster.json is stale; `ENCAMP_UPDATE=1` rewrites
//! it.

use std::path::Path;
use std::sync::Arc;

use encamp_jobspec::convert::ConvertOptions;
use encamp_jobspec::parse::{ParseOptions, parse};
use encamp_model::*;
use encamp_plan::{plan_job, server_context};
use encamp_snapshot::file::{FORMAT_VERSION, SnapshotFile};
use encamp_state::State;
use serde_json::Value;

/// 2026-03-02T12:00:00Z
pub const NOW: i64 = 1_772_452_800_000_000_000;

pub fn node(number: u8, datacenter: &str, pool: &str, class: &str, cores: u64, memory_mb: i64) -> Node {
    let gpu = pool == "gpu";
    let ip = format!("10.{}.0.{number}", if datacenter == "dc1" { 1 } else { 2 });
    let name = format!("{datacenter}-{class}-{number:02}");
    let mut attributes = vec![
        ("arch", "amd64".to_string()),
        ("cpu.arch", "amd64".into()),
        ("cpu.numcores", cores.to_string()),
        ("driver.docker", "1".into()),
        ("kernel.name", "linux".into()),
        ("nomad.service_discovery", "true".into()),
        ("nomad.version", "2.0.5".into()),
        ("os.name", "debian".into()),
        ("os.signals", "SIGHUP,SIGINT,SIGTERM".into()),
        ("unique.hostname", name.clone()),
    ];
    if gpu {
        attributes.push(("cuda.version", if number == 12 { "11.8".into() } else { "12.4".into() }));
    }
    let address = NodeNetworkAddress {
        family: "ipv4".into(),
        alias: "default".into(),
        address: ip.clone(),
        ..Default::default()
    };
    let device = NodeDeviceResource {
        vendor: "nvidia".into(),
        r#type: "gpu".into(),
        name: "L4".into(),
        instances: vec![NodeDevice { id: format!("gpu-{number}"), healthy: true, ..Default::default() }],
        ..Default::default()
    };
    let mut node = Node {
        id: format!("{number:08x}-0000-4000-8000-{number:012x}"),
        name,
        datacenter: datacenter.into(),
        node_pool: pool.into(),
        node_class: class.into(),
        status: NodeStatus::Ready,
        scheduling_eligibility: NodeEligibility::Eligible,
        attributes: attributes.into_iter().map(|(k, v)| (k.to_string(), v)).collect(),
        drivers: [("docker".to_string(), DriverInfo { detected: true, healthy: true, ..Default::default() })].into(),
        node_resources: Some(
            NodeResources {
                processors: NodeProcessorResources {
                    topology: Some(Topology {
                        nodes: vec![0],
                        distances: vec![vec![10]],
                        cores: (0..cores)
                            .map(|id| Core { id, grade: true, base_speed: 2500, ..Default::default() })
                            .collect(),
                        ..Default::default()
                    }),
                },
                memory: NodeMemoryResources { memory_mb },
                disk: NodeDiskResources { disk_mb: 100_000 },
                devices: if gpu { vec![device] } else { Vec::new() },
                min_dynamic_port: 20_000,
                max_dynamic_port: 32_000,
                networks: vec![
                    NetworkResource {
                        mode: "host".into(),
                        device: "eth0".into(),
                        cidr: format!("{ip}/32"),
                        ip,
                        mbits: 1000,
                        ..Default::default()
                    },
                    NetworkResource { mode: "bridge".into(), ..Default::default() },
                ],
                node_networks: Some(vec![NodeNetworkResource {
                    mode: "host".into(),
                    device: "eth0".into(),
                    speed: 1000,
                    addresses: vec![address],
                    ..Default::default()
                }]),
                ..Default::default()
            }
            .into(),
        ),
        create_index: 10 + u64::from(number),
        modify_index: 10 + u64::from(number),
        status_updated_at: NOW / SECOND - 3600,
        ..Default::default()
    };
    node.computed_class = node.compute_class();
    node
}

fn nodes() -> Vec<Node> {
    let mut nodes: Vec<Node> = (1..=5).map(|n| node(n, "dc1", "default", "general", 4, 8_192)).collect();
    nodes.extend((6..=9).map(|n| node(n, "dc2", "default", "general", 4, 8_192)));
    nodes.push(node(10, "dc1", "gpu", "gpu", 8, 32_768));
    nodes.push(node(11, "dc2", "gpu", "gpu", 8, 16_384));
    nodes.push(node(12, "dc2", "gpu", "gpu", 8, 32_768));
    nodes
}

/// Registers a job and lets its allocations run.
pub fn register(state: &mut State, path: &Path, index: u64) {
    let body = std::fs::read(path).unwrap();
    let options = ParseOptions { path: "job.hcl".into(), strict: true, ..Default::default() };
    let job = parse(&body, &options).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let convert = ConvertOptions { region: "global".into(), ..Default::default() };
    let planned = plan_job(state, &job, &convert, &server_context(state), NOW).unwrap();
    let mut job = planned.run.job.as_ref().clone();
    (job.create_index, job.job_modify_index, job.modify_index) = (index, index, index + 2);
    (job.status, job.stable) = (JobStatus::Running, true);
    let job = Arc::new(job);
    state.upsert_job(job.clone());
    let deployment = planned.run.plan.deployment.map(|mut d| {
        d.id = format!("d0000000-0000-4000-8000-{index:012x}");
        (d.status, d.status_description) = (DeploymentStatus::Successful, "Deployment completed successfully".into());
        (d.create_index, d.modify_index) = (index + 1, index + 3);
        (d.job_create_index, d.job_modify_index, d.job_spec_modify_index) = (index, index, index);
        for group in d.task_groups.values_mut().flatten() {
            (group.placed_allocs, group.healthy_allocs) = (group.desired_total, group.desired_total);
        }
        d
    });
    let mut allocs = Vec::new();
    for (i, a) in planned.run.plan.node_allocation.values().flatten().enumerate() {
        let mut a = a.as_ref().clone();
        // The first eight letters, which tables show, differ.
        a.id = format!("a{:03x}{:04x}-0000-4000-8000-{:012x}", index, i + 1, i + 1).into();
        a.eval_id = format!("e{:07x}-0000-4000-8000-000000000001", index).into();
        a.client_status = ClientStatus::Running;
        a.job = Some(job.clone());
        a.metrics = None;
        (a.create_index, a.alloc_modify_index, a.modify_index) = (index + 1, index + 1, index + 2);
        (a.create_time, a.modify_time) = (NOW - 3600 * SECOND, NOW - 3590 * SECOND);
        for task in job.lookup_group(&a.task_group).unwrap().tasks.iter() {
            let started = Time::from_unix_nanos(NOW - 3595 * SECOND);
            let running = TaskState { state: TaskStatus::Running, started_at: started, ..Default::default() };
            a.task_states.insert(task.name.clone(), running);
        }
        a.deployment_id = deployment.as_ref().map(|d| Text::from(&d.id)).unwrap_or_default();
        let healthy = AllocDeploymentStatus { healthy: Some(true), ..Default::default() };
        a.deployment_status = deployment.as_ref().map(|_| Box::new(healthy.clone()));
        allocs.push(Arc::new(a));
    }
    assert!(!allocs.is_empty(), "{} places nothing", path.display());
    state.upsert_allocs(allocs);
    deployment.into_iter().for_each(|d| state.upsert_deployment(Arc::new(d)));
}

fn demo_cluster(folder: &Path) -> State {
    let mut state = State::new();
    state.set_scheduler_config(Arc::new(SchedulerConfiguration {
        scheduler_algorithm: SchedulerAlgorithm::Binpack,
        preemption_config: PreemptionConfig { system_scheduler_enabled: true, ..Default::default() },
        create_index: 5,
        modify_index: 5,
        ..Default::default()
    }));
    for (name, description) in
        [("all", "Node pool with all nodes in the cluster."), ("default", "Default node pool."), ("gpu", "GPU nodes.")]
    {
        let pool = NodePool { name: name.into(), description: description.into(), ..Default::default() };
        state.upsert_node_pool(Arc::new(pool));
    }
    let namespace =
        Namespace { name: "default".into(), description: "Default shared namespace".into(), ..Default::default() };
    state.upsert_namespace(Arc::new(namespace));
    nodes().into_iter().for_each(|n| state.upsert_node(Arc::new(n)));
    for (i, job) in ["exporter", "api", "web", "report"].iter().enumerate() {
        register(&mut state, &folder.join(format!("registered/{job}.hcl")), 40 + 10 * i as u64);
    }
    state
}

/// The snapshot file of a state.
pub fn snapshot_of(state: &State, source: &str) -> SnapshotFile {
    let mut allocations: Vec<Allocation> = state.allocs().map(|a| a.alloc.as_ref().clone()).collect();
    allocations.sort_by(|a, b| a.id.cmp(&b.id));
    for a in &mut allocations {
        a.stored_job_version = a.job_version();
        a.job = None;
    }
    SnapshotFile {
        version: Some(FORMAT_VERSION),
        taken_at: Time::from_unix_nanos(NOW),
        source: source.into(),
        index: state.index,
        scheduler_configuration: state.scheduler_config.as_deref().cloned(),
        server_settings: Some(ServerSettings { vault_enabled: true, ..Default::default() }),
        nodes: state.nodes().map(|n| n.node.as_ref().clone()).collect(),
        node_pools: state.node_pools().map(|p| p.as_ref().clone()).collect(),
        namespaces: state.namespaces().map(|n| n.as_ref().clone()).collect(),
        jobs: state.jobs().map(|j| j.current.as_ref().clone()).collect(),
        allocations: allocations.into_iter().map(Arc::new).collect(),
        deployments: state.deployments().map(|d| d.as_ref().clone()).collect(),
        ..Default::default()
    }
}

/// Leaves out what means nothing: null, "", 0, false and empty collections.
fn compact(v: Value) -> Option<Value> {
    match v {
        Value::Null | Value::Bool(false) => None,
        Value::String(s) if s.is_empty() => None,
        Value::Number(n) if n.as_f64() == Some(0.0) => None,
        Value::Array(a) => {
            let items: Vec<Value> = a.into_iter().map(|v| compact(v.clone()).unwrap_or(v)).collect();
            (!items.is_empty()).then_some(Value::Array(items))
        }
        Value::Object(o) => {
            let entries: serde_json::Map<String, Value> =
                o.into_iter().filter_map(|(k, v)| compact(v).map(|v| (k, v))).collect();
            (!entries.is_empty()).then_some(Value::Object(entries))
        }
        v => Some(v),
    }
}

/// One object of a list per line, so that a change shows as the lines it touches.
pub fn print(file: &SnapshotFile) -> String {
    let Some(Value::Object(members)) = compact(serde_json::to_value(file).unwrap()) else { panic!("no object") };
    let mut out = String::from("{\n");
    let last = members.len() - 1;
    for (i, (name, value)) in members.iter().enumerate() {
        let comma = if i == last { "" } else { "," };
        match value {
            Value::Array(items) => {
                let lines: Vec<String> = items.iter().map(|v| format!("  {v}")).collect();
                out += &format!("\"{name}\": [\n{}\n]{comma}\n", lines.join(",\n"));
            }
            v => out += &format!("\"{name}\": {v}{comma}\n"),
        }
    }
    out + "}\n"
}

#[test]
fn demo_cluster_is_current() {
    is_current("demo", "fixtures", |folder| print(&snapshot_of(&demo_cluster(folder), "the demo cluster")));
}

/// Checks that the cluster of a folder of fixtures is the generated one, or writes it. `module` is that of the test.
pub fn is_current(name: &str, module: &str, generated: impl FnOnce(&Path) -> String) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name);
    let want = generated(&folder);
    let path = folder.join("cluster.json");
    if std::env::var_os("ENCAMP_UPDATE").is_some() {
        std::fs::write(&path, &want).unwrap();
    }
    let have = std::fs::read_to_string(&path).unwrap_or_default();
    let how = format!("run ENCAMP_UPDATE=1 cargo test --test cli {module}");
    assert!(have == want, "fixtures/{name}/cluster.json is stale: {how}");
}
