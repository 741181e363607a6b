//! Leader lease and election back-off.
//!
//! A leader that loses contact with the majority steps down. openraft would keep sending heartbeats: followers that
//! receive them, but whose responses don't arrive, would never elect another leader.
//!
//! Servers whose elections have no winner back off: openraft picks the election timeout once per process, so that two
//! servers that picked the same one would stand at the same time again and again.

use std::sync::atomic::Ordering;
use std::time::Duration;

use openraft::Vote;
use openraft::raft::VoteRequest;
use tokio::time::Instant;

use super::{Consensus, status};
use encamp_host::ids;
use encamp_host::simulation::here;

/// The number of checks per lease.
const LOOKS: u32 = 4;

/// Consecutive elections without a winner.
#[derive(Debug, Default)]
struct Lots {
    term: u64,
    failed: u32,
}

impl Lots {
    /// Whether it is time to draw: one more of several terms in a row has no leader.
    fn next(&mut self, term: u64, led: bool) -> bool {
        let newer = term > self.term;
        self.term = term;
        self.failed = if led { 0 } else { self.failed + u32::from(newer) };
        newer && self.failed > 1
    }
}

impl Consensus {
    /// Gives up leadership that has no majority for as long as a lease after the lease is over, until the node stops.
    ///
    /// The time is counted from the first look that finds it so: a process that was stopped hears its followers first.
    pub(super) async fn keep_lease(self) {
        let mut alone_since = None;
        let mut lots = Lots::default();
        loop {
            tokio::time::sleep(self.lease() / LOOKS).await;
            if self.leadership().borrow().failed.is_some() {
                return;
            }
            self.go_apart(&mut lots);
            let Some(term) = self.unanswered() else {
                alone_since = None;
                continue;
            };
            match alone_since {
                Some((since, of)) if of == term => {
                    if Instant::now() - since >= self.lease() {
                        self.give_up(term).await;
                    }
                }
                _ => alone_since = Some((Instant::now(), term)),
            }
        }
    }

    /// The term this server leads although no majority has answered it within the lease.
    fn unanswered(&self) -> Option<u64> {
        // A leader that transfers its leadership sends no heartbeats and gets no responses.
        if self.handing_over() {
            return None;
        }
        let metrics = self.raft().metrics();
        let metrics = metrics.borrow();
        let lonely = metrics.state.is_leader() && !status::answered(&metrics, self.lease());
        lonely.then_some(metrics.current_term)
    }

    /// Whether this server stands for election when it hears of no leader. Who gave up does not until it has heard from
    /// another server: the others may hear it, and would vote for it again and again without its ever knowing.
    pub(super) fn stand(&self, stands: bool) {
        if self.stands().swap(stands, Ordering::AcqRel) != stands {
            self.allow_elections();
        }
    }

    fn allow_elections(&self) {
        let (stands, rests) = (self.stands().load(Ordering::Acquire), self.rests().load(Ordering::Acquire));
        self.raft().runtime_config().elect(stands && !rests);
    }

    /// After each election but the first that nobody won this server stands no more for a time that is drawn, up to a
    /// lease.
    fn go_apart(&self, lots: &mut Lots) {
        let (term, led) = {
            let metrics = self.raft().metrics();
            let metrics = metrics.borrow();
            (metrics.current_term, metrics.current_leader.is_some())
        };
        if !lots.next(term, led) {
            return;
        }
        let most = u64::try_from(self.lease().as_millis()).unwrap_or(u64::MAX);
        let rest = Duration::from_millis(ids::random_below(most));
        self.rests().store(true, Ordering::Release);
        self.allow_elections();
        let own = self.clone();
        tokio::spawn(here(async move {
            tokio::time::sleep(rest).await;
            own.rests().store(false, Ordering::Release);
            own.allow_elections();
        }));
    }

    /// Votes for another server in the next term, which ends this one. Nobody has asked for that vote; should that
    /// server stand in that term, it still has to have all entries.
    async fn give_up(&self, term: u64) {
        let other = {
            let metrics = self.raft().metrics();
            let metrics = metrics.borrow();
            metrics.membership_config.voter_ids().find(|id| *id != metrics.id)
        };
        let Some(other) = other else { return };
        // Should there be entries behind this one it is refused, and tried again at the next look.
        let last = self.log().last();
        let request = VoteRequest::new(Vote::new(term + 1, other), last);
        self.stand(false);
        if self.raft().vote(request).await.is_ok_and(|answer| answer.vote_granted) {
            tracing::warn!(target: "nomad.raft", term, "lost contact with the quorum; stepping down");
        } else {
            self.stand(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_go_apart_after_the_second_election_without_a_winner() {
        let mut lots = Lots::default();
        let drawn: Vec<bool> =
            [(3, true), (4, false), (4, false), (5, false), (5, false), (6, false), (6, true), (7, false)]
                .into_iter()
                .map(|(term, led)| lots.next(term, led))
                .collect();
        assert_eq!(drawn, [false, false, false, true, false, true, false, false]);
    }
}
