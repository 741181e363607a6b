//! The kinds of settings: parsing, precedence and defaults (`docs/spec/agent-config.md §2.2`).

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value as Json};

use super::decode;
use encamp_model::{SecretString, duration};

/// A setting as sources write it.
pub trait Setting: Default {
    /// The type of the resulting value.
    type Value;

    /// Lets a later source win, as far as it may.
    fn merge(&mut self, later: Self);

    /// The value, with a default where no source decides.
    fn resolve(self, default: impl FnOnce() -> Self::Value) -> Self::Value;
}

/// How a value looks in `GET /v1/agent/self`.
pub trait Shown {
    /// As JSON; secrets hidden, durations in nanoseconds.
    fn json(&self) -> Json;
}

impl Shown for SecretString {
    fn json(&self) -> Json {
        if self.is_empty() { "".into() } else { "<redacted>".into() }
    }
}

/// A setting of one value: read as an option, resolved to the value.
macro_rules! scalar {
    ($(#[$doc:meta])* $name:ident($inner:ty) -> $value:ty, $wins:expr, $resolve:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Option<$inner>);

        impl Setting for $name {
            type Value = $value;

            fn merge(&mut self, later: Self) {
                let wins: fn(&$inner) -> bool = $wins;
                if later.0.as_ref().is_some_and(|v| self.0.is_none() || wins(v)) {
                    self.0 = later.0;
                }
            }

            fn resolve(self, default: impl FnOnce() -> $value) -> $value {
                let resolve: fn(Option<$inner>, &mut dyn FnMut() -> $value) -> $value = $resolve;
                let mut default = Some(default);
                // Called once at most; the fallback keeps the type total.
                resolve(self.0, &mut || default.take().map(|d| d()).unwrap_or_default())
            }
        }
    };
}

scalar!(
    /// Text; an empty one counts as none.
    Text(String) -> String, |v| !v.is_empty(), |v, d| v.filter(|v| !v.is_empty()).unwrap_or_else(d)
);
scalar!(
    /// A secret text; an empty one counts as none.
    Hidden(SecretString) -> SecretString, |v| !v.is_empty(), |v, d| v.filter(|v| !v.is_empty()).unwrap_or_else(d)
);
scalar!(
    /// A flag that can only be switched on.
    Flag(bool) -> bool, |v| *v, |v, d| v.unwrap_or(false) || d()
);
scalar!(
    /// A flag that the last source decides.
    Switch(bool) -> bool, |_| true, |v, d| v.unwrap_or_else(d)
);
scalar!(
    /// A flag that the last source decides, and that may stay open.
    OpenSwitch(bool) -> Option<bool>, |_| true, |v, d| v.or_else(d)
);
scalar!(
    /// A number; 0 counts as none.
    Int(i64) -> i64, |v| *v != 0, |v, d| v.filter(|v| *v != 0).unwrap_or_else(d)
);
scalar!(
    /// A number that the last source decides; 0 is one.
    Count(i64) -> i64, |_| true, |v, d| v.unwrap_or_else(d)
);
scalar!(
    /// A number that the last source decides, and that may stay open.
    OpenCount(i64) -> Option<i64>, |_| true, |v, d| v.or_else(d)
);
scalar!(
    /// A number with a fraction; 0 counts as none.
    Float(f64) -> f64, |v| *v != 0.0, |v, d| v.filter(|v| *v != 0.0).unwrap_or_else(d)
);
scalar!(
    /// A duration; 0 counts as none.
    Span(Nanos) -> Duration, |v| v.0 != 0, |v, d| v.filter(|v| v.0 != 0).map_or_else(d, Nanos::duration)
);
scalar!(
    /// A duration that the last source decides; 0 is one.
    Limit(Nanos) -> Duration, |_| true, |v, d| v.map_or_else(d, Nanos::duration)
);
scalar!(
    /// A duration that the last source decides, in nanoseconds; 0 and less are some. An empty text counts as none.
    Age(OpenNanos) -> i64, |v| v.0.is_some(), |v, d| v.and_then(|v| v.0).unwrap_or_else(d)
);
scalar!(
    /// A number of bytes that the last source decides.
    Size(Bytes) -> u64, |_| true, |v, d| v.map_or_else(d, |b| b.0)
);
scalar!(
    /// A list that a later one replaces.
    List(Vec<String>) -> Vec<String>, |_| true, |v, d| v.unwrap_or_else(d)
);
scalar!(
    /// A tree of any form, which is validated elsewhere.
    Tree(Json) -> Json, |_| true, |v, d| v.unwrap_or_else(d)
);

/// A list that later ones are appended to.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Appended(pub Vec<String>);

impl Setting for Appended {
    type Value = Vec<String>;

    fn merge(&mut self, later: Self) {
        self.0.extend(later.0);
    }

    fn resolve(self, default: impl FnOnce() -> Vec<String>) -> Vec<String> {
        if self.0.is_empty() { default() } else { self.0 }
    }
}

/// Texts by name; later ones win one by one.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Texts(pub BTreeMap<String, String>);

impl Setting for Texts {
    type Value = BTreeMap<String, String>;

    fn merge(&mut self, later: Self) {
        self.0.extend(later.0);
    }

    fn resolve(self, default: impl FnOnce() -> Self::Value) -> Self::Value {
        if self.0.is_empty() { default() } else { self.0 }
    }
}

/// Blocks by label; blocks of one label are merged.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Labelled<T>(pub BTreeMap<String, T>);

/// Blocks by label; a later one of the same label takes the place of the former.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Replaced<T>(pub BTreeMap<String, T>);

impl<T> Default for Labelled<T> {
    fn default() -> Self {
        Labelled(BTreeMap::new())
    }
}

impl<T> Default for Replaced<T> {
    fn default() -> Self {
        Replaced(BTreeMap::new())
    }
}

impl<T: Setting<Value: Default>> Setting for Labelled<T> {
    type Value = BTreeMap<String, T::Value>;

    fn merge(&mut self, later: Self) {
        for (label, block) in later.0 {
            self.0.entry(label).or_default().merge(block);
        }
    }

    fn resolve(self, _: impl FnOnce() -> Self::Value) -> Self::Value {
        self.0.into_iter().map(|(label, block)| (label, block.resolve(T::Value::default))).collect()
    }
}

impl<T: Setting<Value: Default>> Setting for Replaced<T> {
    type Value = BTreeMap<String, T::Value>;

    fn merge(&mut self, later: Self) {
        self.0.extend(later.0);
    }

    fn resolve(self, _: impl FnOnce() -> Self::Value) -> Self::Value {
        self.0.into_iter().map(|(label, block)| (label, block.resolve(T::Value::default))).collect()
    }
}

/// A block that may be left out; blocks are merged.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Open<T>(pub Option<T>);

/// A block that a later one replaces as a whole; what it leaves out is not taken from the former.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Whole<T>(pub Option<T>);

impl<T> Default for Open<T> {
    fn default() -> Self {
        Open(None)
    }
}

impl<T> Default for Whole<T> {
    fn default() -> Self {
        Whole(None)
    }
}

impl<T: Setting<Value: Default>> Setting for Open<T> {
    type Value = Option<T::Value>;

    fn merge(&mut self, later: Self) {
        match (&mut self.0, later.0) {
            (Some(former), Some(later)) => former.merge(later),
            (former, Some(later)) => *former = Some(later),
            (_, None) => {}
        }
    }

    fn resolve(self, default: impl FnOnce() -> Self::Value) -> Self::Value {
        self.0.map(|block| block.resolve(T::Value::default)).or_else(default)
    }
}

impl<T: Setting<Value: Default>> Setting for Whole<T> {
    type Value = T::Value;

    fn merge(&mut self, later: Self) {
        if later.0.is_some() {
            *self = later;
        }
    }

    fn resolve(self, default: impl FnOnce() -> T::Value) -> T::Value {
        self.0.map_or_else(default, |block| block.resolve(T::Value::default))
    }
}

/// A key or block that is accepted, whatever it holds. Resolves to whether it is there.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Accepted(pub bool);

impl<'de> Deserialize<'de> for Accepted {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        de::IgnoredAny::deserialize(d).map(|_| Accepted(true))
    }
}

impl Setting for Accepted {
    type Value = bool;

    fn merge(&mut self, later: Self) {
        self.0 |= later.0;
    }

    fn resolve(self, _: impl FnOnce() -> bool) -> bool {
        self.0
    }
}

/// Nanoseconds of a duration text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Nanos(pub i64);

impl Nanos {
    /// As a duration; below zero it is 0.
    pub fn duration(self) -> Duration {
        duration::of_nanos(self.0)
    }
}

/// Nanoseconds of a duration text that may be empty.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OpenNanos(pub Option<i64>);

/// Bytes of a size text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bytes(pub u64);

/// Takes the number that the deserializer makes of a text.
struct Number<T>(PhantomData<T>);

impl<T: TryFrom<i64> + TryFrom<u64>> Visitor<'_> for Number<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number with a unit")
    }

    fn visit_i64<E: de::Error>(self, v: i64) -> Result<T, E> {
        T::try_from(v).map_err(|_| E::custom("too large"))
    }

    fn visit_u64<E: de::Error>(self, v: u64) -> Result<T, E> {
        T::try_from(v).map_err(|_| E::custom("too large"))
    }
}

impl<'de> Deserialize<'de> for Nanos {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_newtype_struct(decode::DURATION, Number(PhantomData)).map(Nanos)
    }
}

/// Takes the number that the deserializer makes of a text, or nothing.
struct OpenNumber;

impl Visitor<'_> for OpenNumber {
    type Value = OpenNanos;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number with a unit")
    }

    fn visit_i64<E: de::Error>(self, v: i64) -> Result<OpenNanos, E> {
        Ok(OpenNanos(Some(v)))
    }

    fn visit_unit<E: de::Error>(self) -> Result<OpenNanos, E> {
        Ok(OpenNanos(None))
    }
}

impl<'de> Deserialize<'de> for OpenNanos {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_newtype_struct(decode::AGE, OpenNumber)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_newtype_struct(decode::SIZE, Number(PhantomData)).map(Bytes)
    }
}

macro_rules! shown_as_is {
    ($($ty:ty),*) => { $(impl Shown for $ty {
        fn json(&self) -> Json {
            self.clone().into()
        }
    })* };
}

shown_as_is!(bool, i64, u64, f64, String, Json);

impl Shown for Duration {
    fn json(&self) -> Json {
        u64::try_from(self.as_nanos()).unwrap_or(u64::MAX).into()
    }
}

impl<T: Shown> Shown for Option<T> {
    fn json(&self) -> Json {
        self.as_ref().map_or(Json::Null, Shown::json)
    }
}

impl<T: Shown> Shown for Vec<T> {
    fn json(&self) -> Json {
        self.iter().map(Shown::json).collect()
    }
}

impl<T: Shown> Shown for BTreeMap<String, T> {
    fn json(&self) -> Json {
        Json::Object(self.iter().map(|(k, v)| (k.clone(), v.json())).collect::<Map<_, _>>())
    }
}

/// Named blocks as a list of blocks with a name.
pub(super) fn named<T: Shown>(blocks: &BTreeMap<String, T>) -> Json {
    let entry = |(name, block): (&String, &T)| {
        let mut json = block.json();
        if let Json::Object(map) = &mut json {
            map.insert("Name".into(), name.clone().into());
        }
        json
    };
    blocks.iter().map(entry).collect()
}

/// That many minutes.
pub(super) const fn minutes(n: u64) -> Duration {
    Duration::from_secs(n * 60)
}

/// Declares blocks: for each the values that others use, the raw form that sources write, and how the one becomes the
/// other. A line is `key "NameInJson": Kind = default`.
macro_rules! blocks {
    ($($(#[$doc:meta])* $name:ident from $raw:ident {
        $($(#[$field_doc:meta])* $field:ident $shown:literal: $kind:ty = $default:expr),* $(,)?
    })*) => { $(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name {
            $(
                #[doc = concat!("`", stringify!($field), "`, in JSON `", $shown, "`.")]
                $(#[$field_doc])*
                pub $field: <$kind as $crate::config::kinds::Setting>::Value,
            )*
        }

        #[doc = concat!("[`", stringify!($name), "`] as sources write it.")]
        #[derive(Debug, Clone, Default, PartialEq, serde::Deserialize)]
        #[serde(default)]
        pub struct $raw {
            $(
                #[doc = concat!("`", stringify!($field), "`.")]
                pub $field: $kind,
            )*
        }

        impl $crate::config::kinds::Setting for $raw {
            type Value = $name;

            fn merge(&mut self, later: Self) {
                $($crate::config::kinds::Setting::merge(&mut self.$field, later.$field);)*
            }

            fn resolve(self, _: impl FnOnce() -> $name) -> $name {
                $name { $($field: $crate::config::kinds::Setting::resolve(self.$field, || $default)),* }
            }
        }

        impl Default for $name {
            fn default() -> Self {
                $name { $($field: $crate::config::kinds::Setting::resolve(<$kind>::default(), || $default)),* }
            }
        }

        impl $crate::config::kinds::Shown for $name {
            fn json(&self) -> serde_json::Value {
                let mut out = serde_json::Map::new();
                $(out.insert($shown.into(), $crate::config::kinds::Shown::json(&self.$field));)*
                serde_json::Value::Object(out)
            }
        }
    )* };
}

pub(super) use blocks;
