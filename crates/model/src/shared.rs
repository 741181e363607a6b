//! Parts of records that copies of the record share.

use std::collections::{BTreeMap, btree_map};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::sorted_map::SortedMap;

/// A large part of a record that seldom changes: a copy of the record shares it until one of the two is changed. Reads,
/// writes, compares and looks as the part itself.
#[derive(Clone, Default, PartialEq)]
pub struct Shared<T>(Arc<T>);

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(&mut self.0)
    }
}

impl<T> Shared<T> {
    /// Where the part is: the same for all copies that share it.
    pub fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }
}

impl<T: Clone> Shared<T> {
    /// The part itself; a copy if it is shared.
    pub fn into_inner(self) -> T {
        Arc::unwrap_or_clone(self.0)
    }
}

impl<T: fmt::Debug> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T> From<T> for Shared<T> {
    fn from(part: T) -> Shared<T> {
        Shared(Arc::new(part))
    }
}

impl<K: Ord, V, const N: usize> From<[(K, V); N]> for Shared<BTreeMap<K, V>> {
    fn from(entries: [(K, V); N]) -> Self {
        BTreeMap::from(entries).into()
    }
}

impl<A, T: FromIterator<A>> FromIterator<A> for Shared<T> {
    fn from_iter<I: IntoIterator<Item = A>>(items: I) -> Self {
        T::from_iter(items).into()
    }
}

impl<T> From<Arc<T>> for Shared<T> {
    fn from(part: Arc<T>) -> Shared<T> {
        Shared(part)
    }
}

impl<V, const N: usize> From<[(String, V); N]> for Shared<SortedMap<V>> {
    fn from(entries: [(String, V); N]) -> Self {
        SortedMap::from(entries).into()
    }
}

impl<'a, V> IntoIterator for &'a Shared<SortedMap<V>> {
    type Item = (&'a String, &'a V);
    type IntoIter = super::sorted_map::Iter<'a, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<'a, K, V> IntoIterator for &'a Shared<BTreeMap<K, V>> {
    type Item = (&'a K, &'a V);
    type IntoIter = btree_map::Iter<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<T: Serialize> Serialize for Shared<T> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(s)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Shared<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        T::deserialize(d).map(Shared::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_independent() {
        let a: Shared<BTreeMap<&str, i64>> = [("x", 1)].into();
        let mut b = a.clone();
        b.insert("y", 2);
        assert_eq!((a.len(), b.len()), (1, 2));
        assert_ne!(a, b);
        assert_eq!(serde_json::to_string(&b).unwrap(), r#"{"x":1,"y":2}"#);
        assert_eq!(serde_json::from_str::<Shared<BTreeMap<String, i64>>>(r#"{"x":1}"#).unwrap()["x"], 1);
        assert_eq!(format!("{a:?}"), r#"{"x": 1}"#);
        assert_eq!(b.into_inner().into_iter().collect::<Shared<BTreeMap<_, _>>>()["y"], 2);
    }
}
