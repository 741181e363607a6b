//! Writing and reading of packed values: numbers of variable length, texts with a table of frequent ones.
//!
//! Packed bytes exist in memory only: nothing stores or sends them, so their form may change at will. Reading them never
//! fails: bytes that no writer wrote give empty values.

use std::borrow::Cow;

use uuid::Uuid;
use uuid::fmt::Hyphenated;

/// How a text is written: the lowest bits of its first number.
const KIND_BITS: u32 = 2;
/// The length of the bytes that follow.
const LITERAL: u64 = 0;
/// The place in the table of frequent texts.
const FREQUENT: u64 = 1;
/// The place among the literal texts before it.
const EARLIER: u64 = 2;
/// The number whose decimal form the text is.
const DECIMAL: u64 = 3;

/// Appends values to bytes.
pub struct Writer<'a> {
    out: Vec<u8>,
    frequent: &'static [&'static str],
    literals: Vec<&'a str>,
}

impl<'a> Writer<'a> {
    /// A writer that has written nothing; the reader needs the same table.
    pub(super) fn new(frequent: &'static [&'static str], capacity: usize) -> Writer<'a> {
        Writer { out: Vec::with_capacity(capacity), frequent, literals: Vec::new() }
    }

    /// What was written.
    pub(super) fn finish(self) -> Vec<u8> {
        self.out
    }

    /// Small numbers take less: 7 bits a byte.
    pub(super) fn number(&mut self, mut n: u64) {
        while n >= 0x80 {
            self.out.push(n.to_le_bytes()[0] | 0x80);
            n >>= 7;
        }
        self.out.push(n.to_le_bytes()[0]);
    }

    /// As [`Self::number`], also for numbers close below 0.
    pub(super) fn signed(&mut self, n: i64) {
        self.number(zigzag(n));
    }

    /// How many values follow; each takes at least a byte.
    pub(super) fn count(&mut self, n: usize) {
        self.number(n as u64);
    }

    /// These bytes.
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// These bytes, after their number.
    pub(super) fn counted(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.bytes(bytes);
    }

    /// A text.
    pub(super) fn text(&mut self, text: &'a str) {
        if let Some(n) = self.frequent.iter().position(|t| *t == text) {
            return self.number((n as u64) << KIND_BITS | FREQUENT);
        }
        if let Some(n) = decimal(text).map(zigzag).filter(|n| n.leading_zeros() >= KIND_BITS) {
            return self.number(n << KIND_BITS | DECIMAL);
        }
        if let Some(n) = self.literals.iter().position(|t| *t == text) {
            return self.number((n as u64) << KIND_BITS | EARLIER);
        }
        self.number((text.len() as u64) << KIND_BITS | LITERAL);
        self.bytes(text.as_bytes());
        // An empty one is never shorter elsewhere.
        if !text.is_empty() {
            self.literals.push(text);
        }
    }
}

/// Takes values from bytes, in the order in which they were written.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    rest: &'a [u8],
    frequent: &'static [&'static str],
    literals: Vec<&'a str>,
}

impl<'a> Reader<'a> {
    /// A reader of what a writer with the same table wrote.
    pub(super) fn new(bytes: &'a [u8], frequent: &'static [&'static str]) -> Reader<'a> {
        Reader { rest: bytes, frequent, literals: Vec::new() }
    }

    /// A number.
    pub(super) fn number(&mut self) -> u64 {
        let (mut n, mut shift) = (0, 0);
        while let Some((byte, rest)) = self.rest.split_first() {
            self.rest = rest;
            n |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or_default();
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
        n
    }

    /// A number with a sign.
    pub(super) fn signed(&mut self) -> i64 {
        unzigzag(self.number())
    }

    /// How many values follow.
    pub(super) fn count(&mut self) -> usize {
        let n = self.number();
        self.capped(n)
    }

    /// The number of values that follow, which take at least a byte each.
    pub(super) fn capped(&self, count: u64) -> usize {
        usize::try_from(count).unwrap_or(usize::MAX).min(self.rest.len())
    }

    /// So many bytes.
    pub(super) fn bytes(&mut self, count: usize) -> &'a [u8] {
        let (bytes, rest) = self.rest.split_at(count.min(self.rest.len()));
        self.rest = rest;
        bytes
    }

    /// Bytes after their number.
    pub(super) fn counted(&mut self) -> &'a [u8] {
        let size = self.count();
        self.bytes(size)
    }

    /// So many bytes.
    pub(super) fn array<const N: usize>(&mut self) -> [u8; N] {
        self.bytes(N).try_into().unwrap_or([0; N])
    }

    /// A text.
    pub(super) fn text(&mut self) -> Cow<'a, str> {
        let code = self.number();
        let n = code >> KIND_BITS;
        let at = usize::try_from(n).unwrap_or(usize::MAX);
        match code & ((1 << KIND_BITS) - 1) {
            FREQUENT => Cow::Borrowed(self.frequent.get(at).copied().unwrap_or_default()),
            DECIMAL => Cow::Owned(unzigzag(n).to_string()),
            EARLIER => Cow::Borrowed(self.literals.get(at).copied().unwrap_or_default()),
            _ => {
                let text = std::str::from_utf8(self.bytes(at)).unwrap_or_default();
                if !text.is_empty() {
                    self.literals.push(text);
                }
                Cow::Borrowed(text)
            }
        }
    }
}

/// The bit, if it is set.
pub(super) fn flag(set: bool, bit: u64) -> u64 {
    if set { bit } else { 0 }
}

/// Numbers close to 0 as small numbers.
fn zigzag(n: i64) -> u64 {
    ((n << 1) ^ (n >> 63)).cast_unsigned()
}

fn unzigzag(n: u64) -> i64 {
    (n >> 1).cast_signed() ^ -(n & 1).cast_signed()
}

/// The number whose decimal form the text is.
fn decimal(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
    let plain = match digits {
        [b'0'] => digits.len() == text.len(),
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    if plain { text.parse().ok() } else { None }
}

/// The bytes of a UUID that is written with dashes and in lower case.
pub(super) fn uuid_bytes(text: &str) -> Option<[u8; 16]> {
    let text = text.as_bytes();
    // The only form of this length is the one with dashes.
    if text.len() != Hyphenated::LENGTH || text.iter().any(u8::is_ascii_uppercase) {
        return None;
    }
    Some(*Uuid::try_parse_ascii(text).ok()?.as_bytes())
}

/// The UUID of these bytes, with dashes and in lower case.
pub(super) fn uuid_text(bytes: [u8; 16]) -> String {
    let mut text = [0; Hyphenated::LENGTH];
    Uuid::from_bytes(bytes).hyphenated().encode_lower(&mut text).to_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FREQUENT_TEXTS: [&str; 2] = ["message", "exit_code"];

    fn length(text: &str) -> usize {
        let mut w = Writer::new(&FREQUENT_TEXTS, 0);
        w.text(text);
        w.finish().len()
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            numbers in proptest::collection::vec(any::<u64>(), 0..4),
            signed in proptest::collection::vec(any::<i64>(), 0..4),
            texts in proptest::collection::vec("message|exit_code|[a-c]{0,2}|-?[0-9]{0,20}|\\PC{0,40}", 0..8),
        ) {
            let mut w = Writer::new(&FREQUENT_TEXTS, 16);
            numbers.iter().for_each(|n| w.number(*n));
            signed.iter().for_each(|n| w.signed(*n));
            texts.iter().for_each(|t| w.text(t));
            let bytes = w.finish();
            let mut r = Reader::new(&bytes, &FREQUENT_TEXTS);
            numbers.iter().for_each(|n| assert_eq!(r.number(), *n));
            signed.iter().for_each(|n| assert_eq!(r.signed(), *n));
            texts.iter().for_each(|t| assert_eq!(r.text(), *t));
            assert!(r.rest.is_empty());
        }

        #[test]
        fn any_bytes_can_be_read(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut r = Reader::new(&bytes, &FREQUENT_TEXTS);
            r.count();
            r.text();
            r.signed();
            r.array::<8>();
            r.text();
        }

        #[test]
        fn only_canonical_ids_are_bytes(id in "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}") {
            assert_eq!(uuid_text(uuid_bytes(&id).unwrap()), id);
            assert_eq!(uuid_bytes(&id[1..]), None);
            assert_eq!(uuid_bytes(&id.replace('-', "")), None);
            assert_eq!(uuid_bytes(&format!("A{}", &id[1..])), None);
        }
    }

    #[test]
    fn frequent_texts_and_numbers_are_short() {
        assert_eq!(["", "message", "0", "-7", "137"].map(length), [1, 1, 1, 1, 2]);
        assert_eq!(["00", "-0", "+1", "9223372036854775807", "a"].map(length), [3, 3, 3, 20, 2]);
        let mut w = Writer::new(&FREQUENT_TEXTS, 0);
        (0..2).for_each(|_| w.text("a longer text"));
        assert_eq!(w.finish().len(), 15);
    }
}
