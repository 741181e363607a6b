//! Rate limits.

use encamp_model::SECOND;

/// A rate limit per second, with bursts.
#[derive(Debug)]
pub struct Rate {
    per_second: f64,
    burst: f64,
    left: f64,
    at: i64,
}

impl Rate {
    /// A limit of `per_second` with bursts of `burst`; both are at least 1.
    pub fn new(per_second: f64, burst: f64) -> Rate {
        let burst = burst.max(1.0);
        Rate { per_second: per_second.max(1.0), burst, left: burst, at: i64::MIN }
    }

    /// Counts one event. Returns how long to wait for it in nanoseconds. `now` is in Unix nanoseconds.
    pub fn take(&mut self, now: i64) -> i64 {
        self.take_as(now, 1.0)
    }

    /// Counts one event as several.
    pub(crate) fn take_as(&mut self, now: i64, several: f64) -> i64 {
        let passed = now.saturating_sub(self.at).max(0) as f64 / SECOND as f64;
        self.left = (self.left + passed * self.per_second).min(self.burst) - several;
        self.at = now;
        (-self.left.min(0.0) / self.per_second * SECOND as f64) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_allow_bursts() {
        let mut r = Rate::new(100.0, 3.0);
        assert_eq!([r.take(0), r.take(0), r.take(0)], [0, 0, 0]);
        assert_eq!([r.take(0), r.take(0)], [SECOND / 100, SECOND / 50]);
        assert_eq!(r.take(SECOND), 0);
        assert_eq!([r.take(SECOND), r.take(SECOND), r.take(SECOND)], [0, 0, SECOND / 100]);
        assert_eq!(r.take(0), SECOND / 50, "the clock may be set back");
        let mut r = Rate::new(100.0, 3.0);
        assert_eq!([r.take_as(0, 3.0), r.take_as(0, 2.0), r.take(0)], [0, SECOND / 50, SECOND * 3 / 100]);
    }
}
