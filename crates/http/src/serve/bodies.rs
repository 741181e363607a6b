//! Request bodies in memory: each has a limit, all together have one, and each origin has a share of that. A body that
//! arrives too slowly is rejected.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use axum::body::{Body, Bytes};
use futures_util::StreamExt;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};

use super::http1::Origin;

/// The unit of counting.
const UNIT: usize = 4 << 10;
/// Longest wait for others to end.
const WAIT: Duration = Duration::from_secs(10);
/// Longest pause in a body.
const PAUSE: Duration = Duration::from_secs(20);
/// How long a body may take besides its size.
const LEAST: Duration = Duration::from_secs(30);
/// Bytes that have to arrive in a second, on average.
const RATE: usize = 64 << 10;

/// Why a body was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// It is longer than it may be.
    #[error("the body is larger than {0} bytes")]
    Long(usize),
    /// It does not go on.
    #[error("the body arrives too slowly")]
    Slow,
    /// Other bodies take all the memory that is set aside for them.
    #[error("too many large requests at the same time; try again later")]
    Busy,
    /// The connection broke.
    #[error("unexpected EOF")]
    Broken,
}

/// Memory for bodies. Clones share it.
#[derive(Debug, Clone)]
pub struct Budget(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    all: Arc<Semaphore>,
    of_one: usize,
    by_origin: Mutex<HashMap<Origin, Weak<Semaphore>>>,
}

/// A part of the memory, returned when it is dropped.
#[derive(Debug, Default)]
pub struct Held(Vec<OwnedSemaphorePermit>);

impl Held {
    /// Takes over what another one holds.
    pub fn join(&mut self, other: Held) {
        self.0.extend(other.0);
    }
}

fn units(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX)
}

impl Budget {
    /// So many bytes for all, and for each origin.
    pub fn new(all: usize, of_one: usize) -> Budget {
        let semaphore = |bytes: usize| Arc::new(Semaphore::new((bytes / UNIT).min(Semaphore::MAX_PERMITS)));
        Budget(Arc::new(Inner { all: semaphore(all), of_one, by_origin: Mutex::default() }))
    }

    fn of(&self, origin: &Origin) -> Arc<Semaphore> {
        let mut known = self.0.by_origin.lock();
        if let Some(own) = known.get(origin).and_then(Weak::upgrade) {
            return own;
        }
        known.retain(|_, s| s.strong_count() > 0);
        let own = Arc::new(Semaphore::new((self.0.of_one / UNIT).min(Semaphore::MAX_PERMITS)));
        known.insert(origin.clone(), Arc::downgrade(&own));
        own
    }

    /// Takes a part; waits for others to give theirs back.
    ///
    /// # Errors
    /// They did not.
    pub async fn take(&self, bytes: usize, from: Option<&Origin>) -> Result<Held, BodyError> {
        let count = units(bytes);
        let both = async {
            let own = match from {
                Some(origin) => Some(self.of(origin).acquire_many_owned(count).await),
                None => None,
            };
            let all = self.0.all.clone().acquire_many_owned(count).await;
            own.into_iter().chain([all]).collect::<Result<Vec<_>, _>>()
        };
        let taken = timeout(WAIT, both).await.map_err(|_| BodyError::Busy)?;
        taken.map(Held).map_err(|_| BodyError::Busy)
    }

    /// Reads a body of at most so many bytes. The memory reserved for it is returned when the second value is dropped.
    ///
    /// # Errors
    /// See [`BodyError`].
    pub async fn read(&self, body: Body, longest: usize, from: Option<&Origin>) -> Result<(Bytes, Held), BodyError> {
        let mut held = Held::default();
        let mut paid = 0;
        let mut read = Vec::new();
        let mut pieces = Pieces::new(body);
        while let Some(piece) = pieces.next().await? {
            if read.len() + piece.len() > longest {
                return Err(BodyError::Long(longest));
            }
            if read.len() + piece.len() > paid {
                // In large steps: most bodies take one.
                let step = piece.len().max(16 * UNIT).max(read.len() / 2);
                held.join(self.take(step, from).await?);
                paid += step;
                // The reserved memory is that of the budget and nothing more.
                read.reserve_exact(paid.saturating_sub(read.len()));
            }
            read.extend_from_slice(&piece);
        }
        Ok((Bytes::from(read), held))
    }
}

/// A body piece by piece, within its time.
pub(crate) struct Pieces {
    body: axum::body::BodyDataStream,
    begun: Instant,
    arrived: usize,
}

impl Pieces {
    /// Of a body.
    pub(crate) fn new(body: Body) -> Pieces {
        Pieces { body: body.into_data_stream(), begun: Instant::now(), arrived: 0 }
    }

    /// The next piece; nothing at the end.
    ///
    /// # Errors
    /// The connection broke, or is too slow.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, BodyError> {
        let earned = Duration::from_secs((self.arrived / RATE) as u64);
        let until = (self.begun + LEAST + earned).min(Instant::now() + PAUSE);
        match timeout_at(until, self.body.next()).await {
            Ok(Some(Ok(piece))) => {
                self.arrived += piece.len();
                Ok(Some(piece))
            }
            Ok(Some(Err(_))) => Err(BodyError::Broken),
            Ok(None) => Ok(None),
            Err(_) => Err(BodyError::Slow),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(n: u8) -> Option<Origin> {
        Some(Origin::Address([10, 0, 0, n].into()))
    }

    #[tokio::test(start_paused = true)]
    async fn bodies_wait_for_each_other_and_not_for_ever() {
        let budget = Budget::new(1 << 20, 512 << 10);
        let body = |size: usize| Body::from(vec![1; size]);
        let (bytes, first) = budget.read(body(400 << 10), 1 << 20, from(1).as_ref()).await.expect("a body");
        assert_eq!(bytes.len(), 400 << 10);
        // This origin has had its part; another one has not.
        assert_eq!(budget.read(body(400 << 10), 1 << 20, from(1).as_ref()).await.err(), Some(BodyError::Busy));
        let (_, second) = budget.read(body(400 << 10), 1 << 20, from(2).as_ref()).await.expect("a body");
        assert_eq!(budget.read(body(400 << 10), 1 << 20, from(3).as_ref()).await.err(), Some(BodyError::Busy));
        let own = budget.clone();
        let third =
            tokio::spawn(async move { own.read(Body::from(vec![1; 400 << 10]), 1 << 20, from(3).as_ref()).await });
        tokio::time::sleep(Duration::from_secs(1)).await;
        drop((first, second));
        assert!(third.await.expect("no panic").is_ok(), "it waited");
        assert_eq!(budget.read(body(65), 64, from(1).as_ref()).await.err(), Some(BodyError::Long(64)));
    }

    #[tokio::test(start_paused = true)]
    async fn slow_bodies_are_given_up() {
        let budget = Budget::new(1 << 20, 1 << 20);
        let stalled = Body::from_stream(futures_util::stream::pending::<Result<Bytes, std::io::Error>>());
        assert_eq!(budget.read(stalled, 64, None).await.err(), Some(BodyError::Slow));
        let drip = futures_util::stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_secs(5)).await;
            Some((Ok::<_, std::io::Error>(Bytes::from_static(b"x")), ()))
        });
        assert_eq!(budget.read(Body::from_stream(drip), 1 << 20, None).await.err(), Some(BodyError::Slow));
        assert_eq!(budget.0.all.available_permits(), (1 << 20) / UNIT, "all permits were returned");
    }
}
