//! A sorted map for the few named objects of an allocation.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thin_vec::ThinVec;

/// A map from names to values as a vector sorted by name. The tasks of an allocation are one or two, and there may be a
/// million allocations: a tree's first leaf has room for eleven and costs kilobytes each time.
#[derive(Clone, PartialEq)]
pub struct SortedMap<V> {
    entries: ThinVec<(String, V)>,
}

impl<V> Default for SortedMap<V> {
    fn default() -> Self {
        SortedMap { entries: ThinVec::new() }
    }
}

impl<V> SortedMap<V> {
    /// An empty map.
    pub fn new() -> SortedMap<V> {
        SortedMap::default()
    }

    fn find(&self, name: &str) -> Result<usize, usize> {
        self.entries.binary_search_by(|(n, _)| n.as_str().cmp(name))
    }

    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<&V> {
        self.find(name).ok().map(|i| &self.entries[i].1)
    }

    /// The value of a name, to be changed.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut V> {
        self.find(name).ok().map(|i| &mut self.entries[i].1)
    }

    /// Whether the name has a value.
    pub fn contains_key(&self, name: &str) -> bool {
        self.find(name).is_ok()
    }

    /// Sets a value; returns the one it replaces.
    pub fn insert(&mut self, name: String, value: V) -> Option<V> {
        match self.find(&name) {
            Ok(i) => Some(std::mem::replace(&mut self.entries[i].1, value)),
            Err(i) => {
                self.entries.insert(i, (name, value));
                None
            }
        }
    }

    /// Removes a name; returns its value.
    pub fn remove(&mut self, name: &str) -> Option<V> {
        self.find(name).ok().map(|i| self.entries.remove(i).1)
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Names and values by ascending name.
    pub fn iter(&self) -> Iter<'_, V> {
        self.into_iter()
    }

    /// Names and values by ascending name, values to be changed.
    pub fn iter_mut(&mut self) -> IterMut<'_, V> {
        self.into_iter()
    }

    /// The names, ascending.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &String> {
        self.entries.iter().map(|(n, _)| n)
    }

    /// The values by ascending name.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &V> {
        self.entries.iter().map(|(_, v)| v)
    }

    /// The values by ascending name, to be changed.
    pub fn values_mut(&mut self) -> impl ExactSizeIterator<Item = &mut V> {
        self.entries.iter_mut().map(|(_, v)| v)
    }
}

impl<V: fmt::Debug> fmt::Debug for SortedMap<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// Of equal names the last wins.
impl<V> FromIterator<(String, V)> for SortedMap<V> {
    fn from_iter<I: IntoIterator<Item = (String, V)>>(iter: I) -> Self {
        let mut out = SortedMap::default();
        out.extend(iter);
        out
    }
}

impl<V> Extend<(String, V)> for SortedMap<V> {
    fn extend<I: IntoIterator<Item = (String, V)>>(&mut self, iter: I) {
        let iter = iter.into_iter();
        self.entries.reserve_exact(iter.size_hint().0);
        for (n, v) in iter {
            self.insert(n, v);
        }
    }
}

impl<V, const N: usize> From<[(String, V); N]> for SortedMap<V> {
    fn from(entries: [(String, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

/// Names and values by ascending name.
pub(crate) type Iter<'a, V> =
    std::iter::Map<std::slice::Iter<'a, (String, V)>, fn(&'a (String, V)) -> (&'a String, &'a V)>;

impl<'a, V> IntoIterator for &'a SortedMap<V> {
    type Item = (&'a String, &'a V);
    type IntoIter = Iter<'a, V>;

    fn into_iter(self) -> Iter<'a, V> {
        self.entries.iter().map(|(n, v)| (n, v))
    }
}

/// Names and values by ascending name, values to be changed.
pub(crate) type IterMut<'a, V> =
    std::iter::Map<std::slice::IterMut<'a, (String, V)>, fn(&'a mut (String, V)) -> (&'a String, &'a mut V)>;

impl<'a, V> IntoIterator for &'a mut SortedMap<V> {
    type Item = (&'a String, &'a mut V);
    type IntoIter = IterMut<'a, V>;

    fn into_iter(self) -> IterMut<'a, V> {
        self.entries.iter_mut().map(|(n, v)| (&*n, v))
    }
}

impl<V> IntoIterator for SortedMap<V> {
    type Item = (String, V);
    type IntoIter = thin_vec::IntoIter<(String, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl<V: Serialize> Serialize for SortedMap<V> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_map(self)
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for SortedMap<V> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Members<V>(PhantomData<V>);
        impl<'de, V: Deserialize<'de>> Visitor<'de> for Members<V> {
            type Value = SortedMap<V>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut m: A) -> Result<SortedMap<V>, A::Error> {
                // Most maps have one entry; growing from one wastes nothing.
                let mut out = SortedMap { entries: ThinVec::with_capacity(1) };
                while let Some((n, v)) = m.next_entry()? {
                    out.insert(n, v);
                }
                out.entries.shrink_to_fit();
                Ok(out)
            }
        }
        d.deserialize_map(Members(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_the_last_value_wins() {
        let m: SortedMap<i64> = serde_json::from_str(r#"{"b": 1, "a": 2, "c": 3, "b": 4}"#).unwrap();
        assert_eq!(m.iter().map(|(n, v)| (n.as_str(), *v)).collect::<Vec<_>>(), [("a", 2), ("b", 4), ("c", 3)]);
        assert_eq!(serde_json::to_string(&m).unwrap(), r#"{"a":2,"b":4,"c":3}"#);
        assert_eq!((m.get("a"), m.get("c"), m.get("d")), (Some(&2), Some(&3), None));
    }

    #[test]
    fn values_can_be_changed_and_removed() {
        let mut m = SortedMap::from([("x".to_string(), 1)]);
        assert_eq!((m.insert("w".into(), 0), m.insert("x".into(), 5)), (None, Some(1)));
        m.values_mut().for_each(|v| *v += 1);
        assert_eq!((m.remove("w"), m.remove("w"), m.len()), (Some(1), None, 1));
        assert_eq!(m.into_iter().collect::<Vec<_>>(), [("x".to_string(), 6)]);
    }
}
