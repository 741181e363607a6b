//! How long locks of variables hold (`docs/spec/http-api.md §8.4`, `docs/spec/server.md §23`): a lock that is not
//! renewed for twice its TTL is lost; after its delay the server gives it back. Pure: times are Unix nanoseconds,
//! durations nanoseconds.

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};

use encamp_model::{SECOND, VariableEncrypted};

/// The first wait after giving a lock back failed; doubles with every failure.
const RETRY: i64 = 10 * SECOND;
/// How often that wait doubles.
const DOUBLINGS: u32 = 6;

/// Namespace and path.
pub(crate) type Key = (String, String);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The holder has to renew it before it is due.
    Held,
    /// Lost; nobody else may have it before it is due.
    Delayed,
    /// Is being given back; failures so far. Due when it is to be tried again.
    Ending(u32),
}

#[derive(Debug)]
struct Timer {
    lock_id: String,
    ttl: i64,
    delay: i64,
    phase: Phase,
    /// When something happens; none while it is being given back.
    due: Option<i64>,
}

/// A lock to give back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// The variable.
    pub key: Key,
    /// The lock.
    pub lock_id: String,
}

/// The timers of all locks. Runs on the leader only.
#[derive(Debug, Default)]
pub struct LockTimers {
    leader: bool,
    timers: HashMap<Key, Timer>,
    due: BTreeSet<(i64, Key)>,
}

impl LockTimers {
    /// Becomes the leader: every lock gets its full time, whatever is over of it.
    pub fn start<'v>(&mut self, variables: impl IntoIterator<Item = &'v VariableEncrypted>, now: i64) {
        self.stop();
        self.leader = true;
        variables.into_iter().for_each(|v| self.written(v, true, now));
    }

    /// Is not the leader any more: forgets all timers.
    pub fn stop(&mut self) {
        *self = LockTimers::default();
    }

    /// A variable was written. A lock that was `acquired` gets its full time, also by who held it before; another write
    /// of the holder leaves it the time that is left.
    pub fn written(&mut self, v: &VariableEncrypted, acquired: bool, now: i64) {
        if !self.leader {
            return;
        }
        let key = (v.namespace.clone(), v.path.clone());
        let Some(lock) = &v.lock else { return self.remove(&key) };
        if !acquired && self.timers.get(&key).is_some_and(|t| t.lock_id == lock.id) {
            return;
        }
        self.remove(&key);
        let timer =
            Timer { lock_id: lock.id.clone(), ttl: lock.ttl, delay: lock.lock_delay, phase: Phase::Held, due: None };
        let due = now.saturating_add(timer.ttl.saturating_mul(2));
        self.timers.insert(key.clone(), timer);
        self.set(&key, Phase::Held, Some(due));
    }

    /// A variable is gone, or nobody holds it any more.
    pub fn remove(&mut self, key: &Key) {
        if let Some(timer) = self.timers.remove(key)
            && let Some(due) = timer.due
        {
            self.due.remove(&(due, key.clone()));
        }
    }

    /// The holder renews its lock; false if it is too late, or somebody else's.
    pub fn renew(&mut self, key: &Key, lock_id: &str, now: i64) -> bool {
        let held = |t: &&Timer| t.phase == Phase::Held && t.lock_id == lock_id && t.due.is_some_and(|d| d > now);
        let Some(timer) = self.timers.get(key).filter(held) else { return false };
        let due = now.saturating_add(timer.ttl.saturating_mul(2));
        self.set(key, Phase::Held, Some(due));
        true
    }

    /// What is to be given back now. What was lost waits for its delay first.
    pub fn expired(&mut self, now: i64) -> Vec<Lost> {
        let mut lost = Vec::new();
        while let Some((_, key)) = self.due.first().filter(|(due, _)| *due <= now).cloned() {
            let Some(timer) = self.timers.get(&key) else {
                self.due.pop_first();
                continue;
            };
            match timer.phase {
                Phase::Held if timer.delay > 0 => {
                    let due = now.saturating_add(timer.delay);
                    self.set(&key, Phase::Delayed, Some(due));
                }
                phase => {
                    let failures = if let Phase::Ending(n) = phase { n } else { 0 };
                    lost.push(Lost { key: key.clone(), lock_id: timer.lock_id.clone() });
                    self.set(&key, Phase::Ending(failures), None);
                }
            }
        }
        lost
    }

    /// Whether a lock that was to be given back still is: it may have been acquired again meanwhile.
    pub(crate) fn is_ending(&self, lost: &Lost) -> bool {
        let timer = self.timers.get(&lost.key);
        timer.is_some_and(|t| t.lock_id == lost.lock_id && matches!(t.phase, Phase::Ending(_)))
    }

    /// A lock could not be given back: it is tried again later.
    pub fn failed(&mut self, lost: &Lost, now: i64) {
        if !self.is_ending(lost) {
            return;
        }
        let Some(Timer { phase: Phase::Ending(n), .. }) = self.timers.get(&lost.key) else { return };
        let n = *n;
        let wait = RETRY.saturating_mul(1 << n.min(DOUBLINGS));
        self.set(&lost.key, Phase::Ending(n.saturating_add(1)), Some(now.saturating_add(wait)));
    }

    fn set(&mut self, key: &Key, phase: Phase, due: Option<i64>) {
        let Some(timer) = self.timers.get_mut(key) else { return };
        if let Some(old) = std::mem::replace(&mut timer.due, due) {
            self.due.remove(&(old, key.clone()));
        }
        timer.phase = phase;
        if let Some(new) = due {
            self.due.insert((new, key.clone()));
        }
    }

    /// When [`LockTimers::expired`] has something to do next.
    pub fn next_deadline(&self) -> Option<i64> {
        self.due.first().map(|(due, _)| *due)
    }

    /// How many locks are held, and how many wait for their delay.
    pub fn counts(&self) -> (usize, usize) {
        let of = |phase| self.timers.values().filter(|t| t.phase == phase).count();
        (of(Phase::Held), of(Phase::Delayed))
    }
}
