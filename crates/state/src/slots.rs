//! Values by slot: an array of blocks. Cloning is cheap, and so is a write after it. Searches read values in random
//! order, which takes two steps here.

use std::sync::Arc;

/// The slot of nodes that are not stored.
pub(crate) const NO_SLOT: u32 = u32::MAX;
/// Values per block: a write after a clone copies one block, and the list of all.
const BLOCK: usize = 128;

/// A persistent array.
#[derive(Debug, Clone)]
pub(super) struct Slots<T> {
    /// All but the last are full.
    blocks: Arc<Vec<Arc<[T]>>>,
    len: usize,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Slots { blocks: Arc::default(), len: 0 }
    }
}

impl<T> FromIterator<T> for Slots<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let (mut values, mut blocks, mut len) = (values.into_iter(), Vec::new(), 0);
        loop {
            let block: Arc<[T]> = values.by_ref().take(BLOCK).collect();
            if block.is_empty() {
                return Slots { blocks: Arc::new(blocks), len };
            }
            len += block.len();
            blocks.push(block);
        }
    }
}

impl<T: Clone> Slots<T> {
    /// These values, the first one in slot 0.
    pub(super) fn of(values: Vec<T>) -> Slots<T> {
        let len = values.len();
        let mut values = values.into_iter();
        let blocks = (0..len.div_ceil(BLOCK)).map(|_| values.by_ref().take(BLOCK).collect());
        Slots { blocks: Arc::new(blocks.collect()), len }
    }

    /// How many values there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The value in a slot.
    pub(super) fn get(&self, slot: usize) -> Option<&T> {
        self.blocks.get(slot / BLOCK)?.get(slot % BLOCK)
    }

    /// The value in a slot, to be changed.
    pub(super) fn get_mut(&mut self, slot: usize) -> Option<&mut T> {
        let block = Arc::make_mut(&mut self.blocks).get_mut(slot / BLOCK)?;
        Arc::make_mut(block).get_mut(slot % BLOCK)
    }

    /// Stores a value in a slot that is in use, or in the next one.
    pub(super) fn set(&mut self, slot: usize, value: T) {
        if let Some(stored) = self.get_mut(slot) {
            *stored = value;
            return;
        }
        let blocks = Arc::make_mut(&mut self.blocks);
        let last = if self.len.is_multiple_of(BLOCK) { None } else { blocks.pop() };
        blocks.push(last.iter().flat_map(|block| block.iter()).cloned().chain([value]).collect());
        self.len += 1;
    }

    /// All values by slot.
    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.blocks.iter().flat_map(|block| block.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_keep_their_values() {
        let mut slots = Slots::default();
        let mut plain = Vec::new();
        let mut clones = Vec::new();
        for n in 0..3 * BLOCK + 5 {
            slots.set(n, n);
            plain.push(n);
            if n % 50 == 0 {
                slots.set(n / 2, n + 1000);
                plain[n / 2] = n + 1000;
                clones.push((slots.clone(), plain.clone()));
            }
        }
        if let Some(first) = slots.get_mut(0) {
            *first = 7;
        }
        plain[0] = 7;
        assert_eq!(Slots::of(plain.clone()).iter().copied().collect::<Vec<_>>(), plain);
        for (slots, plain) in clones.into_iter().chain([(slots, plain)]) {
            assert_eq!(slots.iter().copied().collect::<Vec<_>>(), plain);
            assert_eq!((slots.len(), slots.get(0), slots.get(plain.len())), (plain.len(), plain.first(), None));
        }
    }
}
