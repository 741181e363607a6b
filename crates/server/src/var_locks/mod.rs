//! Expiry of variable locks (`docs/spec/http-api.md §8.4`, `docs/spec/server.md §23`): a lock that is not renewed for
//! twice its TTL expires; after its delay the server releases it. No I/O: times are those of a clock that nobody sets, durations
//! nanoseconds.

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};

use encamp_model::{SECOND, VariableEncrypted};

/// The delay after the first failed release of a lock; doubles with every failure.
const RETRY: i64 = 10 * SECOND;
/// How often that delay doubles.
const DOUBLINGS: u32 = 6;

/// Namespace and path.
pub(crate) type Key = (String, String);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Held; the holder has to renew it before it is due.
    Held,
    /// Expired; it cannot be acquired before it is due.
    Delayed,
    /// Being released, with the number of failures so far. Due when the release is to be retried.
    Ending(u32),
}

#[derive(Debug)]
struct Timer {
    lock_id: String,
    ttl: i64,
    delay: i64,
    phase: Phase,
    /// When the phase ends; `None` while the release is in progress.
    due: Option<i64>,
}

/// How long a lock is held without a renewal.
fn patience(timer: &Timer) -> i64 {
    #[cfg(test)]
    if crate::deterministic::sim::has(crate::deterministic::sim::Bug::ShortLock) {
        return timer.ttl / 4;
    }
    timer.ttl.saturating_mul(2)
}

/// A lock to release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// The variable.
    pub key: Key,
    /// The lock.
    pub lock_id: String,
}

/// The timers of all locks. Only used on the leader.
#[derive(Debug, Default)]
pub struct LockTimers {
    leader: bool,
    timers: HashMap<Key, Timer>,
    due: BTreeSet<(i64, Key)>,
}

impl LockTimers {
    /// Called when this server becomes the leader: every lock gets its full TTL.
    pub fn start<'v>(&mut self, variables: impl IntoIterator<Item = &'v VariableEncrypted>, now: i64) {
        self.stop();
        self.leader = true;
        variables.into_iter().for_each(|v| self.written(v, true, now));
    }

    /// Called when leadership is lost: removes all timers.
    pub fn stop(&mut self) {
        *self = LockTimers::default();
    }

    /// Called when a variable was written. A lock that was `acquired` gets its full TTL, even if the holder is the
    /// same; any other write of the holder does not change the remaining time.
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
        let due = now.saturating_add(patience(&timer));
        self.timers.insert(key.clone(), timer);
        self.set(&key, Phase::Held, Some(due));
    }

    /// Called when a variable was removed or its lock was released.
    pub fn remove(&mut self, key: &Key) {
        if let Some(timer) = self.timers.remove(key)
            && let Some(due) = timer.due
        {
            self.due.remove(&(due, key.clone()));
        }
    }

    /// Renews a lock for its holder. Returns false if the lock has expired or belongs to another holder.
    pub fn renew(&mut self, key: &Key, lock_id: &str, now: i64) -> bool {
        let held = |t: &&Timer| t.phase == Phase::Held && t.lock_id == lock_id && t.due.is_some_and(|d| d > now);
        let Some(timer) = self.timers.get(key).filter(held) else { return false };
        let due = now.saturating_add(patience(timer));
        self.set(key, Phase::Held, Some(due));
        true
    }

    /// Returns the locks to release now. Expired locks wait for their delay first.
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

    /// Whether a lock still has to be released: it may have been acquired again meanwhile.
    pub(crate) fn is_ending(&self, lost: &Lost) -> bool {
        let timer = self.timers.get(&lost.key);
        timer.is_some_and(|t| t.lock_id == lost.lock_id && matches!(t.phase, Phase::Ending(_)))
    }

    /// Called when a lock could not be released: schedules a retry.
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

    /// When to call [`LockTimers::expired`] next.
    pub fn next_deadline(&self) -> Option<i64> {
        self.due.first().map(|(due, _)| *due)
    }

    /// The numbers of held locks and of locks that wait for their delay.
    pub fn counts(&self) -> (usize, usize) {
        let of = |phase| self.timers.values().filter(|t| t.phase == phase).count();
        (of(Phase::Held), of(Phase::Delayed))
    }
}
