//! Generates names, IDs and numbers from a seed, so that the same input gives the same result.
//!
//! This is no generator of the crate `rand`: recorded clusters, test seeds and scheduling results depend on its exact
//! numbers, which `rand` does not guarantee from one version to the next.

/// A stream of pseudo-random numbers.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The stream of a seed for one purpose; different purposes give unrelated streams.
    pub fn new(seed: u64, purpose: &str) -> Random {
        // FNV-1a over the purpose, so that streams of one seed differ.
        let salt =
            purpose.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
        Random(seed ^ salt)
    }

    /// The next number (SplitMix64).
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 for `n` 0. Close enough to uniform for `n` far below 2^64.
    pub fn below(&mut self, n: u64) -> u64 {
        self.number() % n.max(1)
    }

    /// One of the items; `None` of an empty list.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        let i = usize::try_from(self.below(u64::try_from(items.len()).ok()?)).ok()?;
        items.get(i)
    }

    /// Brings items into random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let bound = u64::try_from(last).unwrap_or(u64::MAX).saturating_add(1);
            items.swap(last, usize::try_from(self.below(bound)).unwrap_or(last));
        }
    }

    /// Six hex digits.
    pub fn hex6(&mut self) -> String {
        format!("{:06x}", self.number() & 0xff_ffff)
    }

    /// A UUID of random digits.
    pub fn uuid(&mut self) -> String {
        uuid::Uuid::from_u64_pair(self.number(), self.number()).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_repeat_and_differ_by_purpose() {
        let (mut a, mut b, mut c) = (Random::new(7, "x"), Random::new(7, "x"), Random::new(7, "y"));
        assert_eq!(a.uuid(), b.uuid());
        assert_ne!(a.hex6(), c.hex6());
        let id = a.uuid();
        assert_eq!(id.split('-').map(str::len).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
    }
}
