//! Decodes the rows that [`super::write_rows`] encodes.

use serde::de::{self, Deserialize, DeserializeSeed, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

use super::RowError;
use super::tags;

/// Values are not nested deeper.
const DEEPEST: usize = 200;

/// Decodes values one behind the other.
#[derive(Debug)]
pub(super) struct Reader<'de> {
    rest: &'de [u8],
    names: &'de [String],
    depth: usize,
}

impl<'de> Reader<'de> {
    pub(super) fn new(bytes: &'de [u8], names: &'de [String]) -> Reader<'de> {
        Reader { rest: bytes, names, depth: 0 }
    }

    /// Whether nothing is left.
    pub(super) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// Decodes the next value.
    pub(super) fn read<T: Deserialize<'de>>(&mut self) -> Result<T, RowError> {
        T::deserialize(self)
    }

    fn byte(&mut self) -> Result<u8, RowError> {
        let (first, rest) = self.rest.split_first().ok_or(RowError::end())?;
        self.rest = rest;
        Ok(*first)
    }

    /// The next bytes.
    pub(super) fn bytes(&mut self, length: usize) -> Result<&'de [u8], RowError> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(RowError::end())?;
        self.rest = rest;
        Ok(taken)
    }

    /// All bytes that are left.
    pub(super) fn rest(&mut self) -> &'de [u8] {
        std::mem::take(&mut self.rest)
    }

    /// A number of which nothing says that it is one.
    pub(super) fn number(&mut self) -> Result<u64, RowError> {
        let (mut n, mut shift) = (0_u64, 0_u32);
        loop {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7f);
            n |= part
                .checked_shl(shift)
                .filter(|moved| moved >> shift == part)
                .ok_or(RowError::new("a number is too large"))?;
            if byte < 0x80 {
                return Ok(n);
            }
            shift += 7;
        }
    }

    fn text(&mut self, length: usize) -> Result<&'de str, RowError> {
        std::str::from_utf8(self.bytes(length)?).map_err(|_| RowError::new("a text is not UTF-8"))
    }

    /// Whether the list or object ends here.
    fn ends(&mut self) -> bool {
        match self.rest {
            [tags::END, rest @ ..] => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, RowError>) -> Result<T, RowError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(RowError::new("values are nested too deeply"));
        }
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn value<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, RowError> {
        let tag = self.byte()?;
        match tag {
            tags::NULL => visitor.visit_unit(),
            tags::FALSE => visitor.visit_bool(false),
            tags::TRUE => visitor.visit_bool(true),
            tags::UNSIGNED => visitor.visit_u64(self.number()?),
            tags::NEGATIVE => {
                let n = 0_i64.checked_sub_unsigned(self.number()?).ok_or(RowError::new("a number is too small"))?;
                visitor.visit_i64(n)
            }
            tags::FLOAT => {
                let bytes = self.bytes(8)?.try_into().map_err(|_| RowError::end())?;
                visitor.visit_f64(f64::from_le_bytes(bytes))
            }
            tags::TEXT => {
                let length = usize::try_from(self.number()?).map_err(|_| RowError::end())?;
                visitor.visit_borrowed_str(self.text(length)?)
            }
            tags::LIST => self.deeper(|reader| {
                let value = visitor.visit_seq(Items(reader))?;
                if reader.ends() { Ok(value) } else { Err(RowError::new("a list is too long")) }
            }),
            tags::MAP | tags::OBJECT => self.deeper(|reader| {
                let value = visitor.visit_map(Members { reader, named: tag == tags::MAP })?;
                if reader.ends() { Ok(value) } else { Err(RowError::new("an object is too long")) }
            }),
            _ if tag >= tags::SMALL => visitor.visit_u64(u64::from(tag - tags::SMALL)),
            _ if tag >= tags::SHORT => visitor.visit_borrowed_str(self.text(usize::from(tag - tags::SHORT))?),
            _ => Err(RowError::new("a value begins with an unknown byte")),
        }
    }
}

impl<'de> de::Deserializer<'de> for &mut Reader<'de> {
    type Error = RowError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, RowError> {
        self.value(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, RowError> {
        match self.rest {
            [tags::NULL, rest @ ..] => {
                self.rest = rest;
                visitor.visit_none()
            }
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, RowError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, RowError> {
        match self.rest {
            [tags::MAP, rest @ ..] => {
                self.rest = rest;
                self.deeper(|reader| {
                    let value = visitor.visit_enum(Variant(reader))?;
                    if reader.ends() { Ok(value) } else { Err(RowError::new("a variant is too long")) }
                })
            }
            _ => visitor.visit_enum(self.read::<&str>()?.into_deserializer()),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

struct Items<'r, 'de>(&'r mut Reader<'de>);

impl<'de> de::SeqAccess<'de> for Items<'_, 'de> {
    type Error = RowError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, RowError> {
        if self.0.rest.first() == Some(&tags::END) { Ok(None) } else { seed.deserialize(&mut *self.0).map(Some) }
    }
}

struct Members<'r, 'de> {
    reader: &'r mut Reader<'de>,
    /// Keys are values, not numbers of members.
    named: bool,
}

impl<'de> de::MapAccess<'de> for Members<'_, 'de> {
    type Error = RowError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, RowError> {
        if self.reader.rest.first() == Some(&tags::END) {
            return Ok(None);
        }
        if self.named {
            return seed.deserialize(&mut *self.reader).map(Some);
        }
        let number = usize::try_from(self.reader.number()?).ok().and_then(|n| n.checked_sub(1));
        let name = number.and_then(|n| self.reader.names.get(n)).ok_or(RowError::new("a member has no name"))?;
        seed.deserialize(de::value::BorrowedStrDeserializer::new(name)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, RowError> {
        seed.deserialize(&mut *self.reader)
    }
}

struct Variant<'r, 'de>(&'r mut Reader<'de>);

impl<'r, 'de> de::EnumAccess<'de> for Variant<'r, 'de> {
    type Error = RowError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), RowError> {
        Ok((seed.deserialize(&mut *self.0)?, self))
    }
}

impl<'de> de::VariantAccess<'de> for Variant<'_, 'de> {
    type Error = RowError;

    fn unit_variant(self) -> Result<(), RowError> {
        self.0.read()
    }
    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, RowError> {
        seed.deserialize(self.0)
    }
    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, RowError> {
        self.0.value(visitor)
    }
    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, RowError> {
        self.0.value(visitor)
    }
}
