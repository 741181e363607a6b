//! What the steps of a plan lead to, in each of several orders in which servers may look at nodes.

use std::sync::Arc;

use super::{Arranger, Work};
use crate::rebalance::follow::{Followed, Order, follow_in};
use crate::rebalance::refused::Reason;
use crate::rebalance::steps::AllocRef;
use encamp_state::{AllocEntry, State};

/// Orders in which the finished plan is followed.
const ORDERS: u16 = 3;

/// What all steps lead to.
pub(super) struct Ends {
    /// In each of several orders of candidates.
    pub states: Vec<State>,
    /// The steps after so many bring what the plan is to lower no lower.
    pub useful: usize,
}

/// A step that does not do what it should.
pub(super) struct Failed {
    /// The number of the steps before it.
    pub number: usize,
    /// The allocation that it fails with.
    pub name: Option<Box<AllocRef>>,
    pub reason: Reason,
}

impl Arranger<'_> {
    /// Follows all steps in each of several orders.
    pub(super) fn ends(&mut self, work: &Work) -> Result<Ends, Failed> {
        let steps = &work.steps;
        let mut states = Vec::new();
        let mut worst: Vec<i64> = Vec::new();
        for order in 0..ORDERS {
            // In the first order, all steps were followed when they were made. Since then, the last one got its marks.
            let known = work.before_last.clone().filter(|_| order == 0);
            let followed = if known.is_some() { steps.len().saturating_sub(1) } else { 0 };
            let mut state = known.unwrap_or_else(|| self.before.clone());
            let mut measures: Vec<i64> = work.measures.iter().take(followed + 1).copied().collect();
            for (number, step) in steps.iter().enumerate().skip(followed) {
                let first = || step.moves.first().map(|m| Box::new(m.allocation.clone()));
                let failed = |name, reason| Failed { number, name, reason };
                let followed =
                    follow_in(&state, step, Order(order), self.now).map_err(|_| failed(first(), Reason::NotMade))?;
                self.placed.extend(followed.placed.iter().cloned());
                if !followed.keeps(step) {
                    let name = followed.unplaced.first().cloned().map(Box::new).or_else(first);
                    return Err(failed(name, Reason::NotMade));
                }
                self.harms(&state, &followed).map_err(|reason| failed(first(), reason))?;
                state = followed.state;
                measures.extend(self.alike.measure(&state));
            }
            let known = worst.iter().copied().chain(std::iter::repeat(i64::MIN));
            worst = measures.into_iter().zip(known).map(|(new, known)| new.max(known)).collect();
            states.push(state);
        }
        // The first position that no later one improves on.
        let best = worst.iter().enumerate().min_by_key(|(_, measure)| **measure);
        Ok(Ends { states, useful: best.map_or(steps.len(), |(number, _)| number) })
    }

    /// Whether a step leads away from the goal by what it has placed besides its moves.
    pub(super) fn harms(&mut self, before: &State, followed: &Followed) -> Result<(), Reason> {
        let harmed = self.alike.harmed(before, &followed.state);
        if harmed.is_empty() {
            return Ok(());
        }
        // A later step may take away what a move of this one adds: the end is measured.
        let there = |e: &&Arc<AllocEntry>| harmed.contains(e.alloc.node_id.as_str());
        let harmful: Vec<Arc<AllocEntry>> = followed.placed.iter().filter(there).cloned().collect();
        if harmful.is_empty() {
            return Ok(());
        }
        self.harmful.extend(harmful);
        Err(Reason::Harms)
    }
}
