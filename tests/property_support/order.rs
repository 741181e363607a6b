//! Changes that must not affect a plan: the order in which a state was written, and nodes that no job can use.

use std::sync::Arc;

use encamp_model::random::Random;
use encamp_model::*;
use encamp_scheduler::NodeOrder;
use encamp_state::State;

use super::Verdict;
use super::apply::{Outcome, Terms, run};
use encamp_test_support::dice::Dice;

/// The same state, written in random order; without one node, if one is named.
pub fn rewritten(state: &State, random: &mut Random, without: &str) -> State {
    let mut out = State::new();
    if let Some(c) = &state.scheduler_config {
        out.set_scheduler_config(c.clone());
    }
    state.node_pools().for_each(|p| out.upsert_node_pool(p.clone()));
    state.host_volumes().for_each(|v| out.upsert_host_volume(v.clone()));
    let mut nodes: Vec<Arc<Node>> = state.nodes().map(|n| n.node.clone()).filter(|n| n.id != without).collect();
    let mut jobs: Vec<Arc<Job>> = state.jobs().flat_map(|j| j.versions.values().cloned()).collect();
    let mut allocs: Vec<Arc<Allocation>> = state.allocs().map(|a| a.alloc.clone()).collect();
    let mut deployments: Vec<Arc<Deployment>> = state.deployments().cloned().collect();
    random.shuffle(&mut nodes);
    random.shuffle(&mut jobs);
    random.shuffle(&mut allocs);
    random.shuffle(&mut deployments);
    // Allocations may come before their nodes and their jobs.
    let early = random.roll(allocs.len() + 1);
    out.upsert_allocs(allocs.drain(..early));
    nodes.into_iter().for_each(|n| out.upsert_node(n));
    jobs.into_iter().for_each(|j| out.upsert_job(j));
    deployments.into_iter().for_each(|d| out.upsert_deployment(d));
    allocs.chunks(16).for_each(|some| out.upsert_allocs(some.iter().cloned()));
    out.index = state.index;
    out
}

/// A state written in another order leads to the same plan and the same evaluations.
pub fn check_permuted(
    state: &State,
    eval: &Evaluation,
    terms: &Terms,
    expected: &Outcome,
    random: &mut Random,
) -> Verdict {
    let other = rewritten(state, random, "").snapshot();
    let outcome = run(&other, eval, terms)?;
    same(expected, &outcome).map_err(|e| format!("another order of writing: {e}"))
}

/// A node which the job can't use, and on which it has nothing.
pub fn unused_node(state: &State, job: &Job, random: &mut Random) -> Option<String> {
    let unused: Vec<String> = state
        .nodes()
        .filter(|n| !candidate(job, &n.node) && !n.allocs.iter().any(|a| a.alloc.job_id == job.id))
        .map(|n| n.node.id.clone())
        .collect();
    random.pick(&unused).cloned()
}

fn candidate(job: &Job, node: &Node) -> bool {
    let matches = |p: &String| match p.split_once('*') {
        Some((start, end)) => node.datacenter.starts_with(start) && node.datacenter.ends_with(end),
        None => *p == node.datacenter,
    };
    let pool = matches!(job.node_pool.as_str(), "" | "all") || job.node_pool == node.node_pool;
    node.ready() && pool && job.datacenters.iter().any(matches)
}

/// Without such a node, and with the candidates in the same order, the plan is the same, metrics included.
pub fn check_without(
    state: &State,
    job: &Job,
    node: &str,
    eval: &Evaluation,
    terms: &Terms,
    random: &mut Random,
) -> Verdict {
    let mut order: Vec<String> = state.nodes().filter(|n| candidate(job, &n.node)).map(|n| n.node.id.clone()).collect();
    random.shuffle(&mut order);
    // Candidates are set again when an older version of the job is placed in between.
    let terms = Terms { order: NodeOrder::Explicit(vec![order; 200]), ..terms.clone() };
    let with = run(&state.snapshot(), eval, &terms)?;
    let without = run(&rewritten(state, random, node).snapshot(), eval, &terms)?;
    same(&with, &without).map_err(|e| format!("without node {node}: {e}"))
}

/// Compares everything an evaluation came to.
pub fn same(a: &Outcome, b: &Outcome) -> Verdict {
    let (p, q) = (&a.plan, &b.plan);
    equal("stops", &p.node_update, &q.node_update)?;
    equal("preemptions", &p.node_preemptions, &q.node_preemptions)?;
    equal("allocations", &p.node_allocation, &q.node_allocation)?;
    equal("deployment", &p.deployment, &q.deployment)?;
    equal("deployment updates", &p.deployment_updates, &q.deployment_updates)?;
    equal("annotations", &p.annotations, &q.annotations)?;
    equal("evaluation", &a.updated, &b.updated)?;
    equal("created evaluations", &a.created, &b.created)?;
    equal("reblocked evaluation", &a.reblocked, &b.reblocked)
}

/// Scores may be NaN, so what differs has to look different too.
fn equal<T: PartialEq + std::fmt::Debug>(what: &str, a: &T, b: &T) -> Verdict {
    if a == b {
        return Ok(());
    }
    let (a, b) = (format!("{a:?}"), format!("{b:?}"));
    if a == b {
        return Ok(());
    }
    let at = a.bytes().zip(b.bytes()).position(|(x, y)| x != y).unwrap_or(0);
    let part = |s: &str| {
        let bytes = &s.as_bytes()[at.saturating_sub(200).min(s.len())..(at + 200).min(s.len())];
        String::from_utf8_lossy(bytes).into_owned()
    };
    Err(format!("other {what}: …{}… instead of …{}…", part(&b), part(&a)))
}
