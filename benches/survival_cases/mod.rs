//! Five clusters of 5,000 nodes and 100,000 allocations, and eight jobs that are looked for room for on each.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use encamp_jobspec::convert::ConvertOptions;
use encamp_jobspec::parse::{ParseOptions, parse};
use encamp_model::{
    AllocatedCpuResources, AllocatedMemoryResources, AllocatedResources, AllocatedTaskResources, Allocation,
    ClientStatus, DesiredStatus, Job, Node, NodeStatus, PreemptionConfig, SchedulerConfiguration, Text,
};
use encamp_plan::capacity::{Subject, subject};
use encamp_plan::server_context;
use encamp_plan::stop::Stop;
use encamp_plan::survival::{Accuracy, Limits, Loss, Survival, survival};
use encamp_plan::what_if::copy_of;
use encamp_state::State;

/// The time for one search.
const TIME: Duration = Duration::from_millis(7000);
const NODES: usize = 5000;
const ALLOCS_ON_NODE: usize = 20;
/// Allocations of one job of a cluster of equal nodes.
const ALLOCS_OF_JOB: usize = 500;

/// The jobs: what they are called, and their parts: of the job, of the group, of the resources.
const JOBS: [(&str, &str, &str, &str); 8] = [
    ("amounts", "", "", "cpu = 500\nmemory = 512"),
    ("a port", "", "network {\nport \"http\" {}\n}", "cpu = 200\nmemory = 200"),
    (
        "five ports, small",
        "",
        "network {\nport \"a\" {}\nport \"b\" {}\nport \"c\" {}\nport \"d\" {}\nport \"e\" {}\n}",
        "cpu = 10\nmemory = 10",
    ),
    ("a static port", "", "network {\nport \"http\" {\nstatic = 8089\n}\n}", "cpu = 200\nmemory = 200"),
    (
        "distinct_hosts",
        "",
        "constraint {\noperator = \"distinct_hosts\"\nvalue = \"true\"\n}",
        "cpu = 200\nmemory = 200",
    ),
    ("spread", "", "spread {\nattribute = \"${node.datacenter}\"\n}", "cpu = 1000\nmemory = 2000"),
    ("a device", "node_pool = \"gpu\"", "", "cpu = 500\nmemory = 500\ndevice \"gpu\" {\ncount = 1\n}"),
    ("large", "", "", "cpu = 4000\nmemory = 8000"),
];

fn parsed(state: &State, text: &str, now: i64) -> Arc<Job> {
    let job = parse(text.as_bytes(), &ParseOptions::default()).expect("a job");
    let convert = ConvertOptions { region: "global".into(), ..Default::default() };
    subject(state, &job, &convert, &server_context(state), now).expect("a valid job")
}

fn text(id: &str, of_job: &str, of_group: &str, resources: &str, count: usize) -> String {
    format!(
        "job \"{id}\" {{\ndatacenters = [\"*\"]\n{of_job}\ngroup \"g\" {{\ncount = {count}\n{of_group}\ntask \"t\" {{\n\
         driver = \"docker\"\nconfig {{\nimage = \"x\"\n}}\nresources {{\n{resources}\n}}\n}}\n}}\n}}\n"
    )
}

fn preempting(state: &State) -> State {
    let mut state = state.clone();
    let config = state.scheduler_config.as_deref().cloned().unwrap_or_default();
    let preemption_config = PreemptionConfig {
        system_scheduler_enabled: true,
        sys_batch_scheduler_enabled: true,
        batch_scheduler_enabled: true,
        service_scheduler_enabled: true,
    };
    state.set_scheduler_config(Arc::new(SchedulerConfiguration { preemption_config, ..config }));
    state
}

/// Every node has a little more memory than is used.
fn tight(state: &State) -> State {
    let mut tight = state.clone();
    for (i, e) in state.nodes().enumerate() {
        let mut node = Node::clone(&e.node);
        let spare = i64::try_from(i % 7).unwrap_or(0) * 100;
        if let Some(r) = node.node_resources.as_mut() {
            r.memory.memory_mb -= e.info.memory - e.usage.memory - spare.min(e.info.memory - e.usage.memory);
        }
        tight.upsert_node(Arc::new(node));
    }
    tight
}

/// Equal nodes of one class and three datacenters with equal allocations; `priority`: of the job with this number.
fn equal(mixed: &State, priority: impl Fn(usize) -> usize, now: i64) -> State {
    let mut models: BTreeMap<String, Arc<Node>> = BTreeMap::new();
    for e in mixed.nodes().filter(|e| e.node.node_class == "general" && e.node.ready()) {
        models.entry(e.node.datacenter.clone()).or_insert_with(|| e.node.clone());
    }
    let models: Vec<Arc<Node>> = models.into_values().collect();
    let mut state = State::default();
    state.scheduler_config.clone_from(&mixed.scheduler_config);
    for pool in mixed.node_pools() {
        state.upsert_node_pool(pool.clone());
    }
    for namespace in mixed.namespaces() {
        state.upsert_namespace(namespace.clone());
    }
    let id = |kind: usize, n: usize| format!("{n:08x}-0000-4000-8000-{kind:012x}");
    for n in 0..NODES {
        let node = copy_of(&models[n % models.len()], &format!("equal-{n:05}"), &id(1, n));
        state.upsert_node(Arc::new(Node { status: NodeStatus::Ready, ..node }));
    }
    let jobs = NODES * ALLOCS_ON_NODE / ALLOCS_OF_JOB;
    let mut allocs = Vec::with_capacity(NODES * ALLOCS_ON_NODE);
    for j in 0..jobs {
        let name = format!("equal-{j:03}");
        let own = format!("priority = {}\n", priority(j));
        let job = parsed(&state, &text(&name, &own, "", "cpu = 500\nmemory = 1000", ALLOCS_OF_JOB), now);
        let job = Arc::new(Job { create_index: 10, modify_index: 10, job_modify_index: 10, ..Job::clone(&job) });
        state.upsert_job(job.clone());
        let task = AllocatedTaskResources {
            cpu: AllocatedCpuResources { cpu_shares: 500, ..Default::default() },
            memory: AllocatedMemoryResources { memory_mb: 1000, ..Default::default() },
            ..Default::default()
        };
        let disk = job.task_groups[0].ephemeral_disk.as_ref().map_or(0, |d| d.size_mb);
        let mut resources =
            AllocatedResources { tasks: [("t".to_string(), task)].into_iter().collect(), ..Default::default() };
        resources.shared.disk_mb = disk;
        let resources = Arc::new(resources);
        for i in 0..ALLOCS_OF_JOB {
            let number = j * ALLOCS_OF_JOB + i;
            allocs.push(Arc::new(Allocation {
                id: id(2, number).into(),
                name: format!("{name}.g[{i}]").into(),
                namespace: "default".into(),
                job_id: Text::from(&name),
                job: Some(job.clone()),
                task_group: "g".into(),
                node_id: id(1, number % NODES).into(),
                allocated_resources: Some(resources.clone()),
                desired_status: DesiredStatus::Run,
                client_status: ClientStatus::Running,
                create_index: 11,
                modify_index: 11,
                ..Default::default()
            }));
        }
    }
    state.upsert_allocs(allocs);
    state
}

fn one(state: &State, job: &str, loss: Loss, now: i64) -> (Survival, Duration) {
    let job = parsed(state, job, now);
    let subject = Subject { group: job.task_groups[0].clone(), job };
    let begun = Instant::now();
    let stop = Stop::when(move || begun.elapsed() >= TIME);
    let limits = Limits { accuracy: Accuracy::Near, stop, progress: &|_| {} };
    let found = survival(state, &subject, loss, &limits, now).expect("the nodes exist").expect("something to lose");
    (found, begun.elapsed())
}

/// Looks for the worst loss in all cases and prints a row for each.
pub(crate) fn all(mixed: &State, now: i64) {
    let clusters = [
        ("mixed", mixed.clone()),
        ("mixed, preemption", preempting(mixed)),
        ("mixed, tight memory", tight(mixed)),
        ("equal nodes", equal(mixed, |_| 50, now)),
        ("equal, preemption", tight(&preempting(&equal(mixed, |j| 20 + j % 4 * 20, now)))),
    ];
    println!(
        "| cluster | job | node: s | at least | at most | width % | decided | datacenter: s | at least | at most | width % \
         |\n|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    );
    for ((cluster, state), (name, of_job, of_group, resources)) in
        clusters.iter().flat_map(|cluster| JOBS.iter().map(move |job| (cluster, job)))
    {
        let text = text("probe", of_job, of_group, resources, 100);
        let [node, datacenter] = [Loss::Node, Loss::Datacenter].map(|loss| one(state, &text, loss, now));
        let of_nodes = format!("{} of {}", node.0.decided, node.0.of);
        println!("| {cluster} | {name} | {} | {of_nodes} | {} |", columns(&node), columns(&datacenter));
    }
}

/// Seconds, the interval and its width in percent.
fn columns((s, time): &(Survival, Duration)) -> String {
    let width = 100.0 * (s.copies - s.at_least) as f64 / s.copies.max(1) as f64;
    format!("{:.1} | {} | {} | {width:.1}", time.as_secs_f64(), s.at_least, s.copies)
}
