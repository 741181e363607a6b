//! Limits how fast an address can guess tokens.
//!
//! Only requests with an unknown token count. Valid tokens of the same address keep working, because they are looked up
//! first; an address that guesses too fast is answered 429 whatever it guesses.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use encamp_model::token_bucket::TokenBucket;
use encamp_model::{MINUTE, SECOND, duration};

/// Unknown tokens that an address may send at once, and in a minute.
const GUESSES: f64 = 60.0;
/// The number of addresses that are remembered.
const ADDRESSES: usize = 8192;

/// The addresses that sent unknown tokens lately.
#[derive(Debug, Default)]
pub(crate) struct AuthLimit {
    addresses: HashMap<IpAddr, (TokenBucket, i64)>,
}

impl AuthLimit {
    /// Counts a request with an unknown token. `now` is in Unix nanoseconds.
    ///
    /// # Errors
    /// There were too many; how long to wait.
    pub(crate) fn failed(&mut self, address: IpAddr, now: i64) -> Result<(), Duration> {
        if self.addresses.len() >= ADDRESSES && !self.addresses.contains_key(&address) {
            // After a minute a bucket is full again, as that of an address that is not remembered.
            self.addresses.retain(|_, (_, at)| now.saturating_sub(*at) < MINUTE);
            if self.addresses.len() >= ADDRESSES {
                self.addresses.clear();
            }
        }
        let full = || (TokenBucket::every((MINUTE as f64 / GUESSES) as i64, GUESSES), now);
        let (bucket, at) = self.addresses.entry(address).or_insert_with(full);
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
        let [a, b]: [IpAddr; 2] = [[10, 0, 0, 1].into(), [10, 0, 0, 2].into()];
        let fast = (0..100).filter(|i| limit.failed(a, *i).is_ok()).count();
        assert_eq!(fast, 60);
        assert!(limit.failed(b, 100).is_ok(), "other addresses are not affected");
        assert_eq!(limit.failed(a, 200), Err(Duration::from_secs(1)));
        assert!(limit.failed(a, SECOND + 200).is_ok() && limit.failed(a, SECOND + 201).is_err());
        for i in 0..20_000_u32 {
            let _ = limit.failed(IpAddr::from(i.to_be_bytes()), 0);
        }
        assert!(limit.addresses.len() <= ADDRESSES);
    }
}
