//! How nil, empty and absent values cross the JSON border.
//!
//! The API writes empty lists and maps as `null` and reads `null` as the zero value; the helpers here give plain Rust
//! fields that behaviour. Where a client can tell null from empty, the field is an `Option` instead.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Reads `null` (and, with `#[serde(default)]` on the container, an absent key) as the default value.
pub fn or_default<'de, D, T>(d: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::<T>::deserialize(d)?.unwrap_or_default())
}

/// True for the default value; used to leave zero fields out.
pub fn is_default<T: Default + PartialEq>(v: &T) -> bool {
    *v == T::default()
}

/// Collections that are written as `null` when empty and read from `null`.
pub mod nil {
    use super::*;

    /// Writes an empty collection as `null`.
    pub fn serialize<S, T>(v: &T, s: S) -> Result<S::Ok, S::Error>
    where
        S: Serializer,
        T: Serialize,
        for<'a> &'a T: IntoIterator,
    {
        if v.into_iter().next().is_none() { s.serialize_none() } else { v.serialize(s) }
    }

    /// Reads `null` as the empty collection.
    pub fn deserialize<'de, D, T>(d: D) -> Result<T, D::Error>
    where
        D: Deserializer<'de>,
        T: Deserialize<'de> + Default,
    {
        or_default(d)
    }
}

/// Maps of objects: an empty map is written as `null`; a `null` map and a `null` entry read as the default.
pub mod nil_entries {
    use std::collections::BTreeMap;

    pub use super::nil::serialize;
    use super::*;

    /// Reads `null` as the empty map and a `null` entry as the default value.
    pub fn deserialize<'de, D, T>(d: D) -> Result<BTreeMap<String, T>, D::Error>
    where
        D: Deserializer<'de>,
        T: Deserialize<'de> + Default,
    {
        let map: Option<BTreeMap<String, Option<T>>> = Deserialize::deserialize(d)?;
        Ok(map.into_iter().flatten().map(|(k, v)| (k, v.unwrap_or_default())).collect())
    }
}

/// Maps of lists: the map and each list is written as `null` when empty and read from `null`.
pub mod nil_lists {
    use std::collections::BTreeMap;

    use super::*;

    /// Writes empty collections as `null`.
    pub fn serialize<S, T>(map: &BTreeMap<String, Vec<T>>, s: S) -> Result<S::Ok, S::Error>
    where
        S: Serializer,
        T: Serialize,
    {
        if map.is_empty() {
            return s.serialize_none();
        }
        s.collect_map(map.iter().map(|(k, v)| (k, if v.is_empty() { None } else { Some(v) })))
    }

    /// Reads `null` as the empty collection.
    pub fn deserialize<'de, D, T>(d: D) -> Result<BTreeMap<String, Vec<T>>, D::Error>
    where
        D: Deserializer<'de>,
        T: Deserialize<'de>,
    {
        let map: Option<BTreeMap<String, Option<Vec<T>>>> = Deserialize::deserialize(d)?;
        Ok(map.into_iter().flatten().map(|(k, v)| (k, v.unwrap_or_default())).collect())
    }
}
