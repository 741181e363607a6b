//! The server's clock, IDs and random numbers: everything below takes them as arguments.

use std::sync::OnceLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::simulation;

/// Now, in Unix nanoseconds.
pub fn now() -> i64 {
    if let Some(simulation) = simulation::current() {
        return simulation.now();
    }
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// Nanoseconds of a clock that nobody sets, for timers: the time of [`now`] when it was first asked, and what has passed
/// since. It differs from [`now`] once the machine's clock is set.
pub fn steady() -> i64 {
    static START: OnceLock<(i64, Instant)> = OnceLock::new();
    if let Some(simulation) = simulation::current() {
        return simulation.steady();
    }
    let (time, instant) = START.get_or_init(|| (now(), Instant::now()));
    time.saturating_add(i64::try_from(instant.elapsed().as_nanos()).unwrap_or(i64::MAX))
}

/// A random number from the operating system.
pub fn random() -> u64 {
    let mut bytes = [0u8; 8];
    fill(&mut bytes);
    u64::from_le_bytes(bytes)
}

/// A random number below `n`; 0 if `n` is 0.
pub fn random_below(n: u64) -> u64 {
    random().checked_rem(n).unwrap_or(0)
}

/// A random UUID (version 4).
pub fn uuid() -> String {
    let mut bytes = [0u8; 16];
    fill(&mut bytes);
    uuid_of(bytes)
}

/// The UUID (version 4) of random bytes.
pub fn uuid_of(bytes: [u8; 16]) -> String {
    uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
}

/// Whether a text is a UUID with its hyphens.
pub fn is_uuid(text: &str) -> bool {
    let fits = |(i, b): (usize, u8)| if matches!(i, 8 | 13 | 18 | 23) { b == b'-' } else { b.is_ascii_hexdigit() };
    text.len() == 36 && text.bytes().enumerate().all(fits)
}

/// Fills with bytes from the operating system, for secrets.
///
/// # Errors
/// It has none.
pub fn secret(bytes: &mut [u8]) -> Result<(), getrandom::Error> {
    if let Some(simulation) = simulation::current() {
        simulation.fill(bytes);
        return Ok(());
    }
    getrandom::fill(bytes)
}

/// Fills with bytes from the operating system. Should it ever have none, the clock and the place of the buffer stand
/// in.
fn fill(bytes: &mut [u8]) {
    if secret(bytes).is_err() {
        let mut r = encamp_model::random::Random::new(now().unsigned_abs() ^ bytes.as_ptr() as u64, "fallback");
        bytes.iter_mut().for_each(|b| *b = r.number().to_le_bytes()[0]);
    }
}
