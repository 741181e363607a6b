//! Sets of a group's allocations.

/// Positions in the group's list of allocations, ascending. As the list is ordered by allocation ID, so is every set.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Set(Vec<usize>);

impl Set {
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        self.0.iter().copied()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn contains(&self, i: usize) -> bool {
        self.0.binary_search(&i).is_ok()
    }

    pub(super) fn retain(&mut self, mut keep: impl FnMut(usize) -> bool) {
        self.0.retain(|i| keep(*i));
    }

    /// Removes the members of `other`.
    pub(super) fn remove_all(&mut self, other: &Set) {
        if !other.is_empty() {
            self.0.retain(|i| !other.contains(*i));
        }
    }

    /// Adds the members of `other`.
    pub(super) fn add_all(&mut self, other: &Set) {
        if !other.is_empty() {
            self.0.extend_from_slice(&other.0);
            self.0.sort_unstable();
            self.0.dedup();
        }
    }
}

impl FromIterator<usize> for Set {
    fn from_iter<T: IntoIterator<Item = usize>>(iter: T) -> Set {
        let mut v: Vec<usize> = iter.into_iter().collect();
        v.sort_unstable();
        v.dedup();
        Set(v)
    }
}
