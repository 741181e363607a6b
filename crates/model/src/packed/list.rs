//! Lists of small records as bytes.

use std::fmt;
use std::marker::PhantomData;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::codec::{Reader, Writer};

/// A record that a [`PackedList`] keeps as bytes.
pub trait Pack: Sized {
    /// Texts that many of these records have: numbers below 32 take a byte.
    const FREQUENT: &'static [&'static str];

    /// Appends the record.
    fn write<'a>(&'a self, w: &mut Writer<'a>);

    /// Takes a record.
    fn read(r: &mut Reader<'_>) -> Self;
}

/// A list of records in a few dozen bytes. Looks as a vector when it is written, read, compared and printed; the records
/// are made when they are asked for.
#[derive(Clone, PartialEq)]
pub struct PackedList<T> {
    bytes: Box<[u8]>,
    of: PhantomData<T>,
}

impl<T> Default for PackedList<T> {
    fn default() -> PackedList<T> {
        PackedList { bytes: Box::default(), of: PhantomData }
    }
}

impl<T: Pack> PackedList<T> {
    fn reader(&self) -> Reader<'_> {
        Reader::new(&self.bytes, T::FREQUENT)
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.reader().count()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The records.
    pub fn iter(&self) -> PackedListIter<'_, T> {
        let mut rest = self.reader();
        PackedListIter { left: rest.count(), rest, of: PhantomData }
    }

    /// The first record.
    pub fn first(&self) -> Option<T> {
        self.iter().next()
    }

    /// How many bytes are kept on the heap.
    pub fn packed_len(&self) -> usize {
        self.bytes.len()
    }

    /// Appends a record.
    pub fn push(&mut self, record: T) {
        *self = self.iter().chain([record]).collect();
    }
}

/// The records of a list: see [`PackedList::iter`].
#[derive(Debug, Clone)]
pub struct PackedListIter<'a, T> {
    left: usize,
    rest: Reader<'a>,
    of: PhantomData<T>,
}

impl<T: Pack> Iterator for PackedListIter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.left = self.left.checked_sub(1)?;
        Some(T::read(&mut self.rest))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<T: Pack> ExactSizeIterator for PackedListIter<'_, T> {}

impl<T: Pack> From<Vec<T>> for PackedList<T> {
    fn from(records: Vec<T>) -> PackedList<T> {
        if records.is_empty() {
            return PackedList::default();
        }
        let mut w = Writer::new(T::FREQUENT, 64);
        w.count(records.len());
        records.iter().for_each(|record| record.write(&mut w));
        PackedList { bytes: w.finish().into_boxed_slice(), of: PhantomData }
    }
}

impl<T: Pack> FromIterator<T> for PackedList<T> {
    fn from_iter<I: IntoIterator<Item = T>>(records: I) -> PackedList<T> {
        records.into_iter().collect::<Vec<_>>().into()
    }
}

impl<'a, T: Pack> IntoIterator for &'a PackedList<T> {
    type Item = T;
    type IntoIter = PackedListIter<'a, T>;

    fn into_iter(self) -> PackedListIter<'a, T> {
        self.iter()
    }
}

impl<T: Pack + fmt::Debug> fmt::Debug for PackedList<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

impl<T: Pack + Serialize> Serialize for PackedList<T> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_seq(self)
    }
}

impl<'de, T: Pack + Deserialize<'de>> Deserialize<'de> for PackedList<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<PackedList<T>, D::Error> {
        Vec::deserialize(d).map(|records: Vec<T>| records.into())
    }
}
