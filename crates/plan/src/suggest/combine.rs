//! Two edits, where no single one is enough.
//!
//! With several groups that are not placed, each gets an edit of its own. Else one edit opens the way - to more nodes,
//! or as far as it takes with all else at its least - and a second one does the rest.

use super::edit::Edit;
use super::proposal::{Kind, Look};
use super::propose::proposals;
use super::search::{Values, best};
use super::single::{Found, Search};
use super::trial::{Goal, Scene, Trial};

/// First edits that are tried.
const MOST_FIRST: usize = 6;
/// Pairs of amounts that are tried.
const MOST_PAIRS: usize = 15;

impl Search<'_, '_> {
    /// Pairs of edits that place everything.
    pub(super) fn pairs(&self, scene: &Scene, trial: &Trial) -> Vec<Found> {
        let groups: Vec<String> = trial.unplaced().into_keys().map(String::from).collect();
        let mut out = match groups.as_slice() {
            [first, _, ..] => self.group_by_group(scene, trial, first),
            _ => Vec::new(),
        };
        out.extend(self.opened(scene, trial));
        if groups.len() == 1 {
            out.extend(self.both_less(scene, trial));
        }
        out.extend(self.evicting_more(scene, trial));
        out
    }

    /// An edit for the first group, and then one for the rest.
    fn group_by_group(&self, scene: &Scene, trial: &Trial, group: &str) -> Vec<Found> {
        let of_file = |kind| !matches!(kind, Kind::Cluster | Kind::Evicting);
        let mut first = self.singles(scene, trial, Goal::Group(group), of_file);
        first.retain(|f| f.edits.iter().all(|e| e.group().is_none_or(|g| g == group)));
        first.sort_by(|a, b| a.cost().total_cmp(&b.cost()));
        first.truncate(MOST_FIRST / 2);
        first.into_iter().flat_map(|f| self.then(scene, f.edits, &f.trial, of_file)).collect()
    }

    /// What, after edits that are not enough, is enough.
    fn then(&self, scene: &Scene, edits: Vec<Edit>, trial: &Trial, wanted: impl Fn(Kind) -> bool) -> Vec<Found> {
        let Some(opened) = scene.with(&edits) else { return Vec::new() };
        let second = self.singles(&opened, trial, Goal::Everything, wanted);
        let joined = |f: Found| Found { edits: edits.iter().cloned().chain(f.edits).collect(), trial: f.trial };
        second.into_iter().map(joined).collect()
    }

    /// A way to more places, and then less of something there.
    fn opened(&self, scene: &Scene, trial: &Trial) -> Vec<Found> {
        let look = Look { scene, trial, now: self.now, highest_priority: self.highest };
        let fixed = proposals(&look).into_iter().filter(|p| p.kind == Kind::Wider && p.values == Values::Only);
        let firsts: Vec<Vec<Edit>> = fixed.map(|p| (p.make)(0)).take(MOST_FIRST).collect();
        let mut out = Vec::new();
        for (at, first) in firsts.iter().enumerate() {
            let Ok(Some(opened)) = self.bench.after(scene, first) else { continue };
            let less = |kind| matches!(kind, Kind::Less | Kind::Count | Kind::Rollout);
            out.extend(self.then(scene, first.clone(), &opened, less));
            for second in firsts.iter().skip(at + 1) {
                let both: Vec<Edit> = first.iter().chain(second).cloned().collect();
                if let Ok(Some(trial)) = self.bench.after(scene, &both)
                    && trial.reaches(Goal::Everything)
                {
                    out.push(Found { edits: both, trial });
                }
            }
        }
        out
    }

    /// Less of two things: of the first as little less as the second allows.
    fn both_less(&self, scene: &Scene, trial: &Trial) -> Vec<Found> {
        let look = Look { scene, trial, now: self.now, highest_priority: self.highest };
        let less: Vec<_> =
            proposals(&look).into_iter().filter(|p| matches!(p.kind, Kind::Less | Kind::Count)).collect();
        let mut out = Vec::new();
        let pairs = less.iter().enumerate().flat_map(|(at, a)| less.iter().skip(at + 1).map(move |b| (a, b)));
        for (a, b) in pairs.take(MOST_PAIRS) {
            let Values::Largest { least, .. } = b.values else { continue };
            let lowest = (b.make)(least);
            let Some(bare) = scene.with(&lowest) else { continue };
            let mut works = |value| {
                let trial = self.bench.after(&bare, &(a.make)(value))?;
                Ok(trial.is_some_and(|t| t.reaches(Goal::Everything)))
            };
            let Ok(Some(value)) = best(&a.values, &mut works) else { continue };
            let first = (a.make)(value);
            let Some(opened) = scene.with(&first) else { continue };
            if let Ok(Some(f)) = self.nearest(&opened, b, Goal::Everything) {
                out.push(Found { edits: first.into_iter().chain(f.edits).collect(), trial: f.trial });
            }
        }
        out
    }

    /// Preemption, and a priority that makes use of it.
    fn evicting_more(&self, scene: &Scene, trial: &Trial) -> Vec<Found> {
        let look = Look { scene, trial, now: self.now, highest_priority: self.highest };
        let allowed = proposals(&look).into_iter().find(|p| p.kind == Kind::Evicting && p.values == Values::Only);
        let Some(first) = allowed.map(|p| (p.make)(0)) else { return Vec::new() };
        match self.bench.after(scene, &first) {
            Ok(Some(opened)) if !opened.reaches(Goal::Everything) => {
                self.then(scene, first, &opened, |kind| kind == Kind::Evicting)
            }
            _ => Vec::new(),
        }
    }
}
