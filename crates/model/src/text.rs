//! Immutable texts for objects of which there are millions.
//!
//! [`Text`] takes eight bytes; texts that the same thread saw recently share their bytes ([`recent`]), so that the
//! namespace, job, group, node and evaluation of sibling allocations are stored once, whoever made the allocations.
//! [`UniqueText`] is for texts that hardly any other object has: short ones are stored where they are.

mod recent;

use std::borrow::{Borrow, Cow};
use std::cmp::Ordering;
use std::ffi::OsStr;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::ops::Deref;
use std::path::Path;

use arcstr::ArcStr;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::text_enum::TextVisitor;

/// An immutable text that copies share, for texts that many objects have. Equal texts are mostly the same bytes.
#[derive(Clone, Default, Eq)]
pub struct Text(ArcStr);

impl Text {
    /// The text, with the bytes of an equal one that this thread saw recently. The empty text takes none.
    pub fn new(text: &str) -> Text {
        Text(recent::shared(text))
    }

    /// The text with bytes of its own: for texts that are long, or that no other object has.
    pub fn unshared(text: &str) -> Text {
        Text(ArcStr::from(text))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl From<&UniqueText> for Text {
    fn from(text: &UniqueText) -> Text {
        match &text.0 {
            Repr::Inline(..) => Text::unshared(text),
            Repr::Shared(text) => text.clone(),
        }
    }
}

impl From<UniqueText> for Text {
    fn from(text: UniqueText) -> Text {
        Text::from(&text)
    }
}

/// As many bytes are stored inline: the ID of an allocation, and most names.
const INLINE: usize = 38;

/// An immutable text that hardly any other object has, such as an ID.
#[derive(Clone)]
pub struct UniqueText(Repr);

#[derive(Clone)]
enum Repr {
    /// The length, and the text followed by zeros.
    Inline(u8, [u8; INLINE]),
    /// A longer text.
    Shared(Text),
}

impl UniqueText {
    /// The text.
    pub fn new(text: &str) -> UniqueText {
        let mut inline = [0; INLINE];
        match (inline.get_mut(..text.len()), u8::try_from(text.len())) {
            (Some(start), Ok(len)) => {
                start.copy_from_slice(text.as_bytes());
                UniqueText(Repr::Inline(len, inline))
            }
            _ => UniqueText(Repr::Shared(Text::unshared(text))),
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Repr::Inline(..) => std::str::from_utf8(self.bytes()).unwrap_or_default(),
            Repr::Shared(text) => text,
        }
    }

    fn bytes(&self) -> &[u8] {
        match &self.0 {
            Repr::Inline(len, bytes) => bytes.get(..usize::from(*len)).unwrap_or_default(),
            Repr::Shared(text) => text.bytes(),
        }
    }
}

impl Default for UniqueText {
    /// The empty text.
    fn default() -> UniqueText {
        UniqueText(Repr::Inline(0, [0; INLINE]))
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Text) -> bool {
        ArcStr::ptr_eq(&self.0, &other.0) || self.bytes() == other.bytes()
    }
}

impl PartialEq for UniqueText {
    fn eq(&self, other: &UniqueText) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Eq for UniqueText {}

impl PartialEq<UniqueText> for Text {
    fn eq(&self, other: &UniqueText) -> bool {
        self.bytes() == other.bytes()
    }
}

impl PartialEq<Text> for UniqueText {
    fn eq(&self, other: &Text) -> bool {
        self.bytes() == other.bytes()
    }
}

/// What a type of texts has in common with `String`.
macro_rules! as_text {
    ($name:ident) => {
        impl Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                self.as_str()
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                self.as_str()
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                self.as_str()
            }
        }

        impl AsRef<[u8]> for $name {
            fn as_ref(&self) -> &[u8] {
                self.bytes()
            }
        }

        impl AsRef<OsStr> for $name {
            fn as_ref(&self) -> &OsStr {
                self.as_str().as_ref()
            }
        }

        impl AsRef<Path> for $name {
            fn as_ref(&self) -> &Path {
                self.as_str().as_ref()
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> $name {
                $name::new(text)
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> $name {
                $name::new(&text)
            }
        }

        impl From<&String> for $name {
            fn from(text: &String) -> $name {
                $name::new(text)
            }
        }

        impl From<Cow<'_, str>> for $name {
            fn from(text: Cow<'_, str>) -> $name {
                $name::new(&text)
            }
        }

        impl From<&$name> for $name {
            fn from(text: &$name) -> $name {
                text.clone()
            }
        }

        impl From<$name> for String {
            fn from(text: $name) -> String {
                text.as_str().to_owned()
            }
        }

        impl From<&$name> for String {
            fn from(text: &$name) -> String {
                text.as_str().to_owned()
            }
        }

        impl<'a> From<&'a $name> for Cow<'a, str> {
            fn from(text: &'a $name) -> Cow<'a, str> {
                Cow::Borrowed(text.as_str())
            }
        }

        impl From<$name> for Cow<'_, str> {
            fn from(text: $name) -> Self {
                Cow::Owned(text.into())
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                self.bytes() == other.as_bytes()
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                self.bytes() == other.as_bytes()
            }
        }

        impl PartialEq<String> for $name {
            fn eq(&self, other: &String) -> bool {
                self.bytes() == other.as_bytes()
            }
        }

        impl PartialEq<$name> for str {
            fn eq(&self, other: &$name) -> bool {
                self.as_bytes() == other.bytes()
            }
        }

        impl PartialEq<$name> for &str {
            fn eq(&self, other: &$name) -> bool {
                self.as_bytes() == other.bytes()
            }
        }

        impl PartialEq<$name> for String {
            fn eq(&self, other: &$name) -> bool {
                self.as_bytes() == other.bytes()
            }
        }

        /// As texts are ordered, that is by their bytes.
        impl Ord for $name {
            fn cmp(&self, other: &$name) -> Ordering {
                self.bytes().cmp(other.bytes())
            }
        }

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &$name) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        /// As `str`, so that maps of texts are searched with it.
        impl Hash for $name {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.as_str().hash(state);
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(self.as_str(), f)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<$name, D::Error> {
                d.deserialize_str(TextVisitor(PhantomData))
            }
        }
    };
}

as_text!(Text);
as_text!(UniqueText);

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashMap, HashSet};

    use proptest::prelude::*;

    use super::*;
    use crate::Allocation;

    #[test]
    fn texts_are_small() {
        assert_eq!((size_of::<Text>(), size_of::<Option<Text>>(), size_of::<UniqueText>()), (8, 8, 40));
    }

    /// A million allocations must fit into a small server.
    #[test]
    fn siblings_share_their_texts() {
        const COUNT: usize = 10_000;
        let decoded: Vec<Allocation> = (0..COUNT)
            .map(|n| {
                let text = format!(
                    r#"{{"ID":"6ea21d0c-1bd5-c81d-c7e2-{n:012}","Namespace":"default","EvalID":"e0a21d0c-1bd5-c81d-c7e2-2f6e0bb2d1a0",
                    "Name":"web.api[{n}]","NodeID":"00000000-1bd5-c81d-c7e2-{:012}","NodeName":"node-{}","JobID":"web","TaskGroup":"api"}}"#,
                    n % 5_000, n % 5_000
                );
                serde_json::from_str(&text).unwrap()
            })
            .collect();
        type Field = fn(&Allocation) -> &Text;
        let blocks = |field: Field| decoded.iter().map(|a| field(a).as_ptr()).collect::<HashSet<_>>().len();
        let shared: [Field; 4] = [|a| &a.namespace, |a| &a.eval_id, |a| &a.job_id, |a| &a.task_group];
        assert_eq!(shared.map(blocks), [1; 4]);
        // Some nodes' texts displace others on the way.
        let of_nodes: [Field; 2] = [|a| &a.node_id, |a| &a.node_name];
        assert!(of_nodes.iter().all(|field| (5_000..5_500).contains(&blocks(*field))), "{:?}", of_nodes.map(blocks));
    }

    #[test]
    fn the_empty_text_is_no_block() {
        assert_eq!(Text::new("").as_ptr(), Text::default().as_ptr());
        assert_eq!((UniqueText::new("").as_str(), UniqueText::default().len()), ("", 0));
    }

    #[test]
    fn maps_of_texts_are_searched_with_strings() {
        let map = HashMap::from([(Text::new("a"), 1), (Text::new("b"), 2)]);
        assert_eq!((map.get("a"), map.get("c")), (Some(&1), None));
        let set = BTreeSet::from([UniqueText::new("a"), UniqueText::new(&"b".repeat(100))]);
        assert!(set.contains("a") && set.contains("b".repeat(100).as_str()) && !set.contains("b"));
    }

    #[test]
    fn invalid_bytes_and_other_values_are_errors() {
        let error = serde_json::from_str::<Text>("1").unwrap_err().to_string();
        assert_eq!(error, "invalid type: integer `1`, expected a string at line 1 column 1");
        let bytes = serde::de::value::BytesDeserializer::<serde::de::value::Error>::new(b"\xff");
        assert!(Text::deserialize(bytes).is_err());
    }

    proptest! {
        #[test]
        fn texts_are_compared_and_written_as_strings(a in ".{0,60}", b in ".{0,60}", n in 0usize..60) {
            let start: String = a.chars().take(n).collect();
            for b in [&b, &start, &a] {
                let (x, y, u, v) = (Text::new(&a), Text::new(b), UniqueText::new(&a), UniqueText::new(b));
                prop_assert_eq!((x.cmp(&y), u.cmp(&v)), (a.cmp(b), a.cmp(b)));
                prop_assert_eq!([x == y, u == v, x == v, u == y, x == *b, *b == u, u == b.as_str()], [a == *b; 7]);
                prop_assert_eq!((Text::from(&u), Text::unshared(&a)), (x.clone(), x.clone()));
                prop_assert_eq!((u.to_string(), String::from(&x), format!("{u:?}")), (a.clone(), a.clone(), format!("{a:?}")));
                let json = serde_json::to_string(&a).unwrap();
                prop_assert_eq!(serde_json::to_string(&x).unwrap(), json.clone());
                prop_assert_eq!(serde_json::from_str::<UniqueText>(&json).unwrap(), u);
            }
        }
    }
}
