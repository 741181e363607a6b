//! The scheduler oracle: its case format, and the conversion of a case to a state (`tests/oracle/scheduler/README.md`).

pub mod compare;
pub mod outcome;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use encamp_model::*;
use encamp_scheduler::{Context, NodeOrder};
use encamp_state::{Snapshot, State};
use serde::Deserialize;
use serde_json::Value;

use crate::recorded;

/// One evaluation with the state it runs on and what it must lead to.
#[derive(Deserialize)]
pub struct Case {
    pub name: String,
    /// Unix nanoseconds.
    pub now: i64,
    pub input: Input,
    #[serde(default)]
    pub expected: Value,
}

/// The state of a case as the file gives it.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Input {
    pub scheduler_config: Option<SchedulerConfiguration>,
    pub node_pools: Vec<NodePool>,
    pub nodes: Vec<Node>,
    pub jobs: Vec<Job>,
    pub deleted_jobs: Vec<DeletedJob>,
    pub allocs: Vec<Allocation>,
    pub deployments: Vec<Deployment>,
    pub host_volumes: Vec<HostVolume>,
    pub host_volume_claims: Vec<TaskGroupHostVolumeClaim>,
    pub csi_volumes: Vec<CsiVolume>,
    pub eval: Evaluation,
    pub state_index: u64,
    pub planner: String,
    pub node_order: Vec<Vec<String>>,
}

/// A job that only lives on in its allocations.
#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
pub struct DeletedJob {
    namespace: String,
    #[serde(rename = "ID")]
    id: String,
}

/// Family name and its cases as JSON texts, for every family and the examples.
pub fn families(scheduler_dir: &Path) -> Vec<(String, Vec<String>)> {
    let mut out = Vec::new();
    let examples = scheduler_dir.join("examples");
    if examples.is_dir() {
        let texts = recorded::files(&examples, ".json").into_iter().filter_map(|(_, path)| recorded::text_at(&path));
        out.push(("examples".to_string(), texts.collect()));
    } else {
        println!("skipped: there is no {}", examples.display());
    }
    let families = recorded::files(scheduler_dir, ".jsonl").into_iter();
    out.extend(families.map(|(family, path)| (family, recorded::lines_at(&path))));
    out
}

/// Reads a case.
pub fn parse_case(text: &str) -> Result<Case, String> {
    let mut de = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(&mut de).map_err(|e| e.to_string())
}

impl Input {
    /// Builds the state: allocations carry the job version they name, also where the job itself is gone.
    pub fn state(&self) -> Snapshot {
        let mut state = State::new();
        if let Some(c) = &self.scheduler_config {
            state.set_scheduler_config(Arc::new(c.clone()));
        }
        for p in &self.node_pools {
            state.upsert_node_pool(Arc::new(p.clone()));
        }
        for n in &self.nodes {
            state.upsert_node(Arc::new(n.clone()));
        }
        let deleted: HashSet<(&str, &str)> =
            self.deleted_jobs.iter().map(|d| (d.namespace.as_str(), d.id.as_str())).collect();
        let mut jobs: HashMap<(&str, &str, u64), Arc<Job>> = HashMap::new();
        for j in &self.jobs {
            let job = Arc::new(j.clone());
            jobs.insert((&j.namespace, &j.id, j.version), job.clone());
            if !deleted.contains(&(j.namespace.as_str(), j.id.as_str())) {
                state.upsert_job(job);
            }
        }
        state.upsert_allocs(self.allocs.iter().map(|a| {
            let version = a.stored_job_version.unwrap_or_default();
            let job = jobs.get(&(a.namespace.as_str(), a.job_id.as_str(), version)).cloned();
            Arc::new(Allocation { job, ..a.clone() })
        }));
        for d in &self.deployments {
            state.upsert_deployment(Arc::new(d.clone()));
        }
        for v in &self.host_volumes {
            state.upsert_host_volume(Arc::new(v.clone()));
        }
        for c in &self.host_volume_claims {
            state.upsert_host_volume_claim(Arc::new(c.clone()));
        }
        for v in &self.csi_volumes {
            state.upsert_csi_volume(Arc::new(v.clone()));
        }
        state.index = self.state_index;
        state.snapshot()
    }
}

/// What a scheduler handed to its planner.
#[derive(Default)]
pub struct Recorded {
    pub plan_attempts: usize,
    pub plan: Plan,
    pub updated: Vec<Evaluation>,
    pub created: Vec<Evaluation>,
    pub reblocked: Vec<Evaluation>,
}

struct Recorder<'a> {
    snapshot: &'a Snapshot,
    reject: bool,
    out: Recorded,
}

impl encamp_scheduler::Planner for Recorder<'_> {
    fn submit_plan(&mut self, plan: Plan) -> Result<encamp_scheduler::PlanResult, encamp_scheduler::SubmitError> {
        self.out.plan_attempts += 1;
        let result = if self.reject {
            encamp_scheduler::PlanResult { refresh: Some(self.snapshot.clone()), ..Default::default() }
        } else {
            encamp_scheduler::PlanResult::accepted(plan.clone())
        };
        self.out.plan = plan;
        Ok(result)
    }

    fn update_eval(&mut self, eval: Evaluation) {
        self.out.updated.push(eval);
    }

    fn create_eval(&mut self, eval: Evaluation) {
        self.out.created.push(eval);
    }

    fn reblock_eval(&mut self, eval: Evaluation) {
        self.out.reblocked.push(eval);
    }
}

/// Processes the evaluation of a case with IDs and ports that are the same in every run.
pub fn run(input: &Input, snapshot: &Snapshot, now: i64, order: NodeOrder) -> Result<Recorded, String> {
    let mut last_id = 0u64;
    let mut new_id = || {
        last_id += 1;
        format!("ffffffff-ffff-ffff-ffff-{last_id:012x}")
    };
    let mut seed = 1u64;
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below.max(1)
    };
    let mut ctx =
        Context { now, order, new_id: &mut new_id, random: &mut random, stopwatch: &mut || 0, stop: &|| false };
    let mut planner = Recorder { snapshot, reject: input.planner == "reject_all", out: Recorded::default() };
    encamp_scheduler::process(snapshot, &input.eval, &mut ctx, &mut planner).map_err(|e| e.to_string())?;
    Ok(planner.out)
}

/// Runs a case and lists its differences to what is expected; once with the recorded order of nodes and once with the
/// shuffle, which has to come to the same.
pub fn check(case: &Case) -> Vec<compare::Difference> {
    let snapshot = case.input.state();
    let differences = |order| match run(&case.input, &snapshot, case.now, order) {
        Ok(recorded) => compare::differences(&case.expected, &outcome::outcome(&case.input, &snapshot, &recorded)),
        Err(e) => vec![compare::Difference::failure(&e)],
    };
    let found = differences(NodeOrder::Explicit(case.input.node_order.clone()));
    if found.is_empty() { differences(NodeOrder::Shuffle) } else { found }
}

/// Counts by key, most frequent first.
pub fn frequencies<K: Ord + Clone>(keys: impl IntoIterator<Item = K>) -> Vec<(K, usize)> {
    let mut counts: BTreeMap<K, usize> = BTreeMap::new();
    for k in keys {
        *counts.entry(k).or_default() += 1;
    }
    let mut out: Vec<(K, usize)> = counts.into_iter().collect();
    out.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    out
}
