//! Random choices from the project's generator.

use encamp_model::random::Random;

/// Short forms for drawing.
pub trait Dice {
    /// A number below `n`.
    fn roll(&mut self, n: usize) -> usize;
    /// One of the items.
    fn of<T: Clone>(&mut self, items: &[T]) -> T;
    /// True once in `n` times.
    fn one_in(&mut self, n: usize) -> bool {
        self.roll(n) == 0
    }
    /// A number in `low..=high`.
    fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.roll(usize::try_from(high - low + 1).expect("low <= high")) as i64
    }
    /// One of the texts.
    fn text(&mut self, items: &[&str]) -> String {
        let all: Vec<String> = items.iter().map(|s| s.to_string()).collect();
        self.of(&all)
    }
}

impl Dice for Random {
    fn roll(&mut self, n: usize) -> usize {
        self.below(n as u64) as usize
    }

    fn of<T: Clone>(&mut self, items: &[T]) -> T {
        self.pick(items).expect("something to pick from").clone()
    }
}
