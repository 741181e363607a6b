//! Decodes values into objects: a serde deserializer.
//!
//! Any integer form stands for any integer type that it fits, bytes may be encoded as text, and unknown members are
//! skipped. The [`Profile`] decides about the rest.

use std::borrow::Cow;
use std::fmt;

use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, Expected, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};

use super::wire::{Extent, Head, MAX_DEPTH, head};

/// Who wrote the values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// This program: structures are maps, values have the form that they have in JSON, text is UTF-8, and nil is only a
    /// value that is absent.
    Own,
    /// The servers whose backups are read (`docs/spec/snapshot-archive.md §7`): nil is the zero value of the expected
    /// type, text need not be UTF-8, times and bytes are binary.
    Archive,
}

/// The name of a newtype whose visitor gets a list of two elements instead of the value: its encoding in
/// [`Profile::Own`], as borrowed bytes, and the value. It may leave out the second: values with equal encodings are equal,
/// and one that was read before need not be made again.
pub const ENCODED_FIRST: &str = "$encoded";

/// Why a value does not fit the object it should be. Names the kind of what was found, never the value: it may be
/// secret.
#[derive(Debug)]
pub struct ValueError(Box<Problem>);

#[derive(Debug)]
struct Problem {
    text: String,
    /// The way to the value, innermost first.
    path: Vec<Step>,
    /// Where the value is in the record.
    offset: Option<usize>,
    /// A member of an object is there twice.
    repeated: bool,
}

#[derive(Debug)]
enum Step {
    Key(String),
    Index(usize),
}

impl ValueError {
    fn new(text: String) -> ValueError {
        ValueError(Box::new(Problem { text, path: Vec::new(), offset: None, repeated: false }))
    }

    /// Where the value is in the record.
    pub fn offset(&self) -> usize {
        self.0.offset.unwrap_or_default()
    }

    /// The way to the value: `NodeResources.Devices[0].Name`; empty for the object itself.
    pub fn path(&self) -> String {
        let mut out = String::new();
        for step in self.0.path.iter().rev() {
            match step {
                Step::Index(i) => out.push_str(&format!("[{i}]")),
                Step::Key(key) if out.is_empty() => out.push_str(key),
                Step::Key(key) => out.push_str(&format!(".{key}")),
            }
        }
        out
    }

    fn inside(mut self, step: Step, offset: usize) -> ValueError {
        self.0.offset.get_or_insert(offset);
        self.0.path.push(step);
        self
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.text)
    }
}

impl std::error::Error for ValueError {}

impl de::Error for ValueError {
    fn custom<T: fmt::Display>(text: T) -> ValueError {
        ValueError::new(text.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> ValueError {
        ValueError::new(format!("{} where {expected} is expected", kind(found)))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> ValueError {
        ValueError::new(format!("{} that does not fit where {expected} is expected", kind(found)))
    }

    fn duplicate_field(field: &'static str) -> ValueError {
        let mut error = ValueError::new(format!("the member {field} is there twice"));
        error.0.repeated = true;
        error
    }
}

/// The kind of a value, without the value.
fn kind(found: Unexpected<'_>) -> &'static str {
    match found {
        Unexpected::Bool(_) => "a boolean",
        Unexpected::Unsigned(_) => "an unsigned integer",
        Unexpected::Signed(n) if n < 0 => "a negative integer",
        Unexpected::Signed(_) => "an integer",
        Unexpected::Float(_) => "a float",
        Unexpected::Char(_) | Unexpected::Str(_) | Unexpected::Bytes(_) => "text",
        Unexpected::Unit | Unexpected::Option => "nil",
        Unexpected::Seq => "a list",
        Unexpected::Map => "a map",
        _ => "something else",
    }
}

/// Makes an object of the first value of the input. Its depth is bounded by [`MAX_DEPTH`].
///
/// # Errors
/// The input is no such object.
pub fn decode<'de, T: de::Deserialize<'de>>(input: &'de [u8], profile: Profile) -> Result<T, ValueError> {
    match T::deserialize(&mut Decoder::new(input, profile)) {
        // No server writes a member twice; where it happens the last one counts, and looking for it takes time.
        Err(e) if e.0.repeated && profile == Profile::Archive => {
            T::deserialize(&mut Decoder { last_wins: true, ..Decoder::new(input, profile) })
        }
        result => result,
    }
}

/// The text of the first of these members that an object has, looked for in the order of the names.
pub fn text_member<'a>(object: &'a [u8], names: &[&str]) -> Option<Cow<'a, str>> {
    let mut decoder = Decoder::new(object, Profile::Archive);
    let Ok(Head::Map(n)) = decoder.head() else { return None };
    let mut found: Option<(usize, &[u8])> = None;
    for _ in 0..n {
        let (Some(key), start) = (decoder.raw(), decoder.position) else { break };
        if decoder.skip().is_err() {
            break;
        }
        let Some(rank) = names.iter().position(|name| name.as_bytes() == key) else { continue };
        let mut value = Decoder::new(object.get(start..decoder.position)?, Profile::Archive);
        if let Some(text) = value.raw()
            && found.is_none_or(|(best, _)| rank < best)
        {
            found = Some((rank, text));
        }
    }
    found.map(|(_, text)| String::from_utf8_lossy(text))
}

fn text<'de, V: Visitor<'de>>(bytes: &'de [u8], profile: Profile, visitor: V) -> Result<V::Value, ValueError> {
    match std::str::from_utf8(bytes) {
        Ok(text) => visitor.visit_borrowed_str(text),
        Err(_) if profile == Profile::Archive => visitor.visit_string(String::from_utf8_lossy(bytes).into_owned()),
        Err(_) => Err(ValueError::new("text that is not UTF-8".into())),
    }
}

struct Decoder<'de> {
    input: &'de [u8],
    position: usize,
    profile: Profile,
    /// How many containers are open.
    depth: usize,
    /// Members that come again are skipped.
    last_wins: bool,
}

impl<'de> Decoder<'de> {
    fn new(input: &'de [u8], profile: Profile) -> Decoder<'de> {
        Decoder { input, position: 0, profile, depth: 0, last_wins: false }
    }

    /// Whether nil stands for the zero value of the expected type.
    fn nil_is_zero(&self) -> bool {
        self.profile == Profile::Archive
    }

    /// The marker of a value of a type whose zero value nil may stand for.
    fn head_or_zero(&mut self, zero: Head) -> Result<Head, ValueError> {
        match self.head()? {
            Head::Nil if self.nil_is_zero() => Ok(zero),
            head => Ok(head),
        }
    }

    /// Begins a container.
    fn enter(&mut self) -> Result<(), ValueError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(ValueError::new("too many containers in one another".into())) } else { Ok(()) }
    }

    fn list<V: Visitor<'de>>(&mut self, visitor: V, left: usize) -> Result<V::Value, ValueError> {
        self.enter()?;
        let value = visitor.visit_seq(Items { decoder: self, left, index: 0 })?;
        self.depth -= 1;
        Ok(value)
    }

    fn members<V: Visitor<'de>>(
        &mut self,
        visitor: V,
        left: usize,
        superseded: Vec<usize>,
    ) -> Result<V::Value, ValueError> {
        self.enter()?;
        let value = visitor.visit_map(Members { decoder: self, left, key: b"", superseded })?;
        self.depth -= 1;
        Ok(value)
    }

    fn rest(&self) -> &'de [u8] {
        self.input.get(self.position..).unwrap_or_default()
    }

    /// The length of a short text, if the next value is one: most values are, or are the keys of members.
    fn short_text(&mut self) -> Option<usize> {
        match *self.rest() {
            [first @ 0xa0..=0xbf, ..] => {
                self.position += 1;
                Some(usize::from(first & 0x1f))
            }
            [0xd9, length, ..] => {
                self.position += 2;
                Some(usize::from(length))
            }
            _ => None,
        }
    }

    fn head(&mut self) -> Result<Head, ValueError> {
        if let Some(n) = self.short_text() {
            return Ok(Head::Raw(n));
        }
        match head(self.rest()) {
            Ok(Some((head, size))) => {
                self.position += size;
                Ok(head)
            }
            Ok(None) => Err(ValueError::new("the record ends within a value".into())),
            Err(byte) => Err(ValueError::new(format!("byte 0x{byte:02x} is not a value"))),
        }
    }

    fn take(&mut self, n: usize) -> Result<&'de [u8], ValueError> {
        let bytes = self.rest().get(..n).ok_or_else(|| ValueError::new("the record ends within a value".into()))?;
        self.position += n;
        Ok(bytes)
    }

    /// The bytes of a text, if the next value is one.
    fn raw(&mut self) -> Option<&'de [u8]> {
        if let Some(n) = self.short_text() {
            return self.take(n).ok();
        }
        match self.head() {
            Ok(Head::Raw(n)) => self.take(n).ok(),
            _ => None,
        }
    }

    fn skip(&mut self) -> Result<(), ValueError> {
        let rest = self.rest();
        match Extent::default().advance(rest, rest.len() as u64) {
            Ok(Some(size)) => {
                self.position += size;
                Ok(())
            }
            _ => Err(ValueError::new("the record ends within a value".into())),
        }
    }

    fn text<V: Visitor<'de>>(&mut self, size: usize, visitor: V) -> Result<V::Value, ValueError> {
        text(self.take(size)?, self.profile, visitor)
    }

    /// A value of a kind that is not expected.
    fn refuse<V: Visitor<'de>>(head: Head, visitor: &V) -> ValueError {
        let found = match head {
            Head::Nil => Unexpected::Unit,
            Head::Bool(b) => Unexpected::Bool(b),
            Head::Signed(n) => Unexpected::Signed(n),
            Head::Unsigned(n) => Unexpected::Unsigned(n),
            Head::Float(x) => Unexpected::Float(x),
            Head::Raw(_) | Head::Time(_) => Unexpected::Str(""),
            Head::Array(_) => Unexpected::Seq,
            Head::Map(_) => Unexpected::Map,
        };
        de::Error::invalid_type(found, visitor)
    }

    fn integer<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, ValueError> {
        match self.head_or_zero(Head::Unsigned(0))? {
            Head::Signed(n) => visitor.visit_i64(n),
            Head::Unsigned(n) => visitor.visit_u64(n),
            other => Err(Self::refuse(other, &visitor)),
        }
    }

    fn object<V: Visitor<'de>>(&mut self, visitor: V, fixed: bool) -> Result<V::Value, ValueError> {
        let left = match self.head_or_zero(Head::Map(0))? {
            Head::Map(n) => n,
            other => return Err(Self::refuse(other, &visitor)),
        };
        let superseded = if fixed && self.last_wins { self.superseded(left)? } else { Vec::new() };
        self.members(visitor, left, superseded)
    }

    /// Where the members of an object begin that come again.
    fn superseded(&mut self, members: usize) -> Result<Vec<usize>, ValueError> {
        let start = self.position;
        let mut last = std::collections::HashMap::new();
        let mut out = Vec::new();
        for _ in 0..members {
            let at = self.position;
            let key = self.raw();
            self.skip()?;
            out.extend(key.and_then(|key| last.insert(key, at)));
        }
        self.position = start;
        Ok(out)
    }
}

macro_rules! integers {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
            self.integer(visitor)
        })*
    };
}

impl<'de> Deserializer<'de> for &mut Decoder<'de> {
    type Error = ValueError;

    fn is_human_readable(&self) -> bool {
        self.profile == Profile::Own
    }

    integers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match self.head()? {
            Head::Nil => visitor.visit_unit(),
            Head::Bool(b) => visitor.visit_bool(b),
            Head::Signed(n) => visitor.visit_i64(n),
            Head::Unsigned(n) => visitor.visit_u64(n),
            Head::Float(x) => visitor.visit_f64(x),
            Head::Raw(n) => self.text(n, visitor),
            Head::Array(left) => self.list(visitor, left),
            Head::Map(left) => self.members(visitor, left, Vec::new()),
            other @ Head::Time(_) => Err(Decoder::refuse(other, &visitor)),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match self.head_or_zero(Head::Bool(false))? {
            Head::Signed(0) | Head::Unsigned(0) => visitor.visit_bool(false),
            Head::Signed(1) | Head::Unsigned(1) => visitor.visit_bool(true),
            Head::Bool(b) => visitor.visit_bool(b),
            other => Err(Decoder::refuse(other, &visitor)),
        }
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match self.head_or_zero(Head::Float(0.0))? {
            Head::Float(x) => visitor.visit_f64(x),
            Head::Signed(n) => visitor.visit_f64(n as f64),
            Head::Unsigned(n) => visitor.visit_f64(n as f64),
            other => Err(Decoder::refuse(other, &visitor)),
        }
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        if let Some(n) = self.short_text() {
            return self.text(n, visitor);
        }
        match self.head_or_zero(Head::Raw(0))? {
            Head::Raw(n) => self.text(n, visitor),
            other => Err(Decoder::refuse(other, &visitor)),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match self.head()? {
            Head::Nil if self.nil_is_zero() => visitor.visit_unit(),
            Head::Raw(n) | Head::Time(n) => visitor.visit_borrowed_bytes(self.take(n)?),
            Head::Array(left) => self.list(visitor, left),
            other => Err(Decoder::refuse(other, &visitor)),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        if self.rest().first() == Some(&0xc0) {
            self.position += 1;
            return visitor.visit_none();
        }
        visitor.visit_some(self)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        self.deserialize_any(visitor)
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, ValueError> {
        match self.head()? {
            // How rmp-serde writes it.
            Head::Nil | Head::Array(0) => visitor.visit_unit(),
            other => Err(Decoder::refuse(other, &visitor)),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        if name != ENCODED_FIRST || self.profile != Profile::Own {
            return visitor.visit_newtype_struct(self);
        }
        let start = self.position;
        let skipped = self.skip();
        let end = std::mem::replace(&mut self.position, start);
        if skipped.is_err() {
            // The error of the value itself says more.
            return visitor.visit_newtype_struct(self);
        }
        let value = visitor.visit_seq(EncodedFirst { decoder: self, end, begun: false })?;
        self.position = end;
        Ok(value)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match self.head_or_zero(Head::Array(0))? {
            Head::Array(left) => self.list(visitor, left),
            other => Err(Decoder::refuse(other, &visitor)),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, ValueError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        self.object(visitor, false)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        self.object(visitor, true)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        match self.head()? {
            Head::Raw(n) => visitor.visit_enum(String::from_utf8_lossy(self.take(n)?).into_deserializer()),
            Head::Map(1) => {
                self.enter()?;
                let value = visitor.visit_enum(Variant { decoder: self })?;
                self.depth -= 1;
                Ok(value)
            }
            _ => Err(de::Error::custom("something else than a name")),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        self.skip()?;
        visitor.visit_unit()
    }
}

/// The encoding of a value, and then the value.
struct EncodedFirst<'a, 'de> {
    decoder: &'a mut Decoder<'de>,
    /// The end of the value.
    end: usize,
    begun: bool,
}

impl<'de> SeqAccess<'de> for EncodedFirst<'_, 'de> {
    type Error = ValueError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, ValueError> {
        if std::mem::replace(&mut self.begun, true) {
            return seed.deserialize(&mut *self.decoder).map(Some);
        }
        let encoded = self.decoder.input.get(self.decoder.position..self.end).unwrap_or_default();
        seed.deserialize(de::value::BorrowedBytesDeserializer::new(encoded)).map(Some)
    }
}

/// The values of a list.
struct Items<'a, 'de> {
    decoder: &'a mut Decoder<'de>,
    left: usize,
    index: usize,
}

impl<'de> SeqAccess<'de> for Items<'_, 'de> {
    type Error = ValueError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, ValueError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let start = self.decoder.position;
        let value = seed.deserialize(&mut *self.decoder).map_err(|e| e.inside(Step::Index(self.index), start))?;
        self.index += 1;
        Ok(Some(value))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left.min(self.decoder.rest().len()))
    }
}

/// The members of an object or map.
struct Members<'a, 'de> {
    decoder: &'a mut Decoder<'de>,
    left: usize,
    /// The key that was read last.
    key: &'de [u8],
    /// The offsets of members to skip.
    superseded: Vec<usize>,
}

impl<'de> MapAccess<'de> for Members<'_, 'de> {
    type Error = ValueError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, ValueError> {
        while self.left > 0 {
            self.left -= 1;
            let start = self.decoder.position;
            if self.superseded.contains(&start) {
                self.decoder.skip()?;
                self.decoder.skip()?;
                continue;
            }
            // Messages name the member.
            self.key = match self.decoder.raw() {
                Some(key) => key,
                None if self.decoder.profile == Profile::Own => {
                    self.key = b"";
                    self.decoder.position = start;
                    return seed.deserialize(&mut *self.decoder).map(Some);
                }
                None => return Err(de::Error::custom("a key that is not text")),
            };
            return seed.deserialize(Key { text: self.key, profile: self.decoder.profile }).map(Some);
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, ValueError> {
        let start = self.decoder.position;
        seed.deserialize(&mut *self.decoder).map_err(|e| e.inside(Step::Key(shown(self.key)), start))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left.min(self.decoder.rest().len()))
    }
}

/// The key of a member, which was read.
struct Key<'de> {
    text: &'de [u8],
    profile: Profile,
}

impl<'de> Deserializer<'de> for Key<'de> {
    type Error = ValueError;

    fn is_human_readable(&self) -> bool {
        self.profile == Profile::Own
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        text(self.text, self.profile, visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        visitor.visit_enum(String::from_utf8_lossy(self.text).into_deserializer())
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_borrowed_bytes(self.text)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        self.deserialize_bytes(visitor)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string unit unit_struct seq tuple tuple_struct
        map struct identifier ignored_any
    }
}

/// A variant of an enum that holds something: a map with its name as the only key.
struct Variant<'a, 'de> {
    decoder: &'a mut Decoder<'de>,
}

impl<'de> EnumAccess<'de> for Variant<'_, 'de> {
    type Error = ValueError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), ValueError> {
        Ok((seed.deserialize(&mut *self.decoder)?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_, 'de> {
    type Error = ValueError;

    fn unit_variant(self) -> Result<(), ValueError> {
        de::Deserialize::deserialize(self.decoder)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, ValueError> {
        seed.deserialize(self.decoder)
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, ValueError> {
        self.decoder.deserialize_tuple(len, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        self.decoder.deserialize_struct("", fields, visitor)
    }
}

/// A key as messages show it: maps may have any text for keys.
fn shown(key: &[u8]) -> String {
    const LONGEST: usize = 60;
    let text = String::from_utf8_lossy(key);
    let mut out: String = text.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
    if out.len() < text.len() {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;
    use encamp_model::{
        Affinity, AllocatedResources, Allocation, Bytes, IndexEntry, Job, NodePool, PeriodicLaunch, Time, Topology,
        UpdateStrategy,
    };

    /// Values in MessagePack, as servers write them.
    fn pack(out: &mut Vec<u8>, value: &Value) {
        match value {
            Value::Null => out.push(0xc0),
            Value::Bool(b) => out.push(0xc2 + u8::from(*b)),
            Value::Number(n) if n.is_f64() => {
                out.push(0xcb);
                out.extend(n.as_f64().unwrap().to_be_bytes());
            }
            Value::Number(n) => {
                out.push(0xd3);
                out.extend(n.as_i64().unwrap().to_be_bytes());
            }
            Value::String(s) => raw(out, s.as_bytes()),
            Value::Array(items) => {
                out.push(0xdd);
                out.extend(u32::try_from(items.len()).unwrap().to_be_bytes());
                items.iter().for_each(|item| pack(out, item));
            }
            Value::Object(members) => {
                out.push(0xdf);
                out.extend(u32::try_from(members.len()).unwrap().to_be_bytes());
                for (key, value) in members {
                    raw(out, key.as_bytes());
                    pack(out, value);
                }
            }
        }
    }

    #[test]
    fn resources_with_the_same_encoding_are_made_once() {
        let encoded = |cpu: &Value, ports: Value| {
            let resources =
                json!({"Tasks": {"t": {"Cpu": {"CpuShares": cpu}}}, "Shared": {"DiskMB": 5, "Ports": ports}});
            let mut out = Vec::new();
            pack(&mut out, &json!({"AllocatedResources": resources, "ID": "a"}));
            out
        };
        let read = |cpu: i64, ports: Value| {
            let alloc: Allocation = decode(&encoded(&json!(cpu), ports), Profile::Own).unwrap();
            assert_eq!(alloc.id, *"a", "what follows is read");
            alloc.allocated_resources.unwrap()
        };
        let (first, again, other) = (read(500, Value::Null), read(500, Value::Null), read(501, Value::Null));
        assert!(Arc::ptr_eq(&first, &again));
        let shares = |r: &AllocatedResources| r.tasks.get("t").map(|t| t.cpu.cpu_shares);
        assert_eq!((shares(&first), shares(&other)), (Some(500), Some(501)));
        let port = || read(500, json!([{"Label": "http", "Value": 80}]));
        let (one, two) = (port(), port());
        assert!(one == two && !Arc::ptr_eq(&one, &two), "ports are not shared");
        let refused = |bytes: &[u8]| {
            let error = decode::<Allocation>(bytes, Profile::Own).unwrap_err();
            (error.path(), error.to_string())
        };
        let (path, text) = refused(&encoded(&json!("x"), Value::Null));
        assert_eq!(path, "AllocatedResources.Tasks.t.Cpu.CpuShares", "{text}");
        let whole = encoded(&json!(500), Value::Null);
        for length in 0..whole.len() {
            let (_, text) = refused(&whole[..length]);
            assert_eq!(text, "the record ends within a value", "{length} bytes");
        }
    }

    fn raw(out: &mut Vec<u8>, bytes: &[u8]) {
        out.push(0xdb);
        out.extend(u32::try_from(bytes.len()).unwrap().to_be_bytes());
        out.extend(bytes);
    }

    fn packed(value: Value) -> Vec<u8> {
        let mut out = Vec::new();
        pack(&mut out, &value);
        out
    }

    fn problem<T: for<'a> de::Deserialize<'a>>(bytes: &[u8]) -> String {
        let e = decode::<T>(bytes, Profile::Archive).err().expect("an error");
        format!("{}: {e} at {}", e.path(), e.offset())
    }

    #[test]
    fn nil_is_the_zero_value_of_anything() {
        let nil = |names: &[&str]| packed(names.iter().map(|n| (n.to_string(), Value::Null)).collect());
        let bytes =
            nil(&["ID", "Stop", "Priority", "Datacenters", "TaskGroups", "Update", "Meta", "Payload", "Periodic"]);
        assert_eq!(decode::<Job>(&bytes, Profile::Archive).unwrap(), Job::default());
        let groups = packed(json!({"TaskGroups": [null], "Update": {"Stagger": null}}));
        assert_eq!(decode::<Job>(&groups, Profile::Archive).unwrap().task_groups.len(), 1);
        assert_eq!(decode::<PeriodicLaunch>(&nil(&["Launch"]), Profile::Archive).unwrap().launch, Time::ZERO);
        assert_eq!(decode::<Vec<String>>(&packed(json!([null, "a"])), Profile::Archive).unwrap(), ["", "a"]);
    }

    #[test]
    fn integers_of_any_form_fit_where_they_fit() {
        let entry = |form: &[u8]| [&[0x81, 0xa5][..], b"Value", form].concat();
        for form in [&[0x07][..], &[0xcc, 7], &[0xd0, 7], &[0xd1, 0, 7], &[0xd3, 0, 0, 0, 0, 0, 0, 0, 7]] {
            assert_eq!(decode::<IndexEntry>(&entry(form), Profile::Archive).unwrap().value, 7);
        }
        assert_eq!(
            problem::<IndexEntry>(&entry(&[0xff])),
            "Value: a negative integer that does not fit where u64 is expected at 7"
        );
        assert_eq!(problem::<IndexEntry>(&entry(&[0xa1, b'7'])), "Value: text where u64 is expected at 7");
        assert_eq!(problem::<IndexEntry>(&entry(&[0xca, 0, 0, 0, 0])), "Value: a float where u64 is expected at 7");
        assert!(problem::<Affinity>(&packed(json!({"Weight": 128}))).contains("fit where i8 is expected"));
        let update = |v| decode::<UpdateStrategy>(&packed(json!({"AutoRevert": v})), Profile::Archive);
        assert!(update(1).unwrap().auto_revert && !update(0).unwrap().auto_revert && update(2).is_err());
    }

    #[test]
    fn text_and_bytes_are_told_apart_by_what_is_expected() {
        let mut bytes = vec![0x82];
        raw(&mut bytes, b"Name");
        raw(&mut bytes, b"a\xff\xc3");
        raw(&mut bytes, b"Hash");
        raw(&mut bytes, b"valid");
        let pool: NodePool = decode(&bytes, Profile::Archive).unwrap();
        assert_eq!((pool.name.as_str(), pool.hash), ("a\u{fffd}\u{fffd}", Some(Bytes(b"valid".to_vec()))));
        let topology: Topology =
            decode(&packed(json!({"Nodes": "\u{0}\u{1}", "Distances": [[10, 20], [20, 10]]})), Profile::Archive)
                .unwrap();
        assert_eq!((topology.nodes, topology.distances[1].as_slice()), (vec![0, 1], &[20, 10][..]));
        assert!(problem::<Topology>(&packed(json!({"Distances": [[256]]}))).starts_with("Distances[0][0]: "));
    }

    #[test]
    fn free_values_keep_their_kinds() {
        let value = json!({"a": [null, true, 1, -2, 42.0, "t", {"b": []}]});
        let back: BTreeMap<String, Value> = decode(&packed(value.clone()), Profile::Archive).unwrap();
        assert_eq!(serde_json::to_value(back).unwrap(), value);
    }

    #[test]
    fn unknown_members_are_skipped_and_the_last_of_two_wins() {
        let bytes = packed(json!({"Later": [1, {"k": null}], "key": "no", "Key": "a"}));
        assert_eq!(decode::<IndexEntry>(&bytes, Profile::Archive).unwrap().key, "a");
        let mut twice = vec![0x83];
        for (key, value) in [("Key", "a"), ("Key", "b"), ("Zzz", "c")] {
            raw(&mut twice, key.as_bytes());
            raw(&mut twice, value.as_bytes());
        }
        assert_eq!(decode::<IndexEntry>(&twice, Profile::Archive).unwrap().key, "b");
    }

    #[test]
    fn problems_have_a_place_and_no_value() {
        let job = json!({"ID": "j", "TaskGroups": [{}, {"Tasks": [{"Name": "t", "Env": {"KEY": ["secret"]}}]}]});
        let text = problem::<Job>(&packed(job));
        assert!(text.starts_with("TaskGroups[1].Tasks[0].Env.KEY: a list where a string is expected at "), "{text}");
        assert!(!text.contains("secret"));
        let time = problem::<PeriodicLaunch>(&packed(json!({"Launch": "later"})));
        assert!(time.starts_with("Launch: ") && !time.contains("later"), "{time}");
    }

    #[test]
    fn names_for_messages() {
        let bytes = packed(json!({"Name": "n", "X": {}, "ID": "i"}));
        assert_eq!(text_member(&bytes, &["ID", "Name"]).as_deref(), Some("i"));
        assert_eq!(text_member(&bytes, &["Key"]), None);
        assert_eq!(text_member(&[0x93], &["Key"]), None);
    }
}
