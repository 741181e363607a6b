//! Finds the smallest changes with which a job that does not fit is placed.
//!
//! - [`edit`]: the kinds of changes. [`mod@cost`]: their order.
//! - `propose`, `propose_where`, `propose_nodes`: which changes are tried. `estimate`: where a search for a value begins.
//!   `search`: the nearest value that works.
//! - `trial`: planning again. `combine`: two changes where none is enough.
//! - `cluster`: changes of the cluster. `text`: changes of the job file.
//!
//! Every suggestion is planned again by [`plan_job`], as a plan of the changed job would be.

mod cluster;
mod combine;
pub mod cost;
pub mod edit;
mod estimate;
mod propose;
mod propose_nodes;
mod propose_where;
mod search;
#[cfg(test)]
mod tests;
mod text;
mod trial;

use std::collections::BTreeMap;
use std::sync::Arc;

use encamp_jobspec::admission::ServerContext;
use encamp_jobspec::convert::ConvertOptions;
use encamp_model::{Job, api};
use encamp_state::State;

use crate::job::plan_job;
use crate::stop::Stop;
use cost::cost;
use edit::Edit;
use propose::{Kind, Look, Proposal, proposals};
use search::{Cut, Values, best};
use trial::{Bench, Goal, Scene, Trial};

pub use text::changes;

/// More suggestions are not made.
const MOST: usize = 10;
/// A single edit of the job file with no more points than that is enough: two edits are not looked for.
const NEAR: f64 = 50.0;
/// So many pairs of edits are suggested at most where there is a single one, which is not to be lost among them.
const MOST_PAIRS: usize = 2;

/// Whether the rollout of a job that is about to be registered comes to its end.
pub type RolloutCheck<'a> = dyn Fn(&State, &Arc<Job>) -> bool + 'a;

/// A job that may not fit.
pub struct Question<'a> {
    /// The cluster.
    pub state: &'a State,
    /// The job as a client sends it.
    pub job: &'a api::Job,
    /// How it is converted.
    pub options: &'a ConvertOptions,
    /// The settings of the servers.
    pub server: &'a ServerContext,
    /// Unix nanoseconds.
    pub now: i64,
    /// Follows rollouts of more than one step; `None`: the first step decides.
    pub rollout: Option<&'a RolloutCheck<'a>>,
    /// Ends the search.
    pub stop: Stop,
}

/// An allocation that a suggestion evicts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evicted {
    /// Its ID.
    pub alloc_id: String,
    /// Its name.
    pub name: String,
    /// The namespace of its job.
    pub namespace: String,
    /// Its job.
    pub job_id: String,
    /// The priority of that job.
    pub priority: i64,
    /// The name of its node.
    pub node_name: String,
}

/// Changes with which everything is placed.
#[derive(Debug, Clone, PartialEq)]
pub struct Suggestion {
    /// The changes.
    pub edits: Vec<Edit>,
    /// How far they are from what was asked for ([`mod@cost`]).
    pub cost: f64,
    /// Allocations that the plan with them places.
    pub placed: usize,
    /// Allocations of others that it evicts.
    pub evicted: Vec<Evicted>,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Suggestions {
    /// Allocations that are not placed, by group.
    pub unplaced: BTreeMap<String, i64>,
    /// Everything is placed at once, but the rollout does not come to its end.
    pub rollout_blocked: bool,
    /// The cheapest first.
    pub list: Vec<Suggestion>,
    /// The search was ended early: there may be more suggestions, and cheaper ones.
    pub cut: bool,
    /// Plans that were made.
    pub plans: usize,
}

impl Suggestions {
    /// Whether there is something to suggest anything for.
    pub fn are_needed(&self) -> bool {
        !self.unplaced.is_empty() || self.rollout_blocked
    }
}

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
        out.rollout_blocked = first.blocked;
        let mut search = Search { bench: &bench, now: question.now, highest: question.server.job_max_priority };
        let mut found = search.singles(&scene, &first, Goal::Everything, |_| true);
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

/// Edits that reach a goal, and the plan with them.
struct Found {
    edits: Vec<Edit>,
    trial: Trial,
}

impl Found {
    fn cost(&self) -> f64 {
        cost(&self.edits, self.trial.evicted().count())
    }
}

/// A search for edits.
struct Search<'s, 'q> {
    bench: &'s Bench<'q>,
    now: i64,
    highest: i64,
}

impl Search<'_, '_> {
    /// The nearest edit of each proposal that reaches a goal. `wanted`: which proposals are tried.
    fn singles(&mut self, scene: &Scene, trial: &Trial, goal: Goal<'_>, wanted: impl Fn(Kind) -> bool) -> Vec<Found> {
        let look = Look { scene, trial, now: self.now, highest_priority: self.highest };
        let all = proposals(&look).into_iter().filter(|p| wanted(p.kind));
        all.map_while(|p| self.nearest(scene, &p, goal).ok()).flatten().collect()
    }

    /// The nearest value of a proposal that reaches a goal.
    fn nearest(&mut self, scene: &Scene, proposal: &Proposal<'_>, goal: Goal<'_>) -> Result<Option<Found>, Cut> {
        let first = self.value(scene, proposal, |trial| trial.reaches(goal))?;
        // Evictions cost so much that a little less of a resource may be cheaper.
        let Some(evicting) = first.as_ref().filter(|f| f.trial.evicted().next().is_some()) else { return Ok(first) };
        if proposal.values == Values::Only || proposal.kind == Kind::Evicting {
            return Ok(first);
        }
        let peaceful = |trial: &Trial| trial.reaches(goal) && trial.evicted().next().is_none();
        let second = self.value(scene, proposal, peaceful)?;
        Ok(if second.as_ref().is_some_and(|s| s.cost() < evicting.cost()) { second } else { first })
    }

    /// The nearest value of a proposal whose plan is good.
    fn value(
        &self,
        scene: &Scene,
        proposal: &Proposal<'_>,
        good: impl Fn(&Trial) -> bool,
    ) -> Result<Option<Found>, Cut> {
        let mut reached: BTreeMap<i64, Trial> = BTreeMap::new();
        let value = best(&proposal.values, &mut |value| {
            let Some(trial) = self.bench.after(scene, &(proposal.make)(value))? else { return Ok(false) };
            let works = good(&trial);
            if works {
                reached.insert(value, trial);
            }
            Ok(works)
        })?;
        let trial = value.and_then(|value| Some((value, reached.remove(&value)?)));
        Ok(trial.map(|(value, trial)| Found { edits: (proposal.make)(value), trial }))
    }
}

/// The cheapest, each planned once more from the start.
fn ranked(question: &Question<'_>, mut found: Vec<Found>) -> Vec<Suggestion> {
    found.sort_by(|a, b| a.cost().total_cmp(&b.cost()));
    let singles = found.iter().any(|f| f.edits.len() == 1);
    let mut out: Vec<Suggestion> = Vec::new();
    for Found { edits, .. } in found {
        let pairs = out.iter().filter(|s| s.edits.len() > 1).count();
        if singles && edits.len() > 1 && pairs >= MOST_PAIRS {
            continue;
        }
        // What costs no more, and touches nothing else, makes the rest superfluous.
        let covers = |s: &Suggestion| s.edits.iter().all(|known| edits.iter().any(|e| e.is_about_the_same(known)));
        if out.len() >= MOST || out.iter().any(covers) {
            continue;
        }
        out.extend(verified(question, edits));
    }
    out
}

/// The suggestion, if the plan of the changed job on the changed cluster places everything.
fn verified(question: &Question<'_>, edits: Vec<Edit>) -> Option<Suggestion> {
    let scene = Scene { job: question.job.clone(), state: question.state.clone() }.with(&edits)?;
    let plan = plan_job(&scene.state, &scene.job, question.options, question.server, question.now).ok()?;
    if !plan.response.failed_tg_allocs.is_empty() || !plan.response.plan_rejections.is_empty() {
        return None;
    }
    let trial = Trial { run: plan.run, blocked: false };
    let evicted: Vec<Evicted> = trial.evicted().map(|a| evicted(&trial, &a.id)).collect();
    Some(Suggestion { cost: cost(&edits, evicted.len()), placed: trial.placed(), evicted, edits })
}

/// Plans hold little of what they evict; the state has the rest.
fn evicted(trial: &Trial, id: &str) -> Evicted {
    let stored = trial.run.state.alloc(id);
    let text = |of: fn(&encamp_model::Allocation) -> &String| stored.map(|e| of(&e.alloc).clone()).unwrap_or_default();
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
