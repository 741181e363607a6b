//! Limits how fast an address, or a task on its own socket, can guess tokens.
//!
//! Only requests with an unknown token count. Valid tokens of the same origin keep working, because they are looked up
//! first; an origin that guesses too fast is answered 429 whatever it guesses.

use std::collections::HashMap;
use std::time::Duration;

use crate::serve::http1::Origin;
use encamp_model::token_bucket::TokenBucket;
use encamp_model::{MINUTE, SECOND, duration};

/// Unknown tokens that an origin may send at once, and in a minute.
const GUESSES: f64 = 60.0;
/// The number of origins that are remembered.
const ORIGINS: usize = 8192;

/// The origins that sent unknown tokens lately.
#[derive(Debug, Default)]
pub(crate) struct AuthLimit {
    origins: HashMap<Origin, (TokenBucket, i64)>,
}

impl AuthLimit {
    /// Counts a request with an unknown token. `now` is in Unix nanoseconds.
    ///
    /// # Errors
    /// There were too many; how long to wait.
    pub(crate) fn failed(&mut self, origin: &Origin, now: i64) -> Result<(), Duration> {
        if self.origins.len() >= ORIGINS && !self.origins.contains_key(origin) {
            // After a minute a bucket is full again, as that of an origin that is not remembered.
            self.origins.retain(|_, (_, at)| now.saturating_sub(*at) < MINUTE);
            if self.origins.len() >= ORIGINS {
                self.origins.clear();
            }
        }
        let full = || (TokenBucket::every((MINUTE as f64 / GUESSES) as i64, GUESSES), now);
        let (bucket, at) = self.origins.entry(origin.clone()).or_insert_with(full);
        *at = now;
        if bucket.try_take(now) { Ok(()) } else { Err(duration::of_nanos(SECOND)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_are_limited_by_address() {
        let mut limit = AuthLimit::default();
        let of = |address: [u8; 4]| Origin::Address(address.into());
        let [a, b] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(of);
        let fast = (0..100).filter(|i| limit.failed(&a, *i).is_ok()).count();
        assert_eq!(fast, 60);
        assert!(limit.failed(&b, 100).is_ok(), "other addresses are not affected");
        assert_eq!(limit.failed(&a, 200), Err(Duration::from_secs(1)));
        assert!(limit.failed(&a, SECOND + 200).is_ok() && limit.failed(&a, SECOND + 201).is_err());
        for i in 0..20_000_u32 {
            let _ = limit.failed(&of(i.to_be_bytes()), 0);
        }
        assert!(limit.origins.len() <= ORIGINS);
    }
}
