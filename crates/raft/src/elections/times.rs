//! The times of elections: pure functions of what a server has seen, of its place among the voters, and of what it drew.

use std::time::Duration;

/// How often the time to wait doubles at most.
const DOUBLINGS: u32 = 4;
/// The leases for which a leader has to be heard to make up for a failed term.
const PROOF: u32 = 10;

/// The times of elections: parts of the lease.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    lease: Duration,
}

/// What a voter that does not lead knows of its leader. `quiet` is the time that this server waited itself: as long as
/// its process was stopped, or got no processor, it could hear nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// The term has a leader, which has sent nothing for a time. `ended`: its process has ended.
    Led { quiet: Duration, ended: bool },
    /// Nobody leads, and nobody has been voted for for a time. `ended`: the process of the last leader has ended.
    Open { quiet: Duration, ended: bool },
}

/// A place among the servers that may stand, and the drawn part of the time to wait.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lot {
    /// 0 stands first.
    pub(super) rank: u32,
    /// Below half a lease.
    pub(super) drawn: Duration,
    /// Another server has entries that this one lacks.
    pub(super) behind: bool,
    /// How many terms failed ([`Terms::failed`]).
    pub(super) failed: u32,
}

/// The terms that a server has seen begin, less one for each time that a leader proved to be stable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Terms {
    newest: Option<u64>,
    begun: u32,
}

impl Terms {
    /// Notes the term that the server is in. A term that is several higher counts once: a server that was cut off stood
    /// alone, which says nothing of the others.
    pub(super) fn see(&mut self, term: u64) {
        if self.newest.is_some_and(|newest| newest < term) {
            self.begun = self.begun.saturating_add(1);
        }
        self.newest = self.newest.max(Some(term));
    }

    /// The leader of the newest term was heard for [`Times::proof`], or once more for as long.
    pub(super) fn proved(&mut self) {
        self.begun = self.begun.saturating_sub(1);
    }

    /// How many terms ended without a stable leader.
    pub(crate) fn failed(self) -> u32 {
        // The newest one has not ended.
        self.begun.saturating_sub(1)
    }
}

impl Times {
    pub(crate) fn new(lease: Duration) -> Times {
        Times { lease }
    }

    /// How long after a message of a leader a server votes for no other one, whatever it knows.
    pub(crate) fn refusal(self) -> Duration {
        self.lease * 6 / 10
    }

    /// openraft's limit for the answer to a request for a vote.
    pub(crate) fn vote_limit(self) -> Duration {
        self.lease / 2
    }

    /// How long a candidate may be kept waiting for a vote. It has to hear the answer in time.
    pub(super) fn patience(self) -> Duration {
        self.lease * 35 / 100
    }

    /// The silence after which a leader's port is tried.
    pub(super) fn doubt(self) -> Duration {
        self.lease / 4
    }

    /// Between two servers that stand one after the other: an election takes less.
    pub(super) fn step(self) -> Duration {
        self.lease * 15 / 100
    }

    /// Between two looks at a leader that sends nothing.
    pub(super) fn look(self) -> Duration {
        self.lease / 20
    }

    /// For how long a leader has to be heard to make up for one failed term: longer than servers wait at most. Not for all
    /// at once: machines that are so slow that each leader is lost again would soon hold as many elections as before.
    pub(super) fn proof(self) -> Duration {
        self.lease * PROOF
    }

    /// How much longer than half a lease servers wait at least after failed elections, and how much longer than
    /// otherwise a leader waits for answers before it gives up: nothing after none, then half a lease, and twice as
    /// much for each further one, up to four leases.
    pub(crate) fn longer(self, failed: u32) -> Duration {
        match failed.min(DOUBLINGS) {
            0 => Duration::ZERO,
            n => self.lease / 2 * (1 << (n - 1)),
        }
    }

    /// The drawn part of a wait: below half a lease. After failed elections, it is between half a lease and a lease,
    /// and doubles up to four to eight leases.
    fn drawn(self, lot: Lot) -> Duration {
        match lot.failed.min(DOUBLINGS) {
            0 => lot.drawn,
            n => self.longer(n) + lot.drawn * (1 << (n - 1)),
        }
    }

    /// How long a server waits before it stands.
    fn wait(self, phase: Phase, lot: Lot) -> Duration {
        let rank = self.step() * lot.rank;
        let (wait, more) = match phase {
            Phase::Led { ended: true, .. } => (self.refusal() + rank, self.lease),
            Phase::Led { ended: false, .. } => (self.lease * 3 / 2 + self.drawn(lot), self.lease * 2),
            Phase::Open { ended: true, .. } => (self.doubt() + rank + lot.drawn / 4, self.lease),
            Phase::Open { ended: false, .. } => (self.lease / 2 + self.drawn(lot), self.lease * 2),
        };
        if lot.behind { wait + more } else { wait }
    }

    /// How long a server still waits; `None`: it stands now.
    pub(super) fn left(self, phase: Phase, lot: Lot) -> Option<Duration> {
        let (Phase::Led { quiet: passed, .. } | Phase::Open { quiet: passed, .. }) = phase;
        self.wait(phase, lot).checked_sub(passed).filter(|left| !left.is_zero())
    }

    /// How long after the last message of a leader a server votes for another one.
    pub(super) fn followed(self, ended: bool) -> Duration {
        // openraft counts from the moment at which it has dealt with the message, which is a little later.
        if ended { self.refusal() + self.look() / 2 } else { self.lease }
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
        Lot { rank, drawn: ms(drawn), behind: false, failed: 0 }
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
    fn a_server_waits_twice_as_long_after_each_failed_election_up_to_eight_leases() {
        let wait = |ended, failed, drawn| {
            let lot = Lot { failed, ..lot(1, drawn) };
            (TIMES.wait(Phase::Led { quiet: ms(0), ended }, lot), TIMES.wait(Phase::Open { quiet: ms(0), ended }, lot))
        };
        for (failed, least, most) in [
            (0, 0, 500),
            (1, 500, 1000),
            (2, 1000, 2000),
            (3, 2000, 4000),
            (4, 4000, 8000),
            (5, 4000, 8000),
            (u32::MAX, 4000, 8000),
        ] {
            assert_eq!(wait(false, failed, 0), (ms(1500 + least), ms(500 + least)), "{failed}");
            assert_eq!(wait(false, failed, 500), (ms(1500 + most), ms(500 + most)), "{failed}");
            assert_eq!(wait(true, failed, 400), wait(true, 0, 400), "an end that is certain needs no patience");
            assert_eq!(TIMES.longer(failed), ms(least), "{failed}");
        }
        assert!(TIMES.proof() > wait(false, u32::MAX, 500).0);
    }

    #[test]
    fn terms_fail_until_leaders_are_heard_for_long() {
        let mut terms = Terms::default();
        let mut failed = |seen: &[u64]| {
            seen.iter().for_each(|term| terms.see(*term));
            terms.failed()
        };
        assert_eq!(failed(&[7, 7]), 0, "of terms before the start nothing is known");
        assert_eq!(failed(&[8]), 0, "the first one may still have a leader");
        assert_eq!(failed(&[9]), 1);
        assert_eq!(failed(&[9, 8, 10]), 2);
        assert_eq!(failed(&[500]), 3, "a server that was cut off counts once");
        terms.proved();
        assert_eq!(terms.failed(), 2);
        terms.see(501);
        assert_eq!(terms.failed(), 3);
        (0..9).for_each(|_| terms.proved());
        assert_eq!(terms.failed(), 0);
        terms.see(502);
        assert_eq!(terms.failed(), 0, "a leader was lost that had been stable");
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
