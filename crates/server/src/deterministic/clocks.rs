//! The clocks of a simulation's machines: the servers and nodes, each with a clock that may be set, drift or stand still,
//! and each of which may be stopped as a whole for a while, as a virtual machine or a process is.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::task::Waker;

use parking_lot::Mutex;

use super::network::Place;
use encamp_model::SECOND;

/// Parts per million.
const MILLION: i128 = 1_000_000;

/// A machine's clocks, in nanoseconds. Without an entry, both show the true time.
#[derive(Debug, Default)]
struct Clock {
    /// How far the clock that can be set is ahead.
    ahead: i64,
    /// What it shows while it is stopped.
    still: Option<i64>,
    /// How far the steady clock is ahead, as of `since`.
    gained: i64,
    /// How much faster than time both clocks go, in parts per million.
    drift: i64,
    /// The true time at which the drift began.
    since: i64,
}

impl Clock {
    fn gain(&self, at: i64) -> i64 {
        let passed = i128::from(at.saturating_sub(self.since));
        let more = passed * i128::from(self.drift) / MILLION;
        self.gained.saturating_add(i64::try_from(more).unwrap_or(0))
    }

    fn steady(&self, at: i64) -> i64 {
        at.saturating_add(self.gain(at))
    }

    fn wall(&self, at: i64) -> i64 {
        self.still.unwrap_or_else(|| self.steady(at).saturating_add(self.ahead))
    }
}

/// The clocks of all machines, and which machines are stopped.
#[derive(Default)]
pub(crate) struct Clocks {
    clocks: Mutex<BTreeMap<Place, Clock>>,
    stopped: Mutex<BTreeMap<Place, Vec<Waker>>>,
    /// The number of stopped machines: there is rarely one.
    count: AtomicUsize,
    /// When machines were last started again.
    started: Mutex<BTreeMap<Place, i64>>,
    /// The furthest that a clock ever was from the true time.
    worst: AtomicI64,
}

impl Clocks {
    /// What the clock of a machine shows at a true time.
    pub(crate) fn wall(&self, machine: Option<Place>, at: i64) -> i64 {
        machine.map_or(at, |m| self.clocks.lock().get(&m).map_or(at, |c| c.wall(at)))
    }

    /// What the clock of a machine shows that nobody can set.
    pub(crate) fn steady(&self, machine: Option<Place>, at: i64) -> i64 {
        machine.map_or(at, |m| self.clocks.lock().get(&m).map_or(at, |c| c.steady(at)))
    }

    /// Sets the clock of a machine ahead, or back.
    pub(crate) fn jump(&self, machine: Place, by: i64) {
        let mut clocks = self.clocks.lock();
        let clock = clocks.entry(machine).or_default();
        clock.ahead = clock.ahead.saturating_add(by);
    }

    /// Lets the clocks of a machine go faster than time, in parts per million; slower, if it is negative.
    pub(crate) fn drift(&self, machine: Place, drift: i64, at: i64) {
        let mut clocks = self.clocks.lock();
        let clock = clocks.entry(machine).or_default();
        (clock.gained, clock.since, clock.drift) = (clock.gain(at), at, drift);
    }

    /// Lets the clock of a machine that can be set stand still, or go on from where it stands.
    pub(crate) fn stand_still(&self, machine: Place, still: bool, at: i64) {
        let mut clocks = self.clocks.lock();
        let clock = clocks.entry(machine).or_default();
        if still {
            clock.still = Some(clock.wall(at));
        } else if let Some(shown) = clock.still.take() {
            clock.ahead = shown.saturating_sub(clock.steady(at));
        }
    }

    /// Sets all clocks right. What the steady clocks gained they keep.
    pub(crate) fn set_right(&self, at: i64) {
        for clock in self.clocks.lock().values_mut() {
            (clock.gained, clock.since, clock.drift) = (clock.gain(at), at, 0);
            (clock.still, clock.ahead) = (None, clock.gained.saturating_neg());
        }
    }

    /// The furthest that a clock was from the true time whenever this was asked.
    pub(crate) fn furthest(&self, at: i64) -> i64 {
        let far = self.clocks.lock().values().map(|c| c.wall(at).abs_diff(at)).max().unwrap_or(0);
        let far = i64::try_from(far).unwrap_or(i64::MAX);
        self.worst.fetch_max(far, Ordering::AcqRel).max(far)
    }

    /// Stops a machine: nothing on it runs until it is started.
    pub(crate) fn stop(&self, machine: Place) {
        if self.stopped.lock().insert(machine, Vec::new()).is_none() {
            self.count.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Starts a machine that was stopped. What is due on it meanwhile happens now.
    pub(crate) fn start(&self, machine: Place, at: i64) {
        let waiting = self.stopped.lock().remove(&machine);
        if waiting.is_some() {
            self.count.fetch_sub(1, Ordering::AcqRel);
            self.started.lock().insert(machine, at);
        }
        waiting.into_iter().flatten().for_each(Waker::wake);
    }

    /// Whether a machine is stopped.
    pub(crate) fn is_stopped(&self, machine: Place) -> bool {
        self.stopped.lock().contains_key(&machine)
    }

    /// Whether a machine was stopped at a true time or later.
    pub(crate) fn stopped_since(&self, machine: Place, at: i64) -> bool {
        self.is_stopped(machine) || self.started.lock().get(&machine).is_some_and(|last| *last >= at)
    }

    /// Whether a machine runs; if not, the waker is woken when it does.
    pub(crate) fn runs(&self, machine: Place, waker: &Waker) -> bool {
        if self.count.load(Ordering::Acquire) == 0 {
            return true;
        }
        match self.stopped.lock().get_mut(&machine) {
            Some(waiting) => {
                waiting.push(waker.clone());
                false
            }
            None => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_set_drift_and_stand_still() {
        let clocks = Clocks::default();
        let shown = |at| (clocks.wall(Some(1), at), clocks.steady(Some(1), at));
        assert_eq!(shown(SECOND), (SECOND, SECOND));
        clocks.jump(1, -5 * SECOND);
        assert_eq!(shown(10 * SECOND), (5 * SECOND, 10 * SECOND), "the steady clock is not set");
        clocks.drift(1, 100_000, 10 * SECOND);
        assert_eq!(shown(20 * SECOND), (16 * SECOND, 21 * SECOND));
        clocks.stand_still(1, true, 20 * SECOND);
        assert_eq!(shown(30 * SECOND), (16 * SECOND, 32 * SECOND));
        clocks.stand_still(1, false, 30 * SECOND);
        assert_eq!(shown(30 * SECOND).0, 16 * SECOND);
        assert_eq!((clocks.wall(None, 7), clocks.wall(Some(2), 7)), (7, 7), "others go right");
        assert_eq!(clocks.furthest(30 * SECOND), 14 * SECOND);
        clocks.set_right(30 * SECOND);
        assert_eq!(shown(40 * SECOND), (40 * SECOND, 42 * SECOND));
    }

    #[test]
    fn stopped_machines_do_not_run() {
        let clocks = Clocks::default();
        let waker = Waker::noop();
        clocks.stop(3);
        assert!(!clocks.runs(3, waker) && clocks.runs(2, waker));
        clocks.start(3, 5);
        assert!(clocks.runs(3, waker));
        assert!(clocks.stopped_since(3, 5) && !clocks.stopped_since(3, 6));
    }
}
