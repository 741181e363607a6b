//! Conversion of nil, empty and absent values from and to JSON.
//!
//! The API writes empty lists and maps as `null` and reads `null` as the zero value; the helpers here give plain Rust
//! fields that behaviour. Where a client can tell null from empty, the field is an `Option` instead.

use std::collections::BTreeSet;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

pub use encamp_derive::null_is_default;

/// Reads `null` (and, with `#[serde(default)]` on the container, an absent key) as the default value.
pub fn or_default<'de, D, T>(d: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::<T>::deserialize(d)?.unwrap_or_default())
}

/// Reads a number of a narrower type than the field's, so that the range of that type is checked. `null` is 0.
pub fn narrow<'de, N, T, D>(d: D) -> Result<T, D::Error>
where
    N: Deserialize<'de> + Default,
    T: From<N>,
    D: Deserializer<'de>,
{
    or_default::<D, N>(d).map(T::from)
}

/// As [`narrow`], where null is something else than 0.
pub(crate) fn narrow_option<'de, N, T, D>(d: D) -> Result<Option<T>, D::Error>
where
    N: Deserialize<'de>,
    T: From<N>,
    D: Deserializer<'de>,
{
    Ok(Option::<N>::deserialize(d)?.map(T::from))
}

/// As [`narrow`] for lists; `null` is the empty list.
pub(crate) fn narrow_list<'de, N, T, D>(d: D) -> Result<Vec<T>, D::Error>
where
    N: Deserialize<'de>,
    T: From<N>,
    D: Deserializer<'de>,
{
    Ok(or_default::<D, Vec<N>>(d)?.into_iter().map(T::from).collect())
}

/// Durations that the API writes as text, `""` for none: `1h30m0s`. Read from text, from nanoseconds, and from `null`.
pub(crate) mod duration_text {
    use super::super::duration::parse_duration;
    use super::super::time::format_duration;
    use super::*;

    /// Writes nanoseconds as text.
    pub(crate) fn serialize<S: Serializer>(nanos: &i64, s: S) -> Result<S::Ok, S::Error> {
        if *nanos == 0 { s.serialize_str("") } else { s.collect_str(&format_duration(*nanos)) }
    }

    /// Reads nanoseconds.
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<i64, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Nanos(i64),
            Text(String),
        }
        if !d.is_human_readable() {
            return or_default(d);
        }
        match Option::<Either>::deserialize(d)? {
            None => Ok(0),
            Some(Either::Nanos(nanos)) => Ok(nanos),
            Some(Either::Text(text)) if text.is_empty() => Ok(0),
            Some(Either::Text(text)) => parse_duration(&text).map_err(serde::de::Error::custom),
        }
    }
}

/// Times of objects that the API never writes as `null`: the zero time is `0001-01-01T00:00:00Z`.
pub(crate) mod time_text {
    use super::super::time::Time;
    use super::*;

    /// Writes a time as text.
    pub(crate) fn serialize<S: Serializer>(time: &Time, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(time)
    }

    /// Reads a time as everywhere.
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Time, D::Error> {
        Time::deserialize(d)
    }
}

/// True for the default value; used to leave zero fields out.
pub fn is_default<T: Default + PartialEq>(v: &T) -> bool {
    *v == T::default()
}

/// A place at which two documents differ.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference<'a> {
    /// Its path, such as `.TaskGroups[0].Name`; empty if the documents themselves differ.
    pub path: String,
    /// The first document's value; null if it has none.
    pub left: &'a Value,
    /// The second document's value; null if it has none.
    pub right: &'a Value,
}

/// The places at which two documents differ. Lists of different lengths are one difference.
pub fn differences<'a>(left: &'a Value, right: &'a Value) -> Vec<Difference<'a>> {
    let mut out = Vec::new();
    add_differences(String::new(), left, right, &mut out);
    out
}

fn add_differences<'a>(path: String, left: &'a Value, right: &'a Value, out: &mut Vec<Difference<'a>>) {
    match (left, right) {
        (Value::Object(a), Value::Object(b)) => {
            for key in a.keys().chain(b.keys()).collect::<BTreeSet<_>>() {
                let member = |object: &'a Map<String, Value>| object.get(key).unwrap_or(&Value::Null);
                add_differences(format!("{path}.{key}"), member(a), member(b), out);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (at, (a, b)) in a.iter().zip(b).enumerate() {
                add_differences(format!("{path}[{at}]"), a, b, out);
            }
        }
        _ if left == right => {}
        _ => out.push(Difference { path, left, right }),
    }
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
pub(crate) mod nil_entries {
    use std::collections::BTreeMap;

    use super::super::shared::Shared;
    pub(crate) use super::nil::serialize;
    use super::*;

    /// Reads `null` as the empty map and a `null` entry as the default value.
    pub(crate) fn deserialize<'de, D, T>(d: D) -> Result<BTreeMap<String, T>, D::Error>
    where
        D: Deserializer<'de>,
        T: Deserialize<'de> + Default,
    {
        let map: Option<BTreeMap<String, Option<T>>> = Deserialize::deserialize(d)?;
        Ok(map.into_iter().flatten().map(|(k, v)| (k, v.unwrap_or_default())).collect())
    }

    /// The same for a map that copies share.
    pub(crate) fn shared<'de, D, T>(d: D) -> Result<Shared<BTreeMap<String, T>>, D::Error>
    where
        D: Deserializer<'de>,
        T: Deserialize<'de> + Default,
    {
        deserialize(d).map(Shared::from)
    }
}

/// Maps of lists: the map and each list is written as `null` when empty and read from `null`.
pub(crate) mod nil_lists {
    use std::collections::BTreeMap;

    use super::*;

    /// Writes empty collections as `null`.
    pub(crate) fn serialize<S, T>(map: &BTreeMap<String, Vec<T>>, s: S) -> Result<S::Ok, S::Error>
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
    pub(crate) fn deserialize<'de, D, T>(d: D) -> Result<BTreeMap<String, Vec<T>>, D::Error>
    where
        D: Deserializer<'de>,
        T: Deserialize<'de>,
    {
        let map: Option<BTreeMap<String, Option<Vec<T>>>> = Deserialize::deserialize(d)?;
        Ok(map.into_iter().flatten().map(|(k, v)| (k, v.unwrap_or_default())).collect())
    }
}
