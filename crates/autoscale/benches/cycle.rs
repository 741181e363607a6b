//! The cost of evaluating worker pools on a large cluster: 50 pools on a synthetic cluster of 5,000 nodes and 100,000
//! allocations, on one core. The figures are processor time: of the registry after a full read and after no change, of
//! the view and arithmetic of all pools, of the scheduler's proofs for five nodes, and of full evaluations of all
//! pools. The goal for the view of all pools with five proofs for the best candidates is 200 ms.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use encamp_autoscale::arithmetic::Arithmetic;
use encamp_autoscale::candidate::candidates;
use encamp_autoscale::cycle::{Evaluation, Input, Outcome, evaluate};
use encamp_autoscale::proof::{Proof, prove};
use encamp_autoscale::protection::Protection;
use encamp_autoscale::provider::{Instance, InstanceState, ScalingGroup};
use encamp_autoscale::record::{Record, ResourceType};
use encamp_autoscale::registry::{Fallbacks, Pool, Registry};
use encamp_autoscale::view::{INSTANCE_ID, JobCache, view};
use encamp_model::{Node, ScalingPolicy};
use encamp_sim::cluster::EPOCH;
use encamp_sim::{ClusterOptions, cluster};
use encamp_snapshot::file::into_state;
use encamp_state::State;

/// The command's own allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const RUNS: usize = 7;
const POOLS: usize = 50;
const PROOFS: usize = 5;

/// Processor time of this thread: other programs don't count.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0))
}

/// Runs a step several times, prints the shortest and the middle time and hands on the last result.
fn step<T>(name: &str, mut run: impl FnMut() -> T) -> T {
    let mut times = Vec::new();
    let mut last = None;
    for _ in 0..RUNS {
        drop(last.take());
        let start = processor_time();
        last = Some(black_box(run()));
        times.push(processor_time().saturating_sub(start).as_secs_f64() * 1000.0);
    }
    times.sort_by(f64::total_cmp);
    println!("{name:<60}{:>10.2}{:>10.2}", times[0], times[RUNS / 2]);
    last.expect("a run")
}

/// The state of a synthetic cluster whose nodes belong to pools by turns, and every third of whose jobs can be scaled.
fn state() -> State {
    let options = ClusterOptions { nodes: 5000, allocs: 100_000, seed: 4, now: EPOCH };
    let file = cluster(&options).expect("a cluster").into_file();
    let mut state = into_state(file).expect("a state").state;
    let nodes: Vec<Arc<Node>> = state.nodes().map(|e| e.node.clone()).collect();
    for (number, node) in nodes.into_iter().enumerate() {
        let mut node = Node::clone(&node);
        let pool = format!("pool-{:02}", number % POOLS);
        let parameters = [
            ("replicator_enabled", "true"),
            ("replicator_max", "1000"),
            ("replicator_min", "1"),
            ("replicator_notification_uid", "uid"),
            ("replicator_region", "eu-1"),
            ("replicator_worker_pool", &pool),
            ("replicator_scaling_threshold", "1"),
        ];
        node.meta.extend(parameters.map(|(k, v)| (k.to_string(), v.to_string())));
        node.attributes.insert(INSTANCE_ID.into(), format!("i-{number}"));
        node.computed_class = node.compute_class();
        state.upsert_node(Arc::new(node));
    }
    let jobs: Vec<_> = state.jobs().map(|e| e.current.clone()).step_by(3).collect();
    for mut job in jobs {
        for group in &mut Arc::make_mut(&mut job).task_groups {
            group.scaling = Some(ScalingPolicy { max: 1000, ..ScalingPolicy::default() });
        }
        state.upsert_job(job);
    }
    state
}

/// The group of a pool, as large as the pool.
fn scaling_group(state: &State, pool: &Pool) -> ScalingGroup {
    let ids = pool.nodes.iter().filter_map(|id| state.node(id)?.node.attributes.get(INSTANCE_ID).cloned());
    let instances: Vec<Instance> = ids.map(|id| Instance { id, state: InstanceState::Active }).collect();
    ScalingGroup { desired: pool.nodes.len() as i64, min: 0, max: 1000, instances }
}

/// Says how a cycle over all pools ended.
fn tell(cycle: &[Evaluation]) {
    let count = |wanted: fn(&Outcome) -> bool| cycle.iter().filter(|e| wanted(&e.outcome)).count();
    let (begin, denied) = (count(|o| matches!(o, Outcome::Begin(_))), count(|o| matches!(o, Outcome::Denied { .. })));
    let proofs = cycle.iter().filter(|e| e.proof.is_some()).count();
    println!("  {} evaluations: {begin} begin an operation, {denied} are denied; {proofs} proofs", cycle.len());
}

fn main() {
    let state = state();
    println!("{} nodes, {} allocations, {POOLS} pools\n", state.nodes().count(), state.alloc_count());
    println!("{:<60}{:>10}{:>10}", "ms", "best", "median");
    let registry = step("registry, all nodes read", || {
        let mut registry = Registry::default();
        registry.update(&state, &Fallbacks::new());
        registry
    });
    let mut unchanged = registry.clone();
    step("registry, no node changed", || unchanged.update(&state, &Fallbacks::new()));
    let pools: Vec<&Pool> = registry.pools().values().collect();
    let groups: BTreeMap<&str, ScalingGroup> =
        pools.iter().map(|p| (p.name.as_str(), scaling_group(&state, p))).collect();
    let record = Record::new(ResourceType::WorkerPool, "pool");

    let best: Vec<String> = step("view, arithmetic and candidates of all pools", || {
        let jobs = JobCache::default();
        let best = pools.iter().filter_map(|pool| {
            let view = view(&state, &jobs, pool, &Protection::default());
            let figures = Arithmetic::new(&view, &pool.parameters);
            candidates(&view, figures.metric).first().map(|n| n.id.clone())
        });
        best.collect()
    });
    let proofs: Vec<Proof> = step("proofs for the best candidates of 5 pools", || {
        best.iter().take(PROOFS).filter_map(|id| prove(&state, id, EPOCH).ok()).collect()
    });
    println!("  {} allocations move, {} end", sum(&proofs, |p| p.moved), sum(&proofs, |p| p.stopped));
    let full: Vec<String> = pools.iter().filter_map(|p| fullest(&state, p)).collect();
    let proofs: Vec<Proof> = step("proofs for the nodes with the most allocations of 5 pools", || {
        full.iter().take(PROOFS).filter_map(|id| prove(&state, id, EPOCH).ok()).collect()
    });
    println!("  {} allocations move, {} end", sum(&proofs, |p| p.moved), sum(&proofs, |p| p.stopped));
    let cycle: Vec<Evaluation> = step("one cycle of all pools, with the proofs it asks for", || {
        let jobs = &JobCache::default();
        let one = |pool: &&Pool| {
            let group = Some(Ok(&groups[pool.name.as_str()]));
            let protection = &Protection::default();
            evaluate(&Input { state: &state, jobs, pool, record: &record, group, protection, now: EPOCH })
        };
        pools.iter().map(one).collect()
    });
    tell(&cycle);
}

fn sum(proofs: &[Proof], of: fn(&Proof) -> usize) -> usize {
    proofs.iter().map(of).sum()
}

/// The node of a pool with the most live allocations.
fn fullest(state: &State, pool: &Pool) -> Option<String> {
    let view = view(state, &JobCache::default(), pool, &Protection::default());
    view.nodes.iter().max_by_key(|n| n.allocations).map(|n| n.id.clone())
}
