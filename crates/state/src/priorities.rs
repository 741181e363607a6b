//! What the allocations of a node use, by priority: a search that may evict passes over nodes where not even all
//! allocations of lower priority together would give enough room.

use serde::{Deserialize, Serialize};

use super::usage::{AllocEntry, AllocUsage};

/// CPU, memory and disk of the live allocations of a node, by the priority of their jobs. Allocations without their job
/// are left out: nobody can judge them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageByPriority {
    /// By ascending priority.
    levels: Vec<Level>,
    /// A sum was too large once.
    inexact: bool,
}

/// The sums of one priority.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Level {
    priority: i64,
    count: usize,
    amounts: [i64; 3],
}

/// MHz, MB of memory and MB of disk; nothing instead of the negative amounts of broken records.
fn amounts(usage: &AllocUsage) -> [i64; 3] {
    [usage.cpu, usage.memory, usage.disk].map(|amount| amount.max(0))
}

impl UsageByPriority {
    /// The sums of live allocations.
    pub(super) fn of<'a>(entries: impl Iterator<Item = &'a AllocEntry>) -> UsageByPriority {
        let mut sums = UsageByPriority::default();
        entries.for_each(|entry| sums.add(entry));
        sums
    }

    /// Adds a live allocation.
    pub(super) fn add(&mut self, entry: &AllocEntry) {
        self.add_amounts(entry.alloc.job.as_ref().map(|job| job.priority), &entry.usage);
    }

    /// The same of an allocation whose job has that priority, if the job is known.
    pub(super) fn add_amounts(&mut self, priority: Option<i64>, usage: &AllocUsage) {
        let Some(priority) = priority else { return };
        let place = self.levels.binary_search_by_key(&priority, |level| level.priority);
        let i = place.unwrap_or_else(|i| {
            self.levels.insert(i, Level { priority, count: 0, amounts: [0; 3] });
            i
        });
        let Some(level) = self.levels.get_mut(i) else { return };
        level.count += 1;
        for (sum, amount) in level.amounts.iter_mut().zip(amounts(usage)) {
            match sum.checked_add(amount) {
                Some(larger) => *sum = larger,
                None => self.inexact = true,
            }
        }
    }

    /// Takes away an allocation that was added.
    pub(super) fn remove(&mut self, entry: &AllocEntry) {
        let Some(job) = &entry.alloc.job else { return };
        let Ok(i) = self.levels.binary_search_by_key(&job.priority, |level| level.priority) else { return };
        let Some(level) = self.levels.get_mut(i) else { return };
        level.count = level.count.saturating_sub(1);
        for (sum, amount) in level.amounts.iter_mut().zip(amounts(&entry.usage)) {
            *sum = sum.saturating_sub(amount);
        }
        if level.count == 0 {
            self.levels.remove(i);
        }
    }

    /// The sums over the priorities that are meant; `None` if they are too large.
    pub fn sum(&self, meant: impl Fn(i64) -> bool) -> Option<[i64; 3]> {
        let mut sums = [0_i64; 3];
        for level in self.levels.iter().filter(|level| meant(level.priority)) {
            for (sum, amount) in sums.iter_mut().zip(level.amounts) {
                *sum = sum.checked_add(amount)?;
            }
        }
        (!self.inexact).then_some(sums)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use encamp_model::random::Random;
    use encamp_model::{Allocation, Job};

    use super::*;

    fn entry(random: &mut Random) -> AllocEntry {
        let mut amount = || i64::try_from(random.below(5)).expect("small") * 100 - 100;
        let usage = AllocUsage { cpu: amount(), memory: amount(), disk: amount(), ..Default::default() };
        let priority = i64::try_from(random.below(4)).expect("small") * 10;
        let job = (random.below(5) > 0).then(|| Arc::new(Job { priority, ..Default::default() }));
        AllocEntry { usage, ..AllocEntry::new(Arc::new(Allocation { job, ..Default::default() })) }
    }

    #[test]
    fn sums_do_not_depend_on_what_came_and_went() {
        for seed in 0..200 {
            let mut random = Random::new(seed, "priorities");
            let (mut sums, mut there) = (UsageByPriority::default(), Vec::new());
            for _ in 0..40 {
                if there.is_empty() || random.below(3) > 0 {
                    let new = entry(&mut random);
                    sums.add(&new);
                    there.push(new);
                } else {
                    let gone = there.swap_remove(usize::try_from(random.below(there.len() as u64)).expect("small"));
                    sums.remove(&gone);
                }
                assert_eq!(sums, UsageByPriority::of(there.iter()), "seed {seed}");
            }
            let low = there.iter().filter(|e| e.alloc.job.as_ref().is_some_and(|j| j.priority <= 10));
            let cpu: i64 = low.map(|e| e.usage.cpu.max(0)).sum();
            assert_eq!(sums.sum(|priority| priority <= 10).map(|[cpu, ..]| cpu), Some(cpu), "seed {seed}");
        }
    }

    #[test]
    fn sums_that_are_too_large_are_not_told() {
        let usage = AllocUsage { cpu: i64::MAX, ..Default::default() };
        let alloc = Arc::new(Allocation { job: Some(Arc::new(Job::default())), ..Default::default() });
        let huge = AllocEntry { usage, ..AllocEntry::new(alloc) };
        let mut sums = UsageByPriority::of([&huge].into_iter());
        assert_eq!(sums.sum(|_| true), Some([i64::MAX, 0, 0]));
        sums.add(&huge);
        assert_eq!(sums.sum(|_| true), None);
    }
}
