//! IDs and names as keys of the tables.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use uuid::Uuid;
use uuid::fmt::Hyphenated;

/// The longest other text that is kept inline.
const SHORT: usize = 22;

/// An ID or a name as a key: small, compared and copied without looking elsewhere, since tables copy a few dozen keys
/// with each write. Ordered as the texts are.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Id(Repr);

/// There is one way to represent a text.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Repr {
    /// A UUID as it is written, in lower case: its upper and its lower half.
    Uuid(u64, u64),
    /// Another text that fits: its length, and the text followed by zeros.
    Short(u8, [u8; SHORT]),
    /// Any other text.
    Long(Arc<str>),
}

impl Id {
    /// The key for a text.
    pub fn new(text: &str) -> Id {
        let bytes = text.as_bytes();
        if let Some((upper, lower)) = parse_uuid(bytes) {
            return Id(Repr::Uuid(upper, lower));
        }
        let mut short = [0; SHORT];
        match (short.get_mut(..bytes.len()), u8::try_from(bytes.len())) {
            (Some(start), Ok(len)) => {
                start.copy_from_slice(bytes);
                Id(Repr::Short(len, short))
            }
            _ => Id(Repr::Long(text.into())),
        }
    }

    /// The number of a UUID in its usual form; `None` for any other text.
    pub fn uuid(&self) -> Option<u128> {
        match self.0 {
            Repr::Uuid(upper, lower) => Some(u128::from(upper) << 64 | u128::from(lower)),
            Repr::Short(..) | Repr::Long(_) => None,
        }
    }

    /// The UUID of a number.
    pub fn of_uuid(number: u128) -> Id {
        let (upper, lower) = Uuid::from_u128(number).as_u64_pair();
        Id(Repr::Uuid(upper, lower))
    }

    /// Calls `f` with the bytes of the text.
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        match &self.0 {
            Repr::Uuid(upper, lower) => {
                let mut text = [0; Hyphenated::LENGTH];
                f(Uuid::from_u64_pair(*upper, *lower).hyphenated().encode_lower(&mut text).as_bytes())
            }
            Repr::Short(len, short) => f(short.get(..usize::from(*len)).unwrap_or_default()),
            Repr::Long(text) => f(text.as_bytes()),
        }
    }
}

impl Default for Id {
    /// The empty text.
    fn default() -> Id {
        Id(Repr::Short(0, [0; SHORT]))
    }
}

impl From<&str> for Id {
    fn from(text: &str) -> Id {
        Id::new(text)
    }
}

impl PartialEq<str> for Id {
    fn eq(&self, text: &str) -> bool {
        self.with_bytes(|b| b == text.as_bytes())
    }
}

impl Ord for Id {
    fn cmp(&self, other: &Id) -> Ordering {
        match (&self.0, &other.0) {
            // Hexadecimal digits ascend as their values do, and the dashes are in the same places.
            (Repr::Uuid(a, b), Repr::Uuid(x, y)) => (a, b).cmp(&(x, y)),
            // Zeros come before all other bytes; texts that differ in zeros at the end alone differ in length.
            (Repr::Short(a, x), Repr::Short(b, y)) => x.cmp(y).then(a.cmp(b)),
            _ => self.with_bytes(|a| other.with_bytes(|b| a.cmp(b))),
        }
    }
}

impl PartialOrd for Id {
    fn partial_cmp(&self, other: &Id) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_bytes(|b| f.write_str(std::str::from_utf8(b).unwrap_or_default()))
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

/// The halves of a UUID, if the text is one with dashes and in lower case: other forms are not what `with_bytes` gives.
fn parse_uuid(text: &[u8]) -> Option<(u64, u64)> {
    // The only form of this length is the one with dashes.
    if text.len() != Hyphenated::LENGTH || text.iter().any(u8::is_ascii_uppercase) {
        return None;
    }
    Some(Uuid::try_parse_ascii(text).ok()?.as_u64_pair())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keys_are_small() {
        assert_eq!(size_of::<Id>(), 24);
        assert_eq!(Id::default(), Id::new(""));
    }

    #[test]
    fn only_canonical_uuids_are_numbers() {
        let number = |text: &str| matches!(Id::new(text).0, Repr::Uuid(..));
        assert!(number("6ea21d0c-1bd5-c81d-c7e2-2f6e0bb2d1a0"));
        for other in [
            "6EA21d0c-1bd5-c81d-c7e2-2f6e0bb2d1a0",
            "6ea21d0c-1bd5-c81d-c7e2-2f6e0bb2d1a",
            "6ea21d0c-1bd5-c81d-c7e2-2f6e0bb2d1g0",
            "6ea21d0c11bd5-c81d-c7e2-2f6e0bb2d1a0",
            "6ea21d0c-1bd5-c81d-c7e2-2f6e0bb2d-a0",
        ] {
            assert!(!number(other), "{other}");
            assert_eq!(Id::new(other).to_string(), other);
        }
    }

    proptest! {
        #[test]
        fn keys_are_ordered_as_their_texts(
            a in "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-g\\-\\x00]{0,40}|.{0,40}",
            b in "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-g\\-\\x00]{0,40}|.{0,40}",
            shared in 0usize..40,
        ) {
            let (x, y) = (Id::new(&a), Id::new(&b));
            prop_assert_eq!(x.cmp(&y), a.cmp(&b));
            prop_assert_eq!(x == y, a == b);
            prop_assert_eq!(x.to_string(), a.clone());
            prop_assert!(x == *a.as_str());
            // A text and its beginning.
            let start: String = a.chars().take(shared).collect();
            prop_assert_eq!(Id::new(&start).cmp(&x), start.cmp(&a));
        }
    }
}
