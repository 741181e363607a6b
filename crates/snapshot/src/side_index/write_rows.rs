//! Encodes rows: a binary form of what their JSON says, in which members of objects are numbers.
//!
//! A value begins with a byte that says what it is ([`super::tags`]). Lists and objects end with a zero, which begins no
//! value. Members have numbers from one on: their places in the list of all names.

use std::collections::HashMap;

use parking_lot::Mutex;
use rustc_hash::FxBuildHasher;
use serde::ser::{self, Serialize};

use super::RowError;
use super::tags;

/// The names of members, by their numbers less one; several writers share them.
#[derive(Debug, Default)]
pub(super) struct Names(Mutex<(HashMap<&'static str, u64>, Vec<&'static str>)>);

impl Names {
    fn number(&self, name: &'static str) -> u64 {
        let mut names = self.0.lock();
        let (numbers, list) = &mut *names;
        *numbers.entry(name).or_insert_with(|| {
            list.push(name);
            list.len() as u64
        })
    }

    /// The names in the order of their numbers.
    pub(super) fn list(&self) -> Vec<&'static str> {
        self.0.lock().1.clone()
    }
}

/// Encodes values one behind the other.
#[derive(Debug)]
pub(super) struct Writer<'n> {
    /// What was encoded.
    pub(super) out: Vec<u8>,
    names: &'n Names,
    /// The numbers of names by their address and length, which is faster than by their text.
    known: HashMap<(usize, usize), u64, FxBuildHasher>,
    /// A member that the next object is written without.
    without: Option<&'static str>,
}

impl<'n> Writer<'n> {
    pub(super) fn new(names: &'n Names) -> Writer<'n> {
        Writer { out: Vec::new(), names, known: HashMap::default(), without: None }
    }

    /// Encodes a value.
    pub(super) fn write<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), RowError> {
        value.serialize(self)
    }

    /// Encodes an object without one of its members.
    pub(super) fn write_without<T: Serialize>(&mut self, value: &T, member: &'static str) -> Result<(), RowError> {
        self.without = Some(member);
        value.serialize(self)
    }

    /// Encodes a number without saying that it is one.
    pub(super) fn number(&mut self, mut n: u64) {
        while n >= 0x80 {
            self.out.push(n.to_le_bytes()[0] | 0x80);
            n >>= 7;
        }
        self.out.push(n.to_le_bytes()[0]);
    }

    fn unsigned(&mut self, n: u64) {
        match u8::try_from(n) {
            Ok(small) if small < 0x80 => self.out.push(tags::SMALL | small),
            _ => {
                self.out.push(tags::UNSIGNED);
                self.number(n);
            }
        }
    }

    fn signed(&mut self, n: i64) {
        match u64::try_from(n) {
            Ok(n) => self.unsigned(n),
            Err(_) => {
                self.out.push(tags::NEGATIVE);
                self.number(n.unsigned_abs());
            }
        }
    }

    fn text(&mut self, text: &str) {
        match u8::try_from(text.len()) {
            Ok(short) if short <= tags::LONGEST_SHORT => self.out.push(tags::SHORT | short),
            _ => {
                self.out.push(tags::TEXT);
                self.number(text.len() as u64);
            }
        }
        self.out.extend_from_slice(text.as_bytes());
    }

    fn name(&mut self, name: &'static str) {
        let key = (name.as_ptr() as usize, name.len());
        let number = match self.known.get(&key) {
            Some(number) => *number,
            None => {
                let number = self.names.number(name);
                self.known.insert(key, number);
                number
            }
        };
        self.number(number);
    }

    fn open(&mut self, tag: u8) -> Open<'_, 'n> {
        self.out.push(tag);
        Open { writer: self, without: None, ends: 1 }
    }

    /// An object of one member, the variant of an enum, whose value follows.
    fn variant(&mut self, variant: &'static str) {
        self.out.push(tags::MAP);
        self.text(variant);
    }
}

/// A list or an object that is being written.
pub(super) struct Open<'w, 'n> {
    writer: &'w mut Writer<'n>,
    without: Option<&'static str>,
    /// How many values end with it.
    ends: usize,
}

impl Open<'_, '_> {
    fn close(self) -> Result<(), RowError> {
        self.writer.out.extend(std::iter::repeat_n(tags::END, self.ends));
        Ok(())
    }

    fn member<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), RowError> {
        if self.without == Some(name) {
            return Ok(());
        }
        self.writer.name(name);
        value.serialize(&mut *self.writer)
    }
}

macro_rules! numbers {
    ($($method:ident: $type:ty => $write:ident,)*) => {
        $(fn $method(self, v: $type) -> Result<(), RowError> {
            self.$write(v.into());
            Ok(())
        })*
    };
}

impl<'w, 'n> ser::Serializer for &'w mut Writer<'n> {
    type Ok = ();
    type Error = RowError;
    type SerializeSeq = Open<'w, 'n>;
    type SerializeTuple = Open<'w, 'n>;
    type SerializeTupleStruct = Open<'w, 'n>;
    type SerializeTupleVariant = Open<'w, 'n>;
    type SerializeMap = Open<'w, 'n>;
    type SerializeStruct = Open<'w, 'n>;
    type SerializeStructVariant = Open<'w, 'n>;

    numbers! {
        serialize_i8: i8 => signed,
        serialize_i16: i16 => signed,
        serialize_i32: i32 => signed,
        serialize_i64: i64 => signed,
        serialize_u8: u8 => unsigned,
        serialize_u16: u16 => unsigned,
        serialize_u32: u32 => unsigned,
        serialize_u64: u64 => unsigned,
    }

    fn serialize_bool(self, v: bool) -> Result<(), RowError> {
        self.out.push(if v { tags::TRUE } else { tags::FALSE });
        Ok(())
    }
    fn serialize_f32(self, v: f32) -> Result<(), RowError> {
        self.serialize_f64(v.into())
    }
    fn serialize_f64(self, v: f64) -> Result<(), RowError> {
        self.out.push(tags::FLOAT);
        self.out.extend_from_slice(&v.to_le_bytes());
        Ok(())
    }
    fn serialize_char(self, v: char) -> Result<(), RowError> {
        self.text(v.encode_utf8(&mut [0; 4]));
        Ok(())
    }
    fn serialize_str(self, v: &str) -> Result<(), RowError> {
        self.text(v);
        Ok(())
    }
    fn serialize_bytes(self, v: &[u8]) -> Result<(), RowError> {
        v.serialize(self)
    }
    fn serialize_none(self) -> Result<(), RowError> {
        self.serialize_unit()
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), RowError> {
        value.serialize(self)
    }
    fn serialize_unit(self) -> Result<(), RowError> {
        self.out.push(tags::NULL);
        Ok(())
    }
    fn serialize_unit_struct(self, _: &'static str) -> Result<(), RowError> {
        self.serialize_unit()
    }
    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), RowError> {
        self.serialize_str(variant)
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), RowError> {
        value.serialize(self)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), RowError> {
        self.variant(variant);
        value.serialize(&mut *self)?;
        self.out.push(tags::END);
        Ok(())
    }
    fn serialize_seq(self, _: Option<usize>) -> Result<Open<'w, 'n>, RowError> {
        Ok(self.open(tags::LIST))
    }
    fn serialize_tuple(self, _: usize) -> Result<Open<'w, 'n>, RowError> {
        Ok(self.open(tags::LIST))
    }
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Open<'w, 'n>, RowError> {
        Ok(self.open(tags::LIST))
    }
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Open<'w, 'n>, RowError> {
        self.variant(variant);
        Ok(Open { ends: 2, ..self.open(tags::LIST) })
    }
    fn serialize_map(self, _: Option<usize>) -> Result<Open<'w, 'n>, RowError> {
        Ok(self.open(tags::MAP))
    }
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Open<'w, 'n>, RowError> {
        let without = self.without.take();
        Ok(Open { without, ..self.open(tags::OBJECT) })
    }
    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Open<'w, 'n>, RowError> {
        self.variant(variant);
        Ok(Open { ends: 2, ..self.open(tags::OBJECT) })
    }
}

macro_rules! items {
    ($($trait:ident::$method:ident),*) => {
        $(impl ser::$trait for Open<'_, '_> {
            type Ok = ();
            type Error = RowError;
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), RowError> {
                value.serialize(&mut *self.writer)
            }
            fn end(self) -> Result<(), RowError> {
                self.close()
            }
        })*
    };
}
items!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);

macro_rules! members {
    ($($trait:ident),*) => {
        $(impl ser::$trait for Open<'_, '_> {
            type Ok = ();
            type Error = RowError;
            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), RowError> {
                self.member(name, value)
            }
            fn end(self) -> Result<(), RowError> {
                self.close()
            }
        })*
    };
}
members!(SerializeStruct, SerializeStructVariant);

impl ser::SerializeMap for Open<'_, '_> {
    type Ok = ();
    type Error = RowError;
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), RowError> {
        key.serialize(&mut *self.writer)
    }
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), RowError> {
        value.serialize(&mut *self.writer)
    }
    fn end(self) -> Result<(), RowError> {
        self.close()
    }
}
