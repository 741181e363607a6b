//! The IDs of many evaluations.

use std::fmt;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;
use uuid::fmt::Hyphenated;

/// IDs of evaluations in order, 16 bytes each: thousands of them share an operation. In the log they are texts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EvalIds {
    uuids: Vec<Uuid>,
    /// IDs that are no UUIDs in lower case, each with its place among all: such evaluations were made by hand.
    others: Vec<(usize, Box<str>)>,
}

impl EvalIds {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.uuids.len() + self.others.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn push(&mut self, id: &str) {
        let uuid = Some(id).filter(|id| id.len() == Hyphenated::LENGTH && !id.bytes().any(|b| b.is_ascii_uppercase()));
        match uuid.and_then(|id| Uuid::try_parse(id).ok()) {
            Some(uuid) => self.uuids.push(uuid),
            None => self.others.push((self.len(), id.into())),
        }
    }

    /// Calls `each` with every ID, in order.
    pub fn for_each(&self, mut each: impl FnMut(&str)) {
        let mut text = [0; Hyphenated::LENGTH];
        let (mut uuids, mut others) = (self.uuids.iter(), self.others.iter().peekable());
        for place in 0..self.len() {
            if let Some((_, id)) = others.next_if(|(at, _)| *at == place) {
                each(id);
            } else if let Some(uuid) = uuids.next() {
                each(uuid.hyphenated().encode_lower(&mut text));
            }
        }
    }
}

impl<S: AsRef<str>> FromIterator<S> for EvalIds {
    fn from_iter<I: IntoIterator<Item = S>>(ids: I) -> EvalIds {
        let ids = ids.into_iter();
        let mut all = EvalIds { uuids: Vec::with_capacity(ids.size_hint().0), others: Vec::new() };
        ids.for_each(|id| all.push(id.as_ref()));
        all
    }
}

impl Serialize for EvalIds {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeSeq;
        let mut list = to.serialize_seq(Some(self.len()))?;
        let mut failed = None;
        self.for_each(|id| {
            if failed.is_none() {
                failed = list.serialize_element(id).err();
            }
        });
        failed.map_or_else(|| list.end(), Err)
    }
}

impl<'de> Deserialize<'de> for EvalIds {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<EvalIds, D::Error> {
        from.deserialize_seq(List)
    }
}

struct List;

impl<'de> Visitor<'de> for List {
    type Value = EvalIds;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of IDs")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<EvalIds, A::Error> {
        let mut all = EvalIds::default();
        while let Some(id) = list.next_element::<std::borrow::Cow<'de, str>>()? {
            all.push(&id);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec;

    #[test]
    fn all_ids_keep_their_order_in_memory_in_the_log_and_as_text() {
        let uuid = "0f24e4e7-a36f-cb68-2ae9-d90e37a1b6a5";
        let upper = uuid.to_uppercase();
        let compact = uuid.replace('-', "");
        for ids in [
            vec![],
            vec![uuid],
            vec!["a", uuid, "", &upper, "00000000-0000-0000-0000-000000000001", &compact, uuid, "z"],
        ] {
            let all: EvalIds = ids.iter().collect();
            let mut read = Vec::new();
            all.for_each(|id| read.push(id.to_string()));
            assert_eq!(
                (read, all.len(), all.is_empty()),
                (ids.iter().map(ToString::to_string).collect(), ids.len(), ids.is_empty())
            );
            let encoded = codec::encode(&all).expect("encoded");
            assert_eq!(encoded, codec::encode(&ids).expect("encoded"), "as a list of texts");
            assert_eq!(codec::decode::<EvalIds>(&encoded).expect("decoded"), all);
            let json = serde_json::to_string(&all).expect("text");
            assert_eq!(json, serde_json::to_string(&ids).expect("text"));
            assert_eq!(serde_json::from_str::<EvalIds>(&json).expect("read"), all);
        }
        assert!(codec::decode::<EvalIds>(&codec::encode(&7).expect("encoded")).is_err());
    }
}
