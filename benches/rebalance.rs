//! Measures rebalances of a large cluster: 50 nodes to empty, room for jobs that are larger than what any node has free,
//! and utilisation evened out. `docs/dev/performance.md` records the results. Arguments: nodes and allocations.

use std::sync::Arc;
use std::time::Instant;

use encamp_model::*;
use encamp_plan::rebalance::{Goal, Limits, Nodes, Request, figures, follow, rebalance};
use encamp_plan::stop::Stop;
use encamp_sim::cluster::EPOCH;
use encamp_sim::{ClusterOptions, cluster};
use encamp_snapshot::file;
use encamp_state::State;

/// The command's own allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let numbers: Vec<usize> = std::env::args().filter_map(|a| a.parse().ok()).collect();
    let (nodes, allocs) = if let [nodes, allocs, ..] = numbers[..] { (nodes, allocs) } else { (5000, 100_000) };
    let options = ClusterOptions { nodes, allocs, seed: 4, now: EPOCH };
    let state = file::into_state(cluster(&options).expect("a cluster").into_file()).expect("a state").state;
    println!("{nodes} nodes, {allocs} allocations; {} MB at most so far", peak());
    let free = |count| Goal::Free(Nodes::Count { count, cost: None });
    for more in [1, 50] {
        let empty = figures(&state).areas.iter().map(|a| a.empty).sum::<usize>();
        measure(&format!("free {more} besides {empty}"), &state, free(empty + more), Limits::default());
    }
    let tight = fragmented(&state);
    let memory = largest(&tight);
    println!("{memory} MB are free on a node at most, of those that take allocations");
    for (part, count) in [(105, 1), (105, 5), (120, 20)] {
        let goal = Goal::Fit(Arc::new(job(memory * part / 100, count)));
        measure(&format!("fit {count}, {part} % of that"), &tight, goal, Limits::default());
    }
    measure("even, 20 moves", &state, Goal::Even, Limits { max_moves: Some(20), ..Limits::default() });
    measure("spread, 20 moves", &state, Goal::Spread, Limits { max_moves: Some(20), ..Limits::default() });
}

/// The same cluster, where nodes with more than a third of their memory free take no allocations.
fn fragmented(state: &State) -> State {
    let mut tight = state.clone();
    for e in state.nodes().filter(|e| (e.info.memory - e.usage.memory) * 3 > e.info.memory) {
        let scheduling_eligibility = NodeEligibility::Ineligible;
        tight.replace_node_record(Arc::new(Node { scheduling_eligibility, ..Node::clone(&e.node) }));
    }
    tight
}

/// The largest free memory of a node.
fn largest(state: &State) -> i64 {
    let free = state.nodes().filter(|n| n.node.ready()).map(|n| n.info.memory - n.usage.memory);
    free.max().unwrap_or(0)
}

fn job(memory_mb: i64, count: i64) -> Job {
    let task = Task {
        name: "t".into(),
        driver: "docker".into(),
        resources: Some(Resources { cpu: 100, memory_mb, ..Default::default() }),
        ..Default::default()
    };
    Job {
        id: "large".into(),
        name: "large".into(),
        namespace: "default".into(),
        r#type: JobType::Service,
        priority: 50,
        node_pool: "all".into(),
        datacenters: vec!["*".into()],
        task_groups: vec![TaskGroup { name: "g".into(), count, tasks: vec![task], ..Default::default() }],
        ..Default::default()
    }
}

fn measure(name: &str, state: &State, goal: Goal, limits: Limits) {
    let began = Instant::now();
    let plan = rebalance(state, &Request { goal, limits }, &Stop::never(), EPOCH).expect("a plan");
    let took = began.elapsed();
    println!(
        "{name}: {:.2} s; {} moves in {} steps, at least {}, reached: {}; {} MB at most so far {:?}",
        took.as_secs_f64(),
        plan.moves,
        plan.steps.len(),
        plan.at_least,
        plan.reached,
        peak(),
        plan.missing,
    );
    if let Some(first) = plan.steps.first() {
        let began = Instant::now();
        follow(state, first, EPOCH).expect("the first step");
        println!("   a step of {} moves is followed in {:.2} s", first.moves.len(), began.elapsed().as_secs_f64());
    }
}

/// The most memory the process has held, in MB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) / 1024
}
