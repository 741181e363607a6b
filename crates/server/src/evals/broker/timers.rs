//! Nack timers, waits and delays of the broker (`docs/spec/server.md §4.6, §4.7`).

use super::known::{Entry, Place, Reason, Waiting};
use super::order::ById;
use super::{Broker, BrokerError, Ending, Finished, NACK_TIMEOUT};

impl Broker {
    /// Restarts the nack timer, because the worker is alive.
    pub fn reset(&mut self, id: &str, token: &str, now: i64) -> Result<(), BrokerError> {
        self.set_timer(id, token, now, true, Some(now.saturating_add(NACK_TIMEOUT)))
    }

    /// Pauses the nack timer while the worker waits for an operation of unbounded duration.
    pub fn pause(&mut self, id: &str, token: &str, now: i64) -> Result<(), BrokerError> {
        self.set_timer(id, token, now, true, None)
    }

    /// Restarts a paused nack timer with the full timeout. A timer that has fired is not restarted.
    pub fn resume(&mut self, id: &str, token: &str, now: i64) -> Result<(), BrokerError> {
        self.set_timer(id, token, now, false, Some(now.saturating_add(NACK_TIMEOUT)))
    }

    fn set_timer(
        &mut self,
        id: &str,
        token: &str,
        now: i64,
        refuse_fired: bool,
        deadline: Option<i64>,
    ) -> Result<(), BrokerError> {
        let key = self.known.get_key_value(id).map(|(k, _)| k.clone()).ok_or(BrokerError::NotOutstanding)?;
        let Some(Entry { place: Place::Out(out), .. }) = self.known.get_mut(id) else {
            return Err(BrokerError::NotOutstanding);
        };
        if out.token != token {
            return Err(BrokerError::TokenMismatch);
        }
        if out.deadline.is_some_and(|d| d <= now) {
            return if refuse_fired { Err(BrokerError::NackTimeoutReached) } else { Ok(()) };
        }
        if let Some(old) = std::mem::replace(&mut out.deadline, deadline) {
            self.timers.remove(&(old, key.clone()));
        }
        if let Some(new) = deadline {
            self.timers.insert((new, key));
        }
        Ok(())
    }

    /// Drops an evaluation that waits for its `WaitUntil` because it is not needed any more. Returns whether there was
    /// one.
    pub(crate) fn drop_waiting(&mut self, id: &str) -> bool {
        let Some(Entry { place: Place::Waiting(waiting), .. }) = self.known.get(id) else { return false };
        let Waiting { due, reason: Reason::WaitUntil } = **waiting else { return false };
        if let Some(key) = self.known.remove(id) {
            self.timers.remove(&(due, key));
            self.waiting_count = self.waiting_count.saturating_sub(1);
            self.delayed_count = self.delayed_count.saturating_sub(1);
        }
        true
    }

    /// When to call [`Broker::tick`] next.
    pub fn next_deadline(&self) -> Option<i64> {
        self.timers.first().map(|(due, _)| *due)
    }

    /// Processes due timers: delayed evaluations become ready, and the evaluations of workers that stopped responding
    /// are nacked and returned.
    pub fn tick(&mut self, now: i64) -> Vec<Finished> {
        let mut lost = Vec::new();
        while self.timers.first().is_some_and(|(due, _)| *due <= now) {
            let Some((_, ById(eval))) = self.timers.pop_first() else { break };
            match self.known.get(&eval.id).map(|e| &e.place) {
                Some(Place::Out(_)) => lost.extend(self.give_back(&eval.id, Ending::TimedOut, now)),
                Some(Place::Waiting(waiting)) => {
                    let reason = waiting.reason;
                    self.waiting_count = self.waiting_count.saturating_sub(1);
                    self.delayed_count = self.delayed_count.saturating_sub(usize::from(reason == Reason::WaitUntil));
                    if reason == Reason::Nacked {
                        self.start_clock(&eval, now);
                        self.make_ready(eval);
                    } else {
                        self.line_up(eval, now);
                    }
                }
                Some(Place::Queued) | None => {}
            }
        }
        lost
    }
}
