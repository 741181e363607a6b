//! Compares the speed of the schedulers with Nomad's recorded speed, on the states of `tests/oracle/scheduler-bench`.
//!
//! As in the recording, the measured time covers taking a snapshot, processing the evaluation with annotations, and
//! submitting the plan to a planner that accepts it at once. Loading is not measured. Every run's plan is compared with
//! the recorded one. `cargo bench --bench scheduler -- 5000` runs the scenarios whose names contain the text.

use std::collections::HashMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use encamp_model::*;
use encamp_scheduler::{Context, NodeOrder, PlanResult, Planner, SubmitError};
use encamp_test_support::{recorded, scheduler_cases};

/// The command's own allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Scenario and Nomad's best and median time on one core, in milliseconds (README of the directory).
const REFERENCE: [(&str, f64, f64); 12] = [
    ("bench-1000-service", 42.2, 44.0),
    ("bench-1000-spread", 435.9, 452.9),
    ("bench-1000-affinity", 410.7, 460.1),
    ("bench-1000-batch", 91.7, 95.6),
    ("bench-1000-system", 54.1, 63.6),
    ("bench-1000-preemption", 4725.0, 4907.0),
    ("bench-5000-service", 51.8, 68.4),
    ("bench-5000-spread", 524.6, 587.8),
    ("bench-5000-affinity", 521.6, 545.4),
    ("bench-5000-batch", 122.7, 147.3),
    ("bench-5000-system", 319.4, 345.1),
    ("bench-5000-preemption", 29869.0, 30923.0),
];

/// Accepts every plan and counts what is in it.
#[derive(Default)]
struct Accept {
    placed: usize,
    evicted: usize,
}

impl Planner for Accept {
    fn submit_plan(&mut self, plan: Plan) -> Result<PlanResult, SubmitError> {
        self.placed = plan.node_allocation.values().map(Vec::len).sum();
        self.evicted = plan.node_preemptions.values().map(Vec::len).sum();
        Ok(PlanResult::accepted(plan))
    }
    fn update_eval(&mut self, eval: Evaluation) {
        black_box(eval);
    }
    fn create_eval(&mut self, eval: Evaluation) {
        black_box(eval);
    }
    fn reblock_eval(&mut self, eval: Evaluation) {
        black_box(eval);
    }
}

/// One evaluation: its time, placements and evictions.
fn once(state: &encamp_state::State, eval: &Evaluation, now: i64) -> (Duration, usize, usize) {
    let mut ids = 0u128;
    let mut seed = 1u64;
    let mut planner = Accept::default();
    let start = Instant::now();
    let snapshot = state.snapshot();
    let mut context = Context {
        now,
        order: NodeOrder::Shuffle,
        new_id: &mut || {
            ids += 1;
            format!("00000000-0000-4000-8000-{ids:012x}")
        },
        random: &mut |n| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % n.max(1)
        },
        stopwatch: &mut || 0,
        stop: &|| false,
    };
    encamp_scheduler::process(black_box(&snapshot), black_box(eval), &mut context, &mut planner)
        .expect("the evaluation runs");
    let took = start.elapsed();
    (took, planner.placed, planner.evicted)
}

/// The states with wanted names, as JSON texts: a file for each, or several in a file of lines.
fn states(wanted: impl Fn(&str) -> bool) -> Option<HashMap<String, String>> {
    #[derive(serde::Deserialize)]
    struct Name {
        name: String,
    }
    let folder = recorded::folder("scheduler-bench")?;
    let mut states = HashMap::new();
    for (name, path) in recorded::files(&folder, ".json").into_iter().filter(|(name, _)| wanted(name)) {
        states.extend(recorded::text_at(&path).map(|text| (name, text)));
    }
    for (_, path) in recorded::files(&folder, ".jsonl") {
        for text in recorded::lines_at(&path) {
            let Name { name } = serde_json::from_str(&text).expect("a case with a name");
            if wanted(&name) {
                states.insert(name, text);
            }
        }
    }
    Some(states)
}

fn main() {
    let wanted = std::env::args().skip(1).find(|a| !a.starts_with('-')).unwrap_or_default();
    let wanted = |name: &str| name.contains(&wanted);
    let Some(states) = states(wanted) else { return };
    println!(
        "{:<24}{:>8}{:>9}{:>12}{:>12}{:>14}{:>9}",
        "scenario", "placed", "evicted", "min ms", "median ms", "reference ms", "ratio"
    );
    let (mut log_sum, mut count) = (0.0, 0);
    for (name, reference, _) in REFERENCE.into_iter().filter(|(name, ..)| wanted(name)) {
        let Some(text) = states.get(name) else {
            println!("skipped: there is no {name}");
            continue;
        };
        let case = scheduler_cases::parse_case(text).expect("a case");
        let state = case.input.state();
        let eval = &case.input.eval;
        let list = |key: &str| case.expected[key].as_array().map_or(0, Vec::len);
        let mut times = Vec::new();
        let started = Instant::now();
        let (mut placed, mut evicted) = (0, 0);
        while times.len() < 5 || (started.elapsed() < Duration::from_secs(2) && times.len() < 200) {
            let (took, p, e) = once(&state, eval, case.now);
            times.push(took.as_secs_f64() * 1000.0);
            (placed, evicted) = (p, e);
            assert_eq!(
                (p, e),
                (list("placements"), list("preemptions")),
                "{name}: the plan differs from the recorded one"
            );
        }
        times.sort_by(f64::total_cmp);
        let (min, median) = (times[0], times[times.len() / 2]);
        log_sum += (reference / min).ln();
        count += 1;
        println!(
            "{name:<24}{placed:>8}{evicted:>9}{min:>12.3}{median:>12.3}{reference:>14.1}{:>8.1}x",
            reference / min
        );
    }
    println!("geometric mean of the ratios: {:.1}x", (log_sum / f64::from(count.max(1))).exp());
}
