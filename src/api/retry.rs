//! When a read is tried again.

use std::time::Duration;

/// Attempts at a read, the first included.
pub const ATTEMPTS: u32 = 5;
const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);

/// The pause after a failed attempt (1 is the first): twice as long each time, and as long as the server asks for.
pub fn pause(attempt: u32, asked: Option<Duration>) -> Duration {
    let own = FIRST.saturating_mul(1 << attempt.saturating_sub(1).min(16));
    own.max(asked.unwrap_or_default()).min(LONGEST)
}

/// The pause a `Retry-After` header asks for; dates are not understood.
pub fn asked(header: Option<&str>) -> Option<Duration> {
    header?.trim().parse().ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_end() {
        let ms: Vec<u128> = (1..=8).map(|n| pause(n, None).as_millis()).collect();
        assert_eq!(ms, [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
        assert_eq!(pause(1, asked(Some(" 2 "))), Duration::from_secs(2));
        assert_eq!(pause(1, asked(Some("3600"))), LONGEST);
        assert_eq!(asked(Some("Wed, 21 Oct 2026 07:28:00 GMT")), None);
        assert_eq!(pause(u32::MAX, None), LONGEST);
    }
}
