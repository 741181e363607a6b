//! Rate limits with bursts: token buckets.

use crate::SECOND;

/// A token bucket: tokens are added at a constant rate, up to a maximum. Times are in nanoseconds, from any origin.
#[derive(Debug, Clone)]
pub struct TokenBucket {
    /// The time in which one token is added.
    interval: i64,
    /// The maximum content. Contents are counted as the time in which they are added.
    burst: i64,
    /// The content; below 0 once more was taken than there was.
    content: i64,
    /// The last time at which tokens were added.
    at: Option<i64>,
}

impl TokenBucket {
    /// A full bucket of `burst` tokens to which `rate` tokens are added per second; both are at least 1.
    pub fn per_second(rate: f64, burst: f64) -> TokenBucket {
        TokenBucket::every((SECOND as f64 / rate.max(1.0)) as i64, burst)
    }

    /// A full bucket of `burst` tokens, at least 1, to which one token is added in each interval.
    pub fn every(interval: i64, burst: f64) -> TokenBucket {
        let burst = (burst.max(1.0) * interval as f64) as i64;
        TokenBucket { interval, burst, content: burst, at: None }
    }

    /// Takes some tokens, and returns how long to wait for them.
    pub fn take(&mut self, now: i64, tokens: f64) -> i64 {
        self.add(now);
        self.content = self.content.saturating_sub((tokens * self.interval as f64) as i64);
        self.content.min(0).saturating_neg()
    }

    /// Takes one token if there is one.
    pub fn try_take(&mut self, now: i64) -> bool {
        self.add(now);
        let enough = self.content >= self.interval;
        if enough {
            self.content -= self.interval;
        }
        enough
    }

    fn add(&mut self, now: i64) {
        let passed = now.saturating_sub(self.at.unwrap_or(now)).max(0);
        self.content = self.content.saturating_add(passed).min(self.burst);
        self.at = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MINUTE;

    #[test]
    fn taking_more_than_there_is_waits() {
        let mut b = TokenBucket::per_second(100.0, 3.0);
        let mut take = |now: i64| b.take(now, 1.0);
        assert_eq!([take(0), take(0), take(0)], [0, 0, 0]);
        assert_eq!([take(0), take(0)], [SECOND / 100, SECOND / 50]);
        assert_eq!(take(SECOND), 0);
        assert_eq!([take(SECOND), take(SECOND), take(SECOND)], [0, 0, SECOND / 100]);
        assert_eq!(take(0), SECOND / 50, "the clock may be set back");
        let mut b = TokenBucket::per_second(100.0, 3.0);
        assert_eq!([b.take(0, 3.0), b.take(0, 2.0), b.take(0, 1.0)], [0, SECOND / 50, SECOND * 3 / 100]);
    }

    #[test]
    fn an_empty_bucket_refuses_until_a_token_is_added() {
        let mut b = TokenBucket::every(MINUTE, 2.0);
        assert_eq!([b.try_take(7), b.try_take(7), b.try_take(7)], [true, true, false]);
        assert_eq!([b.try_take(6), b.try_take(MINUTE + 5), b.try_take(MINUTE + 6)], [false, false, true]);
        assert_eq!([b.try_take(9 * MINUTE), b.try_take(9 * MINUTE), b.try_take(9 * MINUTE)], [true, true, false]);
    }
}
