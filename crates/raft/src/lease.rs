//! The leader lease.
//!
//! A leader that loses contact with the majority steps down. openraft would keep sending heartbeats: followers that
//! receive them, but whose responses don't arrive, would never elect another leader.

use openraft::Vote;
use openraft::raft::VoteRequest;

use super::elections::Times;
use super::{Consensus, status};

/// The number of checks per lease.
const LOOKS: u32 = 4;

impl Consensus {
    /// Gives up leadership that has no majority for as long as a lease after the lease is over, until the node stops.
    /// After failed elections it takes as much longer as the others wait longer
    /// ([`Times::longer`](super::elections::Times::longer)).
    ///
    /// Looks are counted, not time: a process that was stopped hears its followers first.
    pub(super) async fn keep_lease(self) {
        let mut alone: Option<(u32, u64)> = None;
        loop {
            tokio::time::sleep(self.lease() / LOOKS).await;
            if self.leadership().borrow().failed.is_some() {
                return;
            }
            let Some(term) = self.unanswered() else {
                alone = None;
                continue;
            };
            match &mut alone {
                Some((looks, of)) if *of == term => {
                    *looks += 1;
                    if *looks >= self.looks_alone() {
                        self.give_up(term).await;
                    }
                }
                _ => alone = Some((0, term)),
            }
        }
    }

    /// How many looks after the first one may find that no majority has answered.
    fn looks_alone(&self) -> u32 {
        let longer = Times::new(self.lease()).longer(self.signs().failed());
        let more = longer.as_millis() * u128::from(LOOKS) / self.lease().as_millis().max(1);
        LOOKS.saturating_add(u32::try_from(more).unwrap_or(u32::MAX))
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
        self.contacts().forget();
        if self.raft().vote(request).await.is_ok_and(|answer| answer.vote_granted) {
            tracing::warn!(target: "nomad.raft", term, "lost contact with the quorum; stepping down");
        } else {
            self.stand(true);
        }
    }
}
