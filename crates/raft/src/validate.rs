//! Validates messages from other servers before openraft sees them. openraft trusts its peers: a message that no
//! correct leader or candidate sends makes it panic, and the server would be left without consensus.
//!
//! The rules are those of Raft itself: a server speaks only for itself, one term has one leader, the IDs of one log
//! increase together in term and index. Pure: the state of this server is an argument.

use std::collections::BTreeSet;

use openraft::raft::{AppendEntriesRequest, InstallSnapshotRequest, VoteRequest};
use openraft::{Entry, EntryPayload, Membership, Vote};

use super::arrival::Arrival;
use super::network::Message;
use super::types::{self, EntryId, Peer, ServerId, Types};
use encamp_model::capability::CapabilityLevel;

/// How far a term may be ahead of this server's. A server that is cut off stands for election a few times in a second:
/// this is decades.
const MOST_TERMS_AHEAD: u64 = 1 << 32;
/// Indexes of entries and offsets in snapshots stay below this; no log gets there.
const MOST_INDEX: u64 = 1 << 60;

/// Why a message is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// It speaks for another server.
    #[error("the message is not about the server that sent it")]
    OtherServer,
    /// It names the server that gets it as leader or candidate.
    #[error("the message says that this server sent it")]
    Ourselves,
    /// A leader sends a vote that nobody granted, or a candidate one that was.
    #[error("the message's vote does not fit its kind")]
    WrongVote,
    /// Its term is far ahead.
    #[error("the message's term is out of range")]
    Term,
    /// The term has another leader.
    #[error("the term of the message has another leader")]
    SecondLeader,
    /// The IDs in it can't be of one log.
    #[error("the entries of the message do not follow each other")]
    Order,
    /// It contradicts what is committed here.
    #[error("the message contradicts committed entries")]
    Committed,
    /// A membership without voters, or with voters of whom nothing is known.
    #[error("a membership in the message has no voters, or unknown ones")]
    Membership,
    /// Entries of a capability level that this server does not support.
    #[error(
        "the message has entries of a capability level above {0}, the highest that this server supports; install the build of the other servers on it, too"
    )]
    Newer(CapabilityLevel),
    /// A piece of a snapshot that does not follow the one before it.
    #[error("the snapshot chunk does not follow the previous one")]
    Offset,
    /// A snapshot whose checksums are wrong.
    #[error("the snapshot is damaged; the server that sent it has to make another one")]
    Damaged,
}

/// The state of this server that messages must agree with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Own {
    pub id: ServerId,
    pub vote: Vote<ServerId>,
    pub committed: Option<EntryId>,
    /// The highest capability level that it supports.
    pub supported: CapabilityLevel,
}

impl Own {
    /// Checks a message of a server. `at` gives the ID of an entry in the log of this server.
    pub(super) fn check(
        &self,
        from: ServerId,
        message: &Message,
        at: impl Fn(u64) -> Option<EntryId>,
    ) -> Result<(), Invalid> {
        match message {
            Message::Append(request) => {
                self.leader(from, &request.vote)?;
                if request.entries.iter().any(|e| types::level(&e.payload) > self.supported) {
                    return Err(Invalid::Newer(self.supported));
                }
                if self.outdates(&request.vote) { Ok(()) } else { self.append(request, at) }
            }
            Message::Vote(request) => self.candidate(from, request),
            Message::Snapshot(request) => {
                self.leader(from, &request.vote)?;
                if self.outdates(&request.vote) { Ok(()) } else { self.snapshot(request) }
            }
        }
    }

    fn term(&self, vote: &Vote<ServerId>) -> Result<(), Invalid> {
        let ahead = vote.leader_id.term.saturating_sub(self.vote.leader_id.term);
        if ahead > MOST_TERMS_AHEAD { Err(Invalid::Term) } else { Ok(()) }
    }

    /// Whether the sender has to hear of a later term; openraft considers nothing else then. Its log may be another
    /// one.
    fn outdates(&self, vote: &Vote<ServerId>) -> bool {
        vote.leader_id.term < self.vote.leader_id.term
    }

    fn sender(&self, from: ServerId, vote: &Vote<ServerId>) -> Result<(), Invalid> {
        match vote.leader_id.voted_for {
            _ if from == self.id => Err(Invalid::Ourselves),
            Some(id) if id == from => self.term(vote),
            Some(_) | None => Err(Invalid::OtherServer),
        }
    }

    fn leader(&self, from: ServerId, vote: &Vote<ServerId>) -> Result<(), Invalid> {
        self.sender(from, vote)?;
        if !vote.committed {
            return Err(Invalid::WrongVote);
        }
        let own = &self.vote;
        let same_term = own.committed && own.leader_id.term == vote.leader_id.term;
        if same_term && own.leader_id.voted_for != vote.leader_id.voted_for {
            return Err(Invalid::SecondLeader);
        }
        Ok(())
    }

    fn candidate(&self, from: ServerId, request: &VoteRequest<ServerId>) -> Result<(), Invalid> {
        self.sender(from, &request.vote)?;
        if request.vote.committed {
            return Err(Invalid::WrongVote);
        }
        request.last_log_id.iter().try_for_each(|id| of_term(id, &request.vote))
    }

    /// An ID of the leader's log against what is committed here, which is in the leader's log too.
    fn agrees(&self, id: &EntryId) -> Result<(), Invalid> {
        match &self.committed {
            Some(committed) if !of_one_log(id, committed) => Err(Invalid::Committed),
            Some(_) | None => Ok(()),
        }
    }

    fn append(
        &self,
        request: &AppendEntriesRequest<Types>,
        at: impl Fn(u64) -> Option<EntryId>,
    ) -> Result<(), Invalid> {
        let mut last = request.prev_log_id;
        for id in last.iter().chain(&request.leader_commit) {
            of_term(id, &request.vote)?;
            self.agrees(id)?;
        }
        for Entry { log_id, payload } in &request.entries {
            of_term(log_id, &request.vote)?;
            self.agrees(log_id)?;
            let follows = last.map_or(0, |l| l.index + 1) == log_id.index;
            if !follows || last.is_some_and(|l| l.leader_id.term > log_id.leader_id.term) {
                return Err(Invalid::Order);
            }
            if let EntryPayload::Membership(members) = payload {
                membership(members)?;
            }
            last = Some(*log_id);
        }
        let Some(commit) = &request.leader_commit else { return Ok(()) };
        let mut ids = request.prev_log_id.iter().chain(request.entries.iter().map(|e| &e.log_id));
        if !ids.all(|id| of_one_log(id, commit)) {
            return Err(Invalid::Order);
        }
        // Where this log has the same entry it has the same entries before it.
        let same = request.prev_log_id.filter(|p| commit.index <= p.index && at(p.index) == Some(*p));
        if same.is_some() && at(commit.index).is_some_and(|own| own != *commit) {
            return Err(Invalid::Committed);
        }
        Ok(())
    }

    fn snapshot(&self, request: &InstallSnapshotRequest<Types>) -> Result<(), Invalid> {
        let meta = &request.meta;
        for id in meta.last_log_id.iter().chain(meta.last_membership.log_id()) {
            of_term(id, &request.vote)?;
            self.agrees(id)?;
        }
        // A server without members can't have made a snapshot.
        membership(meta.last_membership.membership())?;
        if meta.last_log_id < *meta.last_membership.log_id() {
            return Err(Invalid::Order);
        }
        if request.offset > MOST_INDEX { Err(Invalid::Offset) } else { Ok(()) }
    }
}

/// No entry is of a later term than the one who sends it.
fn of_term(id: &EntryId, vote: &Vote<ServerId>) -> Result<(), Invalid> {
    if id.leader_id.term > vote.leader_id.term {
        return Err(Invalid::Term);
    }
    if id.index > MOST_INDEX { Err(Invalid::Order) } else { Ok(()) }
}

/// Whether one log can hold both.
fn of_one_log(a: &EntryId, b: &EntryId) -> bool {
    let (terms, indexes) = (a.leader_id.term.cmp(&b.leader_id.term), a.index.cmp(&b.index));
    terms == indexes || (terms.is_eq() && indexes.is_ne())
}

fn membership(members: &Membership<ServerId, Peer>) -> Result<(), Invalid> {
    let configs = members.get_joint_config();
    let known: BTreeSet<&ServerId> = members.nodes().map(|(id, _)| id).collect();
    let valid = |voters: &BTreeSet<ServerId>| !voters.is_empty() && voters.iter().all(|v| known.contains(v));
    if (1..=2).contains(&configs.len()) && configs.iter().all(valid) { Ok(()) } else { Err(Invalid::Membership) }
}

/// Where the snapshot that another server sends goes on.
#[derive(Debug, Default)]
pub(super) struct Receiving {
    id: String,
    next: u64,
    /// What came from the last beginning on, without a hole.
    content: Arrival,
    /// How many bytes that are.
    arrived: u64,
}

impl Receiving {
    /// Takes note of a piece: the first one, the one that follows, or one that is sent again. With the last one, the
    /// checksums have to be right.
    pub(super) fn piece(&mut self, id: &str, offset: u64, data: &[u8], done: bool) -> Result<(), Invalid> {
        if offset > 0 && (self.id != id || offset > self.next) {
            return Err(Invalid::Offset);
        }
        if self.id != id {
            *self = Receiving { id: id.to_string(), ..Receiving::default() };
        }
        if offset == 0 {
            (self.content, self.arrived) = (Arrival::default(), 0);
        }
        let length = data.len() as u64;
        self.next = self.next.max(offset.saturating_add(length));
        if offset == self.arrived {
            self.content.take(data);
            self.arrived += length;
        }
        // A late copy of an earlier piece restarts the transfer: what came after it is not known then.
        let known = offset.saturating_add(length) == self.arrived;
        if done && known && !self.content.is_intact() { Err(Invalid::Damaged) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use openraft::{CommittedLeaderId, SnapshotMeta, StoredMembership};

    use super::*;

    fn id(n: u64) -> ServerId {
        n.into()
    }

    fn entry_id(term: u64, index: u64) -> EntryId {
        EntryId::new(CommittedLeaderId::new(term, ServerId::default()), index)
    }

    fn own() -> Own {
        Own {
            id: id(1),
            vote: Vote::new_committed(5, id(2)),
            committed: Some(entry_id(4, 10)),
            supported: CapabilityLevel::FIRST,
        }
    }

    fn entry(term: u64, index: u64) -> Entry<Types> {
        Entry { log_id: entry_id(term, index), payload: EntryPayload::Blank }
    }

    fn append(term: u64, from: u64) -> AppendEntriesRequest<Types> {
        AppendEntriesRequest {
            vote: Vote::new_committed(term, id(from)),
            prev_log_id: Some(entry_id(4, 10)),
            entries: vec![entry(4, 11), entry(5, 12)],
            leader_commit: Some(entry_id(4, 11)),
        }
    }

    fn check(from: u64, message: Message) -> Result<(), Invalid> {
        own().check(id(from), &message, |index| (index <= 10).then(|| entry_id(4, index)))
    }

    fn changed(change: impl FnOnce(&mut AppendEntriesRequest<Types>)) -> Result<(), Invalid> {
        let mut request = append(5, 2);
        change(&mut request);
        check(2, Message::Append(request))
    }

    #[test]
    fn messages_of_correct_leaders_pass() {
        assert_eq!(changed(|_| {}), Ok(()));
        assert_eq!(changed(|r| r.entries.clear()), Ok(()));
        assert_eq!(check(3, Message::Append(append(6, 3))), Ok(()), "a later term has another leader");
        assert_eq!(changed(|r| r.leader_commit = Some(entry_id(5, 900))), Ok(()), "this server is behind");
        let empty = Own { committed: None, vote: Vote::default(), ..own() };
        let first = AppendEntriesRequest {
            vote: Vote::new_committed(1, id(2)),
            prev_log_id: None,
            entries: vec![entry(0, 0), entry(1, 1)],
            leader_commit: None,
        };
        assert_eq!(empty.check(id(2), &Message::Append(first), |_| None), Ok(()));
        let vote = |term| Message::Vote(VoteRequest::new(Vote::new(term, id(3)), Some(entry_id(4, 12))));
        assert_eq!(check(3, vote(6)), Ok(()));
        assert_eq!(check(3, vote(4)), Ok(()), "late candidates are refused by openraft");
    }

    #[test]
    fn forged_votes_are_refused() {
        assert_eq!(check(3, Message::Append(append(5, 3))), Err(Invalid::SecondLeader));
        assert_eq!(check(3, Message::Append(append(6, 2))), Err(Invalid::OtherServer));
        assert_eq!(check(1, Message::Append(append(6, 1))), Err(Invalid::Ourselves));
        assert_eq!(changed(|r| r.vote.leader_id.voted_for = None), Err(Invalid::OtherServer));
        assert_eq!(changed(|r| r.vote.committed = false), Err(Invalid::WrongVote));
        assert_eq!(check(2, Message::Append(append(u64::MAX, 2))), Err(Invalid::Term));
        let vote = |vote, last| Message::Vote(VoteRequest::new(vote, last));
        assert_eq!(check(3, vote(Vote::new_committed(6, id(3)), None)), Err(Invalid::WrongVote));
        assert_eq!(check(3, vote(Vote::new(u64::MAX, id(3)), None)), Err(Invalid::Term));
        assert_eq!(check(3, vote(Vote::new(6, id(3)), Some(entry_id(7, 9)))), Err(Invalid::Term));
        assert_eq!(check(3, vote(Vote::new(6, id(3)), Some(entry_id(5, u64::MAX)))), Err(Invalid::Order));
    }

    #[test]
    fn forged_logs_are_refused() {
        assert_eq!(changed(|r| r.prev_log_id = Some(entry_id(4, u64::MAX))), Err(Invalid::Order));
        assert_eq!(changed(|r| r.prev_log_id = Some(entry_id(4, 5))), Err(Invalid::Order));
        assert_eq!(changed(|r| r.prev_log_id = Some(entry_id(5, 9))), Err(Invalid::Committed));
        assert_eq!(changed(|r| r.entries[1] = entry(3, 12)), Err(Invalid::Committed));
        assert_eq!(changed(|r| r.entries[1] = entry(5, 13)), Err(Invalid::Order));
        assert_eq!(changed(|r| r.entries[0] = entry(6, 11)), Err(Invalid::Term));
        assert_eq!(changed(|r| r.entries.swap(0, 1)), Err(Invalid::Order));
        assert_eq!(changed(|r| r.leader_commit = Some(entry_id(4, 1 << 40))), Err(Invalid::Order));
        assert_eq!(changed(|r| r.leader_commit = Some(entry_id(3, 1 << 40))), Err(Invalid::Committed));
        let behind = Message::Append(AppendEntriesRequest { prev_log_id: Some(entry_id(3, 10)), ..append(4, 3) });
        assert_eq!(check(3, behind), Ok(()), "a leader of an earlier term hears of the later one");
        let voters = |ids: &[u64], nodes: &[u64]| {
            let nodes: BTreeMap<_, _> = nodes.iter().map(|n| (id(*n), Peer::default())).collect();
            Membership::new(vec![ids.iter().map(|n| id(*n)).collect()], nodes)
        };
        let member = |m| changed(|r| r.entries[1].payload = EntryPayload::Membership(m));
        assert_eq!(member(voters(&[1, 2], &[1, 2, 3])), Ok(()));
        assert_eq!(member(voters(&[], &[1])), Err(Invalid::Membership));
    }

    #[test]
    fn snapshots_are_received_in_order() {
        let mut receiving = Receiving::default();
        let mut piece = |id, offset| receiving.piece(id, offset, &[0; 10], false);
        assert_eq!(piece("a", 0), Ok(()));
        assert_eq!(piece("a", 10), Ok(()));
        assert_eq!(piece("a", 10), Ok(()), "sent again");
        assert_eq!(piece("a", 21), Err(Invalid::Offset));
        assert_eq!(piece("b", 20), Err(Invalid::Offset));
        assert_eq!(piece("b", 0), Ok(()));
        assert_eq!(receiving.piece("b", 10, &[0; 10], true), Err(Invalid::Damaged));
        let members = Membership::new(vec![BTreeSet::from([id(2)])], BTreeMap::from([(id(2), Peer::default())]));
        let request = |last, at| InstallSnapshotRequest {
            vote: Vote::new_committed(5, id(2)),
            meta: SnapshotMeta {
                last_log_id: last,
                last_membership: StoredMembership::new(at, members.clone()),
                snapshot_id: "a".into(),
            },
            offset: 0,
            data: vec![],
            done: false,
        };
        let check = |last, at| check(2, Message::Snapshot(request(last, at)));
        assert_eq!(check(Some(entry_id(5, 20)), Some(entry_id(0, 0))), Ok(()));
        assert_eq!(check(Some(entry_id(5, 9)), Some(entry_id(0, 0))), Err(Invalid::Committed));
        assert_eq!(check(Some(entry_id(5, 20)), Some(entry_id(5, 21))), Err(Invalid::Order));
        assert_eq!(check(Some(entry_id(6, 20)), None), Err(Invalid::Term));
    }
}
