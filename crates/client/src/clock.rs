//! The clock and the random numbers that the runners pass to the pure parts.

use std::time::{SystemTime, UNIX_EPOCH};

use encamp_model::random::Random;

/// Unix nanoseconds.
pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// A generator for jitter, from a fixed seed or from an unknown one.
pub fn generator(seed: Option<u64>, purpose: &str) -> Random {
    let seed = seed.or_else(|| getrandom::u64().ok());
    // Without a source of randomness the clock is better than nothing: this is jitter only.
    Random::new(seed.unwrap_or_else(|| now().cast_unsigned()), purpose)
}

/// A random UUID (version 4).
///
/// # Errors
/// The system has no random bytes.
pub fn uuid() -> std::io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    Ok(uuid::Builder::from_random_bytes(bytes).into_uuid().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_differ() {
        let (a, b) = (uuid().unwrap(), uuid().unwrap());
        assert_ne!(a, b);
        assert_eq!(a.split('-').map(str::len).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
        assert!(now() > 0);
    }
}
