//! Finds the smallest changes with which a job that does not fit is placed.
//!
//! - [`edit`]: the kinds of changes. `make`: making them. [`mod@cost`]: their order.
//! - `question`: what is asked and answered. This file: the answer.
//! - `propose`, `propose_where`, `propose_nodes`: which changes are tried, as a `proposal` each. `estimate`: where a
//!   search for a value begins. `search`: the nearest value that works.
//! - `trial`: planning again. `single`: one change. `combine`: two changes where none is enough.
//! - `cluster`, `moves`: changes of the cluster. `text`: changes of the job file.
//!
//! Every suggestion is planned again by [`plan_job`], as a plan of the changed job would be.

mod cluster;
mod combine;
pub mod cost;
pub mod edit;
mod estimate;
mod make;
mod moves;
mod proposal;
mod propose;
mod propose_nodes;
mod propose_where;
mod question;
mod search;
mod single;
#[cfg(test)]
mod tests;
mod text;
mod trial;

use encamp_model::api;

use crate::job::plan_job;
use cost::cost;
use edit::Edit;
use single::{Found, Search};
use trial::{Bench, Goal, Scene, Trial};

pub use question::{Evicted, Question, RolloutCheck, Suggestion, Suggestions};
pub use text::changes;

/// More suggestions are not made.
const MOST: usize = 10;
/// A single edit of the job file with no more points than that is enough: two edits are not looked for.
const NEAR: f64 = 50.0;
/// So many pairs of edits are suggested at most where there is a single one, which is not to be lost among them.
const MOST_PAIRS: usize = 2;

/// The cheapest changes with which everything of a job is placed; none if it is placed as it is, or if servers would
/// refuse it.
pub fn suggest(question: &Question<'_>) -> Suggestions {
    let bench = Bench::new(question);
    let scene = Scene { job: question.job.clone(), state: question.state.clone() };
    let mut out = Suggestions::default();
    if let Ok(Some(first)) = bench.plan(&scene)
        && !first.reaches(Goal::Everything)
    {
        out.unplaced = first.unplaced().into_iter().map(|(group, n)| (group.to_string(), n)).collect();
        out.rejected = !first.run.rejections.is_empty();
        out.rollout_blocked = first.blocked;
        let search = Search { bench: &bench, now: question.now, highest: question.server.job_max_priority };
        let mut found = search.singles(&scene, &first, Goal::Everything, |_| true);
        if question.moves
            && let Some(edit) = moves::moves(question, &first)
            && let Ok(Some(trial)) = bench.after(&scene, std::slice::from_ref(&edit))
            && trial.reaches(Goal::Everything)
        {
            found.push(Found { edits: vec![edit], trial });
        }
        let near = |f: &Found| f.edits.iter().all(Edit::is_of_file) && f.cost() <= NEAR;
        if !found.iter().any(near) {
            found.extend(search.pairs(&scene, &first));
        }
        out.list = ranked(question, found);
    }
    (out.cut, out.plans) = (bench.was_cut(), bench.runs());
    out
}

/// The job as edits of its file make it; `None` if it has no such part.
pub fn applied(job: &api::Job, edits: &[Edit]) -> Option<api::Job> {
    let mut job = job.clone();
    edits.iter().all(|edit| edit.make_in_job(&mut job).is_some()).then_some(job)
}

/// The cheapest, each planned once more from the start.
fn ranked(question: &Question<'_>, mut found: Vec<Found>) -> Vec<Suggestion> {
    found.sort_by(|a, b| a.cost().total_cmp(&b.cost()));
    let singles = found.iter().any(|f| f.edits.len() == 1);
    let mut out: Vec<Suggestion> = Vec::new();
    for Found { edits, trial } in found {
        let pairs = out.iter().filter(|s| s.edits.len() > 1).count();
        if singles && edits.len() > 1 && pairs >= MOST_PAIRS {
            continue;
        }
        // What costs no more, and touches nothing else, makes the rest redundant.
        let covers = |s: &Suggestion| s.edits.iter().all(|known| edits.iter().any(|e| e.is_about_the_same(known)));
        if out.len() >= MOST || out.iter().any(covers) {
            continue;
        }
        out.extend(verified(question, edits, trial.evicted_later));
    }
    out
}

/// The suggestion, if the plan of the changed job on the changed cluster places everything.
fn verified(question: &Question<'_>, edits: Vec<Edit>, evicted_later: usize) -> Option<Suggestion> {
    let scene = Scene { job: question.job.clone(), state: question.state.clone() }.with(&edits)?;
    let plan = plan_job(&scene.state, &scene.job, question.options, question.server, question.now).ok()?;
    if !plan.response.failed_tg_allocs.is_empty() || !plan.response.plan_rejections.is_empty() {
        return None;
    }
    let trial = Trial { run: plan.run, blocked: false, evicted_later };
    let evicted: Vec<Evicted> = trial.evicted().map(|a| evicted(&trial, &a.id)).collect();
    let cost = cost(&edits, evicted.len().saturating_add(evicted_later));
    Some(Suggestion { cost, placed: trial.placed(), evicted, evicted_later, edits })
}

/// Plans hold little of what they evict; the state has the rest.
fn evicted(trial: &Trial, id: &str) -> Evicted {
    let stored = trial.run.state.alloc(id);
    let text = |of: fn(&encamp_model::Allocation) -> &str| stored.map(|e| of(&e.alloc).to_string()).unwrap_or_default();
    let node = stored.and_then(|e| trial.run.state.node(&e.alloc.node_id));
    Evicted {
        alloc_id: id.to_string(),
        name: text(|a| &a.name),
        namespace: text(|a| &a.namespace),
        job_id: text(|a| &a.job_id),
        priority: stored.map_or(0, |e| e.priority()),
        node_name: node.map(|n| n.node.name.clone()).unwrap_or_default(),
    }
}
