//! Aggregates of the values of a series: sums for the JSON format, a sketch of the distribution for quantiles.

use std::collections::BTreeMap;

/// Sums over values.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Aggregate {
    /// How many values.
    pub count: u64,
    /// Their sum.
    pub sum: f64,
    /// The sum of their squares.
    pub sum_of_squares: f64,
    /// The smallest one.
    pub min: f64,
    /// The largest one.
    pub max: f64,
    /// The newest one.
    pub last: f64,
}

impl Aggregate {
    /// Takes a value in.
    pub(crate) fn add(&mut self, value: f64) {
        self.min = if self.count == 0 { value } else { self.min.min(value) };
        self.max = if self.count == 0 { value } else { self.max.max(value) };
        self.count += 1;
        self.sum += value;
        self.sum_of_squares += value * value;
        self.last = value;
    }

    /// The mean; 0 without values.
    pub(crate) fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum / self.count as f64 }
    }

    /// The standard deviation of the sample (divided by n - 1); 0 for less than two values.
    pub(crate) fn deviation(&self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        let n = self.count as f64;
        let numerator = n * self.sum_of_squares - self.sum * self.sum;
        // Rounding can take equal values below zero.
        (numerator.max(0.0) / (n * (n - 1.0))).sqrt()
    }
}

/// Ratio of the borders of a bucket: quantiles are off by at most 1 %.
const RATIO: f64 = 1.02;
/// Smallest magnitude that is distinguished from 0.
const SMALLEST: f64 = 1e-9;

/// How values are distributed: a count for each bucket of an exponential scale, below zero mirrored.
#[derive(Debug, Clone, Default)]
pub(super) struct Sketch {
    buckets: BTreeMap<i32, u64>,
    count: u64,
}

impl Sketch {
    /// Takes a value in.
    pub(crate) fn add(&mut self, value: f64) {
        *self.buckets.entry(bucket(value)).or_default() += 1;
        self.count += 1;
    }

    /// The sum of two distributions.
    pub(crate) fn merged(&self, other: Option<&Sketch>) -> Sketch {
        let mut all = self.clone();
        for (bucket, n) in other.into_iter().flat_map(|o| &o.buckets) {
            *all.buckets.entry(*bucket).or_default() += n;
            all.count += n;
        }
        all
    }

    /// The value below which that share of values lies; none without values.
    pub(crate) fn quantile(&self, share: f64) -> Option<f64> {
        let rank = ((share * self.count as f64).ceil() as u64).max(1);
        let mut below = 0;
        for (bucket, n) in &self.buckets {
            below += n;
            if below >= rank {
                return Some(middle(*bucket));
            }
        }
        None
    }
}

fn bucket(value: f64) -> i32 {
    let size = value.abs();
    if size < SMALLEST {
        return 0;
    }
    let index = ((size.ln() - SMALLEST.ln()) / RATIO.ln()).floor() as i32 + 1;
    if value < 0.0 { -index } else { index }
}

/// The geometric middle of a bucket.
fn middle(bucket: i32) -> f64 {
    if bucket == 0 {
        return 0.0;
    }
    let size = (SMALLEST * RATIO.powf(f64::from(bucket.abs()) - 0.5)).min(f64::MAX);
    if bucket < 0 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_the_values() {
        let mut a = Aggregate::default();
        assert_eq!((a.mean(), a.deviation()), (0.0, 0.0));
        for v in [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0] {
            a.add(v);
        }
        assert_eq!((a.count, a.sum, a.min, a.max, a.last, a.mean()), (8, 40.0, 2.0, 9.0, 9.0, 5.0));
        assert!((a.deviation() - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
        let mut same = Aggregate::default();
        (0..3).for_each(|_| same.add(0.1));
        assert!(same.deviation() < 1e-8);
    }

    #[test]
    fn a_first_negative_value_is_minimum_and_maximum() {
        let mut a = Aggregate::default();
        a.add(-3.0);
        assert_eq!((a.min, a.max), (-3.0, -3.0));
    }

    #[test]
    fn quantiles_are_off_by_at_most_one_per_cent() {
        let mut s = Sketch::default();
        assert_eq!(s.quantile(0.5), None);
        (1..=1000).for_each(|v| s.add(f64::from(v) / 10.0));
        for (share, want) in [(0.5, 50.0), (0.9, 90.0), (0.99, 99.0), (0.0, 0.1), (1.0, 100.0)] {
            let got = s.quantile(share).expect("values");
            assert!((got / want - 1.0).abs() <= 0.0101, "{share}: {got}, not {want}");
        }
    }

    #[test]
    fn quantiles_order_values_below_zero_and_zeros() {
        let mut s = Sketch::default();
        [-100.0, -1.0, 0.0, 1.0, f64::MAX].iter().for_each(|v| s.add(*v));
        let got: Vec<f64> = [0.2, 0.4, 0.6, 0.8, 1.0].iter().filter_map(|q| s.quantile(*q)).collect();
        assert!(got.is_sorted() && got[2] == 0.0 && got[0] < -98.0 && got[1] > -1.02, "{got:?}");
        let twice = s.merged(Some(&s));
        assert_eq!(twice.count, 10);
        assert_eq!(twice.quantile(0.4), s.quantile(0.4));
    }
}
