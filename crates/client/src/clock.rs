//! The clock and the random numbers that the runners pass to the pure parts.

use std::io::Read;
use std::time::{SystemTime, UNIX_EPOCH};

use encamp_model::random::Random;

/// Unix nanoseconds.
pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// Bytes nobody can guess.
pub(crate) fn random_bytes<const N: usize>() -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// A generator for jitter, from a fixed seed or from an unknown one.
pub fn generator(seed: Option<u64>, purpose: &str) -> Random {
    let seed = seed.or_else(|| random_bytes().ok().map(u64::from_le_bytes));
    // Without a source of randomness the clock is better than nothing: this is jitter only.
    Random::new(seed.unwrap_or_else(|| now().cast_unsigned()), purpose)
}

/// A new UUID.
pub fn uuid() -> std::io::Result<String> {
    let b: [u8; 16] = random_bytes()?;
    let hex: String = b.iter().map(|b| format!("{b:02x}")).collect();
    let parts: Vec<&str> = [0..8, 8..12, 12..16, 16..20, 20..32].into_iter().filter_map(|r| hex.get(r)).collect();
    Ok(parts.join("-"))
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
