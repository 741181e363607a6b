//! The order in which service and batch jobs visit candidate nodes: a shuffle seeded by the evaluation's ID and the
//! snapshot's index (`docs/spec/scheduling.md §3.2, 3.3`).

use super::ScheduleError;
use super::order_table::TABLE;

const LEN: usize = 607;
const MODULUS: u64 = 2_147_483_647;
const FACTOR: u64 = 48_271;
/// The factors of two and three steps at once.
const FACTOR_2: u64 = FACTOR * FACTOR % MODULUS;
const FACTOR_3: u64 = FACTOR_2 * FACTOR % MODULUS;

fn lcg(x: u64) -> u64 {
    FACTOR * x % MODULUS
}

/// Additive lagged Fibonacci generator with lags 607 and 273. All numbers of one round through the register are made at
/// once, none of which waits for the one before.
struct Generator {
    /// Elsewhere, so that the place stays in a register of the processor.
    register: Box<[u64; LEN]>,
    /// The place of the last number that was given; at [`FIRST`] the register is used up.
    place: usize,
}

/// Where a round begins; it goes down from there.
const FIRST: usize = 334;
const SHORT_LAG: usize = 273;

impl Generator {
    fn new(seed: i64) -> Generator {
        let mut x = match seed.rem_euclid(MODULUS as i64) as u64 {
            0 => 89_482_311,
            x => x,
        };
        for _ in 0..20 {
            x = lcg(x);
        }
        let mut register = Box::new([0; LEN]);
        for (slot, t) in register.iter_mut().zip(TABLE) {
            // All three from the last number: none waits for another.
            let (a, b) = (lcg(x), FACTOR_2 * x % MODULUS);
            x = FACTOR_3 * x % MODULUS;
            *slot = (a << 40 ^ b << 20 ^ x) ^ t;
        }
        Generator { register, place: FIRST }
    }

    /// The next number of each place, in the order in which they are given: a number is the sum of the one of its place
    /// and the one that was given 273 before.
    fn refill(&mut self) {
        let add = |numbers: &mut [u64], others: &[u64]| {
            numbers.iter_mut().zip(others).for_each(|(n, other)| *n = n.wrapping_add(*other));
        };
        let (low, high) = self.register.split_at_mut(FIRST);
        let (lowest, middle) = low.split_at_mut(FIRST - SHORT_LAG);
        add(middle, high);
        add(lowest, &middle[SHORT_LAG - lowest.len()..]);
        add(high, lowest);
        add(&mut high[lowest.len()..], middle);
    }

    fn next(&mut self) -> u64 {
        if self.place == FIRST {
            self.refill();
        }
        self.place = if self.place == 0 { LEN - 1 } else { self.place - 1 };
        self.register[self.place]
    }

    /// Uniform in `0..n`, `1 <= n < 2^31`.
    fn below(&mut self, n: u32) -> u32 {
        const END: u32 = 1 << 31;
        let mut int31 = || ((self.next() & (u64::MAX >> 1)) >> 32) as u32;
        if n.is_power_of_two() {
            return int31() & (n - 1);
        }
        loop {
            let v = int31();
            let below = v % n;
            // The numbers of the last round, where that is incomplete, are drawn again.
            if v - below <= END - n {
                return below;
            }
        }
    }
}

/// Shuffles candidates in place.
///
/// # Errors
/// [`ScheduleError::ShortId`]: the evaluation ID has fewer than eight bytes.
pub fn shuffle<T>(nodes: &mut [T], eval_id: &str, index: u64) -> Result<(), ScheduleError> {
    shuffle_by(nodes, seed(eval_id, index)?);
    Ok(())
}

/// The seed of an evaluation's shuffle.
///
/// # Errors
/// [`ScheduleError::ShortId`]: the evaluation ID has fewer than eight bytes.
pub(crate) fn seed(eval_id: &str, index: u64) -> Result<u64, ScheduleError> {
    let tail = eval_id.as_bytes().last_chunk::<8>();
    let tail = tail.ok_or_else(|| ScheduleError::ShortId(eval_id.to_string()))?;
    Ok((u64::from_be_bytes(*tail) ^ index) >> 2)
}

/// The places that so many candidates are taken from: `shuffled[i]` was at place `places[i]`.
pub fn places(seed: u64, count: usize) -> Vec<u32> {
    let mut places: Vec<u32> = (0..u32::try_from(count).unwrap_or(u32::MAX)).collect();
    shuffle_by(&mut places, seed);
    places
}

fn shuffle_by<T>(nodes: &mut [T], seed: u64) {
    let mut g = Generator::new(seed as i64);
    for n in (2..=u32::try_from(nodes.len()).unwrap_or(u32::MAX)).rev() {
        nodes.swap(n as usize - 1, g.below(n) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_outputs() {
        for (seed, want) in [
            (0, [0x78fc2ffac2fd9401u64, 0x1f5b0412ffd341c0, 0x53f65ff94f6ec873]),
            (1, [0x4d65822107fcfd52, 0x78629a0f5f3f164f, 0xd5104dc76695721d]),
            (42, [0xafbf64b1967f8c53, 0x8872b44b9fbb971b, 0x4d52f284145b9fe8]),
        ] {
            let mut g = Generator::new(seed);
            assert_eq!([g.next(), g.next(), g.next()], want);
        }
    }

    #[test]
    fn orders_of_the_specification() {
        let order = |id: &str, index, n: usize| {
            let mut v: Vec<usize> = (0..n).collect();
            shuffle(&mut v, id, index).unwrap();
            v
        };
        let id = "3f8e1c2a-7b4d-4e6f-9a0b-1c2d3e4f5a6b";
        assert_eq!(order(id, 0, 5), [4, 3, 0, 1, 2]);
        assert_eq!(order(id, 1000, 5), [4, 3, 1, 0, 2]);
        assert_eq!(order(id, 1001, 10), [1, 9, 2, 6, 0, 5, 3, 4, 8, 7]);
        assert_eq!(order("00000000-0000-0000-0000-000000000000", 42, 8), [4, 6, 2, 1, 3, 5, 7, 0]);
        assert!(shuffle(&mut [1, 2], "short", 0).is_err());
        for count in [0, 1, 2, 7, 100] {
            let candidates: Vec<usize> = (0..count).map(|n| n * 3).collect();
            let mut shuffled = candidates.clone();
            shuffle(&mut shuffled, id, 42).unwrap();
            let places = places(seed(id, 42).unwrap(), count);
            assert_eq!(places.iter().map(|p| candidates[*p as usize]).collect::<Vec<_>>(), shuffled);
        }
    }

    /// Recomputes the baked register: the generator's own state after N steps, by x^N mod (x^607 - x^334 - 1).
    #[test]
    fn table_is_the_register_after_many_steps() {
        let reduce_mul = |p: &[u64], q: &[u64]| -> Vec<u64> {
            let mut o = vec![0u64; 2 * LEN];
            for (i, a) in p.iter().enumerate().filter(|(_, a)| **a != 0) {
                for (j, b) in q.iter().enumerate() {
                    o[i + j] = o[i + j].wrapping_add(a.wrapping_mul(*b));
                }
            }
            for i in (LEN..2 * LEN).rev() {
                let v = std::mem::take(&mut o[i]);
                o[i - 273] = o[i - 273].wrapping_add(v);
                o[i - LEN] = o[i - LEN].wrapping_add(v);
            }
            o.truncate(LEN);
            o
        };
        let mut x = (0..20).fold(1, |x, _| lcg(x));
        let mut r = [0u64; LEN];
        for slot in &mut r {
            let a = lcg(x);
            let b = lcg(a);
            x = lcg(b);
            *slot = a << 20 ^ b << 10 ^ x;
        }
        let at = |k: i64| (334 - k).rem_euclid(LEN as i64) as usize;
        let n = 7_800_000_000_000i64;
        let (mut base, mut q) = (vec![0u64; LEN], vec![0u64; LEN]);
        base[1] = 1;
        q[0] = 1;
        let mut e = n;
        while e > 0 {
            if e & 1 == 1 {
                q = reduce_mul(&q, &base);
            }
            base = reduce_mul(&base, &base);
            e >>= 1;
        }
        let mut y: Vec<u64> = (-606..=0).map(|k| r[at(k)]).collect();
        for i in LEN..2 * LEN {
            y.push(y[i - LEN].wrapping_add(y[i - 273]));
        }
        for m in 0..LEN {
            let s = q.iter().enumerate().fold(0u64, |s, (i, c)| s.wrapping_add(c.wrapping_mul(y[m + i])));
            assert_eq!(TABLE[at(n + m as i64 - 606)], s);
        }
        assert_eq!(TABLE.iter().fold(0, |a, b| a ^ b), 0x3d3c_2132_918f_7b5b);
    }
}
