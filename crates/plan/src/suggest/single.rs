//! Single edits: the nearest value of each proposal that reaches a goal.

use std::collections::BTreeMap;

use super::cost::cost;
use super::edit::Edit;
use super::proposal::{Kind, Look, Proposal};
use super::propose::proposals;
use super::search::{Cut, Values, best};
use super::trial::{Bench, Goal, Scene, Trial};

/// Edits that reach a goal, and the plan with them.
pub(super) struct Found {
    pub edits: Vec<Edit>,
    pub trial: Trial,
}

impl Found {
    /// Its points.
    pub(super) fn cost(&self) -> f64 {
        cost(&self.edits, self.trial.evicted().count().saturating_add(self.trial.evicted_later))
    }
}

/// A search for edits.
pub(super) struct Search<'s, 'q> {
    pub bench: &'s Bench<'q>,
    /// Unix nanoseconds.
    pub now: i64,
    /// The highest priority that servers accept.
    pub highest: i64,
}

impl Search<'_, '_> {
    /// The nearest edit of each proposal that reaches a goal. `wanted`: which proposals are tried.
    pub(super) fn singles(
        &self,
        scene: &Scene,
        trial: &Trial,
        goal: Goal<'_>,
        wanted: impl Fn(Kind) -> bool,
    ) -> Vec<Found> {
        let look = Look { scene, trial, now: self.now, highest_priority: self.highest };
        let all = proposals(&look).into_iter().filter(|p| wanted(p.kind));
        all.map_while(|p| self.nearest(scene, &p, goal).ok()).flatten().collect()
    }

    /// The nearest value of a proposal that reaches a goal.
    pub(super) fn nearest(&self, scene: &Scene, proposal: &Proposal<'_>, goal: Goal<'_>) -> Result<Option<Found>, Cut> {
        let first = self.value(scene, proposal, |trial| trial.reaches(goal))?;
        // Evictions cost so much that a little less of a resource may be cheaper.
        let Some(evicting) = first.as_ref().filter(|f| f.trial.evicts()) else { return Ok(first) };
        if proposal.values == Values::Only || proposal.kind == Kind::Evicting {
            return Ok(first);
        }
        let peaceful = |trial: &Trial| trial.reaches(goal) && !trial.evicts();
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
