//! Measures the cost of writes to a server's store: placed plans, client updates, evaluations, with as many allocations
//! stored as a large cluster has. After each operation a snapshot is taken and held until the next, as readers of a
//! server do; all nodes wait for their allocations, as on a server.
//!
//! `cargo bench --bench store -- 200000 1000000` measures with that many allocations stored. It prints the mean and the
//! best processor time of several operations per allocation, and the resident memory that an allocation adds.

use std::sync::Arc;
use std::time::{Duration, Instant};

use encamp_model::random::Random;
use encamp_model::*;
use encamp_ops::{JobRegister, NodeRegister, Operation, PlanResults, Reply};
use encamp_server::fsm::{self, Limits};
use encamp_server::storage::store::Store;
use encamp_server::storage::watch::{Waiter, WatchKey};
use encamp_sim::nodes::{self, Condition, SHAPES, class};
use encamp_state::{StateStore, StoreSnapshot};

/// The command's own allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const NODES: usize = 5000;
/// Allocations of a job: the most that a plan of a large run has.
const OF_A_JOB: usize = 1000;
const NOW: i64 = 1_700_000_000 * SECOND;

/// Processor time of this thread: other programs don't count.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0))
}

/// Bytes of memory in use.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split(' ').nth(1).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0) * 4096
}

struct Bench<'s> {
    store: &'s Store,
    /// What readers look at.
    held: StoreSnapshot,
    index: u64,
    random: Random,
    nodes: Vec<(String, String)>,
    jobs: usize,
    evals: Vec<Evaluation>,
    /// ID and node of the allocations that were placed.
    placed: Vec<(String, usize)>,
}

impl Bench<'_> {
    /// Applies an operation; gives what it took, with the snapshot after it.
    fn apply(&mut self, op: &Operation) -> Duration {
        self.index += 1;
        let start = processor_time();
        let reply = self.store.apply(self.index, op);
        self.held = self.store.snapshot();
        let took = processor_time().saturating_sub(start);
        assert!(!matches!(reply, Reply::Refused(_)), "{reply:?}");
        took
    }

    fn register_nodes(&mut self) {
        for number in 0..NODES {
            let shape = &SHAPES[class::GENERAL];
            let node = nodes::node(number, shape, Condition::Ready, NOW, &mut self.random);
            self.nodes.push((node.id.clone(), node.name.clone()));
            self.apply(&Operation::NodeRegister(Box::new(NodeRegister { node, create_pool: true, now: NOW })));
        }
    }

    /// Registers a job with the evaluation that its placements are made for.
    fn register_job(&mut self) -> (Arc<Job>, String) {
        let id = format!("batch-{}", self.jobs);
        self.jobs += 1;
        let task = Task { name: "main".into(), driver: "raw_exec".into(), ..Default::default() };
        let group = TaskGroup { name: "all".into(), count: OF_A_JOB as i64, tasks: vec![task], ..Default::default() };
        let job = Arc::new(Job {
            id: id.clone(),
            name: id.clone(),
            namespace: "default".into(),
            r#type: JobType::Batch,
            priority: 50,
            task_groups: vec![group],
            ..Default::default()
        });
        let eval = Evaluation {
            id: self.random.uuid().into(),
            namespace: "default".into(),
            priority: 50,
            r#type: JobType::Batch,
            triggered_by: EvalTrigger::JobRegister,
            job_id: id.into(),
            status: EvalStatus::Pending,
            create_time: NOW,
            modify_time: NOW,
            ..Default::default()
        };
        let register =
            JobRegister { job: job.clone(), eval: Some(eval.clone()), submission: None, enforce_index: None, now: NOW };
        self.apply(&Operation::JobRegister(Box::new(register)));
        let job = self.held.state().job("default", &job.id).expect("it was stored").clone();
        let id = eval.id.clone();
        self.evals.push(eval);
        (job, id.to_string())
    }

    fn allocation(&mut self, job: &Job, eval_id: &str, number: usize) -> Allocation {
        let at = self.random.below(NODES as u64) as usize;
        let (node_id, node_name) = self.nodes[at].clone();
        let id = self.random.uuid();
        self.placed.push((id.clone(), at));
        let task = AllocatedTaskResources {
            cpu: AllocatedCpuResources { cpu_shares: 50, ..Default::default() },
            memory: AllocatedMemoryResources { memory_mb: 64, ..Default::default() },
            ..Default::default()
        };
        let resources = AllocatedResources {
            tasks: [("main".to_string(), task)].into(),
            task_lifecycles: [("main".to_string(), None)].into(),
            shared: AllocatedSharedResources { disk_mb: 100, ..Default::default() },
        };
        let scored = (0..5).map(|_| {
            let node = self.random.below(NODES as u64) as usize;
            let mut scores = Scores::default();
            for name in ["binpack", "job-anti-affinity", "node-affinity"] {
                scores.set(name, 0.5);
            }
            NodeScoreMeta { node_id: self.nodes[node].0.clone(), scores, norm_score: 0.5 }
        });
        let metrics = AllocMetric {
            nodes_evaluated: 13,
            nodes_in_pool: NODES as i64,
            node_pool: "default".into(),
            nodes_available: Some(Arc::new([("dc1".to_string(), 5000)].into())),
            score_meta_data: scored.collect(),
            ..Default::default()
        };
        Allocation {
            id: id.into(),
            namespace: "default".into(),
            eval_id: eval_id.into(),
            name: format!("{}.all[{number}]", job.id).into(),
            node_id: node_id.into(),
            node_name: node_name.into(),
            job_id: Text::from(&job.id),
            task_group: "all".into(),
            allocated_resources: Some(Arc::new(resources)),
            metrics: Some(metrics.into()),
            desired_status: DesiredStatus::Run,
            client_status: ClientStatus::Pending,
            ..Default::default()
        }
    }

    /// A plan with that many placements on any nodes.
    fn plan(&mut self, placements: usize) -> Operation {
        let (job, eval_id) = self.register_job();
        let placements = (0..placements).map(|n| Arc::new(self.allocation(&job, &eval_id, n))).collect();
        Operation::PlanResults(Box::new(PlanResults {
            eval_id,
            job: Some(job),
            placements,
            signing_key_id: "6ea21d0c-1bd5-c81d-c7e2-2f6e0bb2d1a0".into(),
            now: NOW,
            ..Default::default()
        }))
    }

    /// Reports on allocations.
    fn reports(&mut self, of: &[(String, usize)], status: &ClientStatus) -> Operation {
        let time = Time::from_unix_nanos(NOW + self.index as i64);
        let ended = *status == ClientStatus::Complete;
        let report = |(id, node): &(String, usize)| {
            let state = TaskState {
                state: if ended { TaskStatus::Dead } else { TaskStatus::Running },
                started_at: time,
                finished_at: if ended { time } else { Time::ZERO },
                ..Default::default()
            };
            Arc::new(Allocation {
                id: id.as_str().into(),
                node_id: Text::from(&self.nodes[*node].0),
                client_status: status.clone(),
                task_states: [("main".to_string(), state)].into_iter().collect(),
                ..Default::default()
            })
        };
        let allocs = of.iter().map(report).collect();
        Operation::AllocClientUpdate { allocs, evals: Vec::new(), now: NOW }
    }

    /// Allocations of 500 nodes, two of each.
    fn of_nodes(&mut self) -> Vec<(String, usize)> {
        let mut wanted = vec![0u8; NODES];
        (0..500).for_each(|_| wanted[self.random.below(NODES as u64) as usize] = 2);
        let start = self.random.below(self.placed.len() as u64) as usize;
        let mut out = Vec::new();
        for (id, node) in self.placed[start..].iter().chain(&self.placed[..start]) {
            if wanted[*node] > 0 {
                wanted[*node] -= 1;
                out.push((id.clone(), *node));
            }
        }
        out
    }

    /// Stores as many allocations as asked for, all of them running.
    fn fill(&mut self, allocs: usize) {
        let (mut plans, mut reported) = (Vec::new(), Vec::new());
        while self.placed.len() < allocs {
            let first = self.placed.len();
            let plan = self.plan(OF_A_JOB);
            plans.push(self.apply(&plan).as_secs_f64() * 1e6 / OF_A_JOB as f64);
            drop(plan);
            let new = self.placed[first..].to_vec();
            let reports = self.reports(&new, &ClientStatus::Running);
            reported.push(self.apply(&reports).as_secs_f64() * 1e6 / OF_A_JOB as f64);
        }
        tell("filling: plans of 1000", &plans);
        tell("filling: reports of them", &reported);
    }

    /// Measures an operation several times and tells what it takes per thing.
    fn measure(&mut self, name: &str, times: usize, make: &mut dyn FnMut(&mut Self) -> (Operation, usize)) {
        let mut took = Vec::new();
        for _ in 0..times {
            let (op, things) = make(self);
            took.push(self.apply(&op).as_secs_f64() * 1e6 / things as f64);
        }
        tell(name, &took);
    }

    fn measure_all(&mut self) {
        self.measure("plan of 5000 placements", 5, &mut |b| (b.plan(5000), 5000));
        self.measure("plan of 1000 placements", 20, &mut |b| (b.plan(1000), 1000));
        self.ahead();
        for status in [ClientStatus::Running, ClientStatus::Complete] {
            let name = if status == ClientStatus::Running { "same" } else { status.as_str() };
            self.measure(&format!("1000 reports, {name}"), 20, &mut |b| {
                let of = b.of_nodes();
                (b.reports(&of, &status), of.len())
            });
        }
        self.measure("728 evaluations", 20, &mut |b| {
            let n = b.evals.len();
            let evals = (0..728).map(|_| Evaluation {
                status: EvalStatus::Complete,
                ..b.evals[b.random.below(n as u64) as usize].clone()
            });
            (Operation::EvalUpdate { evals: evals.collect() }, 728)
        });
    }

    /// The plan applier's own copy of the state: two plans on it, then it is dropped.
    fn ahead(&mut self) {
        let mut took = Vec::new();
        for _ in 0..10 {
            let plans = [self.plan(1000), self.plan(1000)];
            let start = processor_time();
            let mut ahead = StateStore::clone(&self.held);
            for (n, plan) in (1..).zip(&plans) {
                fsm::apply(&mut ahead, self.index + n, plan, Limits::default());
            }
            drop(ahead);
            took.push(processor_time().saturating_sub(start).as_secs_f64() * 1e6 / 2000.0);
            plans.iter().for_each(|p| _ = self.apply(p));
        }
        tell("two plans of 1000 ahead", &took);
    }
}

fn tell(name: &str, took: &[f64]) {
    let mean = took.iter().sum::<f64>() / took.len() as f64;
    let best = took.iter().copied().fold(f64::INFINITY, f64::min);
    println!("  {name:<28}{mean:>9.2} µs{best:>9.2} µs");
}

fn run(allocs: usize) {
    println!("{allocs} allocations on {NODES} nodes{:>20}{:>12}", "mean", "best");
    let store = Store::new(Limits::default(), 100);
    let held = store.snapshot();
    let mut bench = Bench {
        store: &store,
        held,
        index: 0,
        random: Random::new(1, "store"),
        nodes: Vec::new(),
        jobs: 0,
        evals: Vec::new(),
        placed: Vec::new(),
    };
    bench.register_nodes();
    let keys = |(id, _): &(String, String)| vec![WatchKey::OfNode(id.clone())];
    let _waiting: Vec<Waiter<'_>> = bench.nodes.iter().map(|n| store.watches().wait_for(keys(n))).collect();
    let before = resident();
    let start = Instant::now();
    bench.fill(allocs);
    // The list of what was placed is the benchmark's.
    let own = allocs * (size_of::<(String, usize)>() + 48);
    let each = (resident() - before) as f64 - own as f64;
    println!(
        "  filled in {:.1} s, {:.0} bytes of resident memory per allocation",
        start.elapsed().as_secs_f64(),
        each / allocs as f64
    );
    bench.measure_all();
}

fn main() {
    let sizes: Vec<usize> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let sizes = if sizes.is_empty() { vec![200_000, 1_000_000] } else { sizes };
    sizes.into_iter().for_each(run);
}
