//! JSON without zero members: `null`, `0`, `false`, `""`, empty lists, and objects of such members.
//!
//! Only members of API objects are left out. Entries of maps and items of lists are data and stay, and so does
//! everything that the API can tell from an absent value: reading the text back gives an equal object.
//!
//! The writer of answers of the API (`encamp_http`, `json::output`) only looks like this one: it sorts members and changes
//! numbers of free-form values, and writes every member.

use serde::ser::{self, Serialize, Serializer};
use serde_json::Error;

/// Appends the object to the text. Fails on maps whose keys are no text.
pub fn write<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) -> Result<(), Error> {
    value.serialize(Compact { out }).map(|_| ())
}

/// Writes one value; `Ok` tells whether it means anything.
struct Compact<'a> {
    out: &'a mut Vec<u8>,
}

impl Compact<'_> {
    fn plain<T: Serialize + ?Sized>(self, value: &T, meaningful: bool) -> Result<bool, Error> {
        serde_json::to_writer(self.out, value).map(|()| meaningful)
    }
}

/// An object or list that is being written.
struct Open<'a> {
    out: &'a mut Vec<u8>,
    /// Something is in it.
    filled: bool,
    /// The answer when it stays empty.
    meaningful: bool,
    close: &'static str,
}

impl<'a> Open<'a> {
    fn new(out: &'a mut Vec<u8>, meaningful: bool, (open, close): (&'static str, &'static str)) -> Open<'a> {
        out.extend_from_slice(open.as_bytes());
        Open { out, filled: false, meaningful, close }
    }

    fn comma(&mut self) {
        if self.filled {
            self.out.push(b',');
        }
    }

    fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.comma();
        self.filled = true;
        value.serialize(Compact { out: self.out }).map(|_| ())
    }

    /// A member, taken back if it means nothing.
    fn member<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
        let before = self.out.len();
        self.comma();
        serde_json::to_writer(&mut *self.out, key)?;
        self.out.push(b':');
        if value.serialize(Compact { out: self.out })? {
            self.filled = true;
        } else {
            self.out.truncate(before);
        }
        Ok(())
    }

    fn close(self) -> Result<bool, Error> {
        self.out.extend_from_slice(self.close.as_bytes());
        Ok(self.filled || self.meaningful)
    }
}

const LIST: (&str, &str) = ("[", "]");
const OBJECT: (&str, &str) = ("{", "}");

macro_rules! numbers {
    ($($method:ident $type:ty),*) => {
        $(fn $method(self, v: $type) -> Result<bool, Error> {
            self.plain(&v, v != <$type>::default())
        })*
    };
}

impl<'a> Serializer for Compact<'a> {
    type Ok = bool;
    type Error = Error;
    type SerializeSeq = Open<'a>;
    type SerializeTuple = Open<'a>;
    type SerializeTupleStruct = Open<'a>;
    type SerializeTupleVariant = Open<'a>;
    type SerializeMap = Open<'a>;
    type SerializeStruct = Open<'a>;
    type SerializeStructVariant = Open<'a>;

    numbers! {
        serialize_bool bool, serialize_i8 i8, serialize_i16 i16, serialize_i32 i32, serialize_i64 i64,
        serialize_u8 u8, serialize_u16 u16, serialize_u32 u32, serialize_u64 u64, serialize_f32 f32, serialize_f64 f64
    }

    fn serialize_char(self, v: char) -> Result<bool, Error> {
        self.plain(&v, true)
    }
    fn serialize_str(self, v: &str) -> Result<bool, Error> {
        self.plain(v, !v.is_empty())
    }
    fn serialize_bytes(self, v: &[u8]) -> Result<bool, Error> {
        self.plain(v, !v.is_empty())
    }
    fn serialize_none(self) -> Result<bool, Error> {
        self.plain(&(), false)
    }
    // An optional value that is present was meant, whatever it is.
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<bool, Error> {
        value.serialize(self).map(|_| true)
    }
    fn serialize_unit(self) -> Result<bool, Error> {
        self.plain(&(), false)
    }
    fn serialize_unit_struct(self, _: &'static str) -> Result<bool, Error> {
        self.plain(&(), false)
    }
    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<bool, Error> {
        self.plain(variant, true)
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<bool, Error> {
        value.serialize(self)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<bool, Error> {
        let mut open = Open::new(self.out, true, OBJECT);
        ser::SerializeMap::serialize_entry(&mut open, variant, value)?;
        open.close()
    }
    fn serialize_seq(self, _: Option<usize>) -> Result<Open<'a>, Error> {
        Ok(Open::new(self.out, false, LIST))
    }
    fn serialize_tuple(self, _: usize) -> Result<Open<'a>, Error> {
        Ok(Open::new(self.out, true, LIST))
    }
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Open<'a>, Error> {
        Ok(Open::new(self.out, true, LIST))
    }
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Open<'a>, Error> {
        self.out.push(b'{');
        serde_json::to_writer(&mut *self.out, variant)?;
        self.out.push(b':');
        Ok(Open::new(self.out, true, ("[", "]}")))
    }
    fn serialize_map(self, _: Option<usize>) -> Result<Open<'a>, Error> {
        Ok(Open::new(self.out, false, OBJECT))
    }
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Open<'a>, Error> {
        Ok(Open::new(self.out, false, OBJECT))
    }
    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Open<'a>, Error> {
        self.out.push(b'{');
        serde_json::to_writer(&mut *self.out, variant)?;
        self.out.push(b':');
        Ok(Open::new(self.out, true, ("{", "}}")))
    }
}

impl ser::SerializeSeq for Open<'_> {
    type Ok = bool;
    type Error = Error;
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.item(value)
    }
    fn end(self) -> Result<bool, Error> {
        self.close()
    }
}

impl ser::SerializeTuple for Open<'_> {
    type Ok = bool;
    type Error = Error;
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.item(value)
    }
    fn end(self) -> Result<bool, Error> {
        self.close()
    }
}

macro_rules! tuple_fields {
    ($($trait:ident),*) => {
        $(impl ser::$trait for Open<'_> {
            type Ok = bool;
            type Error = Error;
            fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
                self.item(value)
            }
            fn end(self) -> Result<bool, Error> {
                self.close()
            }
        })*
    };
}
tuple_fields!(SerializeTupleStruct, SerializeTupleVariant);

macro_rules! named_fields {
    ($($trait:ident),*) => {
        $(impl ser::$trait for Open<'_> {
            type Ok = bool;
            type Error = Error;
            fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
                self.member(key, value)
            }
            fn end(self) -> Result<bool, Error> {
                self.close()
            }
        })*
    };
}
named_fields!(SerializeStruct, SerializeStructVariant);

impl ser::SerializeMap for Open<'_> {
    type Ok = bool;
    type Error = Error;
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.comma();
        self.filled = true;
        let start = self.out.len();
        serde_json::to_writer(&mut *self.out, key)?;
        if self.out.get(start) != Some(&b'"') {
            return Err(ser::Error::custom("a key that is not text"));
        }
        self.out.push(b':');
        Ok(())
    }
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        value.serialize(Compact { out: self.out }).map(|_| ())
    }
    fn end(self) -> Result<bool, Error> {
        self.close()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json};

    use super::*;
    use encamp_model::*;

    fn text<T: Serialize>(value: &T) -> String {
        let mut out = Vec::new();
        write(&mut out, value).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn members_without_meaning_are_left_out_and_data_stays() {
        let mut task = Task { name: "a\"b".into(), driver: "exec".into(), ..Default::default() };
        task.config = BTreeMap::from([
            ("empty".to_string(), json!("")),
            ("off".to_string(), json!(false)),
            ("nothing".to_string(), Value::Null),
            ("deep".to_string(), json!({"zero": 0, "list": [0, "", [], {}]})),
        ]);
        task.env.insert("EMPTY".into(), String::new());
        task.resources = Some(Resources::default());
        let want = r#"{"Name":"a\"b","Driver":"exec","Config":{"deep":{"list":[0,"",[],{}],"zero":0},"empty":"","nothing":null,"off":false},"Env":{"EMPTY":""},"Resources":{}}"#;
        assert_eq!(text(&task), want);
        assert_eq!(serde_json::from_str::<Task>(want).unwrap(), task);
        assert_eq!(text(&Task::default()), "{}");
    }

    #[test]
    fn absent_and_empty_stay_apart_where_the_api_tells_them_apart() {
        let status = AllocDeploymentStatus { healthy: Some(false), ..Default::default() };
        assert_eq!(text(&status), r#"{"Healthy":false}"#);
        let tracker = |events| RescheduleTracker { events, ..Default::default() };
        assert_eq!(text(&tracker(Some(Vec::new()))), r#"{"Events":[]}"#);
        assert_eq!(text(&tracker(None)), "{}");
        let disconnect = DisconnectStrategy { replace: Some(false), ..Default::default() };
        assert_eq!(text(&disconnect), r#"{"Replace":false}"#);
    }
}
