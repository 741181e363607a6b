//! Scores of one candidate node, by scorer.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The scorers (`docs/spec/scheduling.md §10`), in the order in which the scheduler adds up their scores.
pub(crate) const SCORERS: [&str; 7] = [
    "binpack",
    "devices",
    "job-anti-affinity",
    "node-reschedule-penalty",
    "node-affinity",
    "allocation-spread",
    "preemption",
];

/// Scorer name and value, in the order in which they were recorded. JSON: an object; empty is `null`. A small vector
/// instead of a map because a scheduler makes several of these per placement.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scores(pub Vec<(Cow<'static, str>, f64)>);

impl Scores {
    /// Sets the score of a scorer.
    pub fn set(&mut self, name: impl Into<Cow<'static, str>>, value: f64) {
        let name = name.into();
        match self.0.iter_mut().find(|(n, _)| *n == name) {
            Some((_, v)) => *v = value,
            None => self.0.push((name, value)),
        }
    }

    /// The score of a scorer, if it was recorded.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, v)| *v)
    }

    /// Names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        self.0.iter().map(|(n, v)| (n.as_ref(), *v))
    }
}

impl Serialize for Scores {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        if self.0.is_empty() {
            return s.serialize_none();
        }
        let mut sorted: Vec<_> = self.iter().collect();
        sorted.sort_by(|a, b| a.0.cmp(b.0));
        let mut m = s.serialize_map(Some(sorted.len()))?;
        for (n, v) in sorted {
            m.serialize_entry(n, &v)?;
        }
        m.end()
    }
}

/// The name of a scorer, which is not copied if it is one of [`SCORERS`].
struct ScorerName(Cow<'static, str>);

impl<'de> Deserialize<'de> for ScorerName {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V;
        impl Visitor<'_> for V {
            type Value = ScorerName;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_str<E>(self, name: &str) -> Result<ScorerName, E> {
                let known = SCORERS.iter().find(|known| **known == name);
                Ok(ScorerName(known.map_or_else(|| Cow::Owned(name.to_string()), |known| Cow::Borrowed(*known))))
            }
        }
        d.deserialize_str(V)
    }
}

impl<'de> Deserialize<'de> for Scores {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Scores;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of scores")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut m: A) -> Result<Scores, A::Error> {
                let mut out = Scores::default();
                while let Some((ScorerName(k), v)) = m.next_entry::<ScorerName, Option<f64>>()? {
                    out.set(k, v.unwrap_or_default());
                }
                // Members of an object have no order, so equal objects shall give equal scores.
                out.0.sort_by(|a, b| a.0.cmp(&b.0));
                Ok(out)
            }
        }
        d.deserialize_map(V)
    }
}
