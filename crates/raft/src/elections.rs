//! Elections: when a server stands for election, and how long it refuses its vote.
//!
//! A server follows a leader for a lease after its last message, and stands for election when another half to whole lease
//! has passed. If the process of the leader has ended, which its port shows by refusing connections, it stands after six
//! tenths of the lease already. Servers then stand one after the other, in order of their IDs, and one that is asked for
//! its vote a little too early lets the candidate wait instead of refusing.
//!
//! **Safety.** A refused connection may have other reasons, such as a firewall. No read depends on it: openraft grants no
//! vote within [`Times::refusal`] after the last message of a leader, and a leader answers reads for a shorter time than
//! that without an answer of a majority ([`contacts`](super::contacts)). Writes need a majority anyway.
//!
//! openraft's own timer is off: it draws its time once per process, and knows nothing of ports.

use std::sync::Arc;
use std::time::Duration;

use openraft::raft::{VoteRequest, VoteResponse};
use openraft::{RaftMetrics, Vote};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::Consensus;
use super::network::Transport;
use super::types::{Peer, ServerId};
use encamp_host::ids;
use encamp_host::simulation::here;

/// Early elections in a row, before a server waits as long as without a sign that the leader's process has ended.
const EARLY: u32 = 3;

/// The times of elections: parts of the lease.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    lease: Duration,
}

/// What a voter that does not lead knows of its leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The term has a leader, which has sent nothing for a time. `ended`: its process has ended.
    Led { quiet: Duration, ended: bool },
    /// Nobody leads, and nobody has been voted for for a time. `ended`: the process of the last leader has ended.
    Open { quiet: Duration, ended: bool },
}

/// A place among the servers that may stand, and the drawn part of the time to wait.
#[derive(Debug, Clone, Copy)]
struct Lot {
    /// 0 stands first.
    rank: u32,
    /// Below half a lease.
    drawn: Duration,
    /// Another server has entries that this one lacks.
    behind: bool,
}

impl Times {
    pub(super) fn new(lease: Duration) -> Times {
        Times { lease }
    }

    /// How long after a message of a leader a server votes for no other one, whatever it knows.
    pub(super) fn refusal(self) -> Duration {
        self.lease * 6 / 10
    }

    /// openraft's limit for the answer to a request for a vote.
    pub(super) fn vote_limit(self) -> Duration {
        self.lease / 2
    }

    /// How long a candidate may be kept waiting for a vote. It has to hear the answer in time.
    fn patience(self) -> Duration {
        self.lease * 35 / 100
    }

    /// The silence after which a leader's port is tried.
    fn doubt(self) -> Duration {
        self.lease / 4
    }

    /// Between two servers that stand one after the other: an election takes less.
    fn step(self) -> Duration {
        self.lease * 15 / 100
    }

    /// Between two looks.
    fn look(self) -> Duration {
        self.lease / 20
    }

    /// How long a server waits before it stands.
    fn wait(self, phase: Phase, lot: Lot) -> Duration {
        let rank = self.step() * lot.rank;
        let (wait, more) = match phase {
            Phase::Led { ended: true, .. } => (self.refusal() + rank, self.lease),
            Phase::Led { ended: false, .. } => (self.lease * 3 / 2 + lot.drawn, self.lease * 2),
            Phase::Open { ended: true, .. } => (self.doubt() + rank + lot.drawn / 4, self.lease),
            Phase::Open { ended: false, .. } => (self.lease / 2 + lot.drawn, self.lease * 2),
        };
        if lot.behind { wait + more } else { wait }
    }

    /// How long a server still waits; `None`: it stands now.
    fn left(self, phase: Phase, lot: Lot) -> Option<Duration> {
        let (Phase::Led { quiet: passed, .. } | Phase::Open { quiet: passed, .. }) = phase;
        self.wait(phase, lot).checked_sub(passed).filter(|left| !left.is_zero())
    }

    /// How long after the last message of a leader a server votes for another one.
    fn followed(self, ended: bool) -> Duration {
        // openraft counts from the moment at which it has dealt with the message, which is a little later.
        if ended { self.refusal() + self.look() / 2 } else { self.lease }
    }
}

/// What messages and ports tell of leaders and candidates.
#[derive(Debug)]
pub(super) struct Signs(Mutex<Known>);

#[derive(Debug)]
struct Known {
    /// The last message of a leader that was accepted, or the start.
    heard: Instant,
    /// The leader whose process has ended.
    ended: Option<ServerId>,
    /// When another server last asked for a vote that it may get, or was heard of after this one had given up.
    asked: Option<Instant>,
    /// When this server last stood.
    stood: Option<Instant>,
    /// How often it did since it heard of a leader.
    times: u32,
    /// A server that was asked for its vote has entries that this one lacks.
    behind: bool,
}

impl Signs {
    pub(super) fn new() -> Signs {
        let heard = Instant::now();
        Signs(Mutex::new(Known { heard, ended: None, asked: None, stood: None, times: 0, behind: false }))
    }

    /// A message of the leader was accepted.
    pub(super) fn heard(&self) {
        let mut known = self.0.lock();
        *known = Known { heard: Instant::now(), ended: None, times: 0, behind: false, ..*known };
    }

    /// Another server is there, and may win an election.
    pub(super) fn asked(&self) {
        self.0.lock().asked = Some(Instant::now());
    }

    /// An answer to a request for a vote that this server sent.
    pub(super) fn answered(&self, request: &VoteRequest<ServerId>, answer: &VoteResponse<ServerId>) {
        if !answer.vote_granted && answer.last_log_id > request.last_log_id {
            self.0.lock().behind = true;
        }
    }
}

/// What the loop remembers from one look to the next.
struct Course {
    vote: Vote<ServerId>,
    /// When the vote changed.
    changed: Instant,
    drawn: Duration,
}

/// A look at consensus.
struct View {
    id: ServerId,
    vote: Vote<ServerId>,
    voters: Vec<ServerId>,
    /// Whether the term has a leader.
    led: bool,
    /// The leader of the term, and where it is, if it is a member.
    leader: Option<(ServerId, Peer)>,
}

impl View {
    /// `None` if this server has no vote, leads, or has stopped.
    fn of(metrics: &RaftMetrics<ServerId, Peer>) -> Option<View> {
        let voters: Vec<ServerId> = metrics.membership_config.voter_ids().collect();
        let stands = voters.contains(&metrics.id) && !metrics.state.is_leader() && metrics.running_state.is_ok();
        let leader = metrics.vote.leader_id.voted_for.filter(|id| metrics.vote.committed && *id != metrics.id);
        let peer = |id| metrics.membership_config.nodes().find(|(n, _)| **n == id).map(|(_, p)| p.clone());
        let leader = leader.and_then(|id| Some((id, peer(id)?)));
        stands.then_some(View { id: metrics.id, vote: metrics.vote, voters, led: metrics.vote.committed, leader })
    }

    /// Its place among those that may stand: all voters but the leader whose process has ended.
    fn rank(&self, ended: Option<ServerId>) -> u32 {
        let before = self.voters.iter().filter(|id| **id < self.id && Some(**id) != ended).count();
        u32::try_from(before).unwrap_or(u32::MAX)
    }

    fn is_alone(&self) -> bool {
        self.voters == [self.id]
    }
}

impl Consensus {
    /// Stands for election when it is time, until the node stops.
    pub(super) async fn hold_elections(self, transport: Arc<dyn Transport>) {
        let times = Times::new(self.lease());
        let mut course = Course { vote: Vote::default(), changed: Instant::now(), drawn: self.draw() };
        let mut pause = times.look();
        loop {
            tokio::time::sleep(pause).await;
            if self.leadership().borrow().failed.is_some() {
                return;
            }
            pause = times.look();
            let view = View::of(&self.raft().metrics().borrow());
            let Some(view) = view else {
                pause = times.doubt();
                continue;
            };
            if view.vote != course.vote {
                course = Course { vote: view.vote, changed: Instant::now(), drawn: self.draw() };
            }
            self.look_at_port(&view, transport.as_ref()).await;
            match self.left(&view, &course) {
                Some(left) => pause = left.min(times.look()),
                None => {
                    course = Course { changed: Instant::now(), drawn: self.draw(), ..course };
                    self.run_for_leader();
                }
            }
        }
    }

    /// A time below half a lease.
    fn draw(&self) -> Duration {
        let most = u64::try_from((self.lease() / 2).as_millis()).unwrap_or(u64::MAX);
        Duration::from_millis(ids::random_below(most))
    }

    /// Finds out whether the process of a leader that sends nothing has ended.
    async fn look_at_port(&self, view: &View, transport: &dyn Transport) {
        let times = Times::new(self.lease());
        let Some((leader, peer)) = &view.leader else { return };
        let heard = self.signs().0.lock().heard;
        if heard.elapsed() < times.doubt() {
            return;
        }
        let refused = tokio::time::timeout(times.look(), transport.has_ended(*leader, peer)).await.unwrap_or(false);
        let mut known = self.signs().0.lock();
        if known.heard == heard {
            known.ended = refused.then_some(*leader);
        }
    }

    /// How long this server still waits before it stands; `None`: it stands now.
    fn left(&self, view: &View, course: &Course) -> Option<Duration> {
        let times = Times::new(self.lease());
        let known = self.signs().0.lock();
        if !self.stands() {
            return Some(times.look());
        }
        // A candidate that was asked for or voted for has its time.
        if let Some(asked) = known.asked.filter(|asked| asked.elapsed() < times.step()) {
            return Some(times.step().saturating_sub(asked.elapsed()));
        }
        let early = known.times < EARLY;
        let ended = early && known.ended.is_some();
        let phase = if view.led {
            let leader = view.leader.as_ref().map(|(id, _)| *id);
            Phase::Led { quiet: known.heard.elapsed(), ended: ended && known.ended == leader }
        } else {
            Phase::Open { quiet: course.changed.elapsed(), ended }
        };
        if view.is_alone() && (view.led || course.changed.elapsed() > times.vote_limit()) {
            return None;
        }
        times.left(phase, Lot { rank: view.rank(known.ended), drawn: course.drawn, behind: known.behind })
    }

    /// Starts an election.
    fn run_for_leader(&self) {
        let (quiet, ended) = {
            let mut known = self.signs().0.lock();
            known.stood = Some(Instant::now());
            known.times = known.times.saturating_add(1);
            known.behind = false;
            (known.heard.elapsed(), known.ended.is_some())
        };
        let quiet_ms = u64::try_from(quiet.as_millis()).unwrap_or(u64::MAX);
        tracing::info!(target: "nomad.raft", quiet_ms, leader_ended = ended, "starting election");
        let raft = self.raft().clone();
        tokio::spawn(here(async move { drop(raft.trigger().elect().await) }));
    }

    /// Answers a request for a vote. A candidate that asks a little too early waits.
    pub(super) async fn vote_for(
        &self,
        request: VoteRequest<ServerId>,
    ) -> Result<VoteResponse<ServerId>, openraft::error::RaftError<ServerId>> {
        if !self.may_vote().await {
            let vote = self.raft().with_raft_state(|s| *s.vote_ref()).await?;
            return Ok(VoteResponse::new(vote, self.log().last(), false));
        }
        // A leader that votes for another server does not count as a voter of its own any more.
        self.contacts().forget();
        let (vote, last) = (request.vote, request.last_log_id);
        let answer = self.raft().vote(request).await?;
        let (term, granted) = (vote.leader_id.term, answer.vote_granted);
        tracing::debug!(target: "nomad.raft", term, granted, "answered a request for a vote");
        let lacks = answer.last_log_id > last && answer.vote.leader_id.term <= vote.leader_id.term;
        if !answer.vote_granted && lacks && self.may_stand_instead() {
            tokio::spawn(here(self.clone().stand_instead(vote)));
        }
        Ok(answer)
    }

    /// Whether this server votes for another one than its leader: it waits for that, unless it hears the leader.
    async fn may_vote(&self) -> bool {
        let times = Times::new(self.lease());
        let begun = Instant::now();
        loop {
            let (leader, leads) = {
                let metrics = self.raft().metrics();
                let metrics = metrics.borrow();
                let vote = metrics.vote;
                (vote.leader_id.voted_for.filter(|_| vote.committed), metrics.state.is_leader())
            };
            let Some(leader) = leader.filter(|_| !leads) else { return true };
            {
                let mut known = self.signs().0.lock();
                known.asked = Some(Instant::now());
                if known.heard.elapsed() > times.followed(known.ended == Some(leader)) {
                    return true;
                }
                if known.heard > begun || begun.elapsed() > times.patience() {
                    return false;
                }
            }
            tokio::time::sleep(times.look() / 4).await;
        }
    }

    /// Whether this server may stand instead of a candidate that lacks entries: the last leader's process has ended, and
    /// this server has not stood a moment ago.
    fn may_stand_instead(&self) -> bool {
        let known = self.signs().0.lock();
        let stood = known.stood.is_some_and(|stood| stood.elapsed() < Times::new(self.lease()).step());
        let votes = View::of(&self.raft().metrics().borrow()).is_some();
        known.ended.is_some() && known.times < EARLY && votes && !stood && self.stands()
    }

    /// Stands in the term after that of a candidate that lacks entries.
    async fn stand_instead(self, of: Vote<ServerId>) {
        // Nobody gets this vote: it only brings this server to the term of the candidate.
        let request = VoteRequest::new(of, self.log().last());
        if self.raft().vote(request).await.is_ok() {
            self.run_for_leader();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: Times = Times { lease: Duration::from_secs(1) };

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn lot(rank: u32, drawn: u64) -> Lot {
        Lot { rank, drawn: ms(drawn), behind: false }
    }

    #[test]
    fn a_server_stands_earlier_if_the_leaders_process_has_ended() {
        let led = |quiet, ended| Phase::Led { quiet: ms(quiet), ended };
        let open = |quiet, ended| Phase::Open { quiet: ms(quiet), ended };
        for (phase, lot, want) in [
            (led(0, false), lot(0, 0), Some(1500)),
            (led(1499, false), lot(0, 400), Some(401)),
            (led(1900, false), lot(0, 400), None),
            (led(500, true), lot(0, 400), Some(100)),
            (led(600, true), lot(0, 400), None),
            (led(600, true), lot(1, 0), Some(150)),
            (open(0, false), lot(1, 300), Some(800)),
            (open(0, true), lot(0, 400), Some(350)),
            (open(0, true), lot(1, 0), Some(400)),
            (open(0, true), Lot { behind: true, ..lot(0, 0) }, Some(1250)),
            (led(0, false), Lot { behind: true, ..lot(0, 0) }, Some(3500)),
        ] {
            assert_eq!(TIMES.left(phase, lot), want.map(ms), "{phase:?} {lot:?}");
        }
    }

    #[test]
    fn a_leader_answers_reads_for_a_shorter_time_than_votes_are_refused() {
        // Clocks may differ in rate by a tenth.
        let reads = TIMES.lease / 2;
        assert!(reads * 11 / 10 < TIMES.refusal());
        assert!(TIMES.followed(true) > TIMES.refusal() && TIMES.followed(false) > TIMES.followed(true));
        // A candidate hears the answer to a request that waited.
        assert!(TIMES.patience() < TIMES.vote_limit());
        // The first candidate asks up to a heartbeat too early.
        assert!(TIMES.patience() > TIMES.lease / 10 + TIMES.followed(true) - TIMES.refusal());
    }

    #[test]
    fn two_servers_that_lost_an_election_do_not_stand_at_once_again() {
        let latest = TIMES.wait(Phase::Open { quiet: ms(0), ended: true }, lot(0, 499));
        let earliest = TIMES.wait(Phase::Open { quiet: ms(0), ended: true }, lot(1, 0));
        assert!(latest < earliest, "{latest:?} {earliest:?}");
    }
}
