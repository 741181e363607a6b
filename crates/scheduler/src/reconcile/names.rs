//! Allocation names: which indexes of a group are in use (`docs/spec/reconciliation.md §5.9`).

use std::collections::{BTreeSet, HashMap, HashSet};

/// The used indexes of a group's names, and how often one is used more than once.
#[derive(Debug, Clone)]
pub struct NameIndex {
    prefix: String,
    count: usize,
    used: BTreeSet<usize>,
    duplicates: HashMap<usize, usize>,
}

impl NameIndex {
    /// The index of a group that wants `count` allocations and has allocations with the given indexes.
    pub fn new(job_id: &str, group: &str, count: usize, taken: impl IntoIterator<Item = usize>) -> NameIndex {
        let mut index = NameIndex {
            prefix: format!("{job_id}.{group}["),
            count,
            used: BTreeSet::new(),
            duplicates: HashMap::new(),
        };
        for i in taken {
            if !index.used.insert(i) {
                *index.duplicates.entry(i).or_default() += 1;
            }
        }
        index
    }

    fn name(&self, i: usize) -> String {
        format!("{}{i}]", self.prefix)
    }

    /// Takes the lowest `n` free names; when they run out, 0, 1, 2 … again.
    pub fn next(&mut self, n: usize) -> Vec<String> {
        let free: Vec<usize> = (0..self.count).filter(|i| !self.used.contains(i)).take(n).collect();
        let missing = n - free.len();
        let taken: Vec<usize> = free.into_iter().chain(0..missing).collect();
        self.used.extend(&taken);
        taken.into_iter().map(|i| self.name(i)).collect()
    }

    /// Takes `n` names for canaries: those of the allocations that are to be replaced first, then free ones, then
    /// ones past the count. Names of existing canaries are left out.
    pub(crate) fn next_canaries(
        &mut self,
        n: usize,
        existing: &HashSet<&str>,
        destructive: &BTreeSet<usize>,
    ) -> Vec<String> {
        let mut out = Vec::new();
        let mut taken = Vec::new();
        let replaced = destructive.range(..self.count).copied();
        let free = (0..self.count).filter(|i| !self.used.contains(i) && !destructive.contains(i));
        for i in replaced.chain(free) {
            if out.len() == n {
                break;
            }
            let name = self.name(i);
            if !existing.contains(name.as_str()) {
                out.push(name);
                taken.push(i);
            }
        }
        self.used.extend(taken);
        out.extend((self.count..).take(n - out.len()).map(|i| format!("{}{i}]", self.prefix)));
        out
    }

    /// Frees the `n` highest used names and returns them; fewer if fewer are used.
    pub fn highest(&mut self, n: usize) -> HashSet<String> {
        let top: Vec<usize> = self.used.iter().rev().take(n).copied().collect();
        for i in &top {
            self.used.remove(i);
        }
        top.into_iter().map(|i| self.name(i)).collect()
    }

    /// Replaces a name that two allocations have by a free one.
    pub(crate) fn make_unique(&mut self, name: &mut String) {
        let number = name.strip_prefix(&self.prefix).and_then(|rest| rest.strip_suffix(']'));
        let i = number.and_then(|n| n.parse().ok()).unwrap_or(0);
        if self.duplicates.get(&i).is_some_and(|n| *n > 0) {
            if let Some(free) = self.next(1).pop() {
                *name = free;
            }
            self.unset(i);
        }
    }

    /// One allocation less has that index.
    pub fn unset(&mut self, i: usize) {
        match self.duplicates.get_mut(&i) {
            Some(n) if *n > 0 => *n -= 1,
            _ => {
                self.used.remove(&i);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(count: usize, taken: &[usize]) -> NameIndex {
        NameIndex::new("web", "g", count, taken.iter().copied())
    }

    #[test]
    fn free_names_come_lowest_first_and_then_overlap() {
        let mut x = index(4, &[1]);
        assert_eq!(x.next(2), ["web.g[0]", "web.g[2]"]);
        assert_eq!(x.next(3), ["web.g[3]", "web.g[0]", "web.g[1]"]);
    }

    #[test]
    fn canaries_take_the_names_of_what_they_replace() {
        let destructive = BTreeSet::from([1, 2]);
        let mut x = index(3, &[0, 1, 2]);
        assert_eq!(x.next_canaries(1, &HashSet::new(), &destructive), ["web.g[1]"]);
        let existing = HashSet::from(["web.g[1]"]);
        assert_eq!(x.next_canaries(3, &existing, &destructive), ["web.g[2]", "web.g[3]", "web.g[4]"]);
        let mut y = index(3, &[1, 2]);
        assert_eq!(y.next_canaries(3, &HashSet::new(), &destructive), ["web.g[1]", "web.g[2]", "web.g[0]"]);
    }

    #[test]
    fn highest_names_are_freed() {
        let mut x = index(3, &[0, 1, 4]);
        assert_eq!(x.highest(2), HashSet::from(["web.g[4]".to_string(), "web.g[1]".to_string()]));
        assert_eq!(x.next(2), ["web.g[1]", "web.g[2]"]);
        assert_eq!(index(3, &[]).highest(2), HashSet::new());
    }

    #[test]
    fn duplicates_are_counted_down_before_a_name_is_free() {
        let mut x = index(2, &[0, 0]);
        let mut name = "web.g[0]".to_string();
        x.make_unique(&mut name);
        assert_eq!(name, "web.g[1]");
        name = "web.g[0]".to_string();
        x.make_unique(&mut name);
        assert_eq!(name, "web.g[0]");
        x.unset(0);
        assert_eq!(x.next(1), ["web.g[0]"]);
    }
}
