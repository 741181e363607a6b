//! Contacts of a leader: when the voters last answered it, and whether its state may be read without asking them.
//!
//! A voter that accepts a message of a leader votes for no other server for six tenths of a lease
//! ([`Times::refusal`](super::elections::Times::refusal)). As long as a majority accepted messages that were sent within
//! the last half of a lease, nobody else leads, and the state of the leader is the newest. The difference allows for
//! clocks that differ in rate.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use openraft::raft::AppendEntriesResponse;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::Consensus;
use super::network::{Answer, Message, TransportError};
use super::propose::ProposeError;
use super::types::ServerId;

/// Pause between two looks at a leadership transfer.
const LOOK: Duration = Duration::from_millis(20);

/// When voters accepted messages of this server as their leader.
#[derive(Debug, Default)]
pub(super) struct Contacts(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// By server: the term, and when the last accepted message of it was sent.
    accepted: BTreeMap<ServerId, (u64, Instant)>,
    /// Messages that were sent before do not count.
    after: Option<Instant>,
}

/// A message that was sent, as far as contacts are concerned.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    /// The term of the leader; `None` for messages that prove nothing.
    term: Option<u64>,
    at: Instant,
}

impl Sent {
    /// A message that is sent now.
    pub(super) fn now(message: &Message) -> Sent {
        let term = match message {
            Message::Append(request) => Some(request.vote.leader_id.term),
            Message::Vote(_) | Message::Snapshot(_) => None,
        };
        Sent { term, at: Instant::now() }
    }
}

impl Contacts {
    /// Notes the answer of a server to a message.
    pub(super) fn note(&self, from: ServerId, sent: Sent, answer: &Result<Answer, TransportError>) {
        let Some(term) = sent.term else { return };
        let accepted =
            matches!(answer, Ok(Answer::Append(Ok(answer))) if !matches!(answer, AppendEntriesResponse::HigherVote(_)));
        if accepted {
            self.add(from, term, sent.at);
        }
    }

    fn add(&self, from: ServerId, term: u64, at: Instant) {
        let mut known = self.0.lock();
        if known.after.is_none_or(|after| at > after) {
            let last = known.accepted.entry(from).or_insert((term, at));
            *last = (*last).max((term, at));
        }
    }

    /// Forgets all: this server is about to vote for another one, and does not count as a voter of its own any more.
    pub(super) fn forget(&self) {
        *self.0.lock() = Known { accepted: BTreeMap::new(), after: Some(Instant::now()) };
    }

    /// Whether a majority of each configuration has accepted a message of this term that was sent since then. `own`
    /// counts itself.
    fn have_majority(&self, own: ServerId, term: u64, since: Instant, configurations: &[BTreeSet<ServerId>]) -> bool {
        let known = self.0.lock();
        let accepted =
            |id: &&ServerId| **id == own || known.accepted.get(*id).is_some_and(|(of, at)| *of == term && *at >= since);
        configurations.iter().all(|voters| voters.iter().filter(accepted).count() * 2 > voters.len())
    }
}

impl Consensus {
    /// Whether this server leads, has applied all that was acknowledged before, and a majority answered so lately that
    /// nobody else can lead.
    fn is_certain(&self) -> bool {
        let since = Instant::now().checked_sub(self.lease() / 2);
        let (own, term, membership) = {
            let metrics = self.raft().metrics();
            let metrics = metrics.borrow();
            if !metrics.state.is_leader() || metrics.running_state.is_err() {
                return false;
            }
            (metrics.id, metrics.current_term, metrics.membership_config.clone())
        };
        // Entries of earlier terms are committed with the first one of this term.
        let current = self.applied_term() == Some(term);
        let configurations = membership.membership().get_joint_config();
        current && since.is_some_and(|since| self.contacts().have_majority(own, term, since, configurations))
    }

    /// Makes sure that what this server knows as the leader is current. That costs a round of messages if no majority has
    /// answered within half a lease, as after a pause of the process: others may lead without its knowing.
    ///
    /// # Errors
    /// See [`Consensus::barrier`].
    pub async fn confirm(&self) -> Result<(), ProposeError> {
        while !self.is_certain() {
            // The messages of a barrier would prolong the lease that a transfer of leadership waits for.
            if !self.handing_over() {
                return self.barrier().await;
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn voters(ids: &[u64]) -> BTreeSet<ServerId> {
        ids.iter().map(|id| ServerId::from(*id)).collect()
    }

    #[test]
    fn a_majority_of_each_configuration_has_to_answer_in_time() {
        let (contacts, begin) = (Contacts::default(), Instant::now());
        let at = |ms| begin + Duration::from_millis(ms);
        let certain = |term, ms, configurations: &[&[u64]]| {
            let configurations: Vec<_> = configurations.iter().map(|ids| voters(ids)).collect();
            contacts.have_majority(1.into(), term, at(ms), &configurations)
        };
        assert!(certain(5, 0, &[&[1]]), "a server alone asks nobody");
        assert!(!certain(5, 0, &[&[1, 2, 3]]));
        contacts.add(2.into(), 5, at(100));
        assert!(certain(5, 100, &[&[1, 2, 3]]));
        assert!(!certain(5, 101, &[&[1, 2, 3]]), "that was too long ago");
        assert!(!certain(6, 100, &[&[1, 2, 3]]), "that was in another term");
        assert!(!certain(5, 100, &[&[1, 2, 3, 4]]), "half of the voters are no majority");
        assert!(!certain(5, 100, &[&[1, 2, 3], &[1, 3, 4]]), "of the new voters nobody answered");
        contacts.add(4.into(), 5, at(120));
        assert!(certain(5, 100, &[&[1, 2, 3], &[1, 3, 4]]));
        assert!(!certain(5, 100, &[&[2, 3, 4, 5, 6]]), "who has no vote does not count");
        // A later answer to an earlier message takes nothing away.
        contacts.add(2.into(), 5, at(90));
        assert!(certain(5, 100, &[&[1, 2, 3]]));
    }

    #[test]
    fn messages_sent_before_a_vote_for_another_server_do_not_count() {
        let (contacts, begin) = (Contacts::default(), Instant::now());
        contacts.add(2.into(), 5, begin);
        contacts.forget();
        contacts.add(2.into(), 5, begin);
        assert!(!contacts.have_majority(1.into(), 5, begin, &[voters(&[1, 2, 3])]));
    }
}
