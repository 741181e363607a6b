//! Leader election among several processes: only the holder of the lock of one Variable may act
//! (`docs/spec/cluster-scaling.md`, top).
//!
//! The cluster releases a lock that was not renewed for twice its TTL. By its own clock, the holder stops earlier: when
//! the last successful renewal was sent longer ago than the TTL minus a margin. So two processes never act at the same
//! time, however long responses take.

use std::sync::Arc;
use std::time::Duration;

use encamp_api::variables::{Variable, VariableError};
use encamp_api::{ApiError, Client};
use encamp_autoscale::paths::{LEADER, NAMESPACE};
use encamp_model::{SECOND, VariableLock};
use parking_lot::Mutex;
use thiserror::Error;
use tokio::time::Instant;

/// The TTL of the lock in seconds.
const TTL: u64 = 30;
/// The margin before the end of the TTL at which the holder stops.
const MARGIN: Duration = Duration::from_secs(5);
/// The lock delay in seconds after the lock expired.
const DELAY: i64 = 5;
/// The interval between renewals.
const RENEW: Duration = Duration::from_secs(8);
/// The time limit of one renewal, and the delay after a failed one.
const ATTEMPT: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(1));
/// The polling interval while another process holds the lock.
const LOOK: Duration = Duration::from_secs(2);
/// The maximum delay between failed polls.
const LONGEST: Duration = Duration::from_secs(20);

/// The end of the time in which a process holds the lock.
#[derive(Debug, Error)]
pub enum LockLost {
    /// Renewals did not succeed in time.
    #[error("it was not renewed in time")]
    NotRenewed,
    /// This process released it.
    #[error("it was released")]
    Released,
    /// Another process holds it.
    #[error("another instance holds it")]
    Taken,
    /// The cluster refuses to renew it.
    #[error(transparent)]
    Refused(#[from] ApiError),
}

/// A lock whose release the cluster did not confirm.
#[derive(Debug, Error)]
pub enum ReleaseError {
    /// The cluster refuses it, or cannot be reached.
    #[error(transparent)]
    Failed(#[from] ApiError),
    /// The cluster did not respond in time.
    #[error("no response in time")]
    NoResponse,
}

/// The held lock.
#[derive(Debug, Clone)]
struct Held {
    variable: Variable,
    /// The time until which this process may act.
    until: Instant,
}

/// The lock, as seen by one process.
#[derive(Debug)]
pub struct LeaderLock {
    client: Arc<Client>,
    /// The holder as written into the Variable, for operators.
    holder: String,
    held: Mutex<Option<Held>>,
}

impl LeaderLock {
    /// A lock that is not held yet. `holder` describes this process.
    pub fn new(client: Arc<Client>, holder: String) -> LeaderLock {
        LeaderLock { client, holder, held: Mutex::default() }
    }

    /// The time until which this process may act; `None` if it may not act now.
    pub fn until(&self) -> Option<Instant> {
        let until = self.held.lock().as_ref()?.until;
        (Instant::now() < until).then_some(until)
    }

    /// Waits until this process holds the lock. Failures are logged and retried.
    pub async fn acquire(&self) {
        let (mut pause, mut reported) = (LOOK, false);
        loop {
            match self.try_acquire().await {
                Ok(true) => return,
                Ok(false) => {
                    if !std::mem::replace(&mut reported, true) {
                        let what = "another instance scales this cluster; waiting for the lock";
                        tracing::info!(target: "autoscale", "{what}");
                    }
                    pause = LOOK;
                }
                Err(e) => {
                    tracing::warn!(target: "autoscale", error = %e, "failed to acquire the lock; retrying");
                    pause = (pause * 2).min(LONGEST);
                }
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// Acquires the lock if it is free.
    async fn try_acquire(&self) -> Result<bool, ApiError> {
        // A read is cheaper for the cluster than an attempt, which writes a log entry.
        match self.client.variable(LEADER).await {
            Ok(v) if v.lock.is_some() => return Ok(false),
            Ok(_) => {}
            Err(e) if e.is_not_found() => {}
            Err(e) => return Err(e),
        }
        let lock = VariableLock {
            id: String::new(),
            ttl: i64::try_from(TTL).unwrap_or(i64::MAX).saturating_mul(SECOND),
            lock_delay: DELAY * SECOND,
        };
        let variable = Variable {
            namespace: NAMESPACE.into(),
            path: LEADER.into(),
            items: [("holder".to_string(), self.holder.clone())].into(),
            lock: Some(lock),
            ..Variable::default()
        };
        let sent = Instant::now();
        match self.client.lock_variable(&variable).await {
            Ok(locked) if locked.lock.as_ref().is_some_and(|l| !l.id.is_empty()) => {
                let until = valid_until(sent);
                // The payload of renewals and of the release, which accept no items.
                let variable = Variable { items: Default::default(), lock: locked.lock, ..variable };
                *self.held.lock() = Some(Held { variable, until });
                Ok(Instant::now() < until)
            }
            Ok(_) => Ok(false),
            Err(VariableError::Conflict(_)) => Ok(false),
            Err(VariableError::Other(e)) if e.status() == Some(409) => Ok(false),
            Err(VariableError::Other(e)) => Err(e),
        }
    }

    /// Renews the lock until it is lost, and returns the reason. From then on [`until`](LeaderLock::until) is `None`.
    pub async fn keep(&self) -> LockLost {
        let mut pause = RENEW;
        loop {
            let Some(until) = self.until() else { return self.lost(LockLost::NotRenewed) };
            tokio::time::sleep_until(until.min(Instant::now() + pause)).await;
            let Some(variable) = self.held.lock().as_ref().map(|h| h.variable.clone()) else {
                return LockLost::Released;
            };
            let sent = Instant::now();
            let renewed = tokio::time::timeout(ATTEMPT.0, self.client.touch_lock("lock-renew", &variable)).await;
            pause = match renewed {
                Ok(Ok(())) => {
                    if let Some(held) = self.held.lock().as_mut() {
                        held.until = valid_until(sent);
                    }
                    RENEW
                }
                Ok(Err(VariableError::Conflict(_))) => return self.lost(LockLost::Taken),
                Ok(Err(VariableError::Other(e))) if e.is_temporary() || e.status().is_none() => {
                    tracing::warn!(target: "autoscale", error = %e, "failed to renew the lock; retrying");
                    ATTEMPT.1
                }
                Ok(Err(VariableError::Other(e))) => return self.lost(e.into()),
                Err(_) => {
                    tracing::warn!(target: "autoscale", "failed to renew the lock: no response in time; retrying");
                    Duration::ZERO
                }
            };
        }
    }

    fn lost(&self, why: LockLost) -> LockLost {
        *self.held.lock() = None;
        why
    }

    /// Forbids this process to act from now on; the lock is held until [`release`](LeaderLock::release) or its end.
    pub fn stop_acting(&self) {
        if let Some(held) = self.held.lock().as_mut() {
            held.until = Instant::now();
        }
    }

    /// Releases the lock, if it is held.
    ///
    /// # Errors
    /// The cluster did not confirm the release in time; the lock then expires.
    pub async fn release(&self) -> Result<(), ReleaseError> {
        let Some(held) = self.held.lock().take() else { return Ok(()) };
        match tokio::time::timeout(ATTEMPT.0, self.client.touch_lock("lock-release", &held.variable)).await {
            Ok(Ok(())) => Ok(()),
            // Another process already holds it.
            Ok(Err(VariableError::Conflict(_))) => Ok(()),
            Ok(Err(VariableError::Other(e))) => Err(e.into()),
            Err(_) => Err(ReleaseError::NoResponse),
        }
    }
}

/// The time until which a renewal that was sent at a given time allows this process to act.
fn valid_until(sent: Instant) -> Instant {
    sent + Duration::from_secs(TTL).saturating_sub(MARGIN)
}

#[cfg(test)]
mod tests {
    use super::super::canned::{Canned, json};
    use super::*;

    const PATH: &str = "/v1/var/encamp/autoscale/leader";

    fn free(method: &str, query: &str) -> Option<(u16, String)> {
        match (method, query.contains("lock-acquire")) {
            ("GET", _) => Some((404, "variable not found".into())),
            ("PUT", true) => Some((200, json(&[("Lock", "{\"ID\":\"l\"}")]))),
            _ => None,
        }
    }

    #[tokio::test]
    async fn a_free_lock_is_taken_and_given_back() {
        let canned = Canned::start(|method, _, query| free(method, query).unwrap_or((200, "{}".into()))).await;
        let lock = LeaderLock::new(canned.client(), "host pid 1".into());
        assert_eq!(lock.until(), None);
        lock.acquire().await;
        let left = lock.until().expect("it is held") - Instant::now();
        assert!(left <= Duration::from_secs(25) && left > Duration::from_secs(20), "{left:?}");
        let body: serde_json::Value = serde_json::from_str(&canned.last_body(PATH)).expect("JSON");
        assert_eq!(body["Lock"]["TTL"], "30s");
        assert_eq!((&body["Lock"]["LockDelay"], &body["Items"]["holder"]), (&"5s".into(), &"host pid 1".into()));
        lock.stop_acting();
        assert_eq!(lock.until(), None);
        lock.release().await.expect("released");
        let body: serde_json::Value = serde_json::from_str(&canned.last_body(PATH)).expect("JSON");
        assert_eq!(body["Lock"]["ID"], "l");
        let sent = canned.count("PUT", PATH);
        lock.release().await.expect("there is nothing to release");
        assert_eq!(canned.count("PUT", PATH), sent);
    }

    #[tokio::test]
    async fn a_lock_that_another_has_is_only_looked_at() {
        let canned = Canned::start(|_, _, _| (200, json(&[("Lock", "{\"ID\":\"\"}")]))).await;
        let lock = LeaderLock::new(canned.client(), "me".into());
        assert!(!lock.try_acquire().await.expect("answered"));
        assert_eq!((lock.until(), canned.count("PUT", PATH)), (None, 0));
        let canned = Canned::start(|method, _, _| match method {
            "GET" => (404, "variable not found".into()),
            _ => (409, "{\"Path\":\"x\"}".into()),
        })
        .await;
        let lock = LeaderLock::new(canned.client(), "me".into());
        assert!(!lock.try_acquire().await.expect("answered"), "somebody was faster");
    }

    #[tokio::test]
    async fn who_lost_the_lock_may_not_act() {
        let canned = Canned::start(|method, _, query| match free(method, query) {
            Some(answer) => answer,
            None => (409, "{\"Path\":\"x\"}".into()),
        })
        .await;
        let lock = LeaderLock::new(canned.client(), "me".into());
        lock.acquire().await;
        // The next renewal is due.
        if let Some(held) = lock.held.lock().as_mut() {
            held.until = Instant::now() + Duration::from_millis(20);
        }
        assert!(lock.until().is_some());
        let why = lock.keep().await;
        let text = why.to_string();
        assert!(["another instance holds it", "it was not renewed in time"].contains(&text.as_str()), "{text}");
        assert_eq!(lock.until(), None);
    }
}
