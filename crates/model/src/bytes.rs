//! Bytes that the API writes as base64 text.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes without a meaning of their own. JSON: base64 text, standard alphabet, padded.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub Vec<u8>);

impl Bytes {
    /// The bytes of base64 text; `None` if it is something else.
    pub fn from_base64(text: &str) -> Option<Bytes> {
        STANDARD.decode(text).ok().map(Bytes)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The bytes may be secret; their number is not.
impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bytes({})", self.0.len())
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        if s.is_human_readable() { s.serialize_str(&STANDARD.encode(&self.0)) } else { s.serialize_bytes(&self.0) }
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        if d.is_human_readable() { d.deserialize_str(Text) } else { d.deserialize_byte_buf(Raw) }
    }
}

struct Text;

impl Visitor<'_> for Text {
    type Value = Bytes;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("base64 text")
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Bytes, E> {
        Bytes::from_base64(text).ok_or_else(|| E::custom("not base64 text"))
    }
}

struct Raw;

impl Visitor<'_> for Raw {
    type Value = Bytes;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes")
    }
    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Bytes, E> {
        Ok(Bytes(bytes.to_vec()))
    }
    fn visit_unit<E: de::Error>(self) -> Result<Bytes, E> {
        Ok(Bytes::default())
    }
}

/// Lists of small numbers: JSON lists them, records of a server backup hold them as bytes
/// (`docs/spec/snapshot-archive.md §7`: `[]uint8`). Used with `deserialize_with`.
pub(crate) fn byte_list<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<i64>, D::Error> {
    struct Numbers;
    impl<'de> Visitor<'de> for Numbers {
        type Value = Vec<i64>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of numbers")
        }
        fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Vec<i64>, E> {
            Ok(bytes.iter().map(|b| i64::from(*b)).collect())
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<i64>, A::Error> {
            let mut out = Vec::new();
            while let Some(n) = items.next_element::<u8>()? {
                out.push(i64::from(n));
            }
            Ok(out)
        }
        fn visit_unit<E: de::Error>(self) -> Result<Vec<i64>, E> {
            Ok(Vec::new())
        }
    }
    if d.is_human_readable() { d.deserialize_any(Numbers) } else { d.deserialize_byte_buf(Numbers) }
}

/// Lists of such lists. Used with `deserialize_with`.
pub(crate) fn byte_lists<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<Vec<i64>>, D::Error> {
    #[derive(Default, Deserialize)]
    struct List(#[serde(deserialize_with = "byte_list")] Vec<i64>);
    Ok(super::json::or_default::<D, Vec<List>>(d)?.into_iter().map(|list| list.0).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_base64() {
        let bytes: Bytes = serde_json::from_str(r#""aMOkbGxvPw==""#).unwrap();
        assert_eq!((bytes.0.as_slice(), format!("{bytes:?}").as_str()), ("hällo?".as_bytes(), "Bytes(7)"));
        assert_eq!(serde_json::to_string(&bytes).unwrap(), r#""aMOkbGxvPw==""#);
        assert!(serde_json::from_str::<Bytes>(r#""?""#).is_err());
    }

    #[test]
    fn lists_of_small_numbers() {
        let list = |json: &str| byte_list(&mut serde_json::Deserializer::from_str(json));
        assert_eq!((list("[0,255]").unwrap(), list("null").unwrap()), (vec![0, 255], vec![]));
        assert!(list("[256]").is_err() && list("[-1]").is_err());
    }
}
