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
//! **Slow machines.** If machines are so slow that leaders are lost again and again, each election makes it worse. After
//! each term that ended without a stable leader, servers wait twice as long ([`times`]), and a leader gives up as much
//! later. The time in which a server did not run itself, for lack of a processor, is no silence of its leader.
//!
//! openraft's own timer is off: it draws its time once per process, and knows nothing of ports.

mod times;

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
use times::{Lot, Phase, Terms};

pub(super) use times::Times;

/// Early elections in a row, before a server waits as long as without a sign that the leader's process has ended.
const EARLY: u32 = 3;

/// What messages and ports tell of leaders and candidates.
#[derive(Debug)]
pub(super) struct Signs(Mutex<Known>);

#[derive(Debug)]
struct Known {
    /// The last message of a leader that was accepted, or the start.
    heard: Instant,
    /// How long this server did not run since then.
    missed: Duration,
    terms: Terms,
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
        Signs(Mutex::new(Known {
            heard,
            missed: Duration::ZERO,
            terms: Terms::default(),
            ended: None,
            asked: None,
            stood: None,
            times: 0,
            behind: false,
        }))
    }

    /// A message of the leader was accepted.
    pub(super) fn heard(&self) {
        let mut known = self.0.lock();
        let (heard, missed) = (Instant::now(), Duration::ZERO);
        *known = Known { heard, missed, ended: None, times: 0, behind: false, ..*known };
    }

    /// How many terms ended without a stable leader.
    pub(super) fn failed(&self) -> u32 {
        self.0.lock().terms.failed()
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
    /// When the vote changed, later by the time in which this server did not run.
    changed: Instant,
    /// Up to here, the time of the term's leader has been set against failed terms.
    credited: Instant,
    drawn: Duration,
}

impl Course {
    fn new(vote: Vote<ServerId>, drawn: Duration) -> Course {
        let now = Instant::now();
        Course { vote, changed: now, credited: now, drawn }
    }
}

/// A look at consensus.
struct View {
    id: ServerId,
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
        stands.then_some(View { id: metrics.id, voters, led: metrics.vote.committed, leader })
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
        let mut course = Course::new(Vote::default(), self.draw());
        let mut pause = times.look();
        loop {
            let due = Instant::now() + pause;
            tokio::time::sleep_until(due).await;
            if self.leadership().borrow().failed.is_some() {
                return;
            }
            let late = due.elapsed();
            if late > times.doubt() {
                self.excuse(late, &mut course);
            }
            self.follow_terms(&mut course);
            pause = match self.heard_lately(&course) {
                Some(left) => left,
                None => self.look_around(&mut course, transport.as_ref()).await,
            };
        }
    }

    /// This server did not run for a time: no silence of others is counted for it.
    fn excuse(&self, late: Duration, course: &mut Course) {
        if course.changed.elapsed() >= late {
            course.changed += late;
        }
        let mut known = self.signs().0.lock();
        // What it has heard meanwhile counts.
        if known.heard.elapsed() >= late {
            known.missed += late;
        }
    }

    /// Notes the vote and the term, and whether the leader of the term is stable.
    fn follow_terms(&self, course: &mut Course) {
        let (vote, leads) = {
            let metrics = self.raft().metrics();
            let metrics = metrics.borrow();
            (metrics.vote, metrics.state.is_leader())
        };
        let mut known = self.signs().0.lock();
        if vote != course.vote {
            *course = Course::new(vote, self.draw());
            known.terms.see(vote.leader_id.term);
        }
        let led_until = match leads {
            true => self.leads().then(Instant::now),
            false => Some(known.heard).filter(|_| vote.committed),
        };
        let proof = Times::new(self.lease()).proof();
        if led_until.is_some_and(|until| until.saturating_duration_since(course.credited) >= proof) {
            course.credited += proof;
            known.terms.proved();
        }
    }

    /// If the leader of the term was heard lately: how long it takes until its silence would mean something. As long as
    /// messages come in time, that is all that has to be done.
    fn heard_lately(&self, course: &Course) -> Option<Duration> {
        let times = Times::new(self.lease());
        let led = course.vote.committed && !self.raft().metrics().borrow().state.is_leader();
        let left = times.doubt().checked_sub(self.signs().0.lock().heard.elapsed())?;
        led.then(|| left.max(times.look()))
    }

    /// Stands if it is time; gives the time until the next look.
    async fn look_around(&self, course: &mut Course, transport: &dyn Transport) -> Duration {
        let times = Times::new(self.lease());
        let view = View::of(&self.raft().metrics().borrow());
        let Some(view) = view else { return times.doubt() };
        self.look_at_port(&view, transport).await;
        match self.left(&view, course) {
            Some(left) => left.min(times.look()),
            None => {
                (course.changed, course.drawn) = (Instant::now(), self.draw());
                self.run_for_leader();
                times.look()
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
            let quiet = known.heard.elapsed().saturating_sub(known.missed);
            Phase::Led { quiet, ended: ended && known.ended == leader }
        } else {
            Phase::Open { quiet: course.changed.elapsed(), ended }
        };
        if view.is_alone() && (view.led || course.changed.elapsed() > times.vote_limit()) {
            return None;
        }
        let (rank, failed) = (view.rank(known.ended), known.terms.failed());
        times.left(phase, Lot { rank, drawn: course.drawn, behind: known.behind, failed })
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

    /// Whether this server may stand instead of a candidate that lacks entries: it has not stood a moment ago.
    fn may_stand_instead(&self) -> bool {
        let known = self.signs().0.lock();
        let stood = known.stood.is_some_and(|stood| stood.elapsed() < Times::new(self.lease()).step());
        let votes = View::of(&self.raft().metrics().borrow()).is_some();
        (known.ended.is_none() || known.times < EARLY) && votes && !stood && self.stands()
    }

    /// Stands in the term after that of a candidate that lacks entries. Unless the process of the last leader has ended,
    /// voters with such entries stand one after the other.
    async fn stand_instead(self, of: Vote<ServerId>) {
        let (vote, rank) = {
            let metrics = self.raft().metrics();
            let metrics = metrics.borrow();
            let ended = self.signs().0.lock().ended;
            let rank = View::of(&metrics).filter(|_| ended.is_none()).map_or(0, |view| view.rank(None));
            (metrics.vote, rank)
        };
        tokio::time::sleep(Times::new(self.lease()).step() * rank).await;
        // Another one may have stood, or been heard, meanwhile.
        if self.raft().metrics().borrow().vote != vote {
            return;
        }
        // Nobody gets this vote: it only brings this server to the term of the candidate.
        let request = VoteRequest::new(of, self.log().last());
        if self.raft().vote(request).await.is_ok() {
            self.run_for_leader();
        }
    }
}
