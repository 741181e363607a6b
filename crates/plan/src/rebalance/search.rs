//! From a question to a plan.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::arrange::{Arranged, Arranger};
use super::board::Board;
use super::course::{Alike, Course, Found, OnlyThere};
use super::error::RebalanceError;
use super::exact::IMPOSSIBLE;
use super::goal::{Goal, Request};
use super::movable::{Movable, Stays};
use super::refused::{Reason, Refused, some_names};
use super::steps::{NodeRef, RebalancePlan, Step};
use super::{even, figures, fit, free, spread};
use crate::stop::Stop;
use encamp_state::{AllocEntry, State};

/// How often moves are looked for again because the scheduler refuses some.
const MOST_TRIES: usize = 12;
/// Reasons, at most.
const MOST_REASONS: usize = 8;

/// What a goal is searched with.
pub(super) struct Scene<'a> {
    pub before: &'a State,
    pub board: Board,
    pub request: &'a Request,
    pub stop: &'a Stop,
    pub now: i64,
    /// Spots in the pools and datacenters of the limits.
    pub covers: Vec<bool>,
    /// What the job that is to fit needs.
    pub room: Option<fit::Room>,
}

/// Plans moves at `now` (Unix nanoseconds). `stop` ends the search with the best plan so far.
///
/// # Errors
/// The request names what is not there.
pub fn rebalance(before: &State, request: &Request, stop: &Stop, now: i64) -> Result<RebalancePlan, RebalanceError> {
    for id in &request.limits.keep {
        if before.node(id).is_none() {
            return Err(RebalanceError::NoNode(id.clone()));
        }
    }
    let movable = Movable::new(before, &request.limits);
    let covers = before.nodes().map(|e| movable.covers(&e.node)).collect();
    let mut board = Board::new(before, movable, now);
    let room = match &request.goal {
        Goal::Fit(job) => Some(fit::Room::new(before, &mut board, job, now)?),
        Goal::Free(_) | Goal::Spread | Goal::Even => None,
    };
    let mut scene = Scene { before, board, request, stop, now, covers, room };
    let mut best: Option<Attempt> = None;
    for number in 1..=MOST_TRIES {
        if best.is_some() && stop.now() {
            break;
        }
        let last = number == MOST_TRIES || stop.now();
        let attempt = scene.attempt(last)?;
        let goes_on = attempt.as_ref().is_none_or(|a| a.goes_on);
        if let Some(attempt) = attempt
            && best.as_ref().is_none_or(|b| attempt.rank() < b.rank())
        {
            best = Some(attempt);
        }
        if last || !goes_on {
            break;
        }
    }
    let Some(mut best) = best else { return Ok(RebalancePlan::default()) };
    best.found.cut |= stop.now() && (best.falls_short || !best.found.reached);
    scene.plan(best)
}

/// Moves that were found, and the steps that the scheduler makes of them.
struct Attempt {
    found: Found,
    arranged: Arranged,
    /// Allocations of the job that is to fit which are unplaced in the end.
    lacking: i64,
    /// What the plan is to lower, in the end.
    measure: Option<i64>,
    /// The steps lead less far than the moves that were found.
    falls_short: bool,
    /// Another search may lead further: something came up that it can regard.
    goes_on: bool,
}

impl Attempt {
    /// Less is better.
    fn rank(&self) -> (i64, Option<i64>) {
        (self.lacking, self.measure)
    }
}

impl Scene<'_> {
    /// Searches once, and makes steps of what is found. `None`: a move is refused, and excluded from now on. The last
    /// time, refused moves are left out instead.
    fn attempt(&mut self, last: bool) -> Result<Option<Attempt>, RebalanceError> {
        let mut found = self.search()?;
        let optional = found.course.optional;
        found.course.optional |= last;
        let alike = found.alike.clone();
        let alike = alike.as_deref().unwrap_or(&OnlyThere as &dyn Alike);
        let (before, limits, stop, now) = (self.before, &self.request.limits, self.stop, self.now);
        let board = &mut self.board;
        let fits = matches!(self.request.goal, Goal::Fit(_));
        // A part of the moves lowers the highest utilisation as well, if less.
        let may_end = last || fits || optional && matches!(self.request.goal, Goal::Even);
        let (placed, harmful) = (Vec::new(), Vec::new());
        let mut arranger = Arranger { before, board, alike, limits, stop, now, may_end, placed, harmful };
        let result = arranger.arrange(&found.course);
        let Arranger { placed, harmful, .. } = arranger;
        let arranged = match result {
            Ok(arranged) => arranged,
            Err(refused) => {
                self.exclude(&refused);
                if !matches!(self.request.goal, Goal::Even) {
                    self.board.claim(&placed);
                }
                return Ok(None);
            }
        };
        let unplaced = self.unplaced(&arranged.ends)?;
        let lacking: i64 = unplaced.values().sum();
        let learned = self.learn(&unplaced, &placed, &arranged.skipped);
        let measure = arranged.ends.iter().filter_map(|end| alike.measure(end)).max();
        let falls_short = match found.measure {
            Some(promised) => measure.is_some_and(|m| m > promised),
            None => fits && lacking > 0 && found.reached,
        };
        let lowered = measure < alike.measure(before);
        let reached =
            if found.measure.is_some() { !falls_short || lowered } else { fits || arranged.skipped.is_empty() };
        let complete =
            if found.measure.is_some() { reached } else { arranged.skipped.is_empty() || fits && lacking == 0 };
        found.reached &= reached;
        if !complete {
            found.missing.extend(reasons(&arranged.skipped, &harmful));
        }
        if let Some(level) = measure.filter(|_| falls_short) {
            // As low as in the end.
            found.at_least = even::at_least(&mut self.board, level);
        }
        if lacking > 0
            && let Some(names) = some_names(&placed)
        {
            found.missing.push(format!("Waiting allocations take freed capacity: {names}"));
        }
        // On a large board, each attempt takes long.
        let goes_on = falls_short && learned && !(lowered && optional);
        Ok(Some(Attempt { found, arranged, lacking, measure, falls_short, goes_on }))
    }

    /// Notes what another search can regard; false if there is nothing.
    fn learn(&mut self, unplaced: &BTreeMap<String, i64>, placed: &[Arc<AllocEntry>], skipped: &[Refused]) -> bool {
        let lacks = unplaced.values().any(|n| *n > 0) && !placed.is_empty();
        if let Some(room) = self.room.as_mut().filter(|_| lacks) {
            room.add(unplaced);
        }
        skipped.iter().for_each(|refused| self.exclude(refused));
        lacks && self.room.is_some() || !skipped.is_empty()
    }

    /// Has no other search find a move that the scheduler refuses.
    fn exclude(&mut self, Refused { hop, reason }: &Refused) {
        // From now on the numbers allow less than may be possible: they prove nothing.
        self.board.exact = false;
        if !self.board.refused.insert((hop.item, hop.to)) || *reason == Reason::NodeNotChosen {
            self.board.refuse_everywhere(hop.item);
        }
    }

    /// Allocations of the job that is to fit which are unplaced, by group, in the worst of the ends.
    fn unplaced(&self, ends: &[State]) -> Result<BTreeMap<String, i64>, RebalanceError> {
        let mut most: BTreeMap<String, i64> = BTreeMap::new();
        let Goal::Fit(job) = &self.request.goal else { return Ok(most) };
        for end in ends {
            for (group, n) in fit::unplaced(end, job, self.now)? {
                let known = most.entry(group).or_default();
                *known = n.max(*known);
            }
        }
        Ok(most)
    }

    fn search(&mut self) -> Result<Found, RebalanceError> {
        let most = self.request.limits.max_moves.unwrap_or(usize::MAX);
        match &self.request.goal {
            Goal::Free(nodes) => {
                let wanted = free::wanted(self.before, &self.board, &self.covers, nodes)?;
                let mut found = free::search(&mut self.board, &wanted, most, self.stop);
                if !found.reached {
                    found.missing.extend(self.why_not_free(&wanted, &found));
                }
                Ok(found)
            }
            Goal::Fit(_) => {
                let Some(room) = &self.room else { return Ok(Found::default()) };
                Ok(fit::search(&mut self.board, room, most, self.stop))
            }
            Goal::Spread => {
                let aims = spread::Aims::new(&self.board);
                Ok(spread::search(&mut self.board, aims, most, self.stop))
            }
            Goal::Even => {
                let mut found = even::search(&mut self.board, most, self.stop);
                if found.course.hops.is_empty() {
                    found.missing.extend(self.why_not_lower());
                }
                Ok(found)
            }
        }
    }

    /// Why fewer nodes become empty than wanted.
    fn why_not_free(&mut self, wanted: &free::Wanted, found: &Found) -> Vec<String> {
        let mut out = Vec::new();
        let freed = found.course.emptied.len();
        let all = found.course.hops.len() >= self.request.limits.max_moves.unwrap_or(usize::MAX);
        if wanted.held.is_empty() {
            let within = if all { " with so few moves" } else { "" };
            out.push(format!("Only {freed} of {} nodes can be empty at a time{within}", wanted.count));
        }
        out.extend(wanted.held.iter().map(|spot| self.held(*spot)));
        if !wanted.in_order {
            let fixed =
                |s: &usize| self.board.spots[*s].open && self.covers[*s] && !self.board.spots[*s].can_be_freed();
            out.extend((0..self.board.spots.len()).filter(fixed).map(|spot| self.held(spot)));
        }
        let moves = self.board.moves();
        found.course.hops.iter().for_each(|h| self.board.go(h.item, h.to));
        let closed: BTreeSet<usize> = found.course.emptied.iter().copied().collect();
        for spot in wanted.spots.iter().filter(|s| !closed.contains(s) && !wanted.held.contains(s)) {
            let here = &self.board.spots[*spot];
            let name = &here.node.node.name;
            let stuck = here.items.iter().find(|i| free::best_fit(&self.board, **i, &closed).is_none());
            out.push(match stuck {
                Some(item) => {
                    let allocation = &self.board.items[*item].entry.alloc.name;
                    format!("No other node takes allocation {allocation} of node {name}")
                }
                None => format!("No other nodes take all {} allocations of node {name}", here.items.len()),
            });
        }
        self.board.rewind(moves);
        let more = out.len().saturating_sub(MOST_REASONS);
        if more > 0 {
            out.truncate(MOST_REASONS);
            out.push(format!("{more} more nodes can't be emptied, either"));
        }
        out
    }

    /// Why nothing leaves the nodes that are used most.
    fn why_not_lower(&mut self) -> Vec<String> {
        let Some((level, spot)) = even::highest(&self.board) else { return Vec::new() };
        let mut out = Vec::new();
        let needed = even::at_least(&mut self.board, level.saturating_sub(1));
        if let Some(most) = self.request.limits.max_moves.filter(|most| *most < needed && needed < IMPOSSIBLE) {
            let (whole, tenths) = (level / 10, level % 10);
            out.push(format!(
                "At least {needed} moves are needed to lower the highest utilisation, {whole}.{tenths}%: the limit is {most}"
            ));
            return out;
        }
        if !self.board.spots[spot].can_be_freed() {
            out.push(self.held(spot));
        }
        let items: Vec<usize> = self.board.spots[spot].items.iter().copied().collect();
        for item in items {
            let (allocation, node) = (self.board.named(item).name, self.board.spots[spot].node.node.name.clone());
            let reason = even::obstacle(&mut self.board, item);
            out.push(format!("Allocation {allocation} stays on node {node}, which is used most: {}", reason.text()));
        }
        out.truncate(MOST_REASONS);
        out
    }

    /// Why a node can't be emptied.
    fn held(&self, spot: usize) -> String {
        let spot = &self.board.spots[spot];
        let mut reasons: BTreeMap<&Stays, usize> = BTreeMap::new();
        spot.fixed.iter().for_each(|(reason, n)| *reasons.entry(reason).or_default() += n);
        let reasons: Vec<String> = reasons.into_iter().map(|(r, n)| format!("{n} {}", r.reason())).collect();
        format!("Allocations stay on node {}: {}", spot.node.node.name, reasons.join("; "))
    }

    fn plan(&self, attempt: Attempt) -> Result<RebalancePlan, RebalanceError> {
        let Attempt { found, arranged, lacking, .. } = attempt;
        let Arranged { steps, ends, .. } = arranged;
        // Of what differs by the order of candidates, no more is promised than holds in each.
        let alike = found.alike.as_deref();
        let worst = ends.iter().enumerate().max_by_key(|(n, end)| (alike.and_then(|a| a.measure(end)), Reverse(*n)));
        let after = worst.map_or(self.before, |(_, end)| end);
        let moves = steps.iter().map(|s| s.moves.len()).sum();
        let jobs: BTreeSet<(&str, &str)> = steps.iter().flat_map(touched).collect();
        let jobs = jobs.len();
        let mut missing = found.missing;
        let freed = self.freed(&ends);
        let mut reached = found.reached;
        if let Goal::Free(_) = self.request.goal {
            let emptied = found.course.emptied.len();
            let still = found.course.emptied.iter().filter(|s| ends.iter().all(|e| self.is_empty(**s, e))).count();
            if still < emptied {
                reached = false;
                missing.push(format!(
                    "Once they are eligible again, {} of {emptied} emptied nodes take allocations that wait for capacity",
                    emptied - still
                ));
            }
        }
        if let Goal::Fit(job) = &self.request.goal {
            if lacking > 0 && reached {
                missing.insert(0, format!("{lacking} allocations of job {} are still unplaced", job.id));
            }
            reached = lacking == 0;
        }
        Ok(RebalancePlan {
            moves,
            at_least: found.at_least.min(if reached { moves } else { usize::MAX }),
            reached,
            missing,
            chosen: self.chosen(&found.course),
            freed,
            jobs,
            before: figures::figures(self.before),
            after: figures::figures(after),
            cut: found.cut,
            steps,
        })
    }

    fn is_empty(&self, spot: usize, state: &State) -> bool {
        let id = &self.board.spots[spot].node.node.id;
        state.node(id).is_some_and(|n| figures::is_empty(n))
    }

    /// The nodes that were chosen to become empty.
    fn chosen(&self, course: &Course) -> Vec<NodeRef> {
        course.emptied.iter().map(|s| self.board.spots[*s].named()).collect()
    }

    /// Nodes that are empty in every end and were not.
    fn freed(&self, ends: &[State]) -> Vec<NodeRef> {
        let spots = (0..self.board.spots.len()).filter(|s| !self.is_empty(*s, self.before));
        let emptied = spots.filter(|s| ends.iter().all(|e| self.is_empty(*s, e)));
        emptied.map(|s| self.board.spots[s].named()).collect()
    }
}

/// Why moves are left out.
fn reasons(skipped: &[Refused], harmful: &[Arc<AllocEntry>]) -> Vec<String> {
    let mut counts: BTreeMap<Reason, usize> = BTreeMap::new();
    if skipped.is_empty() {
        counts.insert(Reason::Harms, 0);
    }
    skipped.iter().for_each(|r| *counts.entry(r.reason).or_default() += 1);
    counts.into_iter().map(|(reason, n)| reason.text(n, harmful)).collect()
}

fn touched(step: &Step) -> impl Iterator<Item = (&str, &str)> {
    step.moves.iter().map(|m| (m.allocation.namespace.as_str(), m.allocation.job_id.as_str()))
}
