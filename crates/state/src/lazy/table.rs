//! A table whose rows are decoded when they are read first: a sorted base that never changes, and what was written
//! since. A table without a base is a plain tree.

use std::fmt::Debug;
use std::ops::Bound;
use std::sync::{Arc, OnceLock};

use imbl::OrdMap;

/// Rows that are there already, by ascending key.
pub(crate) trait Base<K, V>: Debug + Send + Sync {
    /// How many there are.
    fn len(&self) -> usize;

    /// The key at a position; `None` beyond the last one. Keys ascend.
    fn key(&self, position: usize) -> Option<&K>;

    /// The value of that key.
    fn value(&self, position: usize) -> Option<&V>;
}

/// A persistent map. Cloning is cheap, and so is a write after it.
#[derive(Debug, Clone)]
pub(crate) enum Table<K: Ord, V> {
    /// All rows.
    Tree(OrdMap<K, V>),
    /// Rows of a base and what was written since.
    Lazy(Arc<Layers<K, V>>),
}

/// The parts of a table with a base.
#[derive(Debug, Clone)]
pub(crate) struct Layers<K: Ord, V> {
    base: Arc<dyn Base<K, V>>,
    /// The rows that were written since; `None`: removed.
    changed: OrdMap<K, Option<V>>,
    /// All rows, once somebody asked for all.
    all: OnceLock<OrdMap<K, V>>,
}

impl<K: Ord, V> Default for Table<K, V> {
    fn default() -> Self {
        Table::Tree(OrdMap::default())
    }
}

impl<K: Ord + Clone, V: Clone> Layers<K, V> {
    /// The position of the first key of the base that is not below a key.
    fn position(&self, key: &K) -> usize {
        let (mut low, mut high) = (0, self.base.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.base.key(middle).is_some_and(|other| other < key) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    fn is_based(&self, key: &K) -> bool {
        self.base.key(self.position(key)) == Some(key)
    }

    fn contains(&self, key: &K) -> bool {
        self.changed.get(key).map_or_else(|| self.is_based(key), Option::is_some)
    }

    fn based(&self, key: &K) -> Option<&V> {
        let position = self.position(key);
        if self.base.key(position) == Some(key) { self.base.value(position) } else { None }
    }

    fn get(&self, key: &K) -> Option<&V> {
        match self.changed.get(key) {
            Some(changed) => changed.as_ref(),
            None => self.based(key),
        }
    }

    fn all(&self) -> &OrdMap<K, V> {
        self.all.get_or_init(|| {
            let row = |i| Some((self.base.key(i)?.clone(), self.base.value(i)?.clone()));
            let mut all: OrdMap<K, V> = (0..self.base.len()).filter_map(row).collect();
            for (key, value) in &self.changed {
                match value {
                    Some(value) => drop(all.insert(key.clone(), value.clone())),
                    None => drop(all.remove(key)),
                }
            }
            all
        })
    }

    /// The rows that were written, to write more. Another holder may have asked for all rows meanwhile.
    fn changed(layers: &mut Arc<Self>) -> &mut OrdMap<K, Option<V>> {
        let layers = Arc::make_mut(layers);
        layers.all = OnceLock::new();
        &mut layers.changed
    }

    fn len(&self) -> usize {
        let new = self.changed.iter().filter(|(key, value)| value.is_some() && !self.is_based(key)).count();
        let gone = self.changed.iter().filter(|(key, value)| value.is_none() && self.is_based(key)).count();
        self.base.len() + new - gone
    }

    /// The rows from a key on, or all of them, decoded one by one.
    fn from(&self, first: Option<K>) -> impl Iterator<Item = (&K, &V)> {
        let mut next = first.as_ref().map_or(0, |first| self.position(first));
        let first = first.map_or(Bound::Unbounded, Bound::Included);
        let mut changed = self.changed.range((first, Bound::Unbounded)).peekable();
        std::iter::from_fn(move || {
            loop {
                let old = self.base.key(next);
                let new = changed.peek().map(|(key, _)| *key);
                if new.is_some_and(|new| old.is_none_or(|old| new <= old)) {
                    next += usize::from(new == old);
                    if let (key, Some(value)) = changed.next()? {
                        return Some((key, value));
                    }
                } else {
                    let row = (old?, self.base.value(next)?);
                    next += 1;
                    return Some(row);
                }
            }
        })
    }
}

impl<K: Ord + Clone, V: Clone> Table<K, V> {
    /// The rows of a base.
    pub(crate) fn of(base: Arc<dyn Base<K, V>>) -> Table<K, V> {
        Table::Lazy(Arc::new(Layers { base, changed: OrdMap::default(), all: OnceLock::new() }))
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Table::Tree(rows) => rows.len(),
            Table::Lazy(layers) => layers.all.get().map_or_else(|| layers.len(), OrdMap::len),
        }
    }

    /// A row.
    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        match self {
            Table::Tree(rows) => rows.get(key),
            Table::Lazy(layers) => layers.get(key),
        }
    }

    /// Whether there is a row. It is not decoded for that.
    pub(crate) fn contains(&self, key: &K) -> bool {
        match self {
            Table::Tree(rows) => rows.contains_key(key),
            Table::Lazy(layers) => layers.contains(key),
        }
    }

    /// All rows, decoded.
    pub(crate) fn tree(&self) -> &OrdMap<K, V> {
        match self {
            Table::Tree(rows) => rows,
            Table::Lazy(layers) => layers.all(),
        }
    }

    /// All keys, ascending. Rows of a base are not decoded for that as long as none was written since.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &K> {
        let (rows, base) = match self {
            Table::Lazy(layers) if layers.changed.is_empty() => (None, Some(&layers.base)),
            _ => (Some(self.tree()), None),
        };
        let based = base.into_iter().flat_map(|base| (0..base.len()).filter_map(|i| base.key(i)));
        rows.into_iter().flat_map(OrdMap::keys).chain(based)
    }

    /// All values by key. Those of a base are decoded one by one.
    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        let (rows, layers) = match self {
            Table::Tree(rows) => (Some(rows), None),
            Table::Lazy(layers) => match layers.all.get() {
                Some(rows) => (Some(rows), None),
                None => (None, Some(layers)),
            },
        };
        let lazy = layers.into_iter().flat_map(|layers| layers.from(None)).map(|(_, value)| value);
        rows.into_iter().flat_map(OrdMap::values).chain(lazy)
    }

    /// The rows from a key on. Those of a base are decoded one by one.
    pub(crate) fn from(&self, first: K) -> Box<dyn Iterator<Item = (&K, &V)> + '_> {
        match self {
            Table::Tree(rows) => Box::new(rows.range(first..)),
            Table::Lazy(layers) => match layers.all.get() {
                Some(rows) => Box::new(rows.range(first..)),
                None => Box::new(layers.from(Some(first))),
            },
        }
    }

    /// A table whose rows are all there needs its base no longer.
    fn settle(&mut self) {
        if let Table::Lazy(layers) = self
            && let Some(all) = layers.all.get()
        {
            *self = Table::Tree(all.clone());
        }
    }

    /// Adds or replaces a row; what was there before.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        self.settle();
        match self {
            Table::Tree(rows) => rows.insert(key, value),
            Table::Lazy(layers) => {
                let old = layers.get(&key).cloned();
                Layers::changed(layers).insert(key, Some(value));
                old
            }
        }
    }

    /// Removes a row.
    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        self.settle();
        match self {
            Table::Tree(rows) => rows.remove(key),
            Table::Lazy(layers) => {
                let old = layers.get(key).cloned()?;
                Layers::changed(layers).insert(key.clone(), None);
                Some(old)
            }
        }
    }

    /// A row to be changed.
    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.settle();
        match self {
            Table::Tree(rows) => rows.get_mut(key),
            Table::Lazy(layers) => {
                if !layers.changed.contains_key(key) {
                    let value = layers.based(key)?.clone();
                    Layers::changed(layers).insert(key.clone(), Some(value));
                }
                Layers::changed(layers).get_mut(key)?.as_mut()
            }
        }
    }
}

impl<K: Ord + Clone, V: Clone + Default> Table<K, V> {
    /// Changes a row, which is made before if it is not there.
    pub(crate) fn change(&mut self, key: K, change: impl FnOnce(&mut V)) {
        if let Table::Tree(rows) = self {
            return change(rows.entry(key).or_default());
        }
        match self.get_mut(&key) {
            Some(value) => change(value),
            None => {
                let mut value = V::default();
                change(&mut value);
                self.insert(key, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use encamp_model::random::Random;

    use super::*;

    #[derive(Debug)]
    struct Fixed(Vec<u64>, Vec<String>);

    impl Base<u64, String> for Fixed {
        fn len(&self) -> usize {
            self.0.len()
        }

        fn key(&self, position: usize) -> Option<&u64> {
            self.0.get(position)
        }

        fn value(&self, position: usize) -> Option<&String> {
            self.1.get(position)
        }
    }

    #[test]
    fn a_table_with_a_base_is_like_a_tree() {
        for seed in 0..200 {
            let mut random = Random::new(seed, "lazy table");
            let mut tree: OrdMap<u64, String> = OrdMap::default();
            for _ in 0..random.below(12) {
                let key = random.below(20);
                tree.insert(key, format!("base {key}"));
            }
            let base = Fixed(tree.keys().copied().collect(), tree.values().cloned().collect());
            let mut table = Table::of(Arc::new(base) as Arc<dyn Base<u64, String>>);
            for step in 0..30 {
                let (key, earlier, before) = (random.below(20), table.clone(), tree.clone());
                match random.below(6) {
                    0 => assert_eq!(table.insert(key, step.to_string()), tree.insert(key, step.to_string())),
                    1 => assert_eq!(table.remove(&key), tree.remove(&key)),
                    2 => {
                        let (a, b) = (table.get_mut(&key), tree.get_mut(&key));
                        assert_eq!(a, b);
                        a.into_iter().chain(b).for_each(|text| text.push('+'));
                    }
                    3 => {
                        table.change(key, |text| text.push('*'));
                        tree.entry(key).or_default().push('*');
                    }
                    4 if step > 20 => assert!(table.values().eq(tree.values())),
                    _ => assert_eq!(table.get(&key), tree.get(&key)),
                }
                assert_eq!(table.len(), tree.len(), "seed {seed}");
                assert_eq!(table.contains(&key), tree.contains_key(&key), "seed {seed}");
                assert!(table.from(key).eq(tree.range(key..)), "seed {seed}");
                assert!(earlier.keys().eq(before.keys()), "seed {seed}");
                assert!(earlier.from(0).eq(before.range(0..)), "a clone keeps its rows, seed {seed}");
            }
            assert!(table.keys().eq(tree.keys()), "seed {seed}");
            assert!(table.values().eq(tree.values()), "seed {seed}");
        }
    }
}
